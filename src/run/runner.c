#include "run/runner.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "run/capture.h"
#include "run/guardian.h"
#include "run/predecessor.h"
#include "run/process_table.h"
#include "run/provenance.h"
#include "run/readers.h"
#include "run/recording.h"
#include "run/salvage.h"
#include "run/starter.h"
#include "run/supervisor.h"
#include "space/learning.h"
#include "store/attempts.h"
#include "store/result_views.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/memory.h"

#define COMMIT_WITHIN_MS 5    /* what has ended waits at most this long for others to share its commit */
#define COUNTS_EVERY_MS 200
#define CLAIMS_AHEAD 32       /* claimed and not yet started, beside the slots; fetched anew when half are gone */
#define OUTCOMES_AT_ONCE 64

/* An attempt that has ended and is not recorded yet. */
struct landing {
    struct flight flight;
    struct recording recording;
};

struct runner {
    const struct runner_options *options;
    struct db *db;
    struct supervisor *supervisor;
    struct attempt_store *store;
    struct starter starter;
    struct reader_set *readers;
    struct classifier *classifier;
    struct secrets secrets;
    char *scratch;
    char *token;  /* of this runner's processes: see supervisor_options */
    int guardian; /* see run/guardian.h; -1: none */
    int64_t runner_id;
    struct flight *claimed; /* a queue: claimed_first … claimed_count */
    size_t claimed_first, claimed_count;
    struct flight *flights;
    size_t flight_count;
    struct landing *landings;
    size_t landing_count;
    int64_t oldest_landing_ms;
    bool unrecorded_starts;
    bool nothing_pending; /* the last claim came back empty */
    bool verdict_due;     /* under max_fail: a failure is not recorded yet, and may be the last one allowed */
    bool draining, cancelling;
    bool after_death; /* the runner before this one did not come to its end */
    int interrupts;
    int64_t started_count;
    int64_t began_ms, counts_told_ms;
    struct run_result result;
};

/* --- setting up --- */

static bool log_has_metric(void *context, const char *log_path)
{
    struct runner *r = context;
    return readers_any(r->readers, log_path);
}

static int create_supervisor(struct runner *r, struct error *e)
{
    r->token = xasprintf("%s:%lld", r->options->identity, (long long)r->runner_id);
    const struct supervisor_options options = {
        .slots = r->options->slots,
        .scratch_dir = r->scratch,
        .token_prefix = r->token,
        .first_metric = log_has_metric,
        .context = r,
    };
    r->guardian = guardian_start(r->token, r->options->space->sweep->job.grace_ms);
    if (supervisor_create(&options, &r->supervisor, e) < 0)
        return -1;
    r->starter.supervisor = r->supervisor;
    return 0;
}

static struct retry_policy policy_of(const struct runner *r)
{
    const struct sweep *s = r->options->space->sweep;
    return (struct retry_policy){s->retries, s->retry_count};
}

static int64_t own_start_ticks(void)
{
    struct process_entry self;
    return process_read(getpid(), &self) ? self.start_ticks : 0;
}

static int record_runner(struct runner *r, struct error *e)
{
    struct utsname machine;
    char boot[64];
    uname(&machine);
    char *provenance = provenance_json(NULL, r->options->environment, r->options->space->sweep->job.secrets);
    const struct runner_row row = {machine.nodename, boot_id_read(boot), provenance, getpid(),
                                   own_start_ticks()};
    int rc = runner_record(r->db, &row, &r->runner_id, e);
    FAULT(RUNNER_RECORDED);
    free(provenance);
    return rc;
}

/* In a transaction of its own: the files are moved whether or not what follows succeeds. */
static int save_outputs(struct runner *r, struct error *e)
{
    if (db_begin(r->db, e) < 0)
        return -1;
    if (salvage_outputs(r->db, r->scratch, r->options->directory, &r->secrets, e) < 0) {
        db_rollback(r->db);
        return -1;
    }
    return db_commit(r->db, e);
}

/* What a dead runner left: its processes first, then its files, then its rows. */
static int recover(struct runner *r, struct error *e)
{
    const struct sweep *sweep = r->options->space->sweep;
    const struct retry_policy policy = policy_of(r);
    const struct requeue_request request = {r->options->sweep_id, &policy, r->options->forced_classes,
                                            sweep->job.repeat, r->options->only_selected};
    /* A runner that died between a record and the end of what escaped from that job left no open attempt. */
    if (predecessor_check(r->db, &r->after_death, e) < 0)
        return -1;
    if (r->after_death && supervisor_end_strays(r->options->identity, sweep->job.grace_ms, e) < 0)
        return -1;
    if (r->after_death && save_outputs(r, e) < 0)
        return -1;
    if (r->after_death)
        capture_tidy(r->scratch);
    FAULT(SALVAGED);
    if (db_begin(r->db, e) < 0)
        return -1;
    if (record_runner(r, e) < 0 || attempts_recover(r->db, &policy, &r->result.recovered, e) < 0 ||
        jobs_requeue(r->db, &request, &r->result.requeued, e) < 0) {
        db_rollback(r->db);
        return -1;
    }
    FAULT(REQUEUED);
    int rc = db_commit(r->db, e);
    FAULT(RECOVERED);
    return rc;
}

static int open_store(struct runner *r, struct error *e)
{
    const struct sweep *sweep = r->options->space->sweep;
    const struct attempt_store_options options = {
        .sweep_id = r->options->sweep_id,
        .runner_id = r->runner_id,
        .repeat = sweep->job.repeat,
        .objective = sweep->objective_count ? sweep->objectives[0].metric : NULL,
        .maximise = sweep->objective_count && sweep->objectives[0].maximise,
        .policy = policy_of(r),
        .only_selected = r->options->only_selected,
    };
    if (attempt_store_create(r->db, &options, &r->store, e) < 0)
        return -1;
    return starter_open(&r->starter, r->db, e);
}

static int load_counts(struct runner *r, struct error *e)
{
    struct job_state_counts counts;
    if (jobs_count(r->db, r->options->sweep_id, r->options->only_selected, &counts, e) < 0)
        return -1;
    struct run_counts *c = &r->result.counts;
    c->ok = counts.ok;
    c->failed = counts.failed;
    c->pending = counts.pending;
    c->running = counts.running;
    c->total = counts.ok + counts.failed + counts.pending + counts.running;
    return 0;
}

/* --- claims --- */

static size_t claims_waiting(const struct runner *r)
{
    return r->claimed_count - r->claimed_first;
}

static bool may_start_more(const struct runner *r)
{
    const struct runner_options *o = r->options;
    if (r->draining || (o->job_limit && r->started_count >= o->job_limit))
        return false;
    return !o->max_fail || (r->result.counts.failed_now < o->max_fail && !r->verdict_due);
}

/* How many claims the next commit should bring. */
static size_t claims_wanted(const struct runner *r)
{
    size_t ahead = r->options->slots + CLAIMS_AHEAD;
    if (!may_start_more(r) || r->nothing_pending || claims_waiting(r) > ahead / 2)
        return 0;
    size_t wanted = ahead - claims_waiting(r);
    int64_t limit = r->options->job_limit;
    if (limit) {
        size_t left = (size_t)(limit - r->started_count) - claims_waiting(r);
        wanted = wanted < left ? wanted : left;
    }
    return wanted;
}

static int claim(struct runner *r, struct error *e)
{
    size_t wanted = claims_wanted(r), count = 0;
    if (wanted == 0)
        return 0;
    struct claim claims[512];
    wanted = wanted < 512 ? wanted : 512;
    if (attempts_claim(r->store, claims, wanted, &count, e) < 0)
        return -1;
    size_t waiting = claims_waiting(r);
    if (waiting > 0)
        memmove(r->claimed, r->claimed + r->claimed_first, waiting * sizeof *r->claimed);
    r->claimed = xreallocarray(r->claimed, waiting + count + 1, sizeof *r->claimed);
    r->claimed_first = 0;
    r->claimed_count = waiting;
    for (size_t i = 0; i < count; i++) {
        struct flight *f = &r->claimed[r->claimed_count++];
        *f = (struct flight){.claim = claims[i]};
        if (starter_load(&r->starter, f, e) < 0)
            return -1;
    }
    r->nothing_pending = count < wanted;
    return 0;
}

static int release_claims(struct runner *r, struct error *e)
{
    if (claims_waiting(r) == 0)
        return 0;
    if (db_begin(r->db, e) < 0)
        return -1;
    for (size_t i = r->claimed_first; i < r->claimed_count; i++) {
        if (attempt_release(r->store, &r->claimed[i].claim, e) < 0) {
            db_rollback(r->db);
            return -1;
        }
    }
    int rc = db_commit(r->db, e);
    FAULT(CLAIMS_RELEASED);
    return rc;
}

/* --- starting --- */

static void start_one(struct runner *r)
{
    struct flight f = r->claimed[r->claimed_first];
    starter_start(&r->starter, &f);
    FAULT(SPAWNED);
    r->claimed_first++;
    r->flights = array_grow(r->flights, r->flight_count, sizeof *r->flights);
    r->flights[r->flight_count++] = f;
    r->unrecorded_starts = true;
    r->started_count++;
    r->result.counts.running++;
    r->result.counts.pending--;
}

static void start_claimed(struct runner *r)
{
    while (claims_waiting(r) > 0 && may_start_more(r) && supervisor_running(r->supervisor) < r->options->slots &&
           r->flight_count < r->options->slots)
        start_one(r);
}

/* --- ends --- */

static struct flight take_flight(struct runner *r, int64_t attempt)
{
    size_t i = 0;
    while (i < r->flight_count && r->flights[i].claim.attempt_id != attempt)
        i++;
    assert(i < r->flight_count);
    struct flight f = r->flights[i];
    r->flights[i] = r->flights[--r->flight_count];
    return f;
}

static void land(struct runner *r, struct outcome *outcome)
{
    const struct sweep *sweep = r->options->space->sweep;
    struct landing *l;
    r->landings = array_grow(r->landings, r->landing_count, sizeof *r->landings);
    if (r->landing_count == 0)
        r->oldest_landing_ms = clock_monotonic_ms();
    l = &r->landings[r->landing_count++];
    l->flight = take_flight(r, outcome->attempt);
    FAULT(OUTCOME_TAKEN);
    const struct recording_context context = {sweep, r->readers, r->classifier, &r->secrets,
                                              l->flight.job_dir};
    recording_make(&context, outcome, &l->recording);
    FAULT(OUTCOME_READ);
    r->verdict_due |= r->options->max_fail && l->recording.failure;
    outcome_free(outcome);
}

/* --- committing --- */

static int record_starts(struct runner *r, struct error *e)
{
    for (size_t i = 0; i < r->flight_count; i++) {
        if (r->flights[i].start_recorded)
            continue;
        if (attempt_record_start(r->store, &r->flights[i].start, e) < 0)
            return -1;
        r->flights[i].start_recorded = true;
    }
    for (size_t i = 0; i < r->landing_count; i++)
        if (!r->landings[i].flight.start_recorded &&
            attempt_record_start(r->store, &r->landings[i].flight.start, e) < 0)
            return -1;
    FAULT(START_WRITTEN);
    r->unrecorded_starts = false;
    return 0;
}

static int record_landings(struct runner *r, struct error *e)
{
    for (size_t i = 0; i < r->landing_count; i++) {
        struct landing *l = &r->landings[i];
        if (recording_store(r->store, &l->flight.claim, l->flight.directory, &l->recording, e) < 0)
            return -1;
        r->nothing_pending &= l->recording.fate != FATE_AGAIN;
        const struct lesson lesson = {l->flight.claim.attempt_id, l->flight.claim.job_id, l->recording.failure};
        if (l->recording.fate != FATE_GONE && learning_note(r->options->space, r->db, &lesson, e) < 0)
            return -1;
    }
    return 0;
}

static void note_best(struct runner *r, const struct landing *l)
{
    struct run_counts *c = &r->result.counts;
    const struct sweep *s = r->options->space->sweep;
    if (l->recording.failure || !l->recording.has_objective || !isfinite(l->recording.objective))
        return;
    bool better = !c->has_best || (s->objectives[0].maximise ? l->recording.objective > c->best
                                                             : l->recording.objective < c->best);
    if (!better)
        return;
    c->has_best = true;
    c->best = l->recording.objective;
    c->best_job_id = l->flight.claim.job_id;
}

static void announce(struct runner *r, const struct landing *l)
{
    struct run_counts *c = &r->result.counts;
    const struct recording *rec = &l->recording;
    c->running--;
    c->finished_now++;
    c->ok += rec->fate == FATE_OK;
    c->failed += rec->fate == FATE_FAILED;
    c->failed_now += rec->fate == FATE_FAILED;
    c->pending += rec->fate == FATE_AGAIN;
    c->total -= rec->fate == FATE_GONE;
    if (rec->fate == FATE_GONE)
        return;
    c->failures[rec->verdict.failure] += rec->failure != NULL;
    note_best(r, l);
    const struct run_event event = {l->flight.claim.job_id, l->flight.claim.number, l->flight.key_hex, rec->failure,
                                    rec->verdict.message,   rec->duration_ms,       rec->has_objective, rec->objective,
                                    rec->fate == FATE_AGAIN};
    if (r->options->on_event)
        r->options->on_event(r->options->context, &event);
}

/* One transaction for all that happened since the last one, and the next claims with it. */
static int commit_turn(struct runner *r, struct error *e)
{
    if (db_begin(r->db, e) < 0)
        return -1;
    if (record_starts(r, e) < 0 || record_landings(r, e) < 0 || claim(r, e) < 0) {
        db_rollback(r->db);
        return -1;
    }
    FAULT(TURN_WRITTEN);
    if (db_commit(r->db, e) < 0)
        return -1;
    FAULT(TURN_COMMITTED);
    for (size_t i = 0; i < r->landing_count; i++) {
        announce(r, &r->landings[i]);
        FAULT(ANNOUNCED);
        recording_free(&r->landings[i].recording);
        flight_free(&r->landings[i].flight);
    }
    r->landing_count = 0;
    r->verdict_due = false;
    return 0;
}

/* Ends wait a little for others, so that they share a commit; starts of long jobs do too. */
static bool commit_is_due(const struct runner *r)
{
    if (claims_wanted(r) > 0)
        return true;
    if (r->landing_count > 0)
        return supervisor_running(r->supervisor) == 0 ||
               clock_monotonic_ms() - r->oldest_landing_ms >= COMMIT_WITHIN_MS;
    return false;
}

/* --- waiting --- */

static const char *const notices[] = {
    "starting nothing new; waiting for the running jobs (interrupt again to stop them)",
    "stopping the running jobs; they will run again next time (interrupt again to kill them)",
    "killing the running jobs; they will run again next time",
};

static void heed_signal(struct runner *r, int wake, int signal)
{
    if (!wake)
        return;
    r->result.signal = signal;
    r->draining = true;
    if (wake & WAKE_INTERRUPT)
        r->interrupts++;
    bool now = (wake & WAKE_TERMINATE) || r->interrupts > 1;
    if (now)
        supervisor_cancel_all(r->supervisor);
    if (r->options->on_notice)
        r->options->on_notice(r->options->context, notices[now + r->cancelling]);
    r->cancelling |= now;
}

static void tell_counts(struct runner *r, bool now)
{
    int64_t ms = clock_monotonic_ms();
    if (!r->options->on_counts || (!now && ms - r->counts_told_ms < COUNTS_EVERY_MS))
        return;
    r->counts_told_ms = ms;
    r->result.counts.elapsed_ms = ms - r->began_ms;
    r->result.counts.draining = r->draining;
    r->options->on_counts(r->options->context, &r->result.counts);
}

static void wait_for_news(struct runner *r, int64_t timeout_ms)
{
    struct outcome outcomes[OUTCOMES_AT_ONCE];
    int wake = 0, signal = 0;
    size_t n = supervisor_wait(r->supervisor, timeout_ms, outcomes, OUTCOMES_AT_ONCE, &wake, &signal);
    for (size_t i = 0; i < n; i++)
        land(r, &outcomes[i]);
    heed_signal(r, wake, signal);
    tell_counts(r, false);
}

static bool is_finished(const struct runner *r)
{
    if (r->flight_count > 0 || r->landing_count > 0)
        return false;
    return !may_start_more(r) || (claims_waiting(r) == 0 && r->nothing_pending);
}

static int64_t patience_ms(const struct runner *r)
{
    if (r->landing_count > 0 || r->unrecorded_starts)
        return COMMIT_WITHIN_MS;
    return r->options->on_counts ? COUNTS_EVERY_MS : -1;
}

static int run_loop(struct runner *r, struct error *e)
{
    while (!is_finished(r)) {
        start_claimed(r);
        if (commit_is_due(r) && commit_turn(r, e) < 0)
            return -1;
        /* A commit may have brought the first claims: start them before waiting. */
        start_claimed(r);
        if (r->flight_count == 0)
            continue;
        size_t landed = r->landing_count;
        wait_for_news(r, patience_ms(r));
        if (r->landing_count == landed && r->unrecorded_starts && commit_turn(r, e) < 0)
            return -1;
    }
    return 0;
}

static void runner_close(struct runner *r)
{
    supervisor_free(r->supervisor);
    attempt_store_free(r->store);
    starter_close(&r->starter);
    reader_set_free(r->readers);
    classifier_free(r->classifier);
    for (size_t i = r->claimed_first; i < r->claimed_count; i++)
        flight_free(&r->claimed[i]);
    for (size_t i = 0; i < r->flight_count; i++)
        flight_free(&r->flights[i]);
    for (size_t i = 0; i < r->landing_count; i++) {
        recording_free(&r->landings[i].recording);
        flight_free(&r->landings[i].flight);
    }
    free(r->claimed);
    free(r->flights);
    free(r->landings);
    secrets_free(&r->secrets);
    free(r->scratch);
    free(r->token);
}

int runner_run(const struct runner_options *options, struct run_result *out, struct error *e)
{
    struct runner r = {.options = options, .db = options->db, .guardian = -1};
    const struct sweep *sweep = options->space->sweep;
    struct error late = ERROR_INIT;
    r.scratch = xasprintf("%s/slots", options->directory);
    r.starter = (struct starter){.space = options->space,
                                 .preparation = options->preparation,
                                 .directory = options->directory,
                                 .runner_environment = options->environment,
                                 .secrets = &r.secrets};
    secrets_add_declared(&r.secrets, sweep);
    secrets_add_settings(&r.secrets, options->environment, sweep->job.secrets);
    r.began_ms = clock_monotonic_ms();
    int rc = reader_set_create(sweep->job.metrics, sweep->job.metric_count, &r.readers, e);
    if (rc == 0)
        rc = classifier_load(r.db, sweep, &r.classifier, e);
    if (rc == 0)
        rc = recover(&r, e);
    if (rc == 0)
        rc = open_store(&r, e);
    if (rc == 0)
        rc = load_counts(&r, e);
    if (rc == 0)
        rc = create_supervisor(&r, e);
    if (rc == 0)
        rc = run_loop(&r, e);
    /* Also after an error: what was only claimed is given back where that is still possible. */
    bool released = r.store && release_claims(&r, &late) == 0;
    /* Ends what escaped from its job, before the record says that nothing is left. */
    supervisor_free(r.supervisor);
    r.supervisor = NULL;
    guardian_dismiss(r.guardian);
    r.guardian = -1;
    /* Attempts may have brought metrics that no view has yet: these, or those of a runner that died before it came to
     * this. Before the record, so that this one's death is known as well. */
    if (released && rc == 0 && (r.result.counts.finished_now > 0 || r.after_death))
        rc = result_views_refresh(r.db, e);
    if (released && rc == 0)
        rc = runner_record_end(r.db, r.runner_id, e);
    FAULT(RUNNER_ENDED);
    tell_counts(&r, true);
    runner_close(&r);
    if (rc == 0)
        *out = r.result;
    return rc;
}

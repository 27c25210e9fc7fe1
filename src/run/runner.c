#include "run/runner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/claims.h"
#include "run/device_keeper.h"
#include "run/landings.h"
#include "run/local_executor.h"
#include "run/predecessor.h"
#include "run/recovery.h"
#include "run/starter.h"
#include "run/tally.h"
#include "run/turn.h"
#include "run/waits.h"
#include "store/result_views.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/memory.h"

#define COMMIT_WITHIN_MS 100  /* what has ended waits at most this long for others to share its commit */
#define STARTS_WITHIN_MS 5    /* so do starts while nothing ends */
#define TURN_WITHIN_MS 1      /* how often to look whether a turn has been written */
#define COUNTS_EVERY_MS 200
#define WATCH_EVERY_MS 1000   /* how often a claim source is asked about a running attempt */
#define OUTCOMES_AT_ONCE 64
#define LOCKED_LOOK_MS 100

struct runner {
    const struct runner_options *options;
    struct db *db;
    struct executor *executor;
    struct attempt_store *store;
    struct claim_source in_order;
    const struct claim_source *source;
    struct starter starter;
    struct reader_set *readers;
    struct classifier *classifier;
    struct secrets secrets;
    char *scratch;
    char *token;  /* of this runner's processes: see executor_options */
    int64_t runner_id;
    struct left_attempts left; /* by earlier runners, to an executor whose jobs survive them */
    struct pruning *pruning;
    struct claims claims;
    struct flight *flights;
    size_t flight_count;
    struct device_keeper *keeper; /* NULL: there are no devices to give */
    struct landings landings;
    struct turn turn;
    bool unrecorded_starts;
    bool draining, cancelling;
    bool leaving; /* what runs goes on without this runner */
    bool measured;    /* some attempt brought a metric */
    bool after_death; /* the runner before this one did not come to its end */
    int interrupts;
    int64_t started_count;
    int64_t began_ms, counts_told_ms;
    struct waits waits;
    struct run_result result;
};

/* --- setting up --- */

static bool log_has_metric(void *context, const char *log_path)
{
    struct runner *r = context;
    return readers_any(r->readers, log_path);
}

/* Where jobs outlive their runner the name of one is worth a record of its own: whoever looks at Slurm's queue finds
 * the row. */
static void note_reference(void *context, int64_t attempt, const char *reference)
{
    struct runner *r = context;
    for (size_t i = 0; i < r->flight_count; i++) {
        struct flight *f = &r->flights[i];
        if (f->claim.attempt_id != attempt)
            continue;
        free((char *)f->start.reference);
        f->start.reference = xstrdup(reference);
        f->reference_due = f->start_recorded;
        r->unrecorded_starts |= f->reference_due;
    }
}

static int create_executor(struct runner *r, struct error *e)
{
    const struct runner_options *o = r->options;
    r->token = runner_token(o->identity, r->runner_id, getpid());
    const struct executor_options options = {
        .slots = o->slots,
        .directory = o->directory,
        .scratch_dir = r->scratch,
        .token_prefix = r->token,
        .sweep = o->space->sweep,
        .first_metric = log_has_metric,
        .referred = note_reference,
        .environment = o->environment,
        .allocation = o->allocation,
        .context = r,
    };
    executor_create *create = o->executor ? o->executor : local_executor_create;
    if (create(&options, &r->executor, e) < 0)
        return -1;
    r->starter.executor = r->executor;
    return 0;
}

static int recover(struct runner *r, struct error *e)
{
    if (recovery_clean(r->options, r->scratch, &r->secrets, &r->after_death, e) < 0 ||
        recovery_record_runner(r->options, &r->runner_id, e) < 0 || create_executor(r, e) < 0)
        return -1;
    const struct executor_methods *m = r->executor->methods;
    if (left_attempts_none_elsewhere(r->db, m->name, e) < 0)
        return -1;
    if (m->reattach && left_attempts_read(r->db, m->name, &r->left, e) < 0)
        return -1;
    if (m->reattach && m->reattach(r->executor, &r->left, e) < 0)
        return -1;
    return recovery_rows(r->options, r->runner_id, &r->left, &r->result, e);
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
        .policy = retry_policy_of(sweep),
        .only_selected = r->options->only_selected,
        .executor = r->executor->methods->name,
    };
    if (attempt_store_create(r->db, &options, &r->store, e) < 0)
        return -1;
    r->in_order = claim_source_in_order(r->store);
    r->source = r->options->source ? r->options->source : &r->in_order;
    r->claims = (struct claims){.store = r->store, .source = r->source, .starter = &r->starter,
                                .pruning = r->pruning, .answer = CLAIM_MORE};
    turn_open(&r->turn, &(struct landing_place){r->db, r->options->space, r->store, r->source, &r->claims});
    return starter_open(&r->starter, r->db, e);
}

static int prune_known(struct runner *r, struct error *e)
{
    if (db_begin(r->db, e) < 0)
        return -1;
    if (pruning_open(r->options->space, r->db, r->options->sweep_id, &r->pruning, e) < 0) {
        db_rollback(r->db);
        return -1;
    }
    return db_commit(r->db, e);
}

static void add_flight(struct runner *r, struct flight f)
{
    r->flights = array_grow(r->flights, r->flight_count, sizeof *r->flights);
    r->flights[r->flight_count++] = f;
    r->unrecorded_starts |= !f.start_recorded;
}

static int resume_flights(struct runner *r, struct error *e)
{
    for (size_t i = 0; i < r->left.count; i++) {
        struct flight f;
        if (!r->left.items[i].taken)
            continue;
        if (starter_resume(&r->starter, &r->left.items[i], &f, e) < 0)
            return -1;
        add_flight(r, f);
    }
    return 0;
}

static int set_up(struct runner *r, struct error *e)
{
    const struct sweep *sweep = r->options->space->sweep;
    if (reader_set_create(sweep->job.metrics, sweep->job.metric_count, &r->readers, e) < 0 ||
        classifier_load(r->db, sweep, &r->classifier, e) < 0)
        return -1;
    if (recover(r, e) < 0 || prune_known(r, e) < 0 || open_store(r, e) < 0 || resume_flights(r, e) < 0)
        return -1;
    return tally_load(&r->result.counts, r->options, e);
}

/* --- starting --- */

/* What ran out of memory is recorded first: it may prune what would be started next. */
static bool prunes(const struct runner *r)
{
    return r->landings.witness_due && r->options->space->order;
}

static bool may_start_more(const struct runner *r)
{
    const struct runner_options *o = r->options;
    if (r->draining || prunes(r) || (o->job_limit && r->started_count >= o->job_limit))
        return false;
    /* A failure that is not recorded yet may be the last one allowed. */
    bool failure_due = r->landings.failure_due || r->turn.ends.failure_due;
    return !o->max_fail || (r->result.counts.failed_now < o->max_fail && !failure_due);
}

static size_t free_slots(const struct runner *r)
{
    size_t taken = r->executor->methods->running(r->executor);
    taken = taken > r->flight_count ? taken : r->flight_count;
    return taken < r->options->slots ? r->options->slots - taken : 0;
}

static bool is_chosen(void *context, const struct flight *f)
{
    return f->claim.attempt_id == *(const int64_t *)context;
}

/* The one place that decides whether a claim may start now, and which; others are passed over. */
static bool take_next(struct runner *r, struct flight *out)
{
    int64_t chosen = free_slots(r) > 0 ? device_keeper_choose(r->keeper, &r->claims) : 0;
    return chosen > 0 && claims_take(&r->claims, is_chosen, &chosen, out) && device_keeper_give(r->keeper, out);
}

static void start_claimed(struct runner *r)
{
    struct flight f;
    while (may_start_more(r) && take_next(r, &f)) {
        starter_start(&r->starter, &f);
        add_flight(r, f);
        r->started_count++;
        tally_start(&r->result.counts);
    }
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

/* Its slot and its devices may be given to another. */
static struct flight let_go(struct runner *r, struct outcome *outcome)
{
    struct flight f = take_flight(r, outcome->attempt);
    outcome->device_bytes = device_keeper_take_back(r->keeper, outcome->attempt);
    if (outcome->ending == ENDING_LOST && outcome->host)
        device_keeper_lose(r->keeper, outcome->host);
    FAULT(OUTCOME_TAKEN);
    return f;
}

static void land(struct runner *r, struct flight f, struct outcome *outcome)
{
    const struct recording_context context = {.sweep = r->options->space->sweep,
                                              .readers = r->readers,
                                              .classifier = r->classifier,
                                              .secrets = &r->secrets};
    landings_add(&r->landings, f, outcome, &context);
}

/* --- committing --- */

static void note_starts(struct runner *r)
{
    r->unrecorded_starts = false;
    for (size_t i = 0; i < r->flight_count; i++)
        turn_note_start(&r->turn, &r->flights[i]);
}

/* How many claims the next commit should bring. */
static size_t wanted_claims(const struct runner *r)
{
    int64_t limit = r->options->job_limit;
    return may_start_more(r) ? claims_wanted(&r->claims, free_slots(r), limit ? limit - r->started_count : -1) : 0;
}

static void begin_turn(struct runner *r)
{
    note_starts(r);
    /* An end may make its job pending again. */
    if (r->landings.count > 0 && r->claims.answer == CLAIM_WAIT)
        r->claims.answer = CLAIM_MORE;
    turn_begin(&r->turn, &r->landings, wanted_claims(r));
}

static void take_news(struct runner *r, int64_t timeout_ms, bool start_more);

static int end_turn(struct runner *r, struct error *e)
{
    struct turn *t = &r->turn;
    int rc;
    while ((rc = turn_finish(t, e)) > 0) {
        if (waits_note_lock(&r->waits, r->draining, r->options, e) < 0)
            return -1;
        /* Other executors name their jobs as they bring news, in texts that the turn holds. */
        if (!r->executor->methods->jobs_survive)
            take_news(r, LOCKED_LOOK_MS, false);
        turn_again(t);
    }
    waits_note_unlocked(&r->waits);
    if (rc < 0)
        return -1;
    if (t->wanted > 0)
        claims_admit(&r->claims, &t->claims);
    if (tally_prune(&r->result.counts, r->options, t->pruned, e) < 0)
        return -1;
    for (size_t i = 0; i < t->ends.count; i++) {
        tally_end(&r->result.counts, r->options, &t->ends.items[i]);
        r->measured |= t->ends.items[i].recording.samples.name_count > 0;
        FAULT(ANNOUNCED);
    }
    turn_clear(t);
    return 0;
}

/* Whether others can be started and can end while a turn is written, and nothing is asked meanwhile of what is its
 * writer's. */
static bool has_else_to_do(const struct runner *r)
{
    return r->claims.count > 0 && r->flight_count > 0 && !prunes(r) && r->source->ahead > 0 && !r->source->is_beaten &&
           !r->executor->methods->jobs_survive;
}

/* One transaction for all that happened since the last one, and the next claims with it. */
static int commit_turn(struct runner *r, struct error *e)
{
    bool in_passing = has_else_to_do(r);
    begin_turn(r);
    return in_passing ? 0 : end_turn(r, e);
}

/* Takes up what was written meanwhile; waits for it when nothing else can be done. */
static int follow_turn(struct runner *r, struct error *e)
{
    bool is_due = r->turn.is_under_way && (!has_else_to_do(r) || turn_is_written(&r->turn));
    return is_due ? end_turn(r, e) : 0;
}

/* Ends wait a little for others, so that they share a commit; starts of long jobs do too. */
static bool commit_is_due(const struct runner *r)
{
    if (r->turn.is_under_way)
        return false;
    if (wanted_claims(r) > 0 || prunes(r))
        return true;
    if (r->landings.count > 0)
        return r->executor->methods->running(r->executor) == 0 ||
               clock_monotonic_ms() - r->landings.oldest_ms >= COMMIT_WITHIN_MS;
    return false;
}

/* --- waiting --- */

static const char *const notices[] = {
    "starting nothing new; waiting for the running jobs (interrupt again to stop them)",
    "stopping the running jobs; they will run again next time (interrupt again to kill them)",
    "killing the running jobs; they will run again next time",
};

static void heed_signal(struct runner *r, struct wake wake)
{
    if (!wake.bits)
        return;
    r->result.signal = wake.signal;
    r->draining = true;
    if (wake.bits & WAKE_INTERRUPT)
        r->interrupts++;
    if ((wake.bits & WAKE_TERMINATE) && r->executor->methods->jobs_survive) {
        r->leaving = true;
        if (r->options->on_notice)
            r->options->on_notice(r->options->context, "leaving; what was submitted goes on, and the next run collects it");
        return;
    }
    bool now = (wake.bits & WAKE_TERMINATE) || r->interrupts > 1;
    if (now)
        r->executor->methods->cancel_all(r->executor);
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

/* Asks the claim source about a running attempt, and has it ended early when that says so. */
static void watch(struct runner *r, const struct flight *f)
{
    const struct executor_methods *m = r->executor->methods;
    const char *log_path, *metrics_path;
    struct sample_list so_far = SAMPLE_LIST_INIT;
    if (!m->files(r->executor, f->claim.attempt_id, &log_path, &metrics_path))
        return;
    readers_read(r->readers, log_path, metrics_path, f->job_dir, &so_far);
    if (r->source->is_beaten(r->source->context, &f->claim, &so_far))
        m->stop(r->executor, f->claim.attempt_id);
    sample_list_free(&so_far);
}

static void watch_all(struct runner *r)
{
    int64_t now_ms = clock_monotonic_ms();
    for (size_t i = 0; r->source->is_beaten && i < r->flight_count; i++) {
        struct flight *f = &r->flights[i];
        if (now_ms - f->watched_ms < WATCH_EVERY_MS)
            continue;
        f->watched_ms = now_ms;
        watch(r, f);
    }
}

/* Whether how one job ended may forbid to start another. */
static bool ends_forbid_starts(const struct runner *r)
{
    return r->options->max_fail || r->options->space->order;
}

/* What ended is read after the next has been started: that may be much output. */
static void take_news(struct runner *r, int64_t timeout_ms, bool start_more)
{
    struct outcome outcomes[OUTCOMES_AT_ONCE];
    struct flight ended[OUTCOMES_AT_ONCE];
    struct wake wake = {0, 0};
    size_t n = r->executor->methods->wait(r->executor, timeout_ms, outcomes, OUTCOMES_AT_ONCE, &wake);
    for (size_t i = 0; i < n; i++)
        ended[i] = let_go(r, &outcomes[i]);
    heed_signal(r, wake);
    if (n > 0 && start_more && !ends_forbid_starts(r))
        start_claimed(r);
    for (size_t i = 0; i < n; i++)
        land(r, ended[i], &outcomes[i]);
    device_keeper_sample(r->keeper);
}

static void wait_for_news(struct runner *r, int64_t timeout_ms)
{
    take_news(r, timeout_ms, true);
    watch_all(r);
    tell_counts(r, false);
}

/* Whether everything that may start now has been handed to an executor that keeps it. */
static bool may_leave(const struct runner *r)
{
    const struct executor_methods *m = r->executor->methods;
    bool nothing_to_start = !may_start_more(r) || free_slots(r) == 0 ||
                            (r->claims.count == 0 && r->claims.answer != CLAIM_MORE);
    if (!m->jobs_survive || r->landings.count > 0 || r->turn.is_under_way || r->unrecorded_starts)
        return false;
    return r->leaving || (r->options->detach && nothing_to_start && m->settled(r->executor));
}

static bool is_finished(const struct runner *r)
{
    if (may_leave(r))
        return true;
    if (r->flight_count > 0 || r->landings.count > 0 || r->turn.is_under_way)
        return false;
    return !may_start_more(r) ||
           (r->claims.count == 0 && r->claims.answer != CLAIM_MORE && r->claims.wake_ms == 0);
}

/* `due_ms`: until a job that failed is tried again; -1: none is. */
static int64_t patience_ms(const struct runner *r, int64_t due_ms)
{
    int64_t ms = r->source->is_beaten ? WATCH_EVERY_MS : -1;
    if (r->options->on_counts)
        ms = COUNTS_EVERY_MS;
    if (r->landings.count > 0 || r->unrecorded_starts)
        ms = r->unrecorded_starts ? STARTS_WITHIN_MS : COMMIT_WITHIN_MS;
    if (r->turn.is_under_way)
        ms = TURN_WITHIN_MS;
    return due_ms >= 0 && (ms < 0 || due_ms < ms) ? due_ms : ms;
}

static int run_loop(struct runner *r, struct error *e)
{
    while (!is_finished(r)) {
        start_claimed(r);
        if (follow_turn(r, e) < 0 || (commit_is_due(r) && commit_turn(r, e) < 0))
            return -1;
        /* A commit may have brought the first claims: start them before waiting. */
        start_claimed(r);
        if (device_keeper_gives_up(r->keeper)) {
            r->result.gave_up = r->draining = true;
            continue;
        }
        int64_t due_ms = claims_wait_ms(&r->claims);
        if (r->flight_count == 0 && due_ms <= 0 && device_keeper_due_ms(r->keeper) <= 0)
            continue;
        if (r->flight_count == 0)
            waits_tell_due(&r->waits, r->claims.due_ms, r->options);
        size_t landed = r->landings.count;
        int64_t look_ms = device_keeper_due_ms(r->keeper);
        due_ms = look_ms >= 0 && (due_ms < 0 || look_ms < due_ms) ? look_ms : due_ms;
        wait_for_news(r, patience_ms(r, due_ms));
        if (r->landings.count == landed && r->unrecorded_starts && !r->turn.is_under_way && commit_turn(r, e) < 0)
            return -1;
    }
    return 0;
}

static void end_executor(struct runner *r)
{
    if (r->executor)
        r->executor->methods->free(r->executor);
    r->executor = NULL;
}

static void runner_close(struct runner *r)
{
    end_executor(r);
    turn_free(&r->turn);
    claims_free(&r->claims);
    pruning_close(r->pruning);
    landings_free(&r->landings);
    for (size_t i = 0; i < r->flight_count; i++)
        flight_free(&r->flights[i]);
    free(r->flights);
    left_attempts_free(&r->left);
    attempt_store_free(r->store);
    starter_close(&r->starter);
    reader_set_free(r->readers);
    classifier_free(r->classifier);
    secrets_free(&r->secrets);
    free(r->scratch);
    free(r->token);
    device_keeper_free(r->keeper);
}

/* Attempts may have brought metrics that no view has yet: these, or those of a runner that died before it came to
 * this. Before the record, so that this one's death is known as well. */
static int record_end(struct runner *r, struct error *e)
{
    bool due = r->measured || r->after_death;
    if (due && result_views_refresh(r->db, e) < 0)
        return -1;
    return runner_record_end(r->db, r->runner_id, e);
}

int runner_run(const struct runner_options *options, struct run_result *out, struct error *e)
{
    struct runner r = {.options = options, .db = options->db};
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
    r.keeper = device_keeper_create(&options->devices, sweep, options->environment, options->on_notice, options->context);
    r.began_ms = clock_monotonic_ms();
    int rc = set_up(&r, e);
    if (rc == 0)
        rc = run_loop(&r, e);
    /* Also after an error: what was only claimed is given back where that is still possible. */
    bool released = r.store && claims_release(&r.claims, r.db, &late) == 0;
    /* Ends what escaped from its job, before the record says that nothing is left. */
    end_executor(&r);
    if (released && rc == 0)
        rc = record_end(&r, e);
    FAULT(RUNNER_ENDED);
    tell_counts(&r, true);
    runner_close(&r);
    if (rc == 0)
        *out = r.result;
    return rc;
}

#include "run/runner.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/views.h"
#include "run/run_counts.h"
#include "run/run_state.h"
#include "store/runners.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"

#define COMMIT_WITHIN_MS 100 /* what has ended waits at most this long for others to share its commit */
#define STARTS_WITHIN_MS 5   /* so do starts while nothing ends */
#define LOOK_WITHIN_MS 1     /* how often to look whether a batch has been written */
#define COMMIT_LOOK_MS 20    /* how often to look for news while nothing but a commit can go on */
#define COUNTS_EVERY_MS 200
#define WATCH_EVERY_MS 1000 /* how often a claim source is asked about a running attempt */
#define OUTCOMES_AT_ONCE 64
#define SECONDS_AT_ONCE 64
#define SLOWED_TOLD 5      /* attempts on slow devices; the database has all */
#define UNREPORTED_AFTER 3 /* jobs that are ok */
#define LOCKED_LOOK_MS 100
#define LOCKED_TOLD_MS 10000
#define WAIT_TOLD_MS 3000  /* of a job that failed */
#define PAUSED_LOOK_MS 200 /* how often a run that pauses looks whether it is asked to try at once */

/* --- starting --- */

/* An attempt that ran out of memory is recorded first: it may prune what would be started next. */
static bool prunes(const struct runner *r)
{
    return r->ended.witness_due && r->options->space->order;
}

static bool failure_is_due(const struct runner *r)
{
    return r->ended.failure_due || r->batch.ends.failure_due;
}

/* Before anything has gone well, how a single job ended may tell that none will. */
static bool may_pause(const struct runner *r)
{
    return r->options->pause_after > 0 && !r->like.went_well;
}

/* An attempt that has ended and is not recorded yet may be such a failure, or the last of those that are alike. */
static bool may_have_to_pause(const struct runner *r)
{
    return may_pause(r) && (failure_is_due(r) || readings_ended_count(r->readings) > 0);
}

static bool may_start_more(const struct runner *r)
{
    const struct runner_options *o = r->options;
    const size_t being_read = readings_ended_count(r->readings);
    if (r->draining || prunes(r) || (being_read > 0 && r->options->space->order) || may_have_to_pause(r) ||
        (o->job_limit && r->started_count >= o->job_limit))
        return false;
    /* A failure that is not recorded yet may be the last one allowed. */
    return !o->max_fail || (r->result.counts.failed_now < o->max_fail && !failure_is_due(r) && being_read == 0);
}

static size_t jobs_running(const struct runner *r)
{
    return r->executor->methods->running(r->executor) - fixtures_running(r->starter.fixtures);
}

static size_t free_slots(const struct runner *r)
{
    size_t taken = jobs_running(r);
    taken = taken > r->running_count ? taken : r->running_count;
    /* A source's decision depends on what has ended, also where that is still being read. */
    taken += r->source->ahead > 0 ? 0 : readings_ended_count(r->readings);
    return taken < r->options->slots ? r->options->slots - taken : 0;
}

static bool is_chosen(void *context, const struct running_attempt *f)
{
    return f->claim.attempt_id == *(const int64_t *)context;
}

/* Chooses, of the claims whose fixtures are up, in their order, the one that may start now. Fixtures that the next ones
 * need are started, as far as there is room for them. */
static int64_t choose_with_fixtures(struct runner *r)
{
    struct fixtures *x = r->starter.fixtures;
    struct running_attempt *queue = r->claims.items + r->claims.first;
    OWNED struct running_attempt *ready = xcalloc(r->claims.count + 1, sizeof *ready);
    struct claims view = {.items = ready};
    int64_t chosen = 0;
    size_t room = free_slots(r);
    fixtures_begin_pass(x);
    for (size_t i = 0; i < r->claims.count && room > 0 && !chosen; i++) {
        struct running_attempt *f = &queue[i];
        f->fixtures = f->fixtures ? f->fixtures : fixtures_of_job(x, &f->job);
        const enum fixtures_answer answer = fixtures_need(x, f->fixtures, true);
        f->shares = answer == FIXTURES_READY && fixtures_devices(x, f->fixtures);
        if (f->shares)
            chosen = f->claim.attempt_id;
        else if (answer == FIXTURES_READY)
            ready[view.count++] = *f;
        else
            room -= answer == FIXTURES_WAIT;
    }
    chosen = chosen ? chosen : device_keeper_choose(r->keeper, &view);
    for (size_t i = 0, k = 0; i < r->claims.count && k < view.count; i++)
        if (queue[i].claim.attempt_id == ready[k].claim.attempt_id)
            queue[i] = ready[k++];
    return chosen;
}

/* Its devices, of its own or of its fixture. */
static bool give_devices(struct runner *r, struct running_attempt *f)
{
    if (!f->shares)
        return device_keeper_give(r->keeper, f);
    f->devices = xstrdup(fixtures_devices(r->starter.fixtures, f->fixtures));
    return true;
}

/* The one place that decides whether a claim may start now, and which; others are passed over. */
static bool take_next(struct runner *r, struct running_attempt *out)
{
    int64_t chosen = free_slots(r) == 0    ? 0
                     : r->starter.fixtures ? choose_with_fixtures(r)
                                           : device_keeper_choose(r->keeper, &r->claims);
    if (chosen == 0 || !claims_take(&r->claims, is_chosen, &chosen, out) || !give_devices(r, out))
        return false;
    if (out->fixtures)
        fixtures_use(r->starter.fixtures, out->fixtures, out->claim.attempt_id);
    if (!r->keeper)
        out->kept = place_watch_kept(r->places, out->claim.job_id, true, clock_wall_ms());
    return true;
}

void runner_tell(const struct runner_options *o, const char *format, ...)
{
    OWNED_BUFFER text = BUFFER_INIT;
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    if (o->on_notice)
        o->on_notice(o->context, buffer_text(&text));
}

void runner_note_works(struct runner *r, int64_t job_id, bool (*note)(struct host_watch *w, int64_t job_id))
{
    char duration[32];
    int64_t paused_ms = clock_monotonic_ms() - r->host.since_ms;
    if (!note(&r->host, job_id))
        return;
    r->let_go_due = true;
    runner_tell(r->options, "continuing: the host can run jobs again after %s",
                format_duration_ms(paused_ms, duration, sizeof duration));
}

static char *release_path(const char *directory)
{
    return xasprintf("%s/release", directory);
}

int runner_ask_release(const char *directory, struct error *e)
{
    OWNED char *path = release_path(directory);
    return file_write_atomic(path, "", 0, e);
}

/* Returns whether somebody asks a run that pauses to try at once. Takes the request. */
static bool release_asked(const struct runner *r)
{
    OWNED char *path = release_path(r->options->directory);
    return unlink(path) == 0;
}

static bool host_allows_start(struct runner *r)
{
    if (!r->host.is_paused)
        return true;
    return r->claims.count > 0 && free_slots(r) > 0 && host_watch_may_start(&r->host, release_asked(r));
}

static void start_claimed(struct runner *r)
{
    struct running_attempt f;
    while (may_start_more(r) && !r->start_failed && host_allows_start(r) && take_next(r, &f)) {
        starter_start(&r->starter, &f);
        f.start_failed = r->start_failed = f.start.slot >= 0 && f.start.pid <= 0;
        runner_add_running(r, f);
        r->started_count++;
        r->result.counts.running++;
        r->result.counts.pending -= !f.claim.full;
        if (place_watch_started(r->places, f.devices, f.claim.attempt_id, clock_wall_ms()))
            runner_tell(r->options, "trying again what was set aside: device %s", f.devices);
        if (f.start_failed)
            continue;
        runner_blame_suspect(r); /* another job could be started */
        runner_note_works(r, f.claim.job_id, host_watch_started);
    }
}

/* --- what is held for its host --- */

/* Jobs that were held for their host are pending again. */
static int let_held_go(struct runner *r, struct error *e)
{
    int64_t count;
    if (r->batch.is_under_way || r->ended.count > 0)
        return 0;
    if (r->source->full) {
        r->let_go_due = false;
        r->claims.answer = CLAIM_MORE;
        return 0;
    }
    if (db_begin(r->db, e) < 0 ||
        db_end(r->db,
               jobs_let_go(r->db, r->options->sweep_id, retry_allowed(&r->options->space->sweep->retry, "lost"), &count,
                           e),
               e) < 0)
        return -1;
    r->let_go_due = false;
    count = count < r->result.counts.held ? count : r->result.counts.held;
    r->result.counts.held -= count;
    r->result.counts.pending += count;
    if (r->claims.answer == CLAIM_WAIT)
        r->claims.answer = CLAIM_MORE;
    return 0;
}

/* A run that pauses with nothing else to try tries what is held. */
static bool needs_held(const struct runner *r)
{
    return r->host.is_paused && r->claims.count == 0 && host_watch_due_ms(&r->host) == 0 && r->result.counts.held > 0;
}

/* --- fixtures --- */

static int hold_claims_of_failed(struct runner *r, int64_t *held, struct error *e)
{
    for (size_t i = r->claims.count; i-- > 0;) {
        struct running_attempt *f = &r->claims.items[r->claims.first + i];
        if (!f->fixtures || fixtures_need(r->starter.fixtures, f->fixtures, false) != FIXTURES_FAILED)
            continue;
        OWNED char *why = fixtures_failure(r->starter.fixtures, f->fixtures);
        int rc = claims_hold(&r->claims, i, why, e);
        if (rc < 0)
            return -1;
        ++*held;
    }
    return 0;
}

/* Jobs whose fixture failed are charged with nothing: they wait for another run. */
static int hold_failed(struct runner *r, struct error *e)
{
    int64_t held = 0;
    bool any = false;
    for (size_t i = 0; i < r->claims.count && !any; i++) {
        const struct running_attempt *f = &r->claims.items[r->claims.first + i];
        any = f->fixtures && fixtures_need(r->starter.fixtures, f->fixtures, false) == FIXTURES_FAILED;
    }
    if (!any)
        return 0;
    if (db_begin(r->db, e) < 0 || db_end(r->db, hold_claims_of_failed(r, &held, e), e) < 0)
        return -1;
    r->result.fixture_failed = true;
    r->result.counts.held += held;
    r->result.counts.pending -= held;
    return 0;
}

/* Writes, while the database is free, which fixtures are to be started and what has become of the others. */
static int turn_fixtures(struct runner *r, struct error *e)
{
    if (!r->starter.fixtures || r->batch.is_under_way)
        return 0;
    return fixtures_write(r->starter.fixtures, e) < 0 || hold_failed(r, e) < 0 ? -1 : 0;
}

/* A server's end under a job ends the job: what it would wait for does not come. */
static void take_fixture_end(struct runner *r, struct outcome *outcome)
{
    char *why = NULL;
    const int64_t attempt = fixtures_take(r->starter.fixtures, outcome, &why);
    struct running_attempt *f = attempt ? runner_find_running(r, attempt) : NULL;
    if (f) {
        f->fixture_died = why;
        r->executor->methods->stop(r->executor, attempt);
    } else {
        free(why);
    }
    outcome_free(outcome);
}

/* Leaves of `n` outcomes those of jobs. */
static size_t take_fixture_ends(struct runner *r, struct outcome *outcomes, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (fixture_is_process(outcomes[i].attempt))
            take_fixture_end(r, &outcomes[i]);
        else
            outcomes[kept++] = outcomes[i];
    return kept;
}

static int end_fixtures(struct runner *r, struct error *e)
{
    struct fixtures *x = r->starter.fixtures;
    struct outcome outcomes[OUTCOMES_AT_ONCE];
    if (!x)
        return 0;
    fixtures_end(x);
    while (!fixtures_are_down(x)) {
        struct wake wake = {0, 0};
        size_t n = r->executor->methods->wait(r->executor, PAUSED_LOOK_MS, outcomes, OUTCOMES_AT_ONCE, &wake);
        take_fixture_ends(r, outcomes, n);
        if (wake.bits & (WAKE_INTERRUPT | WAKE_TERMINATE))
            r->executor->methods->cancel_all(r->executor);
    }
    return fixtures_write(x, e);
}

/* --- committing --- */

/* How many claims the next commit should bring. */
static size_t wanted_claims(const struct runner *r)
{
    int64_t limit = r->options->job_limit;
    return may_start_more(r) ? claims_wanted(&r->claims, free_slots(r), limit ? limit - r->started_count : -1) : 0;
}

/* Jobs that are to run elsewhere tell whose fault it was: before what is claimed already, save where a source chooses
 * by what has ended. */
static void put_seconds_first(struct runner *r)
{
    int64_t jobs[SECONDS_AT_ONCE];
    size_t n = place_watch_take_seconds(r->places, jobs, SECONDS_AT_ONCE);
    for (size_t i = 0; i < n && r->source->ahead > 0; i++)
        claims_put_first(&r->claims, jobs[i]);
}

static void begin_batch(struct runner *r)
{
    r->unrecorded_starts = false;
    for (size_t i = 0; i < r->running_count; i++)
        commit_batch_note_start(&r->batch, &r->running[i]);
    /* An end may make its job pending again. */
    if (r->ended.count > 0 && r->claims.answer == CLAIM_WAIT)
        r->claims.answer = CLAIM_MORE;
    r->batch.places = place_watch_take(r->places);
    put_seconds_first(r);
    commit_batch_begin(&r->batch, &r->ended, wanted_claims(r));
}

static void take_news(struct runner *r, int64_t timeout_ms, bool start_more);

/* The failures that depend on what was tried, or on the machine. */
static const bool is_of_its_own[FAILURE_COUNT] = {
    [FAILURE_OOM] = true,
    [FAILURE_TIMEOUT] = true,
    [FAILURE_LOST] = true,
    [FAILURE_CANCELLED] = true,
};

/* Times, ports and process numbers differ where the cause is one. */
static char *without_digits(const char *message)
{
    struct buffer b = BUFFER_INIT;
    for (; message && *message; message++)
        if (!isdigit((unsigned char)*message))
            buffer_add_char(&b, *message);
    return buffer_take(&b);
}

/* Takes in how a job has ended. Out of memory, of time, lost and cancelled say nothing of the other jobs: they are left
 * out. Returns whether `most` (0: any number) that are alike have failed in a row and nothing was ok; one is enough of
 * those that are of the command (failure_is_of_command). */
static bool like_failures_note(struct like_failures *l, enum failure failure, const char *message, int64_t most)
{
    l->went_well |= failure == FAILURE_NONE;
    if (l->went_well || most == 0 || is_of_its_own[failure])
        return false;
    char *cause = without_digits(message);
    bool alike = l->count > 0 && l->failure == failure && strcmp(l->cause, cause) == 0;
    free(l->cause);
    l->cause = cause;
    l->failure = failure;
    l->count = alike ? l->count + 1 : 1;
    return l->count >= most || failure_is_of_command(message);
}

/* A run of which nothing goes well, and always for the same reason, asks before it goes on. */
static void pause_if_alike(struct runner *r, const struct ended_attempt *l)
{
    const struct recording *rec = &l->recording;
    /* One that is ok counts also where more of its job are wanted, one that failed where no more are allowed. */
    bool is_last = rec->job_end == JOB_END_FAILED || rec->job_end == JOB_END_OK;
    bool counts = !rec->hold && (is_last || (rec->job_end == JOB_END_AGAIN && rec->verdict.failure == FAILURE_NONE));
    /* A pause is of no use where nothing is left that it could save. */
    if (!counts || r->draining || r->result.counts.pending == 0 ||
        !like_failures_note(&r->like, rec->verdict.failure, rec->verdict.message, r->options->pause_after))
        return;
    r->draining = r->result.paused = true;
    if (failure_is_of_command(rec->verdict.message))
        runner_tell(r->options,
                    "the command fails with every configuration, so no more jobs are started (%s: %s); to continue "
                    "anyway: --keep-going",
                    rec->failure, rec->verdict.message);
    else
        runner_tell(r->options,
                    "%lld jobs failed the same way and none succeeded, so no more jobs are started (%s: %s); to "
                    "continue anyway: --keep-going",
                    (long long)r->like.count, rec->failure, rec->verdict.message);
}

/* A metric that the sweep file itself reads (a profile may read more than a script prints) and that no job has reported
 * is reported once, while there are jobs left to save: a job is ok without it. */
static void tell_unreported(struct runner *r)
{
    const struct sweep *sweep = r->options->space->sweep;
    for (size_t m = 0; m < sweep->job.metric_count; m++) {
        const struct metric *metric = &sweep->job.metrics[m];
        const bool is_read = metric->reader != READER_FILE && metric->reader != READER_EXPRESSION;
        if (r->reported[m] || !is_read || !metric->at.file || strcmp(metric->at.file, sweep->path) != 0)
            continue;
        r->reported[m] = true;
        runner_tell(r->options,
                    "%s:%d: %lld job%s succeeded and reported no %s; see what the output has instead with `meshsweep "
                    "show`",
                    metric->at.file, metric->at.line, (long long)r->ok_count, r->ok_count == 1 ? "" : "s",
                    metric->name);
    }
}

static void note_reported(struct runner *r, const struct recording *rec)
{
    const struct job_config *job = &r->options->space->sweep->job;
    if (rec->hold || rec->failure || rec->is_full)
        return;
    for (size_t m = 0; m < job->metric_count; m++)
        for (size_t i = 0; i < rec->samples.name_count; i++)
            r->reported[m] |=
                rec->samples.series[i].tally.reported > 0 && strcmp(rec->samples.names[i], job->metrics[m].name) == 0;
    if (++r->ok_count == UNREPORTED_AFTER)
        tell_unreported(r);
}

/* A number from a slow device is not to be taken for the job's. */
static void tell_slowed(struct runner *r, const struct ended_attempt *l)
{
    const struct recording *rec = &l->recording;
    if (!rec->end.device_note || r->slowed_count++ >= SLOWED_TOLD)
        return;
    runner_tell(r->options, "job %lld was measured on a slow device (%s of %s): %s%s",
                (long long)l->attempt.claim.job_id, l->attempt.devices, rec->end.device_model, rec->end.device_note,
                rec->job_end == JOB_END_AGAIN ? "; it is measured again" : "");
}

/* As commit_batch_finish. A great many samples take a while to be written, and limits are watched meanwhile. */
static int await_batch(struct runner *r, struct error *e)
{
    while (!commit_batch_wait(&r->batch, COMMIT_LOOK_MS) && !r->executor->methods->jobs_survive)
        take_news(r, 0, false);
    return commit_batch_finish(&r->batch, e);
}

/* Another program is in the middle of a change, perhaps one that a person has not finished: once more it could not be
 * waited for. -1 after a while in a run that is to end. */
static int note_lock(struct runner *r, struct error *e)
{
    const int64_t now_ms = clock_monotonic_ms();
    r->locked_ms = r->locked_ms ? r->locked_ms : now_ms;
    if (now_ms - r->locked_ms < LOCKED_TOLD_MS)
        return 0;
    if (r->draining)
        return error_set(e, ERROR_FAILED, "another program has locked the database; close it and start again");
    if (!r->lock_told)
        runner_tell(r->options, "another program has locked the database; waiting, because nothing can be started or "
                                "recorded until it is unlocked");
    r->lock_told = true;
    return 0;
}

static int finish_batch(struct runner *r, struct error *e)
{
    struct commit_batch *t = &r->batch;
    int rc;
    while ((rc = await_batch(r, e)) > 0) {
        if (note_lock(r, e) < 0) {
            commit_batch_give_up(t);
            return -1;
        }
        /* Other executors name their jobs as they bring news, in texts that the batch holds. */
        if (!r->executor->methods->jobs_survive)
            take_news(r, LOCKED_LOOK_MS, false);
        commit_batch_again(t);
    }
    r->locked_ms = 0;
    r->lock_told = false;
    if (rc < 0)
        return -1;
    if (t->wanted > 0)
        claims_admit(&r->claims, &t->claims);
    if (run_counts_prune(&r->result.counts, r->options, t->pruned, e) < 0)
        return -1;
    for (size_t i = 0; i < t->ends.count; i++) {
        run_counts_end(&r->result.counts, r->options, &t->ends.items[i]);
        pause_if_alike(r, &t->ends.items[i]);
        note_reported(r, &t->ends.items[i].recording);
        tell_slowed(r, &t->ends.items[i]);
        r->measured |= t->ends.items[i].recording.samples.name_count > 0;
        FAULT(ANNOUNCED);
    }
    if (run_counts_reopen(&r->result.counts, t->reopened, r->source->reopened) > 0 && r->claims.answer == CLAIM_WAIT)
        r->claims.answer = CLAIM_MORE;
    for (size_t i = 0; i < t->places.count; i++) {
        OWNED char *text = place_record_describe(&r->naming, &t->places.items[i]);
        runner_tell(r->options, "%s", text);
    }
    commit_batch_clear(t);
    return 0;
}

/* Returns whether others can be started and can end while a batch is written, and nothing is asked meanwhile of what is
 * its writer's. */
static bool has_else_to_do(const struct runner *r)
{
    return r->claims.count > 0 && r->running_count > 0 && !prunes(r) && r->source->ahead > 0 && !r->source->why_end &&
           !r->executor->methods->jobs_survive;
}

/* One transaction for all that happened since the last one, and the next claims with it. */
static int write_batch(struct runner *r, struct error *e)
{
    bool in_passing = has_else_to_do(r);
    begin_batch(r);
    return in_passing ? 0 : finish_batch(r, e);
}

/* Takes up what was written meanwhile; waits for it when nothing else can be done. */
static int follow_batch(struct runner *r, struct error *e)
{
    bool is_due = r->batch.is_under_way && (!has_else_to_do(r) || commit_batch_is_written(&r->batch));
    return is_due ? finish_batch(r, e) : 0;
}

/* Ends wait a little for others, so that they share a commit; starts of long jobs do too. */
static bool commit_is_due(const struct runner *r)
{
    if (r->batch.is_under_way)
        return false;
    if (wanted_claims(r) > 0 || prunes(r))
        return true;
    if (r->ended.count > 0)
        return jobs_running(r) == 0 || clock_monotonic_ms() - r->ended.oldest_ms >= COMMIT_WITHIN_MS;
    return false;
}

/* --- waiting --- */

static const char *const notices[] = {
    "starting no more jobs; waiting for the running ones (interrupt again to stop them)",
    "stopping the running jobs; they will run again next time (interrupt again to kill them)",
    "killing the running jobs; they will run again next time",
};

static void heed_signal(struct runner *r, struct wake wake)
{
    if (!(wake.bits & (WAKE_INTERRUPT | WAKE_TERMINATE)))
        return;
    r->result.signal = wake.signal;
    r->draining = true;
    if (r->options->unlisted)
        r->options->unlisted->stop(r->options->unlisted->context);
    if (wake.bits & WAKE_INTERRUPT)
        r->interrupts++;
    if ((wake.bits & WAKE_TERMINATE) && r->executor->methods->jobs_survive) {
        r->leaving = true;
        runner_tell(r->options, "exiting; submitted jobs continue, and the next run collects their results");
        return;
    }
    bool now = (wake.bits & WAKE_TERMINATE) || r->interrupts > 1;
    if (now)
        r->executor->methods->cancel_all(r->executor);
    runner_tell(r->options, "%s", notices[now + r->cancelling]);
    r->cancelling |= now;
}

static int64_t jobs_to_come(const struct runner *r)
{
    const int64_t pending = r->result.counts.pending, left = r->result.counts.starts_left;
    const int64_t most = left >= 0 && left < pending ? left : pending;
    const int64_t asked = r->source && r->source->to_come ? r->source->to_come(r->source->context) : most;
    return asked < most ? asked : most;
}

static void count_waiting(struct runner *r)
{
    struct run_counts *c = &r->result.counts;
    const char *first = NULL;
    c->waiting = c->waits_differ = 0;
    for (size_t i = 0; i < r->running_count; i++) {
        const char *waits = r->running[i].start.waits;
        first = first ? first : waits;
        c->waiting += waits != NULL;
        c->waits_differ |= waits && strcmp(waits, first) != 0;
    }
    if (first)
        snprintf(c->waits, sizeof c->waits, "%.*s", (int)strcspn(first, ";"), first);
}

static void report_counts(struct runner *r, bool now)
{
    int64_t ms = clock_monotonic_ms();
    if (!r->options->on_counts || (!now && ms - r->counts_reported_ms < COUNTS_EVERY_MS))
        return;
    r->counts_reported_ms = ms;
    r->result.counts.elapsed_ms = ms - r->began_ms;
    r->result.counts.draining = r->draining;
    count_waiting(r);
    r->result.counts.starts_left = r->options->job_limit ? r->options->job_limit - r->started_count : -1;
    r->result.counts.to_come = jobs_to_come(r);
    r->result.counts.left_ms = r->source && r->source->left_ms ? r->source->left_ms(r->source->context) : -1;
    r->options->on_counts(r->options->context, &r->result.counts);
}

/* Has those ended early of which the claim source says so. */
static void end_some(struct runner *r)
{
    struct sample_list so_far;
    int64_t attempt;
    while (readings_take_look(r->readings, &attempt, &so_far)) {
        struct running_attempt *f = runner_find_running(r, attempt);
        const char *why = f && r->source->why_end ? r->source->why_end(r->source->context, &f->claim, &so_far) : NULL;
        if (why) {
            f->why_ended = why;
            r->executor->methods->stop(r->executor, attempt);
        }
        sample_list_free(&so_far);
    }
}

/* Has what running attempts reported so far gathered, to ask the claim source about it. */
static void watch_all(struct runner *r)
{
    int64_t now_ms = clock_monotonic_ms();
    for (size_t i = 0; r->source->why_end && i < r->running_count; i++) {
        struct running_attempt *f = &r->running[i];
        if (f->claim.full || now_ms - f->watched_ms < WATCH_EVERY_MS)
            continue;
        f->watched_ms = now_ms;
        struct attempt_files files;
        if (r->executor->methods->files(r->executor, f->claim.attempt_id, &files))
            readings_look(r->readings, f, &files);
    }
    end_some(r);
}

/* Returns whether how one job ended may forbid to start another. */
static bool ends_forbid_starts(const struct runner *r)
{
    return may_pause(r) || r->options->max_fail || r->options->space->order;
}

/* And nothing will be. */
static bool nothing_is_claimed(const struct runner *r)
{
    return r->claims.count == 0 && r->claims.answer != CLAIM_MORE;
}

/* The output of what ended is read after the next has been started: it may be much. */
static void take_news(struct runner *r, int64_t timeout_ms, bool start_more)
{
    struct outcome outcomes[OUTCOMES_AT_ONCE];
    struct running_attempt ended[OUTCOMES_AT_ONCE];
    struct wake wake = {0, 0};
    size_t n = r->executor->methods->wait(r->executor, timeout_ms, outcomes, OUTCOMES_AT_ONCE, &wake);
    n = take_fixture_ends(r, outcomes, n);
    for (size_t i = 0; i < n; i++)
        ended[i] = runner_let_go(r, &outcomes[i]);
    heed_signal(r, wake);
    if (n > 0 && start_more && !ends_forbid_starts(r))
        start_claimed(r);
    for (size_t i = 0; i < n; i++)
        runner_receive(r, ended[i], &outcomes[i]);
    runner_receive_read(r);
    runner_settle_suspect(r, !may_start_more(r) || nothing_is_claimed(r));
    device_keeper_sample(r->keeper);
}

/* Somebody asks to try what was set aside at once. */
static void heed_release(struct runner *r)
{
    int64_t now_ms = clock_monotonic_ms();
    if (r->host.is_paused || place_watch_due_ms(r->places, 0) < 0 || now_ms - r->release_looked_ms < PAUSED_LOOK_MS)
        return;
    r->release_looked_ms = now_ms;
    if (release_asked(r))
        place_watch_release(r->places, clock_wall_ms());
}

static void wait_for_news(struct runner *r, int64_t timeout_ms)
{
    take_news(r, timeout_ms, true);
    if (r->starter.fixtures)
        fixtures_watch(r->starter.fixtures);
    heed_release(r);
    watch_all(r);
    report_counts(r, false);
}

/* Returns whether everything that may start now has been handed to an executor that keeps it. */
static bool may_leave(const struct runner *r)
{
    const struct executor_methods *m = r->executor->methods;
    bool nothing_to_start = !may_start_more(r) || free_slots(r) == 0 || nothing_is_claimed(r);
    if (!m->jobs_survive || r->ended.count > 0 || readings_ended_count(r->readings) > 0 || r->batch.is_under_way ||
        r->unrecorded_starts)
        return false;
    return r->leaving || (r->options->detach && nothing_to_start && m->settled(r->executor));
}

static bool is_finished(const struct runner *r)
{
    if (may_leave(r))
        return true;
    if (r->running_count > 0 || r->ended.count > 0 || r->batch.is_under_way || r->suspect.is_there ||
        readings_ended_count(r->readings) > 0)
        return false;
    if (may_start_more(r) && (r->host.is_paused || r->let_go_due))
        return false;
    return !may_start_more(r) || (nothing_is_claimed(r) && r->claims.wake_ms == 0);
}

/* `due_ms`: until a job that failed is tried again; -1: none is. */
static int64_t patience_ms(const struct runner *r, int64_t due_ms)
{
    int64_t ms = r->source->why_end ? WATCH_EVERY_MS : -1;
    if (r->options->on_counts)
        ms = COUNTS_EVERY_MS;
    if (r->ended.count > 0 || r->unrecorded_starts)
        ms = r->unrecorded_starts ? STARTS_WITHIN_MS : COMMIT_WITHIN_MS;
    if (r->batch.is_under_way || readings_are_busy(r->readings))
        ms = LOOK_WITHIN_MS;
    const int64_t fixture_ms = r->starter.fixtures ? fixtures_due_ms(r->starter.fixtures) : -1;
    if (fixture_ms >= 0 && (ms < 0 || ms > fixture_ms))
        ms = fixture_ms;
    const bool looks = r->host.is_paused || r->suspect.is_there || place_watch_due_ms(r->places, 0) >= 0;
    if (looks && (ms < 0 || ms > PAUSED_LOOK_MS))
        ms = PAUSED_LOOK_MS;
    return due_ms >= 0 && (ms < 0 || due_ms < ms) ? due_ms : ms;
}

/* Leaves for another run what cannot be had here. */
static bool gives_up(struct runner *r)
{
    bool no_devices = device_keeper_gives_up(r->keeper);
    bool no_host = r->running_count == 0 && !r->draining && host_watch_gives_up(&r->host);
    if (no_host)
        runner_tell(r->options,
                    "giving up: the host cannot run jobs: %s; the jobs that are left stay pending, and the next run "
                    "continues",
                    r->host.why);
    r->result.gave_up |= no_devices;
    r->result.held |= no_host;
    r->draining |= no_devices || no_host;
    return no_devices || no_host;
}

/* Nothing runs until a job that failed is tried again. */
static void tell_due(struct runner *r)
{
    char duration[32];
    const int64_t left_ms = r->claims.due_ms - clock_wall_ms();
    if (r->due_told_ms == r->claims.due_ms || left_ms < WAIT_TOLD_MS)
        return;
    r->due_told_ms = r->claims.due_ms;
    runner_tell(r->options, "nothing else to run now; a failed job is retried in %s",
                format_duration_ms(left_ms, duration, sizeof duration));
}

static int run_loop(struct runner *r, struct error *e)
{
    while (!is_finished(r)) {
        start_claimed(r);
        if (follow_batch(r, e) < 0 || (commit_is_due(r) && write_batch(r, e) < 0))
            return -1;
        /* A commit may have brought the first claims: start them before waiting. */
        start_claimed(r);
        if (turn_fixtures(r, e) < 0)
            return -1;
        if ((r->let_go_due || needs_held(r)) && let_held_go(r, e) < 0)
            return -1;
        if (gives_up(r))
            continue;
        int64_t due_ms = claims_wait_ms(&r->claims);
        const bool awaits = r->starter.fixtures && fixtures_due_ms(r->starter.fixtures) >= 0;
        bool idles = awaits || r->host.is_paused || r->suspect.is_there || readings_ended_count(r->readings) > 0;
        if (r->running_count == 0 && due_ms <= 0 && device_keeper_due_ms(r->keeper) <= 0 && !idles)
            continue;
        if (r->running_count == 0 && !idles)
            tell_due(r);
        size_t ended_before = r->ended.count;
        int64_t look_ms = device_keeper_due_ms(r->keeper);
        due_ms = look_ms >= 0 && (due_ms < 0 || look_ms < due_ms) ? look_ms : due_ms;
        wait_for_news(r, patience_ms(r, due_ms));
        if (r->ended.count == ended_before && r->unrecorded_starts && !r->batch.is_under_way && write_batch(r, e) < 0)
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
    commit_batch_free(&r->batch);
    fixtures_free(r->starter.fixtures);
    readings_free(r->readings);
    claims_free(&r->claims);
    pruning_close(r->pruning);
    ended_attempts_free(&r->ended);
    free_all(r->like.cause, r->reported, r->refusal);
    for (size_t i = 0; i < r->running_count; i++)
        running_attempt_free(&r->running[i]);
    free(r->running);
    if (r->suspect.is_there) {
        running_attempt_free(&r->suspect.attempt);
        outcome_free(&r->suspect.outcome);
    }
    host_watch_close(&r->host);
    recovered_attempts_free(&r->left);
    attempt_store_free(r->store);
    starter_close(&r->starter);
    reader_set_free(r->readers);
    classifier_free(r->classifier);
    secrets_free(&r->secrets);
    free_all(r->scratch, r->token);
    device_keeper_free(r->keeper);
    place_watch_free(r->places);
    string_list_free(&r->wait_texts);
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
    struct error late = ERROR_INIT; /* of what is done after the error that is told */
    r.scratch = xasprintf("%s/slots", options->directory);
    r.starter = (struct starter){.space = options->space,
                                 .preparation = options->preparation,
                                 .directory = options->directory,
                                 .runner_environment = options->environment,
                                 .secrets = &r.secrets};
    recording_secrets(&r.secrets, options->space, options->environment);
    r.places = place_watch_create(sweep->retry.place_ms);
    r.keeper = device_keeper_create(&options->devices, sweep, options->environment, r.places, options->on_notice,
                                    options->context);
    clock_watch_stillness();
    r.began_ms = clock_monotonic_ms();
    r.reported = xcalloc(sweep->job.metric_count + 1, sizeof *r.reported);
    int rc = runner_set_up(&r, e);
    if (rc == 0)
        rc = run_loop(&r, e);
    /* Also after an error: what was only claimed is given back where that is still possible. */
    bool released = r.store && claims_release(&r.claims, r.db, rc == 0 ? e : &late) == 0;
    if (rc == 0)
        rc = end_fixtures(&r, e);
    /* Ends what escaped from its job, before the record says that nothing is left. */
    end_executor(&r);
    if (rc == 0)
        rc = released ? record_end(&r, e) : -1;
    FAULT(RUNNER_ENDED);
    if (r.ok_count > 0 && r.result.counts.pending > 0)
        tell_unreported(&r);
    r.result.held |= r.result.counts.held > 0;
    r.result.same = starter_count_same(&r.starter, &r.result.different);
    report_counts(&r, true);
    runner_close(&r);
    clock_unwatch_stillness();
    if (rc == 0)
        *out = r.result;
    return rc;
}

#include "commands/execution.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/progress_display.h"
#include "cli/stale_results.h"
#include "database/open.h"
#include "deepspeed/ds_preparation.h"
#include "process/process.h"
#include "report/full_training.h"
#include "results/best.h"
#include "results/contenders.h"
#include "run/local_executor.h"
#include "run/rendezvous.h"
#include "run/runner.h"
#include "run/start_check.h"
#include "slurm/executor.h"
#include "slurm/step_executor.h"
#include "store/selection.h"
#include "util/memory.h"

extern char **environ;

static void report_event(void *context, const struct run_event *event)
{
    progress_display_event(context, event);
}

static void report_counts(void *context, const struct run_counts *counts)
{
    progress_display_counts(context, counts);
}

static void report_notice(void *context, const char *text)
{
    progress_display_notice(context, text);
}

static size_t slots_of(const struct run_options *o, const struct session *s)
{
    if (o->jobs)
        return (size_t)o->jobs;
    if (o->executor == EXECUTOR_SLURM && !o->in_allocation)
        return (size_t)s->sweep->slurm.max_jobs;
    /* As many as can have devices of their own. Without devices one at a time, since two jobs that share a processor
     * would spoil both measurements. */
    return s->devices.count > 0 ? s->devices.count : 1;
}

static executor_create *executor_for(const struct run_options *o)
{
    if (o->executor != EXECUTOR_SLURM)
        return local_executor_create;
    return o->in_allocation ? slurm_step_executor_create : slurm_executor_create;
}

/* The runner's environment with the tool's own directory at the end of PATH, so that a job finds the programs that
 * are installed beside it. NULL-terminated; only the first pointer array and the new PATH are the caller's. */
static char **with_own_directory(char *const *environment, char **own_path)
{
    size_t count = 0;
    while (environment[count])
        count++;
    char **copy = xcalloc(count + 2, sizeof *copy);
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = n > 0 ? memrchr(self, '/', (size_t)n) : NULL;
    const char *path = PROCESS_DEFAULT_PATH;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (strncmp(environment[i], "PATH=", 5) == 0)
            path = environment[i] + 5;
        else
            copy[kept++] = environment[i];
    }
    *own_path = xasprintf("PATH=%s%s%.*s", path, slash ? ":" : "", slash ? (int)(slash - self) : 0, self);
    copy[kept] = *own_path;
    return copy;
}

/* Whether this program may run two jobs on one machine at a time. */
static bool may_share_machine(const struct execution *x)
{
    const struct session *s = x->session;
    struct error ignored = ERROR_INIT;
    int64_t smallest = 1;
    if (slots_of(x->options, s) < 2 || s->sweep->local.exclusive ||
        (x->options->executor == EXECUTOR_SLURM && !x->options->in_allocation))
        return false;
    if (s->devices.count > 0)
        db_query_int(x->db, "SELECT min(devices) FROM job WHERE state = 'pending'", NO_VALUES, 1, &smallest, &ignored);
    return s->devices.count == 0 || 2 * (size_t)smallest <= s->devices.count;
}

static void warn_of_ports(const struct execution *x)
{
    char *warning = may_share_machine(x) ? rendezvous_warning(&x->session->sweep->job) : NULL;
    if (warning)
        output_message("warning: %s", warning);
    free(warning);
}

static int check_start(const struct execution *x, char *const *environment, struct error *e)
{
    const bool elsewhere = x->options->executor == EXECUTOR_SLURM;
    const struct start_check check = {.space = x->session->space,
                                      .db = x->db,
                                      .sweep_id = x->enumeration.sweep_id,
                                      .environment = environment,
                                      .launcher = !elsewhere                  ? NULL
                                                  : x->options->in_allocation ? "srun"
                                                                              : "sbatch"};
    return start_check(&check, e);
}

static int put_unlisted(void *context, bool *done, struct error *e)
{
    const struct execution *x = context;
    db_cut_log(x->db);
    if (db_try_begin(x->db, done, e) < 0)
        return -1;
    return *done ? unlisted_put(x->enumeration.rest, e) : 0;
}

static void stop_unlisted(void *context)
{
    const struct execution *x = context;
    unlisted_stop(x->enumeration.rest);
}

/* The winner, once; again where its host could not start it. */
struct full_source {
    int64_t job;
    bool chosen;
};

static int choose_full(void *context, int64_t *job_ids, size_t room, size_t *count, enum claim_answer *answer,
                       struct error *e)
{
    struct full_source *s = context;
    (void)e;
    *count = room > 0 && !s->chosen;
    if (*count) {
        job_ids[0] = s->job;
        s->chosen = true;
    }
    *answer = CLAIM_WAIT;
    return 0;
}

static int release_full(void *context, const struct claim *claim, struct error *e)
{
    struct full_source *s = context;
    (void)claim;
    (void)e;
    s->chosen = false;
    return 0;
}

/* Runs all that is due with one runner. */
static int start_runner_in(struct execution *x, char *const *environment, const char *directory, const char *identity,
                           struct error *e)
{
    struct ds_preparation own = {x->session->sweep, x->session->ds_config, x->options->db};
    const struct preparation preparation = ds_preparation_of(&own);
    const bool again = x->repeats > 0 || x->full_job > 0;
    struct full_source full = {x->full_job, false};
    const struct claim_source full_source = {true, .choose = choose_full, .released = release_full, .context = &full};
    const struct claim_source source = x->driver ? search_driver_source(x->driver) : (struct claim_source){0};
    const struct job_listing unlisted = {unlisted_count(x->enumeration.rest), put_unlisted, stop_unlisted, x};
    const struct runner_options options = {
        .source = x->full_job           ? &full_source
                  : x->driver && !again ? &source
                                        : NULL,
        .unlisted = unlisted.count > 0 ? &unlisted : NULL,
        .preparation = own.config ? &preparation : NULL,
        .space = x->session->space,
        .db = x->db,
        .sweep_id = x->enumeration.sweep_id,
        .measures = x->measures,
        .slots = slots_of(x->options, x->session),
        .executor = executor_for(x->options),
        .allocation = x->options->in_allocation ? &x->session->allocation : NULL,
        .detach = x->options->detach,
        .release = x->options->release,
        .devices = {.devices = &x->session->devices},
        .directory = directory,
        .identity = identity,
        .environment = environment,
        .job_limit = x->full_job ? 0 : x->options->limit,
        .max_fail = x->full_job ? 0 : x->options->max_fail,
        .pause_after = x->full_job || x->keep_going || x->options->keep_going ? 0 : x->options->pause_after,
        .only_selected = again || x->session->only.sql != NULL,
        .forced_classes = x->session->forced,
        .on_event = report_event,
        .on_counts = x->display ? report_counts : NULL,
        .on_notice = report_notice,
        .context = x->display,
    };
    struct run_result repeated = {0};
    int rc = runner_run(&options, again ? &repeated : &x->result, e);
    if (again)
        x->result.signal = repeated.signal;
    return rc;
}

static int start_runner(struct execution *x, const char *directory, const char *identity, struct error *e)
{
    char *path;
    char **environment = with_own_directory(environ, &path);
    if (x->repeats == 0)
        warn_of_ports(x);
    int rc = check_start(x, environment, e);
    if (rc == 0)
        rc = start_runner_in(x, environment, directory, identity, e);
    free(environment);
    free(path);
    return rc;
}

static int open_search(struct execution *x, struct error *e)
{
    if (!x->search.wanted || x->enumeration.counts.jobs == 0)
        return 0;
    struct search_options complete = x->search.options;
    search_options_complete(&complete);
    const struct search_driver_options options = {
        .candidates = {.space = x->session->space,
                       .db = x->db,
                       .sweep_id = x->enumeration.sweep_id,
                       .equal_batch = complete.equal_batch != 0,
                       .only_selected = x->session->only.sql != NULL},
        .search = &x->search.options,
        .repeat = x->session->sweep->job.repeat,
        .measures = x->measures,
    };
    if (search_driver_create(&options, &x->driver, e) < 0)
        return -1;
    if (x->enumeration.is_drawn)
        output_message("%lld combinations match; the search chooses among %lld of them",
                       (long long)x->enumeration.counts.matched, (long long)x->enumeration.counts.jobs);
    char *groups = search_driver_groups(x->driver);
    if (groups)
        output_message("%s", groups);
    free(groups);
    if (search_driver_note(x->driver))
        output_message("%s: strategy `model` learns only from what it measures", search_driver_note(x->driver));
    return 0;
}

static int tell_stale(const struct execution *x, struct error *e)
{
    char *path, **environment = with_own_directory(environ, &path);
    int rc = stale_results_tell(x->db, &x->session->sweep->job, environment, e);
    free(environment);
    free(path);
    return rc;
}

/* Makes stale results due again, if this run would start their jobs. */
static int reopen_stale(struct execution *x, struct error *e)
{
    const struct retry_policy policy = retry_policy_of(x->session->sweep);
    const struct requeue_request request = {.sweep_id = x->enumeration.sweep_id,
                                            .policy = &policy,
                                            .only_selected = x->session->only.sql != NULL,
                                            .most = x->options->limit,
                                            .in_order = !x->search.wanted};
    cJSON *stale, *beside;
    int64_t again = 0;
    if (!x->options->stale)
        return x->options->tell_stale ? tell_stale(x, e) : 0;
    if (stale_results_read(x->db, &x->session->sweep->job, &stale, &beside, e) < 0)
        return -1;
    const long long jobs = json_count_of(stale, "stale"), results = json_count_of(stale, "results");
    int rc = stale_reopen(x->db, stale, &request, &again, e);
    if (rc == 0 && again == jobs)
        output_message("%lld of %lld results are stale; running them again", jobs, results);
    else if (rc == 0)
        output_message("%lld of %lld results are stale; running %lld of them again", jobs, results, (long long)again);
    cJSON_Delete(stale);
    cJSON_Delete(beside);
    return rc;
}

/* Selects the winner, and for --confirm those that cannot be told apart from it; `*winner` 0: nothing. */
static int select_best(struct execution *x, bool winner_alone, int64_t *winner, struct error *e)
{
    struct best best = {0};
    struct selection *selection = NULL;
    int64_t ids[BEST_LISTED];
    size_t count = 0;
    if (best_read(x->db, &best, e) < 0)
        return -1;
    int rc = contenders_read(x->db, &best, ids, &count, e);
    if (winner_alone && count > 1)
        count = 1;
    /* A winner without rivals needs no confirmation. */
    *winner = count > !winner_alone ? ids[0] : 0;
    if (rc == 0 && *winner)
        rc = selection_open(x->db, &selection, e);
    for (size_t i = 0; rc == 0 && *winner && i < count; i++)
        rc = selection_add(selection, ids[i], e);
    selection_close(selection);
    best_free(&best);
    return rc;
}

/* Runs the selected jobs until each has so many ok attempts; the one with the median objective then stands for it. */
static int run_again(struct execution *x, const char *directory, const char *identity, struct error *e)
{
    int64_t before = x->session->sweep->job.repeat;
    x->session->sweep->job.repeat = x->repeats;
    int rc = start_runner(x, directory, identity, e);
    x->session->sweep->job.repeat = before;
    x->repeats = 0;
    return rc;
}

/* What became of it is told once it has ended; of one that another run is to collect nothing is known yet. */
static int note_full(struct execution *x, struct error *e)
{
    cJSON *all = NULL;
    struct buffer text = BUFFER_INIT;
    if (full_trainings_read(x->db, x->full_job, &all, e) < 0)
        return -1;
    const cJSON *last = full_training_last(all);
    x->full_failed = !last || strcmp(full_training_state(last), "failed") == 0;
    if (last)
        full_training_add_text(last, &text);
    else if (!x->result.signal)
        buffer_printf(&text, "the full training of job %lld was not started\n", (long long)x->full_job);
    if (text.length)
        output_message("%.*s", (int)text.length - 1, buffer_text(&text));
    buffer_free(&text);
    cJSON_Delete(all);
    return 0;
}

static int run_full(struct execution *x, const char *directory, const char *identity, struct error *e)
{
    struct sweep *sweep = x->session->sweep;
    cJSON *all = NULL;
    if (full_trainings_read(x->db, x->full_job, &all, e) < 0)
        return -1;
    const bool is_done = full_training_is_done(all);
    cJSON_Delete(all);
    if (is_done) {
        output_message("the full training of job %lld has been done; meshsweep show %lld", (long long)x->full_job,
                       (long long)x->full_job);
        return 0;
    }
    sweep->job.last_step = 0;
    memset(sweep->deepspeed.profile_steps, 0, sizeof sweep->deepspeed.profile_steps);
    output_message("launching the winner: the full training of job %lld", (long long)x->full_job);
    return start_runner(x, directory, identity, e) < 0 ? -1 : note_full(x, e);
}

/* --confirm and --run-full-experiment, when the search is over. */
static int run_the_best(struct execution *x, const char *directory, const char *identity, struct error *e)
{
    double confirm = x->search.options.numbers[SEARCH_CONFIRM];
    int64_t winner = 0;
    if (x->result.signal || x->session->sweep->objective_count == 0)
        return 0;
    if (confirm > 1) {
        x->repeats = (int64_t)confirm;
        if (select_best(x, false, &winner, e) < 0 || (winner && run_again(x, directory, identity, e) < 0))
            return -1;
        x->repeats = 0;
    }
    const bool wanted = x->options->run_full_experiment || x->session->sweep->search.run_full_experiment;
    if (!wanted || x->result.signal)
        return 0;
    if (x->result.counts.running > 0) {
        output_message("the full training follows once all jobs have ended: run this command again then");
        return 0;
    }
    if (select_best(x, true, &winner, e) < 0)
        return -1;
    if (!winner) {
        x->full_failed = true;
        output_message("there is no best job, so there is no full training");
        return 0;
    }
    x->full_job = winner;
    int rc = run_full(x, directory, identity, e);
    x->full_job = 0;
    return rc;
}

/* Lists the remaining jobs if the run ended before they were listed. */
static int list_rest(struct execution *x, struct error *e)
{
    if (unlisted_count(x->enumeration.rest) == 0 || x->result.signal)
        return 0;
    if (db_begin(x->db, e) < 0)
        return -1;
    return unlisted_put(x->enumeration.rest, e);
}

/* Runs all that is due, or what a search asks for. */
static int run_due(struct execution *x, const char *directory, const char *identity, struct error *e)
{
    search_driver_free(x->driver);
    x->driver = NULL;
    int rc = open_search(x, e);
    if (rc == 0)
        rc = start_runner(x, directory, identity, e);
    return rc < 0 ? rc : list_rest(x, e);
}

int execution_run(struct execution *x, struct error *e)
{
    char *directory = store_directory(x->options->db), *identity = NULL;
    int rc = store_identity(x->db, &identity, e);
    if (rc == 0 && x->session->only.sql)
        rc = enumerate_select(x->session->space, x->db, &x->session->only, e);
    if (rc == 0)
        rc = reopen_stale(x, e);
    if (rc == 0)
        rc = run_due(x, directory, identity, e);
    if (rc == 0 && x->result.paused && output_ask("continue with the rest?")) {
        x->keep_going = true;
        rc = run_due(x, directory, identity, e);
    }
    if (rc == 0)
        rc = run_the_best(x, directory, identity, e);
    free(directory);
    free(identity);
    return rc;
}

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers/idle_keys.h"
#include "batch/executor.h"
#include "batch/steps.h"
#include "cli/end_command.h"
#include "cli/match_words.h"
#include "cli/model_info_job.h"
#include "cli/output.h"
#include "cli/progress_display.h"
#include "cli/result_output.h"
#include "cli/run_options.h"
#include "cli/search_model.h"
#include "cli/search_setup.h"
#include "cli/session.h"
#include "cli/stale_results.h"
#include "commands/commands.h"
#include "config/failure.h"
#include "database/lock.h"
#include "database/open.h"
#include "deepspeed/ds_preparation.h"
#include "device/usage.h"
#include "measures/definitions.h"
#include "measures/learning.h"
#include "measures/measures.h"
#include "process/environment.h"
#include "process/process.h"
#include "report/saying.h"
#include "results/best.h"
#include "results/status.h"
#include "run/local_executor.h"
#include "run/reread.h"
#include "run/runner.h"
#include "run/starter.h"
#include "search/driver.h"
#include "space/enumerate.h"
#include "space/formers.h"
#include "ssh/executor.h"
#include "store/jobs.h"
#include "util/buffer.h"
#include "util/memory.h"

/* --- after matching: what is due, in order or as a search asks for it, then the best again if asked to --- */

struct execution {
    struct session *session;
    const struct run_options *options;
    struct db *db;
    const char *directory, *identity; /* of the database's files; which database it is */
    struct progress_display *display; /* NULL: silent */
    struct enumeration enumeration;
    struct measures *measures; /* NULL: none */
    struct search_setup search;
    struct search_driver *driver; /* NULL: every job in order */
    int64_t repeats;              /* ok attempts wanted while the best run again; else 0 */
    bool profile;                 /* `full_job` runs under [job.profile] instead */
    int64_t full_job;             /* the winner, while its full training runs; else 0 */
    bool full_failed;             /* the full training was asked for and did not come to a good end */
    bool without_winner;          /* the search ended, and no job is best */
    bool told_environment;        /* which variables jobs did not get */
    bool keep_going;              /* the user chose to continue after a pause */
    bool profiled;                /* the model-information job has just succeeded */
    struct run_result result;
};

extern char **environ;

/* To whom progress is shown; takes `sentence`. */
static void show_notice(const struct execution *x, char *sentence)
{
    if (sentence && x->display)
        progress_display_notice(x->display, sentence);
    free(sentence);
}

/* "BEFORE: A, B; AFTER" of such names (taken) as [job] env does not set; NULL: there are none. The caller's. */
static char *name_variables(const struct job_config *job, const char *before, char **names, const char *after)
{
    struct buffer text = BUFFER_INIT;
    for (size_t i = 0; names[i]; i++) {
        bool is_set = false;
        for (size_t k = 0; k < job->environment_count; k++)
            is_set |= strcmp(job->environment[k].name, names[i]) == 0;
        if (!is_set)
            buffer_printf(&text, "%s%s", text.length ? ", " : before, names[i]);
    }
    strings_free(names);
    if (text.length == 0)
        return NULL;
    buffer_add_text(&text, after);
    return buffer_take(&text);
}

/* Names the variables that a job lacks and would have by hand: they may be why it failed. */
static void tell_environment(struct execution *x)
{
    const struct job_config *job = &x->session->sweep->job;
    show_notice(x, name_variables(job, "set here, but not passed to jobs: ",
                                  environment_not_passed(environ, job_passing(job), NULL),
                                  "; pass_env = [...] in [job] passes them"));
    x->told_environment = true;
}

static void report_event(void *context, const struct run_event *event)
{
    struct execution *x = context;
    progress_display_event(x->display, event);
    if (event->failure && strcmp(event->failure, failure_names[FAILURE_CANCELLED]) != 0 && !x->told_environment)
        tell_environment(x);
}

static void report_counts(void *context, const struct run_counts *counts)
{
    const struct execution *x = context;
    progress_display_counts(x->display, counts);
}

static void report_notice(void *context, const char *text)
{
    const struct execution *x = context;
    progress_display_notice(x->display, text);
}

static size_t slots_of(const struct run_options *o, const struct session *s)
{
    if (o->jobs)
        return (size_t)o->jobs;
    if (s->system && !o->in_allocation)
        return (size_t)s->sweep->batch.max_jobs;
    /* As many as can have devices of their own. Without devices one at a time, since two jobs that share a processor
     * would spoil both measurements. */
    const double share = sweep_least_share(s->sweep);
    return s->devices.count > 0 ? (size_t)((double)s->devices.count / share + 1e-9) : 1;
}

static executor_create *executor_for(const struct run_options *o, const struct session *s)
{
    if (!s->system)
        return s->by_ssh ? ssh_executor_create : local_executor_create;
    return o->in_allocation ? slurm_step_executor_create : batch_executor_create;
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

/* Returns whether this program may run two jobs on one machine at a time. */
static bool may_share_machine(const struct execution *x)
{
    const struct session *s = x->session;
    struct error ignored = ERROR_INIT;
    int64_t smallest = 1;
    if (slots_of(x->options, s) < 2 || s->sweep->local.exclusive || (s->system && !x->options->in_allocation))
        return false;
    if (s->devices.count > 0)
        db_query_int(x->db, "SELECT min(devices) FROM job WHERE state = 'pending'", NO_VALUES, 1, &smallest, &ignored);
    return s->devices.count == 0 || sweep_least_share(s->sweep) < 1 || 2 * (size_t)smallest <= s->devices.count;
}

static void warn_of_ports(const struct execution *x)
{
    const struct session *s = x->session;
    OWNED char *warning = may_share_machine(x) ? rendezvous_warning(&s->sweep->job, s->devices.count > 0) : NULL;
    if (warning)
        output_message("warning: %s", warning);
}

static int check_start(const struct execution *x, char *const *environment, struct error *e)
{
    const struct batch_system *system = x->session->system;
    const struct start_check check = {.space = x->session->space,
                                      .db = x->db,
                                      .sweep_id = x->enumeration.sweep_id,
                                      .environment = environment,
                                      .launcher = x->session->by_ssh          ? "ssh"
                                                  : !system                   ? NULL
                                                  : x->options->in_allocation ? "srun"
                                                                              : system->submit[0]};
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
static int start_runner_in(struct execution *x, char *const *environment, struct error *e)
{
    struct ds_preparation own = {x->session->sweep, x->session->ds_config, x->options->db};
    const struct preparation preparation = ds_preparation_of(&own);
    const bool again = x->repeats > 0 || x->full_job > 0;
    struct full_source full = {x->full_job, false};
    const struct claim_source full_source = {x->profile ? "profile" : "full", true, .choose = choose_full,
                                             .released = release_full, .context = &full};
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
        .executor = executor_for(x->options, x->session),
        .system = x->session->system,
        .allocation = x->options->in_allocation ? &x->session->allocation : NULL,
        .detach = x->options->detach,
        .release = x->options->release,
        .devices = {.devices = &x->session->devices},
        .directory = x->directory,
        .identity = x->identity,
        .environment = environment,
        .job_limit = x->full_job ? 0 : x->options->limit,
        .max_fail = x->full_job ? 0 : x->options->max_fail,
        .pause_after = x->full_job || x->keep_going || x->options->keep_going ? 0 : x->options->pause_after,
        .only_selected = again || session_is_narrowed(x->session),
        .forced_classes = x->session->forced,
        .on_event = report_event,
        .on_counts = x->display ? report_counts : NULL,
        .on_notice = report_notice,
        .context = x,
    };
    struct run_result repeated = {0};
    int rc = runner_run(&options, again ? &repeated : &x->result, e);
    if (again)
        x->result.signal = repeated.signal;
    return rc;
}

static int start_runner(struct execution *x, struct error *e)
{
    OWNED char *path = NULL;
    OWNED char **environment = with_own_directory(environ, &path);
    if (x->repeats == 0)
        warn_of_ports(x);
    return check_start(x, environment, e) < 0 ? -1 : start_runner_in(x, environment, e);
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
                       .only_selected = session_is_narrowed(x->session)},
        .search = &x->search.options,
        .measures = x->measures,
    };
    if (search_driver_create(&options, &x->driver, e) < 0)
        return -1;
    if (x->enumeration.is_drawn)
        output_message("%lld combinations match; the search chooses among %lld of them",
                       (long long)x->enumeration.counts.matched, (long long)x->enumeration.counts.jobs);
    OWNED char *groups = search_driver_groups(x->driver);
    if (groups)
        output_message("%s", groups);
    if (search_driver_note(x->driver))
        output_message("%s: strategy `model` learns only from what it measures", search_driver_note(x->driver));
    return 0;
}

static int tell_stale(const struct execution *x, struct error *e)
{
    char *path, **environment = with_own_directory(environ, &path);
    int rc = stale_results_tell(x->db, &x->session->sweep->job, environment, e);
    free_all(environment, path);
    return rc;
}

/* Makes stale results due again, if this run would start their jobs. */
static int reopen_stale(struct execution *x, struct error *e)
{
    const struct requeue_request request = {.sweep_id = x->enumeration.sweep_id,
                                            .policy = &x->session->sweep->retry,
                                            .only_selected = session_is_narrowed(x->session),
                                            .most = x->options->limit,
                                            .in_order = !x->search.wanted};
    OWNED_JSON *stale = NULL, *beside = NULL;
    int64_t again = 0;
    if (!x->options->stale)
        return x->options->tell_stale ? tell_stale(x, e) : 0;
    if (stale_results_read(x->db, &x->session->sweep->job, &stale, &beside, e) < 0)
        return -1;
    const long long jobs = json_count_of(stale, "stale"), results = json_count_of(stale, "results");
    int rc = stale_results_reopen(x->db, stale, &request, &again, e);
    if (rc == 0 && again == jobs)
        output_message("%lld of %lld results are stale%s", jobs, results, jobs ? "; running them again" : "");
    else if (rc == 0)
        output_message("%lld of %lld results are stale; running %lld of them again", jobs, results, (long long)again);
    return rc;
}

/* Selects the winner, and for --confirm those that cannot be told apart from it; `*winner` 0: nothing. */
static int select_best(struct execution *x, bool winner_alone, int64_t *winner, struct error *e)
{
    OWNED_BY(best_free) struct best best = {NULL, NULL};
    OWNED_JSON *jobs = NULL;
    const cJSON *job;
    int rc = best_read(x->db, NULL, &best, e) < 0 ? -1 : contenders_read(x->db, &best, &jobs, e);
    while (winner_alone && cJSON_GetArraySize(jobs) > 1)
        cJSON_DeleteItemFromArray(jobs, 1);
    /* A winner without rivals needs no confirmation. */
    *winner = cJSON_GetArraySize(jobs) > !winner_alone ? best_job(&best) : 0;
    if (rc == 0 && *winner)
        rc = selection_begin(x->db, e);
    for (job = jobs ? jobs->child : NULL; rc == 0 && *winner && job; job = job->next)
        rc = db_run(x->db, "INSERT OR IGNORE INTO temp.selected VALUES (?)", VALUES(sql_int((int64_t)job->valuedouble)),
                    e);
    return rc;
}

/* Runs the selected jobs until each has so many ok attempts; the one with the median objective then stands for it. */
static int run_again(struct execution *x, struct error *e)
{
    int64_t before = x->session->sweep->job.repeat;
    x->session->sweep->job.repeat = x->repeats;
    int rc = start_runner(x, e);
    x->session->sweep->job.repeat = before;
    x->repeats = 0;
    return rc;
}

/* Reports the end of a full training; nothing is known yet of one that another run is to collect. */
static int note_full(struct execution *x, struct error *e)
{
    OWNED_JSON *all = NULL;
    OWNED_BUFFER text = BUFFER_INIT;
    if (full_trainings_read(x->db, x->full_job, &all, e) < 0)
        return -1;
    const cJSON *last = cJSON_GetArrayItem(all, cJSON_GetArraySize(all) - 1);
    x->full_failed = !last || strcmp(json_text_of(last, "state"), "failed") == 0;
    if (last)
        saying_add_sentence("sql/texts/full_training.sql", last, NULL, &text);
    else if (!x->result.signal)
        buffer_printf(&text, "the full training of job %lld was not started", (long long)x->full_job);
    if (text.length)
        output_message("%s", buffer_text(&text));
    return 0;
}

static int run_full(struct execution *x, struct error *e)
{
    struct sweep *sweep = x->session->sweep;
    bool is_done = false;
    if (db_query_bool(x->db, "SELECT 1 FROM attempt WHERE job_id = ? AND kind = 'full' AND state = 'ok'",
                      VALUES(sql_int(x->full_job)), &is_done, e) < 0)
        return -1;
    if (is_done) {
        output_message("the full training of job %lld has been done; meshsweep show %lld", (long long)x->full_job,
                       (long long)x->full_job);
        return 0;
    }
    sweep->job.last_step = 0;
    memset(sweep->deepspeed.profile_steps, 0, sizeof sweep->deepspeed.profile_steps);
    output_message("launching the winner: the full training of job %lld", (long long)x->full_job);
    return start_runner(x, e) < 0 ? -1 : note_full(x, e);
}

/* [job.profile]: the winner once more, unless that has been done. */
static int profile_the_best(struct execution *x, struct error *e)
{
    OWNED char *last = NULL;
    bool is_done = false;
    int64_t winner = 0;
    if (!x->session->sweep->job.profile_prefix || x->result.signal || x->result.counts.running > 0)
        return 0;
    if (x->session->sweep->objective_count == 0 || (select_best(x, true, &winner, e) == 0 && !winner)) {
        output_message("there is no best job, so none is run under [job.profile]");
        return 0;
    }
    if (!winner || db_query_bool(x->db, "SELECT 1 FROM attempt WHERE job_id = ? AND kind = 'profile' AND state = 'ok'",
                                 VALUES(sql_int(winner)), &is_done, e) < 0)
        return -1;
    if (is_done)
        return 0;
    output_message("running the winner once more under [job.profile]: job %lld", (long long)winner);
    x->full_job = winner;
    x->profile = true;
    int rc = start_runner(x, e);
    x->profile = false;
    x->full_job = 0;
    if (rc < 0 || db_query_text(x->db,
                                "SELECT state FROM attempt WHERE job_id = ? AND kind = 'profile' ORDER BY number DESC"
                                " LIMIT 1",
                                VALUES(sql_int(winner)), &last, e) < 0)
        return -1;
    output_message("job %lld under [job.profile]: %s; meshsweep show %lld lists its files", (long long)winner,
                   last ? last : "not started", (long long)winner);
    return 0;
}

/* --confirm and --run-full-experiment, when the search is over. */
static int run_the_best(struct execution *x, struct error *e)
{
    double confirm = x->search.options.numbers[SEARCH_CONFIRM];
    int64_t winner = 0;
    if (x->result.signal || x->session->sweep->objective_count == 0)
        return 0;
    if (confirm > 1) {
        x->repeats = (int64_t)confirm;
        if (select_best(x, false, &winner, e) < 0 || (winner && run_again(x, e) < 0))
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
    int rc = run_full(x, e);
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
static int run_due(struct execution *x, struct error *e)
{
    search_driver_free(x->driver);
    x->driver = NULL;
    return open_search(x, e) < 0 || start_runner(x, e) < 0 ? -1 : list_rest(x, e);
}

/* Runs what is due of the jobs that were enumerated. Fills in `driver` (the caller's: search_driver_free), `repeats`,
 * `keep_going` and `result`; a signal or only jobs that failed are not an error. -1: it could not go on. */
static int execution_run(struct execution *x, struct error *e)
{
    OWNED char *directory = store_directory(x->options->db), *identity = NULL;
    if (store_identity(x->db, &identity, e) < 0)
        return -1;
    x->directory = directory;
    x->identity = identity;
    if (session_narrow(x->session, x->db, x->enumeration.sweep_id, e) < 0 || reopen_stale(x, e) < 0 ||
        run_due(x, e) < 0)
        return -1;
    if (x->result.paused && output_ask("continue with the rest?")) {
        x->keep_going = true;
        if (run_due(x, e) < 0)
            return -1;
    }
    return run_the_best(x, e) < 0 ? -1 : profile_the_best(x, e);
}

/* --- the command --- */

extern char **environ;

static void report_enumeration(void *context, int64_t matched)
{
    progress_display_enumerating(context, matched);
}

static int need_command(const struct session *s, struct error *e)
{
    if (s->space->command.count > 0)
        return 0;
    return error_set(e, ERROR_USAGE,
                     "%s: there is no [job] command, so there is nothing to run; add one, or give it with --command "
                     "'LINE' or after --",
                     s->sweep->path);
}

static int need_objective(const struct run_options *o, const struct sweep *sweep, struct error *e)
{
    if ((!o->run_full_experiment && !sweep->search.run_full_experiment) || sweep->objective_count > 0)
        return 0;
    return error_set(e, ERROR_USAGE,
                     "%s: a full training is that of the winner, and without an objective there is none; add objective "
                     "= \"max:METRIC\" or \"min:METRIC\" to [sweep], or give --metric max:METRIC",
                     sweep->path);
}

static void report_search(const struct execution *x)
{
    struct search_counts c;
    if (!x->driver)
        return;
    const char *reason = search_driver_reason(x->driver, &c);
    OWNED_BUFFER others = BUFFER_INIT;
    if (c.infeasible)
        buffer_printf(&others, ", %zu that do not meet [sweep] subject_to", c.infeasible);
    if (c.pruned)
        buffer_printf(&others, ", %zu not tried because they need too much memory", c.pruned);
    if (c.known)
        buffer_printf(&others, ", %zu known without a trial", c.known);
    output_message("search: %zu trial%s, %zu ok, %zu stopped early, %zu failed%s; %s", c.trials,
                   c.trials == 1 ? "" : "s", c.ok, c.stopped, c.failed, buffer_text(&others), reason);
}

static int status_of(const struct execution *x)
{
    if (x->result.signal)
        return STATUS_SIGNAL + x->result.signal;
    if (x->result.counts.total == 0 && x->result.counts.gone == 0)
        return STATUS_NOTHING;
    if (x->result.refused)
        return STATUS_USAGE;
    if (x->result.fixture_failed)
        return STATUS_JOBS_FAILED;
    if (x->result.held)
        return STATUS_HELD;
    if (x->result.paused)
        return STATUS_ALIKE;
    const bool failed = x->result.counts.failed > 0 || x->result.gave_up || x->without_winner || x->full_failed;
    return failed ? STATUS_JOBS_FAILED : STATUS_OK;
}

/* Names the rules that leave nothing to run. */
static void report_rules(const struct execution *x)
{
    OWNED_STMT *s = NULL;
    struct error none = ERROR_INIT;
    if (x->enumeration.counts.jobs > 0 ||
        status_part(x->db, "SELECT combinations, rule, reason FROM falsified WHERE level = 'exclude'", NO_VALUES, &s,
                    &none) < 0)
        return;
    while (stmt_next(s, &none) > 0)
        output_message("%lld combination%s excluded by %s: %s", (long long)stmt_int(s, 0),
                       stmt_int(s, 0) == 1 ? " is" : "s are", stmt_text(s, 1),
                       stmt_is_null(s, 2) ? "" : stmt_text(s, 2));
}

static void say_no_winner(const struct best *best)
{
    OWNED_BUFFER text = BUFFER_INIT;
    saying_add_sentence("sql/texts/nearest.sql", best->document, best->beside, &text);
    if (!text.length)
        buffer_printf(&text, "no job ran to its end and reported a finite %s",
                      json_text_of(best->document, "objective"));
    output_message("there is no best job: %s", buffer_text(&text));
}

/* No winner is an error only after a search. */
static void report_end(struct execution *x)
{
    OWNED_BY(best_free) struct best best = {0};
    struct error none = ERROR_INIT;
    bool known = (x->display || x->driver) && best_read(x->db, NULL, &best, &none) == 0;
    /* With several groups there is no single winner to announce. */
    const bool alone = json_count_of(best.beside, "winners") < 2 && !json_text_or(best.beside, "without_winner", "")[0];
    progress_display_end(x->display, &x->result, known && alone ? &best : NULL, x->options->db);
    x->without_winner = known && best_job(&best) < 0 && x->driver && !x->result.signal;
    if (x->without_winner)
        say_no_winner(&best);
    if (known && x->display) {
        batch_notice_say(best.beside);
        stale_results_tell_mixed(x->db, &none);
    }
}

/* Memory of this machine's smallest device; 0: unknown. */
static double device_bytes(const struct device_list *devices)
{
    OWNED struct device_usage *all = xcalloc(devices->count + 1, sizeof *all);
    int64_t least = 0;
    if (devices->count > 0 && device_total_read(environ, devices, all) == 0)
        for (size_t i = 0; i < devices->count; i++)
            least = all[i].bytes > 0 && (least == 0 || all[i].bytes < least) ? all[i].bytes : least;
    return (double)least;
}

/* The job is a sweep of its own, run as any other, with the devices of the one that asks. */
static int run_model_info(struct execution *x, struct session *job, struct error *e)
{
    struct run_options options = *x->options;
    struct execution own = {.session = job, .options = &options, .db = x->db};
    options.stale = options.tell_stale = options.run_full_experiment = false;
    job->devices = x->session->devices;
    job->allocation = x->session->allocation;
    job->forced = x->session->forced;
    int rc = enumerate_into(job->space, x->db, NULL, &own.enumeration, e);
    if (rc == 0) {
        own.display = progress_display_open((enum progress)options.progress, job->space, options.db);
        rc = execution_run(&own, e);
        progress_display_close(own.display);
    }
    x->result.signal = own.result.signal;
    x->profiled = own.result.counts.ok > 0;
    job->devices = DEVICE_LIST_INIT;
    job->allocation = (struct allocation){0};
    job->forced = NULL;
    return rc;
}

/* Facts about the model, after running the job that finds them. */
static int find_model_info(struct execution *x, struct model_facts *out, struct error *e)
{
    OWNED_BY(session_close) struct session job = {0};
    *out = model_facts_given(x->session->sweep);
    if (!model_info_wants_job(x->session->sweep))
        return 0;
    int rc = model_info_open(x->session, &job, e);
    rc = rc < 0 ? rc : run_model_info(x, &job, e);
    rc = rc < 0 ? rc : model_info_gather(x->session, x->db, out, e);
    if (rc < 0 || !model_facts_known(out) || !isnan(out->values[FACT_DEVICE_MEMORY]))
        return rc;
    double bytes = device_bytes(&x->session->devices);
    if (bytes > 0) {
        out->values[FACT_DEVICE_MEMORY] = bytes;
        rc = model_facts_note(x->db, out, FACT_DEVICE_MEMORY, bytes, e);
    }
    return rc;
}

static int prepare_space(struct execution *x, struct model_facts *facts, struct error *e)
{
    if (find_model_info(x, facts, e) < 0)
        return -1;
    model_info_explain(facts);
    if (model_info_apply(x->session, facts, e) < 0 || model_info_find_stages(x->session, facts, e) < 0)
        return -1;
    if (x->profiled || facts->rule)
        model_info_tell(facts);
    return 0;
}

static int run_enumerated(struct execution *x, struct error *e)
{
    const struct job_config *job = &x->session->sweep->job;
    progress_display_enumerated(x->display, &x->enumeration);
    if (x->enumeration.new_jobs > 0)
        show_notice(x, unreached_sentence(x->session->space));
    show_notice(x, name_variables(job, "pass_env = \"*\" passes no secrets: ",
                                  environment_kept_out(environ, job_passing(job)), "; name those that jobs need"));
    if (execution_run(x, e) < 0)
        return -1;
    show_notice(x, unreached_same(x->session->space, x->result.same, x->result.different));
    report_search(x);
    report_end(x);
    report_rules(x);
    if (x->result.counts.gone > 0)
        output_message("attempts not recorded, because their rows were deleted while they ran: %lld; the next run "
                       "creates their jobs again",
                       (long long)x->result.counts.gone);
    return 0;
}

/* Carries out [was] with the enumeration; without it, reports a change that made all jobs new. */
static int find_formers(struct execution *x, struct formers *f, struct space_moves *moves, struct error *e)
{
    struct space *space = x->session->space;
    OWNED_BUFFER hint = BUFFER_INIT;
    if (formers_find(space, x->db, FORMERS_WAS, f, e) < 0)
        return -1;
    if (f->own > 0)
        output_message("[was] would give %lld jobs another's results, but they have their own, which stay",
                       (long long)f->own);
    if (f->count > 0) {
        *moves = (struct space_moves){f->items, f->count, {"was", NULL, formers_detail(f)}};
        space->moves = moves;
        return 0;
    }
    int rc = formers_hint(space, x->db, &hint, e);
    if (hint.length)
        output_message("%s", buffer_text(&hint));
    return rc;
}

static int list_jobs(struct execution *x, struct error *e)
{
    struct enumerate_order order = {.progress = report_enumeration, .context = x->display};
    if (!x->session->only.sql && x->search.wanted)
        order = (struct enumerate_order){.draw = search_setup_draw(&x->search)};
    /* All jobs must be known before the first is started where fixtures change the order. */
    order.in_parts = !session_is_narrowed(x->session) && !x->search.wanted && !x->options->stale &&
                     !x->session->sweep->model_info.given && x->session->sweep->fixture_count == 0;
    return enumerate_into(x->session->space, x->db, &order, &x->enumeration, e);
}

/* Suggests `reread` for failed jobs, which are not read again by themselves. */
static int suggest_reread(const struct execution *x, struct error *e)
{
    int64_t count = 0;
    if (db_query_int(x->db,
                     "SELECT count(*) FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id JOIN meta AS m ON m.name ="
                     " 'readers' WHERE j.sweep_id = ? AND j.state = 'failed' AND a.readers <> m.value AND a.blame IS "
                     "NULL"
                     " AND a.directory IS NOT NULL AND a.failure NOT IN ('no-metric', 'spawn', 'lost', 'cancelled')",
                     VALUES(sql_int(x->enumeration.sweep_id)), 0, &count, e) < 0)
        return -1;
    if (count > 0)
        output_message("%lld failed job%s read with other readers or failure patterns; `meshsweep reread` reads %s "
                       "again",
                       (long long)count, count == 1 ? " was" : "s were", count == 1 ? "it" : "them");
    return 0;
}

static int enumerate_jobs(struct execution *x, struct error *e)
{
    struct formers formers = {0};
    struct space_moves moves = {0};
    int rc = find_formers(x, &formers, &moves, e);
    if (rc == 0)
        rc = list_jobs(x, e);
    if (rc == 0 && x->enumeration.moved > 0)
        output_message("%lld result%s for jobs of the sweep file now, as [was] says", (long long)x->enumeration.moved,
                       x->enumeration.moved == 1 ? " stands" : "s stand");
    x->session->space->moves = NULL;
    cJSON_free((char *)moves.change.detail);
    formers_free(&formers);
    return rc;
}

/* Brings what was measured before under the definitions that the sweep file has now. */
static int renew_measured(struct execution *x, struct error *e)
{
    OWNED char *directory = store_directory(x->options->db);
    const struct reread_request request = {.db = x->db,
                                           .space = x->session->space,
                                           .measures = x->measures,
                                           .sweep_id = x->enumeration.sweep_id,
                                           .directory = directory,
                                           .environment = environ};
    struct renewal renewal;
    int rc = reread_renew(&request, &renewal, e);
    if (rc < 0)
        return -1;
    OWNED_STRINGS sentences = renewal_sentences(&renewal);
    for (size_t i = 0; sentences[i]; i++)
        output_message("%s", sentences[i]);
    /* The numbers that predictions were fitted to have changed. */
    rc = renewal.count || renewal.mended ? learning_resume(x->session->space, x->db, e) : 0;
    renewal_free(&renewal);
    return rc < 0 ? rc : suggest_reread(x, e);
}

static int run_sweep(struct execution *x, struct error *e)
{
    struct model_facts facts;
    if (prepare_space(x, &facts, e) < 0)
        return -1;
    if (!x->options->keep_going && facts.failure && failure_is_of_command(facts.message)) {
        model_facts_free(&facts);
        return STATUS_ALIKE;
    }
    x->display = progress_display_open((enum progress)x->options->progress, x->session->space, x->options->db);
    enum progress how = (enum progress)x->options->progress;
    struct match_display match = {.is_live = how == PROGRESS_TTY || (how == PROGRESS_AUTO && output_has_cursor(stderr)),
                                  .notices = x->display};
    int rc = learning_resume(x->session->space, x->db, e);
    match_display_begin(&match, x->session->space);
    if (rc == 0)
        rc = enumerate_jobs(x, e) < 0 || measures_create(x->session->space, &x->measures, e) < 0 ? -1
                                                                                                 : renew_measured(x, e);
    match_display_end(&match);
    if (rc == 0 && x->session->sweep->model_info.given)
        rc = model_facts_record(x->db, x->enumeration.sweep_id, &facts, e);
    model_facts_free(&facts);
    if (rc == 0 && !x->result.signal)
        rc = run_enumerated(x, e);
    search_driver_free(x->driver);
    measures_free(x->measures);
    unlisted_free(x->enumeration.rest);
    progress_display_close(x->display);
    return rc < 0 ? -1 : status_of(x);
}

static void tell_unsettled(struct db *db, const char *path)
{
    if (db && !store_settle(db))
        output_message("another program still reads %s, so the newest records are only in %s-wal; to copy the "
                       "database, copy both files or use meshsweep backup",
                       path, path);
}

/* Asks the active run. */
static int ask_release(const char *db, struct error *e)
{
    OWNED char *directory = store_directory(db);
    int rc = runner_ask_release(directory, e);
    if (rc == 0)
        output_message("asked the active run to try the jobs that wait for their host, and what is set aside, at once");
    return rc < 0 ? -1 : STATUS_OK;
}

/* Fails where jobs that several hosts measured would leave the sweep: another job would then be the best. */
static int keep_several_hosts(const struct session *s, struct db *db, struct error *e)
{
    int64_t jobs = 0;
    if (s->leaves_out_hosts &&
        db_query_int(db,
                     "SELECT count(*) FROM job AS j JOIN spec AS c ON c.id = j.cluster_id"
                     " WHERE j.sweep_id = (SELECT id FROM current_sweep) AND j.state IN ('ok', 'failed') AND"
                     " coalesce(json_extract(c.json, '$.num_hosts'), json_extract(c.json, '$.num_nodes'),"
                     " json_extract(c.json, '$.nodes'), 1) > 1",
                     NO_VALUES, 0, &jobs, e) < 0)
        return -1;
    return jobs == 0
               ? 0
               : error_set(e, ERROR_USAGE,
                           "the database has results of several hosts (%lld), which would no longer be of this "
                           "sweep, because a job runs on this machine alone; use --executor ssh or slurm, or run the "
                           "rest here with --several-hosts --only 'num_hosts = 1'",
                           (long long)jobs);
}

/* `*began`: the run has, so that its end is told. */
static int open_and_run(struct session *s, const struct run_options *o, const struct arguments *a, struct db **db,
                        bool *began, struct error *e)
{
    struct search_setup search = {0};
    if (session_open(s, o, a->program, e) < 0 || need_command(s, e) < 0 ||
        search_setup_read(o, s->sweep, &search, e) < 0 || need_objective(o, s->sweep, e) < 0 ||
        session_open_store(o->db, db, e) < 0 || keep_several_hosts(s, *db, e) < 0)
        return -1;
    struct execution x = {.session = s, .options = o, .db = *db, .search = search};
    if (s->sweep->share)
        store_share(*db);
    if (s->release_note)
        output_message("%s", s->release_note);
    if (s->system && s->system->unverified)
        output_message(BATCH_UNVERIFIED, s->system->title);
    if (s->space->prediction.warning)
        output_message("%s", s->space->prediction.warning);
    *began = true;
    return run_sweep(&x, e);
}

int command_run(const struct run_options *o, const struct arguments *a, struct error *e)
{
    OWNED_BY(session_close) struct session s = {0};
    struct db *db = NULL;
    bool printed = false, began = false;
    if (o->progress == PROGRESS_JSON)
        output_set_events();
    if (o->search_model && !o->command && !a->program && search_model_print_alone(o->config, &printed, e) < 0)
        return -1;
    if (printed)
        return STATUS_OK;
    if (o->dry_run)
        return command_plan(o, a, e);
    if (o->release && writer_lock_is_held(o->db))
        return ask_release(o->db, e);
    int status = open_and_run(&s, o, a, &db, &began, e);
    if (status >= 0)
        tell_unsettled(db, o->db);
    if (status < 0 && e->kind == ERROR_USAGE)
        store_discard(db);
    else
        store_close(db);
    if (began && (status >= 0 || e->kind != ERROR_USAGE))
        end_command_run(s.sweep, o->db, status >= 0 ? status : output_status(e));
    return status;
}

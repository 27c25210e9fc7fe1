#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answers/conditions_report.h"
#include "cli/batch_notice.h"
#include "cli/command.h"
#include "cli/model_info_job.h"
#include "cli/output.h"
#include "cli/progress_display.h"
#include "cli/search_model.h"
#include "commands/execution.h"
#include "commands/match_display.h"
#include "config/failure.h"
#include "database/lock.h"
#include "database/open.h"
#include "device/usage.h"
#include "learning/learning.h"
#include "measures/definitions.h"
#include "results/best.h"
#include "results/status.h"
#include "run/waits.h"
#include "util/buffer.h"
#include "util/memory.h"

extern char **environ;

static void report_enumeration(void *context, int64_t matched)
{
    progress_display_enumerating(context, matched);
}

static void tell_notice(void *context, const char *sentence)
{
    progress_display_notice(context, sentence);
}

static int need_command(const struct session *s, struct error *e)
{
    if (s->space->command_count > 0)
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
    struct buffer others = BUFFER_INIT;
    if (c.infeasible)
        buffer_printf(&others, ", %zu that do not meet [sweep] subject_to", c.infeasible);
    if (c.pruned)
        buffer_printf(&others, ", %zu not tried because they need too much memory", c.pruned);
    if (c.known)
        buffer_printf(&others, ", %zu known without a trial", c.known);
    output_message("search: %zu trial%s, %zu ok, %zu stopped early, %zu failed%s; %s", c.trials,
                   c.trials == 1 ? "" : "s", c.ok, c.stopped, c.failed, buffer_text(&others), reason);
    buffer_free(&others);
}

static int status_of(const struct execution *x)
{
    if (x->result.signal)
        return STATUS_SIGNAL + x->result.signal;
    if (x->result.counts.total == 0 && x->result.counts.gone == 0)
        return STATUS_NOTHING;
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
    struct stmt *s = NULL;
    struct error none = ERROR_INIT;
    if (x->enumeration.counts.jobs > 0 ||
        status_part(x->db, "SELECT combinations, rule, reason FROM falsified WHERE level = 'exclude'", NO_VALUES, &s,
                    &none) < 0)
        return;
    while (stmt_next(s, &none) > 0)
        output_message("%lld combinations are excluded by %s: %s", (long long)stmt_int(s, 0), stmt_text(s, 1),
                       stmt_is_null(s, 2) ? "" : stmt_text(s, 2));
    stmt_free(s);
}

static void say_no_winner(const struct best *best)
{
    struct buffer text = BUFFER_INIT;
    if (best->conditions.none_meets)
        conditions_add_nearest(&best->conditions, &text);
    else
        buffer_printf(&text, "no job ran to its end and reported a finite %s", best->objective);
    output_message("there is no best job: %s", buffer_text(&text));
    buffer_free(&text);
}

/* No winner is an error only after a search. */
static void report_end(struct execution *x)
{
    struct best best = {0};
    struct error none = ERROR_INIT;
    bool known = (x->display || x->driver) && best_read(x->db, &best, &none) == 0;
    /* With several groups there is no single winner to announce. */
    progress_display_end(x->display, &x->result, known && best_group_count(&best) < 2 ? &best : NULL, x->options->db);
    x->without_winner = known && best.count == 0 && x->driver && !x->result.signal;
    if (x->without_winner)
        say_no_winner(&best);
    if (known && x->display)
        batch_notice_say(&best.batches);
    best_free(&best);
}

/* Memory of this machine's smallest device; 0: unknown. */
static double device_bytes(const struct device_list *devices)
{
    struct device_usage *all = xcalloc(devices->count + 1, sizeof *all);
    int64_t least = 0;
    if (devices->count > 0 && device_total_read(environ, devices, all) == 0)
        for (size_t i = 0; i < devices->count; i++)
            least = all[i].bytes > 0 && (least == 0 || all[i].bytes < least) ? all[i].bytes : least;
    free(all);
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
    int rc = enumerate_into(job->space, x->db, NULL, NULL, &own.enumeration, e);
    if (rc == 0) {
        own.display = progress_display_open((enum progress)options.progress, job->space, options.db);
        rc = execution_run(&own, e);
        progress_display_close(own.display);
    }
    x->result.signal = own.result.signal;
    job->devices = (struct device_list)DEVICE_LIST_INIT;
    job->allocation = (struct allocation){0};
    job->forced = NULL;
    return rc;
}

/* Facts about the model, after running the job that finds them. */
static int find_model_info(struct execution *x, struct model_facts *out, struct error *e)
{
    struct session job = {0};
    *out = model_facts_given(x->session->sweep);
    if (!model_info_wants_job(x->session->sweep))
        return 0;
    int rc = model_info_open(x->session, &job, e);
    rc = rc < 0 ? rc : run_model_info(x, &job, e);
    session_close(&job);
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
    return model_info_apply(x->session, facts, e);
}

static int run_enumerated(struct execution *x, struct error *e)
{
    progress_display_enumerated(x->display, &x->enumeration);
    if (execution_run(x, e) < 0)
        return -1;
    report_search(x);
    report_end(x);
    report_rules(x);
    if (x->result.counts.gone > 0)
        output_message("attempts not recorded, because their rows were deleted while they ran: %lld; the next run "
                       "creates their jobs again",
                       (long long)x->result.counts.gone);
    return 0;
}

static int enumerate_jobs(struct execution *x, struct error *e)
{
    struct enumerate_draw draw;
    if (!x->session->only.sql && search_setup_draw(&x->search, &draw))
        return enumerate_drawn(x->session->space, x->db, &draw, &x->enumeration, e);
    if (x->session->only.sql || x->search.wanted || x->options->stale || x->session->sweep->model_info.given)
        return enumerate_into(x->session->space, x->db, report_enumeration, x->display, &x->enumeration, e);
    return enumerate_first(x->session->space, x->db, report_enumeration, x->display, &x->enumeration, e);
}

/* What was measured before, under the definitions that the sweep file has now. */
static int renew_measured(struct execution *x, struct error *e)
{
    char *directory = store_directory(x->options->db);
    const struct renewal_request request = {.sweep = x->session->sweep,
                                            .sweep_id = x->enumeration.sweep_id,
                                            .directory = directory,
                                            .measures = x->measures};
    struct renewal renewal;
    int rc = measures_renew(x->db, &request, &renewal, e);
    free(directory);
    if (rc < 0)
        return -1;
    char **sentences = renewal_sentences(&renewal);
    for (size_t i = 0; sentences[i]; i++)
        output_message("%s", sentences[i]);
    strings_free(sentences);
    /* What predictions were fitted to has changed. */
    rc = renewal.count || renewal.mended ? learning_resume(x->session->space, x->db, e) : 0;
    renewal_free(&renewal);
    return rc;
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
                                  .tell = tell_notice,
                                  .context = x->display};
    int rc = learning_resume(x->session->space, x->db, e);
    match_display_begin(&match, x->session->space);
    if (rc == 0)
        rc = enumerate_jobs(x, e);
    if (rc == 0)
        rc = measures_create(x->session->space, &x->measures, e);
    if (rc == 0)
        rc = renew_measured(x, e);
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
    char *directory = store_directory(db);
    int rc = waits_ask_release(directory, e);
    free(directory);
    if (rc == 0)
        output_message("asked the active run to try the jobs that wait for their host, and what is set aside, at once");
    return rc < 0 ? -1 : STATUS_OK;
}

/* What several hosts measured would leave the sweep with their combinations, and another job would be the best. */
static int keep_several_hosts(const struct session *s, struct db *db, struct error *e)
{
    int64_t jobs = 0;
    if (s->leaves_out_hosts &&
        db_query_int(db,
                     "SELECT count(*) FROM job AS j JOIN spec AS c ON c.id = j.cluster_id"
                     " WHERE j.sweep_id = (SELECT id FROM current_sweep) AND j.state IN ('ok', 'failed') AND"
                     " coalesce(json_extract(c.json, '$.num_hosts'), json_extract(c.json, '$.num_nodes'), 1) > 1",
                     NO_VALUES, 0, &jobs, e) < 0)
        return -1;
    return jobs == 0 ? 0
                     : error_set(e, ERROR_USAGE,
                                 "the database has results of several hosts (%lld), which would no longer be of this "
                                 "sweep, because a job runs on this machine alone; use --executor slurm, or run the "
                                 "rest here with --several-hosts --only 'num_hosts = 1'",
                                 (long long)jobs);
}

static int run(const struct arguments *a, struct error *e)
{
    const struct run_options *o = a->options;
    struct session s;
    struct db *db = NULL;
    bool printed = false;
    struct search_setup search = {0};
    if (o->progress == PROGRESS_JSON)
        output_set_events();
    int status = o->search_model && !o->command && !a->program ? search_model_print_alone(o->config, &printed, e) : 0;
    if (status < 0 || printed)
        return status;
    if (o->dry_run)
        return plan_command.run(a, e);
    if (o->release && writer_lock_is_held(o->db))
        return ask_release(o->db, e);
    status = session_open(&s, o, a, e);
    if (status == 0)
        status = need_command(&s, e);
    if (status == 0)
        status = search_setup_read(o, s.sweep, &search, e);
    if (status == 0)
        status = need_objective(o, s.sweep, e);
    if (status == 0)
        status = session_open_store(o->db, &db, e);
    if (status == 0)
        status = keep_several_hosts(&s, db, e);
    if (status == 0) {
        struct execution x = {.session = &s, .options = o, .db = db, .search = search};
        if (s.sweep->share)
            store_share(db);
        if (s.release_note)
            output_message("%s", s.release_note);
        if (s.space->prediction.warning)
            output_message("%s", s.space->prediction.warning);
        status = run_sweep(&x, e);
    }
    if (status >= 0)
        tell_unsettled(db, o->db);
    if (status < 0 && e->kind == ERROR_USAGE)
        store_discard(db);
    else
        store_close(db);
    session_close(&s);
    return status;
}

const struct command run_command = {
    .name = "run",
    .summary = "Match the sweep file and run every job that is not done",
    .usage = "[OPTIONS] [-- PROGRAM ARGUMENT...]",
    .example = "meshsweep run -c sweep.toml -j 4\n"
               "meshsweep run -c sweep.toml --retry-failed=timeout,lost\n"
               "meshsweep run -c sweep.toml --search-model   # without other sections, prints the models",
    .options = run_option_table,
    .options_bytes = sizeof(struct run_options),
    .takes_program = true,
    .run = run,
};

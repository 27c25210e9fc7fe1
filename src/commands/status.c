#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "answers/conditions_report.h"
#include "cli/command.h"
#include "cli/output.h"
#include "database/lock.h"
#include "database/open.h"
#include "report/failure_list.h"
#include "report/full_training.h"
#include "report/group_winners.h"
#include "report/hint.h"
#include "report/progress.h"
#include "report/status_json.h"
#include "report/text.h"
#include "results/pareto.h"
#include "results/status.h"
#include "store/places.h"
#include "sweep_file/model_info_sweep.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/parse.h"

#define WATCH_MS 2000

struct status_options {
    const char *db, *watch;
    bool json;
};

static const struct option options[] = {
    OPTION_DB(offsetof(struct status_options, db)),
    {.name = "json", .kind = OPTION_FLAG, .offset = offsetof(struct status_options, json), .help = "as JSON"},
    {.name = "watch",
     .kind = OPTION_STRING,
     .offset = offsetof(struct status_options, watch),
     .value = "SECONDS",
     .help = "update until all is done, every SECONDS (default 2)",
     .value_optional = true},
    {.name = NULL},
};

#define PARETO_OF_MOST 100000 /* jobs, so that status stays quick */
#define PARETO_LISTED 12

/* Everything that is printed. */
struct status_view {
    const char *path; /* of the database */
    struct sweep_status status;
    bool runner_alive;
    int64_t now_ms, eta_ms;
    struct buffer winners; /* as text, if configurations compete; "": none */
    cJSON *winners_json;   /* NULL: none */
    cJSON *full_trainings;
    struct conditions conditions;
    struct pareto pareto; /* empty without several objectives, or with too many jobs */
    size_t columns;       /* of the terminal; 0: no limit */
};

/* --- asking --- */

static int ask_all(struct db *db, struct status_view *out, struct error *e)
{
    if (status_read(db, &out->status, e) < 0)
        return -1;
    int rc = 0;
    const struct sweep_status *s = &out->status;
    const struct conditions_request request = {s->objective, s->maximise, s->has_best ? s->best : (double)NAN};
    if (s->objective)
        rc = conditions_read(db, &request, &out->conditions, e);
    if (rc == 0)
        rc = full_trainings_read(db, 0, &out->full_trainings, e);
    if (rc == 0 && s->has_best)
        rc = group_winners_read_status(db, &out->winners, &out->winners_json, e);
    if (rc == 0 && s->has_best && !out->winners_json && s->ok <= PARETO_OF_MOST)
        rc = pareto_read(db, &out->pareto, e);
    return rc;
}

/* In one transaction, since a runner may be active. */
static int read_view(const char *path, struct status_view *out, struct error *e)
{
    struct db *db = NULL;
    out->path = path;
    if (store_open_read_only(path, &db, e) < 0)
        return -1;
    int rc = -1;
    if (db_read_begin(db, e) == 0) {
        rc = ask_all(db, out, e);
        db_read_end(db);
    }
    store_close(db);
    if (rc < 0)
        return -1;
    out->runner_alive = writer_lock_is_held(path);
    out->now_ms = clock_wall_ms();
    out->eta_ms = out->runner_alive ? status_eta_ms(&out->status, out->now_ms) : -1;
    out->columns = output_width(stdout);
    return 0;
}

/* --- as text --- */

static void add_printable(const struct status_view *v, const char *text, size_t taken, struct buffer *b)
{
    size_t limit = v->columns > taken + 20 ? v->columns - taken : v->columns ? 20 : TEXT_LINE_COLUMNS;
    text_add_printable(b, text, strlen(text), limit, v->columns && !output_has_utf8());
}

static void add_heading(const struct status_view *v, struct buffer *b)
{
    const struct sweep_status *s = &v->status;
    buffer_add_text(b, "sweep ");
    add_printable(v, s->name, 6, b);
    buffer_add_text(b, " (");
    add_printable(v, s->path, 20, b);
    buffer_add_text(b, ")\n");
    if (s->combinations >= 0)
        buffer_printf(b, "combinations %lld: excluded %lld, duplicate %lld, jobs %lld\n", (long long)s->combinations,
                      (long long)s->excluded, (long long)(s->duplicates < 0 ? 0 : s->duplicates),
                      (long long)status_job_count(s));
}

static void add_counts(const struct status_view *v, struct buffer *b)
{
    const struct sweep_status *s = &v->status;
    struct failure_count *classes = xcalloc(s->class_count + 1, sizeof *classes);
    for (size_t i = 0; i < s->class_count; i++)
        classes[i] = (struct failure_count){s->classes[i].name, s->classes[i].jobs};
    const struct sweep_progress p = {
        .total = status_job_count(s),
        .ok = s->ok,
        .failed = s->failed,
        .running = s->running,
        .pending = s->pending,
        .pruned = s->pruned,
        .held = s->held,
        .failures = classes,
        .failure_count = s->class_count,
    };
    buffer_add_char(b, '\n');
    progress_add_summary(&p, b);
    free(classes);
}

/* "search by model: 5 trials, 4 ok, 0 stopped early, 1 failed; ended: max_trials: 5 trials were made". */
static void add_search(const struct status_view *v, struct buffer *b)
{
    const struct status_search *x = &v->status.search;
    if (!x->strategy)
        return;
    buffer_printf(b, "\nsearch by %s: %lld trial%s, %lld ok, %lld stopped early, %lld failed", x->strategy,
                  (long long)x->trials, x->trials == 1 ? "" : "s", (long long)x->ok, (long long)x->stopped,
                  (long long)x->failed);
    if (x->running > 0)
        buffer_printf(b, ", %lld open", (long long)x->running);
    if (x->ended) {
        buffer_add_text(b, "; ended: ");
        add_printable(v, x->ended, 20, b);
    } else if (v->status.to_come >= 0) {
        buffer_printf(b, "; at most %lld more", (long long)v->status.to_come);
    }
    buffer_add_char(b, '\n');
}

static void add_open(const struct status_view *v, struct buffer *b)
{
    const int64_t open = v->status.open;
    if (open == 0)
        return;
    buffer_printf(b, "\n%lld %s asked for without a result yet; `meshsweep ask --open", (long long)open,
                  open == 1 ? "job is" : "jobs are");
    hint_add_db(b, v->path);
    buffer_printf(b, "` lists %s\n", open == 1 ? "it" : "them");
}

static void add_how_to_go_on(const struct status_view *v, struct buffer *b)
{
    const struct status_search *x = &v->status.search;
    buffer_add_text(b, "\nno runner is active; `");
    if (x->ended) {
        hint_add_rest_of_search(b, x, v->status.path, v->path);
        buffer_add_text(b, "` " HINT_REST_OF_SEARCH "\n");
        return;
    }
    buffer_add_text(b, "meshsweep run");
    hint_add_config(b, v->status.path);
    hint_add_db(b, v->path);
    if (x->strategy)
        buffer_printf(b, " --strategy %s` continues from here; give it the same other options as before\n",
                      x->strategy);
    else
        buffer_add_text(b, "` continues from here\n");
}

static void add_see_best(const struct status_view *v, struct buffer *b)
{
    buffer_add_text(b, " (see meshsweep best");
    hint_add_db(b, v->path);
    buffer_add_text(b, ")\n");
}

static void add_running(const struct status_view *v, struct buffer *b)
{
    const struct sweep_status *s = &v->status;
    char text[32];
    if (s->attempt_total == 0 && s->running + s->pending == 0)
        return;
    if (!v->runner_alive)
        add_how_to_go_on(v, b);
    else if (s->attempt_total > 0)
        buffer_printf(b, "\nrunning now, all done in %s\n", progress_format_eta(v->eta_ms, text, sizeof text));
    for (size_t i = 0; i < s->attempt_count; i++) {
        const struct status_attempt *a = &s->attempts[i];
        size_t start = b->length;
        buffer_add_text(b, "  ");
        if (a->slot >= 0)
            buffer_printf(b, "slot %lld: ", (long long)a->slot);
        buffer_printf(b, "job %lld, attempt %lld", (long long)a->job_id, (long long)a->number);
        buffer_printf(b, v->runner_alive ? ", for %s" : ", started %s ago; it is not known whether it has ended",
                      format_duration_ms(status_elapsed_ms(a, v->now_ms), text, sizeof text));
        if (a->keys[0]) {
            buffer_add_text(b, "  ");
            add_printable(v, a->keys, b->length - start, b);
        }
        buffer_add_char(b, '\n');
    }
    if (s->attempt_total > s->attempt_count)
        buffer_printf(b, "  and %zu more\n", s->attempt_total - s->attempt_count);
}

static void add_retries(const struct status_view *v, struct buffer *b)
{
    const struct sweep_status *s = &v->status;
    char text[32];
    if (s->retry_count)
        buffer_add_text(b, "\nfailed, to be retried\n");
    for (size_t i = 0; i < s->retry_count; i++) {
        const struct status_retry *r = &s->retries[i];
        int64_t ms = status_due_in_ms(r->due_ms, v->now_ms);
        buffer_printf(b, "  job %lld, attempt %lld, %s%s\n", (long long)r->job_id, (long long)r->number,
                      ms > 0 ? "in " : "now", ms > 0 ? format_duration_ms(ms, text, sizeof text) : "");
    }
    if (s->retry_total > s->retry_count)
        buffer_printf(b, "  and %zu more\n", s->retry_total - s->retry_count);
}

static void add_slow_nodes(const struct status_view *v, struct buffer *b)
{
    for (size_t i = 0; i < v->status.slow_node_count; i++) {
        const struct status_node *n = &v->status.slow_nodes[i];
        buffer_add_text(b, i ? "" : "\n");
        buffer_add_text(b, "slow node ");
        add_printable(v, n->host, 20, b);
        buffer_printf(b, ": takes %.2f times as long as matched jobs on other nodes (%lld compared)\n", n->ratio,
                      (long long)n->compared);
    }
}

static void add_places(const struct status_view *v, struct buffer *b)
{
    for (size_t i = 0; i < v->status.place_count; i++) {
        const struct status_place *p = &v->status.places[i];
        char text[32], *name = place_name(p->host, p->device);
        int64_t ms = status_due_in_ms(p->until_ms, v->now_ms);
        buffer_add_text(b, i ? "set aside: " : "\nset aside: ");
        add_printable(v, name, 40, b);
        buffer_printf(b, ", on which %lld job%s failed that succeeded elsewhere; tried again %s%s\n  ",
                      (long long)p->jobs, p->jobs == 1 ? "" : "s", ms > 0 ? "in " : "with the next job",
                      ms > 0 ? format_duration_ms(ms, text, sizeof text) : "");
        add_printable(v, p->message ? p->message : "", 2, b);
        buffer_add_char(b, '\n');
        free(name);
    }
}

/* "so far: 12.3 jobs/min, 1.2 device-hours". */
static void add_spent(const struct status_view *v, struct buffer *b)
{
    const struct sweep_status *s = &v->status;
    bool rate = v->runner_alive && isfinite(s->rate), hours = isfinite(s->device_hours);
    if (rate)
        buffer_printf(b, "\nrate: %.3g jobs/%s", s->rate >= 1 ? s->rate : s->rate * 60, s->rate >= 1 ? "s" : "min");
    if (hours)
        buffer_printf(b, "%s%.3g device-hours so far", rate ? ", " : "\n", s->device_hours);
    if (hours && isfinite(s->device_hours_left))
        buffer_printf(b, ", about %.3g more", s->device_hours_left);
    if (rate || hours)
        buffer_add_char(b, '\n');
}

static void add_best(const struct status_view *v, struct buffer *b)
{
    const struct sweep_status *s = &v->status;
    if (v->conditions.none_meets) {
        buffer_add_text(b, "\nno best: ");
        conditions_add_nearest(&v->conditions, b);
        buffer_add_char(b, '\n');
        return;
    }
    if (!s->has_best && s->objective && s->ok + s->failed > 0) {
        buffer_add_text(b, "\nno best: ");
        add_printable(v, s->objective, 30, b);
        buffer_printf(b, s->ok ? " has no value in any job that succeeded; see meshsweep best\n"
                               : ": no job has succeeded yet\n");
        unranked_add_text(&v->conditions.unranked, b);
        return;
    }
    if (!s->has_best)
        return;
    if (v->winners.length) {
        buffer_printf(b, "\n%s", buffer_text(&v->winners));
        unranked_add_text(&v->conditions.unranked, b);
        return;
    }
    buffer_add_text(b, "\nbest so far: ");
    add_printable(v, s->objective, 30, b);
    buffer_add_char(b, ' ');
    text_add_rounded(b, s->best);
    buffer_printf(b, "%s", s->unit[0] ? " " : "");
    add_printable(v, s->unit, 40, b);
    buffer_printf(b, ", job %lld", (long long)s->best_job);
    add_see_best(v, b);
    conditions_add_binding(&v->conditions, b);
}

static void add_fact(const cJSON *info, enum model_fact fact, const char *what, struct buffer *b)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(info, model_fact_names[fact]);
    char text[32];
    if (!cJSON_IsNumber(value))
        return;
    buffer_add_text(b, ", ");
    if (fact == FACT_ACTIVATION_MEMORY || fact == FACT_DEVICE_MEMORY)
        buffer_add_text(b, format_size_bytes((int64_t)value->valuedouble, text, sizeof text));
    else
        text_add_rounded(b, value->valuedouble);
    buffer_printf(b, " %s", what);
}

/* "model information (job 1): 3.35e+08 parameters, 309 MiB of activations per sample". */
static void add_model_info(const struct status_view *v, struct buffer *b)
{
    static const char *const what[FACT_COUNT] = {[FACT_PARAMS] = "parameters",
                                                 [FACT_ACTIVATION_MEMORY] = "of activations per sample",
                                                 [FACT_DEVICE_MEMORY] = "a device",
                                                 [FACT_FWD_FLOPS] = "forward FLOPs per sample"};
    static const char *const reasons[] = {"failure", "message", "excluded"};
    cJSON *info = v->status.model_info ? cJSON_Parse(v->status.model_info) : NULL;
    const cJSON *job = cJSON_GetObjectItemCaseSensitive(info, "job");
    struct buffer list = BUFFER_INIT;
    if (!info)
        return;
    for (int i = 0; i < FACT_COUNT; i++)
        add_fact(info, (enum model_fact)i, what[i], &list);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        const cJSON *reason = cJSON_GetObjectItemCaseSensitive(info, reasons[i]);
        if (!cJSON_IsString(reason))
            continue;
        buffer_printf(&list, ", %s", i == 2 ? "the job is excluded by " : "");
        add_printable(v, reason->valuestring, 40, &list);
    }
    buffer_add_text(b, "\nmodel information");
    if (cJSON_IsNumber(job))
        buffer_printf(b, " (job %.0f)", job->valuedouble);
    buffer_printf(b, ": %s\n", list.length ? buffer_text(&list) + 2 : "not known yet");
    buffer_free(&list);
    cJSON_Delete(info);
}

/* "2 jobs that none beats in throughput and loss: 1, 2 (see meshsweep best)". */
static void add_pareto(const struct status_view *v, struct buffer *b)
{
    const struct pareto *p = &v->pareto;
    if (p->count == 0)
        return;
    buffer_printf(b, "%zu job%s that none beats in ", p->count, p->count == 1 ? "" : "s");
    for (size_t i = 0; i < p->objective_count; i++) {
        buffer_add_text(b, i == 0 ? "" : i + 1 < p->objective_count ? ", " : " and ");
        text_add_line(b, p->objectives[i].metric);
    }
    for (size_t i = 0; i < p->count && i < PARETO_LISTED; i++)
        buffer_printf(b, "%s%lld", i ? ", " : ": ", (long long)p->jobs[i].job_id);
    buffer_add_text(b, p->count > PARETO_LISTED ? ", ..." : "");
    add_see_best(v, b);
}

static void add_full_trainings(const struct status_view *v, struct buffer *b)
{
    const cJSON *training;
    cJSON_ArrayForEach(training, v->full_trainings)
    {
        full_training_add_text(training, b);
    }
}

static bool is_training(const struct status_view *v)
{
    const char *state = full_training_state(full_training_last(v->full_trainings));
    return state && (strcmp(state, "claimed") == 0 || strcmp(state, "running") == 0);
}

static void add_failures(const struct status_view *v, struct buffer *b)
{
    const struct failure_list list = {.causes = &v->status.causes,
                                      .failed = v->status.failed,
                                      .looked_at = STATUS_FAILURES_MOST,
                                      .columns = v->columns,
                                      .ascii = v->columns && !output_has_utf8()};
    failure_list_add(&list, b);
}

static void add_pruned(const struct status_view *v, struct buffer *b)
{
    const struct sweep_status *s = &v->status;
    int digits = s->witness_count ? text_digits(s->witnesses[0].jobs) : 0;
    if (s->witness_count)
        buffer_add_text(b, "\npruned: need at least as much device memory as a job that ran out of it\n");
    for (size_t i = 0; i < s->witness_count; i++)
        buffer_printf(b, "  %*lld  witness: job %lld\n", digits, (long long)s->witnesses[i].jobs,
                      (long long)s->witnesses[i].job_id);
    if (s->witness_total > s->witness_count)
        buffer_printf(b, "  and %zu other witnesses\n", s->witness_total - s->witness_count);
}

static void add_held(const struct status_view *v, struct buffer *b)
{
    const struct sweep_status *s = &v->status;
    int digits = s->hold_count ? text_digits(s->holds[0].jobs) : 0;
    if (s->hold_count)
        buffer_add_text(b, "\nheld: waiting for their host until a run can start them\n");
    for (size_t i = 0; i < s->hold_count; i++) {
        const struct status_hold *h = &s->holds[i];
        size_t start = b->length;
        buffer_printf(b, "  %*lld  as job %lld: ", digits, (long long)h->jobs, (long long)h->first_job);
        add_printable(v, h->why, b->length - start, b);
        buffer_add_char(b, '\n');
    }
    if (s->hold_total > s->hold_count)
        buffer_printf(b, "  and %zu other reasons\n", s->hold_total - s->hold_count);
    if (s->aside)
        buffer_printf(b, "\n%lld %s at each of the last deaths of the runner or node, and %s last\n",
                      (long long)s->aside, s->aside == 1 ? "job ran" : "jobs ran", s->aside == 1 ? "runs" : "run");
}

static void add_rules(const struct status_view *v, struct buffer *b)
{
    const struct sweep_status *s = &v->status;
    int64_t largest = 0;
    for (size_t i = 0; i < s->rule_count; i++)
        largest = s->rules[i].combinations > largest ? s->rules[i].combinations : largest;
    if (s->rule_count)
        buffer_add_text(b, "\nexcluded by rule\n");
    for (size_t i = 0; i < s->rule_count; i++) {
        const struct status_rule *r = &s->rules[i];
        size_t start = b->length;
        buffer_printf(b, "  %*lld  ", text_digits(largest), (long long)r->combinations);
        add_printable(v, r->name, 10, b);
        buffer_add_text(b, r->warning ? " (only a warning): " : ": ");
        add_printable(v, r->reason, b->length - start, b);
        buffer_add_char(b, '\n');
    }
}

static int print_text(const struct status_view *v, struct error *e)
{
    struct buffer b = BUFFER_INIT;
    add_heading(v, &b);
    add_counts(v, &b);
    add_search(v, &b);
    add_open(v, &b);
    add_running(v, &b);
    add_retries(v, &b);
    add_spent(v, &b);
    add_slow_nodes(v, &b);
    add_places(v, &b);
    add_model_info(v, &b);
    add_best(v, &b);
    add_pareto(v, &b);
    add_full_trainings(v, &b);
    add_failures(v, &b);
    add_pruned(v, &b);
    add_held(v, &b);
    add_rules(v, &b);
    return output_people_take(&b, e);
}

static int print_json(const struct status_view *v, struct error *e)
{
    const struct status_beside beside = {.runner_alive = v->runner_alive,
                                         .now_ms = v->now_ms,
                                         .eta_ms = v->eta_ms,
                                         .winners = v->winners_json,
                                         .subject_to = conditions_json(&v->conditions),
                                         .pareto = &v->pareto,
                                         .full_trainings = v->full_trainings};
    cJSON *root = status_json(&v->status, &beside);
    unranked_add_json(&v->conditions.unranked, root);
    return output_json_take(root, e);
}

static void release(struct status_view *v)
{
    conditions_free(&v->conditions);
    status_free(&v->status);
    pareto_free(&v->pareto);
    buffer_free(&v->winners);
    cJSON_Delete(v->winners_json);
    cJSON_Delete(v->full_trainings);
}

/* Prints once; `*done` says whether nothing is left to do, `*hopeless` that no job met what was asked for then. */
static int look(const struct status_options *o, bool *done, bool *hopeless, struct error *e)
{
    struct status_view v = {0};
    int rc = read_view(o->db, &v, e);
    if (rc == 0 && o->watch && v.columns)
        output_clear_screen();
    if (rc == 0)
        rc = o->json ? print_json(&v, e) : print_text(&v, e);
    *done = v.status.pending + v.status.running == 0 && !is_training(&v);
    *hopeless = *done && v.conditions.none_meets;
    release(&v);
    return rc;
}

static int watch_interval(const char *watch, int *out_ms, struct error *e)
{
    int64_t ms = WATCH_MS;
    if (watch && watch[0] && (!parse_duration_ms(watch, &ms) || ms < 100 || ms > 3600000))
        return error_set(e, ERROR_USAGE, "--watch %s: must be a duration from 100ms to 1h", watch);
    *out_ms = (int)ms;
    return 0;
}

static int status(const struct arguments *a, struct error *e)
{
    const struct status_options *o = a->options;
    int interval_ms = WATCH_MS;
    bool done, hopeless;
    if (watch_interval(o->watch, &interval_ms, e) < 0)
        return -1;
    if (o->watch)
        output_set_paging(false);
    while (look(o, &done, &hopeless, e) == 0) {
        if (!o->watch || done)
            return hopeless ? STATUS_JOBS_FAILED : STATUS_OK;
        if (output_flush_all(e) < 0)
            return -1;
        poll(NULL, 0, interval_ms);
    }
    return -1;
}

const struct command status_command = {
    .name = "status",
    .summary = "Show progress: what runs, what failed, the best job so far",
    .usage = "[OPTIONS]",
    .example = "meshsweep status --watch\nmeshsweep status --json",
    .options = options,
    .options_bytes = sizeof(struct status_options),
    .pages = true,
    .run = status,
};

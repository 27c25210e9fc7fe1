#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "answers/conditions_report.h"
#include "cli/command.h"
#include "cli/model_info_job.h"
#include "cli/output.h"
#include "cli/result_output.h"
#include "database/lock.h"
#include "database/open.h"
#include "report/full_training.h"
#include "report/hint.h"
#include "report/progress.h"
#include "report/saying.h"
#include "report/text.h"
#include "results/best.h"
#include "results/configurations.h"
#include "results/failure_causes.h"
#include "results/json.h"
#include "results/pareto.h"
#include "results/status.h"
#include "store/places.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/parse.h"

#define WATCH_MS 2000

struct status_options {
    const char *db, *watch;
    bool json, wasted;
};

#define AT(member) offsetof(struct status_options, member)

static const struct option options[] = {
    OPTION_DB(AT(db)),
    OPTION_JSON(AT(json)),
    OPTION(STRING, "watch", AT(watch), "SECONDS", "update until all is done, every SECONDS (default 2)",
           .value_optional = true),
    OPTION(FLAG, "wasted", AT(wasted), NULL, "what device-hours went into, and which share of them left no result"),
    {.name = NULL},
};

#define PARETO_OF_MOST 100000 /* jobs, so that status stays quick */
#define PARETO_LISTED 12
/* The most causes listed; the number of the rest is given. */
#define FAILURE_LIST_MOST FAILURE_CAUSES_MATCHED

/* Everything that is printed. */
struct status_view {
    const char *path;         /* of the database */
    cJSON *document, *beside; /* results/status.h */
    const cJSON *states;      /* of the document */
    const char *objective;    /* NULL: none */
    bool runner_alive, has_best;
    struct failure_causes causes;
    struct buffer winners; /* as text, if configurations compete; "": none */
    size_t columns;        /* of the terminal; 0: no limit */
};

static const cJSON *part(const struct status_view *v, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(v->document, name);
}

/* --- asking --- */

/* Reads what competes, if that is not the jobs: in place of the best of these. */
static int ask_winners(struct db *db, struct status_view *v, bool *compete, struct error *e)
{
    struct competition c;
    struct best best = {NULL, NULL};
    if (configurations_compete(db, &c, e) < 0)
        return -1;
    *compete = c.replicates || c.groups;
    if (*compete && best_read(db, NULL, &best, e) < 0)
        return -1;
    if (best_job(&best) < 0)
        return 0;
    cJSON_AddStringToObject(best.beside, "say", "status");
    int rc = saying_add_text("sql/texts/best.sql", best.document, best.beside, &v->winners, e);
    cJSON *groups = cJSON_GetObjectItemCaseSensitive(best.beside, "groups");
    cJSON_ReplaceItemInObjectCaseSensitive(v->document, "winners", cJSON_DetachItemFromObject(groups, "groups"));
    cJSON_ReplaceItemInObjectCaseSensitive(v->document, "best", cJSON_CreateNull());
    best_free(&best);
    return rc;
}

/* The jobs that no other beats in several objectives, unless there are too many jobs. */
static int ask_pareto(struct db *db, struct status_view *v, struct error *e)
{
    cJSON *list = NULL, *jobs = cJSON_GetObjectItemCaseSensitive(v->document, "pareto_jobs");
    const cJSON *point;
    int rc = pareto_read(db, &list, e);
    cJSON_ArrayForEach(point, list)
    {
        cJSON_AddItemToArray(jobs, cJSON_CreateNumber(json_real_of(point, "job")));
    }
    cJSON_AddItemToObject(v->beside, "pareto", list ? list : cJSON_CreateNull());
    return rc;
}

/* Reads what a statement cannot tell: statistics, and what conditions and groups make of the best. */
static int ask_others(struct db *db, struct status_view *v, struct error *e)
{
    bool compete = false;
    const cJSON *best = part(v, "best");
    const bool maximise = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(v->beside, "maximise"));
    const struct conditions_request request = {v->objective, maximise, json_real_of(best, "value")};
    int rc = failure_causes_read(db, json_count_of(v->beside, "sweep"), STATUS_FAILURES_MOST, &v->causes, e);
    if (rc == 0)
        rc = conditions_read(db, &request, v->document, v->beside, e);
    if (rc == 0 && v->has_best)
        rc = ask_winners(db, v, &compete, e);
    if (rc == 0 && v->has_best && !compete && json_count_of(v->states, "ok") <= PARETO_OF_MOST)
        rc = ask_pareto(db, v, e);
    cJSON *failures = cJSON_GetObjectItemCaseSensitive(v->document, "failures");
    for (int i = 0; i < FAILURE_LIST_MOST && i < cJSON_GetArraySize(v->causes.list); i++)
        cJSON_AddItemToArray(failures, cJSON_Duplicate(cJSON_GetArrayItem(v->causes.list, i), true));
    return rc;
}

static int ask_all(struct db *db, struct status_view *v, struct error *e)
{
    if (status_read(db, v->runner_alive, clock_wall_ms(), &v->document, &v->beside, e) < 0)
        return -1;
    v->states = part(v, "states");
    v->objective = json_text_of(v->beside, "objective");
    v->has_best = cJSON_IsObject(part(v, "best"));
    return ask_others(db, v, e);
}

/* In one transaction, since a runner may be active. */
static int read_view(const char *path, struct status_view *out, struct error *e)
{
    struct db *db = NULL;
    out->path = path;
    out->columns = output_width(stdout);
    if (store_open_read_only(path, &db, e) < 0)
        return -1;
    out->runner_alive = writer_lock_is_held(path);
    int rc = db_read_begin(db, e);
    if (rc == 0) {
        rc = ask_all(db, out, e);
        db_read_end(db);
    }
    store_close(db);
    return rc;
}

/* --- as text --- */

static void add_printable(const struct status_view *v, const char *text, size_t taken, struct buffer *b)
{
    size_t limit = v->columns > taken + 20 ? v->columns - taken : v->columns ? 20 : TEXT_LINE_COLUMNS;
    text_add_printable(b, text ? text : "", text ? strlen(text) : 0, limit, v->columns && !output_has_utf8());
}

static void add_more(int64_t total, const cJSON *list, const char *what, struct buffer *b)
{
    if (total > cJSON_GetArraySize(list))
        buffer_printf(b, "  and %lld %s\n", (long long)(total - cJSON_GetArraySize(list)), what);
}

/* "in 3m20s", or `now`. */
static void add_due(const cJSON *item, const char *now, struct buffer *b)
{
    char text[32];
    const int64_t ms = json_count_of(item, "due_in_ms");
    buffer_add_text(b, ms > 0 ? "in " : now);
    buffer_add_text(b, ms > 0 ? format_duration_ms(ms, text, sizeof text) : "");
}

static void add_heading(const struct status_view *v, struct buffer *b)
{
    const int64_t duplicates = json_count_of(v->document, "duplicates");
    buffer_add_text(b, "sweep ");
    add_printable(v, json_text_of(v->document, "sweep"), 6, b);
    buffer_add_text(b, " (");
    add_printable(v, json_text_of(v->document, "path"), 20, b);
    buffer_add_text(b, ")\n");
    if (json_count_of(v->document, "combinations") >= 0)
        buffer_printf(b, "combinations %lld: excluded %lld, duplicate %lld, jobs %lld\n",
                      (long long)json_count_of(v->document, "combinations"),
                      (long long)json_count_of(v->document, "excluded_combinations"),
                      (long long)(duplicates < 0 ? 0 : duplicates), (long long)json_count_of(v->document, "jobs"));
}

/* Nothing runs, and nothing is to run. */
static bool is_over(const struct status_view *v)
{
    return json_count_of(v->states, "pending") + json_count_of(v->states, "running") +
               json_count_of(v->states, "waiting") ==
           0;
}

static void add_counts(const struct status_view *v, struct buffer *b)
{
    const cJSON *all = part(v, "failure_classes"), *class;
    struct failure_count *classes = xcalloc((size_t)cJSON_GetArraySize(all) + 1, sizeof *classes);
    size_t count = 0;
    cJSON_ArrayForEach(class, all) classes[count++] =
        (struct failure_count){class->string, (int64_t) class->valuedouble};
    const struct sweep_progress p = {
        .total = json_count_of(v->document, "jobs"),
        .ok = json_count_of(v->states, "ok"),
        .failed = json_count_of(v->states, "failed"),
        .running = json_count_of(v->states, "running"),
        .waiting = json_count_of(v->states, "waiting"),
        .pending = json_count_of(v->states, "pending"),
        .pruned = json_count_of(v->states, "pruned"),
        .held = json_count_of(v->states, "held"),
        .failures = classes,
        .failure_count = count,
    };
    buffer_add_char(b, '\n');
    progress_add_summary(&p, b);
    free(classes);
    if (json_text_of(v->document, "shard"))
        buffer_printf(b, "the last run was of shard %s: %lld jobs belong to other shards\n",
                      json_text_of(v->document, "shard"),
                      (long long)json_count_of(v->document, "jobs_of_other_shards"));
}

/* "search by model: 5 trials, 4 ok, 0 stopped early, 1 failed; ended: max_trials: 5 trials were made". */
static void add_search(const struct status_view *v, struct buffer *b)
{
    const cJSON *x = part(v, "search");
    const char *ended = json_text_of(x, "why_it_ended");
    const int64_t trials = json_count_of(x, "trials_made"), ok = json_count_of(x, "ok");
    const int64_t stopped = json_count_of(x, "stopped_early"), failed = json_count_of(x, "failed");
    if (!cJSON_IsObject(x))
        return;
    buffer_printf(b, "\nsearch by %s: %lld trial%s, %lld ok, %lld stopped early, %lld failed",
                  json_text_of(x, "strategy"), (long long)trials, trials == 1 ? "" : "s", (long long)ok,
                  (long long)stopped, (long long)failed);
    if (trials > ok + stopped + failed)
        buffer_printf(b, ", %lld open", (long long)(trials - ok - stopped - failed));
    if (ended) {
        buffer_add_text(b, "; ended: ");
        add_printable(v, ended, 20, b);
    } else if (json_count_of(x, "trials_to_come") >= 0) {
        buffer_printf(b, "; at most %lld more", (long long)json_count_of(x, "trials_to_come"));
    }
    buffer_add_char(b, '\n');
}

static void add_open(const struct status_view *v, struct buffer *b)
{
    const int64_t open = json_count_of(v->document, "open");
    if (open == 0)
        return;
    buffer_printf(b, "\n%lld %s asked for without a result yet; `meshsweep ask --open", (long long)open,
                  open == 1 ? "job is" : "jobs are");
    hint_add_db(b, v->path);
    buffer_printf(b, "` lists %s\n", open == 1 ? "it" : "them");
}

static void add_how_to_go_on(const struct status_view *v, struct buffer *b)
{
    const cJSON *search = part(v, "search");
    const char *config = json_text_or(v->document, "path", "");
    buffer_add_text(b, "\nno runner is active; `");
    if (json_text_of(search, "why_it_ended")) {
        hint_add_rest_of_search(b, json_text_of(v->beside, "lifting"), config, v->path);
        buffer_add_text(b, "` " HINT_REST_OF_SEARCH "\n");
        return;
    }
    buffer_add_text(b, "meshsweep run");
    if (json_text_of(v->beside, "executor"))
        buffer_printf(b, " --executor %s", json_text_of(v->beside, "executor"));
    hint_add_config(b, config);
    hint_add_db(b, v->path);
    if (json_text_of(v->document, "shard"))
        buffer_printf(b, " --shard %s", json_text_of(v->document, "shard"));
    if (cJSON_IsObject(search))
        buffer_printf(b, " --strategy %s` continues from here; give it the same other options as before\n",
                      json_text_of(search, "strategy"));
    else
        buffer_add_text(b, "` continues from here\n");
}

static void add_see_best(const struct status_view *v, struct buffer *b)
{
    buffer_add_text(b, " (see meshsweep best");
    hint_add_db(b, v->path);
    buffer_add_text(b, ")\n");
}

static void add_attempt(const struct status_view *v, const cJSON *a, const char *keys, struct buffer *b)
{
    char text[32];
    const size_t start = b->length;
    buffer_add_text(b, "  ");
    if (json_count_of(a, "slot") >= 0)
        buffer_printf(b, "slot %lld: ", (long long)json_count_of(a, "slot"));
    buffer_printf(b, "job %lld, attempt %lld", (long long)json_count_of(a, "job"),
                  (long long)json_count_of(a, "attempt"));
    buffer_printf(b, v->runner_alive ? ", for %s" : ", started %s ago; it is not known whether it has ended",
                  format_duration_ms(json_count_of(a, "elapsed_ms"), text, sizeof text));
    if (keys[0]) {
        buffer_add_text(b, "  ");
        add_printable(v, keys, b->length - start, b);
    }
    buffer_add_char(b, '\n');
}

static void add_running(const struct status_view *v, struct buffer *b)
{
    const cJSON *all = part(v, "running_attempts"), *keys = cJSON_GetObjectItemCaseSensitive(v->beside, "running_keys");
    const int64_t total = json_count_of(v->beside, "running");
    char text[32];
    if (total == 0 && is_over(v))
        return;
    if (!v->runner_alive)
        add_how_to_go_on(v, b);
    else if (total > 0)
        buffer_printf(b, "\nrunning now, all done in %s\n",
                      progress_format_eta(json_count_of(v->document, "eta_ms"), text, sizeof text));
    for (int i = 0; i < cJSON_GetArraySize(all); i++)
        add_attempt(v, cJSON_GetArrayItem(all, i), cJSON_GetStringValue(cJSON_GetArrayItem(keys, i)), b);
    add_more(total, all, "more", b);
}

static void add_retries(const struct status_view *v, struct buffer *b)
{
    const cJSON *all = part(v, "retries"), *retry;
    if (all->child)
        buffer_add_text(b, "\nfailed, to be retried\n");
    cJSON_ArrayForEach(retry, all)
    {
        buffer_printf(b, "  job %lld, attempt %lld, ", (long long)json_count_of(retry, "job"),
                      (long long)json_count_of(retry, "attempt"));
        add_due(retry, "now", b);
        buffer_add_char(b, '\n');
    }
    add_more(json_count_of(v->document, "retries_waiting"), all, "more", b);
}

static void add_slow_nodes(const struct status_view *v, struct buffer *b)
{
    const cJSON *all = part(v, "slow_nodes"), *node;
    cJSON_ArrayForEach(node, all)
    {
        buffer_add_text(b, node == all->child ? "\nslow node " : "slow node ");
        add_printable(v, json_text_of(node, "host"), 20, b);
        buffer_printf(b, ": takes %.2f times as long as matched jobs on other nodes (%lld compared)\n",
                      json_real_of(node, "ratio"), (long long)json_count_of(node, "pairs"));
    }
}

static void add_places(const struct status_view *v, struct buffer *b)
{
    const cJSON *all = part(v, "places_aside"), *place;
    cJSON_ArrayForEach(place, all)
    {
        const int64_t jobs = json_count_of(place, "jobs");
        OWNED char *name = place_name(json_text_of(place, "host"), json_text_of(place, "device"));
        buffer_add_text(b, place == all->child ? "\nset aside: " : "set aside: ");
        add_printable(v, name, 40, b);
        buffer_printf(b, ", on which %lld job%s failed that succeeded elsewhere; tried again ", (long long)jobs,
                      jobs == 1 ? "" : "s");
        add_due(place, "with the next job", b);
        buffer_add_text(b, "\n  ");
        add_printable(v, json_text_of(place, "message"), 2, b);
        buffer_add_char(b, '\n');
    }
}

/* "so far: 12.3 jobs/min, 1.2 device-hours". */
static void add_spent(const struct status_view *v, struct buffer *b)
{
    const double rate = v->runner_alive ? json_real_of(v->document, "jobs_per_second") : (double)NAN;
    const double hours = json_real_of(v->document, "device_hours");
    const double left = json_real_of(v->document, "device_hours_left");
    if (isfinite(rate)) {
        buffer_add_text(b, "\nrate: ");
        text_add_figure(b, 3, rate >= 1 ? rate : rate * 60);
        buffer_printf(b, " jobs/%s", rate >= 1 ? "s" : "min");
    }
    if (isfinite(hours)) {
        buffer_add_text(b, isfinite(rate) ? ", " : "\n");
        text_add_amount(b, hours);
        buffer_add_text(b, " device-hours so far");
    }
    if (isfinite(hours) && isfinite(left)) {
        buffer_add_text(b, ", about ");
        text_add_amount(b, left);
        buffer_add_text(b, " more");
    }
    if (isfinite(rate) || isfinite(hours))
        buffer_add_char(b, '\n');
}

static void add_best(const struct status_view *v, struct buffer *b)
{
    const cJSON *best = part(v, "best");
    const char *unit = json_text_of(best, "unit");
    const int64_t ok = json_count_of(v->states, "ok"), failed = json_count_of(v->states, "failed");
    if (conditions_nearest(v->document, v->beside)) {
        buffer_add_text(b, "\nno best: ");
        conditions_add_nearest(v->document, v->beside, b);
        buffer_add_char(b, '\n');
        return;
    }
    if (!v->has_best && v->objective && ok + failed > 0) {
        buffer_add_text(b, "\nno best: ");
        add_printable(v, v->objective, 30, b);
        buffer_printf(b, ok ? " has no value in any job that succeeded; see meshsweep best\n"
                            : ": no job has succeeded yet\n");
        unranked_add_text(v->beside, b);
        return;
    }
    if (!v->has_best)
        return;
    if (v->winners.length) {
        buffer_printf(b, "\n%s", buffer_text(&v->winners));
        unranked_add_text(v->beside, b);
        return;
    }
    buffer_add_text(b, "\nbest so far: ");
    add_printable(v, v->objective, 30, b);
    buffer_add_char(b, ' ');
    text_add_rounded(b, json_real_of(best, "value"));
    buffer_add_text(b, unit ? " " : "");
    add_printable(v, unit, 40, b);
    buffer_printf(b, ", job %lld", (long long)json_count_of(best, "job"));
    add_see_best(v, b);
    conditions_add_binding(v->document, v->beside, b);
}

/* "model information (job 1): 3.35e+08 parameters, 309 MiB of activations per sample". */
static void add_model_info(const struct status_view *v, struct buffer *b)
{
    static const char *const reasons[] = {"failure", "message", "excluded"};
    const cJSON *info = part(v, "model_info");
    OWNED_BUFFER list = BUFFER_INIT;
    if (cJSON_IsNull(info))
        return;
    model_info_add_facts(info, &list);
    for (size_t i = 0; i < LENGTH(reasons); i++) {
        const char *reason = json_text_of(info, reasons[i]);
        if (!reason)
            continue;
        buffer_printf(&list, ", %s", i == 2 ? "the job is excluded by " : "");
        add_printable(v, reason, 40, &list);
    }
    buffer_add_text(b, "\nmodel information");
    if (json_count_of(info, "job") >= 0)
        buffer_printf(b, " (job %lld)", (long long)json_count_of(info, "job"));
    buffer_printf(b, ": %s\n", list.length ? buffer_text(&list) + 2 : "not known yet");
    model_info_add_stages(info, "  ", b);
}

/* "2 jobs that none beats in throughput and loss: 1, 2 (see meshsweep best)". */
static void add_pareto(const struct status_view *v, struct buffer *b)
{
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(v->beside, "pareto"), *point;
    const int count = cJSON_GetArraySize(all);
    int listed = 0;
    if (count == 0)
        return;
    buffer_printf(b, "%d job%s that none beats in ", count, count == 1 ? "" : "s");
    for (const cJSON *o = cJSON_GetObjectItemCaseSensitive(all->child, "values")->child; o; o = o->next) {
        buffer_add_text(b, !o->prev->next ? "" : o->next ? ", " : " and ");
        text_add_line(b, o->string);
    }
    cJSON_ArrayForEach(point, all)
    {
        if (++listed <= PARETO_LISTED)
            buffer_printf(b, "%s%.0f", listed > 1 ? ", " : ": ", json_real_of(point, "job"));
    }
    buffer_add_text(b, count > PARETO_LISTED ? ", ..." : "");
    add_see_best(v, b);
}

static void add_full_trainings(const struct status_view *v, struct buffer *b)
{
    const cJSON *training;
    cJSON_ArrayForEach(training, part(v, "full_trainings")) full_training_add_text(training, b);
}

static bool is_training(const struct status_view *v)
{
    const char *state = full_training_state(full_training_last(part(v, "full_trainings")));
    return state && (strcmp(state, "claimed") == 0 || strcmp(state, "running") == 0);
}

static void add_cause(const struct status_view *v, const cJSON *cause, const cJSON *words, int digits,
                      struct buffer *out)
{
    const char *message = json_text_of(cause, "message");
    const size_t start = out->length;
    const cJSON *said;
    buffer_printf(out, "  %*lld x ", digits, (long long)json_count_of(cause, "jobs"));
    text_add_styled(out, STYLE_RED, json_text_of(cause, "class"));
    buffer_printf(out, ", as job %lld%s", (long long)json_count_of(cause, "example_job"), message ? ": " : "");
    add_printable(v, message, out->length - start, out);
    buffer_add_char(out, '\n');
    cJSON_ArrayForEach(said, words)
    {
        buffer_printf(out, "%*s", digits + 5, "");
        add_printable(v, said->valuestring, (size_t)digits + 5, out);
        buffer_add_char(out, '\n');
    }
}

static void add_failures(const struct status_view *v, struct buffer *b)
{
    const cJSON *all = v->causes.list;
    const int count = cJSON_GetArraySize(all);
    if (count && json_count_of(v->states, "failed") > STATUS_FAILURES_MOST)
        buffer_printf(b, "\nfailures, of the newest %d\n", STATUS_FAILURES_MOST);
    else if (count)
        buffer_add_text(b, "\nfailures\n");
    for (int i = 0; i < count && i < FAILURE_LIST_MOST; i++) /* the first is the most frequent */
        add_cause(v, cJSON_GetArrayItem(all, i), cJSON_GetArrayItem(v->causes.words, i),
                  text_digits(json_count_of(all->child, "jobs")), b);
    if (count > FAILURE_LIST_MOST)
        buffer_printf(b, "  and %d%s other kinds\n", count - FAILURE_LIST_MOST, v->causes.others ? " and more" : "");
}

static void add_pruned(const struct status_view *v, struct buffer *b)
{
    const cJSON *all = part(v, "witnesses"), *witness;
    if (all->child)
        buffer_add_text(b, "\npruned: need at least as much device memory as a job that ran out of it\n");
    cJSON_ArrayForEach(witness, all)
        buffer_printf(b, "  %*lld  as job %lld\n", text_digits(json_count_of(all->child, "jobs")),
                      (long long)json_count_of(witness, "jobs"), (long long)json_count_of(witness, "witness"));
    add_more(json_count_of(v->beside, "witnesses"), all, "other such jobs", b);
}

/* One line for each reason: "  12  as job 3: Resources". */
static void add_reasons(const struct status_view *v, const char *list, struct buffer *b)
{
    const cJSON *all = part(v, list), *reason;
    cJSON_ArrayForEach(reason, all)
    {
        const size_t start = b->length;
        buffer_printf(b, "  %*lld  as job %lld: ", text_digits(json_count_of(all->child, "jobs")),
                      (long long)json_count_of(reason, "jobs"), (long long)json_count_of(reason, "first_job"));
        add_printable(v, json_text_of(reason, "why"), b->length - start, b);
        buffer_add_char(b, '\n');
    }
    add_more(json_count_of(v->beside, list), all, "other reasons", b);
}

static void add_waiting(const struct status_view *v, struct buffer *b)
{
    if (part(v, "waits")->child)
        buffer_add_text(b, "\nwaiting: their batch system has not begun them\n");
    add_reasons(v, "waits", b);
}

static void add_held(const struct status_view *v, struct buffer *b)
{
    const int64_t aside = json_count_of(v->document, "run_last");
    if (part(v, "holds")->child)
        buffer_add_text(b, "\nheld: a run starts them once this is mended\n");
    add_reasons(v, "holds", b);
    if (aside)
        buffer_printf(b, "\n%lld %s at each of the last deaths of the runner or node, and %s last\n", (long long)aside,
                      aside == 1 ? "job ran" : "jobs ran", aside == 1 ? "runs" : "run");
}

static void add_rules(const struct status_view *v, struct buffer *b)
{
    const cJSON *all = part(v, "rules"), *rule;
    int64_t largest = 0;
    cJSON_ArrayForEach(rule, all) largest =
        json_count_of(rule, "combinations") > largest ? json_count_of(rule, "combinations") : largest;
    if (all->child)
        buffer_add_text(b, "\nexcluded by rule\n");
    cJSON_ArrayForEach(rule, all)
    {
        const size_t start = b->length;
        buffer_printf(b, "  %*lld  ", text_digits(largest), (long long)json_count_of(rule, "combinations"));
        add_printable(v, json_text_of(rule, "rule"), 10, b);
        buffer_add_text(b, strcmp(json_text_of(rule, "level"), "warn") == 0 ? " (only a warning): " : ": ");
        add_printable(v, json_text_of(rule, "reason"), b->length - start, b);
        buffer_add_char(b, '\n');
    }
}

static int print_text(const struct status_view *v, struct error *e)
{
    static void (*const parts[])(const struct status_view *v, struct buffer *b) = {
        add_heading,        add_counts,     add_search, add_open,       add_running, add_retries,
        add_spent,          add_slow_nodes, add_places, add_model_info, add_best,    add_pareto,
        add_full_trainings, add_failures,   add_pruned, add_waiting,    add_held,    add_rules,
    };
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < LENGTH(parts); i++)
        parts[i](v, &b);
    return output_people_take(&b, e);
}

static void release(struct status_view *v)
{
    failure_causes_free(&v->causes);
    buffer_free(&v->winners);
    cJSON_Delete(v->document);
    cJSON_Delete(v->beside);
}

/* Prints once; `*done` says whether nothing is left to do, `*hopeless` that no job met what was asked for then. */
static int show_status(const struct status_options *o, bool *done, bool *hopeless, struct error *e)
{
    struct status_view v = {0};
    int rc = read_view(o->db, &v, e);
    if (rc == 0 && o->watch && v.columns)
        output_clear_screen();
    if (rc == 0)
        rc = o->json ? output_json(v.document, e) : print_text(&v, e);
    *done = is_over(&v) && !is_training(&v);
    *hopeless = *done && conditions_nearest(v.document, v.beside);
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

static int print_wasted(const struct status_options *o, struct error *e)
{
    struct db *db = NULL;
    if (o->watch)
        return error_set(e, ERROR_USAGE, "status: give only one of --wasted and --watch");
    int rc = store_open_read_only(o->db, &db, e);
    if (rc == 0)
        rc = result_answer(db, "sql/answers/wasted.sql", NO_VALUES, o->json, e);
    store_close(db);
    return rc;
}

static int status(const struct arguments *a, struct error *e)
{
    const struct status_options *o = a->options;
    int interval_ms = WATCH_MS;
    bool done, hopeless;
    if (o->wasted)
        return print_wasted(o, e);
    if (watch_interval(o->watch, &interval_ms, e) < 0)
        return -1;
    if (o->watch)
        output_set_paging(false);
    while (show_status(o, &done, &hopeless, e) == 0) {
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
    .example = "meshsweep status --watch\nmeshsweep status --json\nmeshsweep status --wasted",
    .options = options,
    .options_bytes = sizeof(struct status_options),
    .pages = true,
    .run = status,
};

#include <poll.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "cli/output.h"
#include "cli/result_output.h"
#include "commands/commands.h"
#include "database/lock.h"
#include "database/open.h"
#include "report/hint.h"
#include "report/progress.h"
#include "results/best.h"
#include "results/configurations.h"
#include "results/failure_causes.h"
#include "results/json.h"
#include "results/status.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/parse.h"

#define WATCH_MS 2000

#define PARETO_OF_MOST 100000 /* jobs, so that status stays quick */
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
    size_t columns; /* of the terminal; 0: no limit */
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
    OWNED_BY(best_free) struct best best = {NULL, NULL};
    if (configurations_compete(db, &c, e) < 0)
        return -1;
    *compete = c.replicates || c.groups;
    if (*compete && best_read(db, NULL, &best, e) < 0)
        return -1;
    if (best_job(&best) < 0)
        return 0;
    const cJSON *groups = cJSON_GetObjectItemCaseSensitive(best.beside, "groups");
    cJSON *winners = cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(groups, "groups"), true);
    cJSON_ReplaceItemInObjectCaseSensitive(v->document, "winners", winners);
    cJSON_ReplaceItemInObjectCaseSensitive(v->document, "best", cJSON_CreateNull());
    cJSON_AddStringToObject(best.beside, "say", "status");
    cJSON_AddItemToObject(v->beside, "winners", best.document);
    cJSON_AddItemToObject(v->beside, "beside_winners", best.beside);
    best = (struct best){NULL, NULL};
    return 0;
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
    /* Of jobs that are equal under the first objective it is the one that the others choose, as of `best`. */
    const cJSON *first = list ? list->child : NULL, *values = cJSON_GetObjectItemCaseSensitive(first, "values");
    const cJSON *best = part(v, "best");
    cJSON *job = cJSON_GetObjectItemCaseSensitive(best, "job");
    if (values && values->child && job && values->child->valuedouble == json_real_of(best, "value"))
        cJSON_SetNumberValue(job, json_real_of(first, "job"));
    cJSON_AddItemToObject(v->beside, "pareto", list ? list : cJSON_CreateNull());
    return rc;
}

/* Reads what a statement cannot tell: statistics, and what conditions and groups make of the best. */
static int ask_others(struct db *db, struct status_view *v, struct error *e)
{
    bool compete = false;
    const cJSON *best = part(v, "best");
    const bool maximise = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(v->beside, "maximise"));
    const struct conditions_request request = {v->objective, maximise, json_real_of(best, "value"), NULL};
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
    OWNED_DB *db = NULL;
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
    return rc;
}

/* --- as text --- */

/* Puts beside the document what only the program can tell: names of files as options, and the terminal. */
static int print_text(const struct status_view *v, struct error *e)
{
    OWNED_BUFFER db = BUFFER_INIT, config = BUFFER_INIT;
    char eta[32];
    hint_add_db(&db, v->path);
    hint_add_config(&config, json_text_or(v->document, "path", ""));
    cJSON_AddItemToObject(v->beside, "words", cJSON_Duplicate(v->causes.words, true));
    JSON_ADD(v->beside, JSON_INT("room", v->columns * 2 + (v->columns && !output_has_utf8())),
             JSON_STRING("db", buffer_text(&db)), JSON_STRING("config", buffer_text(&config)),
             JSON_TEXT("eta", progress_format_eta(json_count_of(v->document, "eta_ms"), eta, sizeof eta)),
             JSON_INT("failures_most", STATUS_FAILURES_MOST), JSON_INT("kinds", cJSON_GetArraySize(v->causes.list)),
             JSON_TRUTH("others", v->causes.others > 0));
    return output_said("sql/texts/status.sql", v->document, v->beside, e);
}

static void release(struct status_view *v)
{
    failure_causes_free(&v->causes);
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
    *done = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(v.beside, "is_over"));
    *hopeless = *done && json_count_of(v.beside, "nearest") >= 0;
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
    OWNED_DB *db = NULL;
    if (o->watch)
        return error_set(e, ERROR_USAGE, "status: give only one of --wasted and --watch");
    if (store_open_read_only(o->db, &db, e) < 0)
        return -1;
    return result_answer(db, "sql/answers/wasted.sql", NO_VALUES, o->json, e);
}

int command_status(const struct status_options *o, struct error *e)
{
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

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ask/proposals.h"
#include "config/failure.h"
#include "measures/learning.h"
#include "results/job_record.h"
#include "results/json.h"
#include "results/views.h"
#include "store/imports.h"
#include "store/runners.h"
#include "util/memory.h"
#include "util/suggest.h"

/* A result being processed. */
struct told {
    int64_t trial_id, job_id;
    const char *failure, *message;
    double duration_s;
    const cJSON *metrics;
};

/* --- which trial --- */

static int number_of(const cJSON *item, const char *name, int64_t *out, struct error *e)
{
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(item, name);
    *out = 0;
    if (!number)
        return 0;
    if (!cJSON_IsNumber(number) || number->valuedouble < 1 || number->valuedouble > 9e15)
        return error_set(e, ERROR_USAGE, "\"%s\" must be a whole number above 0", name);
    *out = (int64_t)number->valuedouble;
    return 0;
}

/* Finds the job named by its number or key. */
static int find_named(const struct proposal_place *place, const cJSON *item, int64_t *job, struct error *e)
{
    const cJSON *key = cJSON_GetObjectItemCaseSensitive(item, "key");
    if (number_of(item, "job", job, e) < 0)
        return -1;
    if (*job || !key)
        return 0;
    if (!cJSON_IsString(key))
        return error_set(e, ERROR_USAGE, "\"key\" must be a string");
    return job_named(place->db, key->valuestring, job, e);
}

static int say_not_asked(const char *what, int64_t number, struct error *e)
{
    return error_set(e, ERROR_USAGE, "%s %lld was not asked for; meshsweep ask --open lists the jobs that were", what,
                     (long long)number);
}

static int find_trial(const struct proposal_place *place, const cJSON *item, struct told *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int64_t trial, job;
    if (number_of(item, "trial", &trial, e) < 0 || find_named(place, item, &job, e) < 0)
        return -1;
    if (!trial && !job)
        return error_set(e, ERROR_USAGE, "it names no job; add \"trial\": N, \"job\": N or \"key\": \"…\"");
    int rc = db_next(place->db,
                     "SELECT t.id, t.job_id, t.outcome, j.state FROM trial AS t JOIN search AS s ON s.id = t.search_id"
                     " JOIN job AS j ON j.id = t.job_id WHERE s.sweep_id = ?1 AND s.strategy = '" PROPOSALS_STRATEGY
                     "' AND (?2 = 0 OR t.id = ?2) AND (?3 = 0 OR t.job_id = ?3) ORDER BY t.id DESC LIMIT 1",
                     VALUES(sql_int(place->sweep_id), sql_int(trial), sql_int(job)), &s, e);
    if (rc == 0)
        rc = say_not_asked(trial ? "trial" : "job", trial ? trial : job, e);
    else if (rc > 0 && !stmt_is_null(s, 2))
        rc = error_set(e, ERROR_USAGE, "trial %lld (job %lld) already has an outcome: %s", (long long)stmt_int(s, 0),
                       (long long)stmt_int(s, 1), stmt_text(s, 2));
    else if (rc > 0 && strcmp(stmt_text(s, 3), "running") == 0)
        rc = error_set(e, ERROR_USAGE, "job %lld is being run here; its run records the result",
                       (long long)stmt_int(s, 1));
    if (rc > 0) {
        out->trial_id = stmt_int(s, 0);
        out->job_id = stmt_int(s, 1);
    }
    return rc < 0 ? -1 : 0;
}

/* --- what came of it --- */

static int read_failure(const cJSON *item, struct told *out, struct error *e)
{
    const cJSON *failure = cJSON_GetObjectItemCaseSensitive(item, "failure");
    const cJSON *message = cJSON_GetObjectItemCaseSensitive(item, "message");
    if (message && !cJSON_IsString(message))
        return error_set(e, ERROR_USAGE, "\"message\" must be a string");
    out->message = message ? message->valuestring : NULL;
    if (!failure || cJSON_IsNull(failure))
        return 0;
    const char *name = cJSON_IsString(failure) ? failure->valuestring : "";
    if (failure_by_name(name) == FAILURE_NONE) {
        const char *near = suggest_nearest(name, failure_names + 1, FAILURE_COUNT - 1);
        return error_set(e, ERROR_USAGE, "there is no failure class \"%s\"%s%s%s", name,
                         near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    out->failure = failure_names[failure_by_name(name)];
    return 0;
}

static int check_numbers(const cJSON *metrics, struct error *e)
{
    if (metrics && !cJSON_IsObject(metrics))
        return error_set(e, ERROR_USAGE, "\"metrics\" must be an object of names and numbers");
    for (const cJSON *m = metrics ? metrics->child : NULL; m; m = m->next)
        if (!cJSON_IsNumber(m) || !isfinite(m->valuedouble))
            return error_set(e, ERROR_USAGE,
                             "metric \"%s\" must be a finite number; for a job that diverged, write \"failure\": "
                             "\"diverged\" instead",
                             m->string);
    return 0;
}

static bool has_metric(const struct told *t, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(t->metrics, name) != NULL;
}

static int check_objective(const struct proposal_place *place, const struct told *t, struct error *e)
{
    const struct sweep *sweep = place->space->sweep;
    if (t->failure || sweep->objective_count == 0)
        return 0;
    const char *objective = sweep->objectives[0].metric;
    const char *const itself[] = {objective, NULL}, *const *read = measures_inputs(place->measures, objective);
    for (read = read ? read : itself; *read; read++)
        if (!has_metric(t, *read))
            return error_set(e, ERROR_USAGE,
                             "it lacks the metric \"%s\"%s; for a job that failed, write \"failure\": CLASS instead",
                             *read,
                             read == itself ? ", which is the objective" : ", from which the objective is computed");
    return 0;
}

static int read_told(const struct proposal_place *place, const cJSON *item, struct told *out, struct error *e)
{
    const cJSON *duration = cJSON_GetObjectItemCaseSensitive(item, "duration");
    *out = (struct told){.duration_s = NAN, .metrics = cJSON_GetObjectItemCaseSensitive(item, "metrics")};
    if (!cJSON_IsObject(item))
        return error_set(e, ERROR_USAGE,
                         "a result must be an object, such as {\"trial\": 1, \"metrics\": {\"loss\": 2.5}}");
    if (duration && (!cJSON_IsNumber(duration) || !(duration->valuedouble >= 0) || duration->valuedouble > 1e12))
        return error_set(e, ERROR_USAGE, "\"duration\" must be a number of seconds");
    if (duration)
        out->duration_s = duration->valuedouble;
    if (find_trial(place, item, out, e) < 0 || read_failure(item, out, e) < 0 || check_numbers(out->metrics, e) < 0)
        return -1;
    return check_objective(place, out, e);
}

/* --- recording --- */

static int put_metrics(struct import_store *store, const struct imported_attempt *attempt, int64_t id,
                       const struct told *t, struct error *e)
{
    for (const cJSON *m = t->metrics ? t->metrics->child : NULL; m; m = m->next)
        if (import_store_metric(store, attempt, id, m->string, m->valuedouble, e) < 0)
            return -1;
    return 0;
}

static int put_attempt(const struct proposal_place *place, const struct told *t, int64_t runner_id, struct error *e)
{
    struct import_store *store = NULL;
    struct import_removal none;
    OWNED char *source = xasprintf("trial %lld", (long long)t->trial_id);
    const struct hash128 row = hash_bytes(source, strlen(source));
    const struct import_origin origin = {.runner_id = runner_id, .file = source};
    struct imported_attempt attempt = {.job_id = t->job_id,
                                       .row = &row,
                                       .failure = t->failure,
                                       .message = t->message,
                                       .duration_s = t->duration_s};
    struct measured ignored;
    int64_t id = 0;
    bool is_new;
    int rc = db_query_int(place->db, "SELECT coalesce(max(number), 0) + 1 FROM attempt WHERE job_id = ?",
                          VALUES(sql_int(t->job_id)), 0, &attempt.number, e) < 0 ||
                     import_store_create(place->db, &origin, &store, e) < 0 ||
                     import_store_put(store, &attempt, &id, &is_new, e) < 0 ||
                     put_metrics(store, &attempt, id, t, e) < 0
                 ? -1
                 : import_store_flush(store, e);
    if (rc == 0 && place->measures)
        rc = measures_record(place->measures, place->db, id, NULL, &ignored, e);
    if (rc == 0)
        rc = import_store_finish(store, &none, e);
    import_store_free(store);
    const struct attempt_result result = {id, t->job_id, t->failure};
    return rc < 0 ? -1 : learning_note(place->space, place->db, &result, e);
}

static int tell_one(const struct proposal_place *place, const cJSON *item, int64_t runner_id, cJSON *list,
                    struct error *e)
{
    struct told t;
    if (read_told(place, item, &t, e) < 0 || put_attempt(place, &t, runner_id, e) < 0 ||
        proposals_take_outcome(place, t.trial_id, t.job_id, e) < 0)
        return -1;
    return proposals_add_trial(place, t.trial_id, list, e);
}

int proposals_tell(const struct proposal_place *place, const cJSON *results, cJSON **answer, struct error *e)
{
    const bool is_list = cJSON_IsArray(results);
    int64_t runner_id;
    int number = 0;
    *answer = json_document();
    cJSON *list = cJSON_AddArrayToObject(*answer, "told");
    int rc =
        runner_record(place->db, &place->runner, &runner_id, e) < 0 ? -1 : runner_record_end(place->db, runner_id, e);
    for (const cJSON *item = is_list ? results->child : results; rc == 0 && item; item = is_list ? item->next : NULL) {
        number++;
        rc = tell_one(place, item, runner_id, list, e);
        if (rc < 0 && is_list)
            error_context(e, "result %d", number);
    }
    if (rc == 0)
        rc = result_views_refresh(place->db, e);
    return rc < 0 ? -1 : proposals_add_counts(place, *answer, e);
}

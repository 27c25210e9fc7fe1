#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ask/proposals.h"
#include "results/json.h"
#include "store/trials.h"
#include "util/memory.h"

/* --- keys --- */

static void add_keys(cJSON *keys, const char *section, const char *json)
{
    cJSON *spec = json ? cJSON_Parse(json) : NULL;
    for (cJSON *item = spec ? spec->child : NULL; item; item = item->next) {
        char *qualified = xasprintf("%s.%s", section, item->string);
        const bool is_taken = cJSON_GetObjectItemCaseSensitive(keys, item->string) != NULL;
        cJSON_AddItemToObject(keys, is_taken ? qualified : item->string, cJSON_Duplicate(item, true));
        free(qualified);
    }
    cJSON_Delete(spec);
}

int proposals_job_keys(struct db *db, int64_t job_id, cJSON **out, struct error *e)
{
    static const char *const titles[] = {"cluster_spec", "model", "training_spec", "parallel_spec", "derived"};
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "SELECT c.json, m.json, t.json, p.json, j.derived FROM job AS j LEFT JOIN spec AS c"
                   " ON c.id = j.cluster_id LEFT JOIN spec AS m ON m.id = j.model_id LEFT JOIN spec AS t"
                   " ON t.id = j.training_id LEFT JOIN spec AS p ON p.id = j.parallel_id WHERE j.id = ?",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, job_id);
    int rc = stmt_next(s, e);
    cJSON *keys = cJSON_CreateObject();
    for (int i = 0; rc > 0 && i < (int)(sizeof titles / sizeof *titles); i++)
        add_keys(keys, titles[i], stmt_text(s, i));
    stmt_free(s);
    *out = keys;
    return rc < 0 ? -1 : 0;
}

/* --- one trial --- */

enum trial_column {
    TRIAL_JOB,
    TRIAL_KEY,
    TRIAL_BY,
    TRIAL_WHY,
    TRIAL_MEMORY,
    TRIAL_TIME,
    TRIAL_OUTCOME,
    TRIAL_FAILURE,
    TRIAL_OBJECTIVE,
    TRIAL_BROKEN
};

static void add_column(cJSON *object, const char *name, const struct stmt *s, int column)
{
    const enum column_type type = stmt_type(s, column);
    if (type == COLUMN_NULL)
        cJSON_AddNullToObject(object, name);
    else if (type == COLUMN_TEXT)
        cJSON_AddStringToObject(object, name, stmt_text(s, column));
    else
        cJSON_AddNumberToObject(object, name, stmt_double(s, column));
}

static void add_trial_columns(cJSON *trial, const struct stmt *s)
{
    static const struct {
        const char *name;
        enum trial_column column;
    } columns[] = {{"by", TRIAL_BY},
                   {"why", TRIAL_WHY},
                   {"predicted_memory_bytes", TRIAL_MEMORY},
                   {"predicted_step_time_s", TRIAL_TIME},
                   {"outcome", TRIAL_OUTCOME},
                   {"failure", TRIAL_FAILURE},
                   {"objective_value", TRIAL_OBJECTIVE},
                   {"does_not_meet", TRIAL_BROKEN}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        add_column(trial, columns[i].name, s, columns[i].column);
}

int proposals_add_trial(const struct proposal_place *place, int64_t trial_id, cJSON *list, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(place->db,
                   "SELECT j.id, lower(hex(j.key)), json_extract(s.options, '$.by'), t.reason, j.predicted_memory,"
                   " j.predicted_time, t.outcome, t.failure, t.objective, (SELECT group_concat(c.condition, '; ')"
                   "  FROM breach AS b JOIN subject_to AS c ON c.position = b.position"
                   "  WHERE b.attempt_id = j.attempt_id AND t.told IS NOT NULL)"
                   " FROM trial AS t JOIN search AS s ON s.id = t.search_id JOIN job AS j ON j.id = t.job_id"
                   " WHERE t.id = ?",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, trial_id);
    int rc = stmt_next(s, e);
    if (rc > 0) {
        cJSON *trial = cJSON_CreateObject(), *keys = NULL;
        cJSON_AddItemToArray(list, trial);
        cJSON_AddNumberToObject(trial, "trial", (double)trial_id);
        cJSON_AddNumberToObject(trial, "job", (double)stmt_int(s, TRIAL_JOB));
        cJSON_AddStringToObject(trial, "key", stmt_text(s, TRIAL_KEY));
        rc = proposals_job_keys(place->db, stmt_int(s, TRIAL_JOB), &keys, e);
        cJSON_AddItemToObject(trial, "keys", keys);
        add_trial_columns(trial, s);
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

/* --- all of them --- */

static int count(const struct proposal_place *place, const char *sql, int64_t *out, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(place->db, sql, &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, place->sweep_id);
    int rc = stmt_next(s, e);
    *out = rc > 0 ? stmt_int(s, 0) : 0;
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

#define OPEN_TRIALS                                                                                                    \
    " FROM trial AS t JOIN search AS s ON s.id = t.search_id"                                                          \
    " WHERE s.sweep_id = ?1 AND s.strategy = '" PROPOSALS_STRATEGY "' AND t.told IS NULL"

int proposals_add_counts(const struct proposal_place *place, cJSON *answer, struct error *e)
{
    int64_t open, pending;
    if (count(place, "SELECT count(*)" OPEN_TRIALS, &open, e) < 0 ||
        count(place, "SELECT count(*) FROM job WHERE sweep_id = ?1 AND state = 'pending' AND witness_id IS NULL",
              &pending, e) < 0)
        return -1;
    cJSON_AddNumberToObject(answer, "open", (double)open);
    cJSON_AddNumberToObject(answer, "left", (double)(pending > open ? pending - open : 0));
    return 0;
}

int proposals_open(const struct proposal_place *place, cJSON **answer, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    if (db_prepare(place->db, "SELECT t.id" OPEN_TRIALS " ORDER BY t.id", &s, e) < 0)
        return -1;
    cJSON *all = json_document(), *asked = cJSON_AddArrayToObject(all, "asked");
    cJSON_AddArrayToObject(all, "refused");
    stmt_bind_int(s, 1, place->sweep_id);
    while ((rc = stmt_next(s, e)) > 0)
        if (proposals_add_trial(place, stmt_int(s, 0), asked, e) < 0) {
            rc = -1;
            break;
        }
    stmt_free(s);
    *answer = all;
    return rc < 0 ? -1 : proposals_add_counts(place, all, e);
}

/* --- outcomes --- */

struct taking {
    const struct proposal_place *place;
    int64_t trial_id;
};

static int take(void *context, const struct job_outcome *o, struct error *e)
{
    const struct taking *t = context;
    struct job_outcome outcome = *o;
    int64_t told;
    if (strcmp(o->state, "ok") != 0 && strcmp(o->state, "failed") != 0)
        return 0;
    if (strcmp(o->state, "ok") == 0 && o->stopped)
        outcome.state = "stopped";
    struct stmt *s = NULL;
    if (db_prepare(t->place->db,
                   "SELECT max(coalesce(max(asked), 0), coalesce(max(told), 0)) + 1 FROM trial WHERE search_id ="
                   " (SELECT search_id FROM trial WHERE id = ?)",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, t->trial_id);
    int rc = stmt_next(s, e);
    told = rc > 0 ? stmt_int(s, 0) : 1;
    stmt_free(s);
    return rc < 0 ? -1 : trial_record_outcome(t->place->db, t->trial_id, told, &outcome, e);
}

int proposals_take_outcome(const struct proposal_place *place, int64_t trial_id, int64_t job_id, struct error *e)
{
    const struct sweep *sweep = place->space->sweep;
    const struct job_outcome_query query = {place->sweep_id, job_id,
                                            sweep->objective_count ? sweep->objectives[0].metric : NULL};
    struct taking taking = {place, trial_id};
    return job_outcomes_read(place->db, &query, take, &taking, e);
}

int proposals_settle(const struct proposal_place *place, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(place->db,
                   "SELECT t.id, t.job_id" OPEN_TRIALS " AND EXISTS (SELECT 1 FROM job AS j WHERE j.id = t.job_id AND"
                   " (j.state IN ('ok', 'failed') OR j.witness_id IS NOT NULL))",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, place->sweep_id);
    int rc;
    while ((rc = stmt_next(s, e)) > 0)
        if (proposals_take_outcome(place, stmt_int(s, 0), stmt_int(s, 1), e) < 0) {
            rc = -1;
            break;
        }
    stmt_free(s);
    return rc;
}

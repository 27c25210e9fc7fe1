#include <string.h>

#include "ask/proposals.h"
#include "results/json.h"
#include "store/trials.h"

/* --- one trial --- */

int proposals_add_trial(const struct proposal_place *place, int64_t trial_id, cJSON *list, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(place->db,
                   "SELECT t.id AS trial, j.id AS job, lower(hex(j.key)) AS key, " JSON_KEYS_SQL " AS keys,"
                   " json_extract(s.options, '$.by') AS by, t.reason AS why,"
                   " j.predicted_memory AS predicted_memory_bytes, j.predicted_time AS predicted_step_time_s, "
                   "t.outcome,"
                   " t.failure, t.objective AS objective_value, (SELECT group_concat(c.condition, '; ')"
                   "  FROM breach AS b JOIN subject_to AS c ON c.position = b.position"
                   "  WHERE b.attempt_id = j.attempt_id AND t.told IS NOT NULL) AS does_not_meet"
                   " FROM trial AS t JOIN search AS s ON s.id = t.search_id JOIN job AS j ON j.id = t.job_id"
                   " WHERE t.id = ?",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, trial_id);
    int rc = stmt_next(s, e);
    if (rc > 0) {
        cJSON *trial = cJSON_CreateObject();
        cJSON_AddItemToArray(list, trial);
        json_add_columns(trial, s, 0);
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

/* --- all of them --- */

cJSON *proposals_new_answer(void)
{
    cJSON *answer = json_document();
    cJSON_AddArrayToObject(answer, "asked");
    cJSON_AddArrayToObject(answer, "refused");
    return answer;
}

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
    int64_t open, left;
    if (count(place, "SELECT count(*)" OPEN_TRIALS, &open, e) < 0 ||
        count(place, "SELECT count(*)" UNASKED_JOBS, &left, e) < 0)
        return -1;
    cJSON_AddNumberToObject(answer, "open", (double)open);
    cJSON_AddNumberToObject(answer, "left", (double)left);
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

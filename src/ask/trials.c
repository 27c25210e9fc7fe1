#include <math.h>
#include <string.h>

#include "ask/proposals.h"
#include "results/json.h"
#include "store/trials.h"
#include "util/memory.h"

/* --- one trial --- */

int proposals_add_trial(const struct proposal_place *place, int64_t trial_id, cJSON *list, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc =
        db_next(place->db,
                "SELECT t.id AS trial, j.id AS job, lower(hex(j.key)) AS key, " JSON_KEYS_SQL " AS keys,"
                " json_extract(s.options, '$.by') AS by, t.reason AS why,"
                " j.predicted_memory AS predicted_memory_bytes, j.predicted_time AS predicted_step_time_s, t.outcome,"
                " t.failure, t.objective AS objective_value, (SELECT group_concat(c.condition, '; ')"
                "  FROM breach AS b JOIN subject_to AS c ON c.position = b.position"
                "  WHERE b.attempt_id = j.attempt_id AND t.told IS NOT NULL) AS does_not_meet"
                " FROM trial AS t JOIN search AS s ON s.id = t.search_id JOIN job AS j ON j.id = t.job_id"
                " WHERE t.id = ?",
                VALUES(sql_int(trial_id)), &s, e);
    if (rc > 0) {
        cJSON *trial = cJSON_CreateObject();
        cJSON_AddItemToArray(list, trial);
        json_add_columns(trial, s, 0);
    }
    return rc < 0 ? -1 : 0;
}

int proposals_find_trial(const struct proposal_place *place, int64_t job_id, int64_t *trial_id, struct error *e)
{
    return db_query_int(place->db,
                        "SELECT max(t.id) FROM trial AS t JOIN search AS s ON s.id = t.search_id"
                        " WHERE t.job_id = ?1 AND s.sweep_id = ?2 AND s.strategy = '" PROPOSALS_STRATEGY "'",
                        VALUES(sql_int(job_id), sql_int(place->sweep_id)), 0, trial_id, e);
}

int proposals_open_search(const struct proposal_place *place, const char *by, int64_t *id, struct error *e)
{
    OWNED_JSON *options = cJSON_CreateObject();
    cJSON_AddStringToObject(options, "by", by);
    OWNED char *json = cJSON_PrintUnformatted(options);
    int rc = search_find(place->db, place->sweep_id, PROPOSALS_STRATEGY, json, id, e);
    if (rc == 0 && *id == 0)
        rc = search_record(place->db, place->sweep_id, PROPOSALS_STRATEGY, json, id, e);
    return rc;
}

static int next_event(const struct proposal_place *place, int64_t search_id, int64_t *sequence, struct error *e)
{
    return db_query_int(place->db,
                        "SELECT max(coalesce(max(asked), 0), coalesce(max(told), 0)) + 1 FROM trial WHERE search_id"
                        " = ?",
                        VALUES(sql_int(search_id)), 1, sequence, e);
}

int proposals_accept(const struct proposal_place *place, const struct acceptance *a, cJSON *asked, struct error *e)
{
    struct trial_row row = {.resource = NAN, .reason = a->why, .outcome = {.job_id = a->job_id}};
    int64_t search_id, trial_id;
    if (proposals_find_trial(place, a->job_id, &trial_id, e) < 0)
        return -1;
    /* The job is asked for again after the previous client ended: the same trial. */
    if (trial_id)
        return proposals_add_trial(place, trial_id, asked, e);
    if (proposals_open_search(place, a->by, &search_id, e) < 0 || next_event(place, search_id, &row.asked, e) < 0 ||
        trial_record(place->db, search_id, &row, &trial_id, e) < 0 ||
        (a->has_ended && proposals_take_outcome(place, trial_id, a->job_id, e) < 0))
        return -1;
    return proposals_add_trial(place, trial_id, asked, e);
}

/* --- outcomes --- */

struct told_trial {
    const struct proposal_place *place;
    int64_t trial_id;
};

static int record_outcome(void *context, const struct job_outcome *o, struct error *e)
{
    const struct told_trial *t = context;
    struct job_outcome outcome = *o;
    int64_t search_id, told;
    if (strcmp(o->state, "ok") != 0 && strcmp(o->state, "failed") != 0)
        return 0;
    if (strcmp(o->state, "ok") == 0 && o->stopped)
        outcome.state = "stopped";
    if (db_query_int(t->place->db, "SELECT search_id FROM trial WHERE id = ?", VALUES(sql_int(t->trial_id)), 0,
                     &search_id, e) < 0 ||
        next_event(t->place, search_id, &told, e) < 0)
        return -1;
    return trial_record_outcome(t->place->db, t->trial_id, told, &outcome, e);
}

int proposals_take_outcome(const struct proposal_place *place, int64_t trial_id, int64_t job_id, struct error *e)
{
    const struct sweep *sweep = place->space->sweep;
    const struct job_outcome_query query = {place->sweep_id, job_id,
                                            sweep->objective_count ? sweep->objectives[0].metric : NULL};
    struct told_trial trial = {place, trial_id};
    return job_outcomes_read(place->db, &query, record_outcome, &trial, e);
}

/* --- open trials --- */

#define OPEN_TRIALS                                                                                                    \
    " FROM trial AS t JOIN search AS s ON s.id = t.search_id"                                                          \
    " WHERE s.sweep_id = ?1 AND s.strategy = '" PROPOSALS_STRATEGY "' AND t.told IS NULL"

int proposals_settle(const struct proposal_place *place, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_query(place->db,
                      "SELECT t.id, t.job_id" OPEN_TRIALS " AND EXISTS (SELECT 1 FROM job AS j WHERE j.id = t.job_id"
                      " AND (j.state IN ('ok', 'failed') OR j.witness_id IS NOT NULL))",
                      VALUES(sql_int(place->sweep_id)), &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0)
        rc = proposals_take_outcome(place, stmt_int(s, 0), stmt_int(s, 1), e);
    return rc;
}

cJSON *proposals_new_answer(void)
{
    cJSON *answer = json_document();
    cJSON_AddArrayToObject(answer, "asked");
    cJSON_AddArrayToObject(answer, "refused");
    return answer;
}

/* The jobs `j` of the sweep ?1 that could run and that no client has asked for. */
#define UNASKED_JOBS                                                                                                   \
    " FROM job AS j WHERE j.sweep_id = ?1 AND j.state = 'pending' AND j.witness_id IS NULL AND j.held IS NULL AND NOT" \
    " EXISTS (SELECT 1 FROM trial AS t JOIN search AS s ON s.id = t.search_id WHERE t.job_id = j.id"                   \
    "  AND s.sweep_id = ?1 AND s.strategy = '" PROPOSALS_STRATEGY "')"

int proposals_add_counts(const struct proposal_place *place, cJSON *answer, struct error *e)
{
    const struct sql_values sweep = VALUES(sql_int(place->sweep_id));
    int64_t open, left;
    if (db_query_int(place->db, "SELECT count(*)" OPEN_TRIALS, sweep, 0, &open, e) < 0 ||
        db_query_int(place->db, "SELECT count(*)" UNASKED_JOBS, sweep, 0, &left, e) < 0)
        return -1;
    cJSON_AddNumberToObject(answer, "open", (double)open);
    cJSON_AddNumberToObject(answer, "left", (double)left);
    return 0;
}

int proposals_open(const struct proposal_place *place, cJSON **answer, struct error *e)
{
    OWNED_STMT *s = NULL;
    *answer = proposals_new_answer();
    int rc = db_query(place->db, "SELECT t.id" OPEN_TRIALS " ORDER BY t.id", VALUES(sql_int(place->sweep_id)), &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0)
        rc = proposals_add_trial(place, stmt_int(s, 0), cJSON_GetObjectItemCaseSensitive(*answer, "asked"), e);
    return rc < 0 ? -1 : proposals_add_counts(place, *answer, e);
}

/* --- the next jobs that no client has asked for --- */

static int say_exhausted(const struct proposal_place *place, struct error *e)
{
    OWNED_JSON *counts = cJSON_CreateObject();
    int rc = proposals_add_counts(place, counts, e);
    const double open = rc < 0 ? 0 : cJSON_GetObjectItemCaseSensitive(counts, "open")->valuedouble;
    if (rc < 0)
        return -1;
    if (open > 0)
        return error_set(e, ERROR_NOTHING,
                         "no job is left to ask for: all that have not run have been asked for (%.0f without a result; "
                         "meshsweep ask --open lists them)",
                         open);
    return error_set(e, ERROR_NOTHING, "no job is left to ask for: every job of the sweep has an outcome");
}

static int next_in_order(const struct proposal_place *place, size_t wanted, cJSON *asked, struct error *e)
{
    OWNED_STMT *s = NULL;
    size_t given = 0;
    int rc = db_query(place->db, "SELECT j.id" UNASKED_JOBS " ORDER BY j.aside, j.priority, j.rank LIMIT ?2",
                      VALUES(sql_int(place->sweep_id), sql_int((int64_t)wanted)), &s, e);
    for (; rc == 0 && (rc = stmt_next(s, e)) > 0; given++)
        rc = proposals_accept(place, &(struct acceptance){stmt_int(s, 0), false, place->by, place->why}, asked, e);
    return rc == 0 && given == 0 ? say_exhausted(place, e) : rc;
}

int proposals_next(const struct proposal_place *place, size_t wanted, cJSON **answer, struct error *e)
{
    *answer = proposals_new_answer();
    cJSON *asked = cJSON_GetObjectItemCaseSensitive(*answer, "asked");
    int rc = proposals_are_decided(place->space->sweep) ? proposals_decide(place, wanted, asked, e)
                                                        : next_in_order(place, wanted, asked, e);
    return rc < 0 ? -1 : proposals_add_counts(place, *answer, e);
}

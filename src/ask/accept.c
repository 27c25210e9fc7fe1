/* Makes a job a trial of the search of the client that asks for it. */
#include <math.h>
#include <stdlib.h>

#include "ask/proposals.h"
#include "results/json.h"
#include "store/trials.h"

int proposals_find_trial(const struct proposal_place *place, int64_t job_id, int64_t *trial_id, struct error *e)
{
    struct stmt *s = NULL;
    *trial_id = 0;
    if (db_prepare(place->db,
                   "SELECT t.id FROM trial AS t JOIN search AS s ON s.id = t.search_id"
                   " WHERE t.job_id = ?1 AND s.sweep_id = ?2 AND s.strategy = '" PROPOSALS_STRATEGY
                   "' ORDER BY t.id DESC LIMIT 1",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, job_id);
    stmt_bind_int(s, 2, place->sweep_id);
    int rc = stmt_next(s, e);
    if (rc > 0)
        *trial_id = stmt_int(s, 0);
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

int proposals_open_search(const struct proposal_place *place, const char *by, int64_t *id, int64_t *asked,
                          struct error *e)
{
    cJSON *options = cJSON_CreateObject();
    struct stmt *s = NULL;
    cJSON_AddStringToObject(options, "by", by);
    char *json = cJSON_PrintUnformatted(options);
    int rc = search_find(place->db, place->sweep_id, PROPOSALS_STRATEGY, json, id, e);
    if (rc == 0 && *id == 0)
        rc = search_record(place->db, place->sweep_id, PROPOSALS_STRATEGY, json, id, e);
    free(json);
    cJSON_Delete(options);
    if (rc == 0)
        rc = db_prepare(place->db,
                        "SELECT max(coalesce(max(asked), 0), coalesce(max(told), 0)) + 1 FROM trial WHERE search_id"
                        " = ?",
                        &s, e);
    if (rc == 0) {
        stmt_bind_int(s, 1, *id);
        rc = stmt_next(s, e);
        *asked = rc > 0 ? stmt_int(s, 0) : 1;
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

int proposals_accept(const struct proposal_place *place, const struct acceptance *a, cJSON *asked, struct error *e)
{
    int64_t search_id, sequence, trial_id;
    if (proposals_find_trial(place, a->job_id, &trial_id, e) < 0)
        return -1;
    /* The job is asked for again after the previous client ended: the same trial. */
    if (trial_id)
        return proposals_add_trial(place, trial_id, asked, e);
    if (proposals_open_search(place, a->by, &search_id, &sequence, e) < 0)
        return -1;
    const struct trial_row row = {.asked = sequence,
                                  .resource = NAN,
                                  .reason = a->why,
                                  .outcome = {.job_id = a->job_id}};
    if (trial_record(place->db, search_id, &row, &trial_id, e) < 0 ||
        (a->has_ended && proposals_take_outcome(place, trial_id, a->job_id, e) < 0))
        return -1;
    return proposals_add_trial(place, trial_id, asked, e);
}

/* Asks for the next jobs that no client has asked for. */
#include "ask/proposals.h"

static int say_exhausted(const struct proposal_place *place, struct error *e)
{
    cJSON *counts = cJSON_CreateObject();
    int rc = proposals_add_counts(place, counts, e);
    const double open = rc < 0 ? 0 : cJSON_GetObjectItemCaseSensitive(counts, "open")->valuedouble;
    cJSON_Delete(counts);
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
    struct stmt *s = NULL;
    size_t given = 0;
    int rc;
    if (db_prepare(place->db, "SELECT j.id" UNASKED_JOBS " ORDER BY j.aside, j.priority, j.rank LIMIT ?2", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, place->sweep_id);
    stmt_bind_int(s, 2, (int64_t)wanted);
    while ((rc = stmt_next(s, e)) > 0) {
        given++;
        rc = proposals_accept(place, &(struct acceptance){stmt_int(s, 0), false, place->by, place->why}, asked, e);
        if (rc < 0)
            break;
    }
    stmt_free(s);
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

/* Loads the measured jobs of a database for replay: candidates with their predictions, outcomes and groups. The specs
 * come from the jobs themselves, so it makes no difference whether a sweep file or a table created them. */
#ifndef MESHSWEEP_SEARCH_REPLAY_LOAD_H
#define MESHSWEEP_SEARCH_REPLAY_LOAD_H

#include "search/candidates.h"
#include "search/replay.h"

struct replay_request {
    struct db *db;        /* read only */
    const char *config;   /* the sweep file; NULL: as stored in the database */
    const char *group_by; /* columns of the view `results`, separated by commas; NULL: [sweep] group_by, else the groups
                           * of the search (search/candidates.h) */
};

struct replay_source {
    struct candidate_set set;
    struct replay_outcome *outcomes; /* by candidate */
    size_t *group_of;                /* by candidate */
    char **group_names;              /* "layers=16 num_hosts=1", or "" */
    size_t group_count;
    bool has_listed_groups; /* the groups are those of [sweep] group_by */
    size_t replicates;      /* jobs that differ from a candidate only in replicate keys; outcomes are means over them */
    size_t infeasible;      /* jobs that [sweep] subject_to keeps from winning; they are candidates that fail */
    size_t excluded;        /* jobs that the current rules exclude; not candidates */
    size_t unmeasured;      /* jobs that have not ended; not candidates */
    char *objective;
    /* `set` points into these. */
    struct sweep *sweep;
    struct row_space *rows;
    struct space *space;
};

/* Loads the current sweep. ERROR_USAGE if it declares no objective, ERROR_NOTHING if no job has ended. Call
 * replay_source_free even after an error. */
int replay_load(const struct replay_request *request, struct replay_source *out, struct error *e);
void replay_source_free(struct replay_source *s);

#endif

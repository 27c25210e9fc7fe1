/* A database's measured jobs as what replay needs: candidates with their predictions, outcomes, groups. The specs are
 * those of the jobs, so that it does not matter whether a sweep file or a table made them. */
#ifndef MESHSWEEP_SEARCH_REPLAY_LOAD_H
#define MESHSWEEP_SEARCH_REPLAY_LOAD_H

#include "search/candidates.h"
#include "search/replay.h"

struct replay_request {
    struct db *db;        /* read only */
    const char *config;   /* the sweep file; NULL: as the database has it */
    const char *group_by; /* columns of the view results, with commas between them; NULL: [sweep]
                             group_by, else what the search compares (search/candidates.h) */
};

struct replay_source {
    struct candidate_set set;
    struct replay_outcome *outcomes; /* by candidate */
    size_t *group_of;                /* by candidate */
    char **group_names;              /* "layers=16 num_hosts=1", or "" */
    size_t group_count;
    bool has_listed_groups; /* those of [sweep] group_by */
    size_t replicates; /* jobs that differ from a candidate in replicate keys only: its outcome is the mean of all */
    size_t infeasible; /* jobs that [sweep] subject_to keeps from winning: candidates that fail */
    size_t excluded;   /* jobs that the rules in force exclude: no candidates */
    size_t unmeasured; /* jobs that have not ended: no candidates */
    char *objective;
    /* What `set` points into. */
    struct sweep *sweep;
    struct row_space *rows;
    struct space *space;
};

/* The current sweep's. ERROR_USAGE where it declares no objective; ERROR_NOTHING where no job has ended. In any case
 * released with replay_source_free. */
int replay_load(const struct replay_request *request, struct replay_source *out, struct error *e);
void replay_source_free(struct replay_source *s);

#endif

/* The jobs of the current sweep that no other beats when it has several objectives. One beats another that is nowhere
 * worse and somewhere better. Jobs that differ in replicate keys only are one, with the mean of each objective. */
#pragma once

#include "results/job_keys.h"

struct pareto_objective {
    char *metric, *unit; /* unit "" for none */
    bool maximise;
};

struct pareto_job {
    int64_t job_id; /* of replicates the one in the middle */
    int64_t tie;    /* the first job with the same values; 0: none before this one */
    double *values; /* one per objective */
    struct job_keys keys;
};

struct pareto {
    struct pareto_objective *objectives; /* as declared */
    size_t objective_count;              /* fewer than two: no jobs below */
    struct pareto_job *jobs; /* by the first objective, the best first; equal ones by the next, then by job */
    size_t count;
    size_t incomplete; /* ok jobs without a finite value of each objective: they take no part */
};

/* Reads within the caller's transaction; there must be a current sweep with an objective. */
int pareto_read(struct db *db, struct pareto *out, struct error *e);
void pareto_free(struct pareto *p);

/* Candidates by configuration: those that differ in the micro-batch alone, in its order. What is known of the brackets
 * of a memory class is shared by its configurations. */
#ifndef MESHSWEEP_SEARCH_FAMILIES_H
#define MESHSWEEP_SEARCH_FAMILIES_H

#include "search/state.h"

struct families {
    size_t *members; /* candidates, family by family, each by micro-batch */
    size_t *first;   /* family f has members[first[f]] … members[first[f + 1] - 1] */
    size_t count;
    double *largest_fit, *smallest_oom; /* by memory class; NAN: nothing known */
};

/* Only candidates that may be searched. Every one has a micro-batch, or -1 (ERROR_USAGE) says that a strategy which
 * bisects it has nothing to bisect. */
int families_create(const struct search *s, struct families *out, struct error *e);
void families_free(struct families *f);

/* Of members with one micro-batch (other accumulations) only the first declared stays. */
void families_keep_first(struct families *f, const struct search *s);

/* An outcome stands in the shared state. */
void families_tell(struct families *f, const struct search *s, size_t candidate);

size_t families_size(const struct families *f, size_t family);
size_t families_member(const struct families *f, size_t family, size_t at);

/* Whether its memory class is known not to have room for it. */
bool families_too_large(const struct families *f, const struct search *s, size_t candidate);

/* The largest member that is predicted to fit with even chances, times `factor` in the micro-batch; without predictions
 * the largest there is. */
size_t families_estimate(const struct families *f, const struct search *s, size_t family, double factor);

/* The last member with at most that micro-batch; SIZE_MAX: none. */
size_t families_at_most(const struct families *f, const struct search *s, size_t family, double micro_batch);

#endif

/* Candidates grouped by configuration: a family's members differ only in the micro-batch and are sorted by it. Families
 * of one memory class share what is known about which micro-batches fit. */
#ifndef MESHSWEEP_SEARCH_FAMILIES_H
#define MESHSWEEP_SEARCH_FAMILIES_H

#include "search/state.h"

struct families {
    size_t *members; /* candidates, family by family, each by micro-batch */
    size_t *first;   /* family f has members[first[f]] … members[first[f + 1] - 1] */
    size_t count;
    double *largest_fit, *smallest_oom; /* by memory class; NAN: not known */
};

/* Takes only candidates that may be searched. -1 (ERROR_USAGE) if one has no micro-batch: the strategy has nothing to
 * bisect. */
int families_create(const struct search *s, struct families *out, struct error *e);
void families_free(struct families *f);

/* Of members with equal micro-batch (but other accumulations), keeps only the first declared. */
void families_keep_first(struct families *f, const struct search *s);

/* Call it once the shared state has the outcome. */
void families_tell(struct families *f, const struct search *s, size_t candidate);

size_t families_size(const struct families *f, size_t family);
size_t families_member(const struct families *f, size_t family, size_t at);

/* Whether the candidate is known not to fit, from its memory class. */
bool families_too_large(const struct families *f, const struct search *s, size_t candidate);

/* The largest member that is predicted to fit with at least even chances, its micro-batch multiplied by `factor`;
 * without predictions, the largest member. */
size_t families_estimate(const struct families *f, const struct search *s, size_t family, double factor);

/* The last member with at most that micro-batch; SIZE_MAX: none. */
size_t families_at_most(const struct families *f, const struct search *s, size_t family, double micro_batch);

#endif

/* Uniform samples without replacement from the candidates that filters keep, the same on every machine for
 * the same seed, in memory for the sample only.
 *
 * The seed puts the kept candidates of a stratum in a random order, of which a sample is a stretch: `skip` 0
 * and `take` 10, then `skip` 10 and `take` 10 give the same as `take` 20. In small spaces each position gets
 * a random priority and one walk finds the lowest. In large ones random positions are looked at first, and
 * only when those do not suffice are the others walked; which candidates come first does not depend on how
 * many are asked for.
 *
 * Strata are served in turn, each with its own order and without what those before it took. So
 * {layers = 1: 20, layers = 2: 20, any: 100} never gives a model twice, and its 100 are uniform over all that
 * the first two left. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/filter.h"
#include "models/index.h"
#include "util/error.h"

struct model_stratum {
    const char *key, *literal;    /* as for model_index_restrict; NULL: the whole space */
    uint64_t take;                /* candidates wanted; UINT64_MAX: all */
    uint64_t skip;                /* candidates passed over before; later strata may take them */
    struct model_filter *filters; /* its own, asked after the request's; NULL: none */
    size_t filter_count;
};

struct model_sample_request {
    const struct model_index *index;
    uint64_t seed;
    struct model_filter *filters; /* `removed` then counts among the candidates that were looked at */
    size_t filter_count;
    const struct model_stratum *strata;
    size_t stratum_count;
    uint64_t walk_limit; /* a stratum of more candidates than this is not walked through; 0: no limit */
};

struct model_sample {
    uint64_t *ranks; /* positions in the request's index, stratum by stratum, in sample order */
    size_t count;
    size_t *taken; /* per stratum; fewer than it wanted when there are no more */
    bool cut;      /* walk_limit was met: there may be more after all */
};

/* Fails when a stratum's key or value does not exist (ERROR_USAGE) or a filter fails. `*out` owns memory:
 * model_sample_free. */
int model_sample_draw(const struct model_sample_request *request, struct model_sample *out, struct error *e);
void model_sample_free(struct model_sample *sample);

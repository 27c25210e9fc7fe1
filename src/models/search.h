/* The search that [model_space] of a sweep file asks for: its candidates counted, filtered, sampled and handed out, one
 * at a time. Nothing is enumerated before it must be, and of a sample only positions are kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/model_space.h"
#include "config/sweep.h"
#include "models/base.h"
#include "models/filter.h"
#include "models/index.h"
#include "util/buffer.h"
#include "util/error.h"

/* Samples are uniform, without replacement, from the candidates that filters keep, the same on every machine for the
 * same seed, in memory for the sample only.
 *
 * The seed puts the kept candidates of a stratum in a random order, of which a sample is the begin: `take` 10 gives the
 * first of `take` 20. In small spaces each position gets a random priority and one walk finds the lowest. In large ones
 * random positions are looked at first, and only when those do not suffice are the others walked; which candidates come
 * first does not depend on how many are asked for.
 *
 * Strata are served in turn, each with its own order and without what those before it took. So
 * {layers = 1: 20, layers = 2: 20, any: 100} never gives a model twice, and its 100 are uniform over all that
 * the first two left. */

struct model_search_options {
    const char *where; /* one more filter, asked last; NULL: none */
    bool seed_given;
    int64_t seed;    /* in place of the file's */
    uint64_t offset; /* models passed over */
    uint64_t limit;  /* models handed out at most; 0: no limit */
    /* Called about every million candidates that were looked at; NULL: not. */
    void (*progress)(void *context, uint64_t looked_at);
    void *progress_context;
};

/* One stratum of the sample. */
struct model_search_stratum {
    char *name; /* for reports: "num_zhen_layers = 1", "any" */
    const struct space_sample *sample;
    char *literal;              /* value of sample->each; NULL: of all */
    struct model_filter filter; /* sample->where; `accepts` is NULL without one */
    uint64_t taken;             /* after model_search_each; fewer than sample->take when there are no more */
};

/* Read freely; changed by the functions below only. */
struct model_search {
    const struct model_space_table *table; /* borrowed from the sweep */
    struct model_search_options options;
    struct model_index *index;
    struct model_base base;
    struct model_evaluator *evaluator;
    struct model_expression **expressions;
    size_t expression_count;
    bool flops; /* some expression reads them */
    /* In the order in which they are asked; `removed` counts, of a sample among the candidates that were looked at. A
     * `name` of NULL: ours. */
    struct model_filter *filters;
    size_t filter_count;
    uint64_t looked_at; /* candidates so far */
    uint64_t base_rank; /* of the candidate that is the base itself */
    struct model_search_stratum *strata;
    size_t stratum_count; /* 0: all candidates that are kept, in order */
    bool cut;             /* the sample may be too small: the space was too large to look at all of it */
};

/* `sweep` must have a [model_space] and, like `options`' texts, outlive the search. ERROR_USAGE, with the place: an
 * empty space, one that 64 bits do not count, an expression that does not resolve (all of them at once), a value that
 * the space does not have, a mixer whose parameters are not known. */
int model_search_open(const struct sweep *sweep, const struct model_search_options *options, struct model_search **out,
                      struct error *e);
void model_search_free(struct model_search *search);

/* The candidates that the filters keep. */
struct model_counts {
    uint64_t kept;
    uint64_t *kept_by_layers; /* [layers of the main stack]; the caller's, free(); NULL without such a stack */
    unsigned layers_most;
};

/* Walks through all candidates. */
int model_search_count(struct model_search *search, struct model_counts *out, struct error *e);

/* Draws the sample: positions in the index, stratum by stratum, in sample order, the caller's. Fails where a filter
 * does. */
int model_search_draw(struct model_search *search, uint64_t **ranks, size_t *count, struct error *e);

/* A model handed out: a candidate, borrowed for the call, or, where it is NULL, the base. */
struct model_pick {
    const struct model_candidate *candidate;
    int64_t parameters; /* 0 when they are not counted */
};

typedef int (*model_pick_function)(void *context, const struct model_pick *pick, struct error *e);

/* Hands out the models: the base first where it is included (then no candidate is the same model), the sample by
 * strata, or else all candidates that are kept, in the order of models/index.h. `offset` and `limit` count all of
 * them. `*count` is how many. Fails as `each` does, and with ERROR_NOTHING when no candidate is left, saying what
 * removed them, or none lies behind `offset`; nothing was handed out then. */
int model_search_each(struct model_search *search, model_pick_function each, void *context, uint64_t *count,
                      struct error *e);

/* The models of a search as a text for a file, or as the model section of a sweep. */

/* Appends a [[model]] block. */
void model_section_add_toml(const struct model_search *search, const struct model_pick *pick, struct buffer *out);

/* Appends the names of keys whose values are lists, as TOML: ["tokens"]; nothing when there are none. Where the blocks
 * stand in a sweep file, [sweep] list_values must name them. */
void model_section_add_list_values(const struct model_search *search, struct buffer *out);

/* Puts the models of the search in place of the model section of its sweep, and changes the sweep's hash
 * accordingly. The same models, printed and included, make the same jobs. Fails as model_search_each does, and
 * (ERROR_USAGE) on more models than MODEL_SECTION_MOST. */
#define MODEL_SECTION_MOST 100000
int model_section_fill(struct model_search *search, struct sweep *sweep, uint64_t *count, struct error *e);

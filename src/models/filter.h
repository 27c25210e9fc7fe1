/* A chain of filters decides which candidates are kept; each of them counts what it removes. Presets for the questions
 * asked most; anything else is a filter of the caller's. Pure, as far as the caller's filters are. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "config/model_space.h"
#include "models/base.h"
#include "models/cursor.h"
#include "util/error.h"

struct model_filter {
    const char *name; /* for reports; borrowed */
    /* 1 to keep, 0 to remove, -1 with `e` filled. */
    int (*accepts)(const struct model_filter *f, const struct model_candidate *c, struct error *e);
    void *context;     /* the caller's */
    uint64_t removed;  /* candidates that this filter removed, those before it having kept them */
    size_t key;        /* presets: the stack looked at */
    int64_t low, high; /* presets: bounds, both kept; of a kind, its number */
};

/* Presets fail (ERROR_USAGE) when `space` lacks what they look at. `stack_key` is a position in the space's
 * keys. */

/* Keeps stacks of this many layers. */
int model_filter_fixed_layers(const struct model_space_table *space, size_t stack_key, unsigned layers,
                              struct model_filter *out, struct error *e);

/* Keeps |a - b| / max(a, b) ≤ tolerance, a being the candidate's parameters and b `base`, which is positive.
 * 0 ≤ tolerance < 1. */
struct model_filter model_filter_similar_parameters(int64_t base, double tolerance);

/* Keeps stacks in which all elements of all layers are of one kind: `kind`, or any when NULL. */
int model_filter_uniform_mixer(const struct model_space_table *space, size_t stack_key, const char *kind,
                               struct model_filter *out, struct error *e);

/* Asks the filters in order until one removes the candidate. 1 kept, 0 removed, -1 with `e` filled. */
int model_filters_accept(struct model_filter *filters, size_t count, const struct model_candidate *c, struct error *e);

/* The cursor's next candidate that all filters keep. 1 with `*out` set, 0 after the last, -1 with `e` filled.
 */
int model_filters_next(struct model_filter *filters, size_t count, struct model_cursor *cursor,
                       const struct model_candidate **out, struct error *e);

/* SQL expressions over model candidates. They may read
 *
 *   any key of the candidate   a stack of layers as its JSON text
 *   params, flops              of DHEN models: parameters, and FLOPs of one training sample (models/dhen.h)
 *   layer_count                layers of the only stack, or of a DHEN model's
 *   mixers(), mixers(2), mixers('DOT'), mixers(2, 'DOT')
 *                              elements in all, in layer 2 (from 1; NULL where there is none), of one kind; of the only
 *                              stack or a DHEN model's. A stack's own name is such a function too: tokens(2)
 *   base.KEY, base.params, …   the same of the base model
 *
 * and call pure functions (database/guard.h). A key of the candidate hides another meaning of its name. */

/* An evaluator runs expressions over candidates of the base's table, which must be freed before it. `base` must outlive
 * it. */
struct model_evaluator;
int model_evaluator_open(const struct model_base *base, struct model_evaluator **out, struct error *e);
void model_evaluator_close(struct model_evaluator *evaluator);

struct model_expression;

/* Errors (ERROR_USAGE, one line, no position): an unknown name with a hint, what expression/rewrite.h and
 * database/guard.h refuse, a base that is missing, parameters that are not known. */
int model_expression_compile(struct model_evaluator *evaluator, const char *text, struct model_expression **out,
                             struct error *e);
void model_expression_free(struct model_expression *x);

/* Returns whether it reads the candidate's flops, which must then be counted. */
bool model_expression_reads_flops(const struct model_expression *x);

/* As a filter: keeps the candidates for which the expression is true; `context` is the expression. Fails
 * (ERROR_USAGE) where SQLite cannot compute it. */
int model_expression_accepts(const struct model_filter *f, const struct model_candidate *c, struct error *e);

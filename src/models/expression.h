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
#pragma once

#include "config/model_space.h"
#include "models/base.h"
#include "models/filter.h"

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

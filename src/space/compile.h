/* Expressions of a sweep, resolved against its keys and compiled by SQLite under the guard. */
#pragma once

#include "config/problems.h"
#include "join/combinations.h"
#include "space/space.h"

/* An expression as somebody wrote it. */
struct source_text {
    const char *text;
    enum unknown_names unknown;
    const struct position *at; /* NULL: no place */
    const char *what, *name;   /* for messages: "rule", "batch-divides" */
    const char *otherwise;     /* what an unknown key may have been meant as: "; a duration is …"; NULL: nothing */
};

/* Resolves it and has SQLite compile it under the guard. A problem is added to `problems` as
 * "file:line:column: WHAT `NAME`: …"; returns -1 then. */
int compile_expression(struct space *space, const struct source_text *source, struct expression *out,
                       struct problems *problems);

/* The same for an expression of the command line: the problem is the error (ERROR_USAGE). */
int compile_alone(struct space *space, const struct source_text *source, struct expression *out, struct error *e);

/* After something has failed while combinations were looked at: when an expression is the cause, `e` names it and its
 * place instead (ERROR_USAGE). Returns -1. */
int compile_blame(struct space *space, struct error *e);

/* Returns what unknown names are in an expression written there. */
enum unknown_names unknown_at(const struct space *space, const struct position *at);

/* --- as formulas ---
 *
 * The expressions of a match as formulas (join/formula.h): rules, and everything that a job is made from. */

struct rule_formulas {
    struct formula *whole, **conjuncts; /* false where one of them is: asked one by one */
    size_t count;
};

struct formulas {
    struct rule_formulas *rules;                   /* one per space->rules */
    struct formula *devices, *limits[LIMIT_COUNT]; /* NULL: not given */
    struct formula **derived;                      /* one per names.derived; NULL: not requested */
    struct formula **inert;                        /* one per space->inert */
    struct formula *inputs[INPUT_COUNT];           /* of predictions; NULL: no key */
    bool *is_read;                                 /* per names.keys: for a match */
    struct formula **all;
    size_t count;
};

/* Fills space->formulas, once everything is compiled. */
void formulas_make(struct space *space);
void formulas_free(struct space *space);

struct product space_product(const struct space *space);

/* The rule must not be false; each of rules 0 … count - 1 that is not a warning. */
void formulas_add_rule(const struct space *space, size_t rule, struct constraints *c);
void formulas_add_rules(const struct space *space, size_t count, struct constraints *c);

/* Compiles a filter; NULL for NULL. */
struct formula *formulas_compile_filter(const struct space *space, const struct expression *filter);

/* The expressions of a match as formulas (join/formula.h): rules, and everything that a job is made from. */
#pragma once

#include "join/combinations.h"
#include "space/space.h"

struct rule_formulas {
    struct formula *whole;
    struct formula **conjuncts; /* false where one of them is: asked one by one */
    size_t count;
};

struct formulas {
    struct rule_formulas *rules;                   /* one per space->rules */
    struct formula *devices, *limits[LIMIT_COUNT]; /* NULL: not given */
    struct formula **derived;                      /* one per names.derived; NULL: not requested */
    struct formula **inert;                        /* one per space->inert */
    struct formula *inputs[INPUT_COUNT];           /* of predictions; NULL: no key, or nothing is predicted */
    bool *is_read;                                 /* per names.keys: by one of these but rules, or by a placeholder */
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
void formulas_drop_filter(struct formula *f);

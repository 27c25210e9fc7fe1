/* The join of one shape of each section (join/relations.h) under constraints: how many combinations meet all of them,
 * and which, in the order of rank.
 *
 * Variables are bound one after the other. A constraint cuts as soon as it is false whatever the other keys will be,
 * one that is met is not asked again, and an equality of integers finds the rows of the last variable that it reads.
 * What is left once some variables are bound falls apart into components without a common constraint; those are solved
 * one by one, and each once for all that leaves the same residue of its constraints (join/formula.h). So the cost
 * follows what the constraints tie together, not the product. */
#pragma once

#include "join/evaluator.h"
#include "join/relations.h"
#include "util/hash.h"

struct constraint {
    struct formula *formula; /* borrowed */
    enum demand demand;
};

/* Asked now and then, every millisecond or so, while combinations are counted or the next one is looked for: the rule
 * of the product is being counted, and `share` of that is done, by what is known so far (0: nothing). -1 with `e` ends
 * it. */
struct match_watch {
    int (*look)(void *context, size_t rule, double share, struct error *e);
    void *context;
};

/* Borrowed. */
struct product {
    const struct names *names;
    struct evaluator *evaluator;
    const struct relation *relations; /* by section; without shapes: it is absent */
    const int64_t *counts;            /* specs by section; 0: it is absent */
    const struct match_watch *watch;  /* NULL: none */
    size_t rule;                      /* that it is told */
    /* The combinations that are meant, ascending; NULL: all. */
    const int64_t *ranks;
    size_t rank_count;
    struct specs *const *specs; /* by section; where there are ranks */
};

struct constraints {
    struct constraint *items;
    size_t count;
};

/* `shapes`: by section, NULL where it is absent; copied. All else is borrowed. */
struct solver;
struct solver *solver_create(const struct product *p, const struct section_shape *const *shapes,
                             const struct constraints *c);
void solver_free(struct solver *s);

/* How many combinations meet all constraints. `memory` (NULL: none) has the counts of separate components, and keeps
 * them from one count to the next over the same shapes. With `most` > 0, about so many evaluations are spent before it
 * gives up: 0 then, 1 with `*out`, -1. */
int solver_count(struct solver *s, struct hash_map *memory, int64_t most, int64_t *out, struct error *e);

/* Walks them in the order of rank: the next one, or the first whose numbers of specs are not below `from` (by section;
 * NULL: continue). 1 with the numbers in `specs` (-1 for absent sections), 0, -1. */
int solver_next(struct solver *s, const int64_t *from, int64_t *specs, struct error *e);

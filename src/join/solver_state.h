/* Only for solver*.c: the variables, the order in which they are bound, and what is still open. */
#pragma once

#include "join/solver.h"

#define NONE SIZE_MAX
#define LOOK_EVERY 4096       /* evaluations */
#define LEVELS 8              /* that tell how much is done */
#define MEMORY_MOST (1 << 20) /* components that a tree remembers; others are solved again */

/* Places, or constraints, ascending. */
struct set {
    size_t *items;
    size_t count;
};

/* A variable in its place: sections in order, each with its block first. */
struct variable_place {
    const struct variable *variable;
    enum section_kind section;
    size_t number;   /* in its shape */
    size_t row;      /* that it was bound to last */
    size_t *columns; /* of its keys, those that a constraint reads */
    size_t column_count;
};

/* A place with what is to be bound after it. Its subtree holds a component: what the constraints tie together once the
 * places above it are bound. */
struct branch {
    size_t place;
    struct set children;
    struct set tests;      /* constraints that read the place */
    struct set equalities; /* of them, those that may be solved for a key of the place */
    struct set pending;    /* constraints that read something of the subtree and something above it */
};

struct tree {
    struct branch *branches;
    size_t branch_count;
    struct hash_map memory;
};

/* What is done of the rows of a place, or of the components below it. */
struct progress_level {
    size_t done, all;
};

struct solver {
    const struct product *product;
    const struct section_shape *shapes[SECTION_COUNT];
    struct constraints constraints;
    struct scope scope;
    struct variable_place *places;
    size_t place_count;
    bool *reads;   /* by constraint and place */
    size_t *ranks; /* by place: the lower of a component is bound first */
    struct buffer residue;
    size_t *open; /* constraints that are open, run by run */
    size_t open_room, top;
    int64_t work, most, next_look;        /* evaluations */
    struct progress_level levels[LEVELS]; /* the first of those that are being counted */
    size_t level;
    bool any;     /* one is enough */
    bool stopped; /* out of work, or by an error */
    bool failed;
    struct error *e;
    /* Walking. */
    struct tree walk;
    size_t *branch_of; /* by place; NONE: no constraint reads it */
    bool begun, over;
    bool empty; /* nothing meets the constraints */
};

/* Constraints on s->open, from `first` on. */
struct open_run {
    size_t first, count;
};

/* Rows of a place, ascending. */
struct found_rows {
    const uint32_t *rows; /* NULL: all */
    size_t count;
    size_t solved; /* the equality that leaves these and no others: it is met */
};

bool constraint_reads(const struct constraint *c, size_t key);
bool solver_reads(const struct solver *s, size_t constraint, size_t place);

/* Binds a place to a row, or takes that back; of the keys of an unbound place is known what all its rows have. */
void solver_bind(struct solver *s, size_t place, size_t row);
void solver_release(struct solver *s, size_t place);

/* The component of `from` among the places that are in; takes them out. */
struct set solver_component(const struct solver *s, bool *in, size_t from);

/* Takes the component over; the number of its branch. */
size_t solver_grow(const struct solver *s, struct tree *t, struct set component);
void tree_free(struct tree *t);

/* Under what is bound now. Once s->stopped all fail. */
enum outlook solver_ask(struct solver *s, size_t constraint);

/* Those that read nothing but what never changes. */
bool solver_meets_fixed(struct solver *s);

/* The number of solutions of a component under what is bound; where s->any, whether there is one. */
int64_t solver_solve(struct solver *s, struct tree *t, const struct branch *b);

/* When ask looks next: after LOOK_EVERY, or where the work that it may take is spent. */
void solver_look_later(struct solver *s);

int64_t solver_times(int64_t a, int64_t b); /* INT64_MAX: it does not fit */

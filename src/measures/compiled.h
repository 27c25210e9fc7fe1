/* Internals of struct measures, shared by the files of this floor. */
#pragma once

#include "measures/measures.h"

/* A metric that expressions read, reported, seen or derived: parameter FIRST_INPUT + its place. */
struct measure_input {
    char *name;
    enum own_metric own;                   /* OWN_NONE: only what was reported */
    const struct metric *metric;           /* NULL: not declared */
    const struct derived_measure *derived; /* NULL: it is not */
};

/* Parameters of the statements: specs as JSON, by enum section_kind, from 1 on; then the inputs. */
#define FIRST_INPUT (1 + SECTION_COUNT)

/* One expression, resolved: SQL over parameters and "section"."key". */
struct measure_sql {
    char *sql;
    size_t *inputs; /* into struct measures.inputs, distinct */
    size_t input_count;
    size_t *keys; /* into the space's names.keys, distinct */
    size_t key_count;
    unsigned sections; /* bit per section of these keys */
    struct stmt *value;
};

/* A derived metric, or a condition. */
struct derived_measure {
    const char *text; /* as written; borrowed */
    struct position at;
    const struct metric *metric; /* NULL: a condition */
    size_t input;                /* its place among the inputs, unless it is a condition */
    struct measure_sql whole;
    struct measure_sql left, right; /* of a condition that is one comparison; sql is NULL otherwise */
    bool wants_less;                /* left < right */
    const char **input_names;       /* what it reads in the end, NULL-terminated */
};

struct measures {
    const struct space *space;
    const struct sweep *sweep;
    struct db *private; /* where expressions are evaluated: it has no rows at all */
    struct measure_input *inputs;
    size_t input_count;
    struct derived_measure *metrics; /* in the order of the file: an expression uses those above it */
    size_t metric_count;
    struct derived_measure *constraints; /* as many as the sweep has */
    size_t constraint_count;
};

/* The derived metric of that name; NULL: there is none. */
const struct derived_measure *measures_find(const struct measures *m, const char *name);

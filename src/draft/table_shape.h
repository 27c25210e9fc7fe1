/* A table for which a sweep file is drafted, and its shape, from rows that are no measurements: further lines of a
 * header, a column for each value of a key, sums below the rest. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "metrics/proposals.h"
#include "toml/tree.h"
#include "util/error.h"
#include "util/hash.h"
#include "util/string_list.h"

/* How numbers are written: "1,234.5" or "1.234,5". */
enum notation { DECIMAL_POINT, DECIMAL_COMMA, NOTATION_COUNT };

/* The cells of a column that can be read as numbers in one notation. */
struct read_cells {
    size_t count;
    double last, largest;
};

enum column_role { ROLE_KEY, ROLE_METRIC, ROLE_DURATION, ROLE_STATE, ROLE_LABEL, ROLE_OWN, ROLE_EMPTY, ROLE_COUNT };

struct draft_column {
    char *name;
    char *sql;               /* the name in SQL: in quotes unless it is a plain word */
    char *key;               /* the name as a key, without a tracker's prefix */
    char *rate;              /* the unit of one that the name says: "tokens/s"; NULL: none */
    size_t filled;           /* number of cells that are not empty */
    size_t numbers;          /* those of them that are numbers in either notation */
    size_t absent;           /* those that stand for a missing one */
    char *first;             /* its cell of the first row; NULL: empty */
    size_t begun, fractions; /* cells that begin with a number, and those of them with a point or comma */
    struct read_cells in[NOTATION_COUNT];
    bool has_commas, has_fraction;
    char *marked;                 /* a number with a point or comma, without unit; NULL: there is none */
    enum notation notation;       /* the column's; set by import_draft_settle */
    bool is_guess;                /* all its numbers are valid in both notations; set by import_draft_settle */
    struct string_list units;     /* distinct units of its numbers (" GB", ""), at most UNITS_MOST + 1 */
    struct string_list words;     /* distinct other cells, at most WORDS_MOST + 1 */
    struct hash_index seen;       /* all cells */
    enum column_role role;        /* this and all below: set by plan_columns */
    bool is_promoted;             /* a label that is a key, because nothing else tells rows apart */
    const char *called;           /* its own key, or the tool's name for it */
    char *metric;                 /* ROLE_METRIC: its name */
    struct proposal_list by_name; /* ROLE_METRIC: what name or unit say of it; empty: nothing */
    bool higher_is_better;
};

struct import_draft {
    struct draft_column *columns;
    size_t count, rows;
    bool is_export;   /* of meshsweep */
    size_t state;     /* the column that says how rows ended; none: `count`, as of the next */
    size_t guessed;   /* devices of a row that are taken for those of a host */
    bool has_repeats; /* rows differ in labels alone */
    char **cells;     /* of the first rows, one after the other; NULL: empty */
    size_t cell_count;
    struct string_list sums; /* words such as "mean" in the last rows */
    size_t sum_column;       /* where they stand; as many as there are columns: there are none */
    bool has_sums_within;    /* rows of such words stand above others too */
};

/* -1 (ERROR_USAGE): the columns are named by values, or not at all; says what to do. */
int table_shape_check_names(const char *const *columns, size_t count, struct error *e);

/* Takes a row as import_draft_add does, before it. */
void table_shape_add(struct import_draft *d, const char *const *cells);

/* -1 (ERROR_USAGE) where the rows are to be made others first, and says how. */
int table_shape_check(const struct import_draft *d, struct error *e);

/* Returns whether rows sum up the others: those with one of `sums` in `sum_column`. */
bool table_shape_has_sums(const struct import_draft *d);

/* What the table of that name in [table] of configs/knowledge/words.toml ("states") says of a word, however
 * capitalised; NULL: nothing. */
const struct toml_node *table_word(const char *table, const char *word);

/* The columns of an undescribed table: what their cells contain, and what each column seems to be. */
#ifndef MESHSWEEP_DRAFT_TABLE_COLUMNS_H
#define MESHSWEEP_DRAFT_TABLE_COLUMNS_H

#include <stdbool.h>

#include "config/sweep.h"
#include "draft/table_draft.h"
#include "metrics/proposals.h"
#include "util/hash_set.h"
#include "util/string_list.h"

#define WORDS_MOST 12 /* most different texts in a column of states */
#define UNITS_MOST 6
#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* How numbers are written: "1,234.5" or "1.234,5". */
enum notation { DECIMAL_POINT, DECIMAL_COMMA, NOTATION_COUNT };

/* The cells of a column that can be read as numbers in one notation. */
struct read_cells {
    size_t count;
    double last, largest;
};

struct draft_column {
    char *name;
    char *key;      /* the name as a key, without a tracker's prefix */
    char *rate;     /* the unit of one that the name says: "tokens/s"; NULL: none */
    size_t filled;  /* number of cells that are not empty */
    size_t numbers; /* those of them that are numbers in either notation */
    struct read_cells in[NOTATION_COUNT];
    bool has_commas, has_fraction;
    char *marked;             /* a number with a point or comma, without unit; NULL: there is none */
    enum notation notation;   /* the column's; set by import_draft_settle */
    bool is_guess;            /* all its numbers are valid in both notations; set by import_draft_settle */
    struct string_list units; /* distinct units of its numbers (" GB", ""), at most UNITS_MOST + 1 */
    struct string_list words; /* distinct other cells, at most WORDS_MOST + 1 */
    struct hash_set seen;     /* all cells */
};

struct import_draft {
    struct draft_column *columns;
    size_t count, rows;
    char **cells; /* of the first rows, one after the other; NULL: empty */
    size_t cell_count;
};

enum column_role { ROLE_KEY, ROLE_METRIC, ROLE_DURATION, ROLE_STATE, ROLE_LABEL, ROLE_EMPTY };

/* Decides the notation of each column, after all rows were added. If its cells are ambiguous, other columns decide. */
void import_draft_settle(struct import_draft *d);

/* The role of column `i`; column `state` says how rows ended. If name or unit identify a metric, `*metric` describes it
 * as for a line of a log; else it is empty. proposal_list_free frees it. */
enum column_role column_role(const struct import_draft *d, size_t i, size_t state, struct proposal_list *metric);

/* Makes labels keys (ROLE_KEY) as long as they tell rows apart that no key does. Where other keys do so, ids, names and
 * dates stay labels: rows that differ in nothing else are repeats. Returns whether there are such rows. */
bool columns_tell_rows_apart(const struct import_draft *d, enum column_role *roles, bool *promoted);

/* How many of the first rows give a whole number of devices per host, at least one, of devices in one column, or in the
 * product of several, and hosts in another. */
struct device_columns {
    const struct draft_column *devices[4];
    size_t count;
    const struct draft_column *hosts;
};
bool columns_divide(const struct import_draft *d, const struct device_columns *c);

/* The column of words that says how each row ended; one with such a name takes precedence over one with such words.
 * d->count if there is none. */
size_t state_column(const struct import_draft *d);

/* The outcome that a table's word means: "ok" or a failure class, "" if not ended; NULL: a person has to say. */
const char *outcome_of_word(const char *word);

/* Whether the column has numbers in one unit or in units of one kind; words may stand for missing numbers. */
bool column_is_numeric(const struct draft_column *c);

/* The column's unit: the first of its units, "" for none. */
const char *column_unit(const struct draft_column *c);

/* The factor from `unit` to the column's unit; false if they are not of one kind. */
bool column_unit_factor(const struct draft_column *c, const char *unit, double *out);

/* Whether its name says that higher is better. */
bool column_is_gain(const struct draft_column *c);

/* The section that it belongs to as a key. */
enum section_kind column_section(const struct draft_column *c);

#endif

/* The columns of a table that nobody has described: what their cells are, and what each column seems to be. */
#ifndef MESHSWEEP_DRAFT_TABLE_COLUMNS_H
#define MESHSWEEP_DRAFT_TABLE_COLUMNS_H

#include <stdbool.h>

#include "config/sweep.h"
#include "draft/table_draft.h"
#include "metrics/proposals.h"
#include "util/hash_set.h"
#include "util/string_list.h"

#define WORDS_MOST 12 /* different texts that a column of states has at most */
#define UNITS_MOST 6
#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* How numbers are written: "1,234.5" or "1.234,5". */
enum notation { DECIMAL_POINT, DECIMAL_COMMA, NOTATION_COUNT };

/* The cells of a column that are numbers in one notation. */
struct read_cells {
    size_t count;
    double last, largest;
};

struct draft_column {
    char *name;
    char *key;      /* the name as a key, without what a tracker puts before it */
    size_t filled;  /* cells */
    size_t numbers; /* of them, in one notation or the other */
    struct read_cells in[NOTATION_COUNT];
    bool has_commas, has_fraction;
    char *marked;             /* a number with a point or a comma, without its unit; NULL: none has */
    enum notation notation;   /* import_draft_settle: that of the column */
    bool is_guess;            /* import_draft_settle: all its numbers are some in the other one as well */
    struct string_list units; /* behind its numbers, each once, up to one more than UNITS_MOST: " GB", "" */
    struct string_list words; /* other cells, each once, up to one more than WORDS_MOST */
    struct hash_set seen;     /* all cells */
};

struct import_draft {
    struct draft_column *columns;
    size_t count, rows;
};

enum column_role { ROLE_KEY, ROLE_METRIC, ROLE_DURATION, ROLE_STATE, ROLE_LABEL, ROLE_EMPTY };

/* Once all rows are there: in which notation each column is. What its own cells leave open, the others' say. */
void import_draft_settle(struct import_draft *d);

/* What the i-th column is, where the `state`-th says how rows ended. Of a metric that its name or unit tell, `*metric`
 * has what they tell, as of a line of a log; else it is empty. proposal_list_free. */
enum column_role column_role(const struct import_draft *d, size_t i, size_t state, struct proposal_list *metric);

/* The column of words that says how each row ended: one that is named so before one that has such words; the count:
 * none does. */
size_t state_column(const struct import_draft *d);

/* What tables call an end: "ok" or a failure class, "" of what has not ended; NULL: it has to be said. */
const char *outcome_of_word(const char *word);

/* Of numbers in one unit, or in units of one kind, but for words in their place where there is none. */
bool column_is_numeric(const struct draft_column *c);

/* What its numbers are in: the first of its units, "" for none. */
const char *column_unit(const struct draft_column *c);

/* What the unit is in that of the column; false: they are not of one kind. */
bool column_unit_factor(const struct draft_column *c, const char *unit, double *out);

/* Whether its name is of what is better higher. */
bool column_is_gain(const struct draft_column *c);

/* Where it goes as a key. */
enum section_kind column_section(const struct draft_column *c);

#endif

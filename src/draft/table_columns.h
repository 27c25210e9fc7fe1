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
#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* How the numbers of a column are written: "1234.5", "1,234.5", "1234,5". */
enum spelling { PLAIN, GROUPED, DECIMAL_COMMA, SPELLING_COUNT };

struct draft_column {
    char *name;
    char *key;                      /* the name as a key, without what a tracker puts before it */
    size_t filled;                  /* cells */
    size_t numbers[SPELLING_COUNT]; /* of them, by how they are written */
    bool has_fraction;
    char *number; /* the last one, without its unit; NULL: none */
    double largest;
    char *unit;               /* " GB" behind every number; "": none; NULL: no numbers */
    bool has_units;           /* more than one */
    struct string_list words; /* other cells, each once, up to one more than WORDS_MOST */
    struct hash_set seen;     /* all cells */
};

struct import_draft {
    struct draft_column *columns;
    size_t count, rows;
};

enum column_role { ROLE_KEY, ROLE_METRIC, ROLE_DURATION, ROLE_STATE, ROLE_LABEL, ROLE_EMPTY };

/* What the i-th column is, where the `state`-th says how rows ended. Of a metric that its name or unit tell, `*metric`
 * has what they tell, as of a line of a log; else it is empty. proposal_list_free. */
enum column_role column_role(const struct import_draft *d, size_t i, size_t state, struct proposal_list *metric);

/* The column of words that says how each row ended: one that is named so before one that has such words; the count:
 * none does. */
size_t state_column(const struct import_draft *d);

/* What tables call an end: "ok" or a failure class, "" of what has not ended; NULL: it has to be said. */
const char *outcome_of_word(const char *word);

/* How many of its cells are numbers. */
size_t column_numbers(const struct draft_column *c);

/* Of numbers in one unit, but for words in their place where there is none. */
bool column_is_numeric(const struct draft_column *c);

/* Whether its name is of what is better higher. */
bool column_is_gain(const struct draft_column *c);

/* Where it goes as a key. */
enum section_kind column_section(const struct draft_column *c);

#endif

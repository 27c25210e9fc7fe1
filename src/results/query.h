/* Queries of the view `results` (results/views.h), in terms of its columns. */
#pragma once

#include "database/db.h"
#include "util/buffer.h"

/* A question about results. Everything borrowed for the length of the call. */
struct result_query {
    const char *where;          /* an SQL condition over the columns, somebody's; NULL: none */
    const char *sort;           /* a column, by default ascending, or "COLUMN:desc" or "COLUMN:asc"; NULL: by job */
    const char *columns;        /* names with commas between them; NULL: all */
    const char *columns_option; /* what messages call `columns`; NULL: "--columns" */
    const char *state;          /* jobs in this state; NULL: any */
    int64_t limit;              /* rows at most; 0: all */
    bool every_sweep;           /* not only jobs of the current one */
    bool is_table;              /* `results` is of no sweep and no database of ours: rows by their `number` */
    size_t width;               /* of a table for a terminal, whose columns are left out until it fits; 0: all stay */
    bool units;                 /* csv, tsv and xlsx: a second header has them */
    bool means;                 /* a row per configuration ([sweep] replicate): metrics are means over its ok jobs */
    bool brief; /* without `columns`: leave out what people rarely look at (key, files, times) and the keys
                              of which all specs have the same value */
};

/* A statement that gives the rows; rows without a value in the sort column come last. ERROR_USAGE for a column that
 * is not there, with a hint, and for a condition that guard_check_where refuses; ERROR_NOTHING when no sweep has been
 * recorded yet. A condition that takes too long ends the statement with an error. */
int result_query_open(struct db *db, const struct result_query *q, struct stmt **out, struct error *e);

/* The name of the first objective as a column of `results`; NULL where the current sweep has none. The caller's. */
char *result_objective(struct db *db);

/* One row per job and metric instead: job, key, state, metric, unit, samples, value, mean, median, minimum, maximum,
 * stddev, p90; by job, then metric. `columns`, `sort` and `limit` do not count. */
int result_query_open_long(struct db *db, const struct result_query *q, struct stmt **out, struct error *e);

enum unit_form {
    UNITS_SHOWN, /* of metrics, with the counter and rank of one of memory */
    UNITS_BARE,  /* without these */
    UNITS_ALL,   /* as shown, and of the view's own columns */
};

/* The types that SQLite does not have. */
enum key_type {
    KEY_AS_IT_IS,
    KEY_TRUTH, /* 1 or 0 */
    KEY_JSON,  /* text: a list or table */
    KEY_OTHER, /* a float with all digits: two jobs may differ in the last */
};

struct result_column {
    char *name, *unit; /* unit NULL: none */
    enum key_type type;
};

/* The columns of `s`, and one without a name after them; with `has_keys` those named like keys are keys, of the types
 * that the specs of the database give them. `*out` is the caller's: result_columns_free. */
int result_columns(struct db *db, const struct stmt *s, enum unit_form form, bool has_keys, struct result_column **out,
                   struct error *e);
void result_columns_free(struct result_column *columns);

/* --- a part of the jobs as a sweep file --- */

/* Appends the text of the current sweep's file with a rule added that keeps the jobs of the query (its `where` and
 * `state`) and no other: run, they are the same jobs. ERROR_NOTHING when there is none, ERROR_FAILED when the rule
 * would be longer than SQLite takes. */
int subset_add_toml(struct db *db, const struct result_query *q, struct buffer *out, struct error *e);

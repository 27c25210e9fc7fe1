/* The evaluator has SQLite work out parts of expressions (join/formula.h): over keys that are bound, each once for
 * equal values as far as there is room to remember. */
#pragma once

#include "database/db.h"
#include "join/formula.h"

/* A column of the row at hand, whose text is borrowed from it; and a value as SQLite takes it. */
struct datum datum_of_column(const struct stmt *s, int column);
struct sql_value datum_sql(const struct datum *d);

/* A piece of an expression that SQLite works out. */
struct sql_part {
    char *sql;
    size_t *keys; /* indices into names.keys, distinct */
    size_t key_count;
    struct stmt *select;    /* NULL: not prepared yet */
    uint64_t number;        /* of those that are */
    char *text;             /* of the last result; NULL: it was none */
    struct hash128 text_of; /* the part and the values of its keys */
};
void sql_part_free(struct sql_part *part);

struct evaluator;

/* The keys of a section that are columns of its table, in `columns`; appends ", " and the name of each to `sql`. SQLite
 * compares names of columns without regard to case: of two such keys, which are a problem already, the first is there
 * for what else is to be checked. */
void section_columns(const struct names *n, enum section_kind section, size_t *columns, struct buffer *sql);

/* `names` and `db` are borrowed; makes tables "#bound SECTION" in `db`, with what is bound as their one row.
 * Formulas that were asked with it are freed before the database is closed. */
int evaluator_create(const struct names *names, struct db *db, struct evaluator **out, struct error *e);
void evaluator_free(struct evaluator *v);

/* Works a part out whose keys are all known; a text is borrowed until the next call for the same part. After a failure
 * it is NULL, until evaluator_failed was asked. */
struct datum evaluator_work_out(const struct scope *s, struct sql_part *part);

/* Returns whether something has failed since the last call: then `e` says what, as guard_next does, and the keys that
 * were bound stay so for evaluator_fails. */
bool evaluator_failed(struct evaluator *v, struct error *e);

/* How often SQLite was asked since the last call. */
int64_t evaluator_take_count(struct evaluator *v);

/* Returns whether the SQL of an expression fails with what was bound when something failed last; never when it reads
 * more. `why` is what SQLite says. */
bool evaluator_fails(struct evaluator *v, const char *sql, struct error *why);

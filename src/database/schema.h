/* The check of whether a database has the tables, indexes, triggers and views that meshsweep makes, and what it has
 * besides.
 *
 * A file may come from anywhere. A trigger runs on what we write, a view or a generated column answers in place of what
 * was recorded, an index or a check can refuse what we write. A person's own tables, views and plain indexes do nothing
 * of the kind and are left alone. */
#pragma once

#include "database/db.h"
#include "util/buffer.h"
#include "util/hash.h"
#include "util/memory.h"

enum schema_state {
    SCHEMA_MISSING = 1,
    SCHEMA_CHANGED, /* it is there and says something else */
    SCHEMA_FOREIGN, /* not meshsweep's, and can change what is recorded or answered */
};

struct schema_part {
    enum schema_state state; /* 0: no difference */
    const char *type;        /* table, index, trigger, view */
    const char *name;
    const char *table; /* that it belongs to */
    const char *sql;   /* of a difference as it should be; NULL: it should not be, or is a view */
    int64_t row;       /* in sqlite_schema; 0: missing */
};

struct schema_parts {
    struct schema_part *items;
    size_t count;
    struct arena arena; /* of these, and their texts */
};

void schema_parts_free(struct schema_parts *p);

/* Lists each difference from what the migrations up to `version` make, or for views from what was noted last. `out` is
 * zeros before, and the caller's, also on -1. */
int schema_compare(struct db *db, int64_t version, struct schema_parts *out, struct error *e);

/* "trigger evil on metric", "view results (changed)". The caller's. */
char *schema_describe(const struct schema_part *d);

/* Returns whether a missing part of that type can be made without losing anything: a table's rows would be gone. */
bool schema_can_be_made(const char *type);

/* -1 naming what is changed or foreign, with what to do; views only if `views`: a writer makes those again. What is
 * missing is for `check` to say. Fast where there is nothing: a sum over the schema, no row is read. */
int schema_check(struct db *db, int64_t version, bool views, struct error *e);

/* Finds whether the schema is the one whose sum the program has and, if `views`, these are as noted. `sum` gets its
 * sum. */
int schema_is_known(struct db *db, bool views, char sum[HASH_HEX_BYTES], bool *yes, struct error *e);

/* Brings what is changed or foreign back to what meshsweep makes, in one transaction, and adds what that was to
 * `restored`. Views that are not as noted are dropped, to be made again. Rows stay; a table whose columns are others in
 * number or order is refused, as is a file that SQLite finds damaged. `db` is open for writing; its schema may be such
 * that SQLite cannot read it (schema_tolerate). */
int schema_restore(struct db *db, int64_t version, struct string_list *restored, struct error *e);

/* If SQLite cannot read part of the schema, so that every statement fails, that part is passed over from now on. */
void schema_tolerate(struct db *db);

/* Returns SQLite's reason: "malformed database schema (results) - near ..."; NULL: nothing. Borrowed. */
const char *schema_problem(const struct db *db);

/* Notes the views of the program as they are now: their maker calls it in the same transaction. */
int schema_note_views(struct db *db, struct error *e);

/* Finds whether the views are as they were noted; false where nothing is noted. */
int schema_views_are_noted(struct db *db, bool *yes, struct error *e);

/* Drops an index or trigger of the schema, so that rows can be put in faster; `*sql` gets what makes it again, the
 * caller's. */
int schema_take_part(struct db *db, const char *type, const char *name, char **sql, struct error *e);

/* --- examples --- */

/* The first few of many items, for a sentence: "job 1, job 2, ...". */

struct examples {
    struct buffer text;
    int64_t count; /* of all */
};

#define EXAMPLES_INIT ((struct examples){BUFFER_INIT, 0})

void examples_add(struct examples *x, const char *example);
void examples_free(struct examples *x);

/* The first column of every row. */
int examples_query(struct db *db, const char *sql, struct examples *x, struct error *e);

/* -1 where `PRAGMA integrity_check` has rows that are worse than an index that has to be made again and than values
 * that the other questions see to. */
int schema_refuse_damaged(struct db *db, struct error *e);

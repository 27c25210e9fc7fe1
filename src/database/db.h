/* SQLite behind a narrow door: the only floor that includes sqlite3.h.
 *
 * Every function that can fail returns -1 with `e` filled. Statements are prepared, bound and checked; results are
 * read with `while ((rc = stmt_next(s, e)) > 0)`, then `rc < 0`. Text and blobs returned by column getters are
 * borrowed until the next stmt_next, stmt_reset or stmt_free. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "database/value.h"
#include "util/error.h"
#include "util/string_list.h"

struct db;
struct stmt;

enum db_mode {
    DB_TEMPORARY = 1, /* private, gone when closed, spills to a temporary file when large; `path` is ignored */
    DB_CREATE,        /* read and write, made when missing */
    DB_READ_ONLY,     /* never blocks a writer; SQLite may leave an empty write-ahead log where there was none */
    DB_READ_CLEANLY,  /* the same, and leaves no file; must be allowed to write the file and its directory */
    DB_READ_FROZEN,   /* for a place where nobody can write: takes no locks and needs no file beside it */
};

/* Opens without looking at the schema. Double-quoted strings are off, foreign keys on, busy timeout 10 s; what the file
 * itself defines is not trusted (PRAGMA trusted_schema), and SQLite's defensive mode is on. */
int db_open(const char *path, enum db_mode mode, struct db **out, struct error *e);

/* Opens a file in the same way once more: one connection serves one thread. */
int db_open_again(const struct db *db, struct db **out, struct error *e);
void db_close(struct db *db);

/* Runs statements that return nothing of interest. */
int db_exec(struct db *db, const char *sql, struct error *e);

/* The same, of one statement with its values. The last few of these and of the queries below are kept once they have
 * come to their end or were released, and run again without being compiled: views, and a table's triggers, are compiled
 * with what uses them, which takes far longer than to read or write a row. */
int db_run(struct db *db, const char *sql, struct sql_values values, struct error *e);

/* The same of an INSERT; `*id` gets the row's. */
int db_insert(struct db *db, const char *sql, struct sql_values values, int64_t *id, struct error *e);

/* One value of one row, or `absent` when there is no row. */
int db_query_int(struct db *db, const char *sql, struct sql_values values, int64_t absent, int64_t *out,
                 struct error *e);

/* Finds whether there is a row and its first column is true. */
int db_query_bool(struct db *db, const char *sql, struct sql_values values, bool *out, struct error *e);

/* The text in its first column: the caller's, NULL when there is no row or it holds NULL. */
int db_query_text(struct db *db, const char *sql, struct sql_values values, char **out, struct error *e);

/* Adds the first column of every row. */
int db_query_texts(struct db *db, const char *sql, struct sql_values values, struct string_list *out, struct error *e);

/* The first or next row of a query, as stmt_next: `*s` is NULL before the first and after the last, or -1. Who leaves
 * earlier frees it. */
int db_next(struct db *db, const char *sql, struct sql_values values, struct stmt **s, struct error *e);

/* Reads between these two are as of one moment, despite others' writes; they nest. */
int db_read_begin(struct db *db, struct error *e);
void db_read_end(struct db *db);

/* Write transactions: BEGIN IMMEDIATE, refused where the log was cut (database/log_watch.h). A failed commit has been
 * rolled back. */
int db_begin(struct db *db, struct error *e);

/* As db_begin, which waits 10 s for another program that writes, but for a moment only: then `*begun` is false. */
int db_try_begin(struct db *db, bool *begun, struct error *e);

/* Waits a minute for readers, who hold a commit up where the journal is a rollback journal. Also -1 when the file was
 * deleted or replaced under the writer; what it held is saved beside it then. */
int db_commit(struct db *db, struct error *e);

/* As db_commit, which waits for readers, but for a moment only: then `*committed` is false and the transaction stands,
 * to be committed later or rolled back. */
int db_try_commit(struct db *db, bool *committed, struct error *e);
void db_rollback(struct db *db);

/* db_commit of what went well (`rc` 0), db_rollback of what did not. -1 unless both did. */
int db_end(struct db *db, int rc, struct error *e);

/* Copies from the log to the file what no reader keeps there; waits for nobody. */
void db_checkpoint(struct db *db);

/* The same, and cuts the log to nothing where no reader needs it. Outside of transactions. What a transaction that was
 * rolled back has left in the log would be written to the disk with the next commit: it goes where the log was cut
 * before that transaction as well. */
void db_cut_log(struct db *db);

/* Until it is called with NULL: once `*stop` is true, whatever runs fails within milliseconds, as does what follows. */
void db_heed_stop(struct db *db, const atomic_bool *stop);

/* "3.40.1": SQLite's, as linked. */
const char *db_library_version(void);

/* Returns whether SQLite's grammar has that word. */
bool db_is_keyword(const char *word);

/* Sets whether rows that refer to others are checked (they are when a database is opened). Not to be switched off while
 * what is referred to may be deleted: for a load that gets its references from the database itself, where the checks
 * take half of the time. */
void db_check_references(struct db *db, bool yes);

/* Sets whether statements may write to sqlite_schema after PRAGMA writable_schema, as migrations do; not when
 * opened. */
void db_allow_schema_edits(struct db *db, bool yes);

/* Lets temporary tables and views be made beside a database that was opened for reading. */
int db_allow_temporary(struct db *db, struct error *e);

/* How much of the file is kept in memory, and how much is sorted at once. */
#define DB_CACHE_KIB 32768 /* whatever the number of jobs */
/* So much is sorted at once, too: what fits into a processor's cache is sorted fastest, and what follows on what went
 * before needs no more. */
#define DB_LOADING_CACHE_KIB 2048
void db_set_cache(struct db *db, int kib);

int64_t db_last_id(struct db *db);
int64_t db_changes(struct db *db);

int db_prepare(struct db *db, const char *sql, struct stmt **out, struct error *e);
struct buffer;
int db_prepare_built(struct db *db, struct buffer *sql, struct stmt **out, struct error *e); /* the same; frees `sql` */
int db_query(struct db *db, const char *sql, struct sql_values values, struct stmt **out,
             struct error *e); /* the same, with the values of its parameters */
void stmt_free(struct stmt *s);
/* A local one, which is released where its scope ends: `OWNED_STMT *s = NULL;` */
#define OWNED_STMT __attribute__((cleanup(stmt_release))) struct stmt
void stmt_release(struct stmt **at);

/* Parameters count from 1; stmt_bind binds the first ones. Bytes are copied. They cannot fail but for memory, which
 * aborts. */
void stmt_bind(struct stmt *s, struct sql_values values);
void stmt_bind_at(struct stmt *s, int index, struct sql_value value);
const char *stmt_parameter_name(const struct stmt *s, int index); /* ":name"; NULL behind the last */

/* 1: a row; 0: done (and reset); -1. */
int stmt_next(struct stmt *s, struct error *e);
void stmt_reset(struct stmt *s);

/* Runs a statement that returns no rows to its end and resets it. */
int stmt_run(struct stmt *s, struct error *e);
int stmt_run_with(struct stmt *s, struct sql_values values, struct error *e); /* the same, with these values */

int stmt_column_count(const struct stmt *s);
const char *stmt_column_name(const struct stmt *s, int column);
enum column_type stmt_type(const struct stmt *s, int column);
bool stmt_is_null(const struct stmt *s, int column);
int64_t stmt_int(const struct stmt *s, int column);
double stmt_double(const struct stmt *s, int column);
double stmt_double_or_nan(const struct stmt *s, int column); /* NAN for NULL and for text, which 'NaN' is */
/* NULL for NULL. Like all that is copied here, a text or blob that there is no memory for ends the program. */
const char *stmt_text(const struct stmt *s, int column);
char *stmt_copy_text(const struct stmt *s, int column);                        /* the caller's; NULL for NULL */
char *stmt_copy_text_or(const struct stmt *s, int column, const char *absent); /* `absent` for NULL; the caller's */
const void *stmt_blob(const struct stmt *s, int column);
/* The 16 bytes of a hash; zeros where the value is shorter, which no check of a table lets in, but a hand can write. */
const void *stmt_hash(const struct stmt *s, int column);
size_t stmt_bytes(const struct stmt *s, int column);

#include "database/db.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database/log_watch.h"
#include "database/samples.h"
#include "database/sqlite.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/shell.h"

#define BUSY_TIMEOUT_MS 10000
#define STEPS_BETWEEN_LOOKS 1000 /* of SQLite; some 10 us */
#define MOMENT_MS 100
#define COMMIT_TRIES 6 /* of BUSY_TIMEOUT_MS each: what would be lost took longer to make than to wait for */

/* Advice on what a person can do about a result code. */
static const struct {
    int code;
    const char *advice;
} advice_table[] = {
    {SQLITE_FULL, "the disk is full; free some space and start again: nothing recorded is lost"},
    {SQLITE_READONLY, "it cannot be written; check the permissions of the file and its directory"},
    {SQLITE_NOTADB, "it is not a SQLite database; name another file with -d"},
    {SQLITE_CORRUPT, "the database is damaged, or the disk reported an error: `meshsweep check -d FILE` says what is "
                     "wrong, sqlite3 FILE "
                     ".recover | sqlite3 NEW saves what can be read"},
    {SQLITE_CANTOPEN, "it cannot be opened; check that the file and its directory exist and may be read"},
    {SQLITE_BUSY, "another program has locked it; close that program and start again"},
    {SQLITE_IOERR, "the disk reported an error; check the file system and start again: nothing recorded is lost"},
    {SQLITE_PROTOCOL, "it could not be locked; check the file system and start again: nothing recorded is lost"},
    {SQLITE_INTERRUPT, "it would take too long; ask for less"},
    {SQLITE_TOOBIG, "an expression works on texts of 64 KiB at most"},
    {SQLITE_SCHEMA, "another program changed its tables"},
};

const char *db_advice(int code)
{
    return FIND(i, LENGTH(advice_table), advice_table[i].code == (code & 0xff), advice_table[i].advice);
}

/* SQLite takes these for errors of the disk. */
static const char *advice_of_errno(int number)
{
    return number == ENOSPC ? db_advice(SQLITE_FULL)
           : number == EDQUOT
               ? "the quota of the disk is reached; free some space and start again: nothing recorded is lost"
           : number == EFBIG
               ? "its file may not grow any further; raise the limit (ulimit -f) and start again: nothing "
                 "recorded is lost"
               : NULL;
}

int db_error(struct db *db, struct error *e)
{
    const int whole = sqlite3_errcode(db->handle), code = whole & 0xff;
    /* SQLite keeps it for some calls only, and makes none that sets it between a write that failed and here. */
    const bool has_errno = code == SQLITE_IOERR && whole != SQLITE_IOERR_SHORT_READ;
    const char *of_errno = has_errno ? advice_of_errno(errno) : NULL;
    const char *advice = of_errno ? of_errno : db_advice(code);
    /* A cut log looks like one of these. */
    if (!of_errno && (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_IOERR) &&
        log_watch_check(db, true, e) < 0)
        return -1;
    /* One in memory is there for the expressions of a sweep file. */
    const char *where = db->path ? "database " : "an expression failed", *name = db->path ? db->path : "";
    OWNED char *named = shell_fill_file(advice ? advice : "", name);
    return error_set(e, ERROR_FAILED, "%s%s: %s%s%s", where, name, sqlite3_errmsg(db->handle), advice ? ": " : "",
                     named);
}

/* Counts of memory that nobody reads cost every allocation a lock. Refused, and no harm, where SQLite is in use
 * already: a library of this process may be. */
static void configure_library(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static void configure(sqlite3 *handle)
{
    /* A misspelt column in double quotes must not silently become a string. */
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, (int *)NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_FKEY, 1, (int *)NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, (int *)NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    sqlite3_extended_result_codes(handle, 1);
    sqlite3_busy_timeout(handle, BUSY_TIMEOUT_MS);
}

/* A CHECK is not looked at where the file may not be written, so a generated column is tried. Compiled, not run. */
static bool has_harmless_json(sqlite3 *handle)
{
    sqlite3_stmt *s = NULL;
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
    bool has = sqlite3_prepare_v2(handle, "CREATE TABLE probe (x, y AS (json_valid(x)))", -1, &s, NULL) == SQLITE_OK ||
               !strstr(sqlite3_errmsg(handle), "unsafe use of json_valid");
    sqlite3_finalize(s);
    return has;
}

/* A file may come from anywhere, and so may its views, checks and triggers: they get no function that could do more
 * than compute. Our own checks need JSON's, which some releases of SQLite (3.40) do not count among these: there the
 * file gets all that SQLite has, which holds nothing worse while extensions are off; functions of ours are for private
 * connections, but for one that is as harmless. */
static void distrust_schema(sqlite3 *handle)
{
    /* The schema is read first, and once; where it cannot be read, a private database is asked. */
    sqlite3 *private = NULL;
    bool is_read = sqlite3_exec(handle, "SELECT 1 FROM sqlite_schema LIMIT 0", NULL, NULL, NULL) == SQLITE_OK;
    if (!is_read)
        sqlite3_open_v2(":memory:", &private, SQLITE_OPEN_READWRITE, NULL);
    bool harmless = has_harmless_json(is_read || !private ? handle : private);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, (int)!harmless, (int *)NULL);
    sqlite3_close_v2(private);
}

/* Returns the name that SQLite is given to open. Absolute, so that no file name means anything else to it (":memory:",
 * "file:…"). */
static char *file_name(const char *path, enum db_mode mode)
{
    if (mode == DB_TEMPORARY)
        return xstrdup("");
    char *absolute = path_absolute(path);
    char *plain = absolute[0] == '/' ? absolute : xasprintf("./%s", absolute);
    struct buffer uri = BUFFER_INIT;
    if (plain != absolute)
        free(absolute);
    if (mode != DB_READ_FROZEN)
        return plain;
    buffer_add_text(&uri, "file:");
    for (const char *p = plain; *p; p++)
        buffer_printf(&uri, strchr("%?#", *p) ? "%%%02X" : "%c", (unsigned char)*p);
    buffer_add_text(&uri, "?immutable=1");
    free(plain);
    return buffer_take(&uri);
}

static int explain_open(struct db *db, size_t name_length, struct error *e)
{
    enum { MOST_BESIDE = 8 }; /* "-journal" */
    const size_t most = (size_t)sqlite3_vfs_find(NULL)->mxPathname - MOST_BESIDE;
    if (sqlite3_errcode(db->handle) == SQLITE_NOMEM || name_length <= most)
        return db_error(db, e);
    return error_set(e, ERROR_FAILED,
                     "database %s: its path has %zu bytes, and SQLite opens those of at most %zu; name one with a "
                     "shorter path with -d",
                     db->path, name_length, most);
}

int db_open(const char *path, enum db_mode mode, struct db **out, struct error *e)
{
    static const int flags[] = {
        [DB_TEMPORARY] = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
        [DB_CREATE] = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
        [DB_READ_ONLY] = SQLITE_OPEN_READONLY,
        [DB_READ_CLEANLY] = SQLITE_OPEN_READWRITE,
        [DB_READ_FROZEN] = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
    };
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct db *db = xcalloc(1, sizeof *db);
    pthread_once(&once, configure_library);
    db->lock = db->file_lock = -1;
    db->log_files = (struct watched_files){-1, -1};
    db->mode = mode;
    db->path = mode == DB_TEMPORARY ? NULL : xstrdup(path);
    OWNED char *name = file_name(path, mode);
    int rc = sqlite3_open_v2(name, &db->handle, flags[mode] | SQLITE_OPEN_NOMUTEX, NULL);
    const size_t name_length = strlen(name);
    if (rc != SQLITE_OK) {
        explain_open(db, name_length, e);
        db_close(db);
        return -1;
    }
    configure(db->handle);
    samples_add_function(db);
    if (functions_add(db, e) < 0) {
        db_close(db);
        return -1;
    }
    if (mode != DB_TEMPORARY)
        distrust_schema(db->handle);
    if (mode == DB_READ_CLEANLY)
        sqlite3_exec(db->handle, "PRAGMA query_only = 1", NULL, NULL, NULL);
    *out = db;
    return 0;
}

int db_open_again(const struct db *db, struct db **out, struct error *e)
{
    return db_open(db->path, db->mode, out, e);
}

/* The recorded tables are still not written: no caller asks for that. */
int db_allow_temporary(struct db *db, struct error *e)
{
    return db_exec(db, "PRAGMA query_only = 0", e);
}

void db_close(struct db *db)
{
    if (!db)
        return;
    for (size_t i = 0; i < DB_STATEMENTS_KEPT; i++)
        stmt_free(db->kept[i]);
    sqlite3_close_v2(db->handle);
    log_watch_end(db);
    free_all(db->schema_problem, db->processor_limit, db->allowance, db->path, db);
}

int db_exec(struct db *db, const char *sql, struct error *e)
{
    if (sqlite3_exec(db->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        return db_error(db, e);
    return 0;
}

/* The statement of that text that is kept, which is the caller's then. NULL: there is none. */
static struct stmt *take_kept(struct db *db, const char *sql)
{
    for (size_t i = 0; i < DB_STATEMENTS_KEPT; i++) {
        struct stmt *s = db->kept[i];
        if (s && strcmp(sqlite3_sql(s->handle), sql) == 0) {
            db->kept[i] = NULL;
            return s;
        }
    }
    return NULL;
}

/* Takes a statement that has run. */
static void keep_statement(struct stmt *s)
{
    struct db *db = s->db;
    sqlite3_reset(s->handle);
    sqlite3_clear_bindings(s->handle);
    size_t i = FIRST(k, DB_STATEMENTS_KEPT, !db->kept[k]);
    i = i < DB_STATEMENTS_KEPT ? i : db->next_kept++ % DB_STATEMENTS_KEPT;
    stmt_free(db->kept[i]);
    db->kept[i] = s;
}

int db_run(struct db *db, const char *sql, struct sql_values values, struct error *e)
{
    OWNED_STMT *s = NULL;
    return db_query(db, sql, values, &s, e) < 0 ? -1 : stmt_run(s, e);
}

int db_insert(struct db *db, const char *sql, struct sql_values values, int64_t *id, struct error *e)
{
    if (db_run(db, sql, values, e) < 0)
        return -1;
    *id = db_last_id(db);
    return 0;
}

int db_next(struct db *db, const char *sql, struct sql_values values, struct stmt **s, struct error *e)
{
    int rc = *s ? 0 : db_query(db, sql, values, s, e);
    if (rc == 0)
        rc = stmt_next(*s, e);
    if (rc == 0)
        keep_statement(*s);
    else if (rc < 0)
        stmt_free(*s);
    if (rc <= 0)
        *s = NULL;
    return rc;
}

int db_query_int(struct db *db, const char *sql, struct sql_values values, int64_t absent, int64_t *out,
                 struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db, sql, values, &s, e);
    if (rc >= 0)
        *out = rc > 0 ? stmt_int(s, 0) : absent;
    return rc < 0 ? -1 : 0;
}

int db_query_bool(struct db *db, const char *sql, struct sql_values values, bool *out, struct error *e)
{
    int64_t value;
    if (db_query_int(db, sql, values, 0, &value, e) < 0)
        return -1;
    *out = value != 0;
    return 0;
}

int db_query_text(struct db *db, const char *sql, struct sql_values values, char **out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db, sql, values, &s, e);
    if (rc >= 0)
        *out = rc > 0 ? stmt_copy_text(s, 0) : NULL;
    return rc < 0 ? -1 : 0;
}

int db_query_texts(struct db *db, const char *sql, struct sql_values values, struct string_list *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, values, &s, e)) > 0)
        string_list_add(out, stmt_copy_text(s, 0));
    return rc;
}

int db_begin(struct db *db, struct error *e)
{
    return log_watch_check(db, false, e) < 0 ? -1 : db_exec(db, "BEGIN IMMEDIATE", e);
}

int db_try_begin(struct db *db, bool *begun, struct error *e)
{
    if (log_watch_check(db, false, e) < 0)
        return -1;
    sqlite3_busy_timeout(db->handle, MOMENT_MS);
    int rc = sqlite3_exec(db->handle, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    sqlite3_busy_timeout(db->handle, BUSY_TIMEOUT_MS);
    *begun = rc == SQLITE_OK;
    return *begun || (rc & 0xff) == SQLITE_BUSY ? 0 : db_error(db, e);
}

/* Returns what a COMMIT with this result comes to. */
static int committed(struct db *db, int rc, struct error *e)
{
    if (rc == SQLITE_OK)
        return db->after_commit ? db->after_commit(db, e) : 0;
    db_error(db, e);
    db_rollback(db);
    return -1;
}

int db_commit(struct db *db, struct error *e)
{
    int rc = SQLITE_BUSY;
    /* A commit that finds readers keeps the transaction, to be tried again. */
    for (int i = 0; i < COMMIT_TRIES && (rc & 0xff) == SQLITE_BUSY; i++)
        rc = sqlite3_exec(db->handle, "COMMIT", NULL, NULL, NULL);
    return committed(db, rc, e);
}

int db_try_commit(struct db *db, bool *done, struct error *e)
{
    sqlite3_busy_timeout(db->handle, MOMENT_MS);
    int rc = sqlite3_exec(db->handle, "COMMIT", NULL, NULL, NULL);
    sqlite3_busy_timeout(db->handle, BUSY_TIMEOUT_MS);
    *done = (rc & 0xff) != SQLITE_BUSY;
    return *done ? committed(db, rc, e) : 0;
}

int db_read_begin(struct db *db, struct error *e)
{
    return db_exec(db, "SAVEPOINT reading", e);
}

void db_read_end(struct db *db)
{
    db_exec(db, "RELEASE reading", NULL);
}

void db_rollback(struct db *db)
{
    if (!sqlite3_get_autocommit(db->handle))
        sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
}

int db_end(struct db *db, int rc, struct error *e)
{
    if (rc == 0)
        return db_commit(db, e);
    db_rollback(db);
    return -1;
}

void db_checkpoint(struct db *db)
{
    struct error none = ERROR_INIT;
    if (log_watch_check(db, false, &none) == 0)
        sqlite3_wal_checkpoint_v2(db->handle, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

void db_cut_log(struct db *db)
{
    struct error none = ERROR_INIT;
    if (log_watch_check(db, false, &none) < 0)
        return;
    sqlite3_busy_timeout(db->handle, 0);
    sqlite3_wal_checkpoint_v2(db->handle, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    sqlite3_busy_timeout(db->handle, BUSY_TIMEOUT_MS);
}

static int is_stopped(void *context)
{
    return atomic_load_explicit((const atomic_bool *)context, memory_order_relaxed);
}

void db_heed_stop(struct db *db, const atomic_bool *stop)
{
    sqlite3_progress_handler(db->handle, STEPS_BETWEEN_LOOKS, stop ? is_stopped : NULL, (void *)stop);
}

const char *db_library_version(void)
{
    return sqlite3_libversion();
}

bool db_is_keyword(const char *word)
{
    return sqlite3_keyword_check(word, (int)strlen(word)) != 0;
}

void db_check_references(struct db *db, bool yes)
{
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_FKEY, (int)yes, (int *)NULL);
}

void db_allow_schema_edits(struct db *db, bool yes)
{
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, (int)!yes, (int *)NULL);
}

void db_set_cache(struct db *db, int kib)
{
    char pragma[64];
    snprintf(pragma, sizeof pragma, "PRAGMA cache_size = -%d", kib);
    sqlite3_exec(db->handle, pragma, NULL, NULL, NULL); /* without it things are as right */
}

int64_t db_last_id(struct db *db)
{
    return sqlite3_last_insert_rowid(db->handle);
}

int64_t db_changes(struct db *db)
{
    return sqlite3_changes64(db->handle);
}

int db_prepare(struct db *db, const char *sql, struct stmt **out, struct error *e)
{
    sqlite3_stmt *handle = NULL;
    if (sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &handle, NULL) != SQLITE_OK)
        return db_error(db, e);
    struct stmt *s = xmalloc(sizeof *s);
    *s = (struct stmt){.handle = handle, .db = db};
    *out = s;
    return 0;
}

int db_prepare_built(struct db *db, struct buffer *sql, struct stmt **out, struct error *e)
{
    int rc = db_prepare(db, buffer_text(sql), out, e);
    buffer_free(sql);
    return rc;
}

int db_query(struct db *db, const char *sql, struct sql_values values, struct stmt **out, struct error *e)
{
    *out = take_kept(db, sql);
    if (!*out && db_prepare(db, sql, out, e) < 0)
        return -1;
    (*out)->is_query = true;
    stmt_bind(*out, values);
    return 0;
}

void stmt_free(struct stmt *s)
{
    if (!s)
        return;
    sqlite3_finalize(s->handle);
    free(s);
}

void stmt_release(struct stmt **at)
{
    if (*at && (*at)->is_query)
        keep_statement(*at);
    else
        stmt_free(*at);
}

static void bound(int rc)
{
    if (rc == SQLITE_NOMEM)
        out_of_memory();
    assert(rc == SQLITE_OK); /* wrong indices are programming errors */
}

void stmt_bind_at(struct stmt *s, int index, struct sql_value v)
{
    switch (v.type) {
    case COLUMN_INT:
        bound(sqlite3_bind_int64(s->handle, index, v.integer));
        break;
    case COLUMN_FLOAT:
        bound(sqlite3_bind_double(s->handle, index, v.real));
        break;
    case COLUMN_TEXT:
        bound(sqlite3_bind_text(s->handle, index, v.text, -1, SQLITE_TRANSIENT));
        break;
    case COLUMN_BLOB:
        bound(sqlite3_bind_blob64(s->handle, index, v.text, (sqlite3_uint64)v.integer, SQLITE_TRANSIENT));
        break;
    default:
        bound(sqlite3_bind_null(s->handle, index));
    }
}

void stmt_bind(struct stmt *s, struct sql_values values)
{
    for (size_t i = 0; i < values.count; i++)
        stmt_bind_at(s, (int)i + 1, values.items[i]);
}

int stmt_next(struct stmt *s, struct error *e)
{
    int rc = sqlite3_step(s->handle);
    if (rc == SQLITE_ROW)
        return 1;
    if (rc != SQLITE_DONE)
        db_error(s->db, e);
    sqlite3_reset(s->handle);
    return rc == SQLITE_DONE ? 0 : -1;
}

void stmt_reset(struct stmt *s)
{
    sqlite3_reset(s->handle);
}

int stmt_run(struct stmt *s, struct error *e)
{
    int rc;
    while ((rc = stmt_next(s, e)) > 0)
        ;
    return rc;
}

int stmt_run_with(struct stmt *s, struct sql_values values, struct error *e)
{
    stmt_bind(s, values);
    return stmt_run(s, e);
}

int stmt_column_count(const struct stmt *s)
{
    return sqlite3_column_count(s->handle);
}

const char *stmt_column_name(const struct stmt *s, int column)
{
    return sqlite3_column_name(s->handle, column);
}

const char *stmt_parameter_name(const struct stmt *s, int index)
{
    return sqlite3_bind_parameter_name(s->handle, index);
}

enum column_type stmt_type(const struct stmt *s, int column)
{
    switch (sqlite3_column_type(s->handle, column)) {
    case SQLITE_INTEGER:
        return COLUMN_INT;
    case SQLITE_FLOAT:
        return COLUMN_FLOAT;
    case SQLITE_TEXT:
        return COLUMN_TEXT;
    case SQLITE_BLOB:
        return COLUMN_BLOB;
    default:
        return COLUMN_NULL;
    }
}

bool stmt_is_null(const struct stmt *s, int column)
{
    return sqlite3_column_type(s->handle, column) == SQLITE_NULL;
}

int64_t stmt_int(const struct stmt *s, int column)
{
    return sqlite3_column_int64(s->handle, column);
}

double stmt_double(const struct stmt *s, int column)
{
    return sqlite3_column_double(s->handle, column);
}

double stmt_double_or_nan(const struct stmt *s, int column)
{
    enum column_type type = stmt_type(s, column);
    return type == COLUMN_INT || type == COLUMN_FLOAT ? stmt_double(s, column) : NAN;
}

/* A row's value is NULL only where the row says so: a value that there was no memory for is no NULL. */
static const void *present(const struct stmt *s, const void *value)
{
    if (!value && sqlite3_errcode(sqlite3_db_handle(s->handle)) == SQLITE_NOMEM)
        out_of_memory();
    return value;
}

const char *stmt_text(const struct stmt *s, int column)
{
    return present(s, sqlite3_column_text(s->handle, column));
}

char *stmt_copy_text(const struct stmt *s, int column)
{
    const char *text = stmt_text(s, column);
    return text ? xstrdup(text) : NULL;
}

char *stmt_copy_text_or(const struct stmt *s, int column, const char *absent)
{
    const char *text = stmt_text(s, column);
    return xstrdup(text ? text : absent);
}

const void *stmt_blob(const struct stmt *s, int column)
{
    return present(s, sqlite3_column_blob(s->handle, column));
}

const void *stmt_hash(const struct stmt *s, int column)
{
    static const struct hash128 none;
    const void *hash = sqlite3_column_blob(s->handle, column);
    return stmt_bytes(s, column) < sizeof none.bytes ? none.bytes : hash;
}

size_t stmt_bytes(const struct stmt *s, int column)
{
    return (size_t)sqlite3_column_bytes(s->handle, column);
}

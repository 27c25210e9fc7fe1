#include "database/audit.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "database/attempt_sums.h"
#include "database/audit_files.h"
#include "database/audit_questions.h"
#include "database/examples.h"
#include "database/lock.h"
#include "database/open.h"
#include "database/row_sums.h"
#include "database/schema.h"
#include "process/job_file.h"
#include "process/log_cap.h"
#include "process/worker.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/shell.h"

struct audit {
    struct db *db;
    const char *path;
    char *directory; /* of job files */
    audit_found *found;
    void *context;
    size_t count;
    struct worker *integrity; /* looks whether it is_sound; NULL: what that found has been told */
    bool is_sound;
};

static void conclude_integrity(struct audit *a);

/* Reports the finding if there is any, and releases the examples. What is not sound comes first. */
static void report(struct audit *a, struct examples *x, const char *what, const char *advice)
{
    if (x->count) {
        conclude_integrity(a);
        const struct audit_finding finding = {what, buffer_text(&x->text), x->count, advice};
        a->found(a->context, &finding);
        a->count++;
    }
    examples_free(x);
}

/* The same, with the database in place of FILE in the advice. */
static void conclude(struct audit *a, struct examples *x, const char *what, const char *advice)
{
    OWNED char *named = shell_fill_file(advice, a->path);
    report(a, x, what, named);
}

/* The same, with `part` where the advice has "%s". */
static void conclude_with(struct audit *a, struct examples *x, const char *what, const char *advice, const char *part)
{
    const char *place = strstr(advice, "%s");
    OWNED char *whole = place ? xasprintf("%.*s%s%s", (int)(place - advice), advice, part, place + 2) : xstrdup(advice);
    conclude(a, x, what, whole);
}

static void cannot_be_read(struct audit *a, const struct error *e)
{
    struct examples unread = EXAMPLES_INIT;
    examples_add(&unread, e->text);
    conclude(a, &unread, "tables that cannot be read", audit_questions[0].advice);
}

static int ask_rows(struct audit *a, const struct audit_question *q, struct examples *x, struct string_list *statements,
                    struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc;
    if (db_prepare(a->db, q->sql, &s, e) < 0)
        return -1;
    const bool has_statement = stmt_column_count(s) > 1;
    while ((rc = stmt_next(s, e)) > 0) {
        examples_add(x, stmt_text(s, 0));
        if (has_statement && string_list_find(statements, stmt_text(s, 1)) == statements->count)
            string_list_add(statements, stmt_copy_text(s, 1));
    }
    return rc;
}

static void answer_question(struct audit *a, const struct audit_question *q)
{
    struct examples x = EXAMPLES_INIT;
    OWNED_LIST statements = STRING_LIST_INIT;
    OWNED_BUFFER all = BUFFER_INIT;
    struct error e = ERROR_INIT;
    int rc = ask_rows(a, q, &x, &statements, &e);
    for (size_t i = 0; i < statements.count; i++)
        buffer_printf(&all, "%s%s", i ? "; " : "", statements.items[i]);
    conclude_with(a, &x, q->what, q->advice, buffer_text(&all));
    if (rc < 0)
        cannot_be_read(a, &e);
}

/* --- the schema --- */

enum { PARTS_TO_MAKE, PARTS_GONE, PARTS_OF_OTHERS, PART_KINDS };

static void note_difference(void *context, const struct schema_difference *d)
{
    struct examples *x = context;
    OWNED char *text = schema_describe(d);
    bool is_missing = d->state == SCHEMA_MISSING && d->sql;
    examples_add(&x[!is_missing ? PARTS_OF_OTHERS : schema_can_be_made(d->type) ? PARTS_TO_MAKE : PARTS_GONE], text);
}

static void compare_schema(struct audit *a)
{
    static const char repair[] = "`meshsweep check --repair -d FILE` brings it back to what meshsweep makes, and keeps "
                                 "all rows";
    struct examples x[PART_KINDS] = {EXAMPLES_INIT, EXAMPLES_INIT, EXAMPLES_INIT}, unread = EXAMPLES_INIT;
    struct error e = ERROR_INIT;
    int rc = schema_compare(a->db, STORE_NEWEST, note_difference, x, &e);
    if (schema_problem(a->db))
        examples_add(&unread, schema_problem(a->db));
    conclude(a, &unread, "a schema that SQLite cannot read", repair);
    conclude(a, &x[PARTS_TO_MAKE], "indexes and triggers that are missing",
             "`meshsweep check --repair -d FILE` creates them again");
    conclude(a, &x[PARTS_GONE], "tables that are missing",
             "make a new database with `meshsweep run -d NEW`, or restore a copy of this one");
    conclude(a, &x[PARTS_OF_OTHERS], "parts of the schema that are not as meshsweep makes them", repair);
    if (rc < 0)
        cannot_be_read(a, &e);
}

/* --- directories of attempts --- */

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Shorter than the job wrote it, and not because we cut it: after a power cut. */
static bool is_log_cut(const char *directory, int64_t log_bytes)
{
    OWNED char *path = xasprintf("%s/output.log", directory);
    struct stat status;
    bool is_short = log_bytes > 0 && (stat(path, &status) < 0 ? job_file_size(path) : status.st_size) < log_bytes;
    return is_short && !log_cap_is_marked(path);
}

static int find_missing(struct audit *a, struct error *e)
{
    struct examples gone = EXAMPLES_INIT, cut = EXAMPLES_INIT;
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(a->db,
                         "SELECT directory, log_bytes FROM attempt WHERE directory IS NOT NULL AND state IN ('ok', "
                         "'failed')",
                         NO_VALUES, &s, e)) > 0) {
        const char *name = stmt_text(s, 0);
        OWNED char *path = name[0] == '/' ? xstrdup(name) : xasprintf("%s/%s", a->directory, name);
        if (!is_directory(path))
            examples_add(&gone, name);
        else if (is_log_cut(path, stmt_int(s, 1)))
            examples_add(&cut, name);
    }
    conclude(a, &gone, "attempts whose files are missing",
             "nothing needs to be done: their measurements are in the database, only their logs are lost");
    conclude(a, &cut, "attempts whose logs were cut",
             "nothing needs to be done: their measurements are in the database, only the rest of their logs is lost, "
             "as after a power cut");
    return rc;
}

struct unowned_names {
    const char *directory;
    struct examples examples;
};

static bool is_empty(const char *path)
{
    DIR *directory = opendir(path);
    size_t entries = 0;
    while (directory && entries < 3 && readdir(directory))
        entries++;
    if (directory)
        closedir(directory);
    return directory && entries < 3; /* itself and the one above it */
}

/* A runner that died between making one and recording it left nothing in it: no harm, nothing to do. */
static void note_unowned(void *context, const char *name)
{
    struct unowned_names *u = context;
    OWNED char *path = xasprintf("%s/%s", u->directory, name);
    if (!is_empty(path))
        examples_add(&u->examples, name);
}

static int find_escaped(struct audit *a, struct error *e)
{
    struct unowned_names u = {a->directory, EXAMPLES_INIT};
    int rc = audit_unowned_directories(a->db, a->directory, note_unowned, &u, e);
    OWNED char *repair = shell_fill_file("`meshsweep check --repair -d FILE` moves them aside", a->path);
    OWNED char *advice = xasprintf("they can be deleted; they are in %s; %s", a->directory, repair);
    report(a, &u.examples, "directories that belong to no attempt", advice);
    return rc;
}

/* --- sums --- */

/* Rows that differ from the sums kept of them. */
struct changed_rows {
    struct examples examples;
    struct buffer ids; /* of the first ones */
};

#define IDS_MOST 100

static void note_changed(void *context, int64_t id, const char *name)
{
    struct changed_rows *c = context;
    if (c->examples.count < IDS_MOST)
        buffer_printf(&c->ids, "%s%lld", c->examples.count ? ", " : "", (long long)id);
    examples_add(&c->examples, name);
}

/* The hash of a spec covers its JSON without its labels, or with them where a job's texts read one (src/join/specs.c).
 * Labels are `name`, `description` and the words of [sweep] note: which of the keys that a file has in quotes, only the
 * hash itself tells. */
enum { LABELS_MOST = 10 };

struct spec_hashes {
    struct stmt *next, *keys, *without;
    struct string_list labels; /* those that a spec was found to have last */
};

static bool is_hash_of(const char *text, const void *hash)
{
    const struct hash128 own = hash_bytes(text, strlen(text));
    return memcmp(own.bytes, hash, sizeof own.bytes) == 0;
}

static int is_hash_without(struct spec_hashes *h, const char *json, unsigned set, const void *hash, bool *yes,
                           struct error *e)
{
    stmt_bind_text(h->without, 1, json);
    for (size_t i = 0; i < LABELS_MOST; i++)
        stmt_bind_text(h->without, 2 + (int)i,
                       i < h->labels.count && set >> i & 1 ? h->labels.items[i] : "$.\"no such key\"");
    int rc = stmt_next(h->without, e);
    if (rc >= 0)
        *yes = rc == 0 || is_hash_of(stmt_text(h->without, 0), hash);
    stmt_reset(h->without);
    return rc < 0 ? -1 : 0;
}

/* A spec that cannot be judged counts as sound. */
static int is_spec_sound(struct spec_hashes *h, bool *yes, struct error *e)
{
    const char *json = stmt_text(h->next, 1);
    const void *hash = stmt_hash(h->next, 2);
    int rc;
    *yes = is_hash_of(json, hash);
    if (*yes || is_hash_without(h, json, UINT_MAX, hash, yes, e) < 0 || *yes)
        return *yes ? 0 : -1;
    string_list_free(&h->labels);
    stmt_bind_text(h->keys, 1, json);
    while ((rc = stmt_next(h->keys, e)) > 0)
        string_list_add(&h->labels, stmt_copy_text(h->keys, 0));
    const unsigned sets = h->labels.count > LABELS_MOST ? 0 : 1U << h->labels.count;
    *yes = sets == 0;
    for (unsigned set = 0; rc == 0 && !*yes && set < sets; set++)
        rc = is_hash_without(h, json, set, hash, yes, e);
    return rc;
}

static int find_changed_specs(struct db *db, struct changed_rows *found, struct error *e)
{
    static const char quoted[] = "SELECT '$.\"' || m.key || '\"' FROM json_each(?1) AS m WHERE m.key IN ('name', "
                                 "'description') OR EXISTS (SELECT 1 FROM sweep WHERE instr(text || profile_text, '\"'"
                                 " || m.key || '\"') OR instr(text || profile_text, char(39) || m.key || char(39)))";
    struct spec_hashes h = {NULL, NULL, NULL, STRING_LIST_INIT};
    int rc = 0;
    if (db_prepare(db, "SELECT id, json, hash, kind || ' ' || id FROM spec", &h.next, e) < 0 ||
        db_prepare(db, quoted, &h.keys, e) < 0 ||
        db_prepare(db, "SELECT json_remove(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) WHERE json_valid(?1)",
                   &h.without, e) < 0)
        rc = -1;
    while (rc == 0 && (rc = stmt_next(h.next, e)) > 0) {
        bool sound;
        rc = is_spec_sound(&h, &sound, e);
        if (rc == 0 && !sound)
            note_changed(found, stmt_int(h.next, 0), stmt_text(h.next, 3));
    }
    stmt_free(h.next);
    stmt_free(h.keys);
    stmt_free(h.without);
    string_list_free(&h.labels);
    return rc;
}

static void check_sums(struct audit *a)
{
    struct changed_rows attempts = {EXAMPLES_INIT, BUFFER_INIT}, specs = attempts;
    struct error e = ERROR_INIT;
    int rc = attempt_sums_check(a->db, note_changed, &attempts, &e);
    conclude_with(a, &attempts.examples, "attempts whose records have been changed",
                  "another program or the disk changed the file: restore a copy, or delete these attempts so that "
                  "their jobs run again: sqlite3 FILE \"DELETE FROM attempt WHERE id IN (%s); DELETE FROM attempt_sum "
                  "WHERE attempt_id NOT IN (SELECT id FROM attempt)\"",
                  buffer_text(&attempts.ids));
    if (rc == 0)
        rc = find_changed_specs(a->db, &specs, &e);
    conclude_with(a, &specs.examples, "specs that are not what their jobs were made of",
                  "delete them: sqlite3 FILE \"DELETE FROM spec WHERE id IN (%s)\", and `meshsweep run` makes them "
                  "again from the sweep file",
                  buffer_text(&specs.ids));
    buffer_free(&attempts.ids);
    buffer_free(&specs.ids);
    if (rc < 0)
        cannot_be_read(a, &e);
}

/* --- integrity --- */

/* Returns whether all is well, as SQLite's integrity_check would say: that takes several times as long, and is left to
 * name what is wrong. */
static bool is_sound(struct db *db)
{
    struct error unreadable = ERROR_INIT;
    OWNED char *first = NULL;
    bool is_sound = false;
    /* As a statement, which no table can stand in for. */
    if (db_query_text(db, "PRAGMA quick_check(1)", NO_VALUES, &first, &unreadable) == 0 && first &&
        strcmp(first, "ok") == 0 && row_sums_indexes_agree(db, &is_sound, &unreadable) < 0)
        is_sound = false;
    return is_sound;
}

/* By a connection of its own each statement sees what was committed when it began, as the questions do. */
static void look_at_integrity(void *context)
{
    struct audit *a = context;
    struct error unread = ERROR_INIT;
    struct db *db = NULL;
    a->is_sound = db_open_again(a->db, &db, &unread) == 0 && row_sums_add(db, &unread) == 0 && is_sound(db);
    db_close(db);
}

/* Half of the time goes there, so it is looked at beside the questions. */
static void begin_integrity(struct audit *a)
{
    a->integrity = worker_create();
    if (store_is_copy(a->db))
        a->is_sound = is_sound(a->db);
    else
        worker_begin(a->integrity, look_at_integrity, a);
}

static void conclude_integrity(struct audit *a)
{
    if (!a->integrity)
        return;
    worker_free(a->integrity);
    a->integrity = NULL;
    for (size_t i = 0; i < AUDIT_INTEGRITY_QUESTIONS && !a->is_sound; i++)
        answer_question(a, &audit_questions[i]);
}

int audit_run(struct db *db, const char *path, audit_found *found, void *context, size_t *count, struct error *e)
{
    struct audit a = {db, path, store_directory_of(db), found, context, 0, NULL, false};
    if (schema_problem(db)) {
        /* Nothing can be asked of tables that SQLite could not read, or not as they are. */
        compare_schema(&a);
        free(a.directory);
        *count = a.count;
        return 0;
    }
    if (row_sums_add(db, e) < 0) {
        free(a.directory);
        return -1;
    }
    enum audit_when not_now = writer_lock_is_held(path) ? AUDIT_WITHOUT_RUNNER : AUDIT_WITH_RUNNER;
    begin_integrity(&a);
    for (size_t i = AUDIT_INTEGRITY_QUESTIONS; i < audit_question_count; i++)
        if (audit_questions[i].when != not_now)
            answer_question(&a, &audit_questions[i]);
    const size_t found_before = a.count;
    compare_schema(&a);
    const bool is_as_made = a.count == found_before;
    check_sums(&a);
    struct error unasked = ERROR_INIT;
    /* A table that is not as it was made may lack what is asked of it: that has been told. */
    int rc = find_missing(&a, is_as_made ? e : &unasked);
    rc = is_as_made ? rc : 0;
    /* A runner makes directories before it records them. */
    if (rc == 0 && not_now == AUDIT_WITH_RUNNER)
        rc = find_escaped(&a, e);
    conclude_integrity(&a);
    free(a.directory);
    *count = a.count;
    return rc;
}

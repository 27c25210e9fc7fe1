#include "database/audit.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database/attempt_sums.h"
#include "database/function.h"
#include "database/lock.h"
#include "database/open.h"
#include "database/row_sums.h"
#include "database/schema.h"
#include "process/job_file.h"
#include "process/log_cap.h"
#include "process/worker.h"
#include "toml/known.h"
#include "toml/parse.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/shell.h"

/* --- questions --- */

/* What configs/knowledge/audit.toml asks, or does, of `q`, with words in the places of their names: those that have
 * others come behind these. */
static char *statement_of(const struct toml_node *asked, const struct toml_node *q, const char *key)
{
    const struct toml_node *words = toml_child(asked, "words");
    char *whole[] = {xstrdup(known_text(q, key)), NULL};
    for (size_t i = words->child_count; i-- > 0;) {
        OWNED char *name = xasprintf("{%s}", words->children[i].key);
        strings_replace(whole, name, words->children[i].text);
    }
    return whole[0];
}

/* The first questions, for each of which SQLite reads the whole database: no row of the other one answers them all. */
enum { AUDIT_INTEGRITY_QUESTIONS = 2 };

/* --- directories --- */

#define KEY_DIGITS 16 /* of a job's key, in the name of its directory */
#define HEX_DIGITS "0123456789abcdef"

/* "3", or "3-2": see run/starter.h. */
static bool is_attempt_name(const char *name)
{
    size_t number = strspn(name, "0123456789"), again = 0;
    if (number > 0 && name[number] == '-')
        again = 1 + strspn(name + number + 1, "0123456789");
    return number > 0 && again != 1 && name[number + again] == '\0';
}

static int is_known(struct db *db, const char *key, const char *directory, bool *yes, struct error *e)
{
    static const char sql[] =
        "SELECT 1 FROM job AS j JOIN attempt AS t ON t.job_id = j.id"
        " WHERE j.key BETWEEN ?1 AND ?2 AND coalesce(t.directory, printf('%s/%d', ?4, t.number)) = ?3"
        " UNION ALL SELECT 1 FROM replaced AS r JOIN attempt AS t ON t.job_id = r.job_id"
        " WHERE r.field = 'key' AND r.was BETWEEN lower(hex(?1)) AND lower(hex(?2)) AND t.directory = ?3";
    const struct hash128 first = hash_from_prefix(key, false), last = hash_from_prefix(key, true);
    return db_query_bool(db, sql, VALUES(sql_hash(&first), sql_hash(&last), sql_text(directory), sql_text(key)), yes,
                         e);
}

int audit_unowned_directories(struct db *db, const char *directory, struct string_list *out, struct error *e)
{
    char *paths[] = {(char *)directory, NULL};
    int rc = 0;
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    for (FTSENT *f; rc == 0 && tree && (f = fts_read(tree));) {
        bool yes = true;
        const bool is_key =
            f->fts_level == 1 && f->fts_namelen == KEY_DIGITS && strspn(f->fts_name, HEX_DIGITS) == KEY_DIGITS;
        if (f->fts_level == 2 && f->fts_info != FTS_DP && is_attempt_name(f->fts_name))
            rc = is_known(db, f->fts_parent->fts_name, f->fts_path + strlen(directory) + 1, &yes, e);
        if (rc == 0 && !yes)
            string_list_add(out, xstrdup(f->fts_path + strlen(directory) + 1));
        if (f->fts_level == 2 || (f->fts_level == 1 && !is_key))
            fts_set(tree, f, FTS_SKIP);
    }
    if (tree)
        fts_close(tree);
    return rc;
}

/* --- the audit --- */

struct audit {
    struct db *db;
    const char *path;
    const char *directory; /* of job files */
    audit_found *found;
    void *context;
    size_t count;
    struct toml_node *asked; /* and its questions */
    const struct toml_node *questions;
    struct worker *integrity; /* looks whether it is_sound; NULL: what that found has been told */
    bool is_sound;
};

static void conclude_integrity(struct audit *a);

/* Reports the finding if there is any, and releases the examples. What is not sound comes first. The advice has the
 * database in place of FILE, and `part` in that of "%s". */
static void conclude_with(struct audit *a, struct examples *x, const char *what, const char *advice, const char *part)
{
    const char *place = strstr(advice, "%s"), *rest = place ? place + 2 : "";
    OWNED char *first = place ? xstrndup(advice, (size_t)(place - advice)) : xstrdup(advice);
    OWNED char *before = shell_fill_file(first, a->path), *behind = shell_fill_file(rest, a->path);
    OWNED char *whole = xasprintf("%s%s%s", before, place ? part : "", behind);
    if (x->count) {
        conclude_integrity(a);
        const struct audit_finding finding = {what, buffer_text(&x->text), x->count, whole};
        a->found(a->context, &finding);
        a->count++;
    }
    examples_free(x);
}

static void conclude(struct audit *a, struct examples *x, const char *what, const char *advice)
{
    conclude_with(a, x, what, advice, "");
}

static void cannot_be_read(struct audit *a, const struct error *e)
{
    struct examples unread = EXAMPLES_INIT;
    examples_add(&unread, e->text);
    conclude(a, &unread, "tables that cannot be read", known_text(a->questions->children, "advice"));
}

static int ask_rows(struct audit *a, const struct toml_node *q, struct examples *x, struct string_list *statements,
                    struct error *e)
{
    OWNED char *sql = statement_of(a->asked, q, "sql");
    OWNED_STMT *s = NULL;
    int rc;
    if (db_prepare(a->db, sql, &s, e) < 0)
        return -1;
    const bool has_statement = stmt_column_count(s) > 1;
    while ((rc = stmt_next(s, e)) > 0) {
        examples_add(x, stmt_text(s, 0));
        if (has_statement && string_list_find(statements, stmt_text(s, 1)) == statements->count)
            string_list_add(statements, stmt_copy_text(s, 1));
    }
    return rc;
}

static void answer_question(struct audit *a, const struct toml_node *q)
{
    struct examples x = EXAMPLES_INIT;
    OWNED_LIST statements = STRING_LIST_INIT;
    OWNED_BUFFER all = BUFFER_INIT;
    struct error e = ERROR_INIT;
    int rc = ask_rows(a, q, &x, &statements, &e);
    for (size_t i = 0; i < statements.count; i++)
        buffer_printf(&all, "%s%s", i ? "; " : "", statements.items[i]);
    conclude_with(a, &x, known_text(q, "what"), known_text(q, "advice"), buffer_text(&all));
    if (rc < 0)
        cannot_be_read(a, &e);
}

/* --- the schema --- */

enum { PARTS_TO_MAKE, PARTS_GONE, PARTS_OF_OTHERS, PART_KINDS };

static void compare_schema(struct audit *a)
{
    static const char repair[] = "`meshsweep check --repair -d FILE` brings it back to what meshsweep makes, and keeps "
                                 "all rows";
    struct examples x[PART_KINDS] = {EXAMPLES_INIT, EXAMPLES_INIT, EXAMPLES_INIT}, unread = EXAMPLES_INIT;
    struct error e = ERROR_INIT;
    OWNED_BY(schema_parts_free) struct schema_parts all = {0};
    int rc = schema_compare(a->db, STORE_NEWEST, &all, &e);
    for (size_t i = 0; i < all.count; i++) {
        const struct schema_part *d = &all.items[i];
        const bool is_missing = d->state == SCHEMA_MISSING && d->sql;
        OWNED char *text = schema_describe(d);
        examples_add(&x[!is_missing                   ? PARTS_OF_OTHERS
                        : schema_can_be_made(d->type) ? PARTS_TO_MAKE
                                                      : PARTS_GONE],
                     text);
    }
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

/* A runner that died between making one and recording it left nothing in it: no harm, nothing to do. */
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

static int find_escaped(struct audit *a, struct error *e)
{
    OWNED_LIST names = STRING_LIST_INIT;
    struct examples x = EXAMPLES_INIT;
    int rc = audit_unowned_directories(a->db, a->directory, &names, e);
    for (size_t i = 0; i < names.count; i++) {
        OWNED char *path = xasprintf("%s/%s", a->directory, names.items[i]);
        if (!is_empty(path))
            examples_add(&x, names.items[i]);
    }
    conclude_with(a, &x, "directories that belong to no attempt",
                  "they can be deleted; they are in %s; `meshsweep check --repair -d FILE` moves them aside",
                  a->directory);
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

static void check_sums(struct audit *a)
{
    struct changed_rows c = {EXAMPLES_INIT, BUFFER_INIT};
    struct error e = ERROR_INIT;
    int rc = attempt_sums_check(a->db, note_changed, &c, &e);
    conclude_with(a, &c.examples, "attempts whose records have been changed",
                  "another program or the disk changed the file: restore a copy, or delete these attempts so that "
                  "their jobs run again: sqlite3 FILE \"DELETE FROM attempt WHERE id IN (%s); DELETE FROM attempt_sum "
                  "WHERE attempt_id NOT IN (SELECT id FROM attempt)\"",
                  buffer_text(&c.ids));
    buffer_free(&c.ids);
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
        answer_question(a, &a->questions->children[i]);
}

/* text_hash(TEXT), as a spec has it of its JSON. */
static void add_text_hash(const struct sql_value *arguments, struct buffer *out)
{
    char hex[HASH_HEX_BYTES];
    const struct hash128 hash = hash_bytes(arguments->text, strlen(arguments->text));
    buffer_add_text(out, hash_hex(&hash, hex));
}

static int ask_all(struct audit *a, struct error *e)
{
    const char *not_now = writer_lock_is_held(a->path) ? "without a runner" : "with a runner";
    begin_integrity(a);
    for (size_t i = AUDIT_INTEGRITY_QUESTIONS; i < a->questions->child_count; i++)
        if (!known_says(&a->questions->children[i], "when", not_now))
            answer_question(a, &a->questions->children[i]);
    const size_t found_before = a->count;
    compare_schema(a);
    const bool is_as_made = a->count == found_before;
    check_sums(a);
    struct error unasked = ERROR_INIT;
    /* A table that is not as it was made may lack what is asked of it: that has been told. */
    int rc = find_missing(a, is_as_made ? e : &unasked);
    rc = is_as_made ? rc : 0;
    /* A runner makes directories before it records them. */
    if (rc == 0 && strcmp(not_now, "with a runner") == 0)
        rc = find_escaped(a, e);
    conclude_integrity(a);
    return rc;
}

int audit_run(struct db *db, const char *path, audit_found *found, void *context, size_t *count, struct error *e)
{
    OWNED char *directory = store_directory_of(db);
    struct audit a = {.db = db, .path = path, .directory = directory, .found = found, .context = context};
    if (!schema_problem(db) &&
        (row_sums_add(db, e) < 0 || db_add_text_function(db, "text_hash", 1, add_text_hash, e) < 0))
        return -1;
    a.asked = toml_carried("knowledge/audit.toml");
    a.questions = toml_child(a.asked, "question");
    int rc = 0;
    if (schema_problem(db))
        compare_schema(&a); /* nothing can be asked of tables that SQLite could not read, or not as they are */
    else
        rc = ask_all(&a, e);
    toml_free(a.asked);
    *count = a.count;
    return rc;
}

/* --- the repair --- */

/* A repair that was made, reported once it is durable. */
struct done {
    const char *what, *how;
    struct examples examples;
};

struct repair {
    struct db *db;
    struct done *done;
    size_t count;
};

static struct examples *note(struct repair *r, const char *what, const char *how)
{
    *array_add(r->done, r->count) = (struct done){what, how, EXAMPLES_INIT};
    return &r->done[r->count - 1].examples;
}

/* --- rows --- */

static int put_right(struct repair *r, const struct toml_node *asked, const struct toml_node *q, struct error *e)
{
    struct examples *x = note(r, known_text(q, "what"), known_text(q, "repaired"));
    OWNED char *sql = statement_of(asked, q, "sql"), *repair = statement_of(asked, q, "repair");
    int rc = examples_query(r->db, sql, x, e);
    return rc < 0 || x->count == 0 ? rc : db_exec(r->db, repair, e);
}

static int make_missing_parts(struct repair *r, struct error *e)
{
    OWNED_BY(schema_parts_free) struct schema_parts all = {0};
    struct examples *x = note(r, "indexes and triggers that were missing", "they were created again");
    int rc = schema_compare(r->db, STORE_NEWEST, &all, e);
    for (size_t i = 0; rc == 0 && i < all.count; i++) {
        const struct schema_part *d = &all.items[i];
        if (d->state != SCHEMA_MISSING || !d->sql || !schema_can_be_made(d->type))
            continue;
        examples_add(x, d->name);
        rc = db_exec(r->db, d->sql, e);
    }
    return rc;
}

static int repair_rows(struct repair *r, const struct toml_node *asked, struct error *e)
{
    const struct toml_node *questions = toml_child(asked, "question");
    if (db_begin(r->db, e) < 0)
        return -1;
    int rc = make_missing_parts(r, e);
    for (size_t i = 0; rc == 0 && i < questions->child_count; i++)
        if (known_text(&questions->children[i], "repair"))
            rc = put_right(r, asked, &questions->children[i], e);
    return db_end(r->db, rc, e);
}

/* --- directories --- */

/* "KEY/3" becomes "orphans/KEY-3", or "orphans/KEY-3.2" and so on; what holds nothing goes. */
static int move_aside(const char *directory, const char *name, struct error *e)
{
    OWNED char *from = xasprintf("%s/%s", directory, name), *to = xasprintf("%s/orphans/%s", directory, name);
    char *slash = strrchr(to, '/');
    *slash = '-';
    int rc = rmdir(from);
    for (int again = 2; rc < 0 && store_exists(to); again++) {
        free(to);
        to = xasprintf("%s/orphans/%s.%d", directory, name, again);
        strchr(to + strlen(directory) + strlen("/orphans/"), '/')[0] = '-';
    }
    if (rc < 0 && rename(from, to) < 0)
        rc = error_errno(e, errno, "%s: cannot be moved to %s", from, to);
    else
        rc = 0;
    return rc;
}

static int clear_directories(struct repair *r, struct error *e)
{
    OWNED char *directory = store_directory_of(r->db), *orphans = xasprintf("%s/orphans", directory);
    OWNED_LIST s = STRING_LIST_INIT;
    int rc = audit_unowned_directories(r->db, directory, &s, e);
    struct examples *moved =
        note(r, "directories that belong to no attempt", "they are now in `orphans`; empty ones were removed");
    if (rc == 0 && s.count)
        rc = file_make_directories(orphans, e);
    for (size_t i = 0; rc == 0 && i < s.count; i++)
        if ((rc = move_aside(directory, s.items[i], e)) == 0)
            examples_add(moved, s.items[i]);
    rmdir(orphans); /* where nothing was moved into it */
    return rc;
}

/* --- the whole --- */

static void tell_restored(const struct string_list *restored, audit_found *done, void *context)
{
    struct examples x = EXAMPLES_INIT;
    for (size_t i = 0; i < restored->count; i++)
        examples_add(&x, restored->items[i]);
    const struct audit_finding finding = {"parts of the schema that were not as meshsweep makes them",
                                          buffer_text(&x.text), x.count, "they are again, or were removed"};
    if (x.count)
        done(context, &finding);
    examples_free(&x);
}

int audit_repair(struct db *db, const struct string_list *restored, audit_found *done, void *context, struct error *e)
{
    struct repair r = {.db = db};
    tell_restored(restored, done, context);
    if (schema_refuse_damaged(db, e) < 0 || row_sums_add(db, e) < 0)
        return -1;
    struct toml_node *asked = toml_carried("knowledge/audit.toml");
    int rc = repair_rows(&r, asked, e);
    size_t durable = rc == 0 ? r.count : 0;
    if (rc == 0) {
        rc = clear_directories(&r, e);
        durable = r.count;
    }
    for (size_t i = 0; i < r.count; i++) {
        struct done *d = &r.done[i];
        const struct audit_finding finding = {d->what, buffer_text(&d->examples.text), d->examples.count, d->how};
        if (i < durable && d->examples.count)
            done(context, &finding);
        examples_free(&d->examples);
    }
    free(r.done);
    toml_free(asked);
    return rc;
}

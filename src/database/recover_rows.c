#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "database/audit.h"
#include "database/audit_files.h"
#include "database/audit_questions.h"
#include "database/examples.h"
#include "database/open.h"
#include "database/row_sums.h"
#include "database/schema.h"
#include "util/file.h"
#include "util/memory.h"

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
    r->done = array_grow(r->done, r->count, sizeof *r->done);
    r->done[r->count] = (struct done){what, how, EXAMPLES_INIT};
    return &r->done[r->count++].examples;
}

/* --- rows --- */

static int put_right(struct repair *r, const struct audit_question *q, struct error *e)
{
    struct examples x = EXAMPLES_INIT;
    if (examples_query(r->db, q->sql, &x, e) < 0) {
        examples_free(&x);
        return -1;
    }
    if (x.count == 0)
        return 0;
    *note(r, q->what, q->repaired) = x;
    return db_exec(r->db, q->repair_sql, e);
}

struct missing_parts {
    char **sql;
    size_t count;
    struct examples names;
};

static void collect_part(void *context, const struct schema_difference *d)
{
    struct missing_parts *m = context;
    if (d->state != SCHEMA_MISSING || !d->sql || !schema_can_be_made(d->type))
        return;
    *array_add(m->sql, m->count) = xstrdup(d->sql);
    examples_add(&m->names, d->name);
}

static int make_missing_parts(struct repair *r, struct error *e)
{
    struct missing_parts m = {NULL, 0, EXAMPLES_INIT};
    int rc = schema_compare(r->db, STORE_NEWEST, collect_part, &m, e);
    for (size_t i = 0; i < m.count; i++) {
        if (rc == 0)
            rc = db_exec(r->db, m.sql[i], e);
        free(m.sql[i]);
    }
    free(m.sql);
    if (m.count)
        *note(r, "indexes and triggers that were missing", "they were created again") = m.names;
    return rc;
}

static int repair_rows(struct repair *r, struct error *e)
{
    if (db_begin(r->db, e) < 0)
        return -1;
    int rc = make_missing_parts(r, e);
    for (size_t i = 0; rc == 0 && i < audit_question_count; i++)
        if (audit_questions[i].repair_sql)
            rc = put_right(r, &audit_questions[i], e);
    if (rc == 0)
        return db_commit(r->db, e);
    db_rollback(r->db);
    return -1;
}

/* --- directories --- */

struct unowned {
    char **names;
    size_t count;
};

static void collect_unowned(void *context, const char *name)
{
    struct unowned *s = context;
    *array_add(s->names, s->count) = xstrdup(name);
}

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
    struct unowned s = {NULL, 0};
    int rc = audit_unowned_directories(r->db, directory, collect_unowned, &s, e);
    struct examples *moved =
        s.count ? note(r, "directories that belong to no attempt", "they are now in `orphans`; empty ones were removed")
                : NULL;
    if (rc == 0 && s.count)
        rc = file_make_directories(orphans, e);
    for (size_t i = 0; i < s.count; i++) {
        if (rc == 0)
            rc = move_aside(directory, s.names[i], e);
        if (rc == 0)
            examples_add(moved, s.names[i]);
        free(s.names[i]);
    }
    rmdir(orphans); /* where nothing was moved into it */
    free(s.names);
    return rc;
}

/* --- the whole --- */

static int refuse_damaged(struct db *db, const char *path, struct error *e)
{
    int64_t damage;
    struct error unreadable = ERROR_INIT;
    if (db_query_int(db, audit_damage_sql, NO_VALUES, 0, &damage, &unreadable) == 0 && damage == 0)
        return 0;
    return error_set(e, ERROR_FAILED,
                     "database %s: it is damaged, so nothing was repaired; `meshsweep check -d %s` says what is wrong "
                     "and what to do",
                     path, path);
}

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

int audit_repair(struct db *db, const char *path, const struct string_list *restored, audit_found *done, void *context,
                 struct error *e)
{
    struct repair r = {db, NULL, 0};
    tell_restored(restored, done, context);
    if (refuse_damaged(db, path, e) < 0 || row_sums_add(db, e) < 0)
        return -1;
    int rc = repair_rows(&r, e);
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
    return rc;
}

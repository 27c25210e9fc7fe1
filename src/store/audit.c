#include "store/audit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/audit_files.h"
#include "store/audit_questions.h"
#include "store/examples.h"
#include "store/lock.h"
#include "store/open.h"
#include "store/schema.h"
#include "util/memory.h"

struct audit {
    struct db *db;
    const char *path;
    char *directory; /* of job files */
    audit_found *found;
    void *context;
    size_t count;
};

/* Tells the finding if there is any, and releases the examples. */
static void conclude(struct audit *a, struct examples *x, const char *what, const char *advice)
{
    if (x->count) {
        const struct audit_finding finding = {what, buffer_text(&x->text), x->count, advice};
        a->found(a->context, &finding);
        a->count++;
    }
    examples_free(x);
}

static void cannot_be_read(struct audit *a, const struct error *e)
{
    struct examples unread = EXAMPLES_INIT;
    examples_add(&unread, e->text);
    conclude(a, &unread, "tables that cannot be read", audit_questions[0].advice);
}

static void ask(struct audit *a, const struct audit_question *q)
{
    struct examples x = EXAMPLES_INIT;
    struct error e = ERROR_INIT;
    int rc = examples_query(a->db, q->sql, &x, &e);
    conclude(a, &x, q->what, q->advice);
    if (rc < 0)
        cannot_be_read(a, &e);
}

/* --- the schema --- */

static void note_difference(void *context, const struct schema_difference *d)
{
    struct examples *x = context;
    char *text = xasprintf("%s %s (%s)", d->type, d->name, d->is_missing ? "missing" : "changed");
    examples_add(&x[!(d->is_missing && schema_can_be_made(d->type))], text);
    free(text);
}

static void compare_schema(struct audit *a)
{
    struct examples x[] = {EXAMPLES_INIT, EXAMPLES_INIT};
    struct error e = ERROR_INIT;
    int rc = schema_compare(a->db, note_difference, x, &e);
    conclude(a, &x[0], "indexes and triggers that are missing", "`meshsweep check --repair -d FILE` makes them again");
    conclude(a, &x[1], "parts of the schema that another program changed",
             "make a new database by `meshsweep run -d NEW`, or restore a copy of this one");
    if (rc < 0)
        cannot_be_read(a, &e);
}

/* --- directories of attempts --- */

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int find_missing(struct audit *a, struct error *e)
{
    struct examples x = EXAMPLES_INIT;
    struct stmt *s = NULL;
    int rc;
    if (db_prepare(a->db, "SELECT directory FROM attempt WHERE directory IS NOT NULL", &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0) {
        const char *name = stmt_text(s, 0);
        char *path = name[0] == '/' ? xstrdup(name) : xasprintf("%s/%s", a->directory, name);
        if (!is_directory(path))
            examples_add(&x, name);
        free(path);
    }
    stmt_free(s);
    conclude(a, &x, "attempts whose files are gone",
             "nothing need be done: what they measured is in the database; their logs are lost");
    return rc;
}

static void note_stray(void *context, const char *name)
{
    examples_add(context, name);
}

static int find_strays(struct audit *a, struct error *e)
{
    struct examples x = EXAMPLES_INIT;
    int rc = audit_stray_directories(a->db, a->directory, note_stray, &x, e);
    char *advice = xasprintf("they may be deleted; they are in %s; `meshsweep check --repair -d FILE` moves them aside",
                             a->directory);
    conclude(a, &x, "directories that no attempt has", advice);
    free(advice);
    return rc;
}

int audit_run(struct db *db, const char *path, audit_found *found, void *context, size_t *count, struct error *e)
{
    struct audit a = {db, path, store_directory(path), found, context, 0};
    enum audit_when not_now = writer_lock_is_held(path) ? AUDIT_WITHOUT_RUNNER : AUDIT_WITH_RUNNER;
    for (size_t i = 0; i < audit_question_count; i++)
        if (audit_questions[i].when != not_now)
            ask(&a, &audit_questions[i]);
    compare_schema(&a);
    int rc = find_missing(&a, e);
    /* A runner makes directories before it records them. */
    if (rc == 0 && not_now == AUDIT_WITH_RUNNER)
        rc = find_strays(&a, e);
    free(a.directory);
    *count = a.count;
    return rc;
}

#include "database/schema.h"

#include <stdlib.h>
#include <string.h>

#include "database/open.h"
#include "util/memory.h"

static int compare_one(struct stmt *here, struct schema_difference *d, bool *differs, struct error *e)
{
    stmt_bind_text(here, 1, d->type);
    stmt_bind_text(here, 2, d->name);
    int rc = stmt_next(here, e);
    d->is_missing = rc == 0;
    *differs = rc == 0 || (rc > 0 && strcmp(stmt_text(here, 0), d->sql) != 0);
    stmt_reset(here);
    return rc < 0 ? -1 : 0;
}

int schema_compare(struct db *db, void (*found)(void *context, const struct schema_difference *d), void *context,
                   struct error *e)
{
    struct db *blank = NULL;
    struct stmt *expected = NULL, *here = NULL;
    int rc = store_open_blank(&blank, e);
    if (rc == 0)
        rc = db_prepare(blank, "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL", &expected, e);
    if (rc == 0)
        rc = db_prepare(db, "SELECT coalesce(sql, '') FROM sqlite_schema WHERE type = ? AND name = ?", &here, e);
    while (rc == 0 && (rc = stmt_next(expected, e)) > 0) {
        struct schema_difference d = {stmt_text(expected, 0), stmt_text(expected, 1), stmt_text(expected, 2), false};
        bool differs;
        rc = compare_one(here, &d, &differs, e);
        if (rc == 0 && differs)
            found(context, &d);
    }
    stmt_free(here);
    stmt_free(expected);
    db_close(blank);
    return rc;
}

bool schema_can_be_made(const char *type)
{
    return strcmp(type, "table") != 0;
}

int schema_take_index(struct db *db, const char *name, char **sql, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?", &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, name);
    int rc = stmt_next(s, e);
    char *text = rc > 0 ? stmt_copy_text(s, 0) : NULL;
    stmt_free(s);
    char *drop = xasprintf("DROP INDEX IF EXISTS \"%s\"", name);
    rc = rc < 0 ? -1 : db_exec(db, drop, e);
    free(drop);
    if (rc == 0)
        *sql = text;
    else
        free(text);
    return rc;
}

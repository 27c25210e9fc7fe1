#include "database/schema.h"

#include <stdlib.h>
#include <string.h>

#include "database/open.h"
#include "util/memory.h"

static int compare_one(struct stmt *here, struct schema_difference *d, bool *differs, struct error *e)
{
    stmt_bind(here, VALUES(sql_text(d->type), sql_text(d->name)));
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
    char *text = NULL, *drop = xasprintf("DROP INDEX IF EXISTS \"%s\"", name);
    int rc = db_query_text(db, "SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?",
                           VALUES(sql_text(name)), &text, e);
    if (rc == 0)
        rc = db_exec(db, drop, e);
    free(drop);
    if (rc == 0)
        *sql = text;
    else
        free(text);
    return rc;
}

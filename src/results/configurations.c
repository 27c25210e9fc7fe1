#include "results/configurations.h"

#include <string.h>

#include "results/measured.h"
#include "util/embedded.h"
#include "util/memory.h"

/* --- SQL --- */

int configurations_add(struct db *db, enum configurations_sql which, struct buffer *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    const int rc =
        db_next(db, embedded_text("sql/configurations.sql"), VALUES(sql_text(MEASURED_AS_ASKED("a"))), &s, e);
    if (rc > 0 && !stmt_is_null(s, (int)which))
        buffer_add_text(out, stmt_text(s, (int)which));
    return rc < 0 ? -1 : 0;
}

/* --- asking --- */

int configurations_suppose(struct db *db, const char *keys_json, struct error *e)
{
    OWNED_BUFFER view = BUFFER_INIT;
    if (keys_json &&
        (db_exec(db, "CREATE TEMP TABLE meta AS SELECT * FROM main.meta WHERE name <> 'group_by'", e) < 0 ||
         db_run(db, "INSERT INTO meta VALUES ('group_by', ?)", VALUES(sql_text(keys_json)), e) < 0))
        return -1;
    if (configurations_add(db, CONFIGURATIONS_VIEW, &view, e) < 0)
        return -1;
    if (!view.length)
        return 0;
    OWNED char *temporary = xasprintf("CREATE TEMP VIEW%s", buffer_text(&view) + strlen("CREATE VIEW"));
    return db_exec(db, temporary, e);
}

int configurations_ask(struct db *db, const char *name, const struct competition *c, struct sql_values values,
                       struct stmt **out, struct error *e)
{
    static const char begin[] = "\nWITH\n";
    OWNED_BUFFER sql = BUFFER_INIT;
    buffer_printf(&sql, "%smeasured AS NOT MATERIALIZED (SELECT a.id FROM attempt AS a WHERE %s),\n%s%s", begin,
                  MEASURED_AS_ASKED("a"),
                  c->replicates || c->groups ? "" : "configurations AS (SELECT * FROM ranked_job),\n",
                  strstr(embedded_text(name), begin) + strlen(begin));
    return db_query(db, buffer_text(&sql), values, out, e);
}

int configurations_compete(struct db *db, struct competition *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db,
                     "SELECT EXISTS (SELECT 1 FROM meta WHERE name = 'replicate'),"
                     " EXISTS (SELECT 1 FROM meta WHERE name = 'group_by')"
                     " FROM (SELECT * FROM sqlite_schema UNION ALL SELECT * FROM sqlite_temp_schema)"
                     " WHERE type = 'view' AND name = 'configurations' LIMIT 1",
                     NO_VALUES, &s, e);
    *out = (struct competition){rc > 0 && stmt_int(s, 0), rc > 0 && stmt_int(s, 1)};
    return rc < 0 ? -1 : 0;
}

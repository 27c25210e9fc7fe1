#include "store/selection.h"

#include <stdlib.h>

#include "util/memory.h"

struct selection {
    struct stmt *add, *add_key;
};

int selection_open(struct db *db, struct selection **out, struct error *e)
{
    struct selection *s = xcalloc(1, sizeof *s);
    if (db_exec(db, "DROP TABLE IF EXISTS temp.selected; CREATE TEMP TABLE selected (job_id INTEGER PRIMARY KEY)", e) <
            0 ||
        db_prepare(db, "INSERT OR IGNORE INTO temp.selected VALUES (?)", &s->add, e) < 0 ||
        db_prepare(db, "INSERT OR IGNORE INTO temp.selected SELECT id FROM job WHERE key = ?", &s->add_key, e) < 0) {
        selection_close(s);
        return -1;
    }
    *out = s;
    return 0;
}

void selection_close(struct selection *s)
{
    if (!s)
        return;
    stmt_free(s->add);
    stmt_free(s->add_key);
    free(s);
}

int selection_add(struct selection *s, int64_t job_id, struct error *e)
{
    return stmt_run_with(s->add, VALUES(sql_int(job_id)), e);
}

int selection_add_key(struct selection *s, const struct hash128 *key, struct error *e)
{
    return stmt_run_with(s->add_key, VALUES(sql_hash(key)), e);
}

#include "database/merge.h"

#include "database/attempt_sums.h"
#include "database/open.h"
#include "util/embedded.h"
#include "util/memory.h"

/* Checks that it is a database of this version, and reads which. */
static int identify(const char *source, char **identity, struct error *e)
{
    struct db *db = NULL;
    if (store_open_reading(source, STORE_READ_NEWEST, &db, e) < 0)
        return -1;
    int rc = store_identity(db, identity, e);
    store_close(db);
    return rc;
}

static int note_source(struct db *db, const char *source, const char *identity, const char *given, struct error *e)
{
    OWNED char *own = NULL;
    if (store_identity(db, &own, e) < 0)
        return -1;
    OWNED char *directory = given ? xstrdup(given) : store_directory(source);
    return db_run(db, "CREATE TEMP TABLE merging AS SELECT ?1 AS own_identity, ?2 AS source_identity, ?3 AS directory",
                  VALUES(sql_text(own), sql_text(identity), sql_text(directory)), e);
}

static int count(struct db *db, struct merge_counts *out, struct error *e)
{
    return db_query_int(db, "SELECT count(*) FROM main.job", NO_VALUES, 0, &out->jobs, e) < 0 ||
                   db_query_int(db, "SELECT count(*) FROM main.attempt", NO_VALUES, 0, &out->attempts, e) < 0
               ? -1
               : 0;
}

static int add_source(struct db *db, const char *source, const char *identity, const struct merge_steps *steps,
                      struct merge_counts *counts, struct error *e)
{
    struct merge_counts before = {0}, after = {0};
    if (db_begin(db, e) < 0)
        return -1;
    int rc = steps->before(db, source, e) < 0 || note_source(db, source, identity, steps->directory, e) < 0 ||
                     count(db, &before, e) < 0 || db_exec(db, embedded_text("sql/merge.sql"), e) < 0 ||
                     db_exec(db, embedded_text("sql/settle_imports.sql"), e) < 0 || attempt_sums_follow(db, e) < 0 ||
                     steps->after(db, e) < 0 || count(db, &after, e) < 0 ||
                     db_exec(db, "DROP TABLE temp.merging; DROP TABLE temp.merged_job; DROP TABLE temp.moved", e) < 0
                 ? -1
                 : 0;
    if (db_end(db, rc, e) < 0)
        return -1;
    counts->jobs += after.jobs - before.jobs;
    counts->attempts += after.attempts - before.attempts;
    return 0;
}

int merge_database(struct db *db, const char *source, const struct merge_steps *steps, struct merge_counts *counts,
                   struct error *e)
{
    OWNED char *identity = NULL;
    int rc = identify(source, &identity, e) < 0 ? -1 : db_run(db, "ATTACH ? AS source", VALUES(sql_text(source)), e);
    if (rc == 0) {
        rc = add_source(db, source, identity, steps, counts, e);
        struct error ignored = ERROR_INIT;
        db_exec(db, "DETACH source", &ignored);
    }
    return rc < 0 ? error_context(e, "merging %s", source) : 0;
}

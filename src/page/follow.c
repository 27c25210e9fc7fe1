#include "page/page.h"

#include <stdlib.h>
#include <string.h>

#include "page/sections.h"
#include "results/measured.h"
#include "results/status.h"
#include "util/file.h"
#include "util/memory.h"

#define ATTEMPTS_MOST 2000

/* --- their rows --- */

static void add_row(struct html_follower *f, const struct stmt *s, struct buffer *out)
{
    enum html_role section = HTML_FIXED;
    const int last = stmt_column_count(s) - 1;
    bool first = true;
    buffer_printf(out, "[%lld,{", (long long)stmt_int(s, 0));
    for (int i = 1; i < last; i++) {
        const char *title = stmt_column_name(s, i);
        if (!html_is_outcome(title, html_role_of(title, &section)) || stmt_is_null(s, i))
            continue;
        f->outdated |= string_list_find(&f->columns, title) == f->columns.count;
        buffer_add_text(out, first ? "" : ",");
        html_add_json_column(out, s, i, HTML_LEVEL_MOST);
        first = false;
    }
    buffer_printf(out, "},%s]", stmt_int(s, last) ? "true" : "false");
}

/* Jobs with an attempt that was open at the last look, since they may have ended, and those of attempts since. */
static const char changed_sql[] =
    "SELECT value FROM json_each(?1) UNION SELECT job_id FROM attempt WHERE id > ?2 AND id <= ?3";

static int hand_over(struct db *db, struct html_follower *f, int64_t newest, const struct html_rows_sink *sink,
                     struct error *e)
{
    OWNED_STMT *jobs = NULL, *s = NULL;
    int rc = db_prepare(db,
                        "SELECT r.*, a.id IS NOT NULL AND NOT " MEASURED_AS_ASKED(
                            "a") " FROM results AS r JOIN job AS j ON j.id = r.job LEFT JOIN attempt AS a ON a.id = "
                                 "j.attempt_id"
                                 " WHERE r.job = ?1 AND j.sweep_id = ?2",
                        &s, e);
    const struct sql_values which = VALUES(sql_text(f->open), sql_int(f->newest), sql_int(newest));
    while (rc >= 0 && (rc = db_next(db, changed_sql, which, &jobs, e)) > 0) {
        OWNED_BUFFER row = BUFFER_INIT;
        stmt_reset(s);
        stmt_bind(s, VALUES(sql_int(stmt_int(jobs, 0)), sql_int(f->sweep_id)));
        if ((rc = stmt_next(s, e)) > 0) {
            add_row(f, s, &row);
            sink->take(sink->context, stmt_int(jobs, 0), &row);
        }
    }
    return rc < 0 ? -1 : 0;
}

/* --- all of it --- */

/* How things stand: the sweep, its newest job and attempt, and the jobs of open attempts. */
static int read_now(struct db *db, struct html_follower *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db,
                     "SELECT coalesce((SELECT id FROM current_sweep), 0), (SELECT coalesce(max(id), 0) FROM job),"
                     " (SELECT coalesce(max(id), 0) FROM attempt),"
                     " (SELECT json_group_array(job_id) FROM attempt WHERE state IN ('claimed', 'running'))",
                     NO_VALUES, &s, e);
    if (rc > 0)
        *out = (struct html_follower){.sweep_id = stmt_int(s, 0),
                                      .last_job = stmt_int(s, 1),
                                      .newest = stmt_int(s, 2),
                                      .open = stmt_copy_text(s, 3)};
    return rc < 0 ? -1 : 0;
}

static int follow_once(struct db *db, struct html_follower *f, const struct html_rows_sink *sink, struct error *e)
{
    struct html_follower now = HTML_FOLLOWER_INIT;
    int64_t newest = 0;
    if (read_now(db, &now, e) < 0)
        return -1;
    f->outdated |= now.sweep_id != f->sweep_id || now.last_job != f->last_job;
    /* Of many attempts at once, the first ones. */
    int rc = now.sweep_id != f->sweep_id
                 ? 0
                 : db_query_int(db, "SELECT max(id) FROM (SELECT id FROM attempt WHERE id > ?1 ORDER BY id LIMIT ?2)",
                                VALUES(sql_int(f->newest), sql_int(ATTEMPTS_MOST)), 0, &newest, e);
    newest = newest > f->newest ? newest : f->newest;
    if (rc == 0 && now.sweep_id == f->sweep_id)
        rc = hand_over(db, f, newest, sink, e);
    if (rc == 0 && now.sweep_id == f->sweep_id) {
        free(f->open);
        f->open = now.open;
        f->newest = newest;
        f->more = newest < now.newest;
        now.open = NULL;
    }
    free(now.open);
    return rc;
}

static int read_search(struct db *db, struct html_follower *f, const char *database, struct error *e)
{
    OWNED_JSON *search = NULL;
    OWNED_STMT *s = NULL;
    if (status_search_read(db, f->sweep_id, &search, e) < 0)
        return -1;
    int rc = db_next(db,
                     "SELECT path, (SELECT count(*) FROM job WHERE state = 'pending' AND sweep_id = ?1) FROM sweep"
                     " WHERE id = ?1",
                     VALUES(sql_int(f->sweep_id)), &s, e);
    f->search.length = 0;
    if (rc > 0)
        html_add_search(&f->search, search, stmt_int(s, 1), path_name(stmt_text(s, 0)), database);
    return rc < 0 ? -1 : 0;
}

int html_follow(struct db *db, struct html_follower *f, const char *database, const struct html_rows_sink *sink,
                struct error *e)
{
    if (db_read_begin(db, e) < 0)
        return -1;
    int rc = follow_once(db, f, sink, e) < 0 ? -1 : read_search(db, f, database, e);
    db_read_end(db);
    return rc;
}

int html_follow_begin(struct db *db, struct html_follower *f, struct error *e)
{
    html_follower_free(f);
    return read_now(db, f, e);
}

void html_follower_free(struct html_follower *f)
{
    free(f->open);
    buffer_free(&f->search);
    string_list_free(&f->columns);
    *f = HTML_FOLLOWER_INIT;
}

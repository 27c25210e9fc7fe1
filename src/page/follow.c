#include "page/page.h"

#include <stdlib.h>
#include <string.h>

#include "page/sections.h"
#include "results/measured.h"
#include "results/status.h"
#include "util/file.h"
#include "util/memory.h"

#define ATTEMPTS_MOST 2000

struct job_ids {
    int64_t *ids;
    size_t count;
};

static void add_job(struct job_ids *l, int64_t id)
{
    *array_add(l->ids, l->count) = id;
}

static int read_sweep_id(struct db *db, int64_t *out, struct error *e)
{
    return db_query_int(db, "SELECT id FROM current_sweep", NO_VALUES, 0, out, e);
}

static int read_last_job(struct db *db, int64_t *out, struct error *e)
{
    return db_query_int(db, "SELECT coalesce(max(id), 0) FROM job", NO_VALUES, 0, out, e);
}

static int read_open(struct db *db, struct job_ids *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, "SELECT job_id FROM attempt WHERE state IN ('claimed', 'running')", NO_VALUES, &s, e)) > 0)
        add_job(out, stmt_int(s, 0));
    return rc;
}

static int read_begun(struct db *db, int64_t *newest, struct job_ids *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, "SELECT id, job_id FROM attempt WHERE id > ?1 ORDER BY id LIMIT ?2",
                         VALUES(sql_int(*newest), sql_int(ATTEMPTS_MOST)), &s, e)) > 0) {
        *newest = stmt_int(s, 0);
        add_job(out, stmt_int(s, 1));
    }
    return rc;
}

/* --- their rows --- */

static void add_value(struct buffer *out, const struct stmt *s, int column)
{
    enum column_type type = stmt_type(s, column);
    html_add_json(out, "", stmt_column_name(s, column), HTML_NAME_MOST);
    buffer_add_char(out, ':');
    if (type == COLUMN_INT || type == COLUMN_FLOAT)
        html_add_json_number(out, stmt_double(s, column));
    else
        html_add_json(out, "", stmt_text(s, column), HTML_LEVEL_MOST);
}

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
        add_value(out, s, i);
        first = false;
    }
    buffer_printf(out, "},%s]", stmt_int(s, last) ? "true" : "false");
}

static int by_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int hand_over(struct db *db, struct html_follower *f, struct job_ids *jobs, const struct html_rows_sink *sink,
                     struct error *e)
{
    struct stmt *s = NULL;
    int rc = 0;
    if (db_prepare(db,
                   "SELECT r.*, a.id IS NOT NULL AND NOT " MEASURED_AS_ASKED(
                       "a") " FROM results AS r JOIN job AS j ON j.id = r.job LEFT JOIN attempt AS a ON a.id = "
                            "j.attempt_id"
                            " WHERE r.job = ?1 AND j.sweep_id = ?2",
                   &s, e) < 0)
        return -1;
    if (jobs->count)
        qsort(jobs->ids, jobs->count, sizeof *jobs->ids, by_id);
    for (size_t i = 0; rc >= 0 && i < jobs->count; i++) {
        struct buffer row = BUFFER_INIT;
        if (i > 0 && jobs->ids[i] == jobs->ids[i - 1])
            continue;
        stmt_reset(s);
        stmt_bind_int(s, 1, jobs->ids[i]);
        stmt_bind_int(s, 2, f->sweep_id);
        if ((rc = stmt_next(s, e)) > 0) {
            add_row(f, s, &row);
            sink->take(sink->context, jobs->ids[i], &row);
        }
        buffer_free(&row);
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

/* --- all of it --- */

/* Jobs that were open are read again, since they may have ended. */
static int look(struct db *db, struct html_follower *f, const struct html_rows_sink *sink, struct error *e)
{
    struct job_ids open = {NULL, 0}, changed = {NULL, 0};
    int64_t sweep_id = 0, last_job = 0, newest = f->newest;
    int rc = read_sweep_id(db, &sweep_id, e) < 0 || read_last_job(db, &last_job, e) < 0 ? -1 : 0;
    f->outdated |= rc == 0 && (sweep_id != f->sweep_id || last_job != f->last_job);
    for (size_t i = 0; i < f->open_count; i++)
        add_job(&changed, f->open[i]);
    const size_t before = changed.count;
    if (rc == 0 && sweep_id == f->sweep_id)
        rc = read_begun(db, &newest, &changed, e) < 0 || read_open(db, &open, e) < 0 ||
                     hand_over(db, f, &changed, sink, e) < 0
                 ? -1
                 : 0;
    if (rc == 0 && sweep_id == f->sweep_id) {
        free(f->open);
        f->open = open.ids;
        f->open_count = open.count;
        f->newest = newest;
        f->more = changed.count >= before + ATTEMPTS_MOST;
        open.ids = NULL;
    }
    free_all(open.ids, changed.ids);
    return rc;
}

static int read_search(struct db *db, struct html_follower *f, const char *database, struct error *e)
{
    cJSON *search = NULL;
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
    cJSON_Delete(search);
    return rc < 0 ? -1 : 0;
}

int html_follow(struct db *db, struct html_follower *f, const char *database, const struct html_rows_sink *sink,
                struct error *e)
{
    if (db_read_begin(db, e) < 0)
        return -1;
    int rc = look(db, f, sink, e) < 0 ? -1 : read_search(db, f, database, e);
    db_read_end(db);
    return rc;
}

int html_follow_begin(struct db *db, struct html_follower *f, struct error *e)
{
    struct job_ids open = {NULL, 0};
    html_follower_free(f);
    if (db_read_begin(db, e) < 0)
        return -1;
    int rc = read_sweep_id(db, &f->sweep_id, e) < 0 ||
                     db_query_int(db, "SELECT coalesce(max(id), 0) FROM attempt", NO_VALUES, 0, &f->newest, e) < 0 ||
                     read_last_job(db, &f->last_job, e) < 0
                 ? -1
                 : read_open(db, &open, e);
    db_read_end(db);
    f->open = open.ids;
    f->open_count = open.count;
    return rc < 0 ? -1 : 0;
}

void html_follower_free(struct html_follower *f)
{
    free(f->open);
    buffer_free(&f->search);
    string_list_free(&f->columns);
    *f = HTML_FOLLOWER_INIT;
}

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/session.h"
#include "commands/commands.h"
#include "database/lock.h"
#include "database/open.h"
#include "database/samples.h"
#include "process/archived_file.h"
#include "process/job_file.h"
#include "process/process.h"
#include "results/job_record.h"
#include "results/json.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/memory.h"
#include "util/parse.h"

/* The counts of what was compressed. */
struct archive_counts {
    int64_t files, failed, samples;
    struct archived_change bytes, database;
    int64_t free; /* bytes of the database */
};

struct archiving {
    const struct archive_options *options;
    struct db *db; /* NULL: closed */
    bool leaves_samples;
    struct archive_counts counts;
};

struct archived_attempt {
    int64_t id, job_id; /* 0: a fixture's start */
    char *directory;    /* NULL: none, or one of another database, which a merged attempt has and which is that one's */
    bool has_samples;   /* that may be turned */
};

struct archived_attempts {
    struct archived_attempt *items;
    size_t count;
};

/* --- which attempts --- */

/* The words' jobs as a JSON list, which is the caller's; NULL: all. Each must have ended. */
static int list_jobs(struct db *db, const struct arguments *a, char **out, struct error *e)
{
    static const char sql[] = "SELECT id FROM job WHERE id = ?1 AND (state IN ('running', 'pending') OR EXISTS"
                              " (SELECT 1 FROM attempt WHERE job_id = ?1 AND state IN ('claimed', 'running')))";
    struct buffer list = BUFFER_INIT;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < a->word_count; i++) {
        int64_t job = 0, open = 0;
        rc = job_named(db, a->words[i], &job, e);
        if (rc == 0)
            rc = db_query_int(db, sql, VALUES(sql_int(job)), 0, &open, e);
        if (rc == 0 && open)
            rc = error_set(e, ERROR_USAGE,
                           "archive: job %" PRId64 " has not ended; its files are left alone until then", job);
        buffer_printf(&list, "%s%" PRId64, i ? "," : "[", job);
    }
    if (a->word_count) {
        buffer_add_char(&list, ']');
        *out = buffer_take(&list);
    }
    return rc;
}

/* Attempts in the order of their jobs, so that no statement is open while they are worked at. */
static int list_attempts(struct db *db, const char *jobs, int64_t until_ms, bool undo, struct archived_attempts *out,
                         struct error *e)
{
    static const char sql[] =
        "SELECT a.id, a.job_id, iif(a.directory NOT LIKE '/%', a.directory, NULL),"
        " iif(?3, EXISTS (SELECT 1 FROM archived_metric WHERE attempt_id = a.id),"
        "  (SELECT 1 FROM metric WHERE attempt_id = a.id LIMIT 1 OFFSET 1) IS NOT NULL)"
        " FROM attempt AS a JOIN job AS j ON j.id = a.job_id"
        " WHERE a.state IN ('ok', 'failed') AND j.state IN ('ok', 'failed')"
        " AND coalesce(a.ended, 0) <= ?1 AND (?2 IS NULL OR j.id IN (SELECT value FROM json_each(?2)))"
        " AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = j.id AND state IN ('claimed', 'running'))"
        " ORDER BY a.job_id, a.id";
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, VALUES(sql_int(until_ms), sql_text(jobs), sql_int(undo)), &s, e)) > 0)
        *array_add(out->items, out->count) =
            (struct archived_attempt){stmt_int(s, 0), stmt_int(s, 1), stmt_copy_text(s, 2), stmt_int(s, 3) != 0};
    return rc;
}

/* What ended with its jobs. A set-up step is done for later ones, too, and what it wrote is theirs. */
static int list_fixtures(struct db *db, int64_t until_ms, struct archived_attempts *out, struct error *e)
{
    static const char sql[] = "SELECT directory FROM fixture_start WHERE state IN ('ended', 'failed')"
                              " AND directory NOT LIKE '/%' AND coalesce(ended, 0) <= ? ORDER BY id";
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, VALUES(sql_int(until_ms)), &s, e)) > 0)
        *array_add(out->items, out->count) = (struct archived_attempt){.directory = stmt_copy_text(s, 0)};
    return rc;
}

/* --- their samples --- */

static int find_size(struct archiving *g, int64_t *bytes, struct error *e)
{
    static const char sql[] = "SELECT page_size * page_count, page_size * freelist_count"
                              " FROM pragma_page_size, pragma_page_count, pragma_freelist_count";
    OWNED_STMT *s = NULL;
    const int rc = db_next(g->db, sql, NO_VALUES, &s, e);
    *bytes = rc > 0 ? stmt_int(s, 0) : 0;
    g->counts.free = rc > 0 ? stmt_int(s, 1) : 0;
    return rc < 0 ? -1 : 0;
}

/* Attempts of one job, the first of `list`. */
static int turn_job(struct archiving *g, const struct archived_attempt *list, size_t count, struct error *e)
{
    const struct archive_options *o = g->options;
    int64_t samples = 0;
    int rc = o->dry_run ? 0 : db_begin(g->db, e);
    if (rc < 0)
        return -1;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = o->undo ? samples_bring_back(g->db, list[i].id, o->dry_run, &samples, e)
                     : samples_archive(g->db, list[i].id, o->dry_run, &samples, e);
    g->counts.samples += samples;
    if (o->dry_run)
        return rc;
    FAULT(ARCHIVE_PACKED);
    if (rc == 0 && samples > 0)
        rc = db_commit(g->db, e);
    else
        db_rollback(g->db);
    FAULT(ARCHIVE_COMMITTED);
    return rc;
}

/* What is free serves what comes, and where it is much, the disk. Whoever archives since the disk is full may have no
 * room for that. */
static int give_space_back(struct archiving *g, struct error *e)
{
    struct error why = ERROR_INIT;
    struct archive_counts *c = &g->counts;
    if (find_size(g, &c->database.to, e) < 0)
        return -1;
    if (c->samples == 0 || g->options->dry_run || c->free < c->database.to / 10)
        return 0;
    if (db_exec(g->db, "VACUUM", &why) < 0)
        output_message("what is free in the database stays in it: %s", why.text);
    FAULT(ARCHIVE_VACUUMED);
    return find_size(g, &c->database.to, e);
}

static int turn_samples(struct archiving *g, const struct archived_attempts *all, struct error *e)
{
    int rc = find_size(g, &g->counts.database.from, e);
    for (size_t at = 0, next; rc == 0 && at < all->count; at = next) {
        const struct archived_attempt *a = all->items;
        next = at + 1;
        if (!a[at].has_samples)
            continue;
        while (next < all->count && a[next].job_id == a[at].job_id && a[next].has_samples)
            next++;
        rc = turn_job(g, &a[at], next - at, e);
    }
    return rc < 0 ? -1 : give_space_back(g, e);
}

/* --- their files --- */

static const char *why(int error)
{
    return error == EBUSY    ? "something wrote to it meanwhile"
           : error == EEXIST ? "both it and what it is compressed to are there, and they differ"
                             : strerror(error);
}

static void turn_files(struct archiving *g, const char *path)
{
    const struct archive_options *o = g->options;
    struct archive_counts *counts = &g->counts;
    const enum archived_way way = o->undo ? ARCHIVED_UNPACK : ARCHIVED_PACK;
    int directory = job_directory_open(path);
    for (size_t i = 0; directory >= 0 && archived_names[i]; i++) {
        struct archived_change change;
        const int rc = archived_file_turn(directory, archived_names[i], way, o->dry_run, &change);
        if (rc > 0) {
            counts->files++;
            counts->bytes.from += change.from;
            counts->bytes.to += change.to;
        } else if (rc < 0) {
            counts->failed++;
            output_message("%s/%s stays as it is: %s", path, archived_names[i], why(errno));
        }
    }
    descriptor_close(&directory);
}

static int print(const struct archiving *g, struct error *e)
{
    const struct archive_counts *c = &g->counts;
    const bool dry = g->options->dry_run;
    cJSON *root = json_document(), *beside = cJSON_CreateObject();
    JSON_ADD(root, JSON_TRUTH("dry_run", dry), JSON_COUNT("file_count", c->files), JSON_COUNT("files_left", c->failed),
             JSON_COUNT("bytes_before", c->bytes.from), JSON_COUNT("bytes_after", dry ? -1 : c->bytes.to),
             JSON_COUNT("sample_count", g->leaves_samples ? -1 : c->samples),
             JSON_COUNT("database_bytes_before", g->leaves_samples ? -1 : c->database.from),
             JSON_COUNT("database_bytes_after", dry || g->leaves_samples ? -1 : c->database.to),
             JSON_COUNT("database_bytes_free", dry || g->leaves_samples ? -1 : c->free));
    cJSON_AddStringToObject(beside, "done", g->options->undo ? "brought back" : "compressed");
    return output_answer_take(g->options->json, "sql/texts/archive.sql", root, beside, e);
}

static int turn_all_files(struct archiving *g, const char *files, const struct archived_attempts *all, struct error *e)
{
    int lock = -1;
    if (archived_lock(files, &lock, e) < 0)
        return -1;
    for (size_t i = 0; i < all->count; i++) {
        OWNED char *path = xasprintf("%s/%s", files, all->items[i].directory ? all->items[i].directory : "");
        if (all->items[i].directory)
            turn_files(g, path);
    }
    descriptor_close(&lock);
    return 0;
}

/* --- the command --- */

/* A runner may be at work, which does not touch what has ended; but it alone writes to the database. */
static int open_store(struct archiving *g, struct error *e)
{
    const struct archive_options *o = g->options;
    const bool is_used = store_exists(o->db) && writer_lock_is_held(o->db);
    if (!o->dry_run && !is_used && store_exists(o->db))
        return session_open_store(o->db, &g->db, e);
    g->leaves_samples = is_used;
    if (is_used)
        output_message("samples stay as they are: another program is writing to %s; archive them after it", o->db);
    return store_open_read_only(o->db, &g->db, e);
}

static int archive_jobs(struct archiving *g, const char *jobs, int64_t until_ms, struct error *e)
{
    struct archived_attempts all = {0};
    OWNED char *files = store_directory_of(g->db);
    int rc = list_attempts(g->db, jobs, until_ms, g->options->undo, &all, e);
    if (rc == 0 && !jobs)
        rc = list_fixtures(g->db, until_ms, &all, e);
    if (rc == 0 && !g->leaves_samples)
        rc = turn_samples(g, &all, e);
    store_close(g->db);
    g->db = NULL;
    if (rc == 0)
        rc = turn_all_files(g, files, &all, e);
    for (size_t i = 0; i < all.count; i++)
        free(all.items[i].directory);
    free(all.items);
    return rc;
}

int command_archive(const struct archive_options *o, const struct arguments *a, struct error *e)
{
    struct archiving g = {.options = o};
    OWNED char *jobs = NULL;
    int64_t until_ms = INT64_MAX, age_ms;
    if (o->older_than && !parse_duration_ms(o->older_than, &age_ms))
        return error_set(e, ERROR_USAGE, "archive: --older-than %s: must be a time, such as 30d or 12h", o->older_than);
    if (o->older_than)
        until_ms = clock_wall_ms() - age_ms;
    if (open_store(&g, e) < 0)
        return -1;
    int rc = list_jobs(g.db, a, &jobs, e);
    if (rc == 0)
        rc = archive_jobs(&g, jobs, until_ms, e);
    store_close(g.db);
    if (rc == 0)
        rc = print(&g, e);
    return rc < 0 ? -1 : g.counts.failed ? STATUS_FAILED : STATUS_OK;
}

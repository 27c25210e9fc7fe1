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
#include "util/string_list.h"

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

/* --- which attempts --- */

/* The words' jobs as a JSON list, which is the caller's; NULL: all. Each must have ended. */
static int list_jobs(struct db *db, const struct arguments *a, char **out, struct error *e)
{
    static const char sql[] = "SELECT id FROM job WHERE id = ?1 AND (state IN ('running', 'pending') OR EXISTS"
                              " (SELECT 1 FROM attempt WHERE job_id = ?1 AND state IN ('claimed', 'running')))";
    OWNED_JSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < a->word_count; i++) {
        int64_t job, open = 0;
        if (job_named(db, a->words[i], &job, e) < 0 || db_query_int(db, sql, VALUES(sql_int(job)), 0, &open, e) < 0)
            return -1;
        if (open)
            return error_set(e, ERROR_USAGE,
                             "archive: job %" PRId64 " has not ended; its files are left alone until then", job);
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)job));
    }
    *out = a->word_count ? cJSON_PrintUnformatted(list) : NULL;
    return 0;
}

/* Attempts that ended by ?1, of jobs that did; of those of the list ?2, if there is one. */
#define ENDED_SQL                                                                                                      \
    " FROM attempt AS a JOIN job AS j ON j.id = a.job_id WHERE a.state IN ('ok', 'failed') AND j.state IN ('ok',"      \
    " 'failed') AND coalesce(a.ended, 0) <= ?1 AND (?2 IS NULL OR j.id IN (SELECT value FROM json_each(?2)))"          \
    " AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = j.id AND state IN ('claimed', 'running'))"

/* Of each job with samples that may be turned, its attempts as a list in JSON: so no statement is open while they are
 * worked at. */
static const char attempts_sql[] = "SELECT json_group_array(id) FROM (SELECT a.id, a.job_id" ENDED_SQL
                                   " AND iif(?3, EXISTS (SELECT 1 FROM archived_metric WHERE attempt_id = a.id),"
                                   " (SELECT 1 FROM metric WHERE attempt_id = a.id LIMIT 1 OFFSET 1) IS NOT NULL)"
                                   " ORDER BY a.job_id, a.id) GROUP BY job_id";

/* Not those of another database, which a merged attempt has and which are that one's. Of all jobs, fixtures that ended
 * with them, too: a set-up step is done for later ones, and what it wrote is theirs. */
static const char directories_sql[] =
    "SELECT directory FROM (SELECT 0 AS part, a.job_id, a.id, a.directory" ENDED_SQL
    " UNION ALL SELECT 1, 0, id, directory FROM fixture_start WHERE ?2 IS NULL AND state IN ('ended', 'failed')"
    " AND coalesce(ended, 0) <= ?1) WHERE directory NOT LIKE '/%' ORDER BY part, job_id, id";

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

/* Attempts of one job. */
static int turn_job(struct archiving *g, const char *attempts, struct error *e)
{
    const struct archive_options *o = g->options;
    OWNED_JSON *list = cJSON_Parse(attempts);
    const cJSON *id;
    int64_t samples = 0;
    int rc = o->dry_run ? 0 : db_begin(g->db, e);
    if (rc < 0)
        return -1;
    for (id = list->child; rc == 0 && id; id = id->next)
        rc = o->undo ? samples_bring_back(g->db, (int64_t)id->valuedouble, o->dry_run, &samples, e)
                     : samples_archive(g->db, (int64_t)id->valuedouble, o->dry_run, &samples, e);
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

static int turn_samples(struct archiving *g, const struct string_list *jobs, struct error *e)
{
    int rc = find_size(g, &g->counts.database.from, e);
    for (size_t i = 0; rc == 0 && i < jobs->count; i++)
        rc = turn_job(g, jobs->items[i], e);
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
    OWNED_JSON *root = json_document(), *beside = cJSON_CreateObject();
    JSON_ADD(root, JSON_TRUTH("dry_run", dry), JSON_COUNT("file_count", c->files), JSON_COUNT("files_left", c->failed),
             JSON_COUNT("bytes_before", c->bytes.from), JSON_COUNT("bytes_after", dry ? -1 : c->bytes.to),
             JSON_COUNT("sample_count", g->leaves_samples ? -1 : c->samples),
             JSON_COUNT("database_bytes_before", g->leaves_samples ? -1 : c->database.from),
             JSON_COUNT("database_bytes_after", dry || g->leaves_samples ? -1 : c->database.to),
             JSON_COUNT("database_bytes_free", dry || g->leaves_samples ? -1 : c->free));
    cJSON_AddStringToObject(beside, "done", g->options->undo ? "brought back" : "compressed");
    return output_answer(g->options->json, "sql/texts/archive.sql", root, beside, e);
}

static int turn_all_files(struct archiving *g, const char *files, const struct string_list *directories,
                          struct error *e)
{
    int lock = -1;
    if (archived_lock(files, &lock, e) < 0)
        return -1;
    for (size_t i = 0; i < directories->count; i++) {
        OWNED char *path = xasprintf("%s/%s", files, directories->items[i]);
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

static void release(struct archiving *g)
{
    store_close(g->db);
    g->db = NULL;
}

static int archive_jobs(struct archiving *g, const char *jobs, int64_t until_ms, struct error *e)
{
    OWNED_LIST attempts = STRING_LIST_INIT, directories = STRING_LIST_INIT;
    OWNED char *files = store_directory_of(g->db);
    if (db_query_texts(g->db, directories_sql, VALUES(sql_int(until_ms), sql_text(jobs)), &directories, e) < 0 ||
        (!g->leaves_samples &&
         (db_query_texts(g->db, attempts_sql, VALUES(sql_int(until_ms), sql_text(jobs), sql_int(g->options->undo)),
                         &attempts, e) < 0 ||
          turn_samples(g, &attempts, e) < 0)))
        return -1;
    release(g);
    return turn_all_files(g, files, &directories, e);
}

int command_archive(const struct archive_options *o, const struct arguments *a, struct error *e)
{
    OWNED_BY(release) struct archiving g = {.options = o};
    OWNED char *jobs = NULL;
    int64_t until_ms = INT64_MAX, age_ms;
    if (o->older_than && !parse_duration_ms(o->older_than, &age_ms))
        return error_set(e, ERROR_USAGE, "archive: --older-than %s: must be a time, such as 30d or 12h", o->older_than);
    if (o->older_than)
        until_ms = clock_wall_ms() - age_ms;
    if (open_store(&g, e) < 0 || list_jobs(g.db, a, &jobs, e) < 0 || archive_jobs(&g, jobs, until_ms, e) < 0 ||
        print(&g, e) < 0)
        return -1;
    return g.counts.failed ? STATUS_FAILED : STATUS_OK;
}

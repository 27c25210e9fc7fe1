#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "database/open.h"
#include "process/archived_file.h"
#include "process/job_file.h"
#include "process/process.h"
#include "results/job_record.h"
#include "results/json.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"

struct archive_options {
    const char *db, *older_than;
    bool dry_run, undo, json;
};

#define AT(member) offsetof(struct archive_options, member)

static const struct option options[] = {
    OPTION_DB(AT(db)),
    OPTION(STRING, "older-than", AT(older_than), "TIME", "only of attempts that ended so long ago: 30d, 12h"),
    OPTION(FLAG, "dry-run", AT(dry_run), NULL, "only say what would be done", .letter = 'D'),
    OPTION_JSON(AT(json)),
    OPTION(FLAG, "undo", AT(undo), NULL, "bring compressed files back"),
    {.name = NULL},
};

/* The counts of what was compressed. */
struct archive_counts {
    int64_t files, failed;
    struct archived_change bytes;
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

/* Their directories, so that no statement is open while files are read. Those of another database, which a merged
 * attempt has, are that one's. */
static int list_directories(struct db *db, const char *jobs, int64_t until_ms, struct string_list *out, struct error *e)
{
    static const char sql[] =
        "SELECT a.directory FROM attempt AS a JOIN job AS j ON j.id = a.job_id WHERE a.directory IS NOT NULL"
        " AND a.directory NOT LIKE '/%' AND a.state IN ('ok', 'failed') AND j.state IN ('ok', 'failed')"
        " AND coalesce(a.ended, 0) <= ?1 AND (?2 IS NULL OR j.id IN (SELECT value FROM json_each(?2)))"
        " AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = j.id AND state IN ('claimed', 'running')) ORDER BY a.id";
    OWNED_STMT *s = NULL;
    int rc = db_query(db, sql, VALUES(sql_int(until_ms), sql_text(jobs)), &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        string_list_add(out, stmt_copy_text(s, 0));
        rc = 0;
    }
    return rc;
}

/* --- their files --- */

static const char *why(int error)
{
    return error == EBUSY    ? "something wrote to it meanwhile"
           : error == EEXIST ? "both it and what it is compressed to are there, and they differ"
                             : strerror(error);
}

static void turn_files(const struct archive_options *o, const char *path, struct archive_counts *counts)
{
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

static int print_json(const struct archive_options *o, const struct archive_counts *c, struct error *e)
{
    cJSON *root = json_document();
    cJSON_AddBoolToObject(root, "dry_run", o->dry_run);
    json_add_count(root, "file_count", c->files);
    json_add_count(root, "files_left", c->failed);
    json_add_count(root, "bytes_before", c->bytes.from);
    json_add_count(root, "bytes_after", o->dry_run ? -1 : c->bytes.to);
    return output_json_take(root, e);
}

static int print(const struct archive_options *o, const struct archive_counts *c, struct error *e)
{
    if (o->json)
        return print_json(o, c, e);
    struct buffer out = BUFFER_INIT;
    char from[32], to[32];
    format_size_bytes(c->bytes.from, from, sizeof from);
    format_size_bytes(c->bytes.to, to, sizeof to);
    buffer_add_count(&out, c->files, "file");
    if (o->dry_run)
        buffer_printf(&out, ", %s, would be %s (--dry-run: nothing was changed)\n", from,
                      o->undo ? "brought back" : "compressed");
    else if (c->files == 0)
        buffer_printf(&out, " %s\n", o->undo ? "brought back" : "compressed");
    else
        buffer_printf(&out, " %s: %s became %s\n", o->undo ? "brought back" : "compressed", from, to);
    return output_people_take(&out, e);
}

static int archive_files(const struct archive_options *o, const char *files, const struct string_list *directories,
                         struct error *e)
{
    struct archive_counts counts = {0};
    int lock = -1;
    if (archived_lock(files, &lock, e) < 0)
        return -1;
    for (size_t i = 0; i < directories->count; i++) {
        OWNED char *path = xasprintf("%s/%s", files, directories->items[i]);
        turn_files(o, path, &counts);
    }
    descriptor_close(&lock);
    if (print(o, &counts, e) < 0)
        return -1;
    return counts.failed ? STATUS_FAILED : STATUS_OK;
}

/* --- the command --- */

static int archive(const struct arguments *a, struct error *e)
{
    const struct archive_options *o = a->options;
    OWNED_LIST directories = STRING_LIST_INIT;
    struct db *db = NULL;
    OWNED char *jobs = NULL, *files = NULL;
    int64_t until_ms = INT64_MAX, age_ms;
    if (o->older_than && !parse_duration_ms(o->older_than, &age_ms))
        return error_set(e, ERROR_USAGE, "archive: --older-than %s: must be a time, such as 30d or 12h", o->older_than);
    if (o->older_than)
        until_ms = clock_wall_ms() - age_ms;
    /* A runner may be at work: it does not touch what has ended. */
    if (store_open_read_only(o->db, &db, e) < 0)
        return -1;
    int rc = list_jobs(db, a, &jobs, e);
    if (rc == 0)
        rc = list_directories(db, jobs, until_ms, &directories, e);
    if (rc == 0)
        files = store_directory_of(db);
    store_close(db);
    if (rc == 0)
        rc = archive_files(o, files, &directories, e);
    return rc;
}

const struct command archive_command = {
    .name = "archive",
    .summary = "Compress the logs of jobs that have ended",
    .usage = "[OPTIONS] [JOB...]",
    .example = "meshsweep archive --older-than 30d --dry-run\nmeshsweep archive 24\nmeshsweep archive --undo 24",
    .options = options,
    .options_bytes = sizeof(struct archive_options),
    .offer = OFFER_JOBS,
    .words_most = 10000,
    .run = archive,
};

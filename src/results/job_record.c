#include "results/job_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "database/function.h"
#include "database/open.h"
#include "process/archived_file.h"
#include "results/json.h"
#include "store/imports.h"
#include "store/jobs.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"

#define PREFIX_LEAST 8 /* hexadecimal digits: a sweep of 10,000 jobs has two alike once in a hundred times */

/* --- which job --- */

/* 1, 0 where there is none, or -1. */
static int find_number(struct db *db, int64_t number, int64_t *job_id, struct error *e)
{
    if (db_query_int(db, "SELECT id FROM job WHERE id = ?", VALUES(sql_int(number)), 0, job_id, e) < 0)
        return -1;
    return *job_id != 0;
}

static bool is_prefix(const char *word)
{
    size_t length = strlen(word);
    return length >= PREFIX_LEAST && length <= 32 && strspn(word, "0123456789abcdefABCDEF") == length;
}

static int find_prefix(struct db *db, const char *word, int64_t *job_id, struct error *e)
{
    OWNED_STMT *s = NULL;
    const struct hash128 low = hash_from_prefix(word, false), high = hash_from_prefix(word, true);
    int rc = db_next(db, "SELECT id, count(*) OVER () FROM job WHERE key BETWEEN ?1 AND ?2 LIMIT 2",
                     VALUES(sql_hash(&low), sql_hash(&high)), &s, e);
    if (rc > 0) {
        *job_id = stmt_int(s, 0);
        if (stmt_int(s, 1) > 1)
            rc = error_set(e, ERROR_USAGE, "%s: the keys of %lld jobs begin like this; give more digits", word,
                           (long long)stmt_int(s, 1));
    }
    return rc;
}

int job_named(struct db *db, const char *word, int64_t *job_id, struct error *e)
{
    int64_t number;
    const bool is_number = parse_int64(word, &number), is_key = is_prefix(word);
    if (!is_number && !is_key)
        return error_set(e, ERROR_USAGE, "%s: must be a job's number or at least %d digits of its key", word,
                         PREFIX_LEAST);
    int rc = is_number ? find_number(db, number, job_id, e) : 0;
    if (rc == 0 && is_key)
        rc = find_prefix(db, word, job_id, e);
    if (rc == 0)
        return error_set(e, ERROR_NOTHING, "there is no job %s; `meshsweep results --all` lists them", word);
    return rc < 0 ? -1 : 0;
}

/* --- its parts --- */

const char *const job_part_names[JOB_PART_COUNT] = {"job",      "metrics",    "points",  "attempts", "given_files",
                                                    "fixtures", "left_files", "changes", "notes"};

/* Whether the file at a path is there in its compressed form alone. */
static int is_archived(void *context, const struct sql_value *arguments, int count, int64_t *out, struct error *e)
{
    OWNED char *packed = xasprintf("%s" ARCHIVED_SUFFIX, count == 1 ? arguments[0].text : "");
    (void)context;
    (void)e;
    *out = count == 1 && access(arguments[0].text, F_OK) < 0 && access(packed, F_OK) == 0;
    return 1;
}

int job_part_next(struct db *db, enum job_part part, int64_t job_id, struct stmt **s, struct error *e)
{
    OWNED char *select = *s ? NULL : xasprintf("SELECT * FROM part_%s", job_part_names[part]);
    OWNED char *files = *s ? NULL : store_directory_of(db);
    if (!*s && db_add_function(db, "is_archived", is_archived, NULL, e) < 0)
        return -1;
    return answer_next(db, "sql/answers/show.sql", select, VALUES(sql_int(job_id), sql_text(files)), s, e);
}

int job_part_add_json(cJSON *root, struct db *db, enum job_part part, int64_t job_id, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    cJSON *all = part == JOB_PART_METRICS ? cJSON_AddObjectToObject(root, job_part_names[part])
                 : part == JOB_PART_JOB   ? root
                                          : cJSON_AddArrayToObject(root, job_part_names[part]);
    while ((rc = job_part_next(db, part, job_id, &s, e)) > 0) {
        cJSON *row = part == JOB_PART_JOB ? root : cJSON_CreateObject();
        json_add_columns(row, s, part == JOB_PART_METRICS);
        if (part == JOB_PART_METRICS)
            cJSON_AddItemToObject(all, stmt_text(s, 0), row);
        else if (part != JOB_PART_JOB)
            cJSON_AddItemToArray(all, row);
    }
    return rc;
}

/* --- its output --- */

int job_log_read(struct db *db, int64_t job_id, int64_t number, struct job_log *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc = db_next(db,
                     "SELECT id, number, state IN ('ok', 'failed'), slot, directory, log_tail FROM attempt"
                     " WHERE job_id = ?1 AND (?2 = 0 OR number = ?2) AND state <> 'claimed'"
                     " ORDER BY number DESC LIMIT 1",
                     VALUES(sql_int(job_id), sql_int(number)), &s, e);
    if (rc > 0)
        *out = (struct job_log){
            .attempt_id = stmt_int(s, 0),
            .number = stmt_int(s, 1),
            .ended = stmt_int(s, 2) != 0,
            .slot = stmt_is_null(s, 3) ? -1 : stmt_int(s, 3),
            .directory = stmt_copy_text(s, 4),
            .tail = stmt_copy_text(s, 5),
        };
    stmt_free(s);
    if (rc == 0 && number)
        return error_set(e, ERROR_NOTHING, "job %lld has no attempt %lld", (long long)job_id, (long long)number);
    if (rc == 0)
        return error_set(e, ERROR_NOTHING, "job %lld has not been started yet", (long long)job_id);
    return rc < 0 ? -1 : 0;
}

void job_log_free(struct job_log *l)
{
    free_all(l->directory, l->tail);
    *l = (struct job_log){0};
}

/* --- how it was launched --- */

#define THE_ATTEMPT                                                                                                    \
    "(SELECT id FROM attempt WHERE job_id = ?1 AND command IS NOT NULL AND kind = 'trial'"                             \
    " ORDER BY id IS (SELECT attempt_id FROM job WHERE id = ?1) DESC, number DESC LIMIT 1)"

/* The first column of every row, NULL-terminated. */
static int read_strings(struct db *db, const char *sql, int64_t job_id, char ***out, struct error *e)
{
    struct string_list strings = STRING_LIST_INIT;
    int rc = db_query_texts(db, sql, VALUES(sql_int(job_id)), &strings, e);
    *out = string_list_take(&strings);
    return rc;
}

/* Names of files are bytes: where they are no text, the runner has their hexadecimal digits, too. */
static int read_directory(struct db *db, struct sql_values job, char **out, struct error *e)
{
    static const char text[] = "SELECT coalesce(json_extract(a.environment, '$.PWD'), json_extract(r.provenance,"
                               " '$.directory')) FROM attempt AS a JOIN runner AS r ON r.id = a.runner_id"
                               " WHERE a.id = " THE_ATTEMPT;
    static const char bytes[] = "SELECT iif(json_extract(a.environment, '$.PWD') IS NULL, json_extract(r.provenance,"
                                " '$.directory_bytes'), NULL) FROM attempt AS a JOIN runner AS r ON r.id = a.runner_id"
                                " WHERE a.id = " THE_ATTEMPT;
    char *digits = NULL;
    unsigned char byte;
    if (db_query_text(db, text, job, out, e) < 0 || db_query_text(db, bytes, job, &digits, e) < 0)
        return -1;
    OWNED_BUFFER b = BUFFER_INIT;
    for (const char *p = digits; p && sscanf(p, "%2hhx", &byte) == 1 && byte; p += 2)
        buffer_add_char(&b, (char)byte);
    free(digits);
    if (b.length > 0) {
        free(*out);
        *out = buffer_take(&b);
    }
    return 0;
}

int job_launch_read(struct db *db, int64_t job_id, struct job_launch *out, struct error *e)
{
    static const char command[] = "SELECT k.value FROM attempt AS a, json_each(a.command) AS k"
                                  " WHERE a.id = " THE_ATTEMPT " ORDER BY k.id";
    static const char environment[] = "SELECT k.key || '=' || k.value FROM attempt AS a, json_each(a.environment) AS k"
                                      " WHERE a.id = " THE_ATTEMPT " AND k.key <> 'PWD' ORDER BY k.id";
    static const char path[] = "SELECT json_extract(r.provenance, '$.environment.PATH') FROM attempt AS a"
                               " JOIN runner AS r ON r.id = a.runner_id WHERE a.id = " THE_ATTEMPT;
    static const char spec[] = "SELECT " JOB_SPEC_SQL JOB_SPECS_FROM_SQL " WHERE j.id = ?1";
    static const char files[] = "SELECT directory FROM attempt WHERE id = " THE_ATTEMPT;
    static const char given[] = "SELECT path FROM attempt_file WHERE attempt_id = " THE_ATTEMPT " ORDER BY path";
    static const char table[] = "SELECT coalesce(a.log_tail, '') FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id"
                                " WHERE j.id = ?1 AND a.executor = '" IMPORT_EXECUTOR "'";
    const struct sql_values job = VALUES(sql_int(job_id));
    struct job_launch launch = {0};
    if (read_strings(db, command, job_id, &launch.command, e) < 0 ||
        read_strings(db, environment, job_id, &launch.environment, e) < 0 ||
        read_strings(db, given, job_id, &launch.given, e) < 0 ||
        read_directory(db, job, &launch.working_directory, e) < 0 ||
        db_query_text(db, path, job, &launch.path, e) < 0 || db_query_text(db, spec, job, &launch.spec, e) < 0 ||
        db_query_text(db, files, job, &launch.files, e) < 0 ||
        db_query_text(db, table, job, &launch.measured_elsewhere, e) < 0) {
        job_launch_free(&launch);
        return -1;
    }
    launch.job_files = store_directory_of(db);
    *out = launch;
    return 0;
}

void job_launch_free(struct job_launch *l)
{
    strings_free(l->command);
    strings_free(l->environment);
    strings_free(l->given);
    free_all(l->working_directory, l->spec, l->path, l->job_files, l->files, l->measured_elsewhere);
    *l = (struct job_launch){0};
}

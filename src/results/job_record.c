#include "results/job_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "database/function.h"
#include "database/open.h"
#include "process/archived_file.h"
#include "results/json.h"
#include "util/buffer.h"
#include "util/embedded.h"
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

static void set_bytes(const char *digits, char **out)
{
    OWNED_BUFFER b = BUFFER_INIT;
    unsigned char byte;
    for (const char *p = digits; sscanf(p, "%2hhx", &byte) == 1 && byte; p += 2)
        buffer_add_char(&b, (char)byte);
    if (b.length > 0)
        text_replace(out, buffer_take(&b));
}

int job_launch_read(struct db *db, int64_t job_id, struct job_launch *out, struct error *e)
{
    struct job_launch l = {.job_files = store_directory_of(db)};
    struct string_list lists[] = {STRING_LIST_INIT, STRING_LIST_INIT, STRING_LIST_INIT};
    char **const into[] = {&l.working_directory, &l.spec, &l.path, &l.files, &l.measured_elsewhere};
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, embedded_text("src/results/job_launch.sql"), VALUES(sql_int(job_id)), &s, e)) > 0) {
        const size_t member = (size_t)stmt_int(s, 0);
        if (member < LENGTH(lists))
            string_list_add(&lists[member], stmt_copy_text(s, 1));
        else if (member < LENGTH(lists) + LENGTH(into))
            *into[member - LENGTH(lists)] = stmt_copy_text(s, 1);
        else
            set_bytes(stmt_text(s, 1), &l.working_directory);
    }
    l.command = string_list_take(&lists[0]);
    l.environment = string_list_take(&lists[1]);
    l.given = string_list_take(&lists[2]);
    if (rc < 0)
        job_launch_free(&l);
    else
        *out = l;
    return rc;
}

void job_launch_free(struct job_launch *l)
{
    strings_free(l->command);
    strings_free(l->environment);
    strings_free(l->given);
    free_all(l->working_directory, l->spec, l->path, l->job_files, l->files, l->measured_elsewhere);
    *l = (struct job_launch){0};
}

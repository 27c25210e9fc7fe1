#include "results/job_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database/open.h"
#include "store/imports.h"
#include "store/jobs.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/string_list.h"

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

#include "cli/stale_results.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/output.h"
#include "device/provenance.h"
#include "process/environment.h"
#include "run/scripts.h"
#include "util/memory.h"

#define ANSWER "sql/answers/stale.sql"

/* Reads what is there now of the files that commands named, as an attempt's record would have it: {path: content}. The
 * caller's. */
static int read_present(struct db *db, char **json, struct error *e)
{
    struct stmt *s = NULL;
    struct scripts *scripts = scripts_create();
    OWNED_JSON *present = cJSON_CreateObject();
    int rc = answer_open(db, ANSWER, "SELECT DISTINCT path FROM named", NO_VALUES, &s, e);
    while (rc >= 0 && (rc = stmt_next(s, e)) > 0)
        cJSON_AddStringToObject(present, stmt_text(s, 0), scripts_content(scripts, stmt_text(s, 0)));
    stmt_free(s);
    scripts_free(scripts);
    *json = rc < 0 ? NULL : cJSON_PrintUnformatted(present);
    return rc;
}

int stale_results_read(struct db *db, const struct job_config *job, cJSON **out, cJSON **beside, struct error *e)
{
    char *no_secrets[] = {NULL}, *present;
    OWNED_STMT *s = NULL;
    *out = *beside = NULL;
    if (read_present(db, &present, e) < 0)
        return -1;
    OWNED char *versions = job ? versions_json(job, environ) : NULL;
    OWNED char *now = provenance_json(NULL, environ, job ? job->pass_environment : NULL, no_secrets, versions);
    int rc = answer_open(db, ANSWER, NULL, VALUES(sql_text(now), sql_text(present)), &s, e);
    free(present);
    return rc < 0 ? -1 : answer_documents(s, 0, out, beside, e);
}

/* How the environment differs from that of the run before, in words; NULL: not. The caller's. */
static int read_environment(struct db *db, const char *environment, char **words, struct error *e)
{
    OWNED_STMT *s = NULL;
    if (answer_open(db, ANSWER, "SELECT words FROM environment", VALUES(sql_null(), sql_null(), sql_text(environment)),
                    &s, e) < 0)
        return -1;
    int rc = stmt_next(s, e);
    *words = rc > 0 ? stmt_copy_text(s, 0) : NULL;
    return rc < 0 ? -1 : 0;
}

int stale_results_tell(struct db *db, const struct job_config *job, char *const *environment, struct error *e)
{
    OWNED_JSON *stale = NULL, *beside = NULL;
    OWNED char *words = NULL, *now = NULL;
    if (stale_results_read(db, job, &stale, &beside, e) < 0)
        return -1;
    if (json_count_of(stale, "stale") > 0)
        output_message("%lld of %lld results were made with a different %s than now; --stale runs them again",
                       (long long)json_count_of(stale, "stale"), (long long)json_count_of(stale, "results"),
                       json_text_of(beside, "causes"));
    now = environment_context_json(environment, job->pass_environment, job->secrets);
    int rc = read_environment(db, now, &words, e);
    if (words)
        output_message("the environment has changed since the last run: %s", words);
    return rc;
}

int stale_results_tell_mixed(struct db *db, struct error *e)
{
    static const char sql[] =
        "WITH ends AS MATERIALIZED (SELECT min(attempt_id) AS oldest, max(attempt_id) AS newest FROM job"
        " WHERE state = 'ok' AND sweep_id = (SELECT id FROM current_sweep)),"
        " script AS MATERIALIZED (SELECT a.job_id, a.id = oldest AS is_old, s.key AS path, s.value AS hash"
        " FROM ends JOIN attempt AS a ON a.id IN (oldest, newest), json_each(a.scripts) AS s)"
        " SELECT o.path, o.job_id, n.job_id FROM script AS o JOIN script AS n USING (path)"
        " WHERE o.is_old AND NOT n.is_old AND o.hash <> n.hash";
    OWNED_STMT *s = NULL;
    const int rc = db_next(db, sql, NO_VALUES, &s, e);
    if (rc > 0)
        output_message("%s changed between jobs %lld and %lld, and their results are compared all the same: `meshsweep "
                       "stale` lists the old ones, `run --stale` runs them again",
                       stmt_text(s, 0), (long long)stmt_int(s, 1), (long long)stmt_int(s, 2));
    return rc < 0 ? -1 : 0;
}

static int list_jobs(struct db *db, const cJSON *stale, struct error *e)
{
    OWNED char *json = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(stale, "differences"));
    int rc = db_exec(db, "CREATE TEMP TABLE stale (job_id INTEGER PRIMARY KEY)", e);
    if (rc == 0)
        rc = db_run(db, "INSERT OR IGNORE INTO temp.stale SELECT value ->> 'job' FROM json_each(?1)",
                    VALUES(sql_text(json)), e);
    return rc;
}

int stale_results_reopen(struct db *db, const cJSON *stale, const struct requeue_request *request, int64_t *count,
                         struct error *e)
{
    *count = 0;
    if (json_count_of(stale, "stale") == 0)
        return 0;
    if (db_begin(db, e) < 0)
        return -1;
    int rc = list_jobs(db, stale, e) < 0 ? -1 : jobs_requeue_listed(db, request, "temp.stale", count, e);
    if (rc == 0)
        rc = db_exec(db,
                     "UPDATE attempt SET superseded = 'made with another script, commit or device than a later one'"
                     " WHERE state = 'ok' AND job_id IN (SELECT job_id FROM temp.stale) AND EXISTS"
                     " (SELECT 1 FROM job WHERE id = attempt.job_id AND state = 'pending'); DROP TABLE temp.stale",
                     e);
    return db_end(db, rc, e);
}

#include "results/job_record.h"

#include <string.h>

#include "results/json.h"
#include "store/imports.h"
#include "util/memory.h"
#include "util/parse.h"

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

#define UTC(column) "strftime('%Y-%m-%dT%H:%M:%SZ', " column " / 1000, 'unixepoch')"
#define STARTED UTC("a.started")
#define ENDED UTC("a.ended")

/* "concurrency 16" */
#define POINT "(f.reading ->> '$.per') || ' ' || m.point"

static const char *const part_sql[JOB_PART_COUNT] = {
    [JOB_PART_JOB] =
        "SELECT j.id AS job, lower(hex(j.key)) AS key, s.name AS sweep, s.path AS sweep_file,"
        " j.sweep_id = (SELECT id FROM current_sweep) AS in_current_sweep,"
        " j.state, j.failure, j.held AS why_held, j.devices, j.timeout_ms, j.idle_timeout_ms, j.startup_timeout_ms,"
        " j.predicted_memory AS predicted_memory_bytes, j.predicted_memory_of,"
        " CASE j.risk WHEN 1 THEN 'fits' WHEN 2 THEN 'may not fit' WHEN 3 THEN 'does not fit' END AS predicted_to,"
        " j.predicted_time AS predicted_step_time_s, iif(j.audit, 'runs as an audit of pruning', NULL) AS reason,"
        " (SELECT group_concat(s.condition, '; ') FROM breach AS b JOIN subject_to AS s ON s.position = b.position"
        "  WHERE b.attempt_id = j.attempt_id) AS does_not_meet"
        " FROM job AS j LEFT JOIN sweep AS s ON s.id = j.sweep_id WHERE j.id = ?1",
    [JOB_PART_METRICS] = "SELECT m.name, v.value, nullif(d.unit, '') AS unit, d.counter, d.rank, " POINT " AS point,"
                         " m.count AS samples,"
                         " nullif(m.not_finite, 0) AS not_finite, m.kept, m.mean, m.median, m.minimum, m.maximum, "
                         "m.stddev, m.p90, v.note"
                         " FROM job AS j JOIN summary AS m ON m.attempt_id = j.attempt_id"
                         " LEFT JOIN job_metric AS v ON v.job_id = j.id AND v.name = m.name"
                         " LEFT JOIN metric_definition AS d ON d.name = m.name LEFT JOIN definition AS f ON f.id ="
                         " m.definition_id WHERE j.id = ?1 ORDER BY m.name",
    [JOB_PART_POINTS] =
        "SELECT m.name AS metric, f.reading ->> '$.per' AS per, p.step AS per_value, p.value,"
        " nullif(f.unit, '') AS unit FROM job AS j JOIN summary AS m ON m.attempt_id = j.attempt_id"
        " JOIN definition AS f ON f.id = m.definition_id JOIN metric AS p ON p.attempt_id = m.attempt_id"
        " AND p.name = m.name WHERE j.id = ?1 AND m.point IS NOT NULL"
        " ORDER BY m.name, p.step, p.sequence LIMIT 1000",
    [JOB_PART_ATTEMPTS] =
        "SELECT a.number AS attempt, a.state, a.failure, a.message, a.consequence, a.left_out,"
        " " STARTED " AS started, " ENDED " AS ended, a.duration_ms, a.unwatched_ms, a.blame, a.exit_code, a.signal,"
        " a.limit_ms, a.given, iif(a.kind = 'profile', 'run under [job.profile], not a measurement', NULL) AS purpose, "
        "iif(a.executor = '" IMPORT_EXECUTOR "', NULL, coalesce(a.host, r.host)) AS host, a.executor,"
        " a.reference, a.slot, a.pid, a.user_ms, a.system_ms, a.max_rss AS max_rss_bytes, a.leftovers,"
        " a.directory AS files, a.log_bytes, r.tool_version AS meshsweep,"
        " json_extract(r.provenance, '$.directory') AS working_directory,"
        " json_extract(r.provenance, '$.git.commit') AS git_commit, a.scripts,"
        " json_extract(r.provenance, '$.versions') AS versions, json_extract(r.provenance, '$.cpu') AS cpu,"
        " json_extract(r.provenance, '$.gpus') AS gpus"
        " FROM attempt AS a LEFT JOIN runner AS r ON r.id = a.runner_id WHERE a.job_id = ?1 AND a.kind <> 'full'"
        " ORDER BY a.number",
    [JOB_PART_GIVEN] = "SELECT a.number AS attempt, f.path AS name, length(CAST(t.text AS BLOB)) AS bytes, t.text"
                       " FROM attempt AS a JOIN attempt_file AS f ON f.attempt_id = a.id JOIN given_text AS t"
                       " ON t.id = f.text_id WHERE a.job_id = ?1 AND a.kind <> 'full' ORDER BY a.number, f.path"
                       " LIMIT 1000",
    [JOB_PART_FIXTURES] = "SELECT a.number AS attempt, f.name, nullif(f.given, '{}') AS \"values\", f.state, f.port,"
                          " f.directory || '/output.log' AS log, f.message FROM attempt AS a JOIN attempt_fixture AS u"
                          " ON u.attempt_id = a.id JOIN fixture_start AS f ON f.id = u.fixture_id WHERE a.job_id = ?1"
                          " AND a.kind <> 'full' ORDER BY a.number, f.id LIMIT 1000",
    [JOB_PART_FILES] = "SELECT a.number AS attempt, f.value ->> '$.name' AS name, f.value ->> '$.bytes' AS bytes,"
                       " iif(f.value ->> '$.removed', 'removed', NULL) AS note FROM attempt AS a,"
                       " json_each(a.files, '$.list') AS f WHERE a.job_id = ?1 ORDER BY a.number, f.key LIMIT 1000",
    [JOB_PART_CHANGES] = "SELECT c.kind, " UTC("c.at") " AS at, c.who, c.why, c.detail, " UTC(
        "c.undone") " AS undone,"
                    " json_group_array(json_object('attempt', r.number, 'field', r.field, 'was', CAST(r.was AS TEXT),"
                    " 'is', CAST(r.now AS TEXT))) AS replaced FROM (SELECT r.*, a.number FROM replaced AS r"
                    " LEFT JOIN attempt AS a ON a.id = r.attempt_id WHERE r.job_id = ?1 ORDER BY a.number, r.rowid) AS "
                    "r"
                    " JOIN change AS c ON c.id = r.change_id GROUP BY c.id ORDER BY c.id",
    [JOB_PART_NOTES] = "SELECT n.kind, a.number AS attempt, n.text AS said, " UTC(
        "n.at") " AS at, n.who FROM note AS n"
                " LEFT JOIN attempt AS a ON a.id = n.attempt_id WHERE n.job_id = ?1 ORDER BY n.at, n.id",
};

int job_part_next(struct db *db, enum job_part part, int64_t job_id, struct stmt **s, struct error *e)
{
    return db_next(db, part_sql[part], VALUES(sql_int(job_id)), s, e);
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

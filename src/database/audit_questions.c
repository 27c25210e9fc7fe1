#include "database/audit_questions.h"

#define RUN_AGAIN "`meshsweep run` continues them"
#define RECOVER                                                                                                        \
    "stop every runner, keep a copy, then: sqlite3 FILE .recover | sqlite3 recovered.db; `meshsweep check -d "         \
    "recovered.db` tells whether all is there"
#define REPAIR "`meshsweep check --repair -d FILE` repairs that"

#define OK_WITHOUT_ATTEMPT                                                                                             \
    "job AS j LEFT JOIN attempt AS a ON a.id = j.attempt_id AND a.job_id = j.id AND a.kind = 'trial'"                  \
    " WHERE j.state = 'ok' AND a.state IS NOT 'ok'"
#define FAILED_OTHERWISE                                                                                               \
    "job AS j LEFT JOIN attempt AS a ON a.id = j.attempt_id AND a.job_id = j.id AND a.kind = 'trial'"                  \
    " WHERE j.state = 'failed' AND a.failure IS NOT j.failure"
#define LAST_FAILED                                                                                                    \
    "SELECT max(id) FROM attempt WHERE job_id = job.id AND state = 'failed' AND failure <> 'cancelled' AND kind = "    \
    "'trial'"

/* Jobs with one attempt are compared; the triggers of the table job alone know about others. Where all values of jobs
 * together are those of their attempts, only jobs that have several attempts or notes are looked at. */
#define OTHER_VALUES                                                                                                   \
    "(WITH several AS MATERIALIZED (SELECT job_id FROM attempt GROUP BY job_id HAVING count(*) > 1"                    \
    "  UNION SELECT job_id FROM note), has_several (yes) AS (SELECT EXISTS (SELECT 1 FROM several)),"                  \
    " agreed (yes) AS MATERIALIZED (SELECT (SELECT row_sum(j.id, s.name, s.value) FROM job AS j"                       \
    "  CROSS JOIN summary AS s ON s.attempt_id = j.attempt_id"                                                         \
    "  WHERE NOT (SELECT yes FROM has_several) OR j.id NOT IN several)"                                                \
    "  = (SELECT row_sum(job_id, name, value) FROM job_metric INDEXED BY sqlite_autoindex_job_metric_1"                \
    "  WHERE NOT (SELECT yes FROM has_several) OR job_id NOT IN several)),"                                            \
    " suspect (id) AS MATERIALIZED (SELECT job_id FROM several"                                                        \
    "  UNION SELECT id FROM job WHERE NOT (SELECT yes FROM agreed)"                                                    \
    "  UNION SELECT job_id FROM job_metric WHERE NOT (SELECT yes FROM agreed))"                                        \
    " SELECT j.id FROM suspect CROSS JOIN job AS j USING (id) JOIN summary AS s ON s.attempt_id = j.attempt_id"        \
    " LEFT JOIN job_metric AS m ON m.job_id = j.id AND m.name = s.name"                                                \
    " WHERE (m.job_id IS NULL OR m.value IS NOT s.value) AND j.id NOT IN excluded_job"                                 \
    " AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = j.id AND id <> j.attempt_id)"                               \
    " UNION SELECT m.job_id FROM suspect CROSS JOIN job_metric AS m ON m.job_id = suspect.id"                          \
    " WHERE NOT EXISTS (SELECT 1 FROM summary AS s JOIN attempt AS a"                                                  \
    " ON a.id = s.attempt_id WHERE a.job_id = m.job_id AND s.name = m.name))"

#define LACKS(column) "(" column " IS NOT NULL AND " column " NOT IN (SELECT id FROM spec))"
#define WITHOUT_SPECS                                                                                                  \
    LACKS("cluster_id") " OR " LACKS("model_id") " OR " LACKS("training_id") " OR " LACKS("parallel_id")

/* Summaries all samples of which are kept are compared with what these come to (metrics/samples.c): those that count by
 * warm-up and steps, or the last where none does; quantiles linear between neighbours. A single sample, which is never
 * archived, is what it comes to: where all such samples together are all such values, none is looked at alone. */
#define RECOUNTED                                                                                                      \
    "(WITH counting AS (SELECT m.attempt_id, m.name, m.was, coalesce(d.take, 'median') AS take, m.sequence,"           \
    " iif(typeof(m.value) = 'text' OR abs(m.value) = 9e999, NULL, m.value) AS value,"                                  \
    " row_number() OVER w > coalesce(d.warmup, 0) AND (coalesce(d.first_step, 0) = 0 OR m.step >= d.first_step)"       \
    "  AND (coalesce(d.last_step, 0) = 0 OR m.step <= d.last_step) AS counts,"                                         \
    " lead(m.sequence) OVER w IS NULL AS is_last, count(*) OVER p AS samples, m.reported"                              \
    " FROM (SELECT s.attempt_id, s.name, s.value AS was, s.definition_id, s.reported, m.sequence, m.step, m.value"     \
    "  FROM summary AS s JOIN sample AS m ON m.attempt_id = s.attempt_id AND m.name = s.name"                          \
    "  WHERE s.reported > 1 AND s.value IS NOT NULL AND s.point IS NULL) AS m"                                         \
    " LEFT JOIN definition AS d ON d.id = m.definition_id"                                                             \
    " WINDOW p AS (PARTITION BY m.attempt_id, m.name),"                                                                \
    " w AS (p ORDER BY m.sequence)),"                                                                                  \
    " counted AS (SELECT *, total(counts) OVER (PARTITION BY attempt_id, name) AS any_counts FROM counting"            \
    "  WHERE samples = reported),"                                                                                     \
    " ordered AS (SELECT *, row_number() OVER (p ORDER BY value) - 1 AS place, (count(*) OVER p - 1)"                  \
    "  * CASE take WHEN 'p90' THEN 0.9 ELSE 0.5 END AS at FROM counted"                                                \
    "  WHERE value IS NOT NULL AND (counts OR (is_last AND any_counts = 0)) WINDOW p AS (PARTITION BY attempt_id, "    \
    "name))"                                                                                                           \
    " SELECT attempt_id, name, was, CASE take WHEN 'mean' THEN avg(value) WHEN 'min' THEN min(value)"                  \
    "  WHEN 'max' THEN max(value) WHEN 'last' THEN (SELECT value FROM counted AS c WHERE c.attempt_id = "              \
    "o.attempt_id AND c.name = o.name AND (counts OR (is_last AND any_counts = 0)) ORDER BY sequence DESC LIMIT 1)"    \
    "  ELSE total(value * max(1 - abs(place - at), 0)) END AS made, max(abs(value)) AS largest"                        \
    " FROM ordered AS o GROUP BY attempt_id, name"                                                                     \
    " UNION ALL SELECT s.attempt_id, s.name, s.value, m.value, abs(m.value) FROM summary AS s CROSS JOIN metric AS m"  \
    "  USING (attempt_id, name) WHERE (SELECT row_sum(attempt_id, name, value) FROM summary WHERE reported = 1"        \
    "  AND value IS NOT NULL AND point IS NULL) <> (SELECT single_row_sum(2, attempt_id, name, value) FROM metric)"    \
    "  AND s.reported = 1 AND s.value IS NOT NULL AND s.point IS NULL"                                                 \
    "  AND s.value IS NOT m.value AND typeof(m.value) = 'real' AND abs(m.value) < 9e999"                               \
    "  AND (SELECT count(*) FROM metric AS o WHERE (o.attempt_id, o.name) = (s.attempt_id, s.name)) = 1)"
#define OTHER_THAN_SAMPLES RECOUNTED " AS r WHERE abs(r.was - r.made) > 1e-9 * max(r.largest, abs(r.was))"

const struct audit_question audit_questions[] = {
    {"damage that SQLite finds", RECOVER,
     "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'"
     " AND integrity_check NOT LIKE 'row % missing from index %' AND integrity_check NOT LIKE 'wrong # of entries in "
     "%'",
     AUDIT_ALWAYS, NULL, NULL},
    {"indexes that do not agree with their tables", REPAIR,
     "SELECT integrity_check FROM pragma_integrity_check"
     " WHERE integrity_check LIKE 'row % missing from index %' OR integrity_check LIKE 'wrong # of entries in %'",
     AUDIT_ALWAYS, "REINDEX", "the indexes were rebuilt from the tables"},
    {"rows that refer to missing rows", "delete them: sqlite3 FILE \"%s\"",
     "SELECT printf('%s row %s (%s)', c.\"table\", coalesce(c.rowid, '?'), c.parent),"
     " (SELECT printf('DELETE FROM %s WHERE (%s) NOT IN (SELECT %s FROM %s)', c.\"table\", group_concat(\"from\", ', "
     "'),"
     "  group_concat(\"to\", ', '), c.parent) FROM pragma_foreign_key_list(c.\"table\") WHERE id = c.fkid)"
     " FROM pragma_foreign_key_check AS c"
     " WHERE NOT (c.\"table\" = 'attempt' AND c.parent = 'runner') AND NOT (c.\"table\" = 'job' AND c.parent = 'spec')",
     AUDIT_ALWAYS, NULL, NULL},
    {"jobs whose specs are missing",
     "`meshsweep check --repair -d FILE`, then `meshsweep run`: it makes them again from the sweep file",
     "SELECT 'job ' || id FROM job WHERE " WITHOUT_SPECS, AUDIT_ALWAYS,
     "UPDATE sweep SET enumerated = 0 WHERE id IN (SELECT sweep_id FROM job WHERE " WITHOUT_SPECS ")",
     "the next run of their sweep makes them again from its file"},
    {"archived samples that cannot be read", "restore a copy, or delete them: sqlite3 FILE \"%s\"",
     "SELECT printf('job %d attempt %d: %s', a.job_id, a.number, m.name),"
     " printf('DELETE FROM archived_metric WHERE (attempt_id, name) = (%d, ''%q'')', a.id, m.name)"
     " FROM (SELECT attempt_id, name, count, CAST(sqlar_uncompress(json, bytes) AS TEXT) AS text FROM archived_metric)"
     " AS m JOIN attempt AS a ON a.id = m.attempt_id"
     " WHERE iif(json_valid(m.text), json_array_length(m.text), NULL) IS NOT m.count",
     AUDIT_ALWAYS, NULL, NULL},
    {"attempts whose runner is missing", REPAIR,
     "SELECT printf('job %d attempt %d', job_id, number) FROM attempt"
     " WHERE runner_id NOT IN (SELECT id FROM runner)",
     AUDIT_ALWAYS,
     "INSERT INTO runner (id, host, boot_id, pid, start_ticks, started, ended, tool_version, provenance)"
     " SELECT runner_id, 'unknown', 'unknown', 0, 0, coalesce(min(started), 0), coalesce(max(ended), 0), 'unknown', "
     "'{}'"
     " FROM attempt WHERE runner_id NOT IN (SELECT id FROM runner) GROUP BY 1",
     "they now have a runner on an unknown host"},
    {"running jobs without an active runner", RUN_AGAIN, "SELECT 'job ' || id FROM job WHERE state = 'running'",
     AUDIT_WITHOUT_RUNNER, NULL, NULL},
    {"open attempts without an active runner", RUN_AGAIN,
     "SELECT printf('job %d attempt %d', job_id, number) FROM attempt WHERE state IN ('claimed', 'running')",
     AUDIT_WITHOUT_RUNNER, NULL, NULL},
    {"running jobs without an open attempt", "wait for the runner to end; " RUN_AGAIN,
     "SELECT 'job ' || id FROM job AS j WHERE state = 'running' AND NOT EXISTS"
     " (SELECT 1 FROM attempt WHERE job_id = j.id AND state IN ('claimed', 'running') AND kind = 'trial')",
     AUDIT_WITH_RUNNER, NULL, NULL},
    {"open attempts of jobs that are not running", "wait for the runner to end; `meshsweep run` ends them",
     "SELECT printf('job %d attempt %d', a.job_id, a.number) FROM attempt AS a JOIN job AS j ON j.id = a.job_id"
     " WHERE a.state IN ('claimed', 'running') AND j.state <> 'running' AND a.kind = 'trial'",
     AUDIT_ALWAYS, NULL, NULL},
    {"failed attempts without a failure class", REPAIR,
     "SELECT printf('job %d attempt %d', job_id, number) FROM attempt WHERE state = 'failed' AND failure IS NULL",
     AUDIT_ALWAYS,
     "UPDATE attempt SET failure = CASE WHEN signal > 0 THEN 'signal' WHEN exit_code > 0 THEN 'exit' ELSE 'lost' END"
     " WHERE state = 'failed' AND failure IS NULL",
     "their class was set from their exit status or signal, or to `lost` without either"},
    {"ok jobs without an ok attempt", REPAIR, "SELECT 'job ' || j.id FROM " OK_WITHOUT_ATTEMPT " ORDER BY j.id",
     AUDIT_ALWAYS,
     "UPDATE job SET attempt_id = (SELECT max(id) FROM attempt WHERE job_id = job.id AND state = 'ok' AND kind = "
     "'trial')"
     " WHERE id IN (SELECT j.id FROM " OK_WITHOUT_ATTEMPT ");"
     "UPDATE job SET state = 'pending' WHERE state = 'ok' AND attempt_id IS NULL",
     "each job now has its last ok attempt, or is pending if it has none"},
    {"failed jobs whose attempt did not fail in the same way", REPAIR,
     "SELECT 'job ' || j.id FROM " FAILED_OTHERWISE " ORDER BY j.id", AUDIT_ALWAYS,
     "UPDATE job SET attempt_id = (" LAST_FAILED "),"
     " failure = coalesce((SELECT failure FROM attempt WHERE id = (" LAST_FAILED ")), failure)"
     " WHERE id IN (SELECT j.id FROM " FAILED_OTHERWISE ");"
     "UPDATE job SET state = 'pending', failure = NULL WHERE state = 'failed' AND attempt_id IS NULL",
     "each job now has its last failed attempt, or is pending if it has none"},
    {"values that are not what their samples come to", REPAIR,
     "SELECT printf('job %d attempt %d: %s is %!.15g, its samples come to %!.15g', a.job_id, a.number, r.name, r.was,"
     " r.made) FROM attempt AS a, " OTHER_THAN_SAMPLES " AND a.id = r.attempt_id",
     AUDIT_ALWAYS,
     "UPDATE summary SET value = r.made FROM " OTHER_THAN_SAMPLES
     " AND r.attempt_id = summary.attempt_id AND r.name = summary.name",
     "they were made anew from the samples"},
    {"values of jobs that are not those of their attempts", REPAIR, "SELECT 'job ' || id FROM " OTHER_VALUES,
     AUDIT_ALWAYS, "UPDATE job SET attempt_id = attempt_id WHERE id IN (SELECT id FROM " OTHER_VALUES ")",
     "they were made anew from the summaries"},
    {"values that were read in another way than the sweep file that ran last reads them",
     "`meshsweep run` makes them anew",
     "SELECT printf('job %d attempt %d: %s', a.job_id, a.number, s.name) FROM summary AS s CROSS JOIN metric_definition"
     " AS d ON d.name = s.name AND d.definition_id IS NOT s.definition_id AND d.expression IS NULL CROSS JOIN attempt"
     " AS a ON a.id = s.attempt_id WHERE s.reported IS NOT NULL AND s.value IS NOT NULL ORDER BY a.job_id, a.number",
     AUDIT_ALWAYS, NULL, NULL},
    {"sweeps with missing jobs", REPAIR,
     "SELECT printf('sweep %d: %d of %d', id, (SELECT count(*) FROM job WHERE sweep_id = sweep.id), jobs) FROM sweep"
     " WHERE enumerated AND (SELECT count(*) FROM job WHERE sweep_id = sweep.id) < jobs",
     AUDIT_ALWAYS,
     "UPDATE sweep SET enumerated = 0"
     " WHERE enumerated AND (SELECT count(*) FROM job WHERE sweep_id = sweep.id) < jobs",
     "the next run of the sweep creates them again"},
    {"no identity, which is needed to find processes that a dead runner left", REPAIR,
     "SELECT 'table meta' WHERE NOT EXISTS (SELECT 1 FROM meta WHERE name = 'identity')", AUDIT_ALWAYS,
     "INSERT OR IGNORE INTO meta VALUES ('identity', lower(hex(randomblob(16))))", "it now has a new one"},
};
const size_t audit_question_count = sizeof audit_questions / sizeof *audit_questions;

const char audit_damage_sql[] =
    "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"
    " AND integrity_check NOT LIKE 'row % missing from index %' AND integrity_check NOT LIKE 'wrong # of entries in %'"
    " AND integrity_check NOT LIKE 'CHECK constraint failed in %'";

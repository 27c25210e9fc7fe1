#include "database/audit.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database/attempt_sums.h"
#include "database/examples.h"
#include "database/lock.h"
#include "database/open.h"
#include "database/row_sums.h"
#include "database/schema.h"
#include "process/job_file.h"
#include "process/log_cap.h"
#include "process/worker.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/shell.h"

/* --- questions --- */

/* The faults that rows of a database can have, each with its advice and, where it can be put right without losing
 * anything, how. */

enum audit_when { AUDIT_ALWAYS = 0, AUDIT_WITHOUT_RUNNER, AUDIT_WITH_RUNNER };

struct audit_question {
    const char *what, *advice; /* "%s" in it: the statements of the second column */
    const char *sql;           /* each row is something wrong; its first column says where */
    enum audit_when when;      /* it is only wrong while a runner is at work, or while none is */
    const char *repair_sql;    /* in a write transaction without a runner; NULL: nothing can be done without a person */
    const char *repaired;      /* what that does */
};

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

static const struct audit_question audit_questions[] = {
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
     "'),  group_concat(\"to\", ', '), c.parent) FROM pragma_foreign_key_list(c.\"table\") WHERE id = c.fkid)"
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
     "'{}' FROM attempt WHERE runner_id NOT IN (SELECT id FROM runner) GROUP BY 1",
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

/* The first questions, for each of which SQLite reads the whole database: no row of the other one answers them all. */
enum { AUDIT_INTEGRITY_QUESTIONS = 2 };

const char audit_damage_sql[] =
    "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"
    " AND integrity_check NOT LIKE 'row % missing from index %' AND integrity_check NOT LIKE 'wrong # of entries in %'"
    " AND integrity_check NOT LIKE 'CHECK constraint failed in %'";

/* --- directories --- */

#define KEY_DIGITS 16 /* of a job's key, in the name of its directory */

/* "3", or "3-2": see run/starter.h. */
static bool is_attempt_name(const char *name)
{
    size_t number = strspn(name, "0123456789"), again = 0;
    if (number > 0 && name[number] == '-')
        again = 1 + strspn(name + number + 1, "0123456789");
    return number > 0 && again != 1 && name[number + again] == '\0';
}

static int is_known(struct stmt *s, const char *prefix, const char *directory, bool *yes, struct error *e)
{
    const struct hash128 first = hash_from_prefix(prefix, false), last = hash_from_prefix(prefix, true);
    stmt_bind(s, VALUES(sql_hash(&first), sql_hash(&last), sql_text(directory), sql_text(prefix)));
    int rc = stmt_next(s, e);
    *yes = rc > 0;
    stmt_reset(s);
    return rc < 0 ? -1 : 0;
}

struct directory_search {
    const char *directory;
    struct stmt *known;
    void (*found)(void *context, const char *name);
    void *context;
};

/* Directories PREFIX/NUMBER that no attempt has. */
static int look_below(const struct directory_search *s, const char *prefix, struct error *e)
{
    OWNED char *path = xasprintf("%s/%s", s->directory, prefix);
    DIR *directory = opendir(path);
    struct dirent *entry;
    int rc = 0;
    while (rc == 0 && directory && (entry = readdir(directory))) {
        bool yes;
        if (!is_attempt_name(entry->d_name))
            continue;
        OWNED char *name = xasprintf("%s/%s", prefix, entry->d_name);
        rc = is_known(s->known, prefix, name, &yes, e);
        if (rc == 0 && !yes)
            s->found(s->context, name);
    }
    if (directory)
        closedir(directory);
    return rc;
}

int audit_unowned_directories(struct db *db, const char *directory, void (*found)(void *context, const char *name),
                              void *context, struct error *e)
{
    struct directory_search s = {directory, NULL, found, context};
    DIR *stream = opendir(directory);
    struct dirent *entry;
    int rc = 0;
    if (!stream)
        return 0; /* none was needed so far */
    if (db_prepare(db,
                   "SELECT 1 FROM job AS j JOIN attempt AS t ON t.job_id = j.id"
                   " WHERE j.key BETWEEN ?1 AND ?2 AND coalesce(t.directory, printf('%s/%d', ?4, t.number)) = ?3"
                   " UNION ALL SELECT 1 FROM replaced AS r JOIN attempt AS t ON t.job_id = r.job_id"
                   " WHERE r.field = 'key' AND r.was BETWEEN lower(hex(?1)) AND lower(hex(?2)) AND t.directory = ?3",
                   &s.known, e) < 0)
        rc = -1;
    while (rc == 0 && (entry = readdir(stream)))
        if (strlen(entry->d_name) == KEY_DIGITS && strspn(entry->d_name, "0123456789abcdef") == KEY_DIGITS)
            rc = look_below(&s, entry->d_name, e);
    closedir(stream);
    stmt_free(s.known);
    return rc;
}

/* --- the audit --- */

struct audit {
    struct db *db;
    const char *path;
    char *directory; /* of job files */
    audit_found *found;
    void *context;
    size_t count;
    struct worker *integrity; /* looks whether it is_sound; NULL: what that found has been told */
    bool is_sound;
};

static void conclude_integrity(struct audit *a);

/* Reports the finding if there is any, and releases the examples. What is not sound comes first. */
static void report(struct audit *a, struct examples *x, const char *what, const char *advice)
{
    if (x->count) {
        conclude_integrity(a);
        const struct audit_finding finding = {what, buffer_text(&x->text), x->count, advice};
        a->found(a->context, &finding);
        a->count++;
    }
    examples_free(x);
}

/* The same, with the database in place of FILE in the advice. */
static void conclude(struct audit *a, struct examples *x, const char *what, const char *advice)
{
    OWNED char *named = shell_fill_file(advice, a->path);
    report(a, x, what, named);
}

/* The same, with `part` where the advice has "%s". */
static void conclude_with(struct audit *a, struct examples *x, const char *what, const char *advice, const char *part)
{
    const char *place = strstr(advice, "%s");
    OWNED char *whole = place ? xasprintf("%.*s%s%s", (int)(place - advice), advice, part, place + 2) : xstrdup(advice);
    conclude(a, x, what, whole);
}

static void cannot_be_read(struct audit *a, const struct error *e)
{
    struct examples unread = EXAMPLES_INIT;
    examples_add(&unread, e->text);
    conclude(a, &unread, "tables that cannot be read", audit_questions[0].advice);
}

static int ask_rows(struct audit *a, const struct audit_question *q, struct examples *x, struct string_list *statements,
                    struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc;
    if (db_prepare(a->db, q->sql, &s, e) < 0)
        return -1;
    const bool has_statement = stmt_column_count(s) > 1;
    while ((rc = stmt_next(s, e)) > 0) {
        examples_add(x, stmt_text(s, 0));
        if (has_statement && string_list_find(statements, stmt_text(s, 1)) == statements->count)
            string_list_add(statements, stmt_copy_text(s, 1));
    }
    return rc;
}

static void answer_question(struct audit *a, const struct audit_question *q)
{
    struct examples x = EXAMPLES_INIT;
    OWNED_LIST statements = STRING_LIST_INIT;
    OWNED_BUFFER all = BUFFER_INIT;
    struct error e = ERROR_INIT;
    int rc = ask_rows(a, q, &x, &statements, &e);
    for (size_t i = 0; i < statements.count; i++)
        buffer_printf(&all, "%s%s", i ? "; " : "", statements.items[i]);
    conclude_with(a, &x, q->what, q->advice, buffer_text(&all));
    if (rc < 0)
        cannot_be_read(a, &e);
}

/* --- the schema --- */

enum { PARTS_TO_MAKE, PARTS_GONE, PARTS_OF_OTHERS, PART_KINDS };

static void note_difference(void *context, const struct schema_difference *d)
{
    struct examples *x = context;
    OWNED char *text = schema_describe(d);
    bool is_missing = d->state == SCHEMA_MISSING && d->sql;
    examples_add(&x[!is_missing ? PARTS_OF_OTHERS : schema_can_be_made(d->type) ? PARTS_TO_MAKE : PARTS_GONE], text);
}

static void compare_schema(struct audit *a)
{
    static const char repair[] = "`meshsweep check --repair -d FILE` brings it back to what meshsweep makes, and keeps "
                                 "all rows";
    struct examples x[PART_KINDS] = {EXAMPLES_INIT, EXAMPLES_INIT, EXAMPLES_INIT}, unread = EXAMPLES_INIT;
    struct error e = ERROR_INIT;
    int rc = schema_compare(a->db, STORE_NEWEST, note_difference, x, &e);
    if (schema_problem(a->db))
        examples_add(&unread, schema_problem(a->db));
    conclude(a, &unread, "a schema that SQLite cannot read", repair);
    conclude(a, &x[PARTS_TO_MAKE], "indexes and triggers that are missing",
             "`meshsweep check --repair -d FILE` creates them again");
    conclude(a, &x[PARTS_GONE], "tables that are missing",
             "make a new database with `meshsweep run -d NEW`, or restore a copy of this one");
    conclude(a, &x[PARTS_OF_OTHERS], "parts of the schema that are not as meshsweep makes them", repair);
    if (rc < 0)
        cannot_be_read(a, &e);
}

/* --- directories of attempts --- */

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Shorter than the job wrote it, and not because we cut it: after a power cut. */
static bool is_log_cut(const char *directory, int64_t log_bytes)
{
    OWNED char *path = xasprintf("%s/output.log", directory);
    struct stat status;
    bool is_short = log_bytes > 0 && (stat(path, &status) < 0 ? job_file_size(path) : status.st_size) < log_bytes;
    return is_short && !log_cap_is_marked(path);
}

static int find_missing(struct audit *a, struct error *e)
{
    struct examples gone = EXAMPLES_INIT, cut = EXAMPLES_INIT;
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(a->db,
                         "SELECT directory, log_bytes FROM attempt WHERE directory IS NOT NULL AND state IN ('ok', "
                         "'failed')",
                         NO_VALUES, &s, e)) > 0) {
        const char *name = stmt_text(s, 0);
        OWNED char *path = name[0] == '/' ? xstrdup(name) : xasprintf("%s/%s", a->directory, name);
        if (!is_directory(path))
            examples_add(&gone, name);
        else if (is_log_cut(path, stmt_int(s, 1)))
            examples_add(&cut, name);
    }
    conclude(a, &gone, "attempts whose files are missing",
             "nothing needs to be done: their measurements are in the database, only their logs are lost");
    conclude(a, &cut, "attempts whose logs were cut",
             "nothing needs to be done: their measurements are in the database, only the rest of their logs is lost, "
             "as after a power cut");
    return rc;
}

struct unowned_names {
    const char *directory;
    struct examples examples;
};

static bool is_empty(const char *path)
{
    DIR *directory = opendir(path);
    size_t entries = 0;
    while (directory && entries < 3 && readdir(directory))
        entries++;
    if (directory)
        closedir(directory);
    return directory && entries < 3; /* itself and the one above it */
}

/* A runner that died between making one and recording it left nothing in it: no harm, nothing to do. */
static void note_unowned(void *context, const char *name)
{
    struct unowned_names *u = context;
    OWNED char *path = xasprintf("%s/%s", u->directory, name);
    if (!is_empty(path))
        examples_add(&u->examples, name);
}

static int find_escaped(struct audit *a, struct error *e)
{
    struct unowned_names u = {a->directory, EXAMPLES_INIT};
    int rc = audit_unowned_directories(a->db, a->directory, note_unowned, &u, e);
    OWNED char *repair = shell_fill_file("`meshsweep check --repair -d FILE` moves them aside", a->path);
    OWNED char *advice = xasprintf("they can be deleted; they are in %s; %s", a->directory, repair);
    report(a, &u.examples, "directories that belong to no attempt", advice);
    return rc;
}

/* --- sums --- */

/* Rows that differ from the sums kept of them. */
struct changed_rows {
    struct examples examples;
    struct buffer ids; /* of the first ones */
};

#define IDS_MOST 100

static void note_changed(void *context, int64_t id, const char *name)
{
    struct changed_rows *c = context;
    if (c->examples.count < IDS_MOST)
        buffer_printf(&c->ids, "%s%lld", c->examples.count ? ", " : "", (long long)id);
    examples_add(&c->examples, name);
}

/* The hash of a spec covers its JSON without its labels, or with them where a job's texts read one (src/join/specs.c).
 * Labels are `name`, `description` and the words of [sweep] note: which of the keys that a file has in quotes, only the
 * hash itself tells. */
enum { LABELS_MOST = 10 };

struct spec_hashes {
    struct stmt *next, *keys, *without;
    struct string_list labels; /* those that a spec was found to have last */
};

static bool is_hash_of(const char *text, const void *hash)
{
    const struct hash128 own = hash_bytes(text, strlen(text));
    return memcmp(own.bytes, hash, sizeof own.bytes) == 0;
}

static int is_hash_without(struct spec_hashes *h, const char *json, unsigned set, const void *hash, bool *yes,
                           struct error *e)
{
    stmt_bind_text(h->without, 1, json);
    for (size_t i = 0; i < LABELS_MOST; i++)
        stmt_bind_text(h->without, 2 + (int)i,
                       i < h->labels.count && set >> i & 1 ? h->labels.items[i] : "$.\"no such key\"");
    int rc = stmt_next(h->without, e);
    if (rc >= 0)
        *yes = rc == 0 || is_hash_of(stmt_text(h->without, 0), hash);
    stmt_reset(h->without);
    return rc < 0 ? -1 : 0;
}

/* A spec that cannot be judged counts as sound. */
static int is_spec_sound(struct spec_hashes *h, bool *yes, struct error *e)
{
    const char *json = stmt_text(h->next, 1);
    const void *hash = stmt_hash(h->next, 2);
    int rc;
    *yes = is_hash_of(json, hash);
    if (*yes || is_hash_without(h, json, UINT_MAX, hash, yes, e) < 0 || *yes)
        return *yes ? 0 : -1;
    string_list_free(&h->labels);
    stmt_bind_text(h->keys, 1, json);
    while ((rc = stmt_next(h->keys, e)) > 0)
        string_list_add(&h->labels, stmt_copy_text(h->keys, 0));
    const unsigned sets = h->labels.count > LABELS_MOST ? 0 : 1U << h->labels.count;
    *yes = sets == 0;
    for (unsigned set = 0; rc == 0 && !*yes && set < sets; set++)
        rc = is_hash_without(h, json, set, hash, yes, e);
    return rc;
}

static int find_changed_specs(struct db *db, struct changed_rows *found, struct error *e)
{
    static const char quoted[] = "SELECT '$.\"' || m.key || '\"' FROM json_each(?1) AS m WHERE m.key IN ('name', "
                                 "'description') OR EXISTS (SELECT 1 FROM sweep WHERE instr(text || profile_text, '\"'"
                                 " || m.key || '\"') OR instr(text || profile_text, char(39) || m.key || char(39)))";
    struct spec_hashes h = {NULL, NULL, NULL, STRING_LIST_INIT};
    int rc =
        db_prepare(db, "SELECT id, json, hash, kind || ' ' || id FROM spec", &h.next, e) < 0 ||
                db_prepare(db, quoted, &h.keys, e) < 0 ||
                db_prepare(db, "SELECT json_remove(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) WHERE json_valid(?1)",
                           &h.without, e) < 0
            ? -1
            : 0;
    while (rc == 0 && (rc = stmt_next(h.next, e)) > 0) {
        bool sound;
        rc = is_spec_sound(&h, &sound, e);
        if (rc == 0 && !sound)
            note_changed(found, stmt_int(h.next, 0), stmt_text(h.next, 3));
    }
    stmt_free(h.next);
    stmt_free(h.keys);
    stmt_free(h.without);
    string_list_free(&h.labels);
    return rc;
}

static void check_sums(struct audit *a)
{
    struct changed_rows attempts = {EXAMPLES_INIT, BUFFER_INIT}, specs = attempts;
    struct error e = ERROR_INIT;
    int rc = attempt_sums_check(a->db, note_changed, &attempts, &e);
    conclude_with(a, &attempts.examples, "attempts whose records have been changed",
                  "another program or the disk changed the file: restore a copy, or delete these attempts so that "
                  "their jobs run again: sqlite3 FILE \"DELETE FROM attempt WHERE id IN (%s); DELETE FROM attempt_sum "
                  "WHERE attempt_id NOT IN (SELECT id FROM attempt)\"",
                  buffer_text(&attempts.ids));
    if (rc == 0)
        rc = find_changed_specs(a->db, &specs, &e);
    conclude_with(a, &specs.examples, "specs that are not what their jobs were made of",
                  "delete them: sqlite3 FILE \"DELETE FROM spec WHERE id IN (%s)\", and `meshsweep run` makes them "
                  "again from the sweep file",
                  buffer_text(&specs.ids));
    buffer_free(&attempts.ids);
    buffer_free(&specs.ids);
    if (rc < 0)
        cannot_be_read(a, &e);
}

/* --- integrity --- */

/* Returns whether all is well, as SQLite's integrity_check would say: that takes several times as long, and is left to
 * name what is wrong. */
static bool is_sound(struct db *db)
{
    struct error unreadable = ERROR_INIT;
    OWNED char *first = NULL;
    bool is_sound = false;
    /* As a statement, which no table can stand in for. */
    if (db_query_text(db, "PRAGMA quick_check(1)", NO_VALUES, &first, &unreadable) == 0 && first &&
        strcmp(first, "ok") == 0 && row_sums_indexes_agree(db, &is_sound, &unreadable) < 0)
        is_sound = false;
    return is_sound;
}

/* By a connection of its own each statement sees what was committed when it began, as the questions do. */
static void look_at_integrity(void *context)
{
    struct audit *a = context;
    struct error unread = ERROR_INIT;
    struct db *db = NULL;
    a->is_sound = db_open_again(a->db, &db, &unread) == 0 && row_sums_add(db, &unread) == 0 && is_sound(db);
    db_close(db);
}

/* Half of the time goes there, so it is looked at beside the questions. */
static void begin_integrity(struct audit *a)
{
    a->integrity = worker_create();
    if (store_is_copy(a->db))
        a->is_sound = is_sound(a->db);
    else
        worker_begin(a->integrity, look_at_integrity, a);
}

static void conclude_integrity(struct audit *a)
{
    if (!a->integrity)
        return;
    worker_free(a->integrity);
    a->integrity = NULL;
    for (size_t i = 0; i < AUDIT_INTEGRITY_QUESTIONS && !a->is_sound; i++)
        answer_question(a, &audit_questions[i]);
}

int audit_run(struct db *db, const char *path, audit_found *found, void *context, size_t *count, struct error *e)
{
    struct audit a = {db, path, store_directory_of(db), found, context, 0, NULL, false};
    if (schema_problem(db)) {
        /* Nothing can be asked of tables that SQLite could not read, or not as they are. */
        compare_schema(&a);
        free(a.directory);
        *count = a.count;
        return 0;
    }
    if (row_sums_add(db, e) < 0) {
        free(a.directory);
        return -1;
    }
    enum audit_when not_now = writer_lock_is_held(path) ? AUDIT_WITHOUT_RUNNER : AUDIT_WITH_RUNNER;
    begin_integrity(&a);
    for (size_t i = AUDIT_INTEGRITY_QUESTIONS; i < LENGTH(audit_questions); i++)
        if (audit_questions[i].when != not_now)
            answer_question(&a, &audit_questions[i]);
    const size_t found_before = a.count;
    compare_schema(&a);
    const bool is_as_made = a.count == found_before;
    check_sums(&a);
    struct error unasked = ERROR_INIT;
    /* A table that is not as it was made may lack what is asked of it: that has been told. */
    int rc = find_missing(&a, is_as_made ? e : &unasked);
    rc = is_as_made ? rc : 0;
    /* A runner makes directories before it records them. */
    if (rc == 0 && not_now == AUDIT_WITH_RUNNER)
        rc = find_escaped(&a, e);
    conclude_integrity(&a);
    free(a.directory);
    *count = a.count;
    return rc;
}

/* --- the repair --- */

/* A repair that was made, reported once it is durable. */
struct done {
    const char *what, *how;
    struct examples examples;
};

struct repair {
    struct db *db;
    struct done *done;
    size_t count;
};

static struct examples *note(struct repair *r, const char *what, const char *how)
{
    r->done = array_grow(r->done, r->count, sizeof *r->done);
    r->done[r->count] = (struct done){what, how, EXAMPLES_INIT};
    return &r->done[r->count++].examples;
}

/* --- rows --- */

static int put_right(struct repair *r, const struct audit_question *q, struct error *e)
{
    struct examples x = EXAMPLES_INIT;
    if (examples_query(r->db, q->sql, &x, e) < 0) {
        examples_free(&x);
        return -1;
    }
    if (x.count == 0)
        return 0;
    *note(r, q->what, q->repaired) = x;
    return db_exec(r->db, q->repair_sql, e);
}

struct missing_parts {
    struct string_list sql;
    struct examples names;
};

static void collect_part(void *context, const struct schema_difference *d)
{
    struct missing_parts *m = context;
    if (d->state != SCHEMA_MISSING || !d->sql || !schema_can_be_made(d->type))
        return;
    string_list_add(&m->sql, xstrdup(d->sql));
    examples_add(&m->names, d->name);
}

static int make_missing_parts(struct repair *r, struct error *e)
{
    struct missing_parts m = {STRING_LIST_INIT, EXAMPLES_INIT};
    int rc = schema_compare(r->db, STORE_NEWEST, collect_part, &m, e);
    for (size_t i = 0; rc == 0 && i < m.sql.count; i++)
        rc = db_exec(r->db, m.sql.items[i], e);
    string_list_free(&m.sql);
    if (m.names.count)
        *note(r, "indexes and triggers that were missing", "they were created again") = m.names;
    return rc;
}

static int repair_rows(struct repair *r, struct error *e)
{
    if (db_begin(r->db, e) < 0)
        return -1;
    int rc = make_missing_parts(r, e);
    for (size_t i = 0; rc == 0 && i < LENGTH(audit_questions); i++)
        if (audit_questions[i].repair_sql)
            rc = put_right(r, &audit_questions[i], e);
    return db_end(r->db, rc, e);
}

/* --- directories --- */

static void collect_unowned(void *context, const char *name)
{
    string_list_add(context, xstrdup(name));
}

/* "KEY/3" becomes "orphans/KEY-3", or "orphans/KEY-3.2" and so on; what holds nothing goes. */
static int move_aside(const char *directory, const char *name, struct error *e)
{
    OWNED char *from = xasprintf("%s/%s", directory, name), *to = xasprintf("%s/orphans/%s", directory, name);
    char *slash = strrchr(to, '/');
    *slash = '-';
    int rc = rmdir(from);
    for (int again = 2; rc < 0 && store_exists(to); again++) {
        free(to);
        to = xasprintf("%s/orphans/%s.%d", directory, name, again);
        strchr(to + strlen(directory) + strlen("/orphans/"), '/')[0] = '-';
    }
    if (rc < 0 && rename(from, to) < 0)
        rc = error_errno(e, errno, "%s: cannot be moved to %s", from, to);
    else
        rc = 0;
    return rc;
}

static int clear_directories(struct repair *r, struct error *e)
{
    OWNED char *directory = store_directory_of(r->db), *orphans = xasprintf("%s/orphans", directory);
    OWNED_LIST s = STRING_LIST_INIT;
    int rc = audit_unowned_directories(r->db, directory, collect_unowned, &s, e);
    struct examples *moved =
        s.count ? note(r, "directories that belong to no attempt", "they are now in `orphans`; empty ones were removed")
                : NULL;
    if (rc == 0 && s.count)
        rc = file_make_directories(orphans, e);
    for (size_t i = 0; rc == 0 && i < s.count; i++)
        if ((rc = move_aside(directory, s.items[i], e)) == 0)
            examples_add(moved, s.items[i]);
    rmdir(orphans); /* where nothing was moved into it */
    return rc;
}

/* --- the whole --- */

static int refuse_damaged(struct db *db, const char *path, struct error *e)
{
    int64_t damage;
    struct error unreadable = ERROR_INIT;
    if (db_query_int(db, audit_damage_sql, NO_VALUES, 0, &damage, &unreadable) == 0 && damage == 0)
        return 0;
    return error_set(e, ERROR_FAILED,
                     "database %s: it is damaged, so nothing was repaired; `meshsweep check -d %s` says what is wrong "
                     "and what to do",
                     path, path);
}

static void tell_restored(const struct string_list *restored, audit_found *done, void *context)
{
    struct examples x = EXAMPLES_INIT;
    for (size_t i = 0; i < restored->count; i++)
        examples_add(&x, restored->items[i]);
    const struct audit_finding finding = {"parts of the schema that were not as meshsweep makes them",
                                          buffer_text(&x.text), x.count, "they are again, or were removed"};
    if (x.count)
        done(context, &finding);
    examples_free(&x);
}

int audit_repair(struct db *db, const char *path, const struct string_list *restored, audit_found *done, void *context,
                 struct error *e)
{
    struct repair r = {db, NULL, 0};
    tell_restored(restored, done, context);
    if (refuse_damaged(db, path, e) < 0 || row_sums_add(db, e) < 0)
        return -1;
    int rc = repair_rows(&r, e);
    size_t durable = rc == 0 ? r.count : 0;
    if (rc == 0) {
        rc = clear_directories(&r, e);
        durable = r.count;
    }
    for (size_t i = 0; i < r.count; i++) {
        struct done *d = &r.done[i];
        const struct audit_finding finding = {d->what, buffer_text(&d->examples.text), d->examples.count, d->how};
        if (i < durable && d->examples.count)
            done(context, &finding);
        examples_free(&d->examples);
    }
    free(r.done);
    return rc;
}

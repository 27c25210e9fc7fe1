#include "store/changes.h"

#include <pwd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "database/attempt_sums.h"
#include "store/jobs.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/embedded.h"
#include "util/memory.h"

/* --- who, and what --- */

/* "user@host"; the caller's. */
static char *author(void)
{
    struct utsname machine;
    struct passwd row, *found = NULL;
    char texts[4096];
    const uid_t user = geteuid();
    uname(&machine);
    if (getpwuid_r(user, &row, texts, sizeof texts, &found) != 0 || !found)
        return xasprintf("%ld@%s", (long)user, machine.nodename);
    return xasprintf("%s@%s", row.pw_name, machine.nodename);
}

int change_record(struct db *db, const char *kind, const char *why, const char *detail, int64_t *id, struct error *e)
{
    OWNED char *who = author();
    return db_insert(db, "INSERT INTO change (kind, at, who, why, detail) VALUES (?, ?, ?, ?, ?)",
                     VALUES(sql_text(kind), sql_int(clock_wall_ms()), sql_text(who), sql_text(why), sql_text(detail)),
                     id, e);
}

int note_record(struct db *db, const struct note_row *note, struct error *e)
{
    OWNED char *who = author();
    /* The later of two notes in one millisecond stands: the clock may have been set back, too. */
    int rc = db_run(db,
                    "INSERT INTO note (job_id, attempt_id, kind, text, at, who) VALUES (?1, ?2, ?3, ?4,"
                    " max(?5, coalesce((SELECT max(at) FROM note WHERE job_id = ?1), 0)), ?6)",
                    VALUES(sql_int(note->job_id), sql_positive(note->attempt_id), sql_text(note->kind),
                           sql_text(note->text), sql_int(clock_wall_ms()), sql_text(who)),
                    e);
    if (rc == 0)
        rc = db_run(db, "CREATE TEMP TABLE noted_job AS SELECT ?1 AS id", VALUES(sql_int(note->job_id)), e);
    if (rc == 0)
        rc = jobs_choose_representatives(db, "temp.noted_job", e);
    return rc < 0 ? -1 : db_exec(db, "DROP TABLE temp.noted_job", e);
}

#define NOT_TRIED " AND state = 'pending' AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = job.id)"
#define SECTIONS "('cluster_spec', 'model', 'training_spec', 'parallel_spec')"

/* --- moving --- */

/* The jobs as they were before. */
static const char make_moved[] =
    "DROP TABLE IF EXISTS temp.moved; CREATE TEMP TABLE moved (job_id INTEGER PRIMARY KEY, was,"
    " sweep_id, cluster_id, model_id, training_id, parallel_id, derived)";
static const char note_moved[] = "INSERT INTO temp.moved SELECT id, key, sweep_id, cluster_id, model_id, training_id,"
                                 " parallel_id, derived FROM job WHERE id = ?1";

static int move_one(struct db *db, const struct job_move *m, struct error *e)
{
    const struct sql_value id = sql_int(m->job_id), key = sql_hash(&m->now);
    if (db_run(db, note_moved, VALUES(id), e) < 0 ||
        db_run(db, "UPDATE trial SET job_id = ?1 WHERE job_id = (SELECT id FROM job WHERE key = ?2" NOT_TRIED ")",
               VALUES(id, key), e) < 0 ||
        db_run(db, "UPDATE note SET job_id = ?1 WHERE job_id = (SELECT id FROM job WHERE key = ?2" NOT_TRIED ")",
               VALUES(id, key), e) < 0 ||
        db_run(db, "DELETE FROM job WHERE key = ?1" NOT_TRIED, VALUES(key), e) < 0)
        return -1;
    return db_run(db, "UPDATE job SET key = ?2 WHERE id = ?1", VALUES(id, key), e);
}

int jobs_move(struct db *db, const struct job_move *moves, size_t count, struct error *e)
{
    int rc = db_exec(db, make_moved, e);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = move_one(db, &moves[i], e);
    return rc;
}

static int give_back_keys(struct db *db, int64_t sweep_id, struct error *e)
{
    if (db_run(db, "UPDATE job SET key = m.was FROM temp.moved AS m WHERE m.job_id = job.id AND job.sweep_id <> ?1",
               VALUES(sql_int(sweep_id)), e) < 0)
        return -1;
    return db_run(db, "DELETE FROM temp.moved WHERE job_id IN (SELECT id FROM job WHERE sweep_id <> ?1)",
                  VALUES(sql_int(sweep_id)), e);
}

int jobs_moved(struct db *db, int64_t sweep_id, const struct change *c, int64_t *count, struct error *e)
{
    int64_t id;
    if (give_back_keys(db, sweep_id, e) < 0 ||
        db_query_int(db, "SELECT count(*) FROM temp.moved", NO_VALUES, 0, count, e) < 0)
        return -1;
    if (*count > 0 &&
        (change_record(db, c->kind, c->why, c->detail, &id, e) < 0 ||
         db_run(db, embedded_text("src/store/note_replaced.sql"), VALUES(sql_int(id), sql_text(c->detail)), e) < 0 ||
         attempt_sums_follow(db, e) < 0))
        return -1;
    return db_exec(db, "DROP TABLE temp.moved", e);
}

/* --- taking back --- */

static int find_change(struct db *db, int64_t *id, struct error *e)
{
    OWNED_STMT *s = NULL;
    if (db_query(db,
                 "SELECT id, kind, undone IS NOT NULL FROM change WHERE id = ?1 OR (?1 = 0 AND kind IN ('accept', "
                 "'was') AND undone IS NULL) ORDER BY id DESC LIMIT 1",
                 VALUES(sql_int(*id)), &s, e) < 0)
        return -1;
    int rc = stmt_next(s, e);
    if (rc == 0 && *id == 0)
        rc = error_set(e, ERROR_NOTHING, "no results stand for others: there is nothing to undo");
    else if (rc == 0)
        rc = error_set(e, ERROR_NOTHING, "there is no change %lld", (long long)*id);
    else if (rc > 0 && stmt_int(s, 2))
        rc = error_set(e, ERROR_USAGE, "change %lld is undone already", (long long)stmt_int(s, 0));
    else if (rc > 0 && stmt_text(s, 1)[0] != 'a' && stmt_text(s, 1)[0] != 'w')
        rc = error_set(e, ERROR_USAGE, "change %lld is a %s, which moved no results", (long long)stmt_int(s, 0),
                       stmt_text(s, 1));
    else if (rc > 0)
        *id = stmt_int(s, 0);
    return rc < 0 ? -1 : 0;
}

/* The specs that the jobs of change ?1 had: their ids, where they are still there. */
static const char list_former_specs[] =
    "INSERT OR IGNORE INTO temp.former_spec (kind, json) SELECT field, was FROM replaced WHERE change_id = ?1"
    " AND field IN " SECTIONS " AND was IS NOT NULL";
static const char find_former_specs[] =
    "INSERT OR REPLACE INTO temp.former_spec SELECT s.kind, s.json, s.id FROM spec AS s WHERE EXISTS"
    " (SELECT 1 FROM temp.former_spec AS f WHERE (f.kind, f.json) = (s.kind, s.json))";

static int check_stands(struct db *db, int64_t id, struct error *e)
{
    OWNED char *why = NULL;
    if (db_exec(db, "CREATE TEMP TABLE former_spec (kind, json, id, PRIMARY KEY (kind, json)) WITHOUT ROWID", e) < 0 ||
        db_run(db, list_former_specs, VALUES(sql_int(id)), e) < 0 || db_exec(db, find_former_specs, e) < 0 ||
        db_query_text(db, embedded_text("src/store/why_not_undone.sql"), VALUES(sql_int(id)), &why, e) < 0)
        return -1;
    if (!why)
        return 0;
    error_set(e, ERROR_USAGE, "change %lld cannot be undone: %s; nothing was changed", (long long)id, why);
    return -1;
}

#define JOB_LIKE                                                                                                       \
    "sweep_id, rank, cluster_id, model_id, training_id, parallel_id, derived, devices, timeout_ms,"                    \
    " idle_timeout_ms, startup_timeout_ms"

static int take_back(struct db *db, int64_t job_id, const struct hash128 *was, const struct hash128 *now,
                     struct error *e)
{
    const struct sql_value id = sql_int(job_id);
    if (db_run(db, note_moved, VALUES(id), e) < 0 ||
        db_run(db, "DELETE FROM job WHERE key = ?1" NOT_TRIED, VALUES(sql_hash(was)), e) < 0 ||
        db_run(db, "UPDATE job SET key = ?2 WHERE id = ?1", VALUES(id, sql_hash(was)), e) < 0)
        return -1;
    return db_run(db, "INSERT INTO job (key, " JOB_LIKE ") SELECT ?2, " JOB_LIKE " FROM job WHERE id = ?1",
                  VALUES(id, sql_hash(now)), e);
}

static int take_all_back(struct db *db, int64_t id, int64_t *jobs, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_query(db, "SELECT job_id, was, now FROM replaced WHERE change_id = ? AND field = 'key'",
                      VALUES(sql_int(id)), &s, e);
    for (*jobs = 0; rc >= 0 && (rc = stmt_next(s, e)) > 0; ++*jobs) {
        const struct hash128 was = hash_from_prefix(stmt_text(s, 1), false),
                             now = hash_from_prefix(stmt_text(s, 2), false);
        rc = take_back(db, stmt_int(s, 0), &was, &now, e);
    }
    return rc;
}

/* Columns of jobs by the field that says what they were. */
static const struct {
    const char *column, *field, *value;
} columns[] = {
    {"derived", "derived", "r.was"},
    {"sweep_id", "sweep", "coalesce((SELECT id FROM sweep WHERE lower(hex(hash)) = r.was), sweep_id)"},
    {"cluster_id", "cluster_spec",
     "(SELECT f.id FROM temp.former_spec AS f WHERE f.kind = r.field AND f.json = r.was)"},
    {"model_id", "model", "(SELECT f.id FROM temp.former_spec AS f WHERE f.kind = r.field AND f.json = r.was)"},
    {"training_id", "training_spec",
     "(SELECT f.id FROM temp.former_spec AS f WHERE f.kind = r.field AND f.json = r.was)"},
    {"parallel_id", "parallel_spec",
     "(SELECT f.id FROM temp.former_spec AS f WHERE f.kind = r.field AND f.json = r.was)"},
};

static int restore_columns(struct db *db, int64_t id, struct error *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < LENGTH(columns); i++) {
        OWNED char *sql =
            xasprintf("UPDATE job SET %s = %s FROM replaced AS r WHERE +r.change_id = ?1 AND r.job_id = job.id"
                      " AND r.field = ?2",
                      columns[i].column, columns[i].value);
        rc = db_run(db, sql, VALUES(sql_int(id), sql_text(columns[i].field)), e);
    }
    return rc;
}

int change_undo(struct db *db, int64_t *id, int64_t *jobs, struct error *e)
{
    if (find_change(db, id, e) < 0 || check_stands(db, *id, e) < 0 || db_exec(db, make_moved, e) < 0 ||
        take_all_back(db, *id, jobs, e) < 0 || restore_columns(db, *id, e) < 0 || attempt_sums_follow(db, e) < 0)
        return -1;
    if (db_run(db, "UPDATE change SET undone = ?2 WHERE id = ?1", VALUES(sql_int(*id), sql_int(clock_wall_ms())), e) <
        0)
        return -1;
    return db_exec(db, "DROP TABLE temp.moved; DROP TABLE temp.former_spec", e);
}

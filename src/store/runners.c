#include "store/runners.h"

#include <stdio.h>

#include "store/states.h"
#include "util/clock.h"
#include "util/fault.h"

int runner_record(struct db *db, const struct runner_row *row, int64_t *id, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "INSERT INTO runner (host, boot_id, pid, start_ticks, started, tool_version, provenance)"
                   " VALUES (?, ?, ?, ?, ?, ?, ?)",
                   &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, row->host);
    stmt_bind_text(s, 2, row->boot_id);
    stmt_bind_int(s, 3, row->pid);
    stmt_bind_int(s, 4, row->start_ticks);
    stmt_bind_int(s, 5, clock_wall_ms());
    stmt_bind_text(s, 6, MESHSWEEP_VERSION);
    stmt_bind_text(s, 7, row->provenance_json);
    int rc = stmt_run(s, e);
    *id = db_last_id(db);
    stmt_free(s);
    return rc;
}

int runner_record_end(struct db *db, int64_t id, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "UPDATE runner SET ended = ? WHERE id = ?", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, clock_wall_ms());
    stmt_bind_int(s, 2, id);
    return stmt_run_once(s, e);
}

int runner_find_open(struct db *db, struct runner_process *out, bool *found, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "SELECT ended IS NULL, pid, start_ticks, boot_id, id FROM runner ORDER BY id DESC LIMIT 1", &s,
                   e) < 0)
        return -1;
    int rc = stmt_next(s, e);
    *found = rc > 0 && stmt_int(s, 0);
    if (*found) {
        *out = (struct runner_process){stmt_int(s, 4), stmt_int(s, 1), stmt_int(s, 2), ""};
        snprintf(out->boot_id, sizeof out->boot_id, "%s", stmt_text(s, 3));
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

/* --- recovery --- */

/* What an action is for all attempts in a state at once: ?1 the state, ?2 the next one, ?3 now, ?4 whose to leave. */
static const char *const recovery_statements[ATTEMPT_ACTION_COUNT] = {
    [ATTEMPT_SET_LOST] = "UPDATE attempt SET state = ?2, failure = 'lost', blame = 'runner', ended = ?3,"
                         " message = 'the runner died before it was known how this ended'"
                         " WHERE state = ?1 AND state IN ('claimed', 'running') AND runner_id <> ?4",
    [ATTEMPT_DELETE] = "DELETE FROM attempt WHERE state = ?1 AND state IN ('claimed', 'running') AND runner_id <> ?4",
};

static int recover_state(struct db *db, int64_t runner_id, enum attempt_state state, int64_t *lost, struct error *e)
{
    struct attempt_transition t = attempt_transition(state, ATTEMPT_ORPHAN);
    struct stmt *s = NULL;
    if (!t.next)
        return 0;
    if (db_prepare(db, recovery_statements[t.action], &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, attempt_state_names[state]);
    stmt_bind_int(s, 4, runner_id);
    if (t.action == ATTEMPT_SET_LOST) {
        stmt_bind_text(s, 2, attempt_state_names[t.next]);
        stmt_bind_int(s, 3, clock_wall_ms());
    }
    int rc = stmt_run(s, e);
    if (t.action == ATTEMPT_SET_LOST)
        *lost += db_changes(db);
    stmt_free(s);
    return rc;
}

static int end_open_attempts(struct db *db, int64_t runner_id, int64_t *lost, struct error *e)
{
    int rc = 0;
    *lost = 0;
    for (int state = ATTEMPT_NONE + 1; rc == 0 && state < ATTEMPT_STATE_COUNT; state++)
        rc = recover_state(db, runner_id, (enum attempt_state)state, lost, e);
    return rc;
}

/* Jobs whose attempts were running at the death of their runner. */
#define RAN_AT_DEATH                                                                                                   \
    "(SELECT job_id FROM attempt WHERE state IN ('claimed', 'running') AND state = 'running' AND runner_id <> ?1)"

/* Before the attempts are ended. At a death at which nothing ran nobody is cleared or suspected. */
static int count_losses(struct db *db, int64_t runner_id, int64_t most, struct error *e)
{
    static const char *const steps[] = {
        "UPDATE job SET losses = 0, aside = 0 WHERE losses > 0 AND ?2 AND EXISTS " RAN_AT_DEATH
        " AND id NOT IN " RAN_AT_DEATH,
        "UPDATE job SET losses = losses + 1, aside = losses + 1 >= ?2 WHERE id IN " RAN_AT_DEATH,
    };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof steps / sizeof *steps; i++) {
        struct stmt *s = NULL;
        rc = db_prepare(db, steps[i], &s, e);
        if (rc < 0)
            break;
        stmt_bind_int(s, 1, runner_id);
        stmt_bind_int(s, 2, most);
        rc = stmt_run_once(s, e);
    }
    return rc;
}

int attempts_recover(struct db *db, int64_t runner_id, const struct retry_policy *policy, struct recovered_counts *out,
                     struct error *e)
{
    if (count_losses(db, runner_id, retry_allowed(policy, "lost"), e) < 0 ||
        end_open_attempts(db, runner_id, &out->lost, e) < 0)
        return -1;
    FAULT(ATTEMPTS_RECOVERED);
    struct stmt *s = NULL;
    /* A running job without an open attempt: its last attempt was lost, or it was only claimed. */
    if (db_prepare(db,
                   "UPDATE job SET state = ?1, attempt_id = coalesce((SELECT max(id) FROM attempt WHERE job_id = "
                   "job.id),"
                   " attempt_id) WHERE state = 'running' AND NOT EXISTS"
                   " (SELECT 1 FROM attempt WHERE job_id = job.id AND state IN ('claimed', 'running'))",
                   &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, job_state_after(JOB_RUNNING, JOB_RETRY));
    int rc = stmt_run(s, e);
    FAULT(JOBS_RECOVERED);
    stmt_free(s);
    return rc < 0 ? -1 : db_query_int(db, "SELECT count(*) FROM job WHERE losses > 0 AND aside", 0, &out->aside, e);
}

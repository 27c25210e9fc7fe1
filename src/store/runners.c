#include "store/runners.h"

#include <assert.h>
#include <stdio.h>

#include "store/states.h"
#include "util/clock.h"
#include "util/fault.h"

int runner_record(struct db *db, const struct runner_row *row, int64_t *id, struct error *e)
{
    return db_insert(db,
                     "INSERT INTO runner (host, boot_id, pid, start_ticks, started, tool_version, provenance)"
                     " VALUES (?, ?, ?, ?, ?, ?, ?)",
                     VALUES(sql_text(row->host), sql_text(row->boot_id), sql_int(row->pid), sql_int(row->start_ticks),
                            sql_int(clock_wall_ms()), sql_text(MESHSWEEP_VERSION), sql_text(row->provenance_json)),
                     id, e);
}

int runner_record_end(struct db *db, int64_t id, struct error *e)
{
    return db_run(db, "UPDATE runner SET ended = ? WHERE id = ?", VALUES(sql_int(clock_wall_ms()), sql_int(id)), e);
}

int runner_find_open(struct db *db, struct runner_process *out, bool *found, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db, "SELECT ended IS NULL, pid, start_ticks, boot_id, id FROM runner ORDER BY id DESC LIMIT 1",
                     NO_VALUES, &s, e);
    *found = rc > 0 && stmt_int(s, 0);
    if (*found) {
        *out = (struct runner_process){stmt_int(s, 4), stmt_int(s, 1), stmt_int(s, 2), ""};
        snprintf(out->boot_id, sizeof out->boot_id, "%s", stmt_text(s, 3));
    }
    return rc < 0 ? -1 : 0;
}

/* --- recovery --- */

/* ?1 the state, ?2 whose to leave. */
#define LEFT_IN_STATE " WHERE state = ?1 AND state IN ('claimed', 'running') AND runner_id <> ?2"

/* Does to all attempts in a state at once what the death of their runner does. */
static int recover_state(struct db *db, int64_t runner_id, enum attempt_state state, int64_t *lost, struct error *e)
{
    struct attempt_transition t = attempt_transition(state, ATTEMPT_ORPHAN);
    const char *name = attempt_state_names[state];
    if (!t.next)
        return 0;
    if (t.action == ATTEMPT_DELETE)
        return db_run(db, "DELETE FROM attempt" LEFT_IN_STATE, VALUES(sql_text(name), sql_int(runner_id)), e);
    assert(t.action == ATTEMPT_SET_LOST);
    int rc = db_run(db,
                    "UPDATE attempt SET state = ?3, failure = 'lost', blame = 'runner', ended = ?4,"
                    " message = 'the runner died before it was known how this ended'" LEFT_IN_STATE,
                    VALUES(sql_text(name), sql_int(runner_id), sql_text(attempt_state_names[t.next]),
                           sql_int(clock_wall_ms())),
                    e);
    *lost += db_changes(db);
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
    "(SELECT job_id FROM attempt WHERE state IN ('claimed', 'running') AND state = 'running' AND kind = 'trial'"       \
    " AND runner_id <> ?1)"

/* Before the attempts are ended. At a death at which nothing ran nobody is cleared or suspected. */
static int count_losses(struct db *db, int64_t runner_id, int64_t most, struct error *e)
{
    static const char *const steps[] = {
        "UPDATE job SET losses = 0, aside = 0 WHERE losses > 0 AND ?2 AND EXISTS " RAN_AT_DEATH
        " AND id NOT IN " RAN_AT_DEATH,
        "UPDATE job SET losses = losses + 1, aside = losses + 1 >= ?2 WHERE id IN " RAN_AT_DEATH,
    };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof steps / sizeof *steps; i++)
        rc = db_run(db, steps[i], VALUES(sql_int(runner_id), sql_int(most)), e);
    return rc;
}

int attempts_recover(struct db *db, int64_t runner_id, const struct retry_policy *policy, struct recovered_counts *out,
                     struct error *e)
{
    if (count_losses(db, runner_id, retry_allowed(policy, "lost"), e) < 0 ||
        end_open_attempts(db, runner_id, &out->lost, e) < 0)
        return -1;
    FAULT(ATTEMPTS_RECOVERED);
    /* A running job without an open attempt: its last attempt was lost, or it was only claimed. */
    if (db_run(db,
               "UPDATE job SET state = ?1, attempt_id = coalesce((SELECT max(id) FROM attempt WHERE job_id = job.id"
               " AND kind = 'trial'), attempt_id) WHERE state = 'running' AND NOT EXISTS"
               " (SELECT 1 FROM attempt WHERE job_id = job.id AND state IN ('claimed', 'running') AND kind = 'trial')",
               VALUES(sql_text(job_state_after(JOB_RUNNING, JOB_RETRY))), e) < 0)
        return -1;
    FAULT(JOBS_RECOVERED);
    return db_query_int(db, "SELECT count(*) FROM job WHERE losses > 0 AND aside", NO_VALUES, 0, &out->aside, e);
}

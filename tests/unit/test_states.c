/* store: the tables of states, and that the database holds everybody to them. */
#include <stdbool.h>

#include "config/failure.h"
#include "database_fixture.h"
#include "store/states.h"

static int make_database(void **state)
{
    *state = database_with("");
    return 0;
}

/* Returns whether the database lets the one row go from a state to another. */
static bool database_allows(struct db *db, const char *table, const char *from, const char *to)
{
    struct error e = ERROR_INIT;
    must(db, "DELETE FROM attempt; DELETE FROM job");
    char *insert =
        xasprintf("INSERT INTO job (id, key, sweep_id, rank, state, failure) VALUES (1, zeroblob(16), 1, 0,"
                  " '%s', iif('%s' = 'failed', 'exit', NULL))",
                  strcmp(table, "job") == 0 ? from : "running", strcmp(table, "job") == 0 ? from : "running");
    must(db, insert);
    free(insert);
    if (strcmp(table, "attempt") == 0) {
        insert = xasprintf("INSERT INTO attempt (id, job_id, number, runner_id, state, failure) VALUES (1, 1, 1, 1,"
                           " '%s', iif('%s' = 'failed', 'exit', NULL))",
                           from, from);
        must(db, insert);
        free(insert);
    }
    OWNED char *update =
        xasprintf("UPDATE %s SET state = '%s', failure = iif('%s' = 'failed', 'exit', NULL) WHERE id = 1", table, to,
                  to);
    int rc = db_exec(db, update, &e);
    return rc == 0;
}

static bool table_has_job(int from, int to)
{
    for (int event = 1; event < JOB_EVENT_COUNT; event++)
        if ((int)job_transition((enum job_state)from, (enum job_event)event).next == to)
            return true;
    return false;
}

static bool table_has_attempt(int from, int to)
{
    for (int event = 1; event < ATTEMPT_EVENT_COUNT; event++)
        if ((int)attempt_transition((enum attempt_state)from, (enum attempt_event)event).next == to)
            return true;
    return false;
}

static void check_pairs(struct db *db, const char *table, const char *const *names, int count, bool (*has)(int, int))
{
    for (int from = 1; from < count; from++)
        for (int to = 1; to < count; to++)
            if (from != to && database_allows(db, table, names[from], names[to]) != has(from, to))
                fail_msg("%s: %s to %s", table, names[from], names[to]);
}

TEST_WITHIN(states__every_pair__database_allows_what_the_table_has, make_database, close_database)
{
    check_pairs(*state, "job", job_state_names, JOB_STATE_COUNT, table_has_job);
    check_pairs(*state, "attempt", attempt_state_names, ATTEMPT_STATE_COUNT, table_has_attempt);
}

static bool database_takes(struct db *db, const char *sql)
{
    struct error e = ERROR_INIT;
    return db_exec(db, sql, &e) == 0;
}

TEST_WITHIN(checks__unknown_words__refused, make_database, close_database)
{
    static const char *const bad[] = {
        "INSERT INTO job (key, sweep_id, rank, state) VALUES (randomblob(16), 1, 0, 'done')",
        "INSERT INTO job (key, sweep_id, rank, state, failure) VALUES (randomblob(16), 1, 0, 'failed', 'odd')",
        "INSERT INTO job (key, sweep_id, rank, risk) VALUES (randomblob(16), 1, 0, 4)",
        "INSERT INTO attempt (job_id, number, runner_id, state) VALUES (1, 2, 1, 'pending')",
        "INSERT INTO attempt (job_id, number, runner_id, state, failure) VALUES (1, 2, 1, 'failed', 'odd')",
        "INSERT INTO spec (kind, hash, json) VALUES ('cluster', randomblob(16), '{}')",
        "INSERT INTO metric VALUES (1, 'loss', 0, 0, 'NaN')",
        ("INSERT INTO attempt (job_id, number, runner_id, state, failure, blame) VALUES (1, 2, 1, 'failed', 'lost', "
         "'me')"),
        "INSERT INTO job (key, sweep_id, rank, state, held) VALUES (randomblob(16), 1, 0, 'running', 'why')",
        "INSERT INTO job (key, sweep_id, rank, aside) VALUES (randomblob(16), 1, 0, 2)",
    };
    must(*state, "INSERT INTO job (id, key, sweep_id, rank) VALUES (1, zeroblob(16), 1, 0);"
                 "INSERT INTO attempt (id, job_id, number, runner_id, state) VALUES (1, 1, 1, 1, 'claimed');"
                 "INSERT INTO metric VALUES (1, 'loss', 1, 0, NULL), (1, 'loss', 2, 0, 1.7976931348623157e308)");
    for (size_t i = 0; i < LENGTH(bad); i++)
        FAIL_WHERE(database_takes(*state, bad[i]), "taken: %s", bad[i]);
}

TEST_WITHIN(checks__infinity__refused, make_database, close_database)
{
    /* SQLite reads numbers as long doubles; valgrind has none, and takes the largest double for infinite. */
    volatile long double large = 1e300L;
    NEEDS(large * 1e100L / 1e100L <= 2 * large);
    must(*state, "INSERT INTO job (id, key, sweep_id, rank) VALUES (1, zeroblob(16), 1, 0);"
                 "INSERT INTO attempt (id, job_id, number, runner_id, state) VALUES (1, 1, 1, 1, 'claimed');"
                 "INSERT INTO metric VALUES (1, 'loss', 1, 0, 1)");
    assert_false(database_takes(*state, "INSERT INTO metric VALUES (1, 'loss', 0, 0, 9e999)"));
    assert_false(
        database_takes(*state, "INSERT INTO summary (attempt_id, name, value, count) VALUES (1, 'loss', -9e999, 1)"));
}

TEST_WITHIN(checks__every_class_of_failure__taken, make_database, close_database)
{
    for (int i = 1; i < FAILURE_COUNT; i++) {
        char *sql =
            xasprintf("INSERT INTO job (id, key, sweep_id, rank, state, failure) VALUES (%d, randomblob(16), 1, 0,"
                      " 'failed', '%s'); INSERT INTO attempt (job_id, number, runner_id, state, failure)"
                      " VALUES (%d, 1, 1, 'failed', '%s')",
                      i, failure_names[i], i, failure_names[i]);
        must(*state, sql);
        free(sql);
    }
}

/* Statements of every job make no table of their own: "x IN ('a', 'b', 'c')" in a check would. */
TEST_WITHIN(checks__statements_of_every_job__make_no_table, make_database, close_database)
{
    static const char *const statements[] = {
        "EXPLAIN INSERT INTO job (key, sweep_id, rank) VALUES (?, ?, ?)",
        "EXPLAIN UPDATE job SET state = ? WHERE id = ?",
        "EXPLAIN INSERT INTO attempt (job_id, number, runner_id, state) VALUES (?, ?, ?, ?)",
        "EXPLAIN UPDATE attempt SET state = ?, failure = ? WHERE id = ?",
        "EXPLAIN INSERT INTO spec (kind, hash, json) VALUES (?, ?, ?)",
    };
    struct error e = ERROR_INIT;
    for (size_t i = 0; i < LENGTH(statements); i++) {
        OWNED_STMT *s = NULL;
        assert_int_equal(db_prepare(*state, statements[i], &s, &e), 0);
        while (stmt_next(s, &e) > 0)
            FAIL_WHERE(strcmp(stmt_text(s, 1), "OpenEphemeral") == 0, "a table is made: %s", statements[i]);
    }
}

/* Every cell: "event state next action"; what is not listed is illegal. */
TEST(job_table__every_cell__as_written)
{
    static const struct job_transition want[JOB_STATE_COUNT][JOB_EVENT_COUNT] =
        {[JOB_PENDING][JOB_CLAIM] = {JOB_RUNNING, JOB_KEEP},
         [JOB_RUNNING][JOB_RELEASE] = {JOB_PENDING, JOB_KEEP},
         [JOB_RUNNING][JOB_SUCCEED] = {JOB_OK, JOB_SET_RESULT},
         [JOB_RUNNING][JOB_REPEAT] = {JOB_PENDING, JOB_SET_RESULT},
         [JOB_RUNNING][JOB_FAIL] = {JOB_FAILED, JOB_SET_FAILURE},
         [JOB_RUNNING][JOB_RETRY] = {JOB_PENDING, JOB_SET_RESULT},
         [JOB_PENDING][JOB_PRUNE] = {JOB_PENDING, JOB_SET_WITNESS},
         [JOB_PENDING][JOB_RESTORE] = {JOB_PENDING, JOB_CLEAR_WITNESS},
         [JOB_RUNNING][JOB_HOLD] = {JOB_PENDING, JOB_SET_HELD},
         [JOB_PENDING][JOB_LET_GO] = {JOB_PENDING, JOB_CLEAR_HELD},
         [JOB_OK][JOB_REOPEN] = {JOB_PENDING, JOB_CLEAR_FAILURE},
         [JOB_FAILED][JOB_REOPEN] = {JOB_PENDING, JOB_CLEAR_FAILURE}};
    for (int from = 1; from < JOB_STATE_COUNT; from++)
        for (int event = 1; event < JOB_EVENT_COUNT; event++) {
            struct job_transition got = job_transition((enum job_state)from, (enum job_event)event);
            assert_int_equal(got.next, want[from][event].next);
            assert_int_equal(got.action, want[from][event].action);
        }
}

/* An attempt that is over is over, and one that its runner left is never open afterwards. */
TEST(attempt_table__ends_and_orphans__final)
{
    for (int event = 1; event < ATTEMPT_EVENT_COUNT; event++) {
        assert_int_equal(attempt_transition(ATTEMPT_OK, (enum attempt_event)event).next, 0);
        assert_int_equal(attempt_transition(ATTEMPT_FAILED, (enum attempt_event)event).next, 0);
    }
    assert_int_equal(attempt_transition(ATTEMPT_CLAIMED, ATTEMPT_ORPHAN).next, ATTEMPT_REMOVED);
    assert_int_equal(attempt_transition(ATTEMPT_CLAIMED, ATTEMPT_ORPHAN).action, ATTEMPT_DELETE);
    assert_int_equal(attempt_transition(ATTEMPT_RUNNING, ATTEMPT_ORPHAN).next, ATTEMPT_FAILED);
    assert_int_equal(attempt_transition(ATTEMPT_RUNNING, ATTEMPT_ORPHAN).action, ATTEMPT_SET_LOST);
    assert_int_equal(attempt_transition(ATTEMPT_CLAIMED, ATTEMPT_SUCCEED).next, 0);
    assert_int_equal(attempt_transition(ATTEMPT_RUNNING, ATTEMPT_START).next, 0);
    assert_int_equal(attempt_transition(ATTEMPT_RUNNING, ATTEMPT_RELEASE).next, 0);
}

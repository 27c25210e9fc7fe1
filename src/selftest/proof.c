/* Checks invariants of a finished database, whatever happened to its runners. */
#include <inttypes.h>
#include <stdlib.h>

#include "database/audit.h"
#include "database/open.h"
#include "selftest/selftest.h"

/* Each counts violations. The sweep is in selftest.c. */
static const struct {
    const char *wrong, *sql;
} questions[] = {
    {"jobs that are neither ok nor failed", "SELECT count(*) FROM job WHERE state NOT IN ('ok', 'failed')"},
    {"attempts still open", "SELECT count(*) FROM attempt WHERE state IN ('claimed', 'running')"},
    {"jobs that did not end as designed",
     "SELECT count(*) FROM results WHERE iif(y % 16 = 5, state <> 'failed' OR failure <> 'exit', state <> 'ok')"},
    {"results that are not the job's number", "SELECT count(*) FROM results WHERE state = 'ok' AND (score IS NOT 1000 "
                                              "* x + y OR half IS NOT 500 * x + y / 2.0)"},
    {"results recorded twice",
     "SELECT count(*) FROM (SELECT 1 FROM attempt WHERE state = 'ok' GROUP BY job_id HAVING count(*) > 1)"},
    {"failures recorded twice",
     "SELECT count(*) FROM (SELECT 1 FROM attempt WHERE failure = 'exit' GROUP BY job_id HAVING count(*) > 1)"},
    {"attempts with a failure that nobody caused",
     "SELECT count(*) FROM attempt WHERE failure NOT IN ('exit', 'lost')"},
    {"attempts that are ok without each sample once", "SELECT count(*) FROM attempt AS a WHERE state = 'ok' AND "
                                                      "(SELECT count(*) FROM metric WHERE attempt_id = a.id) <> 3"},
    {"lost attempts with samples",
     "SELECT count(*) FROM metric JOIN attempt AS a ON a.id = attempt_id WHERE a.failure = 'lost'"},
    {"jobs whose attempts are not numbered from 1 without a gap",
     "SELECT count(*) FROM (SELECT 1 FROM attempt GROUP BY job_id HAVING max(number) <> count(*) OR min(number) <> 1)"},
    {"jobs without any attempt", "SELECT count(*) FROM job WHERE id NOT IN (SELECT job_id FROM attempt)"},
};

static int count(struct db *db, const char *sql, int64_t *out, struct error *e)
{
    return db_query_int(db, sql, NO_VALUES, 0, out, e);
}

static int ask_all(struct db *db, struct error *e)
{
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        int64_t n;
        if (count(db, questions[i].sql, &n, e) < 0)
            return -1;
        if (n > 0)
            return error_set(e, ERROR_FAILED, "%s: %" PRId64, questions[i].wrong, n);
    }
    return 0;
}

static void keep_finding(void *context, const struct audit_finding *f)
{
    error_add_line(context, ERROR_FAILED, "%s (%" PRId64 "): %s", f->what, f->count, f->examples);
}

static int audit(struct db *db, const char *path, struct error *e)
{
    struct error findings = ERROR_INIT;
    size_t n;
    if (audit_run(db, path, keep_finding, &findings, &n, e) < 0)
        return -1;
    if (n == 0)
        return 0;
    *e = findings;
    return -1;
}

static int prove(struct db *db, const char *path, int64_t jobs, struct selftest_report *report, struct error *e)
{
    int64_t found, attempts, lost;
    if (count(db, "SELECT count(*) FROM job", &found, e) < 0 ||
        count(db, "SELECT count(*) FROM attempt", &attempts, e) < 0 ||
        count(db, "SELECT count(*) FROM attempt WHERE failure = 'lost'", &lost, e) < 0)
        return -1;
    if (found != jobs)
        return error_set(e, ERROR_FAILED, "there are %" PRId64 " jobs, not %" PRId64, found, jobs);
    if (ask_all(db, e) < 0 || audit(db, path, e) < 0)
        return -1;
    report->sweeps++;
    report->jobs += found;
    report->attempts += attempts;
    report->lost += lost;
    return 0;
}

int selftest_prove(const char *db_path, int64_t jobs, struct selftest_report *report, struct error *e)
{
    struct db *db = NULL;
    int rc = store_open_read_only(db_path, &db, e);
    if (rc == 0)
        rc = prove(db, db_path, jobs, report, e);
    store_close(db);
    return rc;
}

char *selftest_identity(const char *db_path)
{
    struct db *db = NULL;
    struct error ignored = ERROR_INIT;
    char *identity = NULL;
    /* A runner that was killed early may leave nothing to read. */
    if (store_open_read_only(db_path, &db, &ignored) == 0)
        store_identity(db, &identity, &ignored);
    store_close(db);
    return identity;
}

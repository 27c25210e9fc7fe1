#include "run/reread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "database/samples.h"
#include "results/json.h"
#include "run/recording.h"
#include "store/changes.h"
#include "store/imports.h"
#include "util/embedded.h"
#include "util/memory.h"

struct rereading {
    const struct reread_request *request;
    struct attempt_store *store;
    struct reader_set *readers;
    struct classifier *classifier;
    struct secrets secrets;
    bool is_selected;      /* else only what lacked the objective is read */
    const char *objective; /* without which an attempt is no-metric; NULL: none */
    int64_t count;         /* attempts read */
    cJSON *unread;         /* those that could not be */
};

/* The attempt as it is recorded. */
struct old_attempt {
    int64_t id, job_id, number;
    bool is_failed; /* as one that may be judged anew */
    bool stands;    /* for its job, which failed */
    bool is_due;    /* its job has ended as failed, or waits for another attempt */
    char *failure, *message, *consequence, *left_out;
    struct outcome outcome;
};

static void old_attempt_free(struct old_attempt *a)
{
    free(a->failure);
    free(a->message);
    free(a->consequence);
    free(a->left_out);
    outcome_free(&a->outcome);
}

static struct timeval time_of(int64_t ms)
{
    return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

/* Its end as its executor told it. */
static struct outcome outcome_of(const struct stmt *s, int first, const struct old_attempt *a)
{
    enum { EXIT_CODE, SIGNAL, LIMIT, DURATION, UNWATCHED, USER, SYSTEM, RSS, LOG, DEVICE };
    struct outcome o = {.exit_code = stmt_is_null(s, first + EXIT_CODE) ? -1 : (int)stmt_int(s, first + EXIT_CODE),
                        .signal_number = (int)stmt_int(s, first + SIGNAL),
                        .limit_ms = stmt_int(s, first + LIMIT),
                        .duration_ms = stmt_int(s, first + DURATION),
                        .unwatched_ms = stmt_int(s, first + UNWATCHED),
                        .has_usage = !stmt_is_null(s, first + USER),
                        .log_bytes = stmt_int(s, first + LOG),
                        .device_bytes = stmt_int(s, first + DEVICE)};
    o.usage.ru_utime = time_of(stmt_int(s, first + USER));
    o.usage.ru_stime = time_of(stmt_int(s, first + SYSTEM));
    o.usage.ru_maxrss = (long)(stmt_int(s, first + RSS) / 1024);
    outcome_recall(&o, failure_by_name(a->failure ? a->failure : ""), a->message ? a->message : "");
    return o;
}

#define DEVICE_MEMORY "(SELECT value FROM summary WHERE attempt_id = a.id AND name = 'device_memory_peak')"

static int attempt_load(struct rereading *r, int64_t id, struct old_attempt *out, struct error *e)
{
    static const char row[] =
        "SELECT a.job_id, a.number, a.state = 'failed' AND a.blame IS NULL AND"
        " a.failure NOT IN ('spawn', 'lost', 'cancelled'), j.attempt_id = a.id AND j.state = 'failed',"
        " j.state = 'failed' OR " JOB_MAY_RUN(
            "j.") ", a.failure, a.message, a.consequence, a.left_out, a.exit_code, a.signal, a.limit_ms, a.duration_ms,"
                  " a.unwatched_ms, a.user_ms, a.system_ms, a.max_rss, a.log_bytes, " DEVICE_MEMORY
                  " FROM attempt AS a JOIN job AS j ON j.id = a.job_id WHERE a.id = ?";
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(r->request->db, row, VALUES(sql_int(id)), &s, e)) > 0) {
        *out = (struct old_attempt){.id = id,
                                    .job_id = stmt_int(s, 0),
                                    .number = stmt_int(s, 1),
                                    .is_failed = stmt_int(s, 2) != 0,
                                    .stands = stmt_int(s, 3) != 0,
                                    .is_due = stmt_int(s, 4) != 0,
                                    .failure = stmt_copy_text(s, 5),
                                    .message = stmt_copy_text(s, 6),
                                    .consequence = stmt_copy_text(s, 7),
                                    .left_out = stmt_copy_text(s, 8)};
        out->outcome = outcome_of(s, 9, out);
    }
    return rc;
}

static bool differ(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") != 0;
}

/* --- numbers --- */

/* Finds whether the summary that is recorded comes from the same samples. */
static int is_as_recorded(struct rereading *r, int64_t attempt_id, const char *name, const struct summary *n,
                          bool *same, struct error *e)
{
    static const char sql[] =
        "SELECT 1 FROM summary WHERE attempt_id = ?1 AND name = ?2 AND definition_id IS"
        " (SELECT definition_id FROM metric_definition WHERE name = ?2) AND (value IS ?3 OR value IS NULL AND note IS"
        " NOT NULL) AND (mean, median, minimum, maximum, stddev, p90) IS (?4, ?5, ?6, ?7, ?8, ?9)"
        " AND (coalesce(count, 0), coalesce(not_finite, 0), coalesce(reported, 0)) = (?10, ?11, ?12)";
    return db_query_bool(r->request->db, sql,
                         VALUES(sql_int(attempt_id), sql_text(name), sql_finite(n->value), sql_finite(n->mean),
                                sql_finite(n->median), sql_finite(n->minimum), sql_finite(n->maximum),
                                sql_finite(n->stddev), sql_finite(n->p90), sql_int(n->count), sql_int(n->not_finite),
                                sql_int(n->reported)),
                         same, e);
}

/* A metric that was reported and is not found any more stays: it stood in a file that is not kept. */
static int store_numbers(struct rereading *r, const struct old_attempt *a, struct recording *rec, bool *changed,
                         struct error *e)
{
    const struct sample_list *l = &rec->samples;
    bool all_same = true, same = true;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < l->name_count; i++) {
        const struct summary n = recording_summary(rec, i);
        if (n.reported > 0)
            rc = is_as_recorded(r, a->id, l->names[i], &n, &same, e);
        all_same &= same;
    }
    for (size_t i = 0; rc == 0 && !all_same && i < l->name_count; i++)
        if (l->series[i].tally.reported > 0)
            rc = samples_forget(r->request->db, a->id, l->names[i], e);
    *changed |= !all_same;
    return rc < 0 || all_same ? rc : recording_store_samples(r->store, a->id, rec, e);
}

/* --- what became of it --- */

/* Its job is ok too, by the steps of store/states.h, unless it is already or runs. */
static int succeed(struct rereading *r, const struct old_attempt *a, struct error *e)
{
    static const char *const steps[] = {"UPDATE job SET state = 'pending', failure = NULL WHERE id = ?",
                                        "UPDATE job SET state = 'running' WHERE id = ?",
                                        "UPDATE job SET state = 'ok', due = NULL WHERE id = ?"};
    for (size_t i = 0; i < LENGTH(steps); i++)
        if (db_run(r->request->db, steps[i], VALUES(sql_int(a->job_id)), e) < 0)
            return -1;
    return 0;
}

static int store_verdict(struct rereading *r, const struct old_attempt *a, const struct recording *rec, bool *changed,
                         bool *mended, struct error *e)
{
    /* A batch system's words on it stand in the message alone. */
    const bool is_same =
        !differ(rec->failure, a->failure) &&
        (a->outcome.note || (!differ(rec->end.message, a->message) && !differ(rec->end.consequence, a->consequence)));
    if (!a->is_failed || is_same || rec->blame != BLAME_JOB)
        return 0;
    OWNED char *message = rec->failure ? NULL : xasprintf("read again with other readers: it had been %s", a->failure);
    int rc = db_run(r->request->db,
                    "UPDATE attempt SET state = iif(?2 IS NULL, 'ok', 'failed'), failure = ?2, message = ?3,"
                    " consequence = ?4 WHERE id = ?1",
                    VALUES(sql_int(a->id), sql_text(rec->failure), sql_text(message ? message : rec->end.message),
                           sql_text(rec->failure ? rec->end.consequence : NULL)),
                    e);
    *changed = true;
    *mended = !rec->failure && a->is_due;
    if (rc == 0 && *mended)
        rc = succeed(r, a, e);
    else if (rc == 0 && rec->failure && a->stands)
        rc = db_run(r->request->db, "UPDATE job SET failure = ? WHERE id = ?",
                    VALUES(sql_text(rec->failure), sql_int(a->job_id)), e);
    return rc;
}

static int store_left_out(struct rereading *r, const struct old_attempt *a, const struct recording *rec, bool *changed,
                          struct error *e)
{
    if (!differ(rec->end.left_out, a->left_out))
        return 0;
    *changed = true;
    return db_run(r->request->db, "UPDATE attempt SET left_out = ? WHERE id = ?",
                  VALUES(sql_text(rec->end.left_out), sql_int(a->id)), e);
}

/* --- one attempt --- */

static int store_reading(struct rereading *r, const struct old_attempt *a, struct recording *rec, struct renewal *out,
                         struct error *e)
{
    bool changed = false, mended = false;
    if (store_numbers(r, a, rec, &changed, e) < 0 || store_verdict(r, a, rec, &changed, &mended, e) < 0 ||
        store_left_out(r, a, rec, &changed, e) < 0)
        return -1;
    out->reread += changed;
    out->mended += mended;
    return changed
               ? db_run(r->request->db, "INSERT INTO temp.renewal (attempt_id) VALUES (?)", VALUES(sql_int(a->id)), e)
               : 0;
}

/* Takes `why`. */
static void note_unread(struct rereading *r, const struct old_attempt *a, char *why)
{
    cJSON *one = cJSON_CreateObject();
    json_add_count(one, "job", a->job_id);
    json_add_count(one, "attempt", a->number);
    json_add_text(one, "why", why);
    cJSON_AddItemToArray(r->unread, one);
    free(why);
}

static int read_kept(struct rereading *r, struct old_attempt *a, const char *directory, struct renewal *out,
                     struct error *e)
{
    const struct running_attempt attempt = {.claim = {.trials = a->number}};
    const struct recording_context context = {.sweep = r->request->space->sweep,
                                              .readers = r->readers,
                                              .classifier = r->classifier,
                                              .secrets = &r->secrets,
                                              .measures = r->request->measures,
                                              .job_dir = directory,
                                              .attempt = &attempt};
    struct recording rec;
    a->outcome.log_path = a->outcome.log_bytes > 0 ? xasprintf("%s/output.log", directory) : NULL;
    a->outcome.metrics_path = xasprintf("%s/metrics.jsonl", directory);
    recording_make(&context, &a->outcome, &rec);
    int rc = 0;
    if (rec.samples.read_error) {
        note_unread(r, a,
                    xasprintf("its output %s/output.log cannot be read: %s", directory,
                              strerror(rec.samples.read_error)));
    } else {
        r->count++;
        rc = store_reading(r, a, &rec, out, e);
        if (rc == 0)
            rc = db_run(r->request->db,
                        "UPDATE attempt SET readers = (SELECT value || iif(failure IS 'no-metric', ' ' || ?2, '')"
                        " FROM meta WHERE name = 'readers') WHERE id = ?1",
                        VALUES(sql_int(a->id), sql_text(r->objective)), e);
    }
    recording_free(&rec);
    return rc;
}

static int read_again(struct rereading *r, int64_t attempt_id, struct renewal *out, struct error *e)
{
    struct old_attempt a = {0};
    char *directory = NULL, *why = NULL;
    int rc = attempt_load(r, attempt_id, &a, e);
    if (rc == 0)
        rc = kept_output_find(r->request->db, r->request->directory, attempt_id, &directory, &why, e);
    if (rc == 0 && directory)
        rc = read_kept(r, &a, directory, out, e);
    else if (rc == 0)
        note_unread(r, &a, why);
    free(directory);
    old_attempt_free(&a);
    return rc;
}

/* --- all of them --- */

static int rereading_open(struct rereading *r, struct error *e)
{
    const struct reread_request *q = r->request;
    const struct attempt_store_options none = {.executor = ""};
    recording_secrets(&r->secrets, q->space, q->environment);
    if (reader_set_create(&q->space->sweep->job, &r->readers, e) < 0 ||
        classifier_load(q->db, q->space->sweep, &r->classifier, e) < 0 ||
        attempt_store_create(q->db, &none, &r->store, e) < 0)
        return -1;
    return 0;
}

static void rereading_close(struct rereading *r)
{
    attempt_store_free(r->store);
    classifier_free(r->classifier);
    reader_set_free(r->readers);
    secrets_free(&r->secrets);
}

/* Reading changes the rows that say what is to be read, so they are listed first. */
static int list_attempts(struct rereading *r, int64_t **ids, size_t *count, struct error *e)
{
    static const char lacked[] =
        "SELECT a.id FROM meta AS m CROSS JOIN job AS j CROSS JOIN attempt AS a ON a.id = j.attempt_id"
        " WHERE m.name = 'readers' AND j.sweep_id = ? AND j.state = 'failed' AND j.failure = 'no-metric'"
        " AND a.readers IS NOT m.value || ' ' || ?2 AND a.executor <> '" IMPORT_EXECUTOR "'";
    static const char selected[] =
        "SELECT a.id FROM temp.selected AS w JOIN attempt AS a ON a.job_id = w.job_id WHERE ?1 AND a.kind = 'trial'"
        " AND a.state IN ('ok', 'failed') AND a.executor <> '" IMPORT_EXECUTOR
        "' AND (a.directory IS NOT NULL OR EXISTS (SELECT 1 FROM sample WHERE attempt_id = a.id)) ORDER BY a.id";
    OWNED_STMT *s = NULL;
    const struct sweep *sweep = r->request->space->sweep;
    r->objective = sweep->objective_count ? sweep->objectives[0].metric : NULL;
    const struct sql_values values = VALUES(sql_int(r->request->sweep_id), sql_text(r->objective));
    int rc = db_query(r->request->db, r->is_selected ? selected : lacked,
                      (struct sql_values){values.items, r->is_selected ? 1 : 2}, &s, e);
    while (rc >= 0 && (rc = stmt_next(s, e)) > 0)
        *array_add(*ids, *count) = stmt_int(s, 0);
    return rc;
}

static int read_all(void *context, struct renewal *out, struct error *e)
{
    struct rereading *r = context;
    OWNED int64_t *ids = NULL;
    size_t count = 0;
    int rc = list_attempts(r, &ids, &count, e);
    if (rc == 0 && count > 0)
        rc = rereading_open(r, e);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = read_again(r, ids[i], out, e);
    rereading_close(r);
    return rc;
}

static int renew(struct rereading *r, struct renewal *out, struct error *e)
{
    const struct reread_request *q = r->request;
    const struct renewal_request request = {.sweep = q->space->sweep,
                                            .sweep_id = q->sweep_id,
                                            .directory = q->directory,
                                            .measures = q->measures,
                                            .in_transaction = r->is_selected,
                                            .reread = read_all,
                                            .context = r};
    return measures_renew(q->db, &request, out, e);
}

int reread_renew(const struct reread_request *request, struct renewal *out, struct error *e)
{
    struct rereading r = {.request = request, .secrets = SECRETS_INIT, .unread = cJSON_CreateArray()};
    int rc = renew(&r, out, e);
    cJSON_Delete(r.unread);
    return rc;
}

/* --- what was replaced --- */

/* Keeps each value that differs from before, whichever step changed it. */
static int keep_replaced(struct db *db, const char *detail, int64_t *change_id, struct error *e)
{
    int64_t count;
    if (db_exec(db, embedded_text("src/run/after_rereading.sql"), e) < 0 ||
        db_query_int(db, "SELECT count(*) FROM temp.difference", NO_VALUES, 0, &count, e) < 0)
        return -1;
    if (count > 0 &&
        (change_record(db, "reread", NULL, detail, change_id, e) < 0 ||
         db_run(db, "INSERT INTO replaced SELECT ?, job_id, attempt_id, field, was, now FROM temp.difference",
                VALUES(sql_int(*change_id)), e) < 0))
        return -1;
    return db_exec(db, "DROP TABLE temp.difference", e);
}

static int read_document(const struct rereading *r, int64_t change_id, bool trial, cJSON **out, struct error *e)
{
    OWNED_STMT *s = NULL;
    OWNED char *unread = cJSON_PrintUnformatted(r->unread);
    int rc = answer_open(r->request->db, "sql/answers/reread.sql", NULL,
                         VALUES(sql_positive(change_id), sql_int(trial), sql_int(r->count), sql_text(unread)), &s, e);
    return rc < 0 ? -1 : answer_documents(s, 0, out, NULL, e);
}

int reread_selected(const struct reread_request *request, const char *detail, bool trial, cJSON **document,
                    struct error *e)
{
    struct rereading r = {.request = request,
                          .secrets = SECRETS_INIT,
                          .is_selected = true,
                          .unread = cJSON_CreateArray()};
    struct renewal renewal = {0};
    int64_t change_id = 0;
    int rc = db_exec(request->db, embedded_text("src/run/before_rereading.sql"), e);
    if (rc == 0)
        rc = renew(&r, &renewal, e);
    if (rc == 0)
        rc = keep_replaced(request->db, detail, &change_id, e);
    if (rc == 0)
        rc = read_document(&r, change_id, trial, document, e);
    renewal_free(&renewal);
    cJSON_Delete(r.unread);
    return rc;
}

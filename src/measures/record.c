#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/meaning.h"
#include "measures/evaluate.h"
#include "results/views.h"
#include "store/jobs.h"
#include "util/buffer.h"
#include "util/memory.h"

/* The row of meta that says what the summaries and breaches are of: a hash, then the derived metrics, a line each. */
#define META_NAME "measures"

/* --- one attempt --- */

static int put_summary(struct db *db, int64_t attempt_id, const char *name, const struct summary *v, const char *note,
                       struct error *e)
{
    return db_run(db,
                  "INSERT OR REPLACE INTO summary (attempt_id, name, value, count, mean, median, minimum, maximum,"
                  " stddev, p90, not_finite, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  VALUES(sql_int(attempt_id), sql_text(name), sql_finite(v->value), sql_int(v->count),
                         sql_finite(v->mean), sql_finite(v->median), sql_finite(v->minimum), sql_finite(v->maximum),
                         sql_finite(v->stddev), sql_finite(v->p90), sql_int(v->not_finite), sql_text(note)),
                  e);
}

static int put_breach(struct db *db, int64_t attempt_id, size_t position, const struct condition_result *c,
                      struct error *e)
{
    return db_run(db, "INSERT OR REPLACE INTO breach VALUES (?, ?, ?, ?, ?, ?)",
                  VALUES(sql_int(attempt_id), sql_int((int64_t)position), sql_real(c->value), sql_real(c->bound),
                         sql_real(c->excess), sql_text(c->note)),
                  e);
}

static const char *objective_of(const struct measures *m)
{
    return m->sweep->objective_count ? m->sweep->objectives[0].metric : "";
}

/* `db` NULL: nothing is written. */
static int take_metrics(const struct measures *m, const struct measured_attempt *a, struct db *db, int64_t attempt_id,
                        struct measured *out, struct error *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < m->metric_count; i++) {
        const struct derived_measure *x = &m->metrics[i];
        struct summary value;
        char *note;
        if (attempt_evaluate(m, x, a, &value, &note, e) < 0)
            return -1;
        if (strcmp(x->metric->name, objective_of(m)) == 0) {
            out->is_derived = true;
            out->objective = isfinite(value.value) ? value.value : NAN;
        }
        if (db)
            rc = put_summary(db, attempt_id, x->metric->name, &value, note, e);
        free(note);
    }
    return rc;
}

/* Whether it bounds memory from above: what needs more does not meet it either. */
static bool is_of_memory(const struct measures *m, const struct derived_measure *c)
{
    bool memory = c->wants_less && c->left.input_count > 0 && c->right.value && c->right.input_count == 0;
    for (size_t i = 0; i < c->left.input_count; i++)
        memory &= metric_meaning(m->sweep, m->inputs[c->left.inputs[i]].name)->quantity == QUANTITY_MEMORY;
    return memory;
}

static int take_constraints(const struct measures *m, const struct measured_attempt *a, struct db *db,
                            int64_t attempt_id, struct measured *out, struct error *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < m->constraint_count; i++) {
        struct condition_result c;
        if (attempt_check(m, &m->constraints[i], a, &c, e) < 0)
            return -1;
        if (!c.is_met && out->is_feasible)
            out->broken = i;
        out->is_feasible &= c.is_met;
        out->is_over_memory |= !c.is_met && is_of_memory(m, &m->constraints[i]);
        if (!c.is_met && db)
            rc = put_breach(db, attempt_id, i, &c, e);
        free(c.note);
    }
    return rc;
}

int measures_look(struct measures *m, struct db *db, int64_t attempt_id, struct measured *out, struct error *e)
{
    struct measured_attempt a;
    *out = (struct measured){.objective = NAN, .is_feasible = true};
    int rc = attempt_load(m, db, attempt_id, NULL, &a, e);
    if (rc == 0)
        rc = take_metrics(m, &a, NULL, attempt_id, out, e);
    if (rc == 0)
        rc = take_constraints(m, &a, NULL, attempt_id, out, e);
    attempt_unload(m, &a);
    return rc;
}

int measures_record(struct measures *m, struct db *db, int64_t attempt_id, const struct seen_values *seen,
                    struct measured *out, struct error *e)
{
    struct measured_attempt a;
    *out = (struct measured){.objective = NAN, .is_feasible = true};
    int rc = attempt_load(m, db, attempt_id, seen, &a, e);
    if (rc == 0)
        rc = take_metrics(m, &a, db, attempt_id, out, e);
    if (rc == 0)
        rc = db_run(db, "DELETE FROM breach WHERE attempt_id = ?", VALUES(sql_int(attempt_id)), e);
    if (rc == 0 && a.seen.is_ok)
        rc = take_constraints(m, &a, db, attempt_id, out, e);
    attempt_unload(m, &a);
    return rc;
}

/* --- all of a sweep --- */

static void add_signature(const struct measures *m, int64_t sweep_id, struct buffer *out)
{
    struct buffer all = BUFFER_INIT;
    char hex[HASH_HEX_BYTES];
    buffer_printf(&all, "%lld;%lld;%lld;", (long long)sweep_id, (long long)m->sweep->job.first_step,
                  (long long)m->sweep->job.last_step);
    for (size_t i = 0; i < m->input_count; i++)
        buffer_printf(&all, "%s %lld;", m->inputs[i].name,
                      m->inputs[i].metric ? (long long)m->inputs[i].metric->warmup : 0LL);
    for (size_t i = 0; i < m->metric_count; i++)
        buffer_printf(&all, "%s %d %s;", m->metrics[i].metric->name, (int)m->metrics[i].metric->take,
                      m->metrics[i].whole.sql);
    for (size_t i = 0; i < m->constraint_count; i++)
        buffer_printf(&all, "%s %s;", m->constraints[i].text, m->constraints[i].whole.sql);
    const struct hash128 hash = hash_bytes(all.data, all.length);
    buffer_add_text(out, hash_hex(&hash, hex));
    for (size_t i = 0; i < m->metric_count; i++)
        buffer_printf(out, "\n%s", m->metrics[i].metric->name);
    buffer_free(&all);
}

/* "" where there is none; the caller's. */
static int read_signature(struct db *db, char **out, struct error *e)
{
    if (db_query_text(db, "SELECT value FROM meta WHERE name = '" META_NAME "'", NO_VALUES, out, e) < 0)
        return -1;
    *out = *out ? *out : xstrdup("");
    return 0;
}

static int write_signature(struct db *db, const char *signature, struct error *e)
{
    return db_run(db, "INSERT OR REPLACE INTO meta VALUES ('" META_NAME "', ?)", VALUES(sql_text(signature)), e);
}

/* What the signature names goes; definitions that this sweep does not have, too. */
static int forget(const struct measures *m, struct db *db, const char *signature, struct error *e)
{
    char *names = xstrdup(signature);
    int rc =
        db_exec(db, "DELETE FROM breach; DELETE FROM subject_to; DELETE FROM meta WHERE name = '" META_NAME "'", e);
    char *rest = strchr(names, '\n');
    while (rc == 0 && rest) {
        char *name = rest + 1;
        rest = strchr(name, '\n');
        if (rest)
            *rest = '\0';
        rc = db_run(db, "DELETE FROM summary WHERE name = ? AND reported IS NULL", VALUES(sql_text(name)), e);
        if (rc == 0 && (!m || !job_find_metric(&m->sweep->job, name)))
            rc = db_run(db, "DELETE FROM metric_definition WHERE name = ? AND expression IS NOT NULL",
                        VALUES(sql_text(name)), e);
    }
    free(names);
    return rc;
}

static int put_constraints(const struct measures *m, struct db *db, struct error *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < m->constraint_count; i++) {
        const char *quantity = is_of_memory(m, &m->constraints[i]) ? "memory" : NULL;
        rc = db_run(db, "INSERT INTO subject_to VALUES (?, ?, ?)",
                    VALUES(sql_int((int64_t)i), sql_text(m->constraints[i].text), sql_text(quantity)), e);
    }
    return rc;
}

static int record_all(struct measures *m, struct db *db, int64_t sweep_id, struct error *e)
{
    struct stmt *s = NULL;
    if (db_query(db,
                 "SELECT a.id FROM job AS j JOIN attempt AS a ON a.job_id = j.id WHERE j.sweep_id = ? AND a.kind = "
                 "'trial'"
                 " AND (a.state = 'ok' OR EXISTS (SELECT 1 FROM summary WHERE attempt_id = a.id))",
                 VALUES(sql_int(sweep_id)), &s, e) < 0)
        return -1;
    int rc;
    while ((rc = stmt_next(s, e)) > 0) {
        struct measured ignored;
        if (measures_record(m, db, stmt_int(s, 0), NULL, &ignored, e) < 0) {
            rc = -1;
            break;
        }
    }
    stmt_free(s);
    return rc;
}

static int renew(struct measures *m, struct db *db, int64_t sweep_id, const char *before, const char *now,
                 struct error *e)
{
    if (forget(m, db, before, e) < 0)
        return -1;
    if (m && (put_constraints(m, db, e) < 0 || record_all(m, db, sweep_id, e) < 0 || write_signature(db, now, e) < 0))
        return -1;
    if (jobs_choose_representatives(db, "job WHERE attempt_id IS NOT NULL", e) < 0)
        return -1;
    return result_views_refresh(db, e);
}

static int renew_alone(struct measures *m, struct db *db, int64_t sweep_id, const char *before, const char *now,
                       struct error *e)
{
    if (db_begin(db, e) < 0)
        return -1;
    if (renew(m, db, sweep_id, before, now, e) == 0)
        return db_commit(db, e);
    db_rollback(db);
    return -1;
}

int measures_refresh(struct measures *m, struct db *db, int64_t sweep_id, bool again, struct error *e)
{
    struct buffer now = BUFFER_INIT;
    char *before = NULL;
    if (m)
        add_signature(m, sweep_id, &now);
    int rc = read_signature(db, &before, e);
    if (rc == 0 && again && (m || *before))
        rc = renew(m, db, sweep_id, before, buffer_text(&now), e);
    else if (rc == 0 && strcmp(before, buffer_text(&now)) != 0)
        rc = renew_alone(m, db, sweep_id, before, buffer_text(&now), e);
    free(before);
    buffer_free(&now);
    return rc;
}

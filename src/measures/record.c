#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/meaning.h"
#include "measures/compiled.h"
#include "metrics/samples.h"
#include "results/views.h"
#include "store/jobs.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/memory.h"

/* --- evaluate --- */

/* Evaluates the measures of a sweep for one attempt. */

/* Samples of one input. */
struct input_samples {
    struct sample *items;
    size_t count;
    double value;  /* the summary's, or what was seen; NAN: none */
    char *note;    /* why it has no value under the definition of now, or what a derived one is of; NULL: plain */
    bool is_there; /* it was reported, seen or derived */
    bool is_whole; /* all samples are in `items` */
};

/* The part of the database that is about one attempt. */
struct measured_attempt {
    int64_t id;
    char *specs[SECTION_COUNT]; /* JSON; NULL: none */
    struct seen_values seen;
    struct input_samples *inputs; /* as in struct measures */
};

/* --- loading --- */

static const char *per_of(const struct measure_input *input)
{
    return input->metric ? input->metric->per : NULL;
}

static int load_row(struct db *db, int64_t attempt_id, struct measured_attempt *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db, embedded_text("src/measures/measured_attempt.sql"), VALUES(sql_int(attempt_id)), &s, e);
    for (int i = 0; rc > 0 && i < SECTION_COUNT; i++)
        out->specs[i] = stmt_copy_text(s, i);
    static const enum own_metric own[] = {OWN_DURATION, OWN_CPU_TIME, OWN_MAX_RSS, OWN_ATTEMPTS};
    for (int i = 0; i < OWN_METRIC_COUNT; i++)
        out->seen.values[i] = NAN;
    for (int i = 0; rc > 0 && i < (int)(LENGTH(own)); i++)
        out->seen.values[own[i]] = stmt_double_or_nan(s, SECTION_COUNT + i);
    out->seen.is_ok = rc > 0 && stmt_int(s, SECTION_COUNT + 4) != 0;
    return rc < 0 ? -1 : 0;
}

static int load_samples(struct db *db, int64_t attempt_id, const char *name, struct input_samples *out, struct error *e)
{
    static const char sql[] =
        "SELECT coalesce(step, -1), value, sequence FROM sample WHERE attempt_id = ? AND name = ? ORDER BY sequence";
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, VALUES(sql_int(attempt_id), sql_text(name)), &s, e)) > 0)
        *array_add(out->items, out->count) = (struct sample){0, stmt_int(s, 0), stmt_double_or_nan(s, 1)};
    return rc;
}

static int load_input(const struct measure_input *input, struct db *db, int64_t attempt_id,
                      const struct seen_values *seen, struct input_samples *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    *out = (struct input_samples){.value = NAN};
    if (input->derived)
        return 0;
    if (db_query(db, "SELECT value, reported, kept, note FROM summary WHERE attempt_id = ? AND name = ?",
                 VALUES(sql_int(attempt_id), sql_text(input->name)), &s, e) < 0)
        return -1;
    int64_t kept = 0;
    int rc = stmt_next(s, e);
    out->is_there = rc > 0;
    if (rc > 0) {
        out->value = stmt_double_or_nan(s, 0);
        out->note = stmt_is_null(s, 1) ? NULL : stmt_copy_text(s, 3);
        kept = stmt_is_null(s, 2) ? stmt_int(s, 1) : stmt_int(s, 2);
        out->is_whole = kept > 0 && kept == stmt_int(s, 1) && !out->note;
    } else if (rc == 0 && input->own) {
        out->value = seen->values[input->own];
        out->is_there = !isnan(out->value);
    }
    if (rc > 0 && out->is_whole)
        rc = load_samples(db, attempt_id, input->name, out, e);
    /* A number derived from a curve is that of its point. */
    out->is_whole = out->is_whole && (int64_t)out->count == kept && !per_of(input);
    return rc < 0 ? -1 : 0;
}

/* `seen`: as in measures_record. Released with attempt_unload in any case. */
static int attempt_load(const struct measures *m, struct db *db, int64_t attempt_id, const struct seen_values *seen,
                        struct measured_attempt *out, struct error *e)
{
    *out = (struct measured_attempt){.id = attempt_id, .inputs = xcalloc(m->input_count + 1, sizeof *out->inputs)};
    int rc = load_row(db, attempt_id, out, e);
    if (seen)
        out->seen = *seen;
    for (size_t i = 0; rc == 0 && i < m->input_count; i++)
        rc = load_input(&m->inputs[i], db, attempt_id, &out->seen, &out->inputs[i], e);
    return rc;
}

static void attempt_unload(const struct measures *m, struct measured_attempt *a)
{
    for (int i = 0; i < SECTION_COUNT; i++)
        free(a->specs[i]);
    for (size_t i = 0; a->inputs && i < m->input_count; i++)
        free_all(a->inputs[i].items, a->inputs[i].note);
    free(a->inputs);
}

/* --- one value --- */

static void bind_specs(const struct measure_sql *x, const struct measured_attempt *a)
{
    for (int i = 0; i < SECTION_COUNT; i++)
        if (x->sections >> i & 1)
            stmt_bind_at(x->value, i + 1, sql_text(a->specs[i]));
}

/* Sample `at` of every input, or with SIZE_MAX what they come to. NAN: NULL. A failure is the value's, not ours. */
static double value_at(const struct measure_sql *x, const struct measured_attempt *a, size_t at, struct error *why)
{
    double value = NAN;
    for (size_t i = 0; i < x->input_count; i++) {
        const struct input_samples *input = &a->inputs[x->inputs[i]];
        stmt_bind_at(x->value, FIRST_INPUT + (int)x->inputs[i],
                     sql_real(at == SIZE_MAX ? input->value : input->items[at].value));
    }
    if (stmt_next(x->value, why) > 0)
        value = stmt_double_or_nan(x->value, 0);
    stmt_reset(x->value);
    return value;
}

static double value_of(const struct measure_sql *x, const struct measured_attempt *a, struct error *why)
{
    bind_specs(x, a);
    return value_at(x, a, SIZE_MAX, why);
}

/* Why the value of the summaries is none. The caller's. */
static char *explain(const struct measures *m, const struct derived_measure *x, const struct measured_attempt *a,
                     const struct error *why)
{
    const bool divides = strpbrk(x->whole.sql, "/%") != NULL;
    if (*why->text)
        return xstrdup(why->text);
    for (size_t i = 0; i < x->whole.input_count; i++) {
        const struct input_samples *input = &a->inputs[x->whole.inputs[i]];
        const char *name = m->inputs[x->whole.inputs[i]].name;
        if (!input->is_there)
            return xasprintf("%s was not reported", name);
        if (isnan(input->value) && input->note)
            return m->inputs[x->whole.inputs[i]].derived ? xstrdup(input->note)
                                                         : xasprintf("%s: %s", name, input->note);
        if (isnan(input->value))
            return xasprintf("%s is not a finite number", name);
    }
    for (size_t i = 0; divides && i < x->whole.input_count; i++)
        if (a->inputs[x->whole.inputs[i]].value == 0)
            return xasprintf("division by zero: %s is 0", m->inputs[x->whole.inputs[i]].name);
    return xstrdup(divides ? "it is NULL: a division by zero, or a key that this job lacks"
                           : "it is NULL: a key that this job lacks");
}

/* --- a derived metric --- */

static bool same_steps(const struct input_samples *a, const struct input_samples *b)
{
    if (a->count != b->count)
        return false;
    return !ANY(i, a->count, a->items[i].step != b->items[i].step);
}

/* Returns whether all that it reads are samples of the same steps; where not, `*note` says why if that is not plain. */
static bool is_per_sample(const struct measures *m, const struct derived_measure *x, const struct measured_attempt *a,
                          char **note)
{
    const struct measure_sql *q = &x->whole;
    if (q->input_count == 0)
        return false;
    const struct input_samples *part =
        FIND(i, q->input_count, !a->inputs[q->inputs[i]].is_whole, &a->inputs[q->inputs[i]]);
    if (part) {
        *note = part->note ? xstrdup(part->note) : NULL;
        return false;
    }
    for (size_t i = 1; i < q->input_count; i++) {
        if (same_steps(&a->inputs[q->inputs[0]], &a->inputs[q->inputs[i]]))
            continue;
        *note = xasprintf("of the summaries: %s and %s were reported at different steps", m->inputs[q->inputs[0]].name,
                          m->inputs[q->inputs[i]].name);
        return false;
    }
    return true;
}

static struct sample_filter filter_of(const struct measures *m, const struct measure_sql *q)
{
    struct sample_filter filter = {0, m->sweep->job.first_step, m->sweep->job.last_step};
    for (size_t i = 0; i < q->input_count; i++) {
        const struct measure_input *input = &m->inputs[q->inputs[i]];
        const int64_t own = input->metric ? input->metric->warmup : 0;
        const int64_t warmup = input->derived ? filter_of(m, &input->derived->whole).warmup : own;
        filter.warmup = warmup > filter.warmup ? warmup : filter.warmup;
    }
    return filter;
}

/* Its samples, one of each step of what it reads. */
static void list_samples(const struct measures *m, const struct derived_measure *x, const struct measured_attempt *a,
                         struct sample_list *list)
{
    const struct input_samples *first = &a->inputs[x->whole.inputs[0]];
    bind_specs(&x->whole, a);
    sample_list_add_name(list, x->metric->name, filter_of(m, &x->whole));
    for (size_t i = 0; i < first->count; i++) {
        struct error ignored = ERROR_INIT;
        sample_list_add(list, 0, first->items[i].step, value_at(&x->whole, a, i, &ignored));
    }
}

/* `out` gets the samples. */
static struct summary summarise(const struct measures *m, const struct derived_measure *x,
                                const struct measured_attempt *a, struct input_samples *out)
{
    struct sample_list list = SAMPLE_LIST_INIT;
    list_samples(m, x, a, &list);
    sample_list_complete(&list);
    const struct summary s = sample_list_summarise(&list, 0, x->metric->take);
    out->items = list.samples;
    out->count = list.count;
    list.samples = NULL;
    sample_list_free(&list);
    return s;
}

/* Evaluates a derived metric, which those below it and conditions read as any other. */
static struct summary attempt_evaluate(const struct measures *m, const struct derived_measure *x,
                                       struct measured_attempt *a)
{
    struct input_samples *const input = &a->inputs[x->input];
    struct error why = ERROR_INIT;
    struct summary out;
    free_all(input->items, input->note);
    *input = (struct input_samples){.is_there = true};
    input->is_whole = is_per_sample(m, x, a, &input->note);
    if (input->is_whole) {
        out = summarise(m, x, a, input);
    } else {
        const double value = value_of(&x->whole, a, &why);
        out = (struct summary){value, value, value, value, value, NAN, value, !isnan(value), 0, 1, 1, !isnan(value)};
    }
    input->value = isfinite(out.value) ? out.value : NAN;
    if (isnan(out.value)) {
        free(input->note);
        input->note = explain(m, x, a, &why);
    }
    return out;
}

/* --- of an attempt that runs --- */

static void take_reported(const struct sample_list *l, const char *name, struct input_samples *out)
{
    const size_t metric = sample_list_find(l, name);
    out->is_whole = metric < l->name_count && l->series[metric].stride == 1;
    for (size_t i = 0; out->is_whole && i < l->count; i++) {
        if (l->samples[i].metric != metric)
            continue;
        *array_add(out->items, out->count) = l->samples[i];
    }
}

/* Takes what the expression reads, of the steps that are there for all: one that is under way may have one metric and
 * not another. */
static void take_so_far(const struct measures *m, const struct measure_sql *q, const struct sample_list *so_far,
                        struct measured_attempt *a)
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < q->input_count; i++) {
        const struct measure_input *named = &m->inputs[q->inputs[i]];
        struct input_samples *input = &a->inputs[q->inputs[i]];
        if (named->derived) {
            take_so_far(m, &named->derived->whole, so_far, a);
            attempt_evaluate(m, named->derived, a);
        } else if (!input->items) {
            take_reported(so_far, named->name, input);
        }
        least = input->count < least ? input->count : least;
    }
    for (size_t i = 0; i < q->input_count; i++)
        a->inputs[q->inputs[i]].count = least;
}

int measures_count_so_far(const struct measures *m, struct db *db, const struct running_measure *r, double **values,
                          size_t *count, struct error *e)
{
    const struct derived_measure *x = measures_find(m, r->metric);
    struct measured_attempt a = {.inputs = xcalloc(m->input_count + 1, sizeof *a.inputs)};
    OWNED char *note = NULL;
    int rc = load_row(db, r->attempt_id, &a, e);
    take_so_far(m, &x->whole, r->so_far, &a);
    *values = NULL;
    *count = 0;
    if (rc == 0 && is_per_sample(m, x, &a, &note)) {
        struct sample_list list = SAMPLE_LIST_INIT;
        list_samples(m, x, &a, &list);
        *values = sample_list_counted(&list, 0, count);
        sample_list_free(&list);
    }
    attempt_unload(m, &a);
    return rc;
}

/* --- a condition --- */

static double excess_of(const struct derived_measure *c, double value, double bound)
{
    const double large = c->wants_less ? value : bound, small = c->wants_less ? bound : value;
    return small > 0 ? large / small - 1 : NAN;
}

static bool is_met(const struct derived_measure *c, const struct measured_attempt *a)
{
    struct error ignored = ERROR_INIT;
    const double truth = value_of(&c->whole, a, &ignored);
    return !isnan(truth) && truth != 0;
}

/* --- record --- */

/* The row of meta that says what the summaries and breaches are of: a hash, then the derived metrics, a line each. */
#define META_NAME "measures"

/* --- rows --- */

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

/* Puts the row of a condition that the attempt does not meet. */
static int put_breach(const struct measures *m, const struct measured_attempt *a, size_t position, struct db *db,
                      struct error *e)
{
    const struct derived_measure *c = &m->constraints[position];
    const bool has_sides = c->left.value && c->right.value;
    struct error why = ERROR_INIT, ignored = ERROR_INIT;
    OWNED char *note = isnan(value_of(&c->whole, a, &why)) ? explain(m, c, a, &why) : NULL;
    const double value = has_sides ? value_of(&c->left, a, &ignored) : NAN,
                 bound = has_sides ? value_of(&c->right, a, &ignored) : NAN;
    return db_run(db, "INSERT OR REPLACE INTO breach VALUES (?, ?, ?, ?, ?, ?)",
                  VALUES(sql_int(a->id), sql_int((int64_t)position), sql_real(value), sql_real(bound),
                         sql_real(excess_of(c, value, bound)), sql_text(note)),
                  e);
}

static const char *objective_of(const struct measures *m)
{
    return m->sweep->objective_count ? m->sweep->objectives[0].metric : "";
}

/* `db` NULL: nothing is written. */
static int take_metrics(const struct measures *m, struct measured_attempt *a, struct db *db, struct measured *out,
                        struct error *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < m->metric_count; i++) {
        const struct derived_measure *x = &m->metrics[i];
        const struct summary value = attempt_evaluate(m, x, a);
        if (strcmp(x->metric->name, objective_of(m)) == 0) {
            out->is_derived = true;
            out->objective = isfinite(value.value) ? value.value : NAN;
        }
        if (db)
            rc = put_summary(db, a->id, x->metric->name, &value, a->inputs[x->input].note, e);
    }
    return rc;
}

static bool reads_memory(const struct measures *m, const struct measure_sql *q)
{
    bool memory = q->input_count > 0;
    for (size_t i = 0; i < q->input_count; i++) {
        const struct measure_input *input = &m->inputs[q->inputs[i]];
        memory &= input->derived ? reads_memory(m, &input->derived->whole)
                                 : metric_meaning(m->sweep, input->name)->quantity == QUANTITY_MEMORY;
    }
    return memory;
}

/* Returns whether it bounds memory from above: what needs more does not meet it either. */
static bool is_of_memory(const struct measures *m, const struct derived_measure *c)
{
    return c->wants_less && c->right.value && c->right.input_count == 0 && reads_memory(m, &c->left);
}

static int take_constraints(const struct measures *m, const struct measured_attempt *a, struct db *db,
                            struct measured *out, struct error *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < m->constraint_count; i++) {
        if (is_met(&m->constraints[i], a))
            continue;
        if (out->is_feasible)
            out->broken = i;
        out->is_feasible = false;
        out->is_over_memory |= is_of_memory(m, &m->constraints[i]);
        if (db)
            rc = put_breach(m, a, i, db, e);
    }
    return rc;
}

/* --- curves --- */

/* Returns whether the input is a curve over that key. */
static bool is_over(const struct measures *m, size_t input, const char *per)
{
    return per_of(&m->inputs[input]) && strcmp(per_of(&m->inputs[input]), per) == 0;
}

/* Takes every curve that is per `per` at the point `step`, by what its samples there come to; false: none has one. */
static bool take_point(const struct measures *m, struct measured_attempt *a, const char *per, int64_t step)
{
    bool any = false;
    for (size_t i = 0; i < m->input_count; i++) {
        struct input_samples *input = &a->inputs[i];
        struct sample_list list = SAMPLE_LIST_INIT;
        if (!is_over(m, i, per))
            continue;
        sample_list_add_name(&list, m->inputs[i].name, (struct sample_filter){0, 0, 0});
        for (size_t k = 0; k < input->count; k++)
            if (input->items[k].step == step)
                sample_list_add(&list, 0, step, input->items[k].value);
        sample_list_complete(&list);
        input->value = list.count > 0 ? sample_list_summarise(&list, 0, m->inputs[i].metric->take).value : NAN;
        any |= list.count > 0;
        sample_list_free(&list);
    }
    return any;
}

/* The worth of the point that has been taken: of those that break the fewest conditions (one that no curve reads is
 * broken at every point) the best by the objective, or where that is no curve by `input` itself. */
struct point_worth {
    bool is_known;
    size_t broken;
    double value; /* more is better */
};

static bool is_objective(const struct measures *m, size_t input)
{
    return strcmp(m->inputs[input].name, objective_of(m)) == 0;
}

static struct point_worth judge_point(const struct measures *m, struct measured_attempt *a, size_t input)
{
    const struct derived_measure *derived = measures_find(m, objective_of(m));
    for (size_t i = 0; i < m->metric_count; i++)
        if (!a->inputs[m->metrics[i].input].is_whole)
            attempt_evaluate(m, &m->metrics[i], a);
    const double value = a->inputs[derived ? derived->input : input].value;
    const bool maximise =
        derived || is_objective(m, input) ? m->sweep->objectives[0].maximise : m->inputs[input].metric->maximise;
    struct point_worth out = {isfinite(value), 0, maximise ? value : -value};
    for (size_t i = 0; i < m->constraint_count; i++)
        out.broken += !is_met(&m->constraints[i], a);
    return out;
}

static bool is_better(const struct point_worth *a, const struct point_worth *b)
{
    if (a->is_known != b->is_known)
        return a->is_known;
    if (a->broken != b->broken)
        return a->broken < b->broken;
    return a->value > b->value;
}

/* Takes the best of the points that `input` has, and returns its number; -1: there is none. */
static int64_t choose_point(const struct measures *m, struct measured_attempt *a, size_t input)
{
    const struct input_samples *curve = &a->inputs[input];
    const char *per = per_of(&m->inputs[input]);
    struct point_worth found = {0};
    int64_t best = -1;
    for (size_t k = 0; k < curve->count; k++) {
        if (!take_point(m, a, per, curve->items[k].step))
            continue;
        const struct point_worth worth = judge_point(m, a, input);
        if (best < 0 || is_better(&worth, &found)) {
            best = curve->items[k].step;
            found = worth;
        }
    }
    if (best >= 0)
        take_point(m, a, per, best);
    return best;
}

/* Puts the point of all curves over the key. */
static int put_points(const struct measures *m, const struct measured_attempt *a, const char *per, int64_t point,
                      struct db *db, struct error *e)
{
    for (size_t i = 0; i < m->input_count; i++)
        if (is_over(m, i, per) && a->inputs[i].is_there &&
            db_run(db, "UPDATE summary SET value = ?3, point = ?4 WHERE attempt_id = ?1 AND name = ?2",
                   VALUES(sql_int(a->id), sql_text(m->inputs[i].name), sql_finite(a->inputs[i].value), sql_int(point)),
                   e) < 0)
            return -1;
    return 0;
}

/* Curves over one key stand at one point of it: the objective's, where that is one of them, else the first's. */
static size_t leader_of(const struct measures *m, size_t input)
{
    for (size_t i = 0; i < m->input_count; i++)
        if (is_over(m, i, per_of(&m->inputs[input])) && is_objective(m, i))
            return i;
    return input;
}

/* `db` NULL: nothing is written. */
static int take_points(const struct measures *m, struct measured_attempt *a, struct db *db, struct measured *out,
                       struct error *e)
{
    for (size_t i = 0; i < m->input_count; i++) {
        const char *per = per_of(&m->inputs[i]);
        bool is_first = per != NULL;
        for (size_t k = 0; is_first && k < i; k++)
            is_first = !is_over(m, k, per);
        if (!is_first)
            continue;
        const size_t leader = leader_of(m, i);
        const int64_t point = choose_point(m, a, leader);
        if (point >= 0 && db && put_points(m, a, per, point, db, e) < 0)
            return -1;
        if (is_objective(m, leader)) {
            out->is_derived = true;
            out->objective = a->inputs[leader].value;
        }
    }
    return 0;
}

/* --- one attempt --- */

/* What is made of one: its values and breaches are put into these; NULL: they are looked at alone. */
struct measuring {
    const struct measures *measures;
    struct db *db, *values, *breaches;
};

static int measure(const struct measuring *w, int64_t attempt_id, const struct seen_values *seen, struct measured *out,
                   struct error *e)
{
    const struct measures *m = w->measures;
    struct measured_attempt a;
    *out = (struct measured){.objective = NAN, .is_feasible = true};
    int rc = attempt_load(m, w->db, attempt_id, seen, &a, e);
    if (rc == 0)
        rc = take_points(m, &a, w->values, out, e);
    if (rc == 0)
        rc = take_metrics(m, &a, w->values, out, e);
    if (rc == 0 && w->breaches)
        rc = db_run(w->breaches, "DELETE FROM breach WHERE attempt_id = ?", VALUES(sql_int(attempt_id)), e);
    if (rc == 0 && (a.seen.is_ok || !w->breaches))
        rc = take_constraints(m, &a, w->breaches, out, e);
    attempt_unload(m, &a);
    return rc;
}

int measures_look(struct measures *m, struct db *db, int64_t attempt_id, struct measured *out, struct error *e)
{
    return measure(&(struct measuring){m, db, NULL, NULL}, attempt_id, NULL, out, e);
}

int measures_record(struct measures *m, struct db *db, int64_t attempt_id, const struct seen_values *seen,
                    struct measured *out, struct error *e)
{
    return measure(&(struct measuring){m, db, db, db}, attempt_id, seen, out, e);
}

/* --- all of a sweep --- */

static void add_signature(const struct measures *m, int64_t sweep_id, struct buffer *out)
{
    OWNED_BUFFER all = BUFFER_INIT;
    char hex[HASH_HEX_BYTES];
    buffer_printf(&all, "%lld;%lld;%lld;", (long long)sweep_id, (long long)m->sweep->job.first_step,
                  (long long)m->sweep->job.last_step);
    for (size_t i = 0; i < m->input_count; i++)
        buffer_printf(&all, "%s %lld;", m->inputs[i].name,
                      m->inputs[i].metric ? (long long)m->inputs[i].metric->warmup : 0LL);
    for (size_t i = 0; i < m->input_count; i++)
        if (per_of(&m->inputs[i]))
            buffer_printf(&all, "%s per %s %s %d;", m->inputs[i].name, per_of(&m->inputs[i]), objective_of(m),
                          m->sweep->objective_count && m->sweep->objectives[0].maximise);
    for (size_t i = 0; i < m->metric_count; i++)
        buffer_printf(&all, "%s %d %s;", m->metrics[i].metric->name, (int)m->metrics[i].metric->take,
                      m->metrics[i].whole.sql);
    for (size_t i = 0; i < m->constraint_count; i++)
        buffer_printf(&all, "%s %s;", m->constraints[i].text, m->constraints[i].whole.sql);
    const struct hash128 hash = hash_bytes(all.data, all.length);
    buffer_add_text(out, hash_hex(&hash, hex));
    for (size_t i = 0; i < m->metric_count; i++)
        buffer_printf(out, "\n%s", m->metrics[i].metric->name);
}

/* Forgets what the signature names, and definitions that this sweep does not have. */
static int forget(const struct measures *m, struct db *db, const char *signature, struct error *e)
{
    OWNED char *names = xstrdup(signature);
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
    static const char sql[] =
        "SELECT a.id FROM job AS j JOIN attempt AS a ON a.job_id = j.id WHERE j.sweep_id = ? AND a.kind = "
        "'trial' AND (a.state = 'ok' OR EXISTS (SELECT 1 FROM summary WHERE attempt_id = a.id))";
    OWNED_STMT *s = NULL;
    int rc;
    struct measured ignored;
    while ((rc = db_next(db, sql, VALUES(sql_int(sweep_id)), &s, e)) > 0)
        if (measures_record(m, db, stmt_int(s, 0), NULL, &ignored, e) < 0)
            return -1;
    return rc;
}

static int suppose_all(const struct measures *m, struct db *db, struct error *e)
{
    const struct measuring supposing = {m, db, NULL, db};
    struct measured ignored;
    OWNED_STMT *s = NULL;
    int rc = db_exec(db,
                     "CREATE TEMP TABLE subject_to AS SELECT * FROM main.subject_to LIMIT 0;"
                     " CREATE TEMP TABLE breach (attempt_id, position, value, bound, excess, note,"
                     "  PRIMARY KEY (attempt_id, position)) WITHOUT ROWID",
                     e);
    if (rc == 0)
        rc = put_constraints(m, db, e);
    if (rc == 0)
        rc = db_prepare(db,
                        "SELECT a.id FROM job AS j JOIN attempt AS a ON a.job_id = j.id"
                        " WHERE j.sweep_id = (SELECT id FROM current_sweep) AND a.kind = 'trial' AND a.state = 'ok'",
                        &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0)
        rc = measure(&supposing, stmt_int(s, 0), NULL, &ignored, e);
    return rc;
}

int measures_suppose(struct space *space, const char *condition, const char *option, struct db *db, struct error *e)
{
    struct listed_word only = {condition, {option, 0, 0}};
    const struct sweep *declared = space->sweep;
    struct sweep supposed = *declared;
    struct measures *m = NULL;
    supposed.constraints = (struct word_list){&only, 1};
    space->sweep = &supposed;
    int rc = measures_create(space, &m, e) < 0 ? -1 : suppose_all(m, db, e);
    measures_free(m);
    space->sweep = declared;
    return rc;
}

static int renew(struct measures *m, struct db *db, int64_t sweep_id, const char *before, const char *now,
                 struct error *e)
{
    if (forget(m, db, before, e) < 0)
        return -1;
    if (m && (put_constraints(m, db, e) < 0 || record_all(m, db, sweep_id, e) < 0 ||
              db_run(db, "INSERT OR REPLACE INTO meta VALUES ('" META_NAME "', ?)", VALUES(sql_text(now)), e) < 0))
        return -1;
    if (jobs_choose_representatives(db, "job WHERE attempt_id IS NOT NULL", e) < 0)
        return -1;
    return result_views_refresh(db, e);
}

int measures_refresh(struct measures *m, struct db *db, int64_t sweep_id, bool again, struct error *e)
{
    OWNED_BUFFER now = BUFFER_INIT;
    OWNED char *before = NULL;
    if (m)
        add_signature(m, sweep_id, &now);
    int rc = db_query_text(db, "SELECT value FROM meta WHERE name = '" META_NAME "'", NO_VALUES, &before, e);
    before = before ? before : xstrdup("");
    if (rc == 0 && again && (m || *before))
        rc = renew(m, db, sweep_id, before, buffer_text(&now), e);
    else if (rc == 0 && strcmp(before, buffer_text(&now)) != 0)
        rc = db_begin(db, e) < 0 ? -1 : db_end(db, renew(m, db, sweep_id, before, buffer_text(&now), e), e);
    return rc;
}

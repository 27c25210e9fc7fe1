/* Plots of one quantity against another: speed against memory, predicted against measured, best so far. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html_page.h"
#include "report/html_text.h"
#include "report/svg.h"
#include "util/memory.h"

#define WIDTH 960
#define HEIGHT 420
#define LEFT 84
#define RIGHT 936
#define TOP 16
#define BOTTOM 366

static void place(struct svg_axis *x, struct svg_axis *y)
{
    x->from = LEFT;
    x->to = RIGHT;
    y->from = BOTTOM;
    y->to = TOP;
}

static void add_axes(struct buffer *out, const struct svg_axis *x, const struct svg_axis *y)
{
    svg_axis_x(out, x, TOP, BOTTOM);
    svg_axis_y(out, y, LEFT, RIGHT);
}

/* --- speed against memory --- */

struct point {
    double x, y;
    double cost; /* y, or -y where more is better */
    size_t job;
};

static int by_memory(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    if (p->x != q->x)
        return (p->x > q->x) - (p->x < q->x);
    return (p->cost > q->cost) - (p->cost < q->cost);
}

static size_t collect(const struct html_data *d, struct point *points)
{
    size_t count = 0;
    for (size_t i = 0; i < d->job_count; i++) {
        const struct html_job *j = &d->jobs[i];
        if (isfinite(j->objective) && isfinite(j->memory))
            points[count++] = (struct point){j->memory, j->objective, d->maximise ? -j->objective : j->objective, i};
    }
    qsort(points, count, sizeof *points, by_memory);
    return count;
}

/* Marks those that no other beats in both: less memory and a better objective. The points are in the order of memory. */
static size_t find_front(const struct html_data *d, const struct point *points, size_t count, bool *on_front)
{
    double best = NAN;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        on_front[i] = html_is_better(d, points[i].y, best);
        if (on_front[i])
            best = points[i].y;
        n += on_front[i];
    }
    return n;
}

static void add_front_line(struct buffer *out, const struct point *points, const bool *on_front, size_t count,
                           const struct svg_axis *x, const struct svg_axis *y)
{
    bool first = true;
    buffer_add_text(out, "<path class=front d=\"");
    for (size_t i = 0; i < count; i++) {
        if (!on_front[i])
            continue;
        buffer_printf(out, first ? "M%.1f %.1f" : "H%.1fV%.1f", svg_at(x, points[i].x), svg_at(y, points[i].y));
        first = false;
    }
    buffer_printf(out, "H%.1f\"/>\n", x->to);
}

static void add_front_points(struct html_page *p, const struct point *points, const bool *on_front, size_t count,
                             const struct svg_axis *x, const struct svg_axis *y)
{
    size_t stride = html_stride(count);
    for (size_t i = 0; i < count; i++)
        if (!on_front[i] && i % stride == 0)
            html_add_mark(&p->out, svg_at(x, points[i].x), svg_at(y, points[i].y), p->data->jobs[points[i].job].id, "");
    for (size_t i = 0; i < count; i++) {
        if (!on_front[i])
            continue;
        long long id = p->data->jobs[points[i].job].id;
        buffer_printf(&p->out, "<circle class=\"m o on-front\" data-j=%lld cx=%.1f cy=%.1f r=5><title>job %lld</title></circle>",
                      id, svg_at(x, points[i].x), svg_at(y, points[i].y), id);
    }
}

static void add_front_table(struct html_page *p, const struct point *points, const bool *on_front, size_t count,
                            const struct svg_axis *memory)
{
    const struct html_column *keys[12];
    const struct html_data *d = p->data;
    size_t key_count = html_varying(d, keys, 12), shown = 0;
    struct buffer *out = &p->out;
    buffer_add_text(out, "<div class=scroll tabindex=0><table class=plain><caption>On the front</caption><thead><tr><th "
                         "scope=col>job<th scope=col>");
    html_add(out, d->memory->title, HTML_NAME_MOST);
    html_add_unit(out, memory->unit);
    buffer_add_text(out, "<th scope=col>");
    html_add(out, d->objective, HTML_NAME_MOST);
    html_add_unit(out, d->unit);
    for (size_t k = key_count; k-- > 0;) {
        buffer_add_text(out, "<th scope=col>");
        html_add(out, keys[k]->title, HTML_NAME_MOST);
    }
    buffer_add_text(out, "</thead><tbody>\n");
    for (size_t i = 0; i < count && shown < 50; i++) {
        if (!on_front[i])
            continue;
        shown++;
        long long id = d->jobs[points[i].job].id;
        buffer_printf(out, "<tr><td><a href=\"#j%lld\">%lld</a><td class=n>", id, id);
        html_add_number(out, points[i].x / memory->scale);
        buffer_add_text(out, "<td class=n>");
        html_add_number(out, points[i].y);
        for (size_t k = key_count; k-- > 0;) {
            buffer_add_text(out, "<td>");
            html_add(out, keys[k]->values[points[i].job].text, HTML_NAME_MOST);
        }
        buffer_add_char(out, '\n');
    }
    buffer_add_text(out, "</tbody></table></div>\n");
}

static void add_front_plot(struct html_page *p, struct point *points, size_t count)
{
    const struct html_data *d = p->data;
    bool *on_front = xcalloc(count + 1, sizeof *on_front);
    size_t on = find_front(d, points, count, on_front);
    double low = points[0].y, high = low;
    for (size_t i = 0; i < count; i++) {
        low = points[i].y < low ? points[i].y : low;
        high = points[i].y > high ? points[i].y : high;
    }
    struct svg_axis x = svg_axis_over(points[0].x, points[count - 1].x, d->memory->title, d->memory->unit, false);
    struct svg_axis y = svg_axis_over(low, high, d->objective, d->unit, true);
    place(&x, &y);
    char *desc = xasprintf("%zu jobs, %zu of them on the front: no other job takes less memory and is better.", count, on);
    svg_open(&p->out, "front-plot", WIDTH, HEIGHT, "Objective against memory, with the Pareto front", desc);
    add_axes(&p->out, &x, &y);
    add_front_line(&p->out, points, on_front, count, &x, &y);
    add_front_points(p, points, on_front, count, &x, &y);
    svg_close(&p->out);
    buffer_printf(&p->out, "<p class=note>The line is the Pareto front: %s</p>\n", desc);
    html_add_stride_note(&p->out, count);
    add_front_table(p, points, on_front, count, &x);
    free(desc);
    free(on_front);
}

int html_front(struct html_page *p, struct error *e)
{
    const struct html_data *d = p->data;
    (void)e;
    if (!d->objective || !d->memory) {
        html_add_none(&p->out, !d->objective ? "The sweep declares no objective."
                                             : "No job reports memory: a metric whose name has the word, such as "
                                               "peak_memory_bytes, would be shown here.");
        return 0;
    }
    struct point *points = xcalloc(d->job_count + 1, sizeof *points);
    size_t count = collect(d, points);
    if (count)
        add_front_plot(p, points, count);
    else
        html_add_none(&p->out, "No job is ok with a finite objective and a memory figure.");
    free(points);
    return 0;
}

/* --- predicted against measured --- */

struct prediction {
    double measured, predicted;
    int64_t job;
};

static int read_predictions(struct html_page *p, const char *quantity, struct prediction **out, size_t *count,
                            struct error *e)
{
    struct stmt *s = NULL;
    struct prediction *items = NULL;
    int rc;
    if (db_prepare(p->db, "SELECT o.measured, o.predicted, a.job_id FROM observation AS o JOIN attempt AS a"
                          " ON a.id = o.attempt_id JOIN job AS j ON j.id = a.job_id WHERE o.quantity = ?1 AND o.kind = 'measured'"
                          " AND j.sweep_id = ?2 AND o.measured > 0 AND o.predicted > 0 AND o.measured < 9e999"
                          " AND o.predicted < 9e999 ORDER BY a.id LIMIT 20000", &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, quantity);
    stmt_bind_int(s, 2, p->data->sweep_id);
    while ((rc = stmt_next(s, e)) > 0) {
        items = array_grow(items, *count, sizeof *items);
        items[(*count)++] = (struct prediction){stmt_double(s, 0), stmt_double(s, 1), stmt_int(s, 2)};
    }
    stmt_free(s);
    *out = items;
    return rc;
}

static void add_prediction_plot(struct html_page *p, const char *quantity, const char *unit,
                                const struct prediction *items, size_t count)
{
    double low = items[0].measured, high = low, error = 0;
    for (size_t i = 0; i < count; i++) {
        low = fmin(low, fmin(items[i].measured, items[i].predicted));
        high = fmax(high, fmax(items[i].measured, items[i].predicted));
        error += fabs(items[i].predicted / items[i].measured - 1) / (double)count;
    }
    char *x_title = xasprintf("measured %s", quantity), *y_title = xasprintf("predicted %s", quantity);
    struct svg_axis x = svg_axis_log(low, high, x_title, unit), y = svg_axis_log(low, high, y_title, unit);
    place(&x, &y);
    char *desc = xasprintf("%zu runs; predictions made before each were off by %.1f %% in the mean.", count, error * 100);
    char *id = xasprintf("predicted-%s", quantity);
    svg_open(&p->out, id, WIDTH, HEIGHT, "Predicted against measured", desc);
    add_axes(&p->out, &x, &y);
    buffer_printf(&p->out, "<path class=even d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x.from, y.from, x.to, y.to);
    for (size_t i = 0; i < count; i += html_stride(count))
        html_add_mark(&p->out, svg_at(&x, items[i].measured), svg_at(&y, items[i].predicted), items[i].job, "");
    svg_close(&p->out);
    buffer_printf(&p->out, "<p class=note>%s On the line they would be right; above it, too high.</p>\n", desc);
    html_add_stride_note(&p->out, count);
    free(x_title);
    free(y_title);
    free(desc);
    free(id);
}

int html_predicted(struct html_page *p, struct error *e)
{
    static const char *const quantities[][2] = {{"memory", "B"}, {"time", "s"}};
    size_t shown = 0;
    for (size_t q = 0; q < 2; q++) {
        struct prediction *items = NULL;
        size_t count = 0;
        if (read_predictions(p, quantities[q][0], &items, &count, e) < 0)
            return -1;
        if (count) {
            buffer_printf(&p->out, "<h3>%s</h3>\n", q ? "Step time" : "Memory");
            add_prediction_plot(p, quantities[q][0], quantities[q][1], items, count);
            shown++;
        }
        free(items);
    }
    if (!shown)
        html_add_none(&p->out, "Nothing was both predicted and measured: a [predict] table in the sweep file asks for it.");
    return 0;
}

/* --- the best so far --- */

struct trial {
    int64_t job;
    char failure[16];
    double value, best; /* NaN: none */
};

static int read_trials(struct html_page *p, struct trial **out, size_t *count, struct error *e)
{
    struct stmt *s = NULL;
    struct trial *trials = NULL;
    double best = NAN;
    int rc;
    if (db_prepare(p->db, "SELECT a.job_id, coalesce(a.failure, ''), CASE WHEN typeof(m.value) IN ('real', 'integer') THEN"
                          " m.value END FROM attempt AS a JOIN job AS j ON j.id = a.job_id LEFT JOIN summary AS m"
                          " ON m.attempt_id = a.id AND m.name = ?1 WHERE j.sweep_id = ?2 AND a.ended IS NOT NULL"
                          " ORDER BY a.ended, a.id LIMIT 20000", &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, p->data->objective);
    stmt_bind_int(s, 2, p->data->sweep_id);
    while ((rc = stmt_next(s, e)) > 0) {
        struct trial t = {.job = stmt_int(s, 0), .value = stmt_is_null(s, 2) ? NAN : stmt_double(s, 2)};
        strncpy(t.failure, stmt_text(s, 1), sizeof t.failure - 1);
        if (!t.failure[0] && isfinite(t.value) && html_is_better(p->data, t.value, best))
            best = t.value;
        t.best = best;
        trials = array_grow(trials, *count, sizeof *trials);
        trials[(*count)++] = t;
    }
    stmt_free(s);
    *out = trials;
    return rc;
}

static void add_best_line(struct buffer *out, const struct trial *trials, size_t count, const struct svg_axis *x,
                          const struct svg_axis *y)
{
    double before = NAN;
    buffer_add_text(out, "<path class=front d=\"");
    for (size_t i = 0; i < count; i++) {
        if (isnan(trials[i].best) || trials[i].best == before)
            continue;
        buffer_printf(out, isnan(before) ? "M%.1f %.1f" : "H%.1fV%.1f", svg_at(x, (double)i + 1), svg_at(y, trials[i].best));
        before = trials[i].best;
    }
    if (!isnan(before))
        buffer_printf(out, "H%.1f", svg_at(x, (double)count));
    buffer_add_text(out, "\"/>\n");
}

static void add_learning_plot(struct html_page *p, const struct trial *trials, size_t count)
{
    const struct html_data *d = p->data;
    double low = INFINITY, high = -INFINITY;
    size_t failed = 0, last = 0;
    for (size_t i = 0; i < count; i++) {
        failed += trials[i].failure[0] != 0;
        if (!isfinite(trials[i].value) || trials[i].failure[0])
            continue;
        low = fmin(low, trials[i].value);
        high = fmax(high, trials[i].value);
        if (i == 0 || trials[i].best != trials[i - 1].best)
            last = i;
    }
    struct svg_axis x = svg_axis_over(1, (double)count, "attempt, in the order in which they ended", "", false);
    struct svg_axis y = svg_axis_over(low, high, d->objective, d->unit, true);
    place(&x, &y);
    char *desc = xasprintf("%zu attempts, %zu failed; the best came as number %zu.", count, failed, last + 1);
    svg_open(&p->out, "learning-plot", WIDTH, HEIGHT, "Best objective so far by attempt", desc);
    add_axes(&p->out, &x, &y);
    size_t stride = html_stride(count);
    for (size_t i = 0; i < count; i += stride) {
        bool ok = !trials[i].failure[0] && isfinite(trials[i].value);
        if (ok || trials[i].failure[0])
            html_add_mark(&p->out, svg_at(&x, (double)i + 1), ok ? svg_at(&y, trials[i].value) : BOTTOM - 4, trials[i].job,
                          trials[i].failure);
    }
    add_best_line(&p->out, trials, count, &x, &y);
    svg_close(&p->out);
    buffer_printf(&p->out, "<p class=note>The line is the best so far; crosses at the bottom failed. %s</p>\n", desc);
    html_add_stride_note(&p->out, count);
    free(desc);
}

int html_learning(struct html_page *p, struct error *e)
{
    struct trial *trials = NULL;
    size_t count = 0, measured = 0;
    if (!p->data->objective) {
        html_add_none(&p->out, "The sweep declares no objective.");
        return 0;
    }
    if (read_trials(p, &trials, &count, e) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        measured += isfinite(trials[i].value) && !trials[i].failure[0];
    if (measured)
        add_learning_plot(p, trials, count);
    else
        html_add_none(&p->out, "No attempt has ended with a finite objective yet.");
    free(trials);
    return 0;
}

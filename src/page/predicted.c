/* Predicted against measured. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/sections.h"
#include "util/memory.h"

struct prediction_point {
    double measured, predicted;
    int64_t job;
};

static int read_predictions(struct html_page *p, const char *quantity, struct prediction_point **out, size_t *count,
                            struct error *e)
{
    struct stmt *s = NULL;
    struct prediction_point *items = NULL;
    int rc;
    while ((rc = db_next(p->db,
                         "SELECT o.measured, o.predicted, a.job_id FROM observation AS o JOIN attempt AS a"
                         " ON a.id = o.attempt_id JOIN job AS j ON j.id = a.job_id WHERE o.quantity = ?1 AND o.kind = "
                         "'measured'"
                         " AND j.sweep_id = ?2 AND o.measured > 0 AND o.predicted > 0 AND o.measured < 9e999"
                         " AND o.predicted < 9e999 ORDER BY a.id",
                         VALUES(sql_text(quantity), sql_int(p->data->sweep_id)), &s, e)) > 0) {
        items = array_grow(items, *count, sizeof *items);
        items[(*count)++] = (struct prediction_point){stmt_double(s, 0), stmt_double(s, 1), stmt_int(s, 2)};
    }
    *out = items;
    return rc;
}

/* --- jobs whose prediction no attempt of ours was compared with: they come from a table --- */

static double value_at(const struct html_data *d, const char *title, size_t row)
{
    const struct html_column *c = html_column_named(d, title);
    return c ? c->values[row].number : NAN;
}

/* The time of a step, else computed from the global batch and the throughput. */
static double seconds_measured(const struct html_data *d, size_t row)
{
    const struct html_column *step = html_column_named(d, "step_time");
    if (step && strcmp(step->unit, "s") == 0)
        return step->values[row].number;
    if (!d->sought)
        return NAN;
    double samples = value_at(d, "global_batch", row);
    if (strcmp(d->sought->unit, "tokens/s") == 0)
        return samples * value_at(d, "seq", row) / d->sought->values[row].number;
    return strcmp(d->sought->unit, "samples/s") == 0 ? samples / d->sought->values[row].number : NAN;
}

static void add_from_table(struct html_page *p, size_t quantity, struct prediction_point **items, size_t *count)
{
    const struct html_data *d = p->data;
    for (size_t i = 0; i < d->job_count; i++) {
        double measured = quantity ? seconds_measured(d, i) : html_memory_bytes(d, i);
        double predicted = value_at(d, quantity ? "predicted_time" : "predicted_memory", i);
        if (d->jobs[i].state != HTML_OK || !isfinite(measured) || !isfinite(predicted) || measured <= 0 ||
            predicted <= 0)
            continue;
        *items = array_grow(*items, *count, sizeof **items);
        (*items)[(*count)++] = (struct prediction_point){measured, predicted, d->jobs[i].id};
    }
}

static void add_prediction_figures(struct html_page *p, const char *quantity, const char *unit,
                                   const struct prediction_point *items, size_t count)
{
    const struct figures_column columns[] = {{"job", NULL}, {"predicted", unit}, {"measured", unit}, {"off by", "%"}};
    OWNED char *caption = xasprintf("Predicted and measured %s", quantity);
    size_t shown = 0;
    figures_begin(&p->out, caption, columns, LENGTH(columns));
    for (; shown < count && shown < FIGURES_MOST; shown++) {
        const struct prediction_point *i = &items[shown];
        figures_job(&p->out, i->job);
        figures_number(&p->out, i->predicted);
        figures_number(&p->out, i->measured);
        figures_number(&p->out, round((i->predicted / i->measured - 1) * 1000) / 10);
        buffer_add_char(&p->out, '\n');
    }
    figures_end(&p->out, shown, count, "runs, the first ones.");
}

static void add_prediction_plot(struct html_page *p, const char *quantity, const char *unit,
                                const struct prediction_point *items, size_t count, bool from_table)
{
    struct buffer *out = &p->out;
    double low = items[0].measured, high = low, error = 0;
    for (size_t i = 0; i < count; i++) {
        low = fmin(low, fmin(items[i].measured, items[i].predicted));
        high = fmax(high, fmax(items[i].measured, items[i].predicted));
        error += fabs(items[i].predicted / items[i].measured - 1) / (double)count;
    }
    OWNED char *desc =
        xasprintf(from_table ? "%zu job%s; the mean error of the predictions is %.1f %%."
                             : "%zu run%s; the mean error of the predictions made before each run is %.1f %%.",
                  count, count == 1 ? "" : "s", error * 100);
    buffer_printf(out, HTML_CHART("predicted-%s") "{\"unit\":\"%s\",\"ends\":[%.9g,%.9g],\"points\":[", quantity, unit,
                  low, high);
    for (size_t i = 0; i < count; i += html_stride(count))
        buffer_printf(out, "%s[%lld,%.6g,%.6g]", i ? "," : "", (long long)items[i].job, items[i].measured,
                      items[i].predicted);
    buffer_add_text(out, "]}" HTML_CHART_END);
    buffer_printf(&p->out, "<p class=note>%s On the line a prediction is right; above it, too high.</p>\n", desc);
    html_add_stride_note(&p->out, count);
    add_prediction_figures(p, quantity, unit, items, count);
}

int html_predicted(struct html_page *p, struct error *e)
{
    static const char *const quantities[][2] = {{"memory", "B"}, {"time", "s"}};
    size_t shown = 0;
    for (size_t q = 0; q < 2; q++) {
        struct prediction_point *items = NULL;
        size_t count = 0;
        if (read_predictions(p, quantities[q][0], &items, &count, e) < 0)
            return -1;
        const bool from_table = count == 0;
        if (from_table)
            add_from_table(p, q, &items, &count);
        if (count) {
            buffer_printf(&p->out, "<h3>%s</h3>\n", q ? "Step time" : "Memory");
            add_prediction_plot(p, quantities[q][0], quantities[q][1], items, count, from_table);
            shown++;
        }
        free(items);
    }
    if (!shown)
        html_add_none(&p->out, "Nothing was both predicted and measured. To get predictions, add a [predict] table to "
                               "the sweep file.");
    return 0;
}

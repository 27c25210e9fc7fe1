/* Predicted against measured. */
#include <string.h>

#include "page/sections.h"

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

/* As JSON: jobs whose prediction no attempt of ours may have been compared with, since they may come from a table. */
static void add_pairs(struct buffer *json, const struct html_data *d, bool of_time)
{
    const char *before = "";
    for (size_t i = 0; i < d->job_count; i++) {
        const double measured = of_time ? seconds_measured(d, i) : d->jobs[i].memory * d->memory_scale,
                     predicted = value_at(d, of_time ? "predicted_time" : "predicted_memory", i);
        if (d->jobs[i].state != HTML_OK || !isfinite(measured) || !isfinite(predicted) || measured <= 0 ||
            predicted <= 0)
            continue;
        buffer_printf(json, "%s[%.17g,%.17g,%lld]", before, measured, predicted, (long long)d->jobs[i].id);
        before = ",";
    }
}

int html_predicted(struct html_page *p, struct error *e)
{
    OWNED_BUFFER json = BUFFER_INIT;
    buffer_add_text(&json, "{\"memory\":[");
    add_pairs(&json, p->data, false);
    buffer_add_text(&json, "],\"time\":[");
    add_pairs(&json, p->data, true);
    buffer_add_text(&json, "]}");
    return html_add_document(&p->out, p->db, "predicted", VALUES(sql_text(buffer_text(&json))), e);
}

/* Which columns the page shows, where texts are cut, and the order of jobs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/sections.h"
#include "page/text.h"
#include "util/memory.h"

/* --- columns --- */

static bool has_values(const struct html_data *d, const struct html_column *c)
{
    for (size_t i = 0; i < d->job_count; i++)
        if (c->values[i].text)
            return true;
    return false;
}

bool html_is_outcome(const char *title, enum html_role role)
{
    static const char *const fixed[] = {"state",   "failure",          "attempts",       "duration_ms",
                                        "max_rss", "predicted_memory", "predicted_time", "error"};
    for (size_t i = 0; role == HTML_FIXED && i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(fixed[i], title) == 0)
            return true;
    return role == HTML_METRIC;
}

/* Keys that vary and outcomes; identifiers and paths are only in the exports. */
static bool is_shown(const struct html_data *d, const struct html_column *c)
{
    if (c->role == HTML_KEY || strcmp(c->title, "predicted_memory_of") == 0)
        return html_column_varies(c);
    return (c == d->columns || html_is_outcome(c->title, c->role)) && has_values(d, c);
}

size_t html_shown_columns(const struct html_data *d, const struct html_column ***out)
{
    size_t count = 0;
    const struct html_column **order = xcalloc(d->column_count + 1, sizeof *order);
    for (int late = 0; late < 2; late++)
        for (size_t i = 0; i < d->column_count; i++) {
            const struct html_column *c = &d->columns[i];
            bool early = i == 0 || c == d->sought;
            if (early != late && is_shown(d, c))
                order[count++] = c;
        }
    *out = order;
    return count;
}

size_t html_varying(const struct html_data *d, const struct html_column **keys, size_t most)
{
    size_t count = 0;
    for (int derived = 0; derived < 2; derived++)
        for (size_t i = d->column_count; i-- > 0 && count < most;)
            if (d->columns[i].role == HTML_KEY && d->columns[i].derived == derived &&
                html_column_stands(&d->columns[i]))
                keys[count++] = &d->columns[i];
    return count;
}

/* --- texts --- */

/* Of the 15 MB that a page of 100,000 jobs may take; the rest is for outcomes and numbers. */
#define LEVEL_BYTES_MOST 6e6
#define LEVEL_LEAST 8

static double level_bytes(const struct html_data *d, size_t limit)
{
    double bytes = 0;
    struct buffer text = BUFFER_INIT;
    for (size_t i = 0; i < d->column_count; i++) {
        const struct html_column *c = &d->columns[i];
        for (size_t k = 0; c->role == HTML_KEY && k < c->level_count; k++) {
            text.length = 0;
            html_add_json(&text, c->level_texts[k], limit);
            bytes += (double)text.length + 1;
        }
    }
    buffer_free(&text);
    return bytes;
}

size_t html_level_most(const struct html_data *d)
{
    size_t limit = HTML_LEVEL_MOST, levels = 0;
    for (size_t i = 0; i < d->column_count; i++)
        levels += d->columns[i].role == HTML_KEY ? d->columns[i].level_count : 0;
    /* A column may be an escape of ten bytes. */
    if ((double)levels * HTML_LEVEL_MOST * 10 <= LEVEL_BYTES_MOST)
        return limit;
    for (double bytes; limit > LEVEL_LEAST && (bytes = level_bytes(d, limit)) > LEVEL_BYTES_MOST;) {
        size_t next = (size_t)((double)limit * LEVEL_BYTES_MOST / bytes);
        limit = next < LEVEL_LEAST ? LEVEL_LEAST : next < limit ? next : limit - 1;
    }
    return limit;
}

/* --- the best first --- */

struct ranked_job {
    double goodness; /* -Infinity: none */
    size_t row;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked_job *x = a, *y = b;
    if (x->goodness != y->goodness)
        return x->goodness < y->goodness ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

size_t *html_best_first(const struct html_data *d)
{
    struct ranked_job *jobs = xcalloc(d->job_count + 1, sizeof *jobs);
    size_t *order = xcalloc(d->job_count + 1, sizeof *order);
    for (size_t i = 0; i < d->job_count; i++) {
        double value = d->jobs[i].objective;
        jobs[i] = (struct ranked_job){!isfinite(value) ? -INFINITY : d->maximise ? value : -value, i};
    }
    qsort(jobs, d->job_count, sizeof *jobs, by_rank);
    for (size_t i = 0; i < d->job_count; i++)
        order[i] = jobs[i].row;
    free(jobs);
    return order;
}

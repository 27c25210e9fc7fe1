/* Speed against memory, with the Pareto front of both. */
#include <math.h>
#include <stdlib.h>

#include "page/figures.h"
#include "page/sections.h"
#include "page/svg.h"
#include "page/text.h"
#include "util/memory.h"

#define FRONT_LISTED 50

struct point {
    double x, y;
    double cost; /* y, or -y if higher is better */
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

/* Marks the points that no other of their group beats in both memory and objective. The points are sorted by memory. */
static size_t find_front(const struct html_data *d, const struct point *points, size_t count, bool *on_front)
{
    double *best = xcalloc(d->group_count, sizeof *best);
    size_t n = 0;
    for (size_t g = 0; g < d->group_count; g++)
        best[g] = NAN;
    for (size_t i = 0; i < count; i++) {
        const struct html_job *job = &d->jobs[points[i].job];
        on_front[i] = !job->barred && html_is_better(d, points[i].y, best[job->group]);
        if (on_front[i])
            best[job->group] = points[i].y;
        n += on_front[i];
    }
    free(best);
    return n;
}

/* One line per group. */
static void add_front_lines(struct html_page *p, const struct point *points, const bool *on_front, size_t count,
                            const struct svg_axis *x, const struct svg_axis *y)
{
    struct buffer *out = &p->out;
    for (size_t group = 0; group < p->data->group_count; group++) {
        bool first = true;
        for (size_t i = 0; i < count; i++) {
            if (!on_front[i] || p->data->jobs[points[i].job].group != group)
                continue;
            buffer_add_text(out, first ? "<path class=front d=\"" : "");
            buffer_printf(out, first ? "M%.1f %.1f" : "H%.1fV%.1f", svg_at(x, points[i].x), svg_at(y, points[i].y));
            first = false;
        }
        if (!first)
            buffer_printf(out, "H%.1f\"/>\n", x->to);
    }
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
        buffer_printf(&p->out,
                      "<circle class=\"m o on-front\" data-j=%lld cx=%.1f cy=%.1f r=5><title>job %lld</title></circle>",
                      id, svg_at(x, points[i].x), svg_at(y, points[i].y), id);
    }
}

static void add_front_table(struct html_page *p, const struct point *points, const bool *on_front, size_t count,
                            size_t on, const struct svg_axis *memory)
{
    const struct html_column *keys[12];
    const struct html_data *d = p->data;
    size_t key_count = html_varying(d, keys, 12), shown = 0;
    struct buffer *out = &p->out;
    buffer_add_text(out, "<div class=scroll tabindex=0><table class=plain><caption>On the front");
    if (on > FRONT_LISTED)
        buffer_printf(out, ", the first %d of %zu", FRONT_LISTED, on);
    html_name(out, "</caption><thead><tr><th scope=col>job<th scope=col>", d->memory->title, "");
    html_add_unit(out, memory->unit);
    html_name(out, "<th scope=col>", d->objective, "");
    html_add_unit(out, d->unit);
    for (size_t k = key_count; k-- > 0;) {
        html_name(out, "<th scope=col>", keys[k]->title, "");
    }
    buffer_add_text(out, "</thead><tbody>\n");
    for (size_t i = 0; i < count && shown < FRONT_LISTED; i++) {
        if (!on_front[i])
            continue;
        shown++;
        figures_job(out, d->jobs[points[i].job].id);
        buffer_add_text(out, "<td class=n>");
        html_add_number(out, points[i].x / memory->scale);
        buffer_add_text(out, "<td class=n>");
        html_add_number(out, points[i].y);
        for (size_t k = key_count; k-- > 0;) {
            buffer_add_text(out, "<td>");
            html_add_key_value(out, keys[k], keys[k]->values[points[i].job].text);
        }
        buffer_add_char(out, '\n');
    }
    buffer_add_text(out, "</tbody></table></div>\n");
}

static void add_front_figures(struct html_page *p, const struct point *points, const bool *on_front, size_t count,
                              const struct svg_axis *memory)
{
    const struct html_data *d = p->data;
    const struct figures_column columns[] = {{"job", NULL},
                                             {d->memory->title, memory->unit},
                                             {d->objective, d->unit},
                                             {"on the front", NULL}};
    size_t shown = 0;
    figures_begin(&p->out, "Objective against memory", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count && shown < FIGURES_MOST; i++, shown++) {
        figures_job(&p->out, d->jobs[points[i].job].id);
        figures_number(&p->out, points[i].x / memory->scale);
        figures_number(&p->out, points[i].y);
        figures_text(&p->out, on_front[i] ? "yes" : NULL);
        buffer_add_char(&p->out, '\n');
    }
    figures_end(&p->out, shown, count,
                "jobs, those with the least memory; <a href=\"#jobs\">All jobs</a> has both values of every job.");
}

static void add_front_plot(struct html_page *p, struct point *points, size_t count)
{
    const struct html_data *d = p->data;
    bool *on_front = xcalloc(count + 1, sizeof *on_front);
    size_t on = find_front(d, points, count, on_front);
    bool conditions = false;
    double low = points[0].y, high = low;
    for (size_t i = 0; i < count; i++) {
        conditions |= d->jobs[points[i].job].barred;
        low = points[i].y < low ? points[i].y : low;
        high = points[i].y > high ? points[i].y : high;
    }
    struct svg_axis x = svg_axis_over(points[0].x, points[count - 1].x, d->memory->title, d->memory->unit, false);
    struct svg_axis y = svg_axis_over(low, high, d->objective, d->unit, true);
    char *desc = xasprintf("%zu jobs, %zu of them on %s: no other job %s%sboth takes less memory and is better.", count,
                           on, d->group_count > 1 ? "the fronts of their groups" : "the front",
                           conditions ? "that may win " : "", d->group_count > 1 ? "of the group " : "");
    svg_open_plot(&p->out, "front-plot", "Objective against memory, with the Pareto front", desc, &x, &y);
    add_front_lines(p, points, on_front, count, &x, &y);
    add_front_points(p, points, on_front, count, &x, &y);
    svg_close(&p->out);
    buffer_printf(&p->out, "<p class=note>%s: %s</p>\n",
                  d->group_count > 1 ? "Each line is the Pareto front of a group" : "The line is the Pareto front",
                  desc);
    html_add_stride_note(&p->out, count);
    add_front_table(p, points, on_front, count, on, &x);
    add_front_figures(p, points, on_front, count, &x);
    free(desc);
    free(on_front);
}

int html_front(struct html_page *p, struct error *e)
{
    const struct html_data *d = p->data;
    (void)e;
    if (!d->objective || !d->memory) {
        html_add_none(&p->out, !d->objective ? "The sweep declares no objective."
                                             : "No job reports memory. A metric with the word memory in its name, such "
                                               "as peak_memory_bytes, would be shown here.");
        return 0;
    }
    struct point *points = xcalloc(d->job_count + 1, sizeof *points);
    size_t count = collect(d, points);
    if (count)
        add_front_plot(p, points, count);
    else
        html_add_none(&p->out, "No successful job has both a finite objective and a value for memory.");
    free(points);
    return 0;
}

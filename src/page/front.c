/* Speed against memory, with the Pareto front of both. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/sections.h"
#include "util/memory.h"
#include "util/utf8.h"

#define FRONT_LISTED 50

struct point {
    double x, y;
    double cost; /* y, or -y if higher is better */
    size_t job;
};

/* The unit of memory in tables: the largest of which there are two. */
struct memory_unit {
    double scale; /* values are divided by it */
    char unit[64];
};

static struct memory_unit choose_memory_unit(const char *unit, double high)
{
    static const struct {
        const char *shown;
        double factor;
    } units[] = {{"GiB", 1073741824.0}, {"MiB", 1048576.0}, {"KiB", 1024.0}};
    const size_t word = html_unit_length(unit);
    const bool bytes = (word == 1 && unit[0] == 'B') || (word == 5 && strncmp(unit, "bytes", word) == 0);
    struct memory_unit out = {.scale = 1};
    snprintf(out.unit, sizeof out.unit, "%.*s", (int)utf8_cut(unit, strlen(unit), sizeof out.unit - 1), unit);
    for (size_t i = 0; bytes && i < LENGTH(units); i++)
        if (high >= 2 * units[i].factor) {
            out.scale = units[i].factor;
            snprintf(out.unit, sizeof out.unit, "%s%s", units[i].shown, unit + word);
            break;
        }
    return out;
}

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
    OWNED double *best = xcalloc(d->group_count, sizeof *best);
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
    return n;
}

/* The jobs on each group's front for the script, which has the values of all jobs. */
static void add_fronts(struct html_page *p, const struct point *points, const bool *on_front, size_t count)
{
    struct buffer *out = &p->out;
    bool any = false;
    buffer_add_text(out, HTML_CHART("front-plot") "{\"fronts\":[");
    for (size_t group = 0; group < p->data->group_count; group++) {
        bool first = true;
        for (size_t i = 0; i < count; i++) {
            const struct html_job *job = &p->data->jobs[points[i].job];
            if (!on_front[i] || job->group != group)
                continue;
            buffer_printf(out, "%s%lld", !first ? "," : any ? ",[" : "[", (long long)job->id);
            any = true;
            first = false;
        }
        buffer_add_text(out, first ? "" : "]");
    }
    buffer_add_text(out, "]}" HTML_CHART_END);
}

static void add_front_table(struct html_page *p, const struct point *points, const bool *on_front, size_t count,
                            size_t on, const struct memory_unit *memory)
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
    for (size_t k = key_count; k-- > 0;)
        html_name(out, "<th scope=col>", keys[k]->title, "");
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
            html_add_key_value(out, keys[k]->unit, keys[k]->values[points[i].job].text);
        }
        buffer_add_char(out, '\n');
    }
    buffer_add_text(out, "</tbody></table></div>\n");
}

static void add_front_figures(struct html_page *p, const struct point *points, const bool *on_front, size_t count,
                              const struct memory_unit *memory)
{
    const struct html_data *d = p->data;
    const struct figures_column columns[] = {{"job", NULL},
                                             {d->memory->title, memory->unit},
                                             {d->objective, d->unit},
                                             {"on the front", NULL}};
    size_t shown = 0;
    figures_begin(&p->out, "Objective against memory", columns, LENGTH(columns));
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
    OWNED bool *on_front = xcalloc(count + 1, sizeof *on_front);
    size_t on = find_front(d, points, count, on_front);
    bool conditions = false;
    const double least = points[0].x, most = points[count - 1].x;
    for (size_t i = 0; i < count; i++)
        conditions |= d->jobs[points[i].job].barred;
    const struct memory_unit x =
        choose_memory_unit(d->memory->unit, most + (most > least ? most - least : fabs(most) / 5) / 20);
    OWNED char *desc =
        xasprintf("%zu job%s, %zu of them on %s: no other job %s%sboth takes less memory and is better.", count,
                  count == 1 ? "" : "s", on, d->group_count > 1 ? "the fronts of their groups" : "the front",
                  conditions ? "that may win " : "", d->group_count > 1 ? "of the group " : "");
    add_fronts(p, points, on_front, count);
    buffer_printf(&p->out, "<p class=note>%s: %s</p>\n",
                  d->group_count > 1 ? "Each line is the Pareto front of a group" : "The line is the Pareto front",
                  desc);
    html_add_stride_note(&p->out, count);
    add_front_table(p, points, on_front, count, on, &x);
    add_front_figures(p, points, on_front, count, &x);
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
    OWNED struct point *points = xcalloc(d->job_count + 1, sizeof *points);
    size_t count = collect(d, points);
    if (count)
        add_front_plot(p, points, count);
    else
        html_add_none(&p->out, "No successful job has both a finite objective and a value for memory.");
    return 0;
}

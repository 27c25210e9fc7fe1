/* Parallel coordinates: an axis for each key that varies and one for the objective, a line for each job. */
#include <math.h>
#include <stdlib.h>

#include "page/sections.h"
#include "page/svg.h"
#include "page/text.h"
#include "util/memory.h"

#define AXES_MOST 10
#define LINES_MOST 1000
#define GOOD_MOST 100 /* best jobs that are highlighted */
#define WIDTH 960
#define HEIGHT 420
#define LEFT 60
#define RIGHT 880
#define CHARACTER 7 /* approximate width */
#define TOP 44
#define BOTTOM 386

struct coordinates {
    const struct html_data *data;
    const struct html_column *keys[AXES_MOST];
    size_t key_count;
    bool has_objective;
    double low, high; /* of the objective */
};

static double axis_x(const struct coordinates *c, size_t axis)
{
    size_t last = c->key_count - !c->has_objective;
    return last ? LEFT + (RIGHT - LEFT) * (double)axis / (double)last : LEFT;
}

static bool lies_by_number(const struct html_column *k)
{
    return k->numeric && k->level_count > HTML_LEVELS_MOST;
}

/* Values are spaced evenly, many numbers in proportion. */
static double key_y(const struct html_column *k, int level)
{
    double share = (double)level / (double)(k->level_count - 1);
    if (lies_by_number(k)) {
        double low = k->level_numbers[0], high = k->level_numbers[k->level_count - 1];
        share = svg_share(low, high, k->level_numbers[level]);
    }
    return BOTTOM - share * (BOTTOM - TOP);
}

/* Begins a "<path" with what the script needs for brushing; the caller ends it. */
static void add_axis_line(struct buffer *out, double x, const char *column)
{
    buffer_printf(out, "<path d=\"M%.1f %dV%d\" data-at=%.1f data-column=\"", x, TOP, BOTTOM, x);
    html_name(out, "", column, "\"");
}

static void add_key_axis(struct buffer *out, const struct coordinates *c, size_t axis)
{
    const struct html_column *k = c->keys[axis];
    char size[HTML_SIZE_BYTES];
    double x = axis_x(c, axis);
    size_t step = (k->level_count + 11) / 12;
    /* Labels must fit between this axis and the previous one. */
    size_t most = (size_t)((axis ? x - axis_x(c, axis - 1) : LEFT) - 10) / CHARACTER;
    add_axis_line(out, x, k->title);
    if (lies_by_number(k))
        buffer_printf(out, " data-low=%.9g data-high=%.9g", k->level_numbers[0], k->level_numbers[k->level_count - 1]);
    buffer_add_text(out, " />");
    svg_text(out, axis ? x : 2, axis % 2 ? TOP - 28 : TOP - 14, axis ? " class=name text-anchor=middle" : " class=name",
             k->title, 24);
    for (size_t i = 0; i < k->level_count; i += step)
        svg_text(out, x - 5, key_y(k, (int)i) + 4, " text-anchor=end", html_key_text(k, k->level_texts[i], size),
                 most < 12 ? most : 12);
}

static void add_objective_axis(struct buffer *out, const struct coordinates *c)
{
    double ticks[SVG_TICKS_MOST], x = axis_x(c, c->key_count);
    struct svg_axis a = {.low = c->low, .high = c->high, .from = BOTTOM, .to = TOP, .scale = 1};
    size_t count = svg_ticks(&a, ticks);
    char *title = xasprintf("%s%s%s%s", c->data->objective, c->data->unit[0] ? " (" : "", c->data->unit,
                            c->data->unit[0] ? ")" : "");
    add_axis_line(out, x, c->data->sought->title);
    buffer_printf(out, " data-low=%.9g data-high=%.9g />", c->low, c->high);
    svg_text(out, WIDTH - 4, c->key_count % 2 ? TOP - 28 : TOP - 14, " class=name text-anchor=end", title, 40);
    for (size_t i = 0; i < count; i++) {
        buffer_printf(out, "<text x=\"%.1f\" y=\"%.1f\">", x + 6, svg_at(&a, ticks[i]) + 4);
        svg_add_tick(out, ticks[i]);
        buffer_add_text(out, "</text>");
    }
    free(title);
}

struct standing {
    double goodness;
    size_t job;
};

static int by_goodness(const void *a, const void *b)
{
    const struct standing *x = a, *y = b;
    return x->goodness != y->goodness ? (x->goodness > y->goodness) - (x->goodness < y->goodness)
                                      : (x->job < y->job) - (x->job > y->job);
}

static void add_line(struct buffer *out, const struct coordinates *c, size_t job, const char *standing)
{
    const struct html_job *j = &c->data->jobs[job];
    bool ok = isfinite(j->objective), first = true;
    char colour[8];
    double share = ok ? svg_share(c->low, c->high, j->objective) : 0;
    svg_colour(c->data->maximise ? share : 1 - share, colour);
    if (ok)
        buffer_printf(out, "<path class=\"m o%s\" style=color:%s data-j=%lld d=\"", standing, colour, (long long)j->id);
    else
        buffer_printf(out, "<path class=\"m f x-%s\" data-j=%lld d=\"", j->failure, (long long)j->id);
    for (size_t k = 0; k < c->key_count; k++) {
        if (c->keys[k]->levels[job] < 0)
            continue;
        buffer_printf(out, "%c%.0f %.1f", first ? 'M' : 'L', axis_x(c, k), key_y(c->keys[k], c->keys[k]->levels[job]));
        first = false;
    }
    if (ok)
        buffer_printf(out, "%c%.0f %.1f", first ? 'M' : 'L', axis_x(c, c->key_count), BOTTOM - share * (BOTTOM - TOP));
    buffer_add_text(out, "\"/>\n");
}

/* Jobs with a finite objective except the best, worst first. The caller frees `*out`. */
static size_t order_jobs(const struct html_data *d, struct standing **out)
{
    struct standing *order = xcalloc(d->job_count + 1, sizeof *order);
    size_t count = 0;
    for (size_t i = 0; i < d->job_count; i++)
        if (isfinite(d->jobs[i].objective) && (long)i != d->best)
            order[count++] = (struct standing){d->maximise ? d->jobs[i].objective : -d->jobs[i].objective, i};
    qsort(order, count, sizeof *order, by_goodness);
    *out = order;
    return count;
}

/* In drawing order: failed jobs, the others, the best ones. */
static void add_lines(struct buffer *out, const struct coordinates *c)
{
    const struct html_data *d = c->data;
    size_t stride = (d->job_count + LINES_MOST - 1) / LINES_MOST;
    struct standing *order;
    size_t count = order_jobs(d, &order), good = count < 20 ? count : count / 20 < 20 ? 20 : count / 20;
    good = good < GOOD_MOST ? good : GOOD_MOST;
    buffer_printf(out, "<g class=\"lines%s\">\n", d->job_count > 100 ? " many" : "");
    for (size_t i = 0; i < d->job_count; i += stride)
        if (d->jobs[i].state == HTML_FAILED)
            add_line(out, c, i, "");
    for (size_t i = 0; i + good < count; i += stride)
        add_line(out, c, order[i].job, "");
    for (size_t i = count - good; i < count; i++)
        add_line(out, c, order[i].job, " good");
    if (d->best >= 0)
        add_line(out, c, (size_t)d->best, " top");
    buffer_add_text(out, "</g>\n");
    free(order);
}

static void find_range(struct coordinates *c)
{
    c->low = INFINITY;
    c->high = -INFINITY;
    for (size_t i = 0; i < c->data->job_count; i++) {
        double value = c->data->jobs[i].objective;
        if (!isfinite(value))
            continue;
        c->low = fmin(c->low, value);
        c->high = fmax(c->high, value);
    }
    c->has_objective = c->low <= c->high;
}

int html_parallel(struct html_page *p, struct error *e)
{
    struct coordinates c = {.data = p->data};
    const struct html_column *keys[AXES_MOST];
    (void)e;
    c.key_count = html_varying(p->data, keys, AXES_MOST);
    for (size_t i = 0; i < c.key_count; i++)
        c.keys[i] = keys[c.key_count - 1 - i];
    find_range(&c);
    if (c.key_count == 0 || c.key_count + c.has_objective < 2) {
        html_add_none(&p->out, "This plot needs a key with two values and an objective, or two such keys.");
        return 0;
    }
    if (!html_any_ended(p->data)) {
        html_add_none(&p->out, "No job has ended yet.");
        return 0;
    }
    svg_open(&p->out, "parallel-plot", WIDTH, HEIGHT, "Parallel coordinates of the keys and the objective",
             "Each job is a line that crosses each key's axis at the job's value. The colour shows the objective; "
             "dashed lines are failed jobs. The table of all jobs has the same numbers.");
    add_lines(&p->out, &c);
    buffer_add_text(&p->out, "<g class=\"axis over\"");
    buffer_printf(&p->out, " data-top=%d data-bottom=%d>", TOP, BOTTOM);
    for (size_t i = 0; i < c.key_count; i++)
        add_key_axis(&p->out, &c, i);
    if (c.has_objective)
        add_objective_axis(&p->out, &c);
    buffer_add_text(&p->out, "</g>\n");
    svg_close(&p->out);
    buffer_add_text(&p->out,
                    "<p class=note>Each line is a job: lighter is better, and the best lie on top. The thick line is "
                    "the winner; dashed lines are failed jobs. <a href=\"#jobs\">All jobs</a> has the same numbers.");
    if (p->data->job_count > LINES_MOST)
        buffer_printf(&p->out, " Of %zu jobs, one in %zu is drawn, and all of the best.", p->data->job_count,
                      (p->data->job_count + LINES_MOST - 1) / LINES_MOST);
    buffer_add_text(&p->out, "</p>\n");
    return 0;
}

/* Heat maps: the best objective for each pair of values of two keys, and the number of failures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/figures.h"
#include "page/sections.h"
#include "page/svg.h"
#include "page/text.h"
#include "util/memory.h"

#define KEYS_MOST 7 /* 21 maps */
#define LEFT 150
#define TOP 10

struct heat_cell {
    double best;
    size_t jobs, ok;
    size_t failed;
    const char *failure; /* failure class, or "mixed" */
    size_t best_job;
};

struct map {
    const struct html_data *data;
    const struct html_column *x, *y;
    struct heat_cell *cells;
    double low, high;
    double cell_width, cell_height;
};

static void fill(struct map *m)
{
    for (size_t i = 0; i < m->data->job_count; i++) {
        const struct html_job *j = &m->data->jobs[i];
        if (m->x->levels[i] < 0 || m->y->levels[i] < 0)
            continue;
        struct heat_cell *c = &m->cells[(size_t)m->y->levels[i] * m->x->level_count + (size_t)m->x->levels[i]];
        c->jobs++;
        if (j->state == HTML_FAILED) {
            c->failed++;
            c->failure = !c->failure || strcmp(c->failure, j->failure) == 0 ? j->failure : "mixed";
        }
        if (!isfinite(j->objective) || j->barred)
            continue;
        c->ok++;
        if (html_is_better(m->data, j->objective, c->best)) {
            c->best = j->objective;
            c->best_job = i;
        }
    }
}

static void find_range(struct map *m)
{
    m->low = INFINITY;
    m->high = -INFINITY;
    for (size_t i = 0; i < m->x->level_count * m->y->level_count; i++) {
        if (!m->cells[i].ok)
            continue;
        m->low = fmin(m->low, m->cells[i].best);
        m->high = fmax(m->high, m->cells[i].best);
    }
}

static void add_failed_text(struct buffer *out, const struct heat_cell *c, double x, double y, const char *class)
{
    if (!c->failed)
        return;
    buffer_printf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=middle>%zu %s</text>", class, x, y,
                  c->failed, c->failure);
}

static void add_cell(struct buffer *out, const struct map *m, size_t column, size_t row)
{
    const struct heat_cell *c = &m->cells[row * m->x->level_count + column];
    double x = LEFT + m->cell_width * (double)column, y = TOP + m->cell_height * (double)row;
    double middle = x + m->cell_width / 2;
    bool tall = m->cell_height >= 36 && m->cell_width >= 60;
    char colour[8];
    if (c->jobs == 0)
        return;
    if (c->ok == 0) {
        buffer_printf(out, "<rect class=\"cell %s%s\" x=%.1f y=%.1f width=%.1f height=%.1f />",
                      c->failed ? "x-" : "open", c->failed ? c->failure : "", x, y, m->cell_width - 2,
                      m->cell_height - 2);
        add_failed_text(out, c, middle, y + m->cell_height / 2 + 4, "lost");
        return;
    }
    double share = svg_share(m->low, m->high, c->best);
    bool dark = svg_colour(m->data->maximise ? share : 1 - share, colour);
    buffer_printf(out, "<rect class=cell fill=\"%s\" data-j=%lld x=%.1f y=%.1f width=%.1f height=%.1f />", colour,
                  (long long)m->data->jobs[c->best_job].id, x, y, m->cell_width - 2, m->cell_height - 2);
    buffer_printf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=middle>", dark ? "dark" : "light", middle,
                  y + m->cell_height / 2 + (c->failed && tall ? -3 : 4));
    html_add_short(out, c->best);
    buffer_add_text(out, "</text>");
    if (tall)
        add_failed_text(out, c, middle, y + m->cell_height / 2 + 13, dark ? "dark small" : "light small");
    else if (c->failed)
        buffer_printf(out, "<circle class=x-%s cx=%.1f cy=%.1f r=3 />", c->failure, x + m->cell_width - 8, y + 6);
    buffer_add_char(out, '\n');
}

static void add_labels(struct buffer *out, const struct map *m, double width, double height)
{
    char size[HTML_SIZE_BYTES];
    buffer_add_text(out, "<g class=axis>");
    for (size_t i = 0; i < m->x->level_count; i++)
        svg_text(out, LEFT + m->cell_width * ((double)i + 0.5), TOP + height + 16, " text-anchor=middle",
                 html_key_text(m->x, m->x->level_texts[i], size), m->cell_width < 60 ? 6 : 14);
    for (size_t i = 0; i < m->y->level_count; i++)
        svg_text(out, LEFT - 8, TOP + m->cell_height * ((double)i + 0.5) + 4, " text-anchor=end",
                 html_key_text(m->y, m->y->level_texts[i], size), 14);
    svg_text(out, LEFT + width / 2, TOP + height + 36, " class=name text-anchor=middle", m->x->title, HTML_NAME_MOST);
    buffer_printf(out, "<g transform=\"translate(14 %.1f) rotate(-90)\">", TOP + height / 2);
    svg_text(out, 0, 0, " class=name text-anchor=middle", m->y->title, 40);
    buffer_add_text(out, "</g></g>\n");
}

/* "zero_stage=2" */
static char *level_name(const struct html_column *key, size_t level)
{
    char size[HTML_SIZE_BYTES];
    return xasprintf("%s=%s", key->title, html_key_text(key, key->level_texts[level], size));
}

static void add_figures_cell(struct buffer *out, const struct heat_cell *c)
{
    figures_number(out, c->best);
    if (c->failed)
        buffer_printf(out, "%s%zu %s", c->ok ? "; " : "", c->failed, c->failure);
}

static void add_figures(struct buffer *out, const struct map *m, const char *caption)
{
    struct figures_column *columns = xcalloc(m->x->level_count + 1, sizeof *columns);
    char **names = xcalloc(m->x->level_count, sizeof *names);
    columns[0].title = "";
    for (size_t i = 0; i < m->x->level_count; i++)
        columns[i + 1].title = names[i] = level_name(m->x, i);
    figures_begin(out, caption, columns, m->x->level_count + 1);
    for (size_t row = 0; row < m->y->level_count; row++) {
        char *name = level_name(m->y, row);
        html_name(out, "<tr><th scope=row>", name, "");
        for (size_t i = 0; i < m->x->level_count; i++)
            add_figures_cell(out, &m->cells[row * m->x->level_count + i]);
        buffer_add_char(out, '\n');
        free(name);
    }
    figures_end(out, m->y->level_count, m->y->level_count, "");
    for (size_t i = 0; i < m->x->level_count; i++)
        free(names[i]);
    free(names);
    free(columns);
}

static void add_map(struct html_page *p, struct map *m, size_t number)
{
    size_t count = m->x->level_count * m->y->level_count;
    m->cells = xcalloc(count, sizeof *m->cells);
    for (size_t i = 0; i < count; i++)
        m->cells[i].best = NAN;
    fill(m);
    find_range(m);
    m->cell_width = fmin(110, 780.0 / (double)m->x->level_count);
    m->cell_height = m->y->level_count > 10 ? 26 : 44;
    double width = m->cell_width * (double)m->x->level_count, height = m->cell_height * (double)m->y->level_count;
    char *id = xasprintf("heat-%zu", number);
    char *title =
        xasprintf("%s by %s and %s", m->data->objective ? m->data->objective : "jobs", m->y->title, m->x->title);
    html_name(&p->out, "<div class=map data-x=\"", m->x->title, "\" data-y=\"");
    html_name(&p->out, "", m->y->title, "\">\n");
    svg_open(&p->out, id, fmax(LEFT + width + 10, 500), TOP + height + 46, title,
             "Each cell has the best objective of the jobs with these two values, and the number of failures of each "
             "class.");
    for (size_t row = 0; row < m->y->level_count; row++)
        for (size_t column = 0; column < m->x->level_count; column++)
            add_cell(&p->out, m, column, row);
    add_labels(&p->out, m, width, height);
    svg_close(&p->out);
    add_figures(&p->out, m, title);
    buffer_add_text(&p->out, "</div>\n");
    free(id);
    free(title);
    free(m->cells);
}

int html_heat(struct html_page *p, struct error *e)
{
    const struct html_column *all[64], *keys[KEYS_MOST];
    size_t varying = html_varying(p->data, all, 64), count = 0, maps = 0;
    (void)e;
    for (size_t i = 0; i < varying && count < KEYS_MOST; i++)
        if (all[i]->level_count <= HTML_LEVELS_MOST)
            keys[count++] = all[i];
    if (count < 2) {
        html_add_none(&p->out, "This plot needs two keys with 2 to 24 values each.");
        return 0;
    }
    html_name(&p->out,
              "<form id=heat-keys hidden><label>across <select id=heat-x></select></label> <label>down <select "
              "id=heat-y></select></label></form>\n<p class=note>Each cell has the best ",
              p->data->objective ? p->data->objective : "objective", p->data->unit && p->data->unit[0] ? " in " : "");
    html_name(&p->out, "", p->data->unit,
              " of its jobs (lighter is better) and, below it, the number of failures. If all failed, the cell "
              "has the colour of their class; if none has a result yet, it is empty. Where there is no cell, no job "
              "has "
              "these values.</p>\n");
    for (size_t a = 0; a < count; a++)
        for (size_t b = a + 1; b < count; b++) {
            struct map m = {.data = p->data, .x = keys[a], .y = keys[b]};
            add_map(p, &m, maps++);
        }
    return 0;
}

/* Keys together: heat maps, which the script draws from their tables, of the best objective for each pair of values of
 * two keys and the number of failures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/sections.h"
#include "util/memory.h"

#define KEYS_MOST 7 /* 21 maps */

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
};

static void fill_cells(struct map *m)
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

/* "zero_stage=2" */
static char *level_name(const struct html_column *key, size_t level)
{
    char size[HTML_SIZE_BYTES];
    return xasprintf("%s=%s", key->title, html_key_text(key, key->level_texts[level], size));
}

/* With the best job for the script; "open": jobs without a result yet. */
static void add_cell(struct buffer *out, const struct html_data *d, const struct heat_cell *c)
{
    if (c->ok) {
        buffer_printf(out, "<td class=n data-best=%lld>", (long long)d->jobs[c->best_job].id);
        html_add_number(out, c->best);
    } else {
        buffer_add_text(out, c->jobs && !c->failed ? "<td class=\"n open\">" : "<td class=n>");
    }
    if (c->failed)
        buffer_printf(out, "%s%zu %s", c->ok ? "; " : "", c->failed, c->failure);
}

static void add_figures(struct buffer *out, const struct map *m, const char *caption)
{
    OWNED struct figures_column *columns = xcalloc(m->x->level_count + 1, sizeof *columns);
    OWNED_LIST names = STRING_LIST_INIT;
    columns[0].title = "";
    for (size_t i = 0; i < m->x->level_count; i++) {
        string_list_add(&names, level_name(m->x, i));
        columns[i + 1].title = names.items[i];
    }
    figures_begin(out, caption, columns, m->x->level_count + 1);
    for (size_t row = 0; row < m->y->level_count; row++) {
        OWNED char *name = level_name(m->y, row);
        html_name(out, "<tr><th scope=row>", name, "");
        for (size_t i = 0; i < m->x->level_count; i++)
            add_cell(out, m->data, &m->cells[row * m->x->level_count + i]);
        buffer_add_char(out, '\n');
    }
    figures_end(out, m->y->level_count, m->y->level_count, "");
}

static void add_map(struct html_page *p, struct map *m)
{
    size_t count = m->x->level_count * m->y->level_count;
    m->cells = xcalloc(count, sizeof *m->cells);
    for (size_t i = 0; i < count; i++)
        m->cells[i].best = NAN;
    fill_cells(m);
    char *title =
        xasprintf("%s by %s and %s", m->data->objective ? m->data->objective : "jobs", m->y->title, m->x->title);
    html_name(&p->out, "<div class=map data-x=\"", m->x->title, "\" data-y=\"");
    html_name(&p->out, "", m->y->title, "\">\n");
    add_figures(&p->out, m, title);
    buffer_add_text(&p->out, "</div>\n");
    free_all(title, m->cells);
}

int html_heat(struct html_page *p, struct error *e)
{
    const struct html_column *all[64], *keys[KEYS_MOST];
    size_t varying = html_varying(p->data, all, 64), count = 0;
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
              "has these values.</p>\n");
    for (size_t a = 0; a < count; a++)
        for (size_t b = a + 1; b < count; b++) {
            struct map m = {.data = p->data, .x = keys[a], .y = keys[b]};
            add_map(p, &m);
        }
    return 0;
}

/* Sections that one statement in sql/page/ makes: a JSON array of objects, each a piece of HTML.
 *
 *   {"none": "sentence" or [HTML, value, …]}   instead of what there is not
 *   {"note": [HTML, value, HTML, …]}       a paragraph; values are escaped, what stands between them is SQL's own
 *   {"text": [HTML, value, …]}             a plain one
 *   {"html": "HTML"}
 *   {"heading": "text"}
 *   {"cards": [["class", "label", "value"], …]}
 *   {"chart": "id", "data": "JSON text"}   for the script (charts.js)
 *   {"legend": "HTML"}                     the items of a list
 *   {"points": number}                     says if not all are drawn
 *   {"figures": "caption", "columns": ["title" or ["title", "unit"], …], "rows": [[first, cell, …], …], "all": number,
 *    "others": "…"}                        a closed table; null is a missing number, "" a missing text
 *   {"table": ["title", …], "rows": [[first, cell, …], …]}                  a plain one
 *
 * A row's first cell is its job, its title, or {"row": "attributes"} for none; {"cell": "HTML"} is one as it stands. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "page/sections.h"
#include "results/json.h"
#include "util/memory.h"

/* --- pieces --- */

static void add_paragraph(struct buffer *out, const char *begin, const cJSON *parts)
{
    const cJSON *part;
    bool is_value = false;
    buffer_add_text(out, begin);
    cJSON_ArrayForEach(part, parts)
    {
        if (is_value)
            html_add(out, part->valuestring, HTML_TEXT_MOST);
        else
            buffer_add_text(out, part->valuestring);
        is_value = !is_value;
    }
    buffer_add_text(out, "</p>\n");
}

static void add_cards(struct buffer *out, const cJSON *cards)
{
    const cJSON *card;
    buffer_add_text(out, "<div class=cards>\n");
    cJSON_ArrayForEach(card, cards)
    {
        buffer_printf(out, "<div class=\"card %s\"><b>", card->child->valuestring);
        html_name(out, "", card->child->next->next->valuestring, "</b><span>");
        html_name(out, "", card->child->next->valuestring, "</span></div>\n");
    }
    buffer_add_text(out, "</div>\n");
}

static void add_number(struct buffer *out, double value)
{
    buffer_add_text(out, "<td class=n>");
    if (!isnan(value))
        html_add_number(out, value);
}

/* Those behind the first. */
static void add_cells(struct buffer *out, const cJSON *cell)
{
    while ((cell = cell->next))
        if (cJSON_IsString(cell))
            html_text(out, "<td>", cell->valuestring, "");
        else if (cJSON_IsObject(cell))
            buffer_add_text(out, cell->child->valuestring);
        else
            add_number(out, cJSON_IsNumber(cell) ? cell->valuedouble : NAN);
    buffer_add_char(out, '\n');
}

static void add_row(struct buffer *out, const cJSON *first)
{
    if (cJSON_IsNumber(first))
        buffer_printf(out, "<tr><td><a href=\"#j%.0f\">%.0f</a>", first->valuedouble, first->valuedouble);
    else if (cJSON_IsString(first))
        html_text(out, "<tr><th scope=row>", first->valuestring, "");
    else
        buffer_printf(out, "<tr %s>", json_text_or(first, "row", ""));
    add_cells(out, first);
}

static void add_title(struct buffer *out, const char *title, const char *unit)
{
    html_name(out, title[0] ? "<th scope=col>" : "<td>", title, "");
    if (unit && unit[0])
        html_name(out, " (", unit, ")");
}

static void add_table(struct buffer *out, const cJSON *titles, const cJSON *rows)
{
    const cJSON *item;
    buffer_add_text(out, "<div class=scroll tabindex=0><table class=plain><thead><tr>");
    cJSON_ArrayForEach(item, titles) add_title(out, (item->child ? item->child : item)->valuestring,
                                               item->child ? item->child->next->valuestring : NULL);
    buffer_add_text(out, "</thead><tbody>\n");
    cJSON_ArrayForEach(item, rows) add_row(out, item->child);
    buffer_add_text(out, "</tbody></table></div>");
}

static void add_figures(struct buffer *out, const cJSON *piece)
{
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(piece, "rows");
    const int64_t shown = cJSON_GetArraySize(rows), all = json_count_of(piece, "all");
    html_text(out, "<details class=figures><summary>", piece->child->valuestring, ", as a table</summary>");
    add_table(out, cJSON_GetObjectItemCaseSensitive(piece, "columns"), rows);
    if (shown < all)
        buffer_printf(out, "<p class=note>%" PRId64 " of %" PRId64 " %s</p>", shown, all,
                      json_text_of(piece, "others"));
    buffer_add_text(out, "</details>\n");
}

/* Of more than 1,500, every n-th is drawn. */
static void add_stride_note(struct buffer *out, size_t count)
{
    const size_t stride = (count + 1499) / 1500;
    if (stride > 1)
        buffer_printf(out, "<p class=note>There are %zu; one in %zu is drawn.</p>\n", count, stride);
}

static void add_piece(struct buffer *out, const cJSON *piece)
{
    const cJSON *what = piece->child;
    if (!strcmp(what->string, "none") && cJSON_IsString(what))
        html_add_none(out, what->valuestring);
    else if (!strcmp(what->string, "none"))
        add_paragraph(out, "<p class=none>", what);
    else if (!strcmp(what->string, "note"))
        add_paragraph(out, "<p class=note>", what);
    else if (!strcmp(what->string, "text"))
        add_paragraph(out, "<p>", what);
    else if (!strcmp(what->string, "html"))
        buffer_add_text(out, what->valuestring);
    else if (!strcmp(what->string, "heading"))
        buffer_printf(out, "<h3>%s</h3>\n", what->valuestring);
    else if (!strcmp(what->string, "chart")) {
        buffer_printf(out, HTML_CHART("%s"), what->valuestring);
        html_add_script_json(out, json_text_of(piece, "data"));
        buffer_add_text(out, HTML_CHART_END);
    } else if (!strcmp(what->string, "legend"))
        buffer_printf(out, "<ul class=legend>%s</ul>\n", what->valuestring);
    else if (!strcmp(what->string, "cards"))
        add_cards(out, what);
    else if (!strcmp(what->string, "table")) {
        add_table(out, what, what->next);
        buffer_add_char(out, '\n');
    } else if (!strcmp(what->string, "points"))
        add_stride_note(out, (size_t)what->valuedouble);
    else
        add_figures(out, piece);
}

int html_add_document(struct buffer *out, struct db *db, const char *name, struct sql_values values, struct error *e)
{
    OWNED_STMT *s = NULL;
    OWNED char *file = xasprintf("sql/page/%s.sql", name);
    OWNED_JSON *document = NULL;
    const cJSON *piece;
    int rc = answer_open(db, file, NULL, values, &s, e);
    rc = rc < 0 ? -1 : answer_documents(s, 0, &document, NULL, e);
    cJSON_ArrayForEach(piece, document) add_piece(out, piece);
    return rc;
}

/* --- keys together: heat maps, which the script draws from their tables, of the best objective for each pair of values
 * of two keys and the number of failures --- */

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

static void fill_cells(const struct map *m)
{
    for (size_t i = 0; i < m->x->level_count * m->y->level_count; i++)
        m->cells[i].best = NAN;
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

/* Bytes as "16 MiB" in `out`, anything else `text` itself. */
static const char *key_text(const struct html_column *c, const char *text, char out[HTML_SIZE_BYTES])
{
    const bool size = text && c->role == HTML_KEY && strcmp(c->unit, "B") == 0;
    return size ? html_size(strtod(text, NULL), out) : text;
}

/* "zero_stage=2" */
static char *level_name(const struct html_column *key, size_t level)
{
    char size[HTML_SIZE_BYTES];
    return xasprintf("%s=%s", key->title, key_text(key, key->level_texts[level], size));
}

/* With the best job for the script; "open": jobs without a result yet. */
static cJSON *cell_of(const struct html_data *d, const struct heat_cell *c)
{
    cJSON *cell = cJSON_CreateObject();
    OWNED_BUFFER out = BUFFER_INIT;
    if (c->ok) {
        buffer_printf(&out, "<td class=n data-best=%lld>", (long long)d->jobs[c->best_job].id);
        html_add_number(&out, c->best);
    } else {
        buffer_add_text(&out, c->jobs && !c->failed ? "<td class=\"n open\">" : "<td class=n>");
    }
    if (c->failed)
        buffer_printf(&out, "%s%zu %s", c->ok ? "; " : "", c->failed, c->failure);
    cJSON_AddStringToObject(cell, "cell", buffer_text(&out));
    return cell;
}

static void add_level(cJSON *list, const struct html_column *key, size_t level)
{
    OWNED char *name = level_name(key, level);
    cJSON_AddItemToArray(list, cJSON_CreateString(name));
}

static void add_map(struct html_page *p, const struct html_column *x, const struct html_column *y)
{
    const struct map m = {p->data, x, y, xcalloc(x->level_count * y->level_count, sizeof *m.cells)};
    OWNED char *title =
        xasprintf("%s by %s and %s", p->data->objective ? p->data->objective : "jobs", y->title, x->title);
    OWNED_JSON *piece = cJSON_CreateObject();
    cJSON_AddStringToObject(piece, "figures", title);
    cJSON *columns = cJSON_AddArrayToObject(piece, "columns"), *rows = cJSON_AddArrayToObject(piece, "rows");
    fill_cells(&m);
    cJSON_AddItemToArray(columns, cJSON_CreateString(""));
    for (size_t i = 0; i < x->level_count; i++)
        add_level(columns, x, i);
    for (size_t k = 0; k < y->level_count; k++) {
        cJSON *row = cJSON_CreateArray();
        add_level(row, y, k);
        for (size_t i = 0; i < x->level_count; i++)
            cJSON_AddItemToArray(row, cell_of(p->data, &m.cells[k * x->level_count + i]));
        cJSON_AddItemToArray(rows, row);
    }
    html_name(&p->out, "<div class=map data-x=\"", x->title, "\" data-y=\"");
    html_name(&p->out, "", y->title, "\">\n");
    add_figures(&p->out, piece);
    buffer_add_text(&p->out, "</div>\n");
    free(m.cells);
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
        for (size_t b = a + 1; b < count; b++)
            add_map(p, keys[a], keys[b]);
    return 0;
}

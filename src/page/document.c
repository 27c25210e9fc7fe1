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
 *   {"points": number}                     says if not all are drawn (html_add_stride_note)
 *   {"figures": "caption", "columns": ["title" or ["title", "unit"], …], "rows": [[first, cell, …], …], "all": number,
 *    "others": "…"}                        a table (figures_begin); null is a missing number, "" a missing text
 *   {"table": ["title", …], "rows": [[first, cell, …], …]}                  a plain one
 *
 * A row's first cell is its job, its title, or {"row": "attributes"} for none. */
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

/* Those behind the first. */
static void add_cells(struct buffer *out, const cJSON *cell)
{
    while ((cell = cell->next))
        if (cJSON_IsString(cell))
            html_text(out, "<td>", cell->valuestring, "");
        else
            figures_number(out, cJSON_IsNumber(cell) ? cell->valuedouble : NAN);
    buffer_add_char(out, '\n');
}

static void add_row(struct buffer *out, const cJSON *first)
{
    if (cJSON_IsNumber(first))
        figures_job(out, (int64_t)first->valuedouble);
    else if (cJSON_IsString(first))
        html_text(out, "<tr><th scope=row>", first->valuestring, "");
    else
        buffer_printf(out, "<tr %s>", json_text_or(first, "row", ""));
    add_cells(out, first);
}

static void add_table(struct buffer *out, const cJSON *titles, const cJSON *rows)
{
    const cJSON *item;
    buffer_add_text(out, "<div class=scroll tabindex=0><table class=plain><thead><tr>");
    cJSON_ArrayForEach(item, titles) html_name(out, "<th scope=col>", item->valuestring, "");
    buffer_add_text(out, "</thead><tbody>\n");
    cJSON_ArrayForEach(item, rows) add_row(out, item->child);
    buffer_add_text(out, "</tbody></table></div>\n");
}

static void add_figures(struct buffer *out, const cJSON *piece)
{
    const cJSON *columns = cJSON_GetObjectItemCaseSensitive(piece, "columns"),
                *rows = cJSON_GetObjectItemCaseSensitive(piece, "rows"), *item;
    OWNED struct figures_column *titles = xcalloc((size_t)cJSON_GetArraySize(columns) + 1, sizeof *titles);
    size_t count = 0;
    cJSON_ArrayForEach(item, columns) titles[count++] =
        cJSON_IsString(item) ? (struct figures_column){item->valuestring, NULL}
                             : (struct figures_column){item->child->valuestring, item->child->next->valuestring};
    figures_begin(out, piece->child->valuestring, titles, count);
    cJSON_ArrayForEach(item, rows) add_row(out, item->child);
    figures_end(out, (size_t)cJSON_GetArraySize(rows), (size_t)json_count_of(piece, "all"),
                json_text_of(piece, "others"));
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
    else if (!strcmp(what->string, "table"))
        add_table(out, what, what->next);
    else if (!strcmp(what->string, "points"))
        html_add_stride_note(out, (size_t)what->valuedouble);
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

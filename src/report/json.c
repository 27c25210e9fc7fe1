#include <math.h>
#include <string.h>

#include "report/render.h"
#include "report/writer.h"
#include "results/json.h"

static void add_value(struct buffer *out, const struct cell *cell)
{
    if (cell->kind == CELL_NULL)
        buffer_add_text(out, "null");
    else if (cell->kind == CELL_TEXT)
        buffer_add_json_string(out, cell->text, cell->length);
    else if (cell->kind == CELL_FLOAT && !isfinite(cell->real))
        buffer_add_text(out, isnan(cell->real) ? "\"NaN\"" : cell->real > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    else if (cell->kind == CELL_TRUTH)
        buffer_add_text(out, cell->integer ? "true" : "false");
    else if (cell->kind == CELL_JSON)
        buffer_add(out, cell->text, cell->length);
    else
        writer_add_number(out, cell);
}

/* docs/json.md: NaN and infinities are null. */
static void add_finite(struct buffer *out, const struct cell *cell)
{
    if (cell->kind == CELL_FLOAT && !isfinite(cell->real))
        buffer_add_text(out, "null");
    else
        add_value(out, cell);
}

static void add_object(struct writer *w, const struct cell *cells, void (*add)(struct buffer *, const struct cell *))
{
    buffer_add_char(&w->text, '{');
    for (size_t i = 0; i < w->rows->column_count; i++) {
        if (i > 0)
            buffer_add_char(&w->text, ',');
        buffer_add_json_string(&w->text, w->rows->columns[i].name, strlen(w->rows->columns[i].name));
        buffer_add_char(&w->text, ':');
        add(&w->text, &cells[i]);
    }
    buffer_add_char(&w->text, '}');
}

static void json_row(struct writer *w, const struct cell *cells)
{
    buffer_add_text(&w->text, w->row_count ? ",\n" : "[\n");
    add_object(w, cells, add_value);
}

static void json_end(struct writer *w)
{
    buffer_add_text(&w->text, w->row_count ? "\n]\n" : "[]\n");
}

static void jsonl_row(struct writer *w, const struct cell *cells)
{
    add_object(w, cells, add_value);
    buffer_add_char(&w->text, '\n');
}

ROW_RENDERER(json, .row = json_row, .end = json_end)

ROW_RENDERER(jsonl, .row = jsonl_row)

/* --- a document --- */

static void document_header(struct writer *w)
{
    buffer_printf(&w->text, "{\n\"schema_version\": %d,\n\"columns\": [", JSON_SCHEMA_VERSION);
    for (size_t i = 0; i < w->rows->column_count; i++) {
        const char *name = w->rows->columns[i].name, *unit = w->rows->columns[i].unit;
        buffer_add_text(&w->text, i > 0 ? ", {\"name\": " : "{\"name\": ");
        buffer_add_json_string(&w->text, name, strlen(name));
        buffer_add_text(&w->text, ", \"unit\": ");
        if (unit && *unit)
            buffer_add_json_string(&w->text, unit, strlen(unit));
        else
            buffer_add_text(&w->text, "null");
        buffer_add_char(&w->text, '}');
    }
    buffer_add_text(&w->text, "],\n\"records\": [");
}

static void document_row(struct writer *w, const struct cell *cells)
{
    buffer_add_text(&w->text, w->row_count ? ",\n" : "\n");
    add_object(w, cells, add_finite);
}

static void document_end(struct writer *w)
{
    buffer_add_text(&w->text, "]\n}\n");
}

ROW_RENDERER(document, .header = document_header, .row = document_row, .end = document_end)

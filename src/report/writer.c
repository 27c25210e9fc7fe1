#include "report/writer.h"

#include <assert.h>
#include <string.h>

#include "report/text.h"
#include "util/decimal.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/suggest.h"

/* Large enough to make writes cheap per byte, small enough for a cache. */
#define FLUSH_BYTES (256u << 10)

static int add_to_buffer(void *context, const void *bytes, size_t length, struct error *e)
{
    (void)e;
    buffer_add(context, bytes, length);
    return 0;
}

static int add_to_file(void *context, const void *bytes, size_t length, struct error *e)
{
    return atomic_file_write(context, bytes, length, e);
}

struct report_sink report_sink_of_buffer(struct buffer *out)
{
    return (struct report_sink){add_to_buffer, out};
}

struct report_sink report_sink_of_file(struct atomic_file *file)
{
    return (struct report_sink){add_to_file, file};
}

int writer_flush(struct writer *w, bool all, struct error *e)
{
    if (w->text.length == 0 || (!all && w->text.length < FLUSH_BYTES))
        return 0;
    int rc = w->sink->write(w->sink->context, w->text.data, w->text.length, e);
    buffer_clear(&w->text);
    return rc;
}

void writer_free(struct writer *w)
{
    buffer_free(&w->text);
    buffer_free(&w->scratch);
}

static void add_head(struct writer *w, const struct row_format *format, bool units, struct cell *cells)
{
    for (size_t i = 0; i < w->rows->column_count; i++) {
        const char *text = units ? w->rows->columns[i].unit : w->rows->columns[i].name;
        cells[i] = text && (*text || !units) ? (struct cell){.kind = CELL_TEXT, .text = text, .length = strlen(text)}
                                             : (struct cell){.kind = CELL_NULL};
    }
    format->row(w, cells);
}

int writer_rows(const struct row_format *format, const struct row_source *rows, const struct render_options *options,
                const struct report_sink *sink, struct error *e)
{
    OWNED_BY(writer_free) struct writer w = {.rows = rows, .options = options, .sink = sink};
    OWNED struct cell *cells = xcalloc(rows->column_count, sizeof *cells);
    int more;
    if (format->header)
        format->header(&w);
    if (format->has_names)
        add_head(&w, format, false, cells);
    if (format->has_names && options->units)
        add_head(&w, format, true, cells);
    while ((more = rows->next(rows->context, cells, e)) > 0) {
        format->row(&w, cells);
        w.row_count++;
        if (writer_flush(&w, false, e) != 0)
            return -1;
    }
    if (more < 0)
        return -1;
    if (format->end)
        format->end(&w);
    return writer_flush(&w, true, e);
}

void writer_add_number(struct buffer *out, const struct cell *cell)
{
    assert(cell->kind == CELL_INT || cell->kind == CELL_FLOAT);
    buffer_reserve(out, DECIMAL_BYTES);
    char *at = out->data + out->length;
    out->length += cell->kind == CELL_INT ? decimal_from_int64(cell->integer, at) : decimal_from_double(cell->real, at);
}

void writer_add_for_people(struct buffer *out, const struct cell *cell)
{
    if (cell->kind == CELL_FLOAT && !cell->is_exact)
        text_add_rounded(out, cell->real);
    else
        writer_add_number(out, cell);
}

void writer_add_title(struct buffer *out, const struct row_source *rows, size_t column)
{
    const char *unit = rows->columns[column].unit;
    buffer_add_text(out, rows->columns[column].name);
    if (unit && *unit)
        buffer_printf(out, " (%s)", unit);
}

/* --- the formats --- */

#define FORMAT(name, is_json) {#name, render_##name, is_json},
const struct report_format report_formats[] = {
    {"table", render_table, false},
    REPORT_FORMATS(FORMAT){"markdown", render_markdown, false},
    {"xlsx", render_xlsx, true},
    {NULL, NULL, false},
};

const struct report_format report_document = {"json", render_document, true};

static int unknown_format(const char *name, struct error *e)
{
    OWNED_BUFFER list = BUFFER_INIT;
    struct suggestion meant = SUGGEST(name, i, LENGTH(report_formats) - 1, report_formats[i].name);
    for (size_t i = 0; i < LENGTH(report_formats) - 1; i++)
        buffer_printf(&list, "%s%s", i ? ", " : "", report_formats[i].name);
    return error_set(e, ERROR_USAGE, "unknown format '%s'%s (%s)", name,
                     suggest_between(&meant, "; did you mean '", "'?"), buffer_text(&list));
}

int report_format_find(const char *name, const struct report_format **out, struct error *e)
{
    for (const struct report_format *f = report_formats; f->name; f++) {
        if (strcmp(f->name, name) == 0) {
            *out = f;
            return 0;
        }
    }
    return unknown_format(name, e);
}

#include "report/csv.h"
#include "report/render.h"
#include "report/text.h"
#include "report/writer.h"

static void add_escaped(struct buffer *out, const char *text, size_t length)
{
    static const char escapes[128] = {['\\'] = '\\', ['\t'] = 't', ['\n'] = 'n', ['\r'] = 'r', [0] = '0'};
    size_t plain = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 128 || !escapes[c])
            continue;
        text_add_valid(out, text + plain, i - plain);
        buffer_add_char(out, '\\');
        buffer_add_char(out, escapes[c]);
        plain = i + 1;
    }
    text_add_valid(out, text + plain, length - plain);
}

static void add_cell(struct writer *w, const struct cell *cell)
{
    if (cell->kind == CELL_NULL) {
        buffer_add_text(&w->text, "\\N");
    } else if (cell->kind == CELL_TEXT) {
        if (csv_formula_like(cell->text, cell->length))
            buffer_add_char(&w->text, '\'');
        add_escaped(&w->text, cell->text, cell->length);
    } else {
        writer_add_number(&w->text, cell);
    }
}

static void tsv_row(struct writer *w, const struct cell *cells)
{
    for (size_t i = 0; i < w->rows->column_count; i++) {
        if (i > 0)
            buffer_add_char(&w->text, '\t');
        const struct cell cell = csv_number(cells[i]);
        add_cell(w, &cell);
    }
    buffer_add_char(&w->text, '\n');
}

int render_tsv(const struct row_source *rows, const struct render_options *options, const struct report_sink *sink,
               struct error *e)
{
    static const struct row_format format = {.header = tsv_row, .row = tsv_row};
    return writer_rows(&format, rows, options, sink, e);
}

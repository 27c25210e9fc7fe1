#include "report/csv.h"

#include <csv.h>
#include <math.h>
#include <string.h>

#include "report/render.h"
#include "report/text.h"
#include "report/writer.h"
#include "util/memory.h"
#include "util/utf8.h"

static bool begins_with(const char *text, size_t length, const char *prefix)
{
    size_t n = strlen(prefix);
    return length >= n && memcmp(text, prefix, n) == 0;
}

bool csv_formula_like(const char *text, size_t length)
{
    static const char *const starts[] = {"=",           "+", "-", "@", "\xEF\xBC\x9D", "\xEF\xBC\x8B", "\xEF\xBC\x8D",
                                         "\xEF\xBC\xA0"}; /* then U+FF1D, U+FF0B, U+FF0D, U+FF20 */
    size_t i = FIRST(k, length, text[k] != '\'');
    if (i < length && (text[i] == '\t' || text[i] == '\r' || text[i] == '\n'))
        return true;
    /* Some programs drop leading blanks and control characters before they look for a formula. */
    while (i < length && (unsigned char)text[i] <= ' ')
        i++;
    return ANY(k, sizeof starts / sizeof *starts, begins_with(text + i, length - i, starts[k]));
}

/* The cell that a number is written as: itself, or text if a spreadsheet would run it as a formula (-Infinity). */
static struct cell csv_number(struct cell number)
{
    static const char name[] = "-Infinity";
    if (number.kind != CELL_FLOAT || !isinf(number.real) || number.real > 0)
        return number;
    return (struct cell){.kind = CELL_TEXT, .text = name, .length = sizeof name - 1};
}

struct cell csv_unescape_formula(struct cell cell)
{
    if (cell.kind == CELL_TEXT && cell.length && cell.text[0] == '\'' && csv_formula_like(cell.text, cell.length)) {
        cell.text++;
        cell.length--;
    }
    return cell;
}

static bool needs_quotes(const char *text, size_t length)
{
    if (length == 0 || text[0] == ' ' || text[length - 1] == ' ' || utf8_mark_length(text, length))
        return true;
    return ANY(i, length, (unsigned char)text[i] < ' ' || text[i] == '"' || text[i] == ',');
}

/* The text to write, apart from quotes: itself, or a copy in `scratch`. */
static struct cell guarded(struct cell cell, struct buffer *scratch)
{
    bool formula = csv_formula_like(cell.text, cell.length);
    if (!formula && utf8_first_invalid(cell.text, cell.length) == cell.length)
        return cell;
    buffer_clear(scratch);
    if (formula)
        buffer_add_char(scratch, '\'');
    text_add_valid(scratch, cell.text, cell.length);
    return (struct cell){.kind = CELL_TEXT, .text = buffer_text(scratch), .length = scratch->length};
}

static void add_text(struct writer *w, const struct cell *cell)
{
    struct cell text = guarded(*cell, &w->scratch);
    if (!needs_quotes(text.text, text.length)) {
        buffer_add(&w->text, text.text, text.length);
        return;
    }
    size_t room = 2 * text.length + 2;
    buffer_reserve(&w->text, room);
    w->text.length +=
        csv_write2(w->text.data + w->text.length, room, text.length ? text.text : "", text.length, CSV_QUOTE);
}

/* With tabs. */
static void add_escaped(struct buffer *out, const char *text, size_t length)
{
    static const char escapes[128] = {['\\'] = '\\', ['\t'] = 't', ['\n'] = 'n', ['\r'] = 'r', [0] = '0'};
    size_t plain = 0;
    if (csv_formula_like(text, length))
        buffer_add_char(out, '\'');
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

static void add_row(struct writer *w, const struct cell *cells, bool tabs)
{
    for (size_t i = 0; i < w->rows->column_count; i++) {
        const struct cell cell = csv_number(cells[i]);
        if (i > 0)
            buffer_add_char(&w->text, tabs ? '\t' : ',');
        if (cell.kind == CELL_TEXT && tabs)
            add_escaped(&w->text, cell.text, cell.length);
        else if (cell.kind == CELL_TEXT)
            add_text(w, &cell);
        else if (cell.kind != CELL_NULL)
            writer_add_number(&w->text, &cell);
        else
            buffer_add_text(&w->text, tabs ? "\\N" : "");
    }
    buffer_add_text(&w->text, tabs || w->options->lf ? "\n" : "\r\n");
}

static void csv_row(struct writer *w, const struct cell *cells)
{
    add_row(w, cells, false);
}

static void tsv_row(struct writer *w, const struct cell *cells)
{
    add_row(w, cells, true);
}

ROW_RENDERER(csv, .has_names = true, .row = csv_row)

ROW_RENDERER(tsv, .has_names = true, .row = tsv_row)

#include "report/csv.h"

#include <csv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/render.h"
#include "report/text.h"
#include "report/writer.h"
#include "util/memory.h"
#include "util/parse.h"
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

/* --- reading --- */

#define PIECE_BYTES ((size_t)256 << 10) /* of a line, which limits what the parser holds of it */

struct csv_reader {
    struct csv_parser parser;
    int (*record)(void *context, const struct csv_record *record, struct error *e);
    void *context;
    struct error *e;
    struct cell *cells; /* of the current line; `length` is set at once, `text` when the line is complete */
    size_t count;
    size_t room;           /* in `cells` */
    struct buffer text;    /* text of these cells, concatenated */
    size_t cell_bytes;     /* input since the end of the last cell: limits what the parser holds */
    size_t expected_count; /* cells of the first record; 0 before it */
    size_t line;           /* current line */
    size_t record_line;    /* line on which the record began */
    bool at_start;         /* between records */
    int terminator;        /* the last line end; 0 after a cell */
    bool failed;           /* libcsv cannot be stopped from its callbacks, so the rest of a line is ignored */
};

static int line_error(struct csv_reader *r, size_t line, const char *what)
{
    r->failed = true;
    return error_set(r->e, ERROR_USAGE, "line %zu: %s", line, what);
}

static void add_cell(void *bytes, size_t length, void *context)
{
    struct csv_reader *r = context;
    r->terminator = 0;
    r->cell_bytes = 0;
    if (r->failed)
        return;
    if (r->count == CSV_CELLS_MAX) {
        line_error(r, r->record_line, "too many cells");
        return;
    }
    if (length > 0 && utf8_first_invalid(bytes, length) < length) {
        line_error(r, r->line, "not UTF-8 text; make it so: iconv -f LATIN1 -t UTF-8");
        return;
    }
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 16;
        r->cells = xreallocarray(r->cells, r->room, sizeof *r->cells);
    }
    r->cells[r->count++] = (struct cell){.kind = bytes ? CELL_TEXT : CELL_NULL, .length = length};
    buffer_add(&r->text, bytes, length);
}

static void finish_record(struct csv_reader *r)
{
    size_t offset = 0;
    for (size_t i = 0; i < r->count; i++) {
        r->cells[i].text = r->cells[i].kind == CELL_TEXT ? r->text.data + offset : NULL;
        offset += r->cells[i].length;
    }
    if (r->expected_count == 0)
        r->expected_count = r->count;
    struct csv_record record = {r->record_line, r->cells, r->count};
    if (r->count != r->expected_count) {
        r->failed = true;
        error_set(r->e, ERROR_USAGE, "line %zu: it has %zu cells, but the first line has %zu", r->record_line, r->count,
                  r->expected_count);
    } else if (r->record(r->context, &record, r->e) != 0) {
        r->failed = true;
    }
    r->count = 0;
    buffer_clear(&r->text);
}

/* Called for every CR and LF outside quotes, and with -1 at the end of input within a record. */
static void end_line(int terminator, void *context)
{
    struct csv_reader *r = context;
    bool pair = terminator == CSV_LF && r->terminator == CSV_CR;
    if (!pair && r->count == 0 && r->expected_count == 1)
        add_cell(NULL, 0, r);
    if (!pair && r->count > 0 && !r->failed)
        finish_record(r);
    r->terminator = terminator;
    r->at_start = true;
    r->cell_bytes = 0;
}

/* Parses bytes of one line, PIECE_BYTES at most. */
static int parse_piece(struct csv_reader *r, const char *bytes, size_t length)
{
    if (r->at_start)
        r->record_line = r->line;
    r->at_start = false;
    r->cell_bytes += length;
    /* libcsv grows its buffer by a constant; doubling keeps a long cell from being copied over and over. */
    if (r->cell_bytes > csv_get_buffer_size(&r->parser))
        csv_set_blk_size(&r->parser, r->cell_bytes);
    size_t parsed = csv_parse(&r->parser, bytes, length, add_cell, end_line, r);
    if (r->failed)
        return -1;
    if (parsed < length && csv_error(&r->parser) == CSV_EPARSE)
        return line_error(r, r->line, "a quote inside an unquoted cell, or text after a closing quote");
    if (parsed < length)
        return line_error(r, r->line, csv_strerror(csv_error(&r->parser)));
    if (r->cell_bytes > CSV_CELL_BYTES_MAX)
        return line_error(r, r->record_line, "a cell is larger than 64 MiB; is a closing quote missing?");
    return 0;
}

static int parse_text(struct csv_reader *r, const char *text, size_t length)
{
    const char *const end = text + length;
    csv_set_delim(&r->parser, (unsigned char)csv_delimiter(text, length));
    for (text += utf8_mark_length(text, length); text < end; text += length) {
        const size_t most = (size_t)(end - text) < PIECE_BYTES ? (size_t)(end - text) : PIECE_BYTES;
        const char *newline = memchr(text, '\n', most);
        length = newline ? (size_t)(newline - text) + 1 : most;
        if (parse_piece(r, text, length) != 0)
            return -1;
        r->line += newline != NULL;
    }
    if (csv_fini(&r->parser, add_cell, end_line, r) != 0 && !r->failed)
        return line_error(r, r->record_line, "a quoted cell is not closed");
    return r->failed ? -1 : 0;
}

int csv_read_rows(const char *text, size_t length,
                  int (*record)(void *context, const struct csv_record *record, struct error *e), void *context,
                  struct error *e)
{
    struct csv_reader r = {.record = record, .context = context, .e = e, .line = 1, .at_start = true};
    if (csv_init(&r.parser, CSV_STRICT | CSV_STRICT_FINI | CSV_EMPTY_IS_NULL | CSV_REPALL_NL) != 0)
        return error_set(e, ERROR_FAILED, "libcsv could not be started");
    csv_set_realloc_func(&r.parser, xrealloc);
    int rc = parse_text(&r, text, length);
    free(r.cells);
    buffer_free(&r.text);
    csv_free(&r.parser);
    return rc;
}

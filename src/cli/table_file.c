#include "cli/table_file.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table_json.h"
#include "report/csv.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/utf8.h"

#define TABLE_BYTES_MOST ((size_t)1 << 30)

enum { TITLE_LINES_MOST = 10 };

struct rows_reading {
    const struct buffer *bytes; /* as CSV */
    size_t given;               /* of them, to the CSV reader */
    table_row *each;
    void *context;
    bool has_header;
};

/* --- as CSV --- */

static void add_code_point(struct buffer *out, uint32_t c)
{
    if (c < 0x80)
        buffer_add_char(out, (char)c);
    else if (c < 0x800)
        buffer_printf(out, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 0x3f)));
    else if (c < 0x10000)
        buffer_printf(out, "%c%c%c", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 0x3f)), (int)(0x80 | (c & 0x3f)));
    else
        buffer_printf(out, "%c%c%c%c", (int)(0xf0 | c >> 18), (int)(0x80 | (c >> 12 & 0x3f)),
                      (int)(0x80 | (c >> 6 & 0x3f)), (int)(0x80 | (c & 0x3f)));
}

/* Of UTF-16 with its mark; false: it is none. */
static bool from_utf16(const struct buffer *in, struct buffer *out)
{
    const unsigned char *b = (const unsigned char *)in->data;
    if (in->length < 2 || !((b[0] == 0xff && b[1] == 0xfe) || (b[0] == 0xfe && b[1] == 0xff)))
        return false;
    const int low = b[0] == 0xff ? 0 : 1;
    uint32_t high = 0;
    for (size_t i = 2; i + 1 < in->length; i += 2) {
        const uint32_t unit = b[i + (size_t)low] | (uint32_t)b[i + 1 - (size_t)low] << 8;
        if (unit >= 0xd800 && unit < 0xdc00)
            high = unit;
        else if (unit >= 0xdc00 && unit < 0xe000)
            add_code_point(out, 0x10000 + ((high & 0x3ff) << 10) + (unit & 0x3ff));
        else
            add_code_point(out, unit);
    }
    return true;
}

/* Of "| **a** | b |", a line of Markdown. */
static void add_markdown_line(struct buffer *out, const char *line, const char *end)
{
    const char *p = line + strspn(line, " ") + 1;
    for (size_t i = 0; p < end; i++) {
        const char *bar = memchr(p, '|', (size_t)(end - p)), *from = p, *to = bar ? bar : end;
        p = bar ? bar + 1 : end;
        while (from < to && strchr(" \t*`", *from))
            from++;
        while (to > from && strchr(" \t*`\r", to[-1]))
            to--;
        if (!bar && from == to)
            break;
        buffer_add_text(out, i ? "," : "");
        if (to > from)
            table_add_cell(out, from, (size_t)(to - from));
    }
}

/* A line of the table of Markdown that `text` begins with for each of its own; false: it begins with none. */
static bool from_markdown(const char *text, struct buffer *out)
{
    const char *first = text + strspn(text, " \t\r\n"), *second = first + strcspn(first, "\n");
    if (*first != '|' || !*second || second[1 + strspn(second + 1, "|-: \t\r")] != '\n')
        return false;
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        if (line[strspn(line, " ")] == '|' && line + strspn(line, "|-: \t\r") < end)
            add_markdown_line(out, line, end);
        buffer_add_char(out, '\n');
    }
    return true;
}

/* Empty lines for those of a title: of one cell at most, above one that has more. */
static void empty_title(struct buffer *text)
{
    size_t at = utf8_mark_length(text->data, text->length), lines = 0;
    for (size_t cells = 0; lines < TITLE_LINES_MOST && at < text->length; lines++, cells = 0) {
        const char *line = text->data + at, *end = memchr(line, '\n', text->length - at);
        if (!end)
            return;
        for (const char *p = line; p < end; p++)
            cells += !strchr(",;\t\r", *p) && (p == line || strchr(",;\t", p[-1]));
        if (cells > 1)
            break;
        at = (size_t)(end + 1 - text->data);
    }
    if (lines == 0 || lines == TITLE_LINES_MOST || at == text->length)
        return;
    memset(text->data, '\n', lines);
    memmove(text->data + lines, text->data + at, text->length - at);
    text->length -= at - lines;
}

static long read_bytes(void *context, void *bytes, size_t room, struct error *e)
{
    struct rows_reading *in = context;
    size_t left = in->bytes->length - in->given, n = left < room ? left : room;
    (void)e;
    if (n > 0)
        memcpy(bytes, in->bytes->data + in->given, n);
    in->given += n;
    return (long)n;
}

/* "1635.96±2.59 ms" is 1635.96 ms. The caller's. */
static char *without_spread(const char *text, size_t length)
{
    static const char *const signs[] = {"±", "+/-"};
    char *cell = xstrndup(text, length), digits[NUMBER_BYTES];
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        char *sign = strstr(cell, signs[i]), *end = sign, *rest = sign ? sign + strlen(signs[i]) : NULL;
        while (end && end > cell && end[-1] == ' ')
            end--;
        const size_t number = sign ? parse_written_number(cell, '.', digits) : 0;
        const size_t spread = rest ? parse_written_number(rest + strspn(rest, " "), '.', digits) : 0;
        if (!number || cell + number != end || !spread)
            continue;
        rest += strspn(rest, " ") + spread;
        memmove(end, rest, strlen(rest) + 1);
    }
    return cell;
}

/* The cells as texts, NULL for empty ones; all the caller's. */
static char **texts_of(const struct csv_record *record)
{
    char **texts = xcalloc(record->count + 1, sizeof *texts);
    for (size_t i = 0; i < record->count; i++) {
        struct cell cell = csv_unescape_formula(record->cells[i]);
        if (cell.kind == CELL_TEXT && cell.length > 0)
            texts[i] = without_spread(cell.text, cell.length);
    }
    return texts;
}

static int take_record(void *context, const struct csv_record *record, struct error *e)
{
    struct rows_reading *in = context;
    char **texts = texts_of(record);
    if (!in->has_header && record->count > 1 && !texts[0])
        texts[0] = xstrdup("index"); /* of pandas, which gives it no name */
    in->has_header = true;
    int rc = in->each(in->context, record->line, (const char *const *)texts, record->count, e);
    for (size_t i = 0; i < record->count; i++)
        free(texts[i]);
    free(texts);
    return rc;
}

int table_read_rows(const char *file, struct buffer *bytes, table_row *each, void *context, struct error *e)
{
    struct buffer plain = BUFFER_INIT, text = BUFFER_INIT;
    if (file_read(file, TABLE_BYTES_MOST, bytes, e) < 0)
        return -1;
    if (!from_utf16(bytes, &plain))
        buffer_add(&plain, bytes->data, bytes->length);
    int rc = 0;
    const bool is_json = plain.length > 0 && table_json_is(plain.data);
    if (is_json)
        rc = table_json_add_csv(file, plain.data, &text, e);
    else if (plain.length > 0 && !from_markdown(plain.data, &text))
        empty_title(&plain);
    struct rows_reading in = {.bytes = text.length ? &text : &plain, .each = each, .context = context};
    const struct csv_input source = {read_bytes, &in};
    if (rc == 0 && csv_read_rows(&source, take_record, &in, e) < 0)
        rc = strncmp(e->text, "line ", 5) == 0 ? error_context(e, "%s", file) : -1;
    buffer_free(&plain);
    buffer_free(&text);
    return rc;
}

static int take_row(void *context, size_t line, const char *const *cells, size_t count, struct error *e)
{
    struct table_file *in = context;
    if (!in->table)
        return import_table_create(in->sweep, in->file, cells, count, &in->table, e);
    in->rows++;
    return import_table_add(in->table, line, cells, e);
}

int table_file_read(struct table_file *in, struct error *e)
{
    if (table_read_rows(in->file, &in->bytes, take_row, in, e) < 0)
        return -1;
    if (!in->table)
        return error_set(e, ERROR_USAGE, "%s: the table is empty; its first line must name the columns", in->file);
    if (in->rows == 0)
        return error_set(e, ERROR_NOTHING, "%s: the table has a header but no rows", in->file);
    return 0;
}

void table_file_free(struct table_file *in)
{
    import_table_free(in->table);
    buffer_free(&in->bytes);
    in->table = NULL;
}

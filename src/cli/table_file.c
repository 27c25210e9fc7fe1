#include "cli/table_file.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/csv.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"
#include "util/utf8.h"

/* --- JSON as a table --- */

/* Returns whether the text begins like one. */
static bool table_json_is(const char *text)
{
    text += strspn(text, " \t\r\n");
    const char *next = *text ? text + 1 + strspn(text + 1, " \t\r\n") : text;
    return (*text == '[' && (*next == '{' || *next == '[')) || (*text == '{' && *next == '"');
}

/* Adds the names of an object's members, and of those of nested ones. */
static void add_names(const cJSON *object, const char *before, struct string_list *out)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, object)
    {
        OWNED char *name = xasprintf("%s%s", before, member->string), *prefix = xasprintf("%s.", name);
        if (cJSON_IsObject(member))
            add_names(member, prefix, out);
        else if (string_list_find(out, name) == out->count)
            string_list_add(out, xstrdup(name));
    }
}

static const cJSON *member_at(const cJSON *object, const char *name)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name), *nested;
    if (member && !cJSON_IsObject(member))
        return member;
    cJSON_ArrayForEach(nested, object)
    {
        const size_t n = strlen(nested->string);
        if (cJSON_IsObject(nested) && strncmp(name, nested->string, n) == 0 && name[n] == '.' &&
            (member = member_at(nested, name + n + 1)))
            return member;
    }
    return NULL;
}

/* Adds a quoted cell of CSV. */
static void table_add_cell(struct buffer *out, const char *text, size_t length)
{
    buffer_add_char(out, '"');
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"')
            buffer_add_char(out, '"');
        buffer_add_char(out, text[i]);
    }
    buffer_add_char(out, '"');
}

static void add_value(struct buffer *out, const cJSON *value)
{
    if (!value || cJSON_IsNull(value))
        return;
    if (cJSON_IsString(value) && value->valuestring) {
        table_add_cell(out, value->valuestring, strlen(value->valuestring));
        return;
    }
    OWNED char *text = cJSON_PrintUnformatted(value);
    table_add_cell(out, text ? text : "", text ? strlen(text) : 0);
}

static void add_rows(const cJSON *rows, struct buffer *out)
{
    OWNED_LIST names = STRING_LIST_INIT;
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) add_names(row, "", &names);
    for (size_t i = 0; i < names.count; i++) {
        buffer_add_text(out, i ? "," : "");
        table_add_cell(out, names.items[i], strlen(names.items[i]));
    }
    buffer_add_char(out, '\r'); /* ends it, and is no line of the file */
    cJSON_ArrayForEach(row, rows)
    {
        for (size_t i = 0; i < names.count; i++) {
            buffer_add_text(out, i ? "," : "");
            add_value(out, member_at(row, names.items[i]));
        }
        buffer_add_char(out, '\n');
    }
}

static bool is_of_objects(const cJSON *list)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, list) if (!cJSON_IsObject(row)) return false;
    return cJSON_IsArray(list) && list->child;
}

static bool are_all(const cJSON *of, cJSON_bool (*is)(const cJSON *))
{
    const cJSON *member;
    cJSON_ArrayForEach(member, of) if (!is(member)) return false;
    return of && of->child;
}

/* Returns whether its members are named by numbers, as rows are. */
static bool is_numbered(const cJSON *of)
{
    const cJSON *member;
    cJSON_ArrayForEach(member,
                       of) if (!*member->string || member->string[strspn(member->string, "0123456789")]) return false;
    return of && of->child;
}

static void add_to_row(cJSON *rows, cJSON **row, const char *name, cJSON *value)
{
    *row = *row ? (*row)->next : rows->child;
    if (!*row)
        cJSON_AddItemToArray(rows, *row = cJSON_CreateObject());
    cJSON_AddItemReferenceToObject(*row, name, value);
}

/* Rows of {"NAME": [1, 2], ...} and of {"NAME": {"0": 1, "1": 2}, ...}, as pandas writes columns. */
static cJSON *rows_of_columns(const cJSON *columns)
{
    cJSON *rows = cJSON_CreateArray(), *column, *value;
    cJSON_ArrayForEach(column, columns)
    {
        cJSON *row = NULL;
        cJSON_ArrayForEach(value, column) add_to_row(rows, &row, column->string, value);
    }
    return rows;
}

/* Rows of [[1, 2], ...] under names; those are the first list where `names` is NULL. */
static cJSON *rows_of_lists(const cJSON *names, const cJSON *lists)
{
    cJSON *rows = cJSON_CreateArray(), *value;
    const cJSON *list = names ? lists->child : lists->child->next;
    for (names = names ? names : lists->child; list; list = list->next) {
        cJSON *row = cJSON_CreateObject();
        const cJSON *name = names->child;
        cJSON_ArrayForEach(value, list) if (name)
        {
            cJSON_AddItemReferenceToObject(row, cJSON_IsString(name) ? name->valuestring : "", value);
            name = name->next;
        }
        cJSON_AddItemToArray(rows, row);
    }
    return rows;
}

/* Rows made of a table by columns, by numbers of rows, or of lists; NULL: it is none. */
static cJSON *made_rows(const cJSON *only)
{
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(only, "columns"),
                *data = cJSON_GetObjectItemCaseSensitive(only, "data");
    if (are_all(names, cJSON_IsString) && are_all(data, cJSON_IsArray))
        return rows_of_lists(names, data);
    if (cJSON_IsArray(only) && are_all(only, cJSON_IsArray) && are_all(only->child, cJSON_IsString))
        return rows_of_lists(NULL, only);
    const bool has_objects = cJSON_IsObject(only) && are_all(only, cJSON_IsObject);
    if ((has_objects && !is_numbered(only) && is_numbered(only->child)) ||
        (cJSON_IsObject(only) && only->child && only->child->next && are_all(only, cJSON_IsArray)))
        return rows_of_columns(only);
    return NULL;
}

/* The list of rows in what was read: its only value, a member of that, or all of them. */
static const cJSON *rows_of(const cJSON *all)
{
    const cJSON *only = all->child && !all->child->next ? all->child : NULL, *member;
    if (only && (is_of_objects(only) || (cJSON_IsObject(only) && is_numbered(only) && are_all(only, cJSON_IsObject))))
        return only;
    cJSON_ArrayForEach(member, only) if (is_of_objects(member)) return member;
    if (!is_of_objects(all))
        return NULL;
    /* A table by columns or by an index has nothing but objects in its only one. */
    bool is_turned = only && only->child;
    cJSON_ArrayForEach(member, only) is_turned &= cJSON_IsObject(member) || cJSON_IsArray(member);
    return is_turned ? NULL : all;
}

/* As CSV: a column for each name, "a.b" of a nested object, in the order in which they come; line n is
 * row n. -1 (ERROR_USAGE): it is not
 * JSON, or of another form; `e` says what to do. */
static int table_json_add_csv(const char *file, const char *text, struct buffer *out, struct error *e)
{
    OWNED_JSON *all = cJSON_CreateArray();
    int rc = 0, line = 1;
    for (const char *p = text, *end; *(p += strspn(p, " \t\r\n,")) && rc == 0; p = end) {
        cJSON *one = cJSON_ParseWithOpts(p, &end, false);
        for (const char *c = text; !one && c < p; c++)
            line += *c == '\n';
        if (!one)
            rc = error_set(e, ERROR_USAGE, "%s:%d: what begins here is no JSON", file, line);
        else
            cJSON_AddItemToArray(all, one);
    }
    OWNED_JSON *made = rc == 0 && all->child && !all->child->next ? made_rows(all->child) : NULL;
    const cJSON *rows = made ? made : rc == 0 ? rows_of(all) : NULL;
    if (rc == 0 && !rows)
        rc = error_set(e, ERROR_USAGE,
                       "%s: a table in JSON is a list of objects, or an object a line; pandas writes one with "
                       "df.to_json(FILE, orient=\"records\")",
                       file);
    if (rc == 0)
        add_rows(rows, out);
    return rc;
}

#define TABLE_BYTES_MOST ((size_t)1 << 30)

enum { TITLE_LINES_MOST = 10 };

struct rows_reading {
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

/* Converts UTF-16 with its mark, or of Latin letters without; false: it is none. */
static bool from_utf16(const struct buffer *in, struct buffer *out)
{
    const unsigned char *b = (const unsigned char *)in->data;
    if (in->length < 4)
        return false;
    const bool has_mark = (b[0] == 0xff && b[1] == 0xfe) || (b[0] == 0xfe && b[1] == 0xff);
    if (!has_mark && ((b[0] == 0) == (b[1] == 0) || (b[0] == 0) != (b[2] == 0) || (b[1] == 0) != (b[3] == 0)))
        return false;
    const int low = b[0] == (has_mark ? 0xfe : 0);
    uint32_t high = 0;
    for (size_t i = has_mark ? 2 : 0; i + 1 < in->length; i += 2) {
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

/* Adds the cells of "**a** | b |", what stands behind the first bar of a line. */
static void add_bars(struct buffer *out, const char *p, const char *end)
{
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

static size_t count_of(const char *from, const char *end, char c)
{
    size_t count = 0;
    for (; from < end; from++)
        count += *from == c;
    return count;
}

/* "|---|---:|", "-----+----", "+=====+". */
static bool is_ruled(const char *line, const char *end)
{
    bool has_dash = false;
    for (; line < end && strchr("|-+=: \t\r", *line); line++)
        has_dash |= *line == '-' || *line == '=';
    return line == end && has_dash;
}

/* The line above the first rule, or the first line if the next has as many bars and no comma stands there; NULL: none.
 */
static const char *header_of_bars(const char *text)
{
    bool is_first = true;
    if (!strchr(text, '|'))
        return NULL;
    for (const char *line = text, *end, *next; *line; line = next) {
        end = line + strcspn(line, "\n");
        next = *end ? end + 1 : end;
        const char *next_end = next + strcspn(next, "\n");
        const size_t bars = count_of(line, end, '|');
        if (bars && !is_ruled(line, end) &&
            (is_ruled(next, next_end) ||
             (is_first && line + strcspn(line, ",;\t") >= end && count_of(next, next_end, '|') == bars)))
            return line;
        is_first &= line + strspn(line, " \r") == end;
    }
    return NULL;
}

/* A line of CSV for each of the text's: the cells of its table between bars, as Markdown, psql and grids have them. 1,
 * 0: it has none, or -1: another header below the first table is no row of that. The same one again heads more rows, as
 * psql pages them. */
static int from_bars(const char *file, const char *text, struct buffer *out, struct error *e)
{
    const char *header = header_of_bars(text);
    const size_t length = header ? strcspn(header, "\n") : 0;
    size_t number = 1, first = 0, last = 0;
    bool is_in = true;
    for (const char *line = header ? text : "", *end, *next; *line; line = next, number++) {
        end = line + strcspn(line, "\n");
        next = *end ? end + 1 : end;
        const char *begin = line + strspn(line, " ");
        const bool rules = is_ruled(line, end), is_more = rules || count_of(line, end, '|');
        first = line == header ? number : first;
        if (line >= header && is_more && last && last + 1 < number && is_ruled(next, next + strcspn(next, "\n")) &&
            ((size_t)(end - line) != length || memcmp(line, header, length) != 0))
            return error_set(e, ERROR_USAGE,
                             "%s:%zu: another table begins here; give one alone, the first by: sed -n "
                             "%zu,%zup %s >table.md",
                             file, number, first, last, file);
        last = line >= header && is_more && (!last || last + 1 == number) ? number : last;
        is_in = line < header || *begin == '|' || (is_in && is_more);
        if (line >= header && is_in && !rules)
            add_bars(out, *begin == '|' ? begin + 1 : begin, end);
        buffer_add_char(out, '\n');
    }
    return header != NULL;
}

/* How many words stand in the line, with blanks between. */
static size_t count_words(const char *line, const char *end)
{
    size_t count = 0;
    for (const char *p = line; p < end; p++)
        count += !strchr(" \r", *p) && (p == line || p[-1] == ' ');
    return count;
}

/* A line of CSV for each of the text's, if all have as many words with blanks between, the first perhaps one less:
 * pandas' index has no name. */
static bool from_blanks(const char *text, struct buffer *out)
{
    size_t cells = 0, lines = 0, header = 0;
    if (strpbrk(text, "\t;,\"|"))
        return false;
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        const size_t words = count_words(line, end);
        cells = lines < 2 && words ? words : cells;
        header = lines == 0 ? words : header;
        if (words && lines > 1 && words != cells)
            return false;
        lines += words > 0;
    }
    if (lines < 2 || cells < 2 || (header != cells && header + 1 != cells))
        return false;
    lines = 0;
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        lines += count_words(line, end) > 0;
        buffer_add_text(out, lines == 1 && header < cells && count_words(line, end) ? "," : "");
        for (const char *p = line; p < end; p++) {
            const size_t length = strcspn(p, " \r\n");
            if (length)
                table_add_cell(out, p, length);
            p += length;
            buffer_add_text(out, length && p + strspn(p, " \r") < end ? "," : "");
        }
        buffer_add_char(out, '\n');
    }
    return true;
}

/* Lines that begin with # become empty, outside quotes; the last of them above a first number names the columns. */
static void empty_comments(struct buffer *text)
{
    char *to = text->data, *end = text->data + text->length;
    bool is_quoted = false, is_first = true;
    if (!text->length || (*to != '#' && !memmem(to, text->length, "\n#", 2)))
        return;
    for (char *line = to, *next; line < end; line = next) {
        char *newline = memchr(line, '\n', (size_t)(end - line)), *from = line;
        next = newline ? newline + 1 : end;
        const bool is_comment = *line == '#' && !is_quoted;
        const bool is_header = is_comment && is_first && next < end && isdigit((unsigned char)*next);
        if (is_header)
            for (from++; from < next && *from == ' ';)
                from++;
        else if (is_comment)
            from = newline ? newline : end;
        is_first &= is_comment && !is_header;
        is_quoted ^= !is_comment && count_of(line, next, '"') % 2 == 1;
        memmove(to, from, (size_t)(next - from));
        to += next - from;
    }
    text->length = (size_t)(to - text->data);
    *to = '\0';
}

/* Empties the lines of a title: those of one cell at most, above one that has more. */
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

/* "1635.96±2.59 ms" is 1635.96 ms, as "1635.96 ms ± 2.59 ms". The caller's. */
static char *without_spread(const char *text, size_t length)
{
    static const char *const signs[] = {"±", "+/-"};
    char *cell = xstrndup(text, length), digits[NUMBER_BYTES];
    for (size_t i = 0; i < LENGTH(signs); i++) {
        char *sign = strstr(cell, signs[i]), *end = sign, *rest = sign ? sign + strlen(signs[i]) : NULL;
        while (end && end > cell && end[-1] == ' ')
            end--;
        const size_t number = sign ? parse_written_number(cell, '.', digits) : 0;
        const size_t spread = rest ? parse_written_number(rest + strspn(rest, " "), '.', digits) : 0;
        if (!number || !spread)
            continue;
        const char *unit = cell + number + strspn(cell + number, " ");
        rest += strspn(rest, " ") + spread;
        if (unit < end && strncmp(rest + strspn(rest, " "), unit, (size_t)(end - unit)) != 0)
            continue;
        rest += unit < end ? strlen(rest) : 0;
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

/* Files of other programs by how they begin, and what makes a table of one that is read here. */
static const struct {
    const char *bytes, *what, *how;
} foreign[] = {
    {"PK\003\004", "a spreadsheet", "save it as CSV, in pandas pd.read_excel(FILE).to_csv(\"table.csv\", index=False)"},
    {"\320\317\021\340", "an old spreadsheet", "save it as CSV"},
    {"PAR1", "Parquet", "in pandas pd.read_parquet(FILE).to_csv(\"table.csv\", index=False)"},
    {"ARROW1", "Arrow", "in pandas pd.read_feather(FILE).to_csv(\"table.csv\", index=False)"},
    {"\037\213", "compressed", "gzip -dc FILE >table.csv"},
    {"\050\265\057\375", "compressed", "zstd -dc FILE >table.csv"},
    {"\375"
     "7zXZ",
     "compressed", "xz -dc FILE >table.csv"},
    {"BZh", "compressed", "bzip2 -dc FILE >table.csv"},
    {"SQLite format 3", "a database", "sqlite3 -header -csv FILE 'SELECT * FROM ...' >table.csv"},
    {"<", "HTML or XML", "in pandas pd.read_html(FILE)[0].to_csv(\"table.csv\", index=False)"},
    {"\\", "LaTeX", "write & as a comma and take the commands out, or export CSV where it was made"},
};

static int check_foreign(const char *file, const struct buffer *text, struct error *e)
{
    for (size_t i = 0; i < LENGTH(foreign); i++) {
        const size_t n = strlen(foreign[i].bytes);
        /* A page of Markdown may begin with a tag. */
        const bool is_page = *foreign[i].bytes == '<' && header_of_bars(buffer_text(text));
        if (text->length >= n && memcmp(text->data, foreign[i].bytes, n) == 0 && !is_page)
            return error_set(e, ERROR_USAGE, "%s: it is %s, and tables are CSV, Markdown or JSON: %s", file,
                             foreign[i].what, foreign[i].how);
    }
    if (memchr(text->data, '\0', text->length))
        return error_set(e, ERROR_USAGE, "%s: it is no text, and tables are CSV, Markdown or JSON", file);
    return 0;
}

int table_read_rows(const char *file, struct table_content *out, table_row *each, void *context, struct error *e)
{
    struct buffer bytes = BUFFER_INIT, plain = BUFFER_INIT, text = BUFFER_INIT;
    if (file_read(file, TABLE_BYTES_MOST, &bytes, e) < 0) {
        buffer_free(&bytes);
        return -1;
    }
    *out = (struct table_content){bytes.length, hash_bytes(bytes.data, bytes.length)};
    if (from_utf16(&bytes, &plain))
        buffer_free(&bytes);
    else
        plain = bytes;
    int rc = plain.length ? check_foreign(file, &plain, e) : 0;
    if (rc == 0 && plain.length && table_json_is(plain.data)) {
        rc = table_json_add_csv(file, plain.data, &text, e);
    } else if (rc == 0 && plain.length) {
        empty_comments(&plain);
        rc = from_bars(file, buffer_text(&plain), &text, e);
        if (rc == 0 && !from_blanks(plain.data, &text))
            empty_title(&plain);
    }
    const struct buffer *csv = text.length ? &text : &plain;
    struct rows_reading in = {.each = each, .context = context};
    if (rc >= 0 && (rc = csv_read_rows(buffer_text(csv), csv->length, take_record, &in, e)) < 0 &&
        strncmp(e->text, "line ", 5) == 0)
        rc = error_context(e, "%s", file);
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
    if (table_read_rows(in->file, &in->content, take_row, in, e) < 0)
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
    in->table = NULL;
}

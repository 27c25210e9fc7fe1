
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database/function.h"
#include "page/sections.h"
#include "report/text.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/utf8.h"

static void add_escaped(struct buffer *out, const char *text, size_t length)
{
    static const char *const escapes[UCHAR_MAX + 1] =
        {['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;", ['\''] = "&#39;"};
    for (size_t i = 0; i < length; i++)
        if (escapes[(unsigned char)text[i]])
            buffer_add_text(out, escapes[(unsigned char)text[i]]);
        else
            buffer_add_char(out, text[i]);
}

void html_add(struct buffer *out, const char *text, size_t limit)
{
    OWNED_BUFFER printable = BUFFER_INIT;
    if (text)
        text_add_printable(&printable, text, strlen(text), limit, false);
    add_escaped(out, buffer_text(&printable), printable.length);
}

static void add_between(struct buffer *out, const char *before, const char *text, const char *after, size_t limit)
{
    buffer_add_text(out, before);
    html_add(out, text, limit);
    buffer_add_text(out, after);
}

void html_name(struct buffer *out, const char *before, const char *name, const char *after)
{
    add_between(out, before, name, after, HTML_NAME_MOST);
}

void html_text(struct buffer *out, const char *before, const char *text, const char *after)
{
    add_between(out, before, text, after, HTML_TEXT_MOST);
}

static void add_printable_lines(struct buffer *out, const char *text, size_t limit)
{
    while (text && *text) {
        size_t length = strcspn(text, "\n");
        text_add_printable(out, text, length, limit, false);
        buffer_add_char(out, '\n');
        text += length + (text[length] == '\n');
    }
}

void html_add_script_json(struct buffer *out, const char *json)
{
    for (; *json; json++)
        if (*json == '<')
            buffer_add_text(out, "\\u003c");
        else
            buffer_add_char(out, *json);
}

static void add_json(struct buffer *out, const struct buffer *text)
{
    OWNED_BUFFER quoted = BUFFER_INIT;
    buffer_add_json_string(&quoted, buffer_text(text), text->length);
    html_add_script_json(out, buffer_text(&quoted));
}

void html_add_json(struct buffer *out, const char *before, const char *text, size_t limit)
{
    OWNED_BUFFER printable = BUFFER_INIT;
    buffer_add_text(out, before);
    if (text)
        text_add_printable(&printable, text, strlen(text), limit, false);
    add_json(out, &printable);
}

void html_add_json_lines(struct buffer *out, const char *text, size_t limit)
{
    OWNED_BUFFER lines = BUFFER_INIT;
    add_printable_lines(&lines, text, limit);
    add_json(out, &lines);
}

void html_add_json_number(struct buffer *out, double value)
{
    if (isnan(value))
        buffer_add_text(out, "null");
    else if (isinf(value))
        buffer_add_text(out, value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    else
        text_add_rounded(out, value);
}

void html_add_json_column(struct buffer *out, const struct stmt *s, int column, size_t most)
{
    const enum column_type type = stmt_type(s, column);
    html_add_json(out, "", stmt_column_name(s, column), HTML_NAME_MOST);
    buffer_add_char(out, ':');
    if (type == COLUMN_INT || type == COLUMN_FLOAT)
        html_add_json_number(out, stmt_double(s, column));
    else
        html_add_json(out, "", stmt_text(s, column), most);
}

void html_add_number(struct buffer *out, double value)
{
    if (isnan(value))
        buffer_add_text(out, "not a number");
    else
        text_add_rounded(out, value);
}

/* 3 significant digits with a decimal prefix: "6.09 M", "234 k". Below 10,000 4 digits without a prefix. */
static void add_short(struct buffer *out, double value)
{
    static const char prefixes[] = "kMGTPE";
    double magnitude = fabs(value);
    size_t prefix = 0;
    if (!isfinite(value) || magnitude < 9999.5 || magnitude >= 999.5e18) {
        buffer_printf(out, "%.4g", value);
        return;
    }
    while (magnitude >= 999.5 * pow(1000, (double)prefix + 1))
        prefix++;
    buffer_printf(out, "%.3g %c", value / pow(1000, (double)prefix + 1), prefixes[prefix]);
}

const char *html_size(double bytes, char out[HTML_SIZE_BYTES])
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t i = 0;
    for (; fabs(bytes) >= 1024 && i + 1 < sizeof names / sizeof *names; i++)
        bytes /= 1024;
    snprintf(out, HTML_SIZE_BYTES, "%.*g %s", fabs(bytes) >= 999.5 ? 4 : 3, bytes, names[i]);
    return out;
}

static void add_amount(struct buffer *out, double value, const char *unit)
{
    char size[HTML_SIZE_BYTES];
    if (strcmp(unit, "B") == 0 && isfinite(value)) {
        buffer_add_text(out, html_size(value, size));
        return;
    }
    add_short(out, value);
    buffer_add_text(out, unit[0] ? " " : "");
    html_add(out, unit, HTML_NAME_MOST);
}

void html_add_none(struct buffer *out, const char *sentence)
{
    html_text(out, "<p class=none>", sentence, "</p>\n");
}

/* --- as functions of SQL --- */

static const char *text_of(const struct sql_value *v)
{
    return v->type == COLUMN_TEXT ? v->text : "";
}

static void call_html(const struct sql_value *arguments, struct buffer *out)
{
    html_add(out, text_of(arguments), (size_t)sql_number(&arguments[1]));
}

static void call_lines(const struct sql_value *arguments, struct buffer *out)
{
    OWNED_BUFFER lines = BUFFER_INIT;
    add_printable_lines(&lines, text_of(arguments), (size_t)sql_number(&arguments[1]));
    add_escaped(out, buffer_text(&lines), lines.length);
}

#define LAST_BYTES 6000

static void call_last_lines(const struct sql_value *arguments, struct buffer *out)
{
    const char *text = text_of(arguments);
    const size_t length = strlen(text);
    const char *begin = text + (length > LAST_BYTES ? utf8_cut(text, length, length - LAST_BYTES) : 0);
    int lines = (int)sql_number(&arguments[1]);
    for (const char *c = text + length; c > begin; c--)
        if (c[-1] == '\n' && c != text + length && --lines == 0)
            begin = c;
    buffer_add_text(out, begin);
}

static void call_amount(const struct sql_value *arguments, struct buffer *out)
{
    add_amount(out, sql_number(&arguments[1]), text_of(arguments));
}

static void call_amount_cell(const struct sql_value *arguments, struct buffer *out)
{
    const char *unit = text_of(arguments);
    const double value = sql_number(&arguments[1]);
    OWNED_BUFFER all = BUFFER_INIT, shown = BUFFER_INIT;
    buffer_add_text(out, "<td class=n");
    if (isfinite(value)) {
        html_add_number(&all, value);
        add_amount(&shown, value, strcmp(unit, "B") == 0 ? unit : "");
    }
    if (strcmp(buffer_text(&all), buffer_text(&shown)) != 0) {
        buffer_printf(out, " title=\"%s%s", buffer_text(&all), unit[0] ? " " : "");
        html_add(out, unit, HTML_NAME_MOST);
        buffer_add_char(out, '"');
    }
    buffer_printf(out, ">%s", buffer_text(&shown));
}

static void call_key_value(const struct sql_value *arguments, struct buffer *out)
{
    const char *text = text_of(&arguments[1]);
    char size[HTML_SIZE_BYTES];
    if (strcmp(text_of(arguments), "B") == 0) {
        html_name(out, "<data title=\"", text, "");
        buffer_printf(out, " B\">%s</data>", html_size(strtod(text, NULL), size));
    } else
        html_add(out, text, HTML_NAME_MOST);
}

static void call_size(const struct sql_value *arguments, struct buffer *out)
{
    char size[HTML_SIZE_BYTES];
    buffer_add_text(out, html_size(sql_number(arguments), size));
}

static bool call_bytes_of(void *context, const struct sql_value *arguments, int count, double *out)
{
    int64_t bytes;
    (void)context;
    const bool is_size = count == 1 && parse_size_bytes(text_of(arguments), &bytes);
    *out = is_size ? (double)bytes : NAN;
    return is_size;
}

int html_add_functions(struct db *db, struct error *e)
{
    static const struct {
        const char *name;
        int arguments;
        sql_text_function call;
    } functions[] = {{"html", 2, call_html},          {"html_lines", 2, call_lines},
                     {"size", 1, call_size},          {"last_lines", 2, call_last_lines},
                     {"amount", 2, call_amount},      {"amount_cell", 2, call_amount_cell},
                     {"key_value", 2, call_key_value}};
    int rc = db_add_real_function(db, "bytes_of", call_bytes_of, NULL, e);
    for (size_t i = 0; rc == 0 && i < LENGTH(functions); i++)
        rc = db_add_text_function(db, functions[i].name, functions[i].arguments, functions[i].call, e);
    return rc;
}

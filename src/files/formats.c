#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "files/format.h"
#include "files/json_text.h"
#include "toml/parse.h"
#include "util/memory.h"

/* --- JSON --- */

/* Returns what a string is, from its text with or without quotes. */
static char *decoded(const char *quoted)
{
    OWNED_JSON *item = cJSON_Parse(quoted);
    return xstrdup(item && cJSON_IsString(item) ? item->valuestring : quoted);
}

static char *decoded_name(const char *name)
{
    OWNED char *quoted = xasprintf("\"%s\"", name);
    return decoded(quoted);
}

static enum doc_kind json_kind(const struct json *j)
{
    return j->kind == JSON_OBJECT     ? DOC_TABLE
           : j->kind == JSON_LIST     ? DOC_LIST
           : j->text[0] == '"'        ? DOC_TEXT
           : j->text[0] == 'n'        ? DOC_NULL
           : strchr("tf", j->text[0]) ? DOC_BOOL
           : strpbrk(j->text, ".eE")  ? DOC_REAL
                                      : DOC_INT;
}

static int take_json(struct doc *d, const struct json *from, struct doc_node *to, struct error *e)
{
    to->kind = json_kind(from);
    to->is_flow = true;
    to->line = from->line;
    to->column = from->column;
    to->start = from->start;
    to->end = from->end;
    to->key_start = from->name ? from->name_at : from->start;
    to->key_end = from->name ? from->name_at + strlen(from->name) + 2 : from->end;
    if (from->kind == JSON_SCALAR)
        to->text = arena_keep(&d->arena, to->kind == DOC_TEXT ? decoded(from->text) : xstrdup(from->text));
    for (size_t i = 0; i < from->count; i++) {
        const struct json *child = &from->children[i];
        struct doc_node *added =
            doc_add_child(d, to, child->name ? arena_keep(&d->arena, decoded_name(child->name)) : NULL);
        added->line = child->line;
        added->column = child->column;
        if ((child->name && doc_check_twice(d, to, e) < 0) || take_json(d, child, added, e) < 0)
            return -1;
    }
    return 0;
}

int json_fill(struct doc *d, struct error *e)
{
    OWNED_BY(json_text_free) struct json root = {0};
    return json_text_parse(d->file, d->text, &root, e) < 0 ? -1 : take_json(d, &root, &d->root, e);
}

/* --- TOML --- */

/* Lines of a text, to find bytes by line and character. */
struct lines {
    struct doc *d;
    size_t *starts;
    size_t count;
};

static struct lines lines_of(struct doc *d)
{
    struct lines l = {.d = d};
    for (const char *p = d->text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        *array_add(l.starts, l.count) = (size_t)(p - d->text);
    return l;
}

static size_t byte_at(const struct lines *l, int line, int column)
{
    if (line < 1 || (size_t)line > l->count)
        return 0;
    size_t at = l->starts[line - 1];
    for (; column > 1 && l->d->text[at]; column--)
        do
            at++;
        while (((unsigned char)l->d->text[at] & 0xC0) == 0x80);
    return at;
}

static char *toml_text(const struct toml_node *n)
{
    struct buffer b = BUFFER_INIT;
    if (n->kind == NODE_STRING)
        return xstrdup(n->text);
    if (n->kind == NODE_BOOL)
        return xstrdup(n->integer ? "true" : "false");
    if (n->kind == NODE_INT)
        buffer_add_int(&b, n->integer);
    else
        buffer_printf(&b, "%.17g", n->real);
    return buffer_take(&b);
}

static void take_toml(const struct lines *l, const struct toml_node *from, struct doc_node *to)
{
    static const enum doc_kind kinds[] = {[NODE_TABLE] = DOC_TABLE, [NODE_LIST] = DOC_LIST,  [NODE_STRING] = DOC_TEXT,
                                          [NODE_INT] = DOC_INT,     [NODE_FLOAT] = DOC_REAL, [NODE_BOOL] = DOC_BOOL};
    to->kind = from->is_time ? DOC_TIME : kinds[from->kind];
    to->start = byte_at(l, from->line, from->column);
    to->end = byte_at(l, from->end_line, from->end_column);
    to->is_flow = from->kind == NODE_LIST ? l->d->text[to->start] == '[' && to->end > to->start : from->is_inline;
    to->line = from->key ? from->key_line : from->line;
    to->column = from->key ? from->key_column : from->column;
    to->key_start = from->key ? byte_at(l, from->key_line, from->key_column) : to->start;
    to->key_end = to->key_start;
    if (from->kind != NODE_TABLE && from->kind != NODE_LIST)
        to->text = arena_keep(&l->d->arena, toml_text(from));
    for (size_t i = 0; i < from->child_count; i++) {
        const struct toml_node *child = &from->children[i];
        take_toml(l, child, doc_add_child(l->d, to, child->key ? arena_text(&l->d->arena, child->key) : NULL));
    }
}

int toml_fill(struct doc *d, struct error *e)
{
    struct toml_fault fault = {0};
    struct toml_node *root = NULL;
    d->root = (struct doc_node){.kind = DOC_TABLE, .line = 1, .column = 1};
    if (!d->text[strspn(d->text, " \t\r\n")]) /* which is TOML, if no sweep file */
        return 0;
    if (toml_parse(d->text, strlen(d->text), &root, &fault) < 0) {
        error_set(e, ERROR_USAGE, "%s:%d:%d: %s", d->file, fault.line, fault.column, fault.message);
        free(fault.message);
        return -1;
    }
    struct lines lines = lines_of(d);
    take_toml(&lines, root, &d->root);
    free(lines.starts);
    toml_free(root);
    return 0;
}

/* --- values --- */

/* With a point and a sign, so that every reader takes it for a float: YAML 1.1 has no 1e5. */
static void add_real(double value, struct buffer *out)
{
    OWNED_BUFFER b = BUFFER_INIT;
    buffer_add_double(&b, value);
    const char *text = buffer_text(&b), *exponent = text + strcspn(text, "eE");
    buffer_add(out, text, (size_t)(exponent - text));
    if (!memchr(text, '.', (size_t)(exponent - text)))
        buffer_add_text(out, ".0");
    if (*exponent)
        buffer_printf(out, "e%s%s", strchr("+-", exponent[1]) ? "" : "+", exponent + 1);
}

/* Returns whether no reader of YAML takes the text, without quotes, for anything but itself. */
static bool is_plain(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/";
    static const char more[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/0123456789.-";
    return *text && strchr(letters, *text) && !text[strspn(text, more)] && yaml_kind(text) == DOC_TEXT &&
           (text[1] || !strchr("yYnN", *text));
}

static void add_text(enum file_format format, const char *text, struct buffer *out)
{
    if (format == FORMAT_YAML && is_plain(text))
        buffer_add_text(out, text);
    else if (format == FORMAT_TOML)
        buffer_add_toml_string(out, "", text, "");
    else
        buffer_add_json_string(out, text, strlen(text));
}

void format_add_key(enum file_format format, const char *key, struct buffer *out)
{
    if (format == FORMAT_TOML)
        toml_add_key(key, out);
    else
        add_text(format, key, out);
}

static int no_value(const char *what, enum file_format format, struct error *e)
{
    return error_set(e, ERROR_USAGE, "%s has no %s", format == FORMAT_TOML ? "TOML" : "JSON", what);
}

/* JSON as TOML. */
static int add_json(const struct json *j, struct buffer *out, struct error *e)
{
    const bool is_list = j->kind == JSON_LIST;
    if (json_text_is_null(j))
        return no_value("null", FORMAT_TOML, e);
    if (j->kind == JSON_SCALAR) {
        OWNED char *text = j->text[0] == '"' ? decoded(j->text) : NULL;
        if (text)
            add_text(FORMAT_TOML, text, out);
        else
            buffer_add_text(out, j->text);
        return 0;
    }
    buffer_add_text(out, is_list ? "[" : "{");
    for (size_t i = 0; i < j->count; i++) {
        buffer_add_text(out, i ? ", " : "");
        if (j->children[i].name) {
            OWNED char *name = decoded_name(j->children[i].name);
            toml_add_key(name, out);
            buffer_add_text(out, " = ");
        }
        if (add_json(&j->children[i], out, e) < 0)
            return -1;
    }
    buffer_add_text(out, is_list ? "]" : "}");
    return 0;
}

static int add_structure(enum file_format format, const char *text, struct buffer *out, struct error *e)
{
    OWNED_BY(json_text_free) struct json j = {0};
    if (json_text_parse("the value", text, &j, e) < 0)
        return -1;
    if (format == FORMAT_TOML)
        return add_json(&j, out, e);
    buffer_add_text(out, text);
    return 0;
}

int format_add_value(enum file_format format, const struct value *v, struct buffer *out, struct error *e)
{
    switch (v->kind) {
    case VALUE_NULL:
        if (format == FORMAT_TOML)
            return no_value("null", format, e);
        buffer_add_text(out, "null");
        return 0;
    case VALUE_BOOL:
        buffer_add_text(out, v->integer ? "true" : "false");
        return 0;
    case VALUE_INT:
        buffer_add_int(out, v->integer);
        return 0;
    case VALUE_FLOAT:
        if (isfinite(v->real))
            add_real(v->real, out);
        else if (format == FORMAT_JSON)
            return no_value("infinity", format, e);
        else
            buffer_printf(out, "%s%s", v->real < 0 ? "-" : "", format == FORMAT_YAML ? ".inf" : "inf");
        return 0;
    case VALUE_JSON:
        return add_structure(format, v->text, out, e);
    default:
        add_text(format, v->text, out);
        return 0;
    }
}

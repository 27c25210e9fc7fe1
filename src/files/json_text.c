#include "files/json_text.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/utf8.h"

#define DEEPEST 100

struct scanner {
    const char *file, *text, *p, *line_start;
    int line, depth;
    struct error *e;
};

static int column_of(const struct scanner *s)
{
    return (int)(s->p - s->line_start) + 1;
}

static int fail(const struct scanner *s, const char *what)
{
    return error_set(s->e, ERROR_USAGE, "%s:%d:%d: %s", s->file, s->line, column_of(s), what);
}

/* The text that ends the comment beginning here; "" if the end of the line or text does; NULL if none begins here. */
static const char *comment_end(const char *p)
{
    if (*p == '/' && p[1] == '*')
        return "*/";
    return *p == '#' || (*p == '/' && p[1] == '/') ? "" : NULL;
}

static void step(struct scanner *s)
{
    if (*s->p++ == '\n') {
        s->line++;
        s->line_start = s->p;
    }
}

/* And comments. */
static int skip_blanks(struct scanner *s)
{
    const char *end;
    for (;;) {
        while (*s->p && strchr(" \t\r\n", *s->p))
            step(s);
        if (!(end = comment_end(s->p)))
            return 0;
        struct scanner begin = *s;
        for (s->p += strlen(end); *s->p && (*end ? strncmp(s->p, end, 2) != 0 : *s->p != '\n');)
            step(s);
        if (*end && !*s->p)
            return fail(&begin, "a comment is not closed");
        s->p += strlen(end);
    }
}

/* The end of the string that begins at the scanner; NULL if it is not a string. */
static const char *string_end(const char *p)
{
    for (p++; *p != '"'; p++) {
        if ((unsigned char)*p < 0x20)
            return NULL;
        if (*p != '\\')
            continue;
        p++;
        if (!*p || !strchr("\"\\/bfnrtu", *p))
            return NULL;
        for (int i = 1; *p == 'u' && i <= 4; i++)
            if (!isxdigit((unsigned char)p[i]))
                return NULL;
    }
    return p + 1;
}

static const char *digits_end(const char *p)
{
    while (isdigit((unsigned char)*p))
        p++;
    return p;
}

static const char *number_end(const char *p)
{
    const char *start = p += *p == '-';
    p = digits_end(p);
    if (p == start || (*start == '0' && p > start + 1))
        return NULL;
    if (*p == '.') {
        start = p + 1;
        p = digits_end(start);
        if (p == start)
            return NULL;
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        start = p += *p == '+' || *p == '-';
        p = digits_end(p);
        if (p == start)
            return NULL;
    }
    return p;
}

static const char *word_end(const char *p)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < LENGTH(words); i++) {
        size_t n = strlen(words[i]);
        if (strncmp(p, words[i], n) == 0 && !isalnum((unsigned char)p[n]) && p[n] != '_')
            return p + n;
    }
    return NULL;
}

static int read_value(struct scanner *s, struct json *out);

static int read_scalar(struct scanner *s, struct json *out)
{
    const char *end = *s->p == '"' ? string_end(s->p) : word_end(s->p);
    if (*s->p == '-' || isdigit((unsigned char)*s->p))
        end = number_end(s->p);
    if (!end)
        return fail(s, *s->p == '"' ? "a string is not closed, or has an invalid escape"
                       : *s->p      ? "this is not a JSON value"
                                    : "the file ends where a value is expected");
    out->kind = JSON_SCALAR;
    out->text = xstrndup(s->p, (size_t)(end - s->p));
    s->p = end;
    return 0;
}

/* Reads "name": of the next member, which must not exist yet. */
static int read_name(struct scanner *s, const struct json *object, struct json *member)
{
    const char *end = *s->p == '"' ? string_end(s->p) : NULL;
    if (!end)
        return fail(s, "expected a name in double quotes");
    member->name = xstrndup(s->p + 1, (size_t)(end - s->p) - 2);
    member->line = s->line;
    member->column = column_of(s);
    member->name_at = (size_t)(s->p - s->text);
    for (size_t i = 0; i < object->count; i++) {
        assert(object->children[i].name); /* only members of an array have none */
        if (strcmp(object->children[i].name, member->name) == 0)
            return error_set(s->e, ERROR_USAGE, "%s:%d:%d: \"%s\" is given twice (first on line %d)", s->file, s->line,
                             column_of(s), member->name, object->children[i].line);
    }
    s->p = end;
    if (skip_blanks(s) < 0)
        return -1;
    if (*s->p != ':')
        return fail(s, "expected a colon");
    s->p++;
    return skip_blanks(s);
}

/* Adds a child. It is part of the parent before it is complete, so that it is freed with it. */
static int read_child(struct scanner *s, struct json *parent)
{
    struct json child = {.line = s->line, .column = column_of(s)};
    int rc = parent->kind == JSON_OBJECT ? read_name(s, parent, &child) : 0;
    if (rc == 0)
        rc = read_value(s, &child);
    *array_add(parent->children, parent->count) = child;
    return rc < 0 ? -1 : skip_blanks(s);
}

static int read_children(struct scanner *s, struct json *out)
{
    char end = *s->p == '{' ? '}' : ']';
    out->kind = *s->p == '{' ? JSON_OBJECT : JSON_LIST;
    s->p++;
    if (skip_blanks(s) < 0)
        return -1;
    while (*s->p != end) {
        if (read_child(s, out) < 0)
            return -1;
        if (*s->p != ',' && *s->p != end)
            return fail(s, end == '}' ? "expected a comma or }" : "expected a comma or ]");
        if (*s->p == end)
            break;
        s->p++;
        if (skip_blanks(s) < 0)
            return -1;
    }
    s->p++;
    return 0;
}

static int read_value(struct scanner *s, struct json *out)
{
    const bool is_scalar = *s->p != '{' && *s->p != '[';
    out->start = (size_t)(s->p - s->text);
    if (!is_scalar && ++s->depth > DEEPEST)
        return fail(s, "nested too deeply");
    int rc = is_scalar ? read_scalar(s, out) : read_children(s, out);
    s->depth -= !is_scalar;
    out->end = (size_t)(s->p - s->text);
    return rc;
}

int json_text_parse(const char *file, const char *text, struct json *out, struct error *e)
{
    const char *begin = text + utf8_mark_length(text, strlen(text));
    struct scanner s = {.file = file, .text = text, .p = begin, .line_start = begin, .line = 1, .e = e};
    struct json j = {0};
    int rc = skip_blanks(&s);
    if (rc == 0)
        rc = read_value(&s, &j);
    if (rc == 0)
        rc = skip_blanks(&s);
    if (rc == 0 && *s.p)
        rc = fail(&s, "expected the end of the file");
    if (rc < 0)
        json_text_free(&j);
    else
        *out = j;
    return rc;
}

void json_text_free(struct json *j)
{
    for (size_t i = 0; i < j->count; i++)
        json_text_free(&j->children[i]);
    free(j->children);
    free(j->name);
    free(j->text);
    *j = (struct json){0};
}

/* --- members --- */

static struct json *member(const struct json *object, const char *name, size_t length)
{
    for (size_t i = 0; object->kind == JSON_OBJECT && i < object->count; i++)
        if (strlen(object->children[i].name) == length && memcmp(object->children[i].name, name, length) == 0)
            return &object->children[i];
    return NULL;
}

static struct json *element(const struct json *list, const char *name)
{
    char *end;
    unsigned long index = strtoul(name, &end, 10);
    return isdigit((unsigned char)*name) && (!*end || *end == '.') && index < list->count ? &list->children[index]
                                                                                          : NULL;
}

static struct json *json_text_at(struct json *root, const char *path)
{
    for (;;) {
        size_t length = strcspn(path, ".");
        root = root->kind == JSON_LIST ? element(root, path) : member(root, path, length);
        if (!root || !path[length])
            return root;
        path += length + 1;
    }
}

const struct json *json_text_find(const struct json *root, const char *path)
{
    return json_text_at((struct json *)root, path);
}

const struct json *json_text_find_anywhere(const struct json *root, const char *name)
{
    const struct json *found = member(root, name, strlen(name));
    for (size_t i = 0; !found && root->kind == JSON_OBJECT && i < root->count; i++)
        found = json_text_find_anywhere(&root->children[i], name);
    return found;
}

static struct json *add_member(struct json *object, const char *name, size_t length, enum json_kind kind)
{
    struct json *child = array_add(object->children, object->count);
    *child = (struct json){.kind = kind, .name = xstrndup(name, length)};
    return child;
}

/* The value at the path, created if missing; NULL, with nothing changed, if something on the way is not an object. */
static struct json *place_at(struct json *root, const char *path)
{
    for (;;) {
        size_t length = strcspn(path, ".");
        if (root->kind != JSON_OBJECT)
            return NULL;
        struct json *next = member(root, path, length);
        if (!next)
            next = add_member(root, path, length, path[length] ? JSON_OBJECT : JSON_SCALAR);
        if (!path[length])
            return next;
        root = next;
        path += length + 1;
    }
}

static void clear(struct json *j)
{
    char *name = j->name;
    j->name = NULL;
    json_text_free(j);
    j->name = name;
}

bool json_text_set(struct json *root, const char *path, const char *text)
{
    const struct json value = {.kind = JSON_SCALAR, .text = (char *)text};
    return json_text_merge(root, path, &value);
}

void json_text_remove(struct json *root, const char *path)
{
    const char *dot = strrchr(path, '.');
    OWNED char *parent_path = dot ? xstrndup(path, (size_t)(dot - path)) : NULL;
    struct json *parent = parent_path ? json_text_at(root, parent_path) : root;
    const char *name = dot ? dot + 1 : path;
    struct json *found = parent ? member(parent, name, strlen(name)) : NULL;
    if (!found)
        return;
    json_text_free(found);
    size_t at = (size_t)(found - parent->children);
    memmove(found, found + 1, (parent->count - at - 1) * sizeof *found);
    parent->count--;
}

static void copy_into(struct json *to, const struct json *from)
{
    clear(to);
    to->kind = from->kind;
    to->text = from->text ? xstrdup(from->text) : NULL;
    for (size_t i = 0; i < from->count; i++) {
        const struct json *child = &from->children[i];
        to->children = array_grow(to->children, to->count, sizeof *to->children);
        to->children[to->count] = (struct json){.name = child->name ? xstrdup(child->name) : NULL};
        copy_into(&to->children[to->count++], child);
    }
}

static void lay_over(struct json *to, const struct json *from)
{
    if (to->kind != JSON_OBJECT || from->kind != JSON_OBJECT) {
        copy_into(to, from);
        return;
    }
    for (size_t i = 0; i < from->count; i++) {
        const char *name = from->children[i].name;
        struct json *place = member(to, name, strlen(name));
        lay_over(place ? place : add_member(to, name, strlen(name), JSON_SCALAR), &from->children[i]);
    }
}

bool json_text_merge(struct json *root, const char *path, const struct json *value)
{
    struct json *place = place_at(root, path);
    if (place)
        lay_over(place, value);
    return place;
}

/* --- text --- */

static void new_line(int indent, int level, struct buffer *out)
{
    if (indent > 0)
        buffer_printf(out, "\n%*s", indent * level, "");
}

static void add_json(const struct json *j, int indent, int level, struct buffer *out)
{
    if (j->kind == JSON_SCALAR) {
        buffer_add_text(out, j->text);
        return;
    }
    buffer_add_char(out, j->kind == JSON_OBJECT ? '{' : '[');
    for (size_t i = 0; i < j->count; i++) {
        buffer_add_text(out, i ? "," : "");
        new_line(indent, level + 1, out);
        if (j->children[i].name)
            buffer_printf(out, "\"%s\":%s", j->children[i].name, indent > 0 ? " " : "");
        add_json(&j->children[i], indent, level + 1, out);
    }
    if (j->count > 0)
        new_line(indent, level, out);
    buffer_add_char(out, j->kind == JSON_OBJECT ? '}' : ']');
}

void json_text_add(const struct json *j, int indent, struct buffer *out)
{
    add_json(j, indent, 0, out);
}

bool json_text_is(const struct json *j, const char *text)
{
    size_t n = strlen(text);
    return j->kind == JSON_SCALAR && j->text[0] == '"' && strlen(j->text) == n + 2 && memcmp(j->text + 1, text, n) == 0;
}

char *json_text_string(const struct json *j)
{
    return j->kind == JSON_SCALAR && j->text[0] == '"' ? xstrndup(j->text + 1, strlen(j->text) - 2) : NULL;
}

char *json_text_plain(const struct json *j)
{
    char *text = json_text_string(j);
    return text || j->kind != JSON_SCALAR ? text : xstrdup(j->text);
}

bool json_text_is_null(const struct json *j)
{
    return j->kind == JSON_SCALAR && strcmp(j->text, "null") == 0;
}

bool json_text_integer(const struct json *j, long long *out)
{
    if (j->kind != JSON_SCALAR || !(isdigit((unsigned char)j->text[0]) || j->text[0] == '-'))
        return false;
    double value = strtod(j->text, NULL);
    if (value != floor(value) || fabs(value) > 9e15)
        return false;
    *out = (long long)value;
    return true;
}

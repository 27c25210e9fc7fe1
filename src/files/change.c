/* Changes of a document in its text. What they do is done to the tree as well, and both are compared at the end: what
 * cannot be written at a place is an error, never another file than was asked for. */
#include <stdlib.h>
#include <string.h>

#include "files/document.h"
#include "files/format.h"
#include "util/memory.h"

/* --- in the tree --- */

/* The value as the format reads it back, with nothing of where it stood. */
static int value_node(struct doc *into, const struct value *v, struct doc_node *out, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    const bool is_toml = into->format == FORMAT_TOML;
    struct doc d;
    buffer_add_text(&text, is_toml ? "v = " : "");
    if (format_add_value(into->format, v, &text, e) < 0 ||
        document_parse("the value", buffer_text(&text), text.length, into->format, &d, e) < 0)
        return -1;
    *out = is_toml ? d.root.children[0] : d.root;
    out->key = NULL;
    arena_take(&into->arena, &d.arena);
    if (v->kind == VALUE_STRING && (out->kind != DOC_TEXT || strcmp(out->text, v->text) != 0))
        return error_set(e, ERROR_USAGE, "the text \"%s\" cannot be written as %s", v->text,
                         file_format_names[into->format - 1]);
    return 0;
}

static void remove_child(struct doc_node *parent, struct doc_node *child)
{
    const size_t at = (size_t)(child - parent->children);
    memmove(child, child + 1, (parent->count - at - 1) * sizeof *child);
    parent->count--;
}

/* `value` is empty where one is unset. */
static void change_tree(struct doc *d, const struct doc_change *c, struct doc_node value)
{
    OWNED_STRINGS segments = path_split(c->path);
    struct doc_node *n = &d->root, *parent = n;
    for (char **s = segments; s && *s; s++) {
        struct doc_node *child = doc_child(n, *s);
        if (!child && n->kind == DOC_NULL)
            n->kind = DOC_TABLE;
        if (n->kind == DOC_TABLE && n->count == 0)
            n->text = NULL;
        parent = n;
        n = child ? child : doc_add_child(d, n, n->kind == DOC_LIST ? NULL : arena_text(&d->arena, *s));
        n->kind = n->kind ? n->kind : DOC_TABLE;
    }
    value.key = n->key;
    if (c->kind == DOC_UNSET)
        remove_child(parent, n);
    else
        *n = value;
}

/* --- in the text --- */

/* A piece of the text, and what takes its place. */
struct splice {
    size_t from, to;
    struct buffer with;
};

static size_t line_start(const char *text, size_t at)
{
    while (at > 0 && text[at - 1] != '\n')
        at--;
    return at;
}

/* Behind the line that `at` is in; at itself where that begins one. */
static size_t line_end(const char *text, size_t at)
{
    if (at > 0 && text[at - 1] == '\n')
        return at;
    const char *newline = strchr(text + at, '\n');
    return newline ? (size_t)(newline - text) + 1 : at + strlen(text + at);
}

static bool is_blank(const char *text, size_t from, size_t to)
{
    while (from < to && strchr(" \t\r\n", text[from]))
        from++;
    return from == to;
}

static bool is_below_header(const struct doc_node *n)
{
    return (n->kind == DOC_TABLE || n->kind == DOC_LIST) && !n->is_flow;
}

/* Puts the new value in the place of the old one. */
static int splice_set(const struct doc *d, const struct doc_node *n, const struct value *v, struct splice *s,
                      struct error *e)
{
    s->from = n->start;
    s->to = n->end;
    if (n->start > 0 && !strchr(" \t\n\r[{", d->text[n->start - 1]) && n->start == n->end)
        buffer_add_char(&s->with, ' ');
    if (format_add_value(d->format, v, &s->with, e) < 0)
        return -1;
    /* A text below its header takes the end of its last line with it. */
    if (d->format == FORMAT_YAML && n->end > n->start && d->text[n->end - 1] == '\n')
        buffer_add_char(&s->with, '\n');
    return 0;
}

/* "key: value" of what is missing, with tables for what lies between. */
static int add_pair(enum file_format format, char *const *missing, bool in_list, const struct value *v,
                    struct buffer *out, struct error *e)
{
    size_t open = 0;
    for (char *const *s = missing; *s; s++) {
        if (s > missing && format == FORMAT_TOML)
            buffer_add_char(out, '.');
        else if (s > missing && ++open)
            buffer_add_char(out, '{');
        if (s == missing && in_list)
            continue;
        format_add_key(format, *s, out);
        if (format != FORMAT_TOML)
            buffer_add_text(out, ": ");
        else if (!s[1])
            buffer_add_text(out, " = ");
    }
    if (format_add_value(format, v, out, e) < 0)
        return -1;
    while (open-- > 0)
        buffer_add_char(out, '}');
    return 0;
}

/* In brackets: behind the last, with what stands before the first. */
static void place_in_brackets(const struct doc *d, const struct doc_node *parent, struct splice *s)
{
    const struct doc_node *last = parent->count ? &parent->children[parent->count - 1] : NULL;
    s->from = s->to = last ? last->end : parent->end - 1;
    if (!last)
        return;
    size_t blank = parent->children[0].key_start;
    while (blank > 0 && strchr(" \t\r\n", d->text[blank - 1]))
        blank--;
    buffer_add_char(&s->with, ',');
    if (blank < parent->children[0].key_start)
        buffer_add(&s->with, d->text + blank, parent->children[0].key_start - blank);
    else
        buffer_add_char(&s->with, ' ');
}

/* On a line of its own behind the line where `behind` is, which begins as that of `like` up to `column`. */
static void place_on_line(const struct doc *d, size_t behind, size_t like, size_t length, bool only_blanks,
                          struct splice *s)
{
    s->from = s->to = line_end(d->text, behind);
    if (s->from > 0 && d->text[s->from - 1] != '\n')
        buffer_add_char(&s->with, '\n');
    for (size_t i = 0; i < length; i++)
        buffer_add_char(&s->with, only_blanks ? ' ' : d->text[like + i]);
}

static void place_in_block(const struct doc *d, const struct doc_node *parent, struct splice *s)
{
    const struct doc_node *first = &parent->children[0], *last = &parent->children[parent->count - 1];
    size_t at = first->key_start;
    if (parent->kind == DOC_LIST)
        while (at > 0 && d->text[at] != '-')
            at--;
    const size_t start = line_start(d->text, at);
    place_on_line(d, last->end, start, at - start, true, s);
    buffer_add_text(&s->with, parent->kind == DOC_LIST ? "- " : "");
}

/* Behind the last key that stands directly in the table, else behind its header, else at the beginning of the file. */
static void place_in_toml(const struct doc *d, const struct doc_node *parent, struct splice *s)
{
    const struct doc_node *last = NULL;
    for (size_t i = 0; i < parent->count; i++)
        if (!is_below_header(&parent->children[i]))
            last = &parent->children[i];
    if (last) {
        const size_t start = line_start(d->text, last->key_start);
        place_on_line(d, last->end, start, last->key_start - start, false, s);
    } else if (parent != &d->root) {
        place_on_line(d, parent->start, 0, 0, true, s);
    }
}

/* A text below its header that ends with the file has no last line end, and would get one. */
static bool ends_with_file(const struct doc *d, const struct doc_node *n)
{
    while (n->count)
        n = &n->children[n->count - 1];
    return n->end > n->start && strchr("|>", d->text[n->start]) && n->kind == DOC_TEXT &&
           !strchr(d->text + n->end - 1, '\n');
}

static int splice_add(const struct doc *d, const struct doc_node *parent, char *const *missing, const struct value *v,
                      struct splice *s, struct error *e)
{
    const bool is_list = parent->kind == DOC_LIST, is_toml = d->format == FORMAT_TOML;
    if (parent->kind == DOC_NULL) {
        s->from = parent->start;
        s->to = parent->end;
        buffer_add_text(&s->with, parent == &d->root ? "" : " {");
        if (add_pair(d->format, missing, false, v, &s->with, e) < 0)
            return -1;
        buffer_add_text(&s->with, parent == &d->root ? "\n" : "}");
        return 0;
    }
    if (!is_toml && ends_with_file(d, parent))
        return error_set(e, ERROR_USAGE, "end %s with a line end", d->file);
    if (parent->is_flow)
        place_in_brackets(d, parent, s);
    else if (is_toml)
        place_in_toml(d, parent, s);
    else
        place_in_block(d, parent, s);
    if (add_pair(d->format, missing, is_list, v, &s->with, e) < 0)
        return -1;
    buffer_add_text(&s->with, parent->is_flow ? "" : "\n");
    return 0;
}

static void splice_unset(const struct doc *d, const struct doc_node *parent, const struct doc_node *n, struct splice *s)
{
    const size_t at = (size_t)(n - parent->children), begin = line_start(d->text, n->key_start);
    size_t sign = n->key_start;
    const bool is_block = d->format == FORMAT_YAML && !parent->is_flow;
    while (is_block && parent->kind == DOC_LIST && sign > begin && d->text[sign] != '-')
        sign--;
    const bool owns_line = !parent->is_flow && (d->format == FORMAT_TOML || is_blank(d->text, begin, sign));
    if (is_block && parent->count == 1) {
        s->from = sign;
        s->to = n->end;
        buffer_add_text(&s->with, parent->kind == DOC_LIST ? " []" : "{}");
        if (n->end > 0 && d->text[n->end - 1] == '\n')
            buffer_add_char(&s->with, '\n');
    } else if (owns_line) {
        s->from = begin;
        s->to = line_end(d->text, n->end);
    } else if (at + 1 < parent->count) {
        s->from = n->key_start;
        s->to = n[1].key_start;
    } else {
        s->from = at > 0 ? n[-1].end : n->key_start;
        s->to = n->end;
    }
}

/* `d` becomes the document with one change made. */
static int change_text(struct doc *d, const struct doc_change *c, struct error *e)
{
    char **segments = path_split(c->path), **s = segments;
    const struct doc_node *n = &d->root, *parent = NULL;
    struct splice splice = {.with = BUFFER_INIT};
    OWNED_BUFFER text = BUFFER_INIT;
    for (const struct doc_node *child; *s && (child = doc_child(n, *s)); s++) {
        parent = n;
        n = child;
    }
    int rc = 0;
    if (*s)
        rc = splice_add(d, n, s, &c->value, &splice, e);
    else if (c->kind == DOC_UNSET && parent)
        splice_unset(d, parent, n, &splice);
    else
        rc = splice_set(d, n, &c->value, &splice, e);
    if (rc == 0) {
        buffer_add(&text, d->text, splice.from);
        buffer_add(&text, splice.with.data, splice.with.length);
        buffer_add_text(&text, d->text + splice.to);
        struct doc changed = {0};
        rc = document_parse(d->file, buffer_text(&text), text.length, d->format, &changed, e);
        if (rc == 0) {
            document_free(d);
            *d = changed;
        }
    }
    buffer_free(&splice.with);
    strings_free(segments);
    return rc;
}

/* --- both --- */

static int cannot(const struct doc *d, const struct doc_change *c, struct error *e)
{
    return error_set(e, ERROR_USAGE, "%s: `%s` stands where it cannot be %s without changing something else", d->file,
                     c->path,
                     c->kind == DOC_UNSET ? "left out"
                     : c->kind == DOC_SET ? "set"
                                          : "added");
}

static bool is_same(const struct doc *a, const struct doc *b)
{
    OWNED_BUFFER left = BUFFER_INIT, right = BUFFER_INIT;
    document_add_canonical(a, &left);
    document_add_canonical(b, &right);
    return strcmp(buffer_text(&left), buffer_text(&right)) == 0;
}

static int change_both(struct doc *wanted, struct doc *made, const struct doc_change *c, struct error *e)
{
    struct doc_node value = {0};
    char *why = document_refuses(made, c);
    if (why) {
        error_set(e, ERROR_USAGE, "%s", why);
        free(why);
        return -1;
    }
    if (c->kind != DOC_UNSET && value_node(wanted, &c->value, &value, e) < 0)
        return error_context(e, "%s: `%s`", made->file, c->path);
    change_tree(wanted, c, value);
    if (change_text(made, c, e) < 0)
        return e->kind == ERROR_USAGE ? cannot(wanted, c, e) : -1;
    return is_same(wanted, made) ? 0 : cannot(wanted, c, e);
}

int document_change(const struct doc *d, const struct doc_change *changes, size_t count, struct buffer *out,
                    struct error *e)
{
    struct doc wanted = {0}, made = {0};
    int rc = document_parse(d->file, d->text, strlen(d->text), d->format, &wanted, e);
    if (rc == 0)
        rc = document_parse(d->file, d->text, strlen(d->text), d->format, &made, e);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = change_both(&wanted, &made, &changes[i], e);
    if (rc == 0)
        buffer_add_text(out, made.text);
    document_free(&wanted);
    document_free(&made);
    return rc;
}

void document_add_rest(const struct doc *d, const struct doc_change *changes, size_t count, struct buffer *out)
{
    struct doc rest = {0};
    struct error ignored = ERROR_INIT;
    if (document_parse(d->file, d->text, strlen(d->text), d->format, &rest, &ignored) < 0)
        return;
    for (size_t i = 0; i < count; i++) {
        OWNED char *why = document_refuses(&rest, &changes[i]);
        if (!why)
            change_tree(&rest, &changes[i], (struct doc_node){.kind = DOC_TEXT, .text = (char *)"\1"});
    }
    document_add_canonical(&rest, out);
    document_free(&rest);
}

#include "files/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/format.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/string_list.h"
#include "util/suggest.h"

#define NAME(id, name, ...) #name,
const char *const file_format_names[] = {FILE_FORMATS(NAME) "text", NULL};

const char *const doc_kind_names[] = {[DOC_TABLE] = "a table",  [DOC_LIST] = "a list",  [DOC_TEXT] = "a text",
                                      [DOC_INT] = "an integer", [DOC_REAL] = "a float", [DOC_BOOL] = "a boolean",
                                      [DOC_NULL] = "null",      [DOC_TIME] = "a date",  [DOC_ALIAS] = "an alias"};

#define FORMAT(id, name, ...) [FORMAT_##id] = {name##_fill, {__VA_ARGS__}},
static const struct {
    doc_fill *fill;
    const char *endings[2];
} formats[] = {FILE_FORMATS(FORMAT)};

enum file_format file_format_of(const char *path)
{
    const char *dot = strrchr(path_name(path), '.');
    for (size_t i = 1; dot && i < LENGTH(formats); i++)
        for (size_t k = 0; k < LENGTH(formats[i].endings) && formats[i].endings[k]; k++)
            if (strcmp(dot, formats[i].endings[k]) == 0)
                return (enum file_format)i;
    return FORMAT_NONE;
}

/* --- the tree --- */

struct doc_node *doc_add_child(struct doc *d, struct doc_node *parent, char *key)
{
    struct doc_node *child = arena_add(&d->arena, parent->children, parent->count);
    *child = (struct doc_node){.key = key};
    return child;
}

/* Merges may be there several times. */
int doc_check_twice(const struct doc *d, const struct doc_node *parent, struct error *e)
{
    const struct doc_node *last = &parent->children[parent->count - 1];
    for (size_t i = 0; i + 1 < parent->count; i++)
        if (strcmp(parent->children[i].key, last->key) == 0 && strcmp(last->key, "<<") != 0)
            return error_set(e, ERROR_USAGE, "%s:%d:%d: \"%s\" is given twice (first on line %d)", d->file, last->line,
                             last->column, last->key, parent->children[i].line);
    return 0;
}

int document_parse(const char *file, const char *text, size_t length, enum file_format format, struct doc *out,
                   struct error *e)
{
    struct doc d = {.format = format, .documents = 1};
    d.file = arena_text(&d.arena, file);
    d.text = arena_keep(&d.arena, xstrndup(text, length));
    int rc = strlen(d.text) < length ? error_set(e, ERROR_USAGE, "%s: has a NUL character", file)
                                     : formats[format].fill(&d, e);
    if (rc < 0)
        document_free(&d);
    else
        *out = d;
    return rc;
}

int document_read(const char *path, enum file_format format, struct doc *out, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    int rc = file_read(path, DOCUMENT_MOST_BYTES, &text, e);
    if (rc == 0)
        rc = document_parse(path, buffer_text(&text), text.length, format, out, e);
    return rc;
}

void document_free(struct doc *d)
{
    arena_free(&d->arena);
    *d = (struct doc){0};
}

/* --- paths --- */

static void path_add(struct buffer *out, const char *segment)
{
    if (out->length)
        buffer_add_char(out, '.');
    if (*segment && !strpbrk(segment, ".\"\\ \t\r\n'"))
        buffer_add_text(out, segment);
    else
        buffer_add_quoted(out, segment, '"');
}

/* One segment; NULL: it has not the form. Leaves `*path` behind it. */
static char *take_segment(const char **path)
{
    OWNED_BUFFER b = BUFFER_INIT;
    const char *p = *path;
    const bool quoted = *p == '"';
    for (p += quoted; *p && *p != (quoted ? '"' : '.'); p++) {
        p += quoted && *p == '\\' && p[1];
        buffer_add_char(&b, *p);
    }
    const bool good = quoted ? *p == '"' && (!p[1] || p[1] == '.') : p > *path;
    *path = p + (quoted && *p == '"');
    if (good)
        return buffer_take(&b);
    return NULL;
}

char **path_split(const char *path)
{
    struct string_list list = STRING_LIST_INIT;
    for (;; path++) {
        char *segment = take_segment(&path);
        if (segment)
            string_list_add(&list, segment);
        if (!segment || !*path) {
            if (segment)
                return string_list_take(&list);
            string_list_free(&list);
            return NULL;
        }
    }
}

bool document_path_is_good(const char *path)
{
    OWNED_STRINGS segments = path_split(path);
    return segments != NULL;
}

struct doc_node *doc_child(const struct doc_node *parent, const char *segment)
{
    char *end;
    const unsigned long index = parent->kind == DOC_LIST ? strtoul(segment, &end, 10) : 0;
    if (parent->kind == DOC_LIST)
        return *segment >= '0' && *segment <= '9' && !*end && index < parent->count ? &parent->children[index] : NULL;
    for (size_t i = 0; parent->kind == DOC_TABLE && i < parent->count; i++)
        if (strcmp(parent->children[i].key, segment) == 0)
            return &parent->children[i];
    return NULL;
}

const struct doc_node *document_find(const struct doc *d, const char *path)
{
    OWNED_STRINGS segments = path_split(path);
    const struct doc_node *n = segments ? &d->root : NULL;
    for (char **s = segments; n && *s; s++)
        n = doc_child(n, *s);
    return n;
}

struct doc_visit {
    void (*found)(void *context, const char *path, const struct doc_node *node);
    void *context;
    bool with_parents;
    struct buffer path;
};

static void visit(struct doc_visit *v, const struct doc_node *n)
{
    const size_t length = v->path.length;
    if (n->count == 0 || (v->with_parents && length))
        v->found(v->context, buffer_text(&v->path), n);
    for (size_t i = 0; i < n->count; i++) {
        char index[32];
        snprintf(index, sizeof index, "%zu", i);
        path_add(&v->path, n->children[i].key ? n->children[i].key : index);
        visit(v, &n->children[i]);
        v->path.length = length;
        v->path.data[length] = '\0';
    }
}

void document_leaves(const struct doc *d, void (*found)(void *context, const char *path, const struct doc_node *leaf),
                     void *context)
{
    struct doc_visit v = {.found = found, .context = context};
    if (d->root.count)
        visit(&v, &d->root);
    buffer_free(&v.path);
}

/* --- one spelling --- */

BY_TEXT(by_key, struct doc_node *const, [0] -> key)

static void add_canonical(const struct doc_node *n, struct buffer *out)
{
    const struct doc_node **sorted = xcalloc(n->count + 1, sizeof(*sorted));
    for (size_t i = 0; i < n->count; i++)
        sorted[i] = &n->children[i];
    if (n->kind == DOC_TABLE)
        array_sort(sorted, n->count, by_key);
    if (n->anchor)
        buffer_printf(out, "&%s ", n->anchor);
    buffer_printf(out, "%d", (int)n->kind);
    if (n->text)
        buffer_add_json_string(out, n->text, strlen(n->text));
    for (size_t i = 0; i < n->count; i++) {
        buffer_add_char(out, i ? ',' : '(');
        if (sorted[i]->key)
            buffer_add_json_string(out, sorted[i]->key, strlen(sorted[i]->key));
        add_canonical(sorted[i], out);
    }
    if (n->count)
        buffer_add_char(out, ')');
    free(sorted);
}

void document_add_canonical(const struct doc *d, struct buffer *out)
{
    if (d->documents > 1)
        buffer_add_text(out, d->text);
    else
        add_canonical(&d->root, out);
}

/* --- what has no place --- */

static bool refers_to(const struct doc_node *n, const char *anchor)
{
    if (n->kind == DOC_ALIAS && strcmp(n->text, anchor) == 0)
        return true;
    for (size_t i = 0; i < n->count; i++)
        if (refers_to(&n->children[i], anchor))
            return true;
    return false;
}

static const struct doc_node *anchored(const struct doc_node *n, const char *anchor)
{
    const struct doc_node *found = n->anchor && strcmp(n->anchor, anchor) == 0 ? n : NULL;
    for (size_t i = 0; !found && i < n->count; i++)
        found = anchored(&n->children[i], anchor);
    return found;
}

/* The anchor from which a merge gives the table that key; NULL: none does. */
static const char *merged_from(const struct doc *d, const struct doc_node *table, const char *key)
{
    for (size_t i = 0; table->kind == DOC_TABLE && i < table->count; i++) {
        const struct doc_node *m = &table->children[i];
        const struct doc_node *sources = m->kind == DOC_LIST ? m->children : m;
        for (size_t k = 0; strcmp(m->key, "<<") == 0 && k < (m->kind == DOC_LIST ? m->count : 1); k++) {
            const struct doc_node *from = sources[k].kind == DOC_ALIAS ? anchored(&d->root, sources[k].text) : NULL;
            if (from && (doc_child(from, key) || merged_from(d, from, key)))
                return sources[k].text;
        }
    }
    return NULL;
}

static void note_path(void *context, const char *path, const struct doc_node *n)
{
    (void)n;
    string_list_add(context, xstrdup(path));
}

/* The path that is spelt like it, or the only one with its last part. */
static char *nearest(const struct doc *d, const char *path)
{
    OWNED_LIST all = STRING_LIST_INIT;
    struct doc_visit v = {.found = note_path, .context = &all, .with_parents = true};
    visit(&v, &d->root);
    const char *near = SUGGEST(path, i, all.count, all.items[i]).near, *dot = strrchr(path, '.');
    const char *last = dot ? dot + 1 : path, *alike = NULL;
    size_t count = 0;
    for (size_t i = 0; !near && i < all.count; i++) {
        const char *other = strrchr(all.items[i], '.');
        if (strcmp(other ? other + 1 : all.items[i], last) == 0 && ++count)
            alike = all.items[i];
    }
    near = near ? near : count == 1 ? alike : NULL;
    char *hint = near ? xasprintf("; did you mean `%s`?", near) : xstrdup("");
    buffer_free(&v.path);
    return hint;
}

static char *refuse_missing(const struct doc *d, const struct doc_node *parent, const char *segment,
                            const struct doc_change *c)
{
    const char *from = merged_from(d, parent, segment);
    if (from && c->kind == DOC_SET)
        return xasprintf("`%s` comes from *%s by a merge; put it under [job.file.add], so that it stands there alone",
                         c->path, from);
    if (from)
        return xasprintf("`%s` comes from *%s by a merge and cannot be left out there", c->path, from);
    OWNED char *hint = nearest(d, c->path);
    return xasprintf("%s has no `%s`%s%s", d->file, c->path, hint,
                     *hint || c->kind == DOC_UNSET ? "" : "; what it need not have stands under [job.file.add]");
}

/* Why nothing below the node, or it itself, can be changed; NULL: it can. */
static char *refuse_shared(const struct doc *d, const struct doc_node *n, const char *path)
{
    if (n->kind == DOC_ALIAS)
        return xasprintf("`%s` is the alias *%s: to change it there would change what it stands for elsewhere", path,
                         n->text);
    if (n->anchor && refers_to(&d->root, n->anchor))
        return xasprintf("`%s` is in &%s, which *%s elsewhere stands for: both would change", path, n->anchor,
                         n->anchor);
    return NULL;
}

static bool takes_more(const struct doc_node *n, const char *segment)
{
    char number[32];
    snprintf(number, sizeof number, "%zu", n->count);
    return n->kind == DOC_TABLE || (n->kind == DOC_LIST && strcmp(segment, number) == 0) || n->kind == DOC_NULL;
}

char *document_refuses(const struct doc *d, const struct doc_change *c)
{
    char **segments = path_split(c->path), *why = NULL;
    const struct doc_node *n = &d->root;
    if (!segments)
        return xasprintf("`%s` is no path, such as data.batch_size or layers.0.size", c->path);
    if (d->documents > 1)
        why = xasprintf("%s holds %zu documents; values are changed only in a file of one", d->file, d->documents);
    for (char **s = segments; *s && n && !why; s++) {
        const struct doc_node *child = doc_child(n, *s);
        why = refuse_shared(d, n, c->path);
        if (!why && !child && c->kind != DOC_ADD)
            why = refuse_missing(d, n, *s, c);
        else if (!why && !child && !takes_more(n, *s))
            why = xasprintf("`%s` cannot be added, because what is above it is %s", c->path, doc_kind_names[n->kind]);
        n = child;
    }
    const bool is_set_alias = n && n->kind == DOC_ALIAS && !n->anchor && c->kind != DOC_UNSET;
    if (n && !why && !is_set_alias)
        why = n->kind == DOC_ALIAS ? NULL : refuse_shared(d, n, c->path);
    if (n && !why && d->format == FORMAT_TOML && n->kind == DOC_TABLE && !n->is_flow)
        why = xasprintf("`%s` is a table with a header of its own; name keys in it", c->path);
    strings_free(segments);
    return why;
}

struct value document_fit(enum doc_kind was, const struct value *value)
{
    struct value v = value_copy(value);
    if (was == DOC_BOOL && v.kind == VALUE_INT && (v.integer == 0 || v.integer == 1))
        v.kind = VALUE_BOOL;
    if ((was == DOC_LIST || was == DOC_TABLE) && v.kind == VALUE_STRING && *v.text && strchr("[{", v.text[0]))
        v.kind = VALUE_JSON;
    return v;
}

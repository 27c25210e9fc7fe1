#include "toml/tree.h"
#include "util/memory.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
    [NODE_TABLE] = "a table",  [NODE_LIST] = "a list",   [NODE_STRING] = "a string",
    [NODE_INT] = "an integer", [NODE_FLOAT] = "a float", [NODE_BOOL] = "a boolean",
};

char **toml_strings(struct arena *p, const struct toml_node *node)
{
    size_t count;
    const struct toml_node *first = toml_texts(node, &count);
    char **strings = arena_keep(p, xcalloc(count + 1, sizeof *strings));
    for (size_t i = 0; i < count; i++)
        strings[i] = arena_text(p, first[i].text);
    return strings;
}

const char *toml_kind_name(enum node_kind kind)
{
    return kind_names[kind];
}

static void free_node(struct toml_node *node)
{
    for (size_t i = 0; i < node->child_count; i++)
        free_node(&node->children[i]);
    free_all(node->children, node->key, node->text);
}

void toml_free(struct toml_node *root)
{
    if (!root)
        return;
    free_node(root);
    free(root);
}

const struct toml_node *toml_child(const struct toml_node *table, const char *key)
{
    if (table->kind != NODE_TABLE)
        return NULL;
    return FIND(i, table->child_count, strcmp(table->children[i].key, key) == 0, &table->children[i]);
}

static int by_key(const void *a, const void *b)
{
    const struct toml_node *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

void toml_add_key(const char *key, struct buffer *out)
{
    size_t i = 0;
    while (isalnum((unsigned char)key[i]) || key[i] == '_' || key[i] == '-')
        i++;
    if (i > 0 && key[i] == '\0')
        buffer_add_text(out, key);
    else
        buffer_add_json_string(out, key, strlen(key));
}

static void add_node(const struct toml_node *node, bool is_json, struct buffer *out);

/* In JSON a table's by their keys. */
static void add_children(const struct toml_node *node, bool is_json, struct buffer *out)
{
    const bool is_table = node->kind == NODE_TABLE, is_wide = is_table && !is_json && node->child_count > 0;
    const struct toml_node **children = xreallocarray(NULL, node->child_count, sizeof *children);
    for (size_t i = 0; i < node->child_count; i++)
        children[i] = &node->children[i];
    if (is_table && is_json)
        qsort(children, node->child_count, sizeof *children, by_key);
    buffer_add_text(out, is_wide ? "{ " : is_table ? "{" : "[");
    for (size_t i = 0; i < node->child_count; i++) {
        buffer_add_text(out, i == 0 ? "" : is_json ? "," : ", ");
        if (is_table && is_json)
            buffer_add_json_string(out, children[i]->key, strlen(children[i]->key));
        else if (is_table)
            toml_add_key(children[i]->key, out);
        buffer_add_text(out, !is_table ? "" : is_json ? ":" : " = ");
        add_node(children[i], is_json, out);
    }
    buffer_add_text(out, is_wide ? " }" : is_table ? "}" : "]");
    free(children);
}

static void add_real(double real, bool is_json, struct buffer *out)
{
    if (isfinite(real))
        buffer_add_double(out, is_json && real == 0 ? 0.0 : real);
    else if (is_json) {
        buffer_add_char(out, '"');
        buffer_add_double(out, real);
        buffer_add_char(out, '"');
    } else
        buffer_add_text(out, isnan(real) ? "nan" : real > 0 ? "inf" : "-inf");
}

static void add_node(const struct toml_node *node, bool is_json, struct buffer *out)
{
    if (node->kind == NODE_TABLE || node->kind == NODE_LIST)
        add_children(node, is_json, out);
    else if (node->kind == NODE_STRING)
        buffer_add_json_string(out, node->text, strlen(node->text));
    else if (node->kind == NODE_INT)
        buffer_printf(out, "%" PRId64, node->integer);
    else if (node->kind == NODE_FLOAT)
        add_real(node->real, is_json, out);
    else
        buffer_add_text(out, node->integer ? "true" : "false");
}

void toml_add_json(const struct toml_node *node, struct buffer *out)
{
    add_node(node, true, out);
}

void toml_add_literal(const struct toml_node *node, struct buffer *out)
{
    add_node(node, false, out);
}

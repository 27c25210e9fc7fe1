#include <stdlib.h>
#include <string.h>

#include "config/template.h"
#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "util/memory.h"

static bool is_key(const char *text)
{
    size_t length = template_name_length(text);
    return length > 0 && !text[length];
}

static void check_is_key(const struct reading *r, const struct toml_node *node)
{
    if (node->kind == NODE_STRING && !is_key(node->text))
        problem_at_value(r, node, "\"%s\" cannot be a key", node->text);
}

static void walk(const struct reading *r, const struct toml_node *node, const char *prefix,
                 void (*take)(const struct reading *r, const struct toml_node *node, const char *name))
{
    char *name = *prefix ? xasprintf("%s.%s", prefix, node->key) : xstrdup(node->key);
    if (node->kind != NODE_TABLE)
        take(r, node, name);
    for (size_t i = 0; node->kind == NODE_TABLE && i < node->child_count; i++)
        walk(r, &node->children[i], name, take);
    free(name);
}

void walk_dotted(const struct reading *r, const struct toml_node *table,
                 void (*take)(const struct reading *r, const struct toml_node *node, const char *name))
{
    for (size_t i = 0; i < table->child_count; i++)
        walk(r, &table->children[i], "", take);
}

static char **key_list(const struct reading *r, const struct toml_node *node)
{
    check_is_key(r, node);
    for (size_t i = 0; node->kind == NODE_LIST && i < node->child_count; i++)
        check_is_key(r, &node->children[i]);
    return toml_strings(node);
}

static struct synonym *synonym_slot(const struct reading *r, const struct toml_node *node, const char *name)
{
    struct sweep *s = r->sweep;
    for (size_t i = 0; i < s->synonym_count; i++) {
        struct synonym *old = &s->synonyms[i];
        if (strcmp(old->name, name) != 0)
            continue;
        if (!check_replaces(r, node, name, &old->at))
            return NULL;
        synonym_free(old);
        return old;
    }
    s->synonyms = array_grow(s->synonyms, s->synonym_count, sizeof *s->synonyms);
    return &s->synonyms[s->synonym_count++];
}

static void read_synonym(const struct reading *r, const struct toml_node *node, const char *name)
{
    const unsigned types = TYPE_STRING | TYPE_STRINGS;
    if (!is_key(name)) {
        problem_at_key(r, node, "\"%s\" cannot be a key", name);
        return;
    }
    if (!schema_expect(r, node, name, types)) {
        problems_excuse(r->problems, name);
        return;
    }
    struct synonym *slot = synonym_slot(r, node, name);
    if (slot)
        *slot = (struct synonym){.name = xstrdup(name), .keys = key_list(r, node), .at = reading_at_key(r, node)};
}

void read_synonyms(const struct reading *r, const struct toml_node *table)
{
    if (check_entry_count(r, table, r->sweep->synonym_count, "synonyms"))
        walk_dotted(r, table, read_synonym);
}

static struct inert *inert_slot(const struct reading *r, const struct toml_node *node, const char *key)
{
    struct sweep *s = r->sweep;
    for (size_t i = 0; i < s->inert_count; i++) {
        struct inert *old = &s->inert[i];
        if (strcmp(old->key, key) != 0)
            continue;
        if (!check_replaces(r, node, key, &old->at))
            return NULL;
        inert_free(old);
        return old;
    }
    s->inert = array_grow(s->inert, s->inert_count, sizeof *s->inert);
    return &s->inert[s->inert_count++];
}

static void read_inert_key(const struct reading *r, const struct toml_node *node, const char *key)
{
    if (!is_key(key)) {
        problem_at_key(r, node, "\"%s\" cannot be a key", key);
        return;
    }
    if (!schema_expect(r, node, key, TYPE_STRING) || !check_not_blank(r, node, key))
        return;
    struct inert *slot = inert_slot(r, node, key);
    if (slot)
        *slot = (struct inert){.key = xstrdup(key), .condition = xstrdup(node->text), .at = reading_at_key(r, node)};
}

void read_inert(const struct reading *r, const struct toml_node *table)
{
    if (check_entry_count(r, table, r->sweep->inert_count, "inert keys"))
        walk_dotted(r, table, read_inert_key);
}

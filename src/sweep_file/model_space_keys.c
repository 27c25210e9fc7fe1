#include "sweep_file/model_space_keys.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sweep_file/range.h"
#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "sweep_file/toml_value.h"
#include "util/memory.h"

#define LARGEST_NUMBER 2048 /* of layers and elements: models/layer_stack.h */
#define MOST_VALUES 1000000 /* of one key that are written out */

static const char *name_of(const struct toml_node *node)
{
    return node->key ? node->key : "it";
}

char *literal_of(const struct toml_node *node)
{
    struct buffer text = BUFFER_INIT;
    toml_add_literal(node, &text);
    return buffer_take(&text);
}

struct string_list read_texts(const struct toml_node *list)
{
    struct string_list t = STRING_LIST_INIT;
    for (size_t i = 0; i < list->child_count; i++)
        string_list_add(&t, xstrdup(list->children[i].text));
    return t;
}

/* The same text twice, said at its second place. */
static void check_words_differ(const struct reading *r, const char *what, struct words *words)
{
    words_sort(words);
    for (size_t i = 1; i < words->count; i++)
        if (strcmp(words->items[i].text, words->items[i - 1].text) == 0)
            problems_add(r->problems, words->items[i].at, "%s: %s is listed twice", what, words->items[i].text);
}

void check_texts(const struct reading *r, const struct toml_node *list)
{
    struct words words = {NULL, 0};
    if (list->child_count == 0)
        problem_at_value(r, list, "%s is an empty list", name_of(list));
    for (size_t i = 0; i < list->child_count; i++) {
        check_not_blank(r, &list->children[i], name_of(list));
        words_add(&words, list->children[i].text, reading_at_value(r, &list->children[i]));
    }
    check_words_differ(r, name_of(list), &words);
    words_free(&words);
}

/* --- numbers of layers and elements --- */

static bool add_number(const struct reading *r, const struct toml_node *at, const char *name, int64_t value,
                       struct number_list *out)
{
    if (value < 1 || value > LARGEST_NUMBER) {
        problem_at_value(r, at, "%s must be from 1 to %d, not %" PRId64, name, LARGEST_NUMBER, value);
        return false;
    }
    for (size_t i = 0; i < out->count; i++) {
        if (out->values[i] != (uint64_t)value)
            continue;
        problem_at_value(r, at, "%s: %" PRId64 " is listed twice", name, value);
        return false;
    }
    out->values = array_grow(out->values, out->count, sizeof *out->values);
    out->values[out->count++] = (unsigned)value;
    return true;
}

static void read_number_range(const struct reading *r, const struct toml_node *node, struct number_list *out)
{
    struct number_range range;
    if (!range_read(r, node, &range))
        return;
    for (uint64_t i = 0; i < range.count; i++)
        if (!add_number(r, node, name_of(node), range_at(&range, i), out))
            return;
}

void read_number_list(const struct reading *r, const struct toml_node *node, struct number_list *out)
{
    if (node->kind == NODE_TABLE)
        read_number_range(r, node, out);
    else if (node->kind == NODE_INT)
        add_number(r, node, name_of(node), node->integer, out);
    else if (node->child_count == 0)
        problem_at_value(r, node, "%s is an empty list", name_of(node));
    for (size_t i = 0; node->kind == NODE_LIST && i < node->child_count; i++) {
        const struct toml_node *child = &node->children[i];
        if (child->kind != NODE_INT)
            problem_at_value(r, child, "%s takes integers, not %s", name_of(node), toml_kind_name(child->kind));
        else
            add_number(r, child, name_of(node), child->integer, out);
    }
}

/* --- values --- */

static void read_integers(struct space_key *key)
{
    for (size_t i = 0; i < key->value_count; i++)
        if (key->values[i].kind != VALUE_INT)
            return;
    key->integers = xreallocarray(NULL, key->value_count, sizeof *key->integers);
    for (size_t i = 0; i < key->value_count; i++)
        key->integers[i] = key->values[i].integer;
}

/* A column of 0 and 1 must not stand for numbers here and truth there: models with both would be refused. */
static void check_booleans(const struct reading *r, const struct toml_node *list)
{
    for (size_t i = 1; list->kind == NODE_LIST && i < list->child_count; i++) {
        if ((list->children[i].kind == NODE_BOOL) == (list->children[0].kind == NODE_BOOL))
            continue;
        problem_at_value(r, &list->children[i], "%s is a boolean in one place and another type elsewhere; use one type",
                         list->key);
        return;
    }
}

static void read_values(const struct reading *r, const struct toml_node *node, struct space_key *out)
{
    const bool list = node->kind == NODE_LIST;
    const struct toml_node *first = list ? node->children : node, *bad = find_not_finite(node);
    const size_t count = list ? node->child_count : 1;
    struct words words = {NULL, 0};
    if (bad)
        problem_at_value(r, bad, "%s: NaN and infinity cannot be values of an axis", node->key);
    if (count == 0 || count > MOST_VALUES) {
        problem_at_value(r, node, count ? "%s: more than a million values" : "%s: a key needs a value", node->key);
        return;
    }
    out->kind = SPACE_KEY_VALUES;
    out->value_count = count;
    out->values = xcalloc(count, sizeof *out->values);
    out->literals = xcalloc(count, sizeof *out->literals);
    for (size_t i = 0; i < count; i++) {
        out->values[i] = plain_value(&first[i]);
        out->literals[i] = literal_of(&first[i]);
        words_add(&words, out->literals[i], reading_at_value(r, &first[i]));
    }
    check_words_differ(r, node->key, &words);
    check_booleans(r, node);
    words_free(&words);
    read_integers(out);
}

static void read_powers(const struct number_range *range, struct space_key *out)
{
    out->kind = SPACE_KEY_VALUES;
    out->value_count = (size_t)range->count;
    out->values = xcalloc(out->value_count, sizeof *out->values);
    out->literals = xcalloc(out->value_count, sizeof *out->literals);
    for (size_t i = 0; i < out->value_count; i++) {
        out->values[i] = (struct value){.kind = VALUE_INT, .integer = range_at(range, i)};
        out->literals[i] = xasprintf("%" PRId64, out->values[i].integer);
    }
    read_integers(out);
}

static void read_range_key(const struct reading *r, const struct toml_node *node, struct space_key *out)
{
    struct number_range range;
    if (!range_read(r, node, &range))
        return;
    if (range.factor) {
        read_powers(&range, out);
        return;
    }
    out->kind = SPACE_KEY_RANGE;
    out->value_count = (size_t)range.count;
    out->first = range.first;
    out->step = range.step;
}

/* --- multisets --- */

enum multiset_key {
    MULTISET_KINDS,
    MULTISET_TOTAL,
    MULTISET_PER_LAYER,
    MULTISET_LAYERS,
    MULTISET_LAYERS_KEY,
    MULTISET_COUNT
};

#define NUMBERS (TYPE_INT | TYPE_LIST | TYPE_TABLE)
static const struct schema_key multiset_keys[] = {
    {.name = "multiset", TYPE_STRINGS, EVERY, .required = true},
    {.name = "total", NUMBERS, EVERY},
    {.name = "per_layer", NUMBERS, EVERY},
    {.name = "layers", NUMBERS, EVERY},
    {.name = "layers_key", TYPE_STRING, EVERY},
};
const struct schema schema_multiset = {"a multiset", SCHEMA_KEYS(multiset_keys)};

static void read_multiset(const struct reading *r, const struct toml_node *node, struct space_key *out)
{
    const struct toml_node *found[MULTISET_COUNT];
    schema_match(&schema_multiset, r, node, found);
    out->kind = SPACE_KEY_MULTISET;
    if (found[MULTISET_KINDS]) {
        check_texts(r, found[MULTISET_KINDS]);
        out->kinds = read_texts(found[MULTISET_KINDS]);
    }
    if (found[MULTISET_TOTAL])
        read_number_list(r, found[MULTISET_TOTAL], &out->totals);
    if (found[MULTISET_PER_LAYER])
        read_number_list(r, found[MULTISET_PER_LAYER], &out->sizes);
    if (!found[MULTISET_TOTAL] && !found[MULTISET_PER_LAYER])
        problem_at_value(r, node, "%s: give the number of elements, with total or per_layer", node->key);
    if (found[MULTISET_LAYERS]) {
        read_number_list(r, found[MULTISET_LAYERS], &out->layers);
    } else {
        out->flat = true;
        add_number(r, node, node->key, 1, &out->layers);
    }
    const struct toml_node *layers_key = found[MULTISET_LAYERS_KEY];
    if (layers_key && out->flat)
        problem_at_key(r, layers_key, "layers_key needs layers");
    else if (layers_key && check_key_name(r, layers_key, layers_key->text))
        out->layers_key = xstrdup(layers_key->text);
}

void read_space_key(const struct reading *r, const struct toml_node *node, struct space_key *out)
{
    *out = (struct space_key){.name = xstrdup(node->key), .at = reading_at_key(r, node)};
    if (node->kind != NODE_TABLE)
        read_values(r, node, out);
    else if (toml_child(node, "multiset"))
        read_multiset(r, node, out);
    else if (range_is_meant(node))
        read_range_key(r, node, out);
    else
        problem_at_value(r, node,
                         "%s: a table must be a range such as { from = 1, to = 4 } or a multiset such as { multiset = "
                         "[...] }",
                         node->key);
}

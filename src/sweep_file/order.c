#include <stdlib.h>
#include <string.h>

#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "sweep_file/toml_value.h"
#include "util/memory.h"

static const char *const directions[] = {"rises", "falls", "equal", "any"}; /* in the order of the enumeration */

enum order_key { ORDER_KEY_ORDER, ORDER_KEY_WHEN, ORDER_KEY_COUNT };

static const struct schema_key order_keys[] = {
    {.name = "order", TYPE_STRING | TYPE_LIST, DEFAULTS, .required = true},
    {.name = "when", TYPE_STRING, DEFAULTS},
};
const struct schema schema_order = {"[predict.order]", SCHEMA_KEYS(order_keys)};

void order_entry_free(struct order_entry *o)
{
    for (size_t i = 0; i < o->level_count; i++)
        value_free(&o->levels[i]);
    free(o->levels);
    free(o->expression);
    free(o->when);
}

static struct order_entry *slot_of(const struct reading *r, const struct toml_node *node, const char *expression)
{
    struct predict_config *p = &r->sweep->predict;
    for (size_t i = 0; i < p->order_count; i++) {
        struct order_entry *old = &p->order[i];
        if (strcmp(old->expression, expression) != 0)
            continue;
        if (!check_replaces(r, node, expression, &old->at))
            return NULL;
        order_entry_free(old);
        return old;
    }
    p->order = array_grow(p->order, p->order_count, sizeof *p->order);
    return &p->order[p->order_count++];
}

static bool is_level(const struct toml_node *node)
{
    return node->kind != NODE_TABLE && node->kind != NODE_LIST;
}

static bool check_levels(const struct reading *r, const struct toml_node *list)
{
    if (list->child_count < 2) {
        problem_at_value(r, list,
                         "an order needs at least two values, from the one that needs least memory to the one that "
                         "needs most");
        return false;
    }
    for (size_t i = 0; i < list->child_count; i++)
        if (!is_level(&list->children[i]) || find_not_finite(&list->children[i])) {
            problem_at_value(r, &list->children[i], "a value of an order must be a string, a number or a boolean");
            return false;
        }
    return true;
}

/* EXPRESSION = "rises", = [LEVELS], or = { order = either of these, when = "CONDITION" }. */
static bool read_direction(const struct reading *r, const struct toml_node *node, struct order_entry *out)
{
    if (!schema_type_fits(node, TYPE_STRING | TYPE_LIST)) {
        schema_wrong_type(r, node, node->key, TYPE_STRING | TYPE_LIST | TYPE_TABLE);
        return false;
    }
    if (node->kind == NODE_STRING) {
        int choice = check_choice(r, node, directions, sizeof directions / sizeof *directions);
        out->direction = (enum order_direction)(choice + 1);
        return choice >= 0;
    }
    if (!check_levels(r, node))
        return false;
    out->direction = ORDER_LISTED;
    out->levels = xcalloc(node->child_count, sizeof *out->levels);
    for (; out->level_count < node->child_count; out->level_count++)
        out->levels[out->level_count] = plain_value(&node->children[out->level_count]);
    return true;
}

static bool read_condition(const struct reading *r, const struct toml_node *table, struct order_entry *out)
{
    const struct toml_node *found[ORDER_KEY_COUNT];
    schema_match(&schema_order, r, table, found);
    if (!found[ORDER_KEY_ORDER] || !read_direction(r, found[ORDER_KEY_ORDER], out))
        return false;
    if (!found[ORDER_KEY_WHEN] || !check_not_blank(r, found[ORDER_KEY_WHEN], "when"))
        return !found[ORDER_KEY_WHEN];
    out->when = xstrdup(found[ORDER_KEY_WHEN]->text);
    return true;
}

static void read_entry(const struct reading *r, const struct toml_node *node)
{
    struct order_entry entry = {.at = reading_at_key(r, node)};
    bool good = node->kind == NODE_TABLE ? read_condition(r, node, &entry) : read_direction(r, node, &entry);
    struct order_entry *slot = good ? slot_of(r, node, node->key) : NULL;
    if (!slot) {
        order_entry_free(&entry);
        return;
    }
    entry.expression = xstrdup(node->key);
    *slot = entry;
}

void read_order(const struct reading *r, const struct toml_node *table)
{
    if (!check_entry_count(r, table, r->sweep->predict.order_count, "entries of an order"))
        return;
    for (size_t i = 0; i < table->child_count; i++)
        read_entry(r, &table->children[i]);
}

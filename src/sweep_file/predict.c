#include <math.h>
#include <stddef.h>
#include <string.h>

#include "sweep_file/schema.h"
#include "util/buffer.h"
#include "util/memory.h"

/* --- [predict.order] --- */

static const char *const directions[] = {"rises", "falls", "equal", "any"}; /* in the order of the enumeration */

static const struct schema_key order_keys[] = {
    {.name = "order", TYPE_STRING | TYPE_LIST, DEFAULTS, .required = true},
    {.name = "when", TYPE_STRING, DEFAULTS},
};
static const struct schema schema_order = {"[predict.order]", SCHEMA_KEYS(order_keys)};

static const struct entries order_entries = {ENTRIES(sweep, predict.order, predict.order_count, struct order_entry),
                                             .is_once = true};

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
        int choice = check_choice(r, node, directions, LENGTH(directions));
        out->direction = (enum order_direction)(choice + 1);
        return choice >= 0;
    }
    if (!check_levels(r, node))
        return false;
    out->direction = ORDER_LISTED;
    out->levels = arena_keep(r->arena, xcalloc(node->child_count, sizeof *out->levels));
    for (; out->level_count < node->child_count; out->level_count++)
        out->levels[out->level_count] = plain_value(r, &node->children[out->level_count]);
    return true;
}

static bool read_condition(const struct reading *r, const struct toml_node *table, struct order_entry *out)
{
    const struct found found = schema_match(&schema_order, r, table);
    const struct toml_node *order = found_key(&found, "order"), *when = found_key(&found, "when");
    if (!order || !read_direction(r, order, out))
        return false;
    if (when && check_not_blank(r, when, "when"))
        out->when = arena_text(r->arena, when->text);
    return !when || out->when;
}

static void read_entry(const struct reading *r, const struct toml_node *node)
{
    struct order_entry entry = {.expression = arena_text(r->arena, node->key), .at = reading_at_key(r, node)};
    bool good = node->kind == NODE_TABLE ? read_condition(r, node, &entry) : read_direction(r, node, &entry);
    struct order_entry *slot = good ? entry_slot(r, node, node->key, &order_entries) : NULL;
    if (slot)
        *slot = entry;
}

/* --- [predict] --- */

#define AT(member) offsetof(struct sweep, predict.member)

static const char *const prune_names[PRUNE_COUNT + 1] =
    {[PRUNE_CERTAIN] = "certain", [PRUNE_RISKY] = "risky", [PRUNE_SOUND] = "sound", [PRUNE_OFF] = "off"};

static const struct entries key_entries = {ENTRIES(sweep, predict.keys, predict.key_count, struct predict_key)};

static void read_key(const struct reading *r, const struct toml_node *node)
{
    char *expression = read_expression(r, node, node->key);
    if (expression)
        *(struct predict_key *)entry_slot(r, node, node->key, &key_entries) =
            (struct predict_key){arena_text(r->arena, node->key), expression, r->is_carried, reading_at_key(r, node)};
}

static void read_coefficient(const struct reading *r, const struct toml_node *node, bool is_time)
{
    struct predict_config *p = &r->sweep->predict;
    size_t i = 0;
    if (!schema_expect(r, node, node->key, TYPE_NUMBER))
        return;
    double value = number_of(node);
    if (!(value >= 0 && isfinite(value))) {
        problem_at_value(r, node, "%s must be a number, at least 0", node->key);
        return;
    }
    while (i < p->number_count && (p->numbers[i].is_time != is_time || strcmp(p->numbers[i].name, node->key) != 0))
        i++;
    struct predict_number *number =
        i < p->number_count ? &p->numbers[i] : arena_add(r->arena, p->numbers, p->number_count);
    *number = (struct predict_number){arena_text(r->arena, node->key), value, is_time, reading_at_key(r, node)};
}

/* Those of a carried profile are its framework's alone (predict/coefficients.h). */
static void read_coefficients(const struct reading *r, const struct toml_node *table)
{
    const bool is_time = strcmp(table->key, "time") == 0;
    if (!r->is_carried && check_entry_count(r, table, r->sweep->predict.number_count, "coefficients"))
        for (size_t i = 0; i < table->child_count; i++)
            read_coefficient(r, &table->children[i], is_time);
}

/* Sweep files are read after their profiles, so that the last word is theirs. */
static const struct schema_key predict_keys[] = {
    {.name = "framework", TYPE_STRING, DEFAULTS, FORM_TEXT, AT(framework), .where = AT(framework_at)},
    {.name = "device", TYPE_STRING, DEFAULTS, FORM_TEXT, AT(device), .where = AT(device_at)},
    {.name = "cluster", TYPE_STRING, DEFAULTS, FORM_TEXT, AT(cluster)},
    {.name = "memory_metric", TYPE_STRING, DEFAULTS, FORM_TEXT, AT(memory_metric)},
    {.name = "time_metric", TYPE_STRING, DEFAULTS, FORM_TEXT, AT(time_metric)},
    {.name = "prune", TYPE_STRING, DEFAULTS, FORM_CHOICE, AT(prune), .choices = prune_names},
    {.name = "certain", TYPE_NUMBER, DEFAULTS, FORM_NUMBER, AT(certain), 0.1, 10},
    {.name = "risky", TYPE_NUMBER, DEFAULTS, FORM_NUMBER, AT(risky), 0.1, 10},
    {.name = "audit", TYPE_NUMBER, DEFAULTS, FORM_NUMBER, AT(audit), 0, 1},
    {.name = "peak_flops", TYPE_NUMBER, DEFAULTS, FORM_NUMBER, AT(peak_flops), 1, 1e21},
    {.name = "memory_bandwidth", TYPE_NUMBER, DEFAULTS, FORM_NUMBER, AT(memory_bandwidth), 1, 1e18},
    {.name = "link_bandwidth", TYPE_NUMBER, DEFAULTS, FORM_NUMBER, AT(link_bandwidth), 1, 1e18},
    {.name = "network_bandwidth", TYPE_NUMBER, DEFAULTS, FORM_NUMBER, AT(network_bandwidth), 1, 1e18},
    {.name = "network_latency", TYPE_NUMBER, DEFAULTS, FORM_NUMBER, AT(network_latency), 0, 1},
    {.name = "keys", TYPE_TABLE, DEFAULTS, EACH(AT(key_count), read_key, "inputs of predictions")},
    {.name = "memory", TYPE_TABLE, DEFAULTS, .read = read_coefficients},
    {.name = "time", TYPE_TABLE, DEFAULTS, .read = read_coefficients},
    {.name = "order", TYPE_TABLE, DEFAULTS, EACH(AT(order_count), read_entry, "entries of an order")},
};

static void read_predict(const struct reading *r, struct found *found)
{
    struct predict_config *p = &r->sweep->predict;
    /* A profile that names no framework has something to say where predictions are asked for, and asks for none. */
    p->of_file |= r->role != FILE_PROFILE;
    p->given |= p->of_file || found_key(found, "framework");
    schema_take(r, found, r->sweep);
    if (p->certain > 0 && p->risky > 0 && p->risky > p->certain)
        problem_at_value(r, found->table, "risky = %g is above certain = %g", p->risky, p->certain);
}

const struct schema schema_predict = {"[predict]", SCHEMA_KEYS(predict_keys), read_predict};

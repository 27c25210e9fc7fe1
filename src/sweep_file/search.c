#include <math.h>
#include <stddef.h>
#include <string.h>

#include "sweep_file/schema.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"

/* --- [predict.order] --- */

static const char *const directions[] = {"rises", "falls", "equal", "any"}; /* in the order of the enumeration */

static const struct schema schema_order = {SCHEMA("[predict.order]", KEYS_OF_ORDER)};

static const struct entries order_entries = {ENTRIES(sweep, predict.order, predict.order_count, struct order_entry),
                                             .is_once = true};

static bool check_levels(const struct reading *r, const struct toml_node *list)
{
    if (list->child_count < 2) {
        problem_at_value(r, list,
                         "an order needs at least two values, from the one that needs least memory to the one that "
                         "needs most");
        return false;
    }
    for (size_t i = 0; i < list->child_count; i++)
        if (list->children[i].kind == NODE_TABLE || list->children[i].kind == NODE_LIST ||
            find_not_finite(&list->children[i])) {
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

const struct schema schema_predict = {SCHEMA("[predict]", KEYS_OF_PREDICT), read_predict};

#define MOST_STAGES 100

/* --- [[search.stage]] --- */

static char *names_of(const struct reading *r, const struct word_list *keys)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < keys->count; i++)
        buffer_printf(&b, "%s%s", i ? ", " : "", keys->items[i].text);
    return arena_keep(r->arena, buffer_take(&b));
}

/* One with a mistake is kept: its keys are free. */
static void read_stage(const struct reading *r, struct found *found)
{
    struct search_config *c = &r->sweep->search;
    struct search_stage stage = {.strategy = search_strategy_names[0]};
    const struct toml_node *name = found_key(found, "name"), *free_keys = found_key(found, "free");
    if (!free_keys)
        return;
    schema_take(r, found, &stage);
    if (free_keys->child_count == 0)
        problem_at_value(r, free_keys,
                         "free: the list is empty, so the stage would have nothing to try; name at least one key");
    stage.name = name && check_not_blank(r, name, "[[search.stage]] name") ? arena_text(r->arena, name->text)
                                                                           : names_of(r, &stage.free);
    *arena_add(r->arena, c->stages, c->stage_count) = stage;
}

static const struct schema schema_stage = {SCHEMA("[[search.stage]]", KEYS_OF_STAGE), read_stage};

static void read_search_stages(const struct reading *r, const struct toml_node *list)
{
    struct search_config *c = &r->sweep->search;
    c->stage_count = c->options.stage_count = 0;
    c->stages = NULL;
    c->options.stages = NULL;
    if (list->child_count > MOST_STAGES) {
        problem_at_value(r, list, "more than %d stages", MOST_STAGES);
        return;
    }
    for (size_t i = 0; i < list->child_count; i++)
        schema_read(&schema_stage, r, &list->children[i], c);
    c->options.stages = c->stages;
    c->options.stage_count = c->stage_count;
}

static void read_stages(const struct reading *r, const struct toml_node *node)
{
    bool *stages = r->sweep->search.options.zero_stages;
    memset(stages, 0, SEARCH_ZERO_STAGES * sizeof *stages);
    if (node->child_count == 0)
        problem_at_value(r, node, "zero_stages: the list is empty; give stages from 0 to 3");
    for (size_t i = 0; i < node->child_count; i++) {
        const struct toml_node *stage = &node->children[i];
        if (stage->kind != NODE_INT || stage->integer < 0 || stage->integer >= SEARCH_ZERO_STAGES)
            problem_at_value(r, stage, "zero_stages: a ZeRO stage must be 0, 1, 2 or 3");
        else
            stages[stage->integer] = true;
    }
}

static void read_number(const struct reading *r, const struct toml_node *node)
{
    struct error e = ERROR_INIT;
    double value = number_of(node);
    int64_t ms;
    int which = 0;
    while (strcmp(search_numbers[which].key, node->key) != 0)
        which++;
    if (which == SEARCH_DEADLINE && node->kind == NODE_STRING) {
        if (!parse_duration_ms(node->text, &ms)) {
            problem_at_value(r, node,
                             "deadline: \"%s\" is not a duration, such as \"2h\", \"90m\" or seconds as a number",
                             node->text);
            return;
        }
        value = (double)ms / 1000;
    } else if (!schema_expect(r, node, node->key, TYPE_NUMBER)) {
        return;
    }
    if (search_number_check((enum search_number)which, value, &e) < 0)
        problem_at_value(r, node, "%s", e.text);
    else
        r->sweep->search.options.numbers[which] = value;
}

/* Stages are a strategy of their own. */
static void choose_stages(const struct reading *r, const struct toml_node *table)
{
    struct search_options *o = &r->sweep->search.options;
    const struct toml_node *strategy = toml_child(table, "strategy");
    const bool is_asked_for = o->strategy && strcmp(o->strategy, SEARCH_STAGE_BY_STAGE) == 0;
    if (toml_child(table, "stage") && strategy && o->strategy && !is_asked_for)
        problem_at_value(r, strategy,
                         "strategy = \"%s\" cannot be combined with [[search.stage]], where each stage has its own "
                         "strategy; remove one of them",
                         o->strategy);
    else if (toml_child(table, "stage"))
        o->strategy = SEARCH_STAGE_BY_STAGE;
    else if (strategy && is_asked_for && o->stage_count == 0)
        problem_at_value(r, strategy,
                         "strategy = \"%s\" needs [[search.stage]] tables with the free keys, the strategy and the "
                         "number of trials of each stage",
                         o->strategy);
}

static void read_search(const struct reading *r, struct found *found)
{
    if (!r->sweep->search.given)
        r->sweep->search.options = search_options_none();
    r->sweep->search.given = true;
    schema_take(r, found, r->sweep);
    choose_stages(r, found->table);
}

const struct schema schema_search = {SCHEMA("[search]", KEYS_OF_SEARCH), read_search};

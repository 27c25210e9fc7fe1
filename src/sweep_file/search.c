#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "sweep_file/unknown_key.h"
#include "sweep_file/values.h"
#include "util/memory.h"
#include "util/parse.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void read_strategy(const struct reading *r, const struct toml_node *node)
{
    size_t count = 0;
    while (search_strategy_names[count])
        count++;
    int at = check_choice(r, node, search_strategy_names, count);
    if (at < 0)
        return;
    r->sweep->search.options.strategy = search_strategy_names[at];
}

static void read_walk_order(const struct reading *r, const struct toml_node *node)
{
    int at = check_choice(r, node, search_order_names, 3);
    if (at >= 0)
        r->sweep->search.options.order = at;
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

static void read_racing(const struct reading *r, const struct toml_node *node)
{
    r->sweep->search.options.racing = node->integer != 0;
}

static void read_equal_batch(const struct reading *r, const struct toml_node *node)
{
    r->sweep->search.options.equal_batch = node->integer != 0;
}

static void read_metric(const struct reading *r, const struct toml_node *node)
{
    if (!check_not_blank(r, node, "[search] metric"))
        return;
    words_free(&r->gathered->objectives);
    words_add(&r->gathered->objectives, node->text, reading_at_value(r, node));
}

static void read_run_full(const struct reading *r, const struct toml_node *node)
{
    r->sweep->search.run_full_experiment = node->integer != 0;
}

static void read_full_timeout(const struct reading *r, const struct toml_node *node)
{
    read_duration(r, node, &r->sweep->search.full_timeout_ms);
}

/* What is no number of search_numbers. */
static const struct {
    const char *key;
    unsigned types;
    void (*read)(const struct reading *r, const struct toml_node *node);
} others[] = {
    {"strategy", TYPE_STRING, read_strategy},          {"order", TYPE_STRING, read_walk_order},
    {"zero_stages", TYPE_LIST, read_stages},           {"racing", TYPE_BOOL, read_racing},
    {"equal_batch", TYPE_BOOL, read_equal_batch},      {"metric", TYPE_STRING, read_metric},
    {"run_full_experiment", TYPE_BOOL, read_run_full}, {"full_timeout", TYPE_STRING | TYPE_NUMBER, read_full_timeout},
    {"stage", TYPE_TABLES, read_search_stages},
};

static void read_number(const struct reading *r, const struct toml_node *node, enum search_number which)
{
    struct error e = ERROR_INIT;
    double value = number_of(node);
    int64_t ms;
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
    if (search_number_check(which, value, &e) < 0)
        problem_at_value(r, node, "%s", e.text);
    else
        r->sweep->search.options.numbers[which] = value;
}

static void complain(const struct reading *r, const struct toml_node *node)
{
    const char *names[SEARCH_NUMBER_COUNT + LENGTH(others)];
    for (size_t i = 0; i < SEARCH_NUMBER_COUNT; i++)
        names[i] = search_numbers[i].key;
    for (size_t i = 0; i < LENGTH(others); i++)
        names[SEARCH_NUMBER_COUNT + i] = others[i].key;
    unknown_key(r, node, "[search]", names, LENGTH(names));
}

static void read_child(const struct reading *r, const struct toml_node *node)
{
    for (int i = 0; i < SEARCH_NUMBER_COUNT; i++)
        if (strcmp(search_numbers[i].key, node->key) == 0) {
            read_number(r, node, (enum search_number)i);
            return;
        }
    for (size_t i = 0; i < LENGTH(others); i++) {
        if (strcmp(others[i].key, node->key) != 0)
            continue;
        if (schema_expect(r, node, node->key, others[i].types))
            others[i].read(r, node);
        return;
    }
    complain(r, node);
}

static const struct toml_node *child(const struct toml_node *table, const char *key)
{
    for (size_t i = 0; i < table->child_count; i++)
        if (strcmp(table->children[i].key, key) == 0)
            return &table->children[i];
    return NULL;
}

/* Stages are a strategy of their own. */
static void choose_stages(const struct reading *r, const struct toml_node *table)
{
    struct search_options *o = &r->sweep->search.options;
    const struct toml_node *strategy = child(table, "strategy");
    const bool is_asked_for = o->strategy && strcmp(o->strategy, SEARCH_STAGE_BY_STAGE) == 0;
    if (child(table, "stage") && strategy && o->strategy && !is_asked_for)
        problem_at_value(r, strategy,
                         "strategy = \"%s\" cannot be combined with [[search.stage]], where each stage has its own "
                         "strategy; remove one of them",
                         o->strategy);
    else if (child(table, "stage"))
        o->strategy = SEARCH_STAGE_BY_STAGE;
    else if (strategy && is_asked_for && o->stage_count == 0)
        problem_at_value(r, strategy,
                         "strategy = \"%s\" needs [[search.stage]] tables with the free keys, the strategy and the "
                         "number of trials of each stage",
                         o->strategy);
}

void read_search(const struct reading *r, const struct toml_node *table)
{
    if (!r->sweep->search.given)
        r->sweep->search.options = search_options_none();
    r->sweep->search.given = true;
    for (size_t i = 0; i < table->child_count; i++)
        read_child(r, &table->children[i]);
    choose_stages(r, table);
}

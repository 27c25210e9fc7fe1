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

static void read_metric(const struct reading *r, const struct toml_node *node)
{
    if (!check_not_blank(r, node, "[search] metric"))
        return;
    words_free(&r->gathered->objectives);
    words_add(&r->gathered->objectives, node->text, reading_at_value(r, node));
}

#define AT(member) offsetof(struct sweep, search.member)

/* What is no number of search_numbers. */
static const struct schema_key search_keys[] = {
    {.name = "strategy", TYPE_STRING, DEFAULTS, FORM_WORD, AT(options.strategy), .choices = search_strategy_names},
    {.name = "order", TYPE_STRING, DEFAULTS, FORM_CHOICE, AT(options.order), .choices = search_order_names},
    {.name = "zero_stages", TYPE_LIST, DEFAULTS, .read = read_stages},
    {.name = "racing", TYPE_BOOL, DEFAULTS, FORM_SWITCH, AT(options.racing)},
    {.name = "equal_batch", TYPE_BOOL, DEFAULTS, FORM_SWITCH, AT(options.equal_batch)},
    {.name = "metric", TYPE_STRING, DEFAULTS, .read = read_metric},
    {.name = "run_full_experiment", TYPE_BOOL, DEFAULTS, FORM_BOOL, AT(run_full_experiment)},
    {.name = "full_timeout", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(full_timeout_ms)},
    {.name = "stage", TYPE_TABLES, DEFAULTS, .read = read_search_stages, .of = &schema_stage},
};
const struct schema schema_search = {"[search]", SCHEMA_KEYS(search_keys)};

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
    const char *names[SEARCH_NUMBER_COUNT + LENGTH(search_keys)];
    for (size_t i = 0; i < SEARCH_NUMBER_COUNT; i++)
        names[i] = search_numbers[i].key;
    for (size_t i = 0; i < LENGTH(search_keys); i++)
        names[SEARCH_NUMBER_COUNT + i] = search_keys[i].name;
    unknown_key(r, node, "[search]", names, LENGTH(names));
}

static void read_child(const struct reading *r, const struct toml_node *node)
{
    for (int i = 0; i < SEARCH_NUMBER_COUNT; i++)
        if (strcmp(search_numbers[i].key, node->key) == 0) {
            read_number(r, node, (enum search_number)i);
            return;
        }
    if (!schema_take_child(&schema_search, r, node))
        complain(r, node);
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

void read_search(const struct reading *r, const struct toml_node *table)
{
    if (!r->sweep->search.given)
        r->sweep->search.options = search_options_none();
    r->sweep->search.given = true;
    for (size_t i = 0; i < table->child_count; i++)
        read_child(r, &table->children[i]);
    choose_stages(r, table);
}

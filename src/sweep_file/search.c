#include <stdlib.h>
#include <string.h>

#include "sweep_file/schema.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"

#define MOST_STAGES 100

/* --- [[search.stage]] --- */

static char *names_of(const struct reading *r, const struct word_list *keys)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < keys->count; i++)
        buffer_printf(&b, "%s%s", i ? ", " : "", keys->items[i].text);
    return arena_keep(r->arena, buffer_take(&b));
}

#define AT(member) offsetof(struct search_stage, member)

static const struct schema_key stage_keys[] = {
    {.name = "name", TYPE_STRING, DEFAULTS},
    {.name = "free", TYPE_STRINGS, DEFAULTS, FORM_KEYS, AT(free), .required = true},
    {.name = "strategy",
     TYPE_STRING,
     DEFAULTS,
     FORM_WORD,
     AT(strategy),
     .most = STRATEGY_STAGE_BY_STAGE, /* all but the one that stages are, the last */
     .choices = search_strategy_names,
     .required = true},
    {.name = "max_trials", TYPE_INT, DEFAULTS, FORM_COUNT, AT(max_trials), 1, 1e9, .required = true},
};

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

static const struct schema schema_stage = {"[[search.stage]]", SCHEMA_KEYS(stage_keys), read_stage};

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

static void read_objective(const struct reading *r, const struct toml_node *node)
{
    if (!check_not_blank(r, node, "[search] metric"))
        return;
    r->gathered->objectives.count = 0;
    words_add(r, &r->gathered->objectives, node->text, reading_at_value(r, node));
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

#undef AT
#define AT(member) offsetof(struct sweep, search.member)

#define NUMBER(id, key, unit, help, low, high, whole, fallback)                                                        \
    {.name = (key),                                                                                                    \
     .types = SEARCH_##id == SEARCH_DEADLINE ? ~0u : TYPE_NUMBER,                                                      \
     .files = DEFAULTS,                                                                                                \
     .shown = SEARCH_##id == SEARCH_DEADLINE ? TYPE_TIME : TYPE_INT * (whole),                                         \
     .least = (low),                                                                                                   \
     .most = (high),                                                                                                   \
     .read = read_number},

static const struct schema_key search_keys[] =
    {{.name = "strategy", TYPE_STRING, DEFAULTS, FORM_WORD, AT(options.strategy), .choices = search_strategy_names},
     {.name = "order", TYPE_STRING, DEFAULTS, FORM_CHOICE, AT(options.order), .choices = search_order_names},
     {.name = "zero_stages", TYPE_LIST, DEFAULTS, .read = read_stages},
     {.name = "racing", TYPE_BOOL, DEFAULTS, FORM_SWITCH, AT(options.racing)},
     {.name = "equal_batch", TYPE_BOOL, DEFAULTS, FORM_SWITCH, AT(options.equal_batch)},
     {.name = "metric", TYPE_STRING, DEFAULTS, .read = read_objective},
     {.name = "run_full_experiment", TYPE_BOOL, DEFAULTS, FORM_BOOL, AT(run_full_experiment)},
     {.name = "full_timeout", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(full_timeout_ms)},
     {.name = "stage", TYPE_TABLES, DEFAULTS, .read = read_search_stages, .of = &schema_stage},
     SEARCH_NUMBERS(NUMBER)};

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

const struct schema schema_search = {"[search]", SCHEMA_KEYS(search_keys), read_search};

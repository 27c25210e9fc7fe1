#include "config/search_options.h"

#include <math.h>
#include <string.h>

#include "config/sweep.h"
#include "util/memory.h"

const char *const search_order_names[] = {
    [SEARCH_ORDER_DECLARED] = "declared",
    [SEARCH_ORDER_PREDICTED] = "predicted",
    [SEARCH_ORDER_SHUFFLED] = "shuffled",
    NULL,
};

#define NAME(id, name, algorithm, traits) name,
const char *const search_strategy_names[] = {SEARCH_STRATEGIES(NAME) NULL};
#undef NAME

enum search_strategy search_strategy_named(const char *name)
{
    int at = 0;
    while (name && at < STRATEGY_COUNT && strcmp(name, search_strategy_names[at]) != 0)
        at++;
    return (enum search_strategy)at;
}

#define TRAITS(id, name, algorithm, traits) traits,
static const unsigned traits_of[] = {SEARCH_STRATEGIES(TRAITS) 0};
#undef TRAITS

bool search_strategy_has(const char *name, enum search_trait trait)
{
    return (traits_of[search_strategy_named(name)] & trait) != 0;
}

#define ROW(id, key, unit, help, least, most, whole, fallback) {key, unit, help, least, most, whole, fallback},
const struct search_number_row search_numbers[SEARCH_NUMBER_COUNT] = {SEARCH_NUMBERS(ROW)};
#undef ROW

struct search_options search_options_none(void)
{
    struct search_options o = {.order = -1, .racing = -1, .equal_batch = -1};
    for (size_t i = 0; i < SEARCH_NUMBER_COUNT; i++)
        o.numbers[i] = SEARCH_NOT_GIVEN;
    return o;
}

int search_number_check(enum search_number which, double value, struct error *e)
{
    const struct search_number_row *row = &search_numbers[which];
    if (isnan(value) || (row->whole && value != floor(value)))
        return error_set(e, ERROR_USAGE, "%s: %g is not a %snumber", row->key, value, row->whole ? "whole " : "");
    if (value < row->least)
        return error_set(e, ERROR_USAGE, "%s: %g is less than %g", row->key, value, row->least);
    if (value > row->most)
        return error_set(e, ERROR_USAGE, "%s: %g is more than %g", row->key, value, row->most);
    return 0;
}

static bool gives_stages(const struct search_options *o)
{
    return ANY(i, SEARCH_ZERO_STAGES, o->zero_stages[i]);
}

struct search_options search_options_overlay(const struct search_options *under, const struct search_options *over)
{
    struct search_options o = *under;
    if (over->strategy)
        o.strategy = over->strategy;
    for (size_t i = 0; i < SEARCH_NUMBER_COUNT; i++)
        if (over->numbers[i] != SEARCH_NOT_GIVEN)
            o.numbers[i] = over->numbers[i];
    if (gives_stages(over))
        memcpy(o.zero_stages, over->zero_stages, sizeof o.zero_stages);
    if (over->order >= 0)
        o.order = over->order;
    if (over->racing >= 0)
        o.racing = over->racing;
    if (over->equal_batch >= 0)
        o.equal_batch = over->equal_batch;
    if (over->stages) {
        o.stages = over->stages;
        o.stage_count = over->stage_count;
    }
    return o;
}

/* Defaults of strategies with a trait, in place of those of search_numbers. */
static const struct {
    enum search_trait trait;
    enum search_number number;
    double value;
} strategy_defaults[] = {
    {IN_ORDER, SEARCH_MAX_TRIALS, SEARCH_UNLIMITED},
    {IN_STAGES, SEARCH_MAX_TRIALS, SEARCH_UNLIMITED}, /* each stage has its own */
    {MEMORY_FIRST, SEARCH_NUM_TUNING_MICRO_BATCH_SIZES, 1},
    {OF_DSAT, SEARCH_MAX_TRIALS, 50},
    {OF_DSAT, SEARCH_START_PROFILE_STEP, 3},
    {OF_DSAT, SEARCH_END_PROFILE_STEP, 5},
    {OF_DEEPSPEED, SEARCH_EARLY_STOPPING, 5},
    {OF_DEEPSPEED, SEARCH_MAX_TRIALS,
     SEARCH_UNLIMITED}, /* its 50 are per stage: more than its micro-batches ever are */
};

static void complete_number(struct search_options *o, enum search_number n)
{
    if (o->numbers[n] != SEARCH_NOT_GIVEN)
        return;
    o->numbers[n] = search_numbers[n].fallback;
    for (size_t i = 0; i < sizeof strategy_defaults / sizeof *strategy_defaults; i++)
        if (strategy_defaults[i].number == n && search_strategy_has(o->strategy, strategy_defaults[i].trait))
            o->numbers[n] = strategy_defaults[i].value;
    const double start = o->numbers[SEARCH_START_PROFILE_STEP];
    if (n == SEARCH_END_PROFILE_STEP && o->numbers[n] != SEARCH_NOT_GIVEN && o->numbers[n] < start + 2)
        o->numbers[n] = start + 2;
}

static bool races(const struct search_options *o)
{
    for (size_t i = 0; search_strategy_has(o->strategy, IN_STAGES) && i < o->stage_count; i++)
        if (search_strategy_has(o->stages[i].strategy, COUNTS_EACH))
            return false;
    return !search_strategy_has(o->strategy, COUNTS_EACH);
}

void search_options_complete(struct search_options *o)
{
    if (!o->strategy)
        o->strategy = search_strategy_names[STRATEGY_GRID];
    for (int i = 0; i < SEARCH_NUMBER_COUNT; i++)
        complete_number(o, (enum search_number)i);
    bool dsat = search_strategy_has(o->strategy, OF_DSAT);
    if (!gives_stages(o))
        for (size_t i = 0; i < SEARCH_ZERO_STAGES; i++)
            o->zero_stages[i] = !dsat || i > 0;
    if (o->order < 0)
        o->order = SEARCH_ORDER_DECLARED;
    if (o->racing < 0)
        o->racing = races(o);
    if (o->equal_batch < 0)
        o->equal_batch = 1;
}

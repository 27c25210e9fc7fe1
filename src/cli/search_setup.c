#include "cli/search_setup.h"

#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "database/open.h"
#include "search/candidates.h"
#include "util/memory.h"
#include "util/parse.h"

static char *option_name(enum search_number which)
{
    char *name = xasprintf("--%s", search_numbers[which].key);
    for (char *c = name; *c; c++)
        if (*c == '_')
            *c = '-';
    return name;
}

static int read_number(const char *text, enum search_number which, double *out, struct error *e)
{
    int64_t ms;
    bool known = parse_double(text, out);
    if (which == SEARCH_DEADLINE && parse_duration_ms(text, &ms)) {
        *out = (double)ms / 1000;
        known = true;
    }
    OWNED char *name = option_name(which);
    int rc = known ? search_number_check(which, *out, e) : error_set(e, ERROR_USAGE, "`%s` is not a number", text);
    if (rc < 0)
        error_context(e, "%s", name);
    return rc;
}

/* "1,2,3", "1 2 3" or "all". */
static int read_stages(const char *text, bool *stages, struct error *e)
{
    if (strcmp(text, "all") == 0)
        text = "0,1,2,3";
    char *copy = xstrdup(text), *rest = NULL;
    int rc = 0, count = 0;
    for (char *word = strtok_r(copy, ", ", &rest); rc == 0 && word; word = strtok_r(NULL, ", ", &rest), count++) {
        if (word[0] < '0' || word[0] >= '0' + SEARCH_ZERO_STAGES || word[1])
            rc = error_set(e, ERROR_USAGE, "--zero-stages: `%s` is not a ZeRO stage (0, 1, 2, 3 or all)", word);
        else
            stages[word[0] - '0'] = true;
    }
    if (rc == 0 && count == 0)
        rc = error_set(e, ERROR_USAGE, "--zero-stages: no stage is given (0, 1, 2, 3 or all)");
    free(copy);
    return rc;
}

static int read_options(const struct run_options *o, struct search_options *out, struct error *e)
{
    int strategy = o->strategy ? option_find_word("--strategy", o->strategy, search_strategy_names, e) : 0;
    out->order = o->order ? option_find_word("--order", o->order, search_order_names, e) : -1;
    if (strategy < 0 || (o->order && out->order < 0))
        return -1;
    out->strategy = o->strategy ? search_strategy_names[strategy] : NULL;
    for (int i = 0; i < SEARCH_NUMBER_COUNT; i++)
        if (o->search_numbers[i] && read_number(o->search_numbers[i], (enum search_number)i, &out->numbers[i], e) < 0)
            return -1;
    out->racing = o->racing == SWITCH_NOT_GIVEN ? -1 : o->racing == SWITCH_ON;
    out->equal_batch = o->equal_batch == SWITCH_NOT_GIVEN ? -1 : o->equal_batch == SWITCH_ON;
    return o->zero_stages ? read_stages(o->zero_stages, out->zero_stages, e) : 0;
}

static bool asks_for_anything(const struct search_options *o)
{
    bool any = o->order > 0 || o->racing > 0 || !search_strategy_has(o->strategy, IN_ORDER);
    for (int i = 0; i < SEARCH_NUMBER_COUNT; i++)
        any |= o->numbers[i] != SEARCH_NOT_GIVEN && i != SEARCH_CONFIRM && i != SEARCH_START_PROFILE_STEP;
    for (int i = 0; i < SEARCH_ZERO_STAGES; i++)
        any |= o->zero_stages[i];
    return any;
}

static int64_t step_of(const struct search_options *o, enum search_number which)
{
    return o->numbers[which] == SEARCH_NOT_GIVEN ? 0 : (int64_t)o->numbers[which];
}

static void set_steps(struct job_config *job, const struct search_options *complete, bool end_is_given)
{
    job->first_step = step_of(complete, SEARCH_START_PROFILE_STEP);
    job->least_step = job->last_step = step_of(complete, SEARCH_END_PROFILE_STEP);
    if (job->last_step > 0 && !end_is_given && job->last_step < job->first_step + PROFILE_STEPS_MORE)
        job->last_step = job->first_step + PROFILE_STEPS_MORE;
}

int search_setup_read(const struct run_options *o, struct sweep *sweep, struct search_setup *out, struct error *e)
{
    struct search_options given = search_options_none();
    if (read_options(o, &given, e) < 0)
        return -1;
    out->options = sweep->search.given ? search_options_overlay(&sweep->search.options, &given) : given;
    struct search_options complete = out->options;
    search_options_complete(&complete);
    set_steps(&sweep->job, &complete, out->options.numbers[SEARCH_END_PROFILE_STEP] != SEARCH_NOT_GIVEN);
    out->wanted = asks_for_anything(&out->options);
    if (sweep->job.last_step > 0 && sweep->job.first_step > sweep->job.last_step)
        return error_set(e, ERROR_USAGE,
                         "end_profile_step: %lld is before start_profile_step, %lld, so no step would count",
                         (long long)sweep->job.last_step, (long long)sweep->job.first_step);
    if (out->wanted && sweep->objective_count == 0 && !search_strategy_has(out->options.strategy, IN_ORDER))
        return error_set(e, ERROR_USAGE,
                         "%s: a search needs an objective; add objective = \"max:METRIC\" or \"min:METRIC\" to "
                         "[sweep], or give --metric max:METRIC",
                         sweep->path);
    return 0;
}

/* As many as can be listed and ranked within a second. */
#define LISTED_MOST 100000
#define DRAWN 10000

struct enumerate_draw search_setup_draw(const struct search_setup *setup)
{
    struct search_options o = setup->options;
    search_options_complete(&o);
    double trials = o.numbers[SEARCH_MAX_TRIALS];
    if (!setup->wanted)
        return (struct enumerate_draw){0};
    return (struct enumerate_draw){.most = LISTED_MOST,
                                   .count = trials > DRAWN ? (int64_t)trials : DRAWN,
                                   .seed = (uint64_t)o.numbers[SEARCH_RANDOM_SEED],
                                   .in_order =
                                       search_strategy_has(o.strategy, IN_ORDER) && o.order == SEARCH_ORDER_DECLARED};
}

static int try_search(const struct search_setup *setup, struct space *space, struct db *db,
                      const struct expression *only, struct error *e)
{
    struct enumeration enumeration = {0};
    struct candidate_set set = {0};
    struct search *search = NULL;
    struct search_options complete = setup->options;
    search_options_complete(&complete);
    struct enumerate_order order = {0};
    if (!only)
        order.draw = search_setup_draw(setup);
    if (enumerate_into(space, db, &order, &enumeration, e) < 0)
        return -1;
    if (enumeration.counts.jobs == 0)
        return 0;
    if (only && enumerate_select(space, db, only, e) < 0)
        return -1;
    const struct candidate_request request = {.space = space,
                                              .db = db,
                                              .sweep_id = enumeration.sweep_id,
                                              .equal_batch = complete.equal_batch != 0,
                                              .only_selected = only != NULL};
    int rc = candidates_load(&request, &set, e);
    if (rc == 0)
        rc = search_create(&set.space, &setup->options, &search, e);
    search_free(search);
    candidates_free(&set);
    return rc;
}

int search_setup_check(const struct search_setup *setup, struct space *space, const struct expression *only,
                       struct error *e)
{
    OWNED_DB *db = NULL;
    if (!setup->wanted)
        return 0;
    return store_open_scratch(&db, e) < 0 ? -1 : try_search(setup, space, db, only, e);
}

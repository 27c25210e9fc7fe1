#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "cli/output.h"
#include "commands/commands.h"
#include "database/open.h"
#include "report/saying.h"
#include "results/json.h"
#include "search/replay.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/memory.h"

/* --- the results of the strategy at work, over all groups and seeds --- */

/* Summarised numbers of a search; from FIRST_LOSS on, the relative losses against searches of all keys at once. */
enum measure { FIRST_SLOWDOWN = 5, FIRST_LOSS = FIRST_SLOWDOWN + REPLAY_MARKS };

struct contest {
    const struct replay_options *options;
    const struct replay_source *source;
    struct replay_group *groups;
    size_t searches;             /* groups × seeds */
    size_t ok, failed, hopeless; /* candidates; groups without a successful one */
    enum replay_predictions predictions;
    uint64_t asked; /* strategies */
    const char *strategy;
    double *values; /* measures × searches; NAN: no such search */
    size_t arrived, made;
    int64_t slowest_us; /* slowest decision */
};

static size_t measure_count(const struct contest *c)
{
    return FIRST_LOSS + c->source->sweep->search.stage_count;
}

static void begin_strategy(struct contest *c, const char *strategy)
{
    c->strategy = strategy;
    c->arrived = c->made = 0;
    c->slowest_us = 0;
    for (size_t i = 0; i < measure_count(c) * c->searches; i++)
        c->values[i] = NAN;
}

static void add_result(struct contest *c, size_t at, const struct replay_result *result)
{
    const double numbers[FIRST_SLOWDOWN] = {(double)result->trials, (double)result->failed, result->device_hours,
                                            (double)result->stop_trials, result->stop_slowdown};
    for (size_t m = 0; m < FIRST_LOSS; m++)
        c->values[m * c->searches + at] = m < FIRST_SLOWDOWN ? numbers[m] : result->slowdown[m - FIRST_SLOWDOWN];
    c->arrived += result->arrived;
    c->made++;
}

/* --- the document --- */

/* Of the values of one group, or of all with SIZE_MAX: those also have an interval. */
static void add_statistics(cJSON *to, const char *name, const struct contest *c, size_t measure, size_t group)
{
    const size_t seeds = (size_t)c->options->seeds;
    const bool all = group == SIZE_MAX;
    const double *values = c->values + measure * c->searches + (all ? 0 : group * seeds);
    const struct replay_statistics s = replay_summarise(values, all ? c->source->group_count : 1, seeds);
    if (isnan(s.mean)) {
        cJSON_AddNullToObject(to, name);
        return;
    }
    cJSON *o = cJSON_AddObjectToObject(to, name);
    JSON_ADD(o, JSON_REAL("mean", s.mean));
    if (all)
        JSON_ADD(o, JSON_REAL("low", s.low), JSON_REAL("high", s.high));
    JSON_ADD(o, JSON_REAL("median", s.median), JSON_REAL("p90", s.p90));
}

static void add_measures(cJSON *to, const struct contest *c, size_t group)
{
    static const char *const names[FIRST_SLOWDOWN] = {"trials", "failed_trials", "hours", "ends_after_trials",
                                                      "ends_at_slowdown"};
    for (size_t m = 0; m < FIRST_SLOWDOWN; m++)
        add_statistics(to, names[m], c, m, group);
    cJSON *slowdowns = cJSON_AddObjectToObject(to, "slowdown");
    for (size_t m = 0; m < REPLAY_MARKS; m++) {
        OWNED char *name = xasprintf("after_%zu", replay_marks[m]);
        add_statistics(slowdowns, name, c, FIRST_SLOWDOWN + m, group);
    }
}

static cJSON *add_group(const struct contest *c, size_t group, cJSON *list)
{
    const struct replay_group *g = &c->groups[group];
    return JSON_ITEM(list, JSON_STRING("group", c->source->group_names[group]), JSON_REAL("best_value", g->best),
                     JSON_INT("best_job", c->source->set.job_ids[g->members[g->winner]]));
}

static void add_strategy(const struct contest *c, cJSON *list)
{
    const struct search_config *search = &c->source->sweep->search;
    cJSON *o =
        JSON_ITEM(list, JSON_STRING("strategy", c->strategy), JSON_INT("searches", c->made),
                  JSON_INT("arrived", c->arrived), JSON_REAL("slowest_decision_ms", (double)c->slowest_us / 1000));
    add_measures(o, c, SIZE_MAX);
    cJSON *joint = cJSON_AddArrayToObject(o, "loss_against_joint");
    for (size_t i = 0; search_strategy_has(c->strategy, IN_STAGES) && i < search->stage_count; i++)
        if (!ANY(k, i, strcmp(search->stages[k].strategy, search->stages[i].strategy) == 0))
            add_statistics(JSON_ITEM(joint, JSON_STRING("strategy", search->stages[i].strategy)), "loss", c,
                           FIRST_LOSS + i, SIZE_MAX);
    cJSON *groups = cJSON_AddArrayToObject(o, "groups");
    for (size_t g = 0; g < c->source->group_count; g++)
        if (c->groups[g].ok > 0)
            add_measures(add_group(c, g, groups), c, g);
}

static cJSON *report_json(const struct contest *c)
{
    cJSON *all = json_document();
    JSON_ADD(all, JSON_STRING("objective", c->source->objective), JSON_INT("group_count", c->source->group_count),
             JSON_INT("groups_without_runnable_job", c->hopeless), JSON_INT("jobs", c->ok + c->failed),
             JSON_INT("failed_jobs", c->failed), JSON_INT("further_replicates", c->source->replicates),
             JSON_INT("infeasible", c->source->infeasible), JSON_INT("excluded_by_rules", c->source->excluded),
             JSON_INT("not_measured", c->source->unmeasured), JSON_INT("seeds", c->options->seeds));
    return all;
}

/* The groups, where they are wanted: with `groups`, or if [sweep] group_by lists some. */
static cJSON *winners_json(const struct contest *c)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t g = 0; (c->options->groups || c->source->has_listed_groups) && g < c->source->group_count; g++)
        add_group(c, g, list);
    return list;
}

/* --- the command --- */

#define EVERY_STRATEGY 63

/* --- one strategy --- */

struct trace {
    struct contest *contest;
    const struct replay_group *group;
    size_t at; /* number of the search */
    size_t made;
    int64_t last_us; /* when what came before was shown; 0: nothing was */
    bool is_wanted;
    struct buffer text;
};

static void trace_decision(void *context, const struct decision *d, const struct replay_outcome *o)
{
    struct trace *t = context;
    const struct replay_source *s = t->contest->source;
    int64_t now = clock_processor_us();
    /* The processor time of one decision, including what was learned from the outcome before it. */
    if (d && t->last_us && now - t->last_us > t->contest->slowest_us)
        t->contest->slowest_us = now - t->last_us;
    t->last_us = now;
    if (!d || !t->is_wanted)
        return;
    buffer_printf(&t->text, "  %zu. job %lld: ", ++t->made, (long long)s->set.job_ids[t->group->members[d->candidate]]);
    if (o->failure)
        buffer_printf(&t->text, "%s", o->failure);
    else
        buffer_printf(&t->text, "%s %.6g (%.1f %% of the best)", s->objective, o->outcome.objective,
                      100 * (s->set.space.maximise ? o->outcome.objective / t->group->best
                                                   : t->group->best / o->outcome.objective));
    buffer_printf(&t->text, "; %s\n", d->reason);
}

static int run_one(struct contest *c, const struct search_options *search, struct trace *trace, uint64_t seed,
                   struct replay_result *out, struct error *e)
{
    const struct replay_options *o = c->options;
    const struct replay_task task = {.group = trace->group,
                                     .options = search,
                                     .concurrent = (size_t)o->jobs,
                                     .target_gap = o->target_gap,
                                     .seed = seed,
                                     .watch = trace_decision,
                                     .context = trace};
    return replay_run(&task, out, e);
}

/* Stages against a search of all keys at once, by the strategy of each stage and with as many trials. */
static int run_joint(struct contest *c, struct trace *trace, size_t seed, const struct replay_result *staged,
                     struct error *e)
{
    const struct search_config *s = &c->source->sweep->search;
    struct search_options joint = search_options_none();
    struct replay_result result;
    joint.numbers[SEARCH_MAX_TRIALS] = (double)staged->stop_trials;
    for (size_t i = 0; i < s->stage_count; i++) {
        joint.strategy = s->stages[i].strategy;
        if (run_one(c, &joint, trace, seed, &result, e) < 0)
            return -1;
        c->values[(FIRST_LOSS + i) * c->searches + trace->at] = staged->stop_slowdown / result.stop_slowdown - 1;
    }
    return 0;
}

static int run_seed(struct contest *c, size_t group, size_t seed, struct error *e)
{
    const struct replay_options *o = c->options;
    const struct replay_error wrong = {o->memory_error, o->time_error, seed, group, c->predictions};
    struct trace trace = {.contest = c,
                          .group = &c->groups[group],
                          .at = group * (size_t)o->seeds + seed,
                          .is_wanted = o->trace && seed == 0};
    struct search_options search = search_options_none();
    struct replay_result result;
    const bool in_stages = search_strategy_has(c->strategy, IN_STAGES);
    search.strategy = c->strategy;
    search.numbers[SEARCH_MAX_TRIALS] = (double)o->max_trials;
    search.stages = in_stages ? c->source->sweep->search.stages : NULL;
    search.stage_count = in_stages ? c->source->sweep->search.stage_count : 0;
    if (o->memory_error > 1 || o->time_error > 1 || c->predictions != REPLAY_GIVEN)
        replay_disturb(&c->groups[group], &c->source->set.space, &wrong);
    if (trace.is_wanted)
        buffer_printf(&trace.text, "%s %s\n", c->strategy, c->source->group_names[group]);
    int rc = run_one(c, &search, &trace, seed, &result, e);
    if (rc == 0 && trace.text.length > 0)
        rc = output_text(buffer_text(&trace.text), e);
    buffer_free(&trace.text);
    if (rc < 0)
        return -1;
    add_result(c, trace.at, &result);
    trace.is_wanted = false;
    return in_stages ? run_joint(c, &trace, seed, &result, e) : 0;
}

static int run_strategy(struct contest *c, struct error *e)
{
    for (size_t g = 0; g < c->source->group_count; g++)
        for (size_t seed = 0; c->groups[g].ok > 0 && seed < (size_t)c->options->seeds; seed++)
            if (run_seed(c, g, seed, e) < 0)
                return -1;
    return 0;
}

/* --- all that were asked for --- */

/* `*asked`: a bit for each strategy, and one for all. */
static int read_strategies(const char *list, uint64_t *asked, struct error *e)
{
    OWNED char *copy = xstrdup(list);
    char *rest = NULL;
    if (!*list)
        return error_set(e, ERROR_USAGE, "--strategy: the name is empty; give one or more, or `all`");
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        const bool all = strcmp(name, "all") == 0;
        const int i = all ? EVERY_STRATEGY : option_find_word("--strategy", name, search_strategy_names, e);
        if (i < 0)
            return -1;
        *asked |= UINT64_C(1) << i;
    }
    return 0;
}

static int run_strategies(struct contest *c, cJSON *results, struct error *e)
{
    struct error why = ERROR_INIT;
    for (int i = 0; search_strategy_names[i]; i++) {
        const char *name = search_strategy_names[i];
        const bool is_there = !search_strategy_has(name, IN_STAGES) || c->source->sweep->search.stage_count > 0;
        if (!(c->asked >> i & 1) && (!is_there || !(c->asked >> EVERY_STRATEGY & 1)))
            continue;
        begin_strategy(c, name);
        if (run_strategy(c, &why) == 0)
            add_strategy(c, results);
        else
            output_message("left out %s: %s", name, why.text);
    }
    if (results->child)
        return 0;
    *e = why;
    return -1;
}

/* Runs and prints. */
static int report(struct contest *c, struct error *e)
{
    OWNED_JSON *document = report_json(c), *winners = winners_json(c);
    OWNED_BUFFER text = BUFFER_INIT;
    c->searches = c->source->group_count * (size_t)c->options->seeds;
    c->values = xcalloc(measure_count(c) * c->searches + 1, sizeof *c->values);
    if (run_strategies(c, cJSON_AddArrayToObject(document, "strategies"), e) < 0)
        return -1;
    if (c->options->json)
        return output_json(document, e);
    int rc = saying_add_text("sql/texts/replay.sql", document, winners, &text, e);
    return rc < 0 ? -1 : output_text(buffer_text(&text), e);
}

static int check_any(const struct contest *c, struct error *e)
{
    if (c->ok)
        return 0;
    return c->source->infeasible
               ? error_set(e, ERROR_NOTHING,
                           "%s: none of the %zu jobs that succeeded meets [sweep] subject_to, so there is nothing to "
                           "find (meshsweep best names the nearest)",
                           c->options->db, c->source->infeasible)
               : error_set(e, ERROR_NOTHING, "%s: no job that succeeded has a value of %s, so there is nothing to find",
                           c->options->db, c->source->objective);
}

static void release(struct contest *c)
{
    free(c->values);
    replay_groups_free(c->groups, c->source->group_count);
}

int command_replay(const struct replay_options *o, struct error *e)
{
    OWNED_DB *db = NULL;
    OWNED_BY(replay_source_free) struct replay_source source = {0};
    OWNED_BY(release) struct contest c = {.options = o, .source = &source};
    while (strcmp(replay_predictions_names[c.predictions], o->predictions) != 0)
        c.predictions++;
    if (read_strategies(o->strategy, &c.asked, e) < 0 || store_open_read_only(o->db, &db, e) < 0 ||
        replay_load(&(struct replay_request){.db = db, .config = o->config, .group_by = o->group_by}, &source, e) < 0)
        return -1;
    c.groups = replay_groups_make(&source.set.space, source.outcomes, source.group_of, source.group_count);
    for (size_t g = 0; g < source.group_count; g++) {
        c.ok += c.groups[g].ok;
        c.failed += c.groups[g].failed;
        c.hopeless += c.groups[g].ok == 0;
    }
    return check_any(&c, e) < 0 ? -1 : report(&c, e);
}

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

/* --- the results for each strategy, over all groups and seeds --- */

/* Summarised numbers of a result. */
enum measure {
    TRIALS,
    FAILED,
    HOURS,
    STOP_TRIALS,
    STOP_SLOWDOWN,
    FIRST_SLOWDOWN,
    MEASURE_COUNT = FIRST_SLOWDOWN + REPLAY_MARKS
};

/* The staged search compared with one of all keys at once. */
struct joint_results {
    const char *strategy;
    double *losses; /* groups × seeds */
};

struct strategy_results {
    const char *name;
    struct joint_results *joint;
    size_t joint_count;
    double *values[MEASURE_COUNT]; /* groups × seeds; NAN: no such search */
    size_t arrived, searches;
    int64_t slowest_us; /* slowest decision */
};

struct replay_report {
    const struct replay_source *source;
    const struct replay_group *groups;
    size_t seeds;
    size_t ok, failed, hopeless; /* candidates; groups without a successful one */
    struct strategy_results *strategies;
    size_t count;
};

/* `source` and `groups` are borrowed and must outlive the report. */
static struct replay_report *replay_report_create(const struct replay_source *source, const struct replay_group *groups,
                                                  size_t seeds)
{
    struct replay_report *r = xcalloc(1, sizeof *r);
    r->source = source;
    r->groups = groups;
    r->seeds = seeds;
    for (size_t g = 0; g < source->group_count; g++) {
        r->ok += groups[g].ok;
        r->failed += groups[g].failed;
        r->hopeless += groups[g].ok == 0;
    }
    return r;
}

static void release(struct strategy_results *s)
{
    for (size_t i = 0; i < s->joint_count; i++)
        free(s->joint[i].losses);
    free(s->joint);
    for (int m = 0; m < MEASURE_COUNT; m++)
        free(s->values[m]);
}

static void replay_report_free(struct replay_report *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++)
        release(&r->strategies[i]);
    free_all(r->strategies, r);
}

static bool replay_report_any_runnable(const struct replay_report *r)
{
    return r->ok > 0;
}

static double *no_values(const struct replay_report *r)
{
    size_t searches = r->source->group_count * r->seeds;
    double *values = xcalloc(searches + 1, sizeof *values);
    for (size_t i = 0; i < searches; i++)
        values[i] = NAN;
    return values;
}

/* Begins the results of a strategy; the name is borrowed. */
static void replay_report_begin(struct replay_report *r, const char *strategy)
{
    struct strategy_results *s = array_add(r->strategies, r->count);
    *s = (struct strategy_results){.name = strategy};
    for (int m = 0; m < MEASURE_COUNT; m++)
        s->values[m] = no_values(r);
}

static void replay_report_add(struct replay_report *r, size_t group, size_t seed, const struct replay_result *result)
{
    struct strategy_results *s = &r->strategies[r->count - 1];
    size_t at = group * r->seeds + seed;
    s->values[TRIALS][at] = (double)result->trials;
    s->values[FAILED][at] = (double)result->failed;
    s->values[HOURS][at] = result->device_hours;
    s->values[STOP_TRIALS][at] = (double)result->stop_trials;
    s->values[STOP_SLOWDOWN][at] = result->stop_slowdown;
    for (size_t m = 0; m < REPLAY_MARKS; m++)
        s->values[FIRST_SLOWDOWN + m][at] = result->slowdown[m];
    s->arrived += result->arrived;
    s->searches++;
}

/* Adds the relative loss against `strategy`, which searched all keys at once with as many trials. It may be added again
 * for the same search: the result is the same. */
static void replay_report_add_joint(struct replay_report *r, const char *strategy, size_t group, size_t seed,
                                    double loss)
{
    struct strategy_results *s = &r->strategies[r->count - 1];
    size_t i = FIRST(k, s->joint_count, strcmp(s->joint[k].strategy, strategy) == 0);
    if (i == s->joint_count) {
        s->joint = array_grow(s->joint, s->joint_count++, sizeof *s->joint);
        s->joint[i] = (struct joint_results){strategy, no_values(r)};
    }
    s->joint[i].losses[group * r->seeds + seed] = loss;
}

static struct replay_statistics joint_loss(const struct replay_report *r, const struct joint_results *j)
{
    return replay_summarise(j->losses, r->source->group_count, r->seeds);
}

/* Adds the processor time of one decision, including what was learned from the outcome before it. */
static void replay_report_decision(struct replay_report *r, int64_t us)
{
    struct strategy_results *s = &r->strategies[r->count - 1];
    s->slowest_us = us > s->slowest_us ? us : s->slowest_us;
}

/* Removes the strategy begun last. */
static void replay_report_withdraw(struct replay_report *r)
{
    release(&r->strategies[--r->count]);
}

/* For one group, or for all with SIZE_MAX. */
static struct replay_statistics summary(const struct replay_report *r, const struct strategy_results *s, enum measure m,
                                        size_t group)
{
    if (group == SIZE_MAX)
        return replay_summarise(s->values[m], r->source->group_count, r->seeds);
    return replay_summarise(s->values[m] + group * r->seeds, 1, r->seeds);
}

/* --- the document --- */

static int64_t winner_of(const struct replay_report *r, size_t group)
{
    const struct replay_group *g = &r->groups[group];
    return r->source->set.job_ids[g->members[g->winner]];
}

static void add_statistics(cJSON *to, const char *name, struct replay_statistics s, bool interval)
{
    if (isnan(s.mean)) {
        cJSON_AddNullToObject(to, name);
        return;
    }
    cJSON *o = cJSON_AddObjectToObject(to, name);
    cJSON_AddNumberToObject(o, "mean", s.mean);
    if (interval) {
        JSON_ADD(o, JSON_REAL("low", s.low), JSON_REAL("high", s.high));
    }
    JSON_ADD(o, JSON_REAL("median", s.median), JSON_REAL("p90", s.p90));
}

static void add_measures(cJSON *to, const struct replay_report *r, const struct strategy_results *s, size_t group)
{
    bool all = group == SIZE_MAX;
    add_statistics(to, "trials", summary(r, s, TRIALS, group), all);
    add_statistics(to, "failed_trials", summary(r, s, FAILED, group), all);
    add_statistics(to, "hours", summary(r, s, HOURS, group), all);
    add_statistics(to, "ends_after_trials", summary(r, s, STOP_TRIALS, group), all);
    add_statistics(to, "ends_at_slowdown", summary(r, s, STOP_SLOWDOWN, group), all);
    cJSON *slowdowns = cJSON_AddObjectToObject(to, "slowdown");
    for (size_t m = 0; m < REPLAY_MARKS; m++) {
        OWNED char *name = xasprintf("after_%zu", replay_marks[m]);
        add_statistics(slowdowns, name, summary(r, s, (enum measure)(FIRST_SLOWDOWN + m), group), all);
    }
}

static cJSON *strategy_json(const struct replay_report *r, const struct strategy_results *s)
{
    cJSON *o = cJSON_CreateObject();
    JSON_ADD(o, JSON_STRING("strategy", s->name), JSON_INT("searches", s->searches), JSON_INT("arrived", s->arrived),
             JSON_REAL("slowest_decision_ms", (double)s->slowest_us / 1000));
    add_measures(o, r, s, SIZE_MAX);
    cJSON *joint = cJSON_AddArrayToObject(o, "loss_against_joint");
    for (size_t i = 0; i < s->joint_count; i++) {
        cJSON *against = cJSON_CreateObject();
        cJSON_AddStringToObject(against, "strategy", s->joint[i].strategy);
        add_statistics(against, "loss", joint_loss(r, &s->joint[i]), true);
        cJSON_AddItemToArray(joint, against);
    }
    cJSON *groups = cJSON_AddArrayToObject(o, "groups");
    for (size_t g = 0; g < r->source->group_count; g++) {
        if (r->groups[g].ok == 0)
            continue;
        cJSON *group = JSON_ITEM(groups, JSON_STRING("group", r->source->group_names[g]),
                                 JSON_REAL("best_value", r->groups[g].best), JSON_INT("best_job", winner_of(r, g)));
        add_measures(group, r, s, g);
    }
    return o;
}

static cJSON *replay_report_json(const struct replay_report *r)
{
    cJSON *all = json_document();
    JSON_ADD(all, JSON_STRING("objective", r->source->objective), JSON_INT("group_count", r->source->group_count),
             JSON_INT("groups_without_runnable_job", r->hopeless), JSON_REAL("jobs", (double)(r->ok + r->failed)),
             JSON_INT("failed_jobs", r->failed), JSON_INT("further_replicates", r->source->replicates),
             JSON_INT("infeasible", r->source->infeasible), JSON_INT("excluded_by_rules", r->source->excluded),
             JSON_INT("not_measured", r->source->unmeasured), JSON_INT("seeds", r->seeds));
    cJSON *strategies = cJSON_AddArrayToObject(all, "strategies");
    for (size_t i = 0; i < r->count; i++)
        cJSON_AddItemToArray(strategies, strategy_json(r, &r->strategies[i]));
    return all;
}

/* [name, best value, job] of each group, where they are wanted: with `groups`, or if [sweep] group_by lists some. */
static cJSON *winners_json(const struct replay_report *r, bool groups)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t g = 0; (groups || r->source->has_listed_groups) && g < r->source->group_count; g++) {
        cJSON *group = cJSON_CreateArray();
        cJSON_AddItemToArray(group, cJSON_CreateString(r->source->group_names[g]));
        if (r->groups[g].ok > 0) {
            cJSON_AddItemToArray(group, cJSON_CreateNumber(r->groups[g].best));
            cJSON_AddItemToArray(group, cJSON_CreateNumber((double)winner_of(r, g)));
        }
        cJSON_AddItemToArray(list, group);
    }
    return list;
}

/* --- the command --- */

#define EVERY_STRATEGY "all"

struct contest {
    const struct replay_options *options;
    const struct replay_source *source;
    struct replay_group *groups;
    struct replay_report *report;
    const char *strategy;
    enum replay_predictions predictions;
};

/* --- one strategy --- */

struct trace {
    const struct contest *contest;
    const struct replay_group *group;
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
    if (d && t->last_us)
        replay_report_decision(t->contest->report, now - t->last_us);
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
        replay_report_add_joint(c->report, joint.strategy, (size_t)(trace->group - c->groups), seed,
                                staged->stop_slowdown / result.stop_slowdown - 1);
    }
    return 0;
}

static int run_seed(struct contest *c, size_t group, size_t seed, struct error *e)
{
    const struct replay_options *o = c->options;
    const struct replay_error wrong = {o->memory_error, o->time_error, seed, group, c->predictions};
    struct trace trace = {.contest = c, .group = &c->groups[group], .is_wanted = o->trace && seed == 0};
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
    replay_report_add(c->report, group, seed, &result);
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

static bool is_asked_for(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *p = list; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
        if (strcspn(p, ",") == length && strncmp(p, name, length) == 0)
            return true;
    return false;
}

static int check_strategies(const char *list, struct error *e)
{
    char *copy = xstrdup(list), *rest = NULL;
    int rc = *list ? 0 : error_set(e, ERROR_USAGE, "--strategy: the name is empty; give one or more, or `all`");
    for (char *name = strtok_r(copy, ",", &rest); rc == 0 && name; name = strtok_r(NULL, ",", &rest))
        if (strcmp(name, EVERY_STRATEGY) != 0 && option_find_word("--strategy", name, search_strategy_names, e) < 0)
            rc = -1;
    free(copy);
    return rc;
}

static int run_strategies(struct contest *c, struct error *e)
{
    const char *list = c->options->strategy;
    size_t done = 0;
    struct error why = ERROR_INIT;
    for (const char *const *name = search_strategy_names; *name; name++) {
        const bool is_there = !search_strategy_has(*name, IN_STAGES) || c->source->sweep->search.stage_count > 0;
        if (!is_asked_for(list, *name) && (!is_there || !is_asked_for(list, EVERY_STRATEGY)))
            continue;
        c->strategy = *name;
        replay_report_begin(c->report, *name);
        if (run_strategy(c, &why) == 0) {
            done++;
            continue;
        }
        replay_report_withdraw(c->report);
        output_message("left out %s: %s", *name, why.text);
    }
    if (done > 0)
        return 0;
    *e = why;
    return -1;
}

static int print(const struct replay_report *r, const struct replay_options *o, struct error *e)
{
    OWNED_JSON *document = replay_report_json(r), *winners = winners_json(r, o->groups);
    OWNED_BUFFER text = BUFFER_INIT;
    int rc = o->json ? output_json(document, e) : saying_add_text("sql/texts/replay.sql", document, winners, &text, e);
    return rc == 0 && !o->json ? output_text(buffer_text(&text), e) : rc;
}

int command_replay(const struct replay_options *o, struct error *e)
{
    const struct replay_request request = {.config = o->config, .group_by = o->group_by};
    struct replay_request with_db = request;
    struct replay_source source = {0};
    struct contest c = {.options = o, .source = &source};
    while (strcmp(replay_predictions_names[c.predictions], o->predictions) != 0)
        c.predictions++;
    if (check_strategies(o->strategy, e) < 0 || store_open_read_only(o->db, &with_db.db, e) < 0)
        return -1;
    int rc = replay_load(&with_db, &source, e);
    if (rc == 0) {
        c.groups = replay_groups_make(&source.set.space, source.outcomes, source.group_of, source.group_count);
        c.report = replay_report_create(&source, c.groups, (size_t)o->seeds);
        if (!replay_report_any_runnable(c.report) && source.infeasible > 0)
            rc = error_set(e, ERROR_NOTHING,
                           "%s: none of the %zu jobs that succeeded meets [sweep] subject_to, so there is nothing to "
                           "find (meshsweep best names the nearest)",
                           o->db, source.infeasible);
        else if (!replay_report_any_runnable(c.report))
            rc = error_set(e, ERROR_NOTHING, "%s: no job that succeeded has a value of %s, so there is nothing to find",
                           o->db, source.objective);
    }
    if (rc == 0)
        rc = run_strategies(&c, e);
    if (rc == 0)
        rc = print(c.report, o, e);
    replay_report_free(c.report);
    replay_groups_free(c.groups, source.group_count);
    replay_source_free(&source);
    store_close(with_db.db);
    return rc;
}

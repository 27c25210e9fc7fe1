#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answers/replay_report.h"
#include "cli/command.h"
#include "cli/output.h"
#include "database/open.h"
#include "search/replay_load.h"
#include "util/clock.h"
#include "util/memory.h"

#define EVERY_STRATEGY "all"

struct replay_options {
    const char *db, *config, *group_by, *strategy, *predictions;
    int64_t seeds, jobs, max_trials;
    double target_gap, memory_error, time_error;
    bool groups, trace, json;
};

#define AT(member) offsetof(struct replay_options, member)

static const struct option options[] = {
    OPTION_DB(AT(db)),
    {.name = "config",
     .letter = 'c',
     .kind = OPTION_STRING,
     .offset = AT(config),
     .value = "FILE",
     .help = "use this sweep file instead of the one in the database"},
    {.name = "strategy",
     .kind = OPTION_STRING,
     .offset = AT(strategy),
     .value = "NAME,...",
     .help = "the strategies to try, or `all`",
     .choices = search_strategy_names,
     .fallback = EVERY_STRATEGY},
    {.name = "group-by",
     .offer = OFFER_COLUMNS,
     .kind = OPTION_STRING,
     .offset = AT(group_by),
     .value = "KEY,...",
     .help = "one search for each value of these columns of `results` (model, devices, batch)"},
    {.name = "seeds",
     .kind = OPTION_INT,
     .offset = AT(seeds),
     .value = "N",
     .help = "number of searches in each group",
     .fallback = "20",
     .least = 1,
     .most = 100000},
    {.name = "jobs",
     .letter = 'j',
     .kind = OPTION_INT,
     .offset = AT(jobs),
     .value = "N",
     .help = "trials at a time",
     .fallback = "1",
     .least = 1,
     .most = 65536},
    {.name = "max-trials",
     .kind = OPTION_INT,
     .offset = AT(max_trials),
     .value = "N",
     .help = "stop a strategy after N trials; 0: no limit",
     .fallback = "0",
     .least = 0,
     .most = INFINITY},
    {.name = "target-gap",
     .kind = OPTION_DOUBLE,
     .offset = AT(target_gap),
     .value = "SHARE",
     .help = "how far from the best counts as good enough",
     .fallback = "0.05",
     .least = 0,
     .most = 0.999999},
    {.name = "memory-error",
     .kind = OPTION_DOUBLE,
     .offset = AT(memory_error),
     .value = "X",
     .help = "make predicted memory wrong by a factor between 1/X and X",
     .fallback = "1",
     .least = 1,
     .most = 1000},
    {.name = "time-error",
     .kind = OPTION_DOUBLE,
     .offset = AT(time_error),
     .value = "X",
     .help = "make each coefficient of predicted time wrong in the same way",
     .fallback = "1",
     .least = 1,
     .most = 1000},
    {.name = "predictions",
     .kind = OPTION_STRING,
     .offset = AT(predictions),
     .value = "NAME",
     .help = "given, inverted (the best is predicted to be the worst) or none",
     .choices = replay_predictions_names,
     .fallback = "given"},
    {.name = "groups", .kind = OPTION_FLAG, .offset = AT(groups), .help = "also print a row for each group"},
    {.name = "trace",
     .kind = OPTION_FLAG,
     .offset = AT(trace),
     .help = "print every decision of the first search in each group, with its reason"},
    {.name = "json", .kind = OPTION_FLAG, .offset = AT(json), .help = "print everything as JSON"},
    {.name = NULL},
};

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
    if (o->outcome.failure)
        buffer_printf(&t->text, "%s", o->outcome.failure);
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
                                     .order_seed = seed,
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
    const bool in_stages = strcmp(c->strategy, SEARCH_STAGE_BY_STAGE) == 0;
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
        const bool is_there = strcmp(*name, SEARCH_STAGE_BY_STAGE) != 0 || c->source->sweep->search.stage_count > 0;
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

static int replay(const struct arguments *a, struct error *e)
{
    const struct replay_options *o = a->options;
    const struct replay_request request = {.config = o->config, .group_by = o->group_by};
    struct replay_request with_db = request;
    struct replay_source source = {0};
    struct buffer text = BUFFER_INIT;
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
    if (rc == 0 && o->json)
        rc = replay_report_json(c.report, &output_json, e);
    else if (rc == 0) {
        replay_report_text(c.report, o->groups, &text);
        rc = output_text(buffer_text(&text), e);
    }
    buffer_free(&text);
    replay_report_free(c.report);
    replay_groups_free(c.groups, source.group_count);
    replay_source_free(&source);
    store_close(with_db.db);
    return rc;
}

const struct command replay_command = {
    .name = "replay",
    .summary = "Try search strategies on a database of measured jobs",
    .usage = "[OPTIONS]",
    .example = "meshsweep replay -d measured.db --group-by layers,num_hosts\n"
               "meshsweep replay -d measured.db --strategy model,random --memory-error 1.5 --time-error 2.8",
    .options = options,
    .options_bytes = sizeof(struct replay_options),
    .pages = true,
    .run = replay,
};

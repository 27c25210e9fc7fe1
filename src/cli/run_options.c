#include "cli/run_options.h"

#include <math.h>

#define AT(member) offsetof(struct run_options, member)

static const char *const progress_words[] = {
    [PROGRESS_AUTO] = "auto", [PROGRESS_TTY] = "tty",   [PROGRESS_PLAIN] = "plain",
    [PROGRESS_JSON] = "json", [PROGRESS_NONE] = "none", NULL,
};
static const char *const strategy_words[] = {[STRATEGY_GRID] = "grid", NULL};
static const char *const executor_words[] = {[EXECUTOR_LOCAL] = "local", NULL};

#define WHAT_TO_MATCH \
    {.name = "config", .letter = 'c', .kind = OPTION_STRING, .offset = AT(config), .value = "FILE", \
     .help = "the sweep file", .fallback = "sweep.toml"}, \
    {.name = "db", .letter = 'd', .kind = OPTION_STRING, .offset = AT(db), .value = "FILE", \
     .help = "the database", .fallback = "results.db"}, \
    {.name = "only", .kind = OPTION_STRING, .offset = AT(only), .value = "SQL", \
     .help = "only jobs for which this is true: 'tp = 2 AND layers > 4'"}, \
    {.name = "limit", .kind = OPTION_INT, .offset = AT(limit), .value = "N", \
     .help = "at most N jobs", .least = 1, .most = INFINITY}, \
    {.name = "retry-failed", .kind = OPTION_STRING, .offset = AT(retry_failed), .value = "CLASS,...", \
     .help = "failed jobs too, or those of some classes (oom, timeout, ...)", .value_optional = true}, \
    {.name = "prune", .kind = OPTION_STRING, .offset = AT(prune), .value = "HOW", \
     .help = "leave out what cannot fit: sound, estimate or off"}, \
    {.name = "strategy", .kind = OPTION_CHOICE, .offset = AT(strategy), .value = "NAME", \
     .help = "what runs next: grid", .choices = strategy_words, .fallback = "grid"}, \
    {.name = "executor", .kind = OPTION_CHOICE, .offset = AT(executor), .value = "NAME", \
     .help = "where jobs run: local", .choices = executor_words, .fallback = "local"}, \
    {.name = "manual-job-timeout", .kind = OPTION_DURATION, .offset = AT(manual_timeout_ms), .value = "SECONDS", \
     .help = "limit of jobs whose plan is given (600)"}, \
    {.name = "command", .kind = OPTION_STRING, .offset = AT(command), .value = "LINE", \
     .help = "a shell line in place of the file's command"}, \
    {.name = "search-model", .kind = OPTION_FLAG, .offset = AT(search_model), \
     .help = "take the models from [model_space]"}, \
    {.name = "json", .kind = OPTION_FLAG, .offset = AT(json), .help = "the plan as JSON"}, \
    {.name = "all", .kind = OPTION_FLAG, .offset = AT(all), .help = "every job of the plan, not the first ones"}

const struct option run_option_table[] = {
    WHAT_TO_MATCH,
    {.name = "dry-run", .letter = 'D', .kind = OPTION_FLAG, .offset = AT(dry_run),
     .help = "show the plan (see meshsweep plan), run nothing"},
    {.name = "jobs", .letter = 'j', .kind = OPTION_INT, .offset = AT(jobs), .value = "N",
     .help = "jobs at a time", .least = 1, .most = 65536},
    {.name = "max-fail", .kind = OPTION_INT, .offset = AT(max_fail), .value = "N",
     .help = "start nothing new after N failed jobs", .least = 1, .most = INFINITY},
    {.name = "progress", .kind = OPTION_CHOICE, .offset = AT(progress), .value = "HOW",
     .help = "auto, tty, plain, json or none", .choices = progress_words, .fallback = "auto"},
    {.name = NULL},
};

const struct option plan_option_table[] = {
    WHAT_TO_MATCH,
    {.name = NULL},
};

#include "cli/run_options.h"

#include <math.h>

#include "config/search_options.h"
#include "metrics/classify.h"

#define AT(member) offsetof(struct run_options, member)

const char *const run_progress_words[] = {
    [PROGRESS_AUTO] = "auto", [PROGRESS_TTY] = "tty",   [PROGRESS_PLAIN] = "plain",
    [PROGRESS_JSON] = "json", [PROGRESS_NONE] = "none", NULL,
};
static const char *const switch_words[] =
    {[SWITCH_NOT_GIVEN] = "as configured", [SWITCH_ON] = "on", [SWITCH_OFF] = "off", NULL};
static const char *const prune_words[] = {"sound", "estimate", "off", NULL};
static const char *const executor_words[] = {[EXECUTOR_LOCAL] = "local", [EXECUTOR_SLURM] = "slurm", NULL};

#define WHAT_TO_MATCH                                                                                                  \
    {.name = "config",                                                                                                 \
     .letter = 'c',                                                                                                    \
     .kind = OPTION_STRING,                                                                                            \
     .offset = AT(config),                                                                                             \
     .value = "FILE",                                                                                                  \
     .help = "the sweep file",                                                                                         \
     .fallback = "sweep.toml"},                                                                                        \
        OPTION_DB(AT(db)),                                                                                             \
        {.name = "only",                                                                                               \
         .offer = OFFER_KEYS,                                                                                          \
         .kind = OPTION_STRING,                                                                                        \
         .offset = AT(only),                                                                                           \
         .value = "SQL",                                                                                               \
         .help = "only jobs for which this is true: 'tp = 2 AND layers > 4'"},                                         \
        {.name = "limit",                                                                                              \
         .kind = OPTION_INT,                                                                                           \
         .offset = AT(limit),                                                                                          \
         .value = "N",                                                                                                 \
         .help = "at most N jobs",                                                                                     \
         .least = 1,                                                                                                   \
         .most = INFINITY},                                                                                            \
        {.name = "retry-failed",                                                                                       \
         .kind = OPTION_STRING,                                                                                        \
         .offset = AT(retry_failed),                                                                                   \
         .value = "CLASS,...",                                                                                         \
         .help = "failed jobs too, or those of some classes: oom, timeout",                                            \
         .choices = failure_names + 1,                                                                                 \
         .value_optional = true},                                                                                      \
        {.name = "prune",                                                                                              \
         .kind = OPTION_STRING,                                                                                        \
         .offset = AT(prune),                                                                                          \
         .value = "HOW",                                                                                               \
         .help = "leave out what cannot fit: sound, estimate or off",                                                  \
         .choices = prune_words},                                                                                      \
        {.name = "executor",                                                                                           \
         .kind = OPTION_CHOICE,                                                                                        \
         .offset = AT(executor),                                                                                       \
         .value = "NAME",                                                                                              \
         .help = "where jobs run: local or slurm",                                                                     \
         .choices = executor_words,                                                                                    \
         .fallback = "local"},                                                                                         \
        {.name = "in-allocation",                                                                                      \
         .kind = OPTION_FLAG,                                                                                          \
         .offset = AT(in_allocation),                                                                                  \
         .help = "with Slurm: in the nodes of the allocation that this runs in"},                                      \
        {.name = "manual-job-timeout",                                                                                 \
         .kind = OPTION_DURATION,                                                                                      \
         .offset = AT(manual_timeout_ms),                                                                              \
         .value = "SECONDS",                                                                                           \
         .help = "limit of jobs whose plan is given (600)"},                                                           \
        {.name = "command",                                                                                            \
         .kind = OPTION_STRING,                                                                                        \
         .offset = AT(command),                                                                                        \
         .value = "LINE",                                                                                              \
         .help = "a shell line in place of the file's command"},                                                       \
        {.name = "search-model",                                                                                       \
         .kind = OPTION_FLAG,                                                                                          \
         .offset = AT(search_model),                                                                                   \
         .help = "take the models from [model_space]"},                                                                \
        {.name = "json", .kind = OPTION_FLAG, .offset = AT(json), .help = "the plan as JSON"},                         \
    {                                                                                                                  \
        .name = "all", .kind = OPTION_FLAG, .offset = AT(all), .help = "every job of the plan, not the first ones"     \
    }

#define SEARCH_NUMBER(option, which, unit, text)                                                                       \
    {                                                                                                                  \
        .name = option, .kind = OPTION_STRING, .offset = AT(search_numbers[which]), .value = unit, .help = text        \
    }
#define RARE_NUMBER(option, which, unit, text)                                                                         \
    {                                                                                                                  \
        .name = option, .kind = OPTION_STRING, .offset = AT(search_numbers[which]), .value = unit, .help = text,       \
        .rare = true                                                                                                   \
    }

/* The numbers stand in config/search_options.c with their bounds and defaults. */
#define SEARCH_OPTIONS                                                                                                 \
    {.name = "strategy",                                                                                               \
     .kind = OPTION_STRING,                                                                                            \
     .offset = AT(strategy),                                                                                           \
     .value = "NAME",                                                                                                  \
     .help = "grid (default), random, binary, asha, model, dsat-*, ...",                                               \
     .choices = search_strategy_names},                                                                                \
        SEARCH_NUMBER("max-trials", SEARCH_MAX_TRIALS, "N",                                                            \
                      "trials in all; 0: no limit (64; dsat-*: 50; grid: none)"),                                      \
        RARE_NUMBER("max-concurrent-trials", SEARCH_MAX_CONCURRENT_TRIALS, "N", "trials at a time (16)"),              \
        RARE_NUMBER("max-slots", SEARCH_MAX_SLOTS, "N", "devices in use at a time"),                                   \
        {.name = "metric",                                                                                             \
         .offer = OFFER_METRICS,                                                                                       \
         .kind = OPTION_STRING,                                                                                        \
         .offset = AT(metric),                                                                                         \
         .value = "NAME",                                                                                              \
         .help = "the objective: a metric's name, max:NAME or min:NAME"},                                              \
        {.name = "zero-stages",                                                                                        \
         .rare = true,                                                                                                 \
         .kind = OPTION_STRING,                                                                                        \
         .offset = AT(zero_stages),                                                                                    \
         .value = "N,...",                                                                                             \
         .many = true,                                                                                                 \
         .help = "ZeRO stages to search (all; dsat-*: 1,2,3)"},                                                        \
        {.name = "order",                                                                                              \
         .rare = true,                                                                                                 \
         .kind = OPTION_STRING,                                                                                        \
         .offset = AT(order),                                                                                          \
         .value = "HOW",                                                                                               \
         .help = "of grid: declared (default), predicted, shuffled",                                                   \
         .choices = search_order_names},                                                                               \
        RARE_NUMBER("early-stopping", SEARCH_EARLY_STOPPING, "N", "end after N trials without a better one"),          \
        RARE_NUMBER("random-seed", SEARCH_RANDOM_SEED, "N", "of all draws (42)"),                                      \
        RARE_NUMBER("start-profile-step", SEARCH_START_PROFILE_STEP, "N",                                              \
                    "samples of earlier steps do not count (dsat-*: 3)"),                                              \
        RARE_NUMBER("end-profile-step", SEARCH_END_PROFILE_STEP, "N", "end a job after this step (dsat-*: 5)"),        \
        RARE_NUMBER("trials-per-random-config", SEARCH_TRIALS_PER_RANDOM_CONFIG, "N",                                  \
                    "dsat-random: trials of one configuration (5)"),                                                   \
        RARE_NUMBER("search-range-factor", SEARCH_RANGE_FACTOR, "X", "times the estimated largest micro-batch (1)"),   \
        RARE_NUMBER("max-rungs", SEARCH_MAX_RUNGS, "N", "asha: rungs (5)"),                                            \
        RARE_NUMBER("divisor", SEARCH_DIVISOR, "N", "asha: one in N goes on (2)"),                                     \
        RARE_NUMBER("min-binary-search-trials", SEARCH_MIN_BINARY_SEARCH_TRIALS, "N",                                  \
                    "dsat-asha: trials of the lowest rung (3)"),                                                       \
        RARE_NUMBER("asha-early-stopping", SEARCH_ASHA_EARLY_STOPPING, "N", "asha: rungs left out at the bottom (0)"), \
        RARE_NUMBER("min-steps", SEARCH_MIN_STEPS, "N", "asha: measured steps of the lowest rung (4)"),                \
        RARE_NUMBER("num-tuning-micro-batch-sizes", SEARCH_NUM_TUNING_MICRO_BATCH_SIZES, "N",                          \
                    "deepspeed-*: micro-batches per ZeRO stage (3)"),                                                  \
        SEARCH_NUMBER("budget", SEARCH_BUDGET, "HOURS", "device-hours to spend"),                                      \
        SEARCH_NUMBER("deadline", SEARCH_DEADLINE, "DURATION", "start nothing new after this long"),                   \
        RARE_NUMBER("target-gap", SEARCH_TARGET_GAP, "SHARE", "model: end when no more than this is expected (0.02)"), \
        RARE_NUMBER("confidence", SEARCH_CONFIDENCE, "SHARE", "of ending a beaten job rightly (0.95)"),                \
        {.name = "racing",                                                                                             \
         .rare = true,                                                                                                 \
         .kind = OPTION_CHOICE,                                                                                        \
         .offset = AT(racing),                                                                                         \
         .value = "on|off",                                                                                            \
         .choices = switch_words,                                                                                      \
         .help = "end running jobs that cannot become the best"},                                                      \
        {.name = "equal-batch",                                                                                        \
         .rare = true,                                                                                                 \
         .kind = OPTION_CHOICE,                                                                                        \
         .offset = AT(equal_batch),                                                                                    \
         .value = "on|off",                                                                                            \
         .choices = switch_words,                                                                                      \
         .help = "compare at equal global batch only (on)"},                                                           \
        SEARCH_NUMBER("confirm", SEARCH_CONFIRM, "N", "runs of each whose interval overlaps the best's"),              \
    {                                                                                                                  \
        .name = "run-full-experiment", .kind = OPTION_FLAG, .offset = AT(run_full_experiment),                         \
        .help = "then launch the winner"                                                                               \
    }

const struct option run_option_table[] = {
    WHAT_TO_MATCH,
    {.name = "dry-run",
     .letter = 'D',
     .kind = OPTION_FLAG,
     .offset = AT(dry_run),
     .help = "show the plan (see meshsweep plan), run nothing"},
    OPTIONS_OF_STARTS,
    {.name = "detach",
     .kind = OPTION_FLAG,
     .offset = AT(detach),
     .help = "with Slurm: submit and leave; the next run collects"},
    {.name = "release",
     .kind = OPTION_FLAG,
     .offset = AT(release),
     .help = "try now what waits for its host, in turn what was to run last"},
    OPTION_PROGRESS,
    SEARCH_OPTIONS,
    {.name = "stale", .kind = OPTION_FLAG, .offset = AT(stale), .help = "results of other surroundings again, too"},
    {.name = NULL},
};

const struct option plan_option_table[] = {
    WHAT_TO_MATCH,
    SEARCH_OPTIONS,
    {.name = NULL},
};

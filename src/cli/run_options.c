#include "cli/run_options.h"

#include <math.h>

#include "config/search_options.h"
#include "metrics/classify.h"
#include "util/embedded.h"

#define AT(member) offsetof(struct run_options, member)

const char *const run_progress_words[] = {
    [PROGRESS_AUTO] = "auto", [PROGRESS_TTY] = "tty",   [PROGRESS_PLAIN] = "plain",
    [PROGRESS_JSON] = "json", [PROGRESS_NONE] = "none", NULL,
};
static const char *const switch_words[] =
    {[SWITCH_NOT_GIVEN] = "as configured", [SWITCH_ON] = "on", [SWITCH_OFF] = "off", NULL};
static const char *const prune_words[] = {"sound", "estimate", "off", NULL};

#define WHAT_TO_MATCH(of_run)                                                                                          \
    OPTION(STRING, "config", AT(config), "FILE", "the sweep file", .letter = 'c', .fallback = "sweep.toml"),           \
        OPTION_DB(AT(db)),                                                                                             \
        OPTION(STRING, "only", AT(only), "SQL", "only jobs that satisfy this condition: 'tp = 2 AND layers > 4'",      \
               .offer = OFFER_KEYS),                                                                                   \
        OPTION(STRING, "shard", AT(shard), "K/N", "only part K of N, such as 3/8, by job key"),                        \
        OPTION(INT, "limit", AT(limit), "N", "at most N jobs", .least = 1, .most = INFINITY),                          \
        OPTION(STRING, "retry-failed", AT(retry_failed), "CLASS,...",                                                  \
               "also failed jobs: all, or of some classes, such as oom,timeout", .choices = failure_names + 1,         \
               .value_optional = true),                                                                                \
        OPTION(STRING, "prune", AT(prune), "HOW", "skip what cannot fit: sound, estimate or off",                      \
               .choices = prune_words, .rare = true),                                                                  \
        OPTION(STRING, "executor", AT(executor), "NAME",                                                               \
               "where jobs run: local (default), slurm, ssh, ..., or a TOML file", .choices = executor_names),         \
        OPTION(FLAG, "in-allocation", AT(in_allocation), NULL, "with Slurm: inside the current allocation",            \
               .rare = true),                                                                                          \
        OPTION(FLAG, "several-hosts", AT(several_hosts), NULL,                                                         \
               "the command itself starts processes on a job's other hosts", .rare = true),                            \
        OPTION(DURATION, "manual-job-timeout", AT(manual_timeout_ms), "SECONDS",                                       \
               "time limit of jobs whose plan is given (default 600)", .rare = true),                                  \
        OPTION(STRING, "command", AT(command), "LINE", "shell line to run instead of the file's", .rare = true),       \
        OPTION(FLAG, "search-model", AT(search_model), NULL, "take the models from [model_space]", .rare = true),      \
        OPTION(FLAG, "json", AT(json), NULL, "print the plan as JSON", .rare = (of_run)),                              \
        OPTION(FLAG, "all", AT(all), NULL, "list every job of the plan", .rare = (of_run))

#define SEARCH_NUMBER(option, which, unit, text) OPTION(STRING, option, AT(search_numbers[which]), unit, text)
#define RARE_NUMBER(option, which, unit, text)                                                                         \
    OPTION(STRING, option, AT(search_numbers[which]), unit, text, .rare = true)

/* The numbers stand in config/search_options.c with their bounds and defaults. */
#define SEARCH_OPTIONS                                                                                                 \
    OPTION(STRING, "strategy", AT(strategy), "NAME", "grid (default), random, binary, asha, model, dsat-*, ...",       \
           .choices = search_strategy_names),                                                                          \
        SEARCH_NUMBER("max-trials", SEARCH_MAX_TRIALS, "N",                                                            \
                      "maximum number of trials; 0: no limit (default 64; dsat-*: 50; grid, deepspeed-*, "             \
                      "stage-by-stage: none)"),                                                                        \
        RARE_NUMBER("max-concurrent-trials", SEARCH_MAX_CONCURRENT_TRIALS, "N", "trials at a time (default 16)"),      \
        RARE_NUMBER("max-slots", SEARCH_MAX_SLOTS, "N", "devices in use at a time"),                                   \
        OPTION(STRING, "metric", AT(metric), "NAME", "the objective: a metric's name, max:NAME or min:NAME",           \
               .offer = OFFER_METRICS, .rare = true),                                                                  \
        OPTION(STRING, "zero-stages", AT(zero_stages), "N,...", "ZeRO stages to search (default all; dsat-*: 1,2,3)",  \
               .rare = true, .many = true),                                                                            \
        OPTION(STRING, "order", AT(order), "HOW", "order of grid: declared (default), predicted, shuffled",            \
               .choices = search_order_names, .rare = true),                                                           \
        RARE_NUMBER("early-stopping", SEARCH_EARLY_STOPPING, "N", "end after N trials without a better one"),          \
        RARE_NUMBER("random-seed", SEARCH_RANDOM_SEED, "N", "seed of all random draws (default 42)"),                  \
        RARE_NUMBER("start-profile-step", SEARCH_START_PROFILE_STEP, "N",                                              \
                    "ignore samples of earlier steps (default of dsat-*: 3)"),                                         \
        RARE_NUMBER("end-profile-step", SEARCH_END_PROFILE_STEP, "N",                                                  \
                    "end a job after this step (default of dsat-*: 5)"),                                               \
        RARE_NUMBER("trials-per-random-config", SEARCH_TRIALS_PER_RANDOM_CONFIG, "N",                                  \
                    "dsat-random: trials of one configuration (default 5)"),                                           \
        RARE_NUMBER("search-range-factor", SEARCH_RANGE_FACTOR, "X",                                                   \
                    "dsat-*: search up to this multiple of the estimated largest micro-batch (default 1)"),            \
        RARE_NUMBER("max-rungs", SEARCH_MAX_RUNGS, "N", "asha: rungs (5)"),                                            \
        RARE_NUMBER("divisor", SEARCH_DIVISOR, "N", "asha: promote one in N (default 2)"),                             \
        RARE_NUMBER("min-binary-search-trials", SEARCH_MIN_BINARY_SEARCH_TRIALS, "N",                                  \
                    "dsat-asha: trials of the lowest rung (default 3)"),                                               \
        RARE_NUMBER("asha-early-stopping", SEARCH_ASHA_EARLY_STOPPING, "N",                                            \
                    "asha: rungs left out at the bottom (default 0)"),                                                 \
        RARE_NUMBER("min-steps", SEARCH_MIN_STEPS, "N", "asha: measured steps of the lowest rung (default 4)"),        \
        RARE_NUMBER("num-tuning-micro-batch-sizes", SEARCH_NUM_TUNING_MICRO_BATCH_SIZES, "N",                          \
                    "deepspeed-*: micro-batches per ZeRO stage (default 3)"),                                          \
        SEARCH_NUMBER("budget", SEARCH_BUDGET, "HOURS", "spend at most this many device-hours"),                       \
        RARE_NUMBER("deadline", SEARCH_DEADLINE, "DURATION", "start no more jobs after this long"),                    \
        RARE_NUMBER("target-gap", SEARCH_TARGET_GAP, "SHARE",                                                          \
                    "model: end when the expected improvement is smaller (default 0.02)"),                             \
        RARE_NUMBER("confidence", SEARCH_CONFIDENCE, "SHARE",                                                          \
                    "racing: required certainty that an ended job was beaten (default 0.95)"),                         \
        OPTION(CHOICE, "racing", AT(racing), "on|off", "end running jobs that cannot become the best",                 \
               .choices = switch_words, .rare = true),                                                                 \
        OPTION(CHOICE, "equal-batch", AT(equal_batch), "on|off",                                                       \
               "compare jobs only at equal global batch (default on)", .choices = switch_words, .rare = true),         \
        RARE_NUMBER("confirm", SEARCH_CONFIRM, "N", "runs of each job that may be the best"),                          \
        OPTION(FLAG, "run-full-experiment", AT(run_full_experiment), NULL, "launch the winner after the search",       \
               .rare = true)

const struct option run_option_table[] = {
    WHAT_TO_MATCH(true),
    OPTION(FLAG, "dry-run", AT(dry_run), NULL, "show the plan, as meshsweep plan does", .letter = 'D'),
    OPTIONS_OF_STARTS,
    OPTION(FLAG, "detach", AT(detach), NULL, "with Slurm: submit and exit; the next run collects the results"),
    OPTION(FLAG, "release", AT(release), NULL,
           "retry held jobs and places set aside now, and run jobs that were put last in their turn", .rare = true),
    OPTION_PROGRESS,
    SEARCH_OPTIONS,
    OPTION(FLAG, "stale", AT(stale), NULL, "also run jobs with stale results again"),
    {.name = NULL},
};

const struct option plan_option_table[] = {
    WHAT_TO_MATCH(false),
    SEARCH_OPTIONS,
    {.name = NULL},
};

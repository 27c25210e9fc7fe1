#include "config/meaning.h"

#include <string.h>

#include "util/memory.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

enum meaning {
    MEANS_NOTHING,
    MEANS_STEP_TIME,
    MEANS_STEPS,
    MEANS_SAMPLES,
    MEANS_TOKENS,
    MEANS_FLOPS,
    MEANS_DEVICE_SAMPLES,
    MEANS_DEVICE_TOKENS,
    MEANS_DEVICE_FLOPS,
    MEANS_MFU,
    MEANS_ALLOCATED,
    MEANS_RESERVED,
    MEANS_DEVICE_MEMORY,
    MEANS_MEMORY,
    MEANING_COUNT
};

const char *const metric_meaning_names[MEANING_COUNT + 1] = {
    [MEANS_NOTHING] = "other",
    [MEANS_STEP_TIME] = "step-time",
    [MEANS_STEPS] = "steps/s",
    [MEANS_SAMPLES] = "samples/s",
    [MEANS_TOKENS] = "tokens/s",
    [MEANS_FLOPS] = "flops/s",
    [MEANS_DEVICE_SAMPLES] = "samples/s/device",
    [MEANS_DEVICE_TOKENS] = "tokens/s/device",
    [MEANS_DEVICE_FLOPS] = "flops/s/device",
    [MEANS_MFU] = "mfu",
    [MEANS_ALLOCATED] = "allocated-memory",
    [MEANS_RESERVED] = "reserved-memory",
    [MEANS_DEVICE_MEMORY] = "device-memory",
    [MEANS_MEMORY] = "memory",
};
static const struct metric_meaning meanings[MEANING_COUNT] = {
    [MEANS_NOTHING] = {QUANTITY_NONE, WORK_NONE, false, NULL},
    [MEANS_STEP_TIME] = {QUANTITY_STEP_TIME, WORK_NONE, false, NULL},
    [MEANS_STEPS] = {QUANTITY_RATE, WORK_STEPS, false, NULL},
    [MEANS_SAMPLES] = {QUANTITY_RATE, WORK_SAMPLES, false, NULL},
    [MEANS_TOKENS] = {QUANTITY_RATE, WORK_TOKENS, false, NULL},
    [MEANS_FLOPS] = {QUANTITY_RATE, WORK_FLOPS, false, NULL},
    [MEANS_DEVICE_SAMPLES] = {QUANTITY_RATE, WORK_SAMPLES, true, NULL},
    [MEANS_DEVICE_TOKENS] = {QUANTITY_RATE, WORK_TOKENS, true, NULL},
    [MEANS_DEVICE_FLOPS] = {QUANTITY_RATE, WORK_FLOPS, true, NULL},
    [MEANS_MFU] = {QUANTITY_RATE, WORK_FLOPS, true, NULL},
    [MEANS_ALLOCATED] = {QUANTITY_MEMORY, WORK_NONE, true, "allocated"},
    [MEANS_RESERVED] = {QUANTITY_MEMORY, WORK_NONE, true, "reserved"},
    [MEANS_DEVICE_MEMORY] = {QUANTITY_MEMORY, WORK_NONE, true, "device"},
    [MEANS_MEMORY] = {QUANTITY_MEMORY, WORK_NONE, true, NULL},
};

struct meaning_word {
    const char *text;
    enum meaning meaning;
};

/* Names that mean the same wherever they are used. */
static const struct meaning_word names[] = {
    {"step_time", MEANS_STEP_TIME},
    {"iteration_time", MEANS_STEP_TIME},
    {"time_per_step", MEANS_STEP_TIME},
    {"latency", MEANS_STEP_TIME},
    {"steps_per_second", MEANS_STEPS},
    {"samples_per_second", MEANS_SAMPLES},
    {"tokens_per_second", MEANS_TOKENS},
    {"samples_per_second_per_gpu", MEANS_DEVICE_SAMPLES},
    {"tokens_per_second_per_gpu", MEANS_DEVICE_TOKENS},
    {"flops_per_gpu", MEANS_DEVICE_FLOPS},
    {"mfu", MEANS_MFU},
    {"max_memory_allocated", MEANS_ALLOCATED},
    {"max_memory_reserved", MEANS_RESERVED},
    {"device_memory_peak", MEANS_DEVICE_MEMORY},
    {"peak_memory_bytes", MEANS_MEMORY},
    {"peak_memory", MEANS_MEMORY},
    {"max_memory", MEANS_MEMORY},
    {"memory", MEANS_MEMORY},
};

/* Whole units of rates. */
static const struct meaning_word units[] = {
    {"steps/s", MEANS_STEPS},
    {"it/s", MEANS_STEPS},
    {"samples/s", MEANS_SAMPLES},
    {"sample/s", MEANS_SAMPLES},
    {"images/s", MEANS_SAMPLES},
    {"sequences/s", MEANS_SAMPLES},
    {"tokens/s", MEANS_TOKENS},
    {"tok/s", MEANS_TOKENS},
    {"samples/s/gpu", MEANS_DEVICE_SAMPLES},
    {"tokens/s/gpu", MEANS_DEVICE_TOKENS},
    {"tok/s/gpu", MEANS_DEVICE_TOKENS},
    {"tokens/gpu/s", MEANS_DEVICE_TOKENS},
    {"FLOPS", MEANS_FLOPS},
    {"FLOP/s", MEANS_FLOPS},
    {"FLOP/s/gpu", MEANS_DEVICE_FLOPS},
    {"TFLOP/s/gpu", MEANS_DEVICE_FLOPS},
};

static const struct metric_meaning *look_up(const struct meaning_word *words, int count, const char *text)
{
    for (int i = 0; i < count; i++)
        if (strcmp(words[i].text, text) == 0)
            return &meanings[words[i].meaning];
    return NULL;
}

const struct metric_meaning *metric_meaning(const struct sweep *s, const char *metric)
{
    const struct metric *m = job_find_metric(&s->job, metric);
    if (m && m->means)
        return &meanings[m->means - 1];
    const struct metric_meaning *found = look_up(names, LENGTH(names), metric);
    if (!found && m)
        found = look_up(units, LENGTH(units), m->unit);
    /* Of what a throughput is one says by its unit. */
    if (!found && strcmp(metric, "throughput") == 0 && (!m || !m->unit[0]))
        found = &meanings[MEANS_SAMPLES];
    return found ? found : &meanings[MEANS_NOTHING];
}

const char *const memory_metrics[] = {"peak_memory_bytes",    "peak_memory", "max_memory",
                                      "max_memory_allocated", "memory",      NULL};

const char *sweep_memory_metric(const struct sweep *s)
{
    if (s->predict.memory_metric)
        return s->predict.memory_metric;
    for (size_t i = 0; i < s->job.metric_count; i++)
        if (s->job.metrics[i].means && metric_meaning(s, s->job.metrics[i].name)->quantity == QUANTITY_MEMORY)
            return s->job.metrics[i].name;
    for (const char *const *name = memory_metrics; *name; name++)
        if (job_find_metric(&s->job, *name))
            return *name;
    return NULL;
}

char *metric_memory_words(const struct sweep *s, const char *metric)
{
    const char *counter = metric_meaning(s, metric)->counter;
    const struct metric *m = job_find_metric(&s->job, metric);
    const char *rank = m && m->rank ? m->rank : NULL;
    return xasprintf("%s%s%s%s", counter ? counter : "", counter && rank ? ", " : "", rank ? "rank " : "",
                     rank ? rank : "");
}

#include "config/meaning.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "config/own_metrics.h"
#include "toml/known.h"
#include "util/memory.h"

/* The first one is that of metrics about which nothing is known. */
#define MEANINGS(X)                                                                                                    \
    X("other", QUANTITY_NONE, WORK_NONE, false, NULL)                                                                  \
    X("step-time", QUANTITY_STEP_TIME, WORK_NONE, false, NULL)                                                         \
    X("steps/s", QUANTITY_RATE, WORK_STEPS, false, NULL)                                                               \
    X("samples/s", QUANTITY_RATE, WORK_SAMPLES, false, NULL)                                                           \
    X("tokens/s", QUANTITY_RATE, WORK_TOKENS, false, NULL)                                                             \
    X("flops/s", QUANTITY_RATE, WORK_FLOPS, false, NULL)                                                               \
    X("samples/s/device", QUANTITY_RATE, WORK_SAMPLES, true, NULL)                                                     \
    X("tokens/s/device", QUANTITY_RATE, WORK_TOKENS, true, NULL)                                                       \
    X("flops/s/device", QUANTITY_RATE, WORK_FLOPS, true, NULL)                                                         \
    X("mfu", QUANTITY_RATE, WORK_FLOPS, true, NULL)                                                                    \
    X("allocated-memory", QUANTITY_MEMORY, WORK_NONE, true, "allocated")                                               \
    X("reserved-memory", QUANTITY_MEMORY, WORK_NONE, true, "reserved")                                                 \
    X("device-memory", QUANTITY_MEMORY, WORK_NONE, true, "device")                                                     \
    X("memory", QUANTITY_MEMORY, WORK_NONE, true, NULL)

#define NAME(name, ...) name,
#define MEANING(name, ...) {__VA_ARGS__},
const char *const metric_meaning_names[] = {MEANINGS(NAME) NULL};
static const struct metric_meaning meanings[] = {MEANINGS(MEANING)};

/* The meaning that configs/knowledge/words.toml gives the text; NULL: nothing. */
static const struct metric_meaning *look_up(const char *table, const char *text)
{
    const struct toml_node *meant = known(table, text);
    size_t i = 0;
    while (meant && strcmp(metric_meaning_names[i], meant->text) != 0)
        i++;
    return meant ? &meanings[i] : NULL;
}

/* "Tokens/sec/GPU" as the table spells it, "tokens/s/gpu". The caller's. */
static char *plain_unit(const char *unit)
{
    char *plain = xcalloc(strlen(unit) + 1, 1), *end = plain;
    for (const char *u = unit; *u; u++) {
        *end++ = (char)tolower((unsigned char)*u);
        if (u > unit && u[-1] == '/')
            u += strncasecmp(u, "second", 6) == 0 ? 5 : strncasecmp(u, "sec", 3) == 0 ? 2 : 0;
    }
    return plain;
}

const struct metric_meaning *metric_meaning(const struct sweep *s, const char *metric)
{
    const struct metric *m = job_find_metric(&s->job, metric);
    if (m && m->means)
        return &meanings[m->means - 1];
    const struct metric_meaning *found = look_up("meaning_of_name", metric);
    OWNED char *unit = plain_unit(m ? m->unit : "");
    if (!found)
        found = look_up("meaning_of_unit", unit);
    /* A throughput says by its unit of what it is. */
    if (!found && strcmp(metric, "throughput") == 0 && (!m || !m->unit[0]))
        found = look_up("meaning_of_unit", "samples/s");
    return found ? found : &meanings[0];
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

/* --- metrics that every attempt has --- */

const struct own_metric_kind own_metrics[OWN_METRIC_COUNT] = {
    [OWN_NONE] = {"", "", NULL, NULL},
    [OWN_DURATION] = {"duration", "s", "min", NULL},
    [OWN_CPU_TIME] = {"cpu_time", "s", "min", NULL},
    [OWN_MAX_RSS] = {"max_rss", "B", "min", NULL},
    [OWN_ATTEMPTS] = {"attempts", "", "min", NULL},
    [OWN_DEVICE_MEMORY] = {"device_memory_peak", "bytes", "min", NULL},
    [OWN_DEVICE_CLOCK] = {"device_clock", "MHz", "max", NULL},
    [OWN_DEVICE_CLOCK_LEAST] = {"device_clock_least", "MHz", "max", NULL},
    [OWN_DEVICE_TEMPERATURE] = {"device_temperature", "degC", "min", NULL},
    [OWN_DEVICE_POWER] = {"device_power", "W", "min", "power"},
    [OWN_DEVICE_ENERGY] = {"device_energy", "J", "min", "energy"},
    [OWN_DEVICE_THROTTLED] = {"device_throttled", "", "min", NULL},
    [OWN_DEVICE_ECC] = {"device_ecc", "", "min", NULL},
    [OWN_DEVICE_POWER_LIMIT] = {"device_power_limit", "W", NULL, NULL},
};

const char *own_metric_full_name(const char *name)
{
    for (int i = OWN_NONE + 1; i < OWN_METRIC_COUNT; i++)
        if (own_metrics[i].brief && strcmp(own_metrics[i].brief, name) == 0)
            return own_metrics[i].name;
    return name;
}

enum own_metric own_metric_by_name(const char *name)
{
    for (int i = OWN_NONE + 1; i < OWN_METRIC_COUNT; i++)
        if (strcmp(own_metrics[i].name, name) == 0)
            return (enum own_metric)i;
    return OWN_NONE;
}

/* Metrics that every attempt has without a declaration in the sweep file: time and memory, measured from outside. */
#pragma once

enum own_metric {
    OWN_NONE = 0,
    OWN_DURATION,
    OWN_CPU_TIME,
    OWN_MAX_RSS,
    OWN_ATTEMPTS,
    OWN_DEVICE_MEMORY,
    OWN_DEVICE_CLOCK, /* from here on as in enum device_quantity */
    OWN_DEVICE_CLOCK_LEAST,
    OWN_DEVICE_TEMPERATURE,
    OWN_DEVICE_POWER,
    OWN_DEVICE_ENERGY,
    OWN_DEVICE_THROTTLED,
    OWN_DEVICE_ECC,
    OWN_DEVICE_POWER_LIMIT,
    OWN_METRIC_COUNT
};

/* "duration", in seconds, "cpu_time", in seconds of all processes that it waited for, "max_rss", in bytes, of the
 * largest of them, "attempts", how many its job had with it, "device_memory_peak", in bytes, and what else stands of
 * device_ in the table, where the devices can be asked. */
extern const struct own_metric_kind {
    const char *name, *unit;
    const char *better; /* "max", "min"; NULL: neither */
    const char *brief;  /* what expressions may call it, where nothing else has that name; NULL: only so */
} own_metrics[OWN_METRIC_COUNT];

/* "device_power" for "power", where that is its brief name; else the name itself. */
const char *own_metric_full_name(const char *name);

enum own_metric own_metric_by_name(const char *name); /* OWN_NONE when there is none */

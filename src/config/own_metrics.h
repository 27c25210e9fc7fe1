/* Metrics that every attempt has without a declaration in the sweep file: time and memory, measured from outside. */
#ifndef MESHSWEEP_CONFIG_OWN_METRICS_H
#define MESHSWEEP_CONFIG_OWN_METRICS_H

enum own_metric {
    OWN_NONE = 0,
    OWN_DURATION,
    OWN_CPU_TIME,
    OWN_MAX_RSS,
    OWN_ATTEMPTS,
    OWN_DEVICE_MEMORY,
    OWN_METRIC_COUNT
};

/* "duration", in seconds, "cpu_time", in seconds of all processes that it waited for, "max_rss", in bytes, of the
 * largest of them, "attempts", how many its job had with it, "device_memory_peak", in bytes, where the devices can be
 * asked. */
extern const struct own_metric_kind {
    const char *name, *unit;
} own_metrics[OWN_METRIC_COUNT];

enum own_metric own_metric_by_name(const char *name); /* OWN_NONE when there is none */

#endif

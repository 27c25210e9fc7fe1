#include "config/own_metrics.h"

#include <string.h>

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

#include "config/own_metrics.h"

#include <string.h>

const struct own_metric_kind own_metrics[OWN_METRIC_COUNT] = {
    [OWN_NONE] = {"", ""},
    [OWN_DURATION] = {"duration", "s"},
    [OWN_CPU_TIME] = {"cpu_time", "s"},
    [OWN_MAX_RSS] = {"max_rss", "B"},
    [OWN_ATTEMPTS] = {"attempts", ""},
    [OWN_DEVICE_MEMORY] = {"device_memory_peak", "bytes"},
};

enum own_metric own_metric_by_name(const char *name)
{
    for (int i = OWN_NONE + 1; i < OWN_METRIC_COUNT; i++)
        if (strcmp(own_metrics[i].name, name) == 0)
            return (enum own_metric)i;
    return OWN_NONE;
}

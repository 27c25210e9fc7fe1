/* The progress of the current sweep, as metrics for Prometheus. */
#ifndef MESHSWEEP_REPORT_PROMETHEUS_H
#define MESHSWEEP_REPORT_PROMETHEUS_H

#include "results/status.h"
#include "util/buffer.h"

/* Appends the progress in the text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/), for
 * node_exporter's textfile collector: each family with HELP and TYPE, times in seconds, labels escaped, invalid UTF-8
 * replaced by U+FFFD. Unknown values have no sample. `status` is status_read()'s of a runner that is alive; `now_ms` is
 * the time of day. */
void prometheus_add(const cJSON *status, int64_t now_ms, struct buffer *out);

#endif

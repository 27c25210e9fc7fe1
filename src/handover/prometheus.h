/* The progress of the current sweep, as metrics for Prometheus. */
#ifndef MESHSWEEP_HANDOVER_PROMETHEUS_H
#define MESHSWEEP_HANDOVER_PROMETHEUS_H

#include "results/status.h"
#include "util/buffer.h"

/* Appends it in the text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/), as
 * node_exporter's textfile collector reads it: each family with HELP and TYPE, times in seconds, labels escaped; text
 * that is no UTF-8 has U+FFFD in its place. What is not known has no sample. `now_ms` is the time of day. */
void prometheus_add(const struct sweep_status *s, int64_t now_ms, struct buffer *out);

#endif

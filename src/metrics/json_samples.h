/* Samples from JSON as jobs write it. */
#ifndef MESHSWEEP_METRICS_JSON_SAMPLES_H
#define MESHSWEEP_METRICS_JSON_SAMPLES_H

#include <cjson/cJSON.h>

#include "metrics/reader_set.h"

/* The object in a line: NULL when it holds none, with *malformed counted up unless it is blank. The caller's. */
cJSON *json_object(const char *line, size_t *malformed);

/* The step that an object states; -1: none. */
int64_t json_step(const cJSON *object);

/* What stands at the reader's path. Of "log_history.*.loss" each element of the list, with the step that it states. */
void json_samples_add(struct collector *c, const struct metric_reader *r, const cJSON *root, int64_t step);

#endif

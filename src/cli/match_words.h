/* A combination with its predictions, as text and as JSON. */
#pragma once

#include <cjson/cJSON.h>

#include "space/describe.h"
#include "space/match.h"
#include "util/buffer.h"

/* Appends " predicted 18.2 MiB reserved, rank 0 (may not fit), 0.12 s a step", or nothing without a prediction. */
void match_add_prediction(const struct match *m, struct buffer *out);

struct match_json;
int match_json_create(struct space *space, struct match_json **out, struct error *e);
void match_json_free(struct match_json *j);

/* Adds "key", "keys", "description" and the predictions to `job`. */
int match_json_add(struct match_json *j, const struct match *m, cJSON *job, struct error *e);

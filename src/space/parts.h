/* The parts that jobs' keys are made of beside their specs (identity_parts), compared: how they were, and how they
 * are. */
#pragma once

#include <cjson/cJSON.h>

#include "config/sweep.h"

/* [{"what": "command", "was": "…", "now": "…"}, …], as they are shown; the caller's. An option of the command or a
 * setting of the environment that gives a key of [was] alone is no difference, where the other side lacks it, and a
 * renamed key is one key. `was` NULL: not recorded. */
cJSON *parts_compare(const struct sweep *s, const cJSON *was, const cJSON *now);

/* Adds a difference to such a list; NULL: there is none. */
void parts_add_difference(cJSON *list, const char *what, const char *was, const char *now);

/* "command: python a.py -> python b.py" */
void parts_add_words(const cJSON *difference, struct buffer *out);

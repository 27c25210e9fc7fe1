/* Numbers in JSON as jobs write it. */
#pragma once

#include <stdbool.h>

#include <cjson/cJSON.h>

/* One whole JSON text; bare NaN, Infinity and -Infinity, which Python writes, are taken for strings. NULL when it is
 * none, or has the escape \u0000, which would cut a name. The caller's (cJSON_Delete). */
cJSON *json_parse(const char *text);

/* A number, or one of the strings "NaN", "Infinity" and "-Infinity". */
bool json_number(const cJSON *item, double *out);

/* Returns what stands at "a.0.b": members by name, elements by index from 0. A member whose name holds dots is found as
 * a whole. NULL when there is nothing. Borrowed from `item`. */
const cJSON *json_at(const cJSON *item, const char *path);

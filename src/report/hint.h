/* Commands that messages recommend, ready to type. */
#pragma once

#include "util/buffer.h"

/* Append " -c FILE" and " -d FILE", quoted for a shell; nothing if it is the default. */
void hint_add_config(struct buffer *out, const char *path);
void hint_add_db(struct buffer *out, const char *path);

/* Appends the command that runs what a finished search left out, "meshsweep run --strategy grid --max-trials 0". Each
 * limit is lifted (`lifting`, results/status.h), because the sweep file may set them. */
void hint_add_rest_of_search(struct buffer *out, const char *lifting, const char *config, const char *db);
#define HINT_REST_OF_SEARCH "runs what the search left out"

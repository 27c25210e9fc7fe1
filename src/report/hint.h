/* Commands that messages recommend, ready to be typed. */
#ifndef MESHSWEEP_REPORT_HINT_H
#define MESHSWEEP_REPORT_HINT_H

#include "results/status.h"
#include "util/buffer.h"

/* Append " -c FILE" and " -d FILE", as a shell takes them; nothing where that is what the tool takes by itself. */
void hint_add_config(struct buffer *out, const char *path);
void hint_add_db(struct buffer *out, const char *path);

/* Appends the command that runs what a search that has ended left out, "meshsweep run --strategy grid --max-trials 0":
 * its limits may stand in the sweep file, so that each is lifted. */
void hint_add_rest_of_search(struct buffer *out, const struct status_search *s, const char *config, const char *db);
#define HINT_REST_OF_SEARCH "runs what the search left out"

#endif

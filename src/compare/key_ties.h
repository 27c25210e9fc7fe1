/* Finds keys that cannot be changed alone, because the sweep file connects them with others. */
#ifndef MESHSWEEP_COMPARE_KEY_TIES_H
#define MESHSWEEP_COMPARE_KEY_TIES_H

#include "compare/compared_jobs.h"
#include "database/db.h"
#include "util/string_list.h"

/* Adds the keys with several values in the current sweep that are connected with `key`: a rule or derived key reads
 * both, directly or through derived keys, or they are tied ("(tp, dp)"). Keys connected with these are added in turn.
 * The global batch, which defines the work done, and replicate keys are never added. Adds nothing if the recorded file
 * can no longer be read. */
int key_ties_read(struct db *db, const struct compared_jobs *jobs, const char *key, struct string_list *out,
                  struct error *e);

#endif

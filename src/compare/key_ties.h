/* Which keys cannot be changed alone, because the sweep file connects them with others. */
#ifndef MESHSWEEP_COMPARE_KEY_TIES_H
#define MESHSWEEP_COMPARE_KEY_TIES_H

#include "compare/compared_jobs.h"
#include "database/db.h"
#include "util/string_list.h"

/* Adds the keys, of those that the current sweep's specs have with several values, that a rule or a derived key reads
 * together with `key`, directly or by derived keys, or that are tied with it ("(tp, dp)"); and those that follow these
 * in turn. Not the global batch, which says what work is done, nor replicate keys. Nothing where the recorded file can
 * no longer be read. */
int key_ties_read(struct db *db, const struct compared_jobs *jobs, const char *key, struct string_list *out,
                  struct error *e);

#endif

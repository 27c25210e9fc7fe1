/* Which values only one side has: the sweep file, or the database. They tell why a job is new or no longer asked
 * for. */
#ifndef MESHSWEEP_PLAN_VALUE_CHANGES_H
#define MESHSWEEP_PLAN_VALUE_CHANGES_H

#include "space/match.h"
#include "util/hash_set.h"

/* Sides of more specs than this are not compared: a model space has millions. */
#define COMPARED_SPECS_MOST 20000

struct value_changes;

/* `db` is results.db, read only; both are borrowed. */
int value_changes_open(struct space *space, struct db *db, struct value_changes **out, struct error *e);
void value_changes_close(struct value_changes *c);

/* Why a combination is not in the database: "layers=8 not seen before". Borrowed until the next call. */
int value_changes_why_new(struct value_changes *c, const struct match *match, const char **why, struct error *e);

/* Calls `each` for every recorded job whose key is not in `asked`, with "layers=8 is no longer in the file". */
int value_changes_list_gone(struct value_changes *c, const struct hash_set *asked,
                            void (*each)(void *context, const char *why), void *context, struct error *e);

#endif

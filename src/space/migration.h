/* Which values only one side has: the sweep file, or the database. They tell why a job is new or no longer asked for. */
#ifndef MESHSWEEP_SPACE_MIGRATION_H
#define MESHSWEEP_SPACE_MIGRATION_H

#include "space/match.h"
#include "util/hash_set.h"

/* Sides of more specs than this are not compared: a model space has millions. */
#define MIGRATION_SPECS_MOST 20000

struct migration;

/* `db` is results.db, read only; both are borrowed. */
int migration_open(struct space *space, struct db *db, struct migration **out, struct error *e);
void migration_close(struct migration *m);

/* Why a combination is not in the database: "layers=8 not seen before". Borrowed until the next call. */
int migration_why_new(struct migration *m, const struct match *match, const char **why, struct error *e);

/* Calls `each` for every recorded job whose key is not in `asked`, with "layers=8 is no longer in the file". */
int migration_list_gone(struct migration *m, const struct hash_set *asked, void (*each)(void *context, const char *why),
                        void *context, struct error *e);

#endif

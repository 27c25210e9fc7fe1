/* The jobs that a run is narrowed to: the temporary table "selected", which lasts as long as the connection. */
#pragma once

#include <stdbool.h>

#include "database/db.h"
#include "util/hash.h"

/* Makes the table anew; outside a transaction. */
int selection_begin(struct db *db, struct error *e);

/* By its id, or by its key: where there is no such job nothing is added. */
int selection_add(struct db *db, int64_t job_id, struct error *e);
int selection_add_key(struct db *db, const struct hash128 *key, struct error *e);

/* --- shards --- */

/* One of the parts that several machines run each one of. Which one a job belongs to follows from its key alone, by
 * rendezvous hashing: with one part more, only what it gets changes its place. */
struct shard {
    int64_t number, of; /* 1 to `of`; of 0: there are no parts */
};

#define SHARDS_MOST 10000

bool shard_has(const struct shard *s, const struct hash128 *key);

/* Narrows the run to the jobs of the shard among those that are selected, or the sweep's. Sets how many belong to
 * others, and records that for `status`. Outside a transaction. */
int selection_take_shard(struct db *db, int64_t sweep_id, bool of_selected, const struct shard *s, int64_t *others,
                         struct error *e);
/* The database is of no shard any more. */
int selection_forget_shard(struct db *db, struct error *e);

/* Merges several databases into one, by content: jobs by their key, attempts by where they were made. */
#pragma once

#include "database/db.h"

struct merge_counts {
    int64_t jobs, attempts; /* that were new */
};

/* Steps of floors above around a merge, in its transaction: -1 ends the merge. */
struct merge_steps {
    /* The database is attached as "source", and nothing of it was added. */
    int (*before)(struct db *db, const char *source, struct error *e);
    /* All was added; jobs that have new attempts are in temp.merged_job (column `id`). */
    int (*after)(struct db *db, struct error *e);
    const char *directory; /* where the source's job files are; NULL: beside it */
};

/* Adds what is in the database at `source` (of this schema version) and is not in `db` yet: all of it or, on -1,
 * nothing. Merging again adds nothing. Open attempts stay out. Adds to `counts`. */
int merge_database(struct db *db, const char *source, const struct merge_steps *steps, struct merge_counts *counts,
                   struct error *e);

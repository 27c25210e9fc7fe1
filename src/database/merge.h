/* Merges several databases into one, by content: jobs by their key, attempts by where they were made. */
#ifndef MESHSWEEP_DATABASE_MERGE_H
#define MESHSWEEP_DATABASE_MERGE_H

#include "database/db.h"

struct merge_counts {
    int64_t jobs, attempts; /* that were new */
};

/* Adds what is in the database at `source` (of this schema version) and is not in `db` yet: all of it or, on -1,
 * nothing. Merging again adds nothing. Open attempts stay out. Adds to `counts`. */
int merge_database(struct db *db, const char *source, struct merge_counts *counts, struct error *e);

#endif

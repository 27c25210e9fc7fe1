/* Imports measured tables into results.db: a row becomes an attempt that has ended, of the job that a run of the same
 * configuration would have. Rows of one job are its repeats. */
#ifndef MESHSWEEP_IMPORT_IMPORT_H
#define MESHSWEEP_IMPORT_IMPORT_H

#include "database/db.h"
#include "import/table.h"
#include "store/attempts.h"
#include "store/runners.h"
#include "util/hash.h"

struct import_request {
    const struct sweep *sweep; /* with [import] */
    struct import_table *table;
    struct db *db;            /* results.db */
    const char *file;         /* the table's name, for "file:line" */
    struct hash128 hash;      /* of its content */
    struct runner_row runner; /* who imports, with where from in its provenance */
};

/* Rules are asked what they say of what was measured, and nothing is left out for it: the rule is wrong, or the row. */
struct broken_rule {
    char *name, *reason;
    size_t rows;
    size_t *lines; /* of the rows, ascending */
};

struct import_summary {
    size_t ok, failed;     /* rows that were not refused */
    size_t added, known;   /* of those: new attempts; rows that were there already */
    size_t jobs, new_jobs; /* that the rows are of */
    size_t predicted;      /* jobs with a predicted memory or time */
    struct broken_rule *broken;
    size_t broken_count;
};
void import_summary_free(struct import_summary *s);

/* All or nothing, in one transaction; a second time adds nothing. ERROR_NOTHING when no row is left. */
int import_table_store(const struct import_request *request, struct import_summary *out, struct error *e);

/* What the rules of the sweep say of the rows that ran, and nothing else: no database is needed (request->db), only ok,
 * failed and broken of `out` are filled. ERROR_NOTHING as above. */
int import_table_check(const struct import_request *request, struct import_summary *out, struct error *e);

#endif

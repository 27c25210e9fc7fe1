/* Imports measured tables into results.db: a row becomes an attempt that has ended, of the job that a run of the same
 * configuration would have. Rows of one job are its repeats. */
#pragma once

#include "database/db.h"
#include "import/table.h"
#include "store/imports.h"
#include "store/runners.h"

struct import_summary;

struct import_request {
    const struct sweep *sweep; /* with [import] */
    struct import_table *table;
    struct db *db;                /* results.db */
    const char *file;             /* the table's name, for "file:line" */
    struct imported_table origin; /* which table it is */
    struct runner_row runner;     /* who imports, with where from in its provenance */
    /* Called once with what would be recorded, while `db` has it and nobody else can see it. -1: it is not to be. */
    int (*show)(void *context, const struct import_summary *summary, struct error *e);
    void *context;
    bool dry_run; /* end there */
};

/* Rules are asked what they say of what was measured, and nothing is left out for it: the rule is wrong, or the row. */
struct broken_rule {
    char *name, *reason;
    size_t rows;
    size_t *lines; /* of the rows, ascending */
};

struct import_summary {
    size_t ok, failed;             /* rows that were not refused */
    size_t added, known;           /* of those: new attempts; rows that the table had already */
    struct import_removal removed; /* rows that the table had and has no longer, or that say something else now */
    char *alike;                   /* a file of the same bytes whose rows are there, too; NULL: none */
    char *older; /* "2.csv (3), 4.csv (1)": tables that the file was read by before it was changed; NULL: none */
    size_t jobs, new_jobs; /* that the rows are of */
    size_t predicted;      /* jobs with a predicted memory or time */
    struct broken_rule *broken;
    size_t broken_count;
};
void import_summary_free(struct import_summary *s);

/* All or nothing, in one transaction. What stands there of the table becomes what the table says now; what was run, and
 * what other tables say, stays. A second time changes nothing. ERROR_NOTHING when no row is left. */
int import_table_store(const struct import_request *request, struct import_summary *out, struct error *e);

struct import_undone {
    char *path; /* the caller's */
    struct import_removal removed;
};

/* Takes the rows of a table out again, in one transaction. `word` is its path, or the end of one that is of one table
 * only. ERROR_USAGE where no such table has rows, with those that have. */
int import_table_undo(struct db *db, const char *host, const char *word, struct import_undone *out, struct error *e);

/* Checks what the rules of the sweep say of the rows that ran, and nothing else: no database is needed (request->db),
 * only ok, failed and broken of `out` are filled. ERROR_NOTHING as above. */
int import_table_check(const struct import_request *request, struct import_summary *out, struct error *e);

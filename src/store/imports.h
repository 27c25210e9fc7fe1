/* Attempts that ran elsewhere: rows of measured tables, recorded as attempts that have ended. Inside the caller's
 * write transaction. */
#pragma once

#include "database/db.h"
#include "store/sweeps.h"
#include "util/hash.h"

#define IMPORT_EXECUTOR "import" /* attempt.executor of these; attempt.reference is the row's hash */

struct import_store;
struct import_origin {
    int64_t runner_id;
    int64_t table_id, sweep_id; /* 0 and 0: of no table, and nothing is taken out */
    const char *file;           /* what a row is told by, with its line: "table.csv:17". Outlives the store */
};
/* For the rows of that table, which are of that sweep now. */
int import_store_create(struct db *db, const struct import_origin *origin, struct import_store **out, struct error *e);

/* The table's rows are of another sweep than before, which may rank them otherwise although they say the same. */
void import_store_settle_all(struct import_store *s);

/* The meaning of its numbers has changed: those of rows that are there are put once more. */
void import_store_state_again(struct import_store *s);

/* So many rows are coming: where they are many, what is worked out from them one by one is worked out in
 * import_store_finish. Not before import_store_state_again. */
int import_store_expect(struct import_store *s, size_t rows, struct error *e);

/* Jobs of which tables of the sweep have rows and that another sweep asked for since are the sweep's again, and those
 * that a run of the same file asked for. */
int import_store_claim(struct import_store *s, struct error *e);
void import_store_free(struct import_store *s);

/* Its texts are borrowed until import_store_flush or _finish. */
struct imported_attempt {
    int64_t job_id, number;
    bool is_only;              /* the job is new, and given where the attempt leads: nothing is left to be settled */
    const struct hash128 *row; /* what it is: equal hash, equal row of one table */
    const char *failure;       /* NULL: ok */
    const char *message;       /* of a failed one; NULL: none */
    int64_t line;              /* 17; 0: none */
    double duration_s;         /* NAN: not known */
};

/* The id that the next new one gets. */
int import_store_next(struct import_store *s, int64_t *id, struct error *e);

/* Records it unless the table has that row there, whose line is the one given then. `*id` gets the attempt whose
 * numbers are to be put; 0: they stand there. */
int import_store_put(struct import_store *s, const struct imported_attempt *attempt, int64_t *id, bool *is_new,
                     struct error *e);

/* A number that the attempt with that id measured; the name is borrowed as the attempt's texts are. */
int import_store_metric(struct import_store *s, const struct imported_attempt *attempt, int64_t id, const char *name,
                        double value, struct error *e);

/* Puts in what waits to be put in with more: it is not there before. */
int import_store_flush(struct import_store *s, struct error *e);

/* Attempts that were rows of a table and are no longer. */
struct import_removal {
    size_t replaced;  /* another row stands in their line */
    size_t taken_out; /* none does */
    size_t moved;     /* not removed: the row is in another line */
};

/* Takes out the table's rows that were not put, with jobs that have nothing else, and brings the jobs of all these to
 * where their attempts lead: ok where any attempt is, else failed as the last one. Attempts that were run, or are of
 * another table, stay. */
int import_store_finish(struct import_store *s, struct import_removal *out, struct error *e);

struct imported_table {
    const char *host, *path; /* absolute */
    const char *hash;        /* of its bytes, in hexadecimal */
    const char *sweep_file;  /* whose [import] read it, absolute */
};

/* The sweep that its rows belong to; 0: none. */
int imported_table_sweep(struct db *db, int64_t id, int64_t *sweep_id, struct error *e);

/* The table that was read from that path in this database, or came from that host; 0: none. */
int imported_table_find(struct db *db, const char *host, const char *path, int64_t *id, struct error *e);

/* Notes that its rows are these now, and of which sweep; `*id` 0 is a new one, and gets its id. */
int imported_table_record(struct db *db, const struct imported_table *t, int64_t sweep_id, int64_t *id,
                          struct error *e);

/* The table's file has that name now, by which its rows are told ("table.csv:17"). */
int imported_table_rename(struct db *db, int64_t id, const char *name, struct error *e);

/* Counts the sweep's jobs and how many rows of tables they are of, for sweep_set_enumerated. */
int imported_sweep_count(struct db *db, int64_t sweep_id, struct sweep_counts *out, int64_t *rows, struct error *e);

/* Takes all rows of the table out, as import_store_finish does, and its sweep if that has no job left. The table stays
 * noted, so that a copy of its rows in another database is known to be the older one. */
int imported_table_undo(struct db *db, int64_t id, struct import_removal *out, struct error *e);

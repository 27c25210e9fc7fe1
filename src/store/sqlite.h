/* Inside the store floor only: what the opaque handles are. */
#ifndef MESHSWEEP_STORE_SQLITE_H
#define MESHSWEEP_STORE_SQLITE_H

#include <sqlite3.h>
#include <sys/types.h>

#include "store/db.h"

struct processor_limit;
struct allowance;

struct db {
    sqlite3 *handle;
    char *path;                    /* NULL in memory */
    struct processor_limit *processor_limit; /* see guard_limit_processor; NULL: none */
    struct allowance *allowance;   /* see guard_limit_time; NULL: none */
    int lock;                      /* writer_lock_take's descriptor; -1: not a writer's */
    dev_t device;                  /* with inode, the file that a writer opened; inode 0: not a writer's */
    ino_t inode;
    bool is_displaced;             /* db_check_place found it gone */
};

struct stmt {
    sqlite3_stmt *handle;
    struct db *db;
};

/* Turns SQLite's last error into one sentence with what to do. Returns -1. */
int db_error(struct db *db, struct error *e);

/* Of guard_limit_time. NULL is none. */
void allowance_free(struct allowance *a);

/* --- rescue.c --- */

/* From now on the file at db->path is the one that this handle writes. */
void db_note_place(struct db *db);

/* Whether it still is; what was deleted, moved or replaced under us goes on to be written by SQLite, for nobody. Then -1,
 * with all that the handle can read saved beside it and the name in `e`. Outside of transactions. */
int db_check_place(struct db *db, struct error *e);

#endif

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
    bool is_new;                   /* a writer made the file */
    dev_t device;                  /* with inode, the file that a writer opened */
    ino_t inode;
    bool is_displaced;             /* it is no longer there: see store/rescue.h */
    int (*after_commit)(struct db *db, struct error *e); /* called after each; -1: the commit is told as failed. NULL: none */
};

struct stmt {
    sqlite3_stmt *handle;
    struct db *db;
};

/* What a person can do about a result code; NULL: nothing that is not said. */
const char *db_advice(int code);

/* Turns SQLite's last error into one sentence with what to do. Returns -1. */
int db_error(struct db *db, struct error *e);

#endif

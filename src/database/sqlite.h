/* Only for this floor: the types behind the opaque handles. */
#pragma once

#include <sqlite3.h>
#include <sys/types.h>

#include "database/db.h"

struct processor_limit;
struct allowance;

/* Descriptors of "-wal" and "-shm"; -1: none. */
struct watched_files {
    int log, index;
};

#define DB_STATEMENTS_KEPT 64

struct db {
    sqlite3 *handle;
    enum db_mode mode;                       /* that it was opened in */
    struct stmt *kept[DB_STATEMENTS_KEPT];   /* that ran; NULL: none */
    size_t next_kept;                        /* which makes room for another */
    char *path;                              /* NULL in memory */
    char *schema_problem;                    /* see schema_tolerate; NULL: none */
    struct processor_limit *processor_limit; /* see guard_limit_processor; NULL: none */
    struct allowance *allowance;             /* see guard_limit_time; NULL: none */
    int lock;                                /* writer_lock_take's descriptor; -1: not a writer's */
    int file_lock;                           /* file_lock_take's; -1: none */
    bool is_new;                             /* a writer made the file */
    bool is_copy;                            /* see store_is_copy */
    bool is_settled;                         /* see store_settle */
    dev_t device;                            /* with inode, the file that a writer opened */
    ino_t inode;
    bool is_displaced;              /* it is no longer there: see database/recover_replaced.h */
    struct watched_files log_files; /* a writer's; see database/log_watch.h */
    int frames_tried;               /* of the log, when they were last copied to the file */
    bool is_cut;                    /* one of them was */
    int (*after_commit)(struct db *db,
                        struct error *e); /* called after each; -1: the commit is reported as failed. NULL: none */
};

struct stmt {
    sqlite3_stmt *handle;
    struct db *db;
    bool is_query; /* which is kept when it is released */
};

/* Returns advice on what a person can do about a result code; NULL: nothing that is not said. */
const char *db_advice(int code);

/* Lets statements call number(x), the number as JSON has it, with all its digits ("null": it is not finite),
 * quoted(text), a string of TOML and JSON in double quotes, and half_width(error, freedom, error, freedom, count),
 * lead_half_width of util/quantile.h; NULL is NaN. */
int functions_add(struct db *db, struct error *e);

/* Turns SQLite's last error into one sentence with what to do. Returns -1. */
int db_error(struct db *db, struct error *e);

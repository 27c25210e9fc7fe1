#include "database/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "database/lock.h"
#include "database/open.h"
#include "util/file.h"
#include "util/memory.h"

/* The files that SQLite puts beside a database that is in use. */
static const char *const side_files[] = {"-wal", "-shm", "-journal"};
#define SIDE_FILES LENGTH(side_files)

/* The log of one database must not come to stand beside another. */
static int refuse_used(const char *path, struct error *e)
{
    int rc = 0;
    if (writer_lock_is_held(path))
        return error_set(e, ERROR_FAILED, "backup: a runner is using %s; name another file", path);
    for (size_t i = 0; rc == 0 && i < SIDE_FILES; i++) {
        OWNED char *side = xasprintf("%s%s", path, side_files[i]);
        if (store_exists(side))
            rc = error_set(e, ERROR_FAILED, "backup: %s is in use: %s stands beside it; name another file", path, side);
    }
    return rc;
}

static int refuse_foreign(const char *path, struct error *e)
{
    struct db *db = NULL;
    struct error why = ERROR_INIT;
    if (store_exists(path) && store_open_reading(path, STORE_READ_NEWEST, &db, &why) < 0)
        return error_set(e, ERROR_FAILED,
                         "backup: %s exists already and is not a database of this version of meshsweep; name another "
                         "file or remove it",
                         path);
    store_close(db);
    return 0;
}

struct backup {
    struct db *source;
    struct backup_counts counts;
};

static int fill_backup(struct db *target, void *context, struct error *e)
{
    struct backup *b = context;
    /* It says of itself that it has a log, as the original does. */
    return upgrade_copy(b->source, target, e) < 0 || db_exec(target, "PRAGMA journal_mode = DELETE", e) < 0 ||
                   db_query_int(target, "SELECT count(*) FROM job", NO_VALUES, 0, &b->counts.jobs, e) < 0 ||
                   db_query_int(target, "SELECT count(*) FROM attempt", NO_VALUES, 0, &b->counts.attempts, e) < 0
               ? -1
               : 0;
}

int database_backup(struct db *source, const char *path, struct backup_counts *out, struct error *e)
{
    struct backup b = {.source = source};
    if (refuse_used(path, e) < 0 || refuse_foreign(path, e) < 0)
        return -1;
    if (database_write_whole(path, fill_backup, &b, e) < 0)
        return error_context(e, "backup");
    *out = b.counts;
    return 0;
}

/* --- a whole file --- */

static char *make_temporary(const char *path, struct error *e)
{
    char *name = xasprintf("%s.XXXXXX", path);
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        return name;
    }
    error_errno(e, errno, "cannot create %s", path);
    free(name);
    return NULL;
}

static void sync_directory(const char *path)
{
    OWNED char *directory = path_beside(path, ".");
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

int database_write_whole(const char *path, database_fill *fill, void *context, struct error *e)
{
    struct db *target = NULL;
    OWNED char *name = make_temporary(path, e);
    if (!name)
        return -1;
    int rc = db_open(name, DB_CREATE, &target, e) < 0 ? -1 : fill(target, context, e);
    db_close(target);
    if (rc == 0 && rename(name, path) < 0)
        rc = error_errno(e, errno, "cannot make %s", path);
    if (rc < 0)
        unlink(name);
    else
        sync_directory(path);
    return rc;
}

#include "store/rescue.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/sqlite.h"
#include "util/memory.h"

static bool is_in_place(const struct db *db)
{
    struct stat status;
    return stat(db->path, &status) == 0 && status.st_dev == db->device && status.st_ino == db->inode;
}

/* "PATH.saved", or "PATH.saved-2" and so on. The caller's. */
static char *free_name(const char *path)
{
    char *name = xasprintf("%s.saved", path);
    for (int i = 2; access(name, F_OK) == 0; i++) {
        free(name);
        name = xasprintf("%s.saved-%d", path, i);
    }
    return name;
}

static int save(struct db *db, const char *name, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "VACUUM INTO ?", &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, name);
    int rc = stmt_run(s, e);
    stmt_free(s);
    return rc;
}

static int check_place(struct db *db, struct error *e)
{
    struct error why = ERROR_INIT;
    if (db->is_displaced || is_in_place(db))
        return 0;
    db->is_displaced = true;
    char *name = free_name(db->path);
    if (save(db, name, &why) == 0)
        error_set(e, ERROR_FAILED,
                  "database %s: it was deleted, moved or replaced while in use; what it held is saved in %s: put that in"
                  " its place and start again",
                  db->path, name);
    else
        error_set(e, ERROR_FAILED, "database %s: it was deleted, moved or replaced while in use, and cannot be saved: %s",
                  db->path, why.text);
    free(name);
    return -1;
}

void rescue_watch(struct db *db)
{
    struct stat status;
    if (stat(db->path, &status) < 0)
        return;
    db->device = status.st_dev;
    db->inode = status.st_ino;
    db->after_commit = check_place;
}

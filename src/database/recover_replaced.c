#include "database/recover_replaced.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database/sqlite.h"
#include "util/memory.h"

/* What cannot be looked at just now is not gone for that. */
static bool is_in_place(const struct db *db)
{
    struct stat status;
    if (stat(db->path, &status) < 0)
        return errno != ENOENT && errno != ENOTDIR;
    return status.st_dev == db->device && status.st_ino == db->inode;
}

/* "PATH.saved", or "PATH.saved-2" and so on: the first that is free, and the one before it (NULL: none). The
 * caller's. */
static char *free_name(const char *path, char **before)
{
    char *name = xasprintf("%s.saved", path);
    *before = NULL;
    for (int i = 2; access(name, F_OK) == 0; i++) {
        free(*before);
        *before = name;
        name = xasprintf("%s.saved-%d", path, i);
    }
    return name;
}

static int save(struct db *db, const char *name, struct error *e)
{
    /* SQLite would let everybody read it. */
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return db_run(db, "VACUUM INTO ?", VALUES(sql_text(name)), e);
}

static int check_place(struct db *db, struct error *e)
{
    struct error why = ERROR_INIT;
    if (db->is_displaced || is_in_place(db))
        return 0;
    db->is_displaced = true;
    char *last, *name = free_name(db->path, &last);
    if (save(db, name, &why) == 0)
        error_set(e, ERROR_FAILED,
                  "database %s: it was deleted, moved or replaced while in use; its contents are saved in %s; move "
                  "that file back and start again",
                  db->path, name);
    else
        error_set(e, ERROR_FAILED,
                  "database %s: it was deleted, moved or replaced while in use, and its contents cannot be saved: %s",
                  db->path, why.text);
    free(name);
    free(last);
    return -1;
}

void recover_replaced_watch(struct db *db)
{
    struct stat status;
    if (stat(db->path, &status) < 0)
        return;
    db->device = status.st_dev;
    db->inode = status.st_ino;
    db->after_commit = check_place;
}

void recover_replaced_tell(const struct db *db, char **notice)
{
    char *last, *before = *notice;
    free(free_name(db->path, &last));
    if (!last)
        return;
    *notice = xasprintf("%s%snew database %s: %s has the contents of the earlier database of this name, which was "
                        "deleted, moved or replaced while in use; to continue from it, stop, move it to the name of "
                        "the new one and start again",
                        before ? before : "", before ? "; " : "", db->path, last);
    free(before);
    free(last);
}

#include "database/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/file.h"
#include "util/memory.h"

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

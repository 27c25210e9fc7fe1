#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/file.h"
#include "util/memory.h"

enum { PATIENCE_MS = 1000 };

static void say_holder(int fd)
{
    struct utsname machine;
    char when[32], text[512];
    uname(&machine);
    int n = snprintf(text, sizeof text, "process %ld on %s since %s", (long)getpid(), machine.nodename,
                     clock_format_utc(clock_wall_ms(), when));
    /* Only for people: a failure here takes nothing away from the lock. */
    if (ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)n, 0) < 0)
        return;
}

static int refuse(int fd, const char *db_path, struct error *e)
{
    char holder[512] = "";
    ssize_t n = pread(fd, holder, sizeof holder - 1, 0);
    holder[n > 0 ? n : 0] = '\0';
    return error_set(e, ERROR_FAILED,
                     "database %s: another runner holds it (%s); wait for it or stop it, then start again", db_path,
                     holder[0] ? holder : "unknown");
}

/* A child between fork and exec has a copy of its runner's lock, and for a moment outlives a runner that was killed. */
static int lock_patiently(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int64_t until_ms = clock_monotonic_ms() + PATIENCE_MS;
    int rc;
    while ((rc = fcntl(fd, F_OFD_SETLK, &whole)) < 0 && (errno == EAGAIN || errno == EACCES) &&
           clock_monotonic_ms() < until_ms)
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    return rc;
}

static char *lock_path(const char *db_path)
{
    char *absolute = path_absolute(db_path), *path = xasprintf("%s.lock", absolute);
    free(absolute);
    return path;
}

static int open_lock(const char *path, bool *is_new)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    *is_new = fd >= 0;
    return fd >= 0 || errno != EEXIST ? fd : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
}

/* Whoever held it may have removed the file meanwhile: a lock on what has no name any more keeps nobody out. */
static bool is_in_place(int fd, const char *path)
{
    struct stat held, named;
    return fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

int writer_lock_take(const char *db_path, bool *is_new, struct error *e)
{
    char *path = lock_path(db_path);
    int fd = open_lock(path, is_new), locked = fd < 0 ? -1 : lock_patiently(fd);
    while (locked == 0 && !is_in_place(fd, path)) {
        close(fd);
        fd = open_lock(path, is_new);
        locked = fd < 0 ? -1 : lock_patiently(fd);
    }
    if (fd < 0)
        error_errno(e, errno, "database %s: cannot make the lock file %s", db_path, path);
    free(path);
    if (fd < 0)
        return -1;
    if (locked < 0) {
        if (errno == EAGAIN || errno == EACCES)
            refuse(fd, db_path, e);
        else
            error_errno(e, errno, "database %s: cannot lock its lock file", db_path);
        close(fd);
        return -1;
    }
    say_holder(fd);
    return fd;
}

void writer_lock_release(int descriptor)
{
    if (descriptor >= 0)
        close(descriptor);
}

void writer_lock_remove(int descriptor, const char *db_path)
{
    char *path = lock_path(db_path);
    unlink(path);
    free(path);
    writer_lock_release(descriptor);
}

bool writer_lock_is_held(const char *db_path)
{
    char *path = lock_path(db_path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (fd < 0)
        return false;
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool held = fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    close(fd);
    return held;
}

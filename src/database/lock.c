#include "database/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
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
                     "database %s: another runner is using it (%s); wait for it or stop it, then start again", db_path,
                     holder[0] ? holder : "unknown");
}

/* A child between fork and exec has a copy of its runner's lock, and for a moment outlives a runner that was killed. */
static int lock_patiently(int fd, struct flock range)
{
    int64_t until_ms = clock_monotonic_ms() + PATIENCE_MS;
    int rc;
    while ((rc = fcntl(fd, F_OFD_SETLK, &range)) < 0 && (errno == EAGAIN || errno == EACCES) &&
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
    /* A pipe would keep us waiting, and behind a link lies another file. */
    return fd >= 0 || errno != EEXIST ? fd : open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
}

/* Whoever held it may have removed the file meanwhile: a lock on what has no name any more keeps nobody out. */
static bool is_in_place(int fd, const char *path)
{
    struct stat held, named;
    return fstat(fd, &held) == 0 && lstat(path, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

/* A name that ends in ".lock" may be anybody's. */
static bool is_ours(int fd)
{
    static const char beginning[] = "process ";
    char head[sizeof beginning - 1];
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return false;
    ssize_t n = pread(fd, head, sizeof head, 0);
    /* A file that cannot be read is for its reader to report. */
    return n <= 0 || (n == sizeof head && memcmp(head, beginning, sizeof head) == 0);
}

static int refuse_file(const char *db_path, const char *path, struct error *e)
{
    return error_set(e, ERROR_FAILED,
                     "database %s: %s is not a lock file of meshsweep; name another database with -d, or remove that "
                     "file",
                     db_path, path);
}

/* Opens and locks the file that has the name, which its holder may have replaced meanwhile. -1 with errno set, and
 * `*fd` the file that is locked by another, else -1. */
static int take_lock(const char *path, int *fd, bool *is_new)
{
    for (;;) {
        *fd = open_lock(path, is_new);
        const struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if (*fd < 0 || !is_ours(*fd) || lock_patiently(*fd, whole) < 0)
            return -1;
        if (is_in_place(*fd, path))
            return 0;
        close(*fd);
    }
}

static int explain(const char *db_path, const char *path, int fd, int error, struct error *e)
{
    if (error == ELOOP || (fd >= 0 && !is_ours(fd)))
        return refuse_file(db_path, path, e);
    if (fd < 0 && error == ENOENT)
        return error_set(e, ERROR_FAILED,
                         "database %s: its directory does not exist; create it, or name another file with -d", db_path);
    if (fd < 0)
        return error_errno(e, error, "database %s: cannot create the lock file %s", db_path, path);
    if (error == EAGAIN || error == EACCES)
        return refuse(fd, db_path, e);
    return error_errno(e, error, "database %s: cannot lock its lock file", db_path);
}

int writer_lock_take(const char *db_path, bool *is_new, struct error *e)
{
    OWNED char *path = lock_path(db_path);
    int fd, rc = take_lock(path, &fd, is_new);
    if (rc == 0)
        say_holder(fd);
    else
        explain(db_path, path, fd, errno, e);
    if (rc < 0 && fd >= 0)
        close(fd);
    return rc < 0 ? -1 : fd;
}

int file_lock_take(const char *db_path, int *descriptor, struct error *e)
{
    /* Beyond what SQLite locks (at 1 GiB) and what a file can hold. */
    const struct flock beyond = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = INT64_C(1) << 62, .l_len = 1};
    *descriptor = open(db_path, O_RDWR | O_CLOEXEC);
    if (*descriptor < 0 || lock_patiently(*descriptor, beyond) == 0)
        return 0;
    bool is_held = errno == EAGAIN || errno == EACCES;
    close(*descriptor);
    *descriptor = -1;
    return is_held
               ? error_set(e, ERROR_FAILED,
                           "database %s: another runner is using this file, under another name (a hard link, another "
                           "mount) or because its lock file was removed; wait for it or stop it, then start again",
                           db_path)
               : 0;
}

void writer_lock_release(int descriptor)
{
    if (descriptor >= 0)
        close(descriptor);
}

void writer_lock_remove(int descriptor, const char *db_path)
{
    OWNED char *path = lock_path(db_path);
    unlink(path);
    writer_lock_release(descriptor);
}

bool writer_lock_is_held(const char *db_path)
{
    OWNED char *path = lock_path(db_path);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool held = fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    close(fd);
    return held;
}

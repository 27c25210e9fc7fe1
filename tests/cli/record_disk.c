/* Preloaded into the tool by test_power_cuts.sh: writes down, in order, what the tool does to the files below a
 * directory and what it says on standard error, so that cut_disk.c can rebuild what a disk would hold after a power
 * cut.
 *
 *   RECORD_BELOW=DIR  the directory, without links
 *   RECORD_TO=FILE    a sequence of struct disk_act (disk_acts.h), each followed by its name and its bytes
 *
 * Memory that is mapped is not recorded: SQLite keeps nothing in it that has to survive. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "disk_acts.h"

static const char *below;
static int trace = -1;
/* An act and what is written down about it are one step. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void)
{
    const char *to = getenv("RECORD_TO");
    below = getenv("RECORD_BELOW");
    if (to && below && strcmp(program_invocation_short_name, "meshsweep") == 0)
        trace = (int)syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    /* Out of the way of what the program closes by number. */
    int high = trace < 0 ? -1 : (int)syscall(SYS_fcntl, trace, F_DUPFD_CLOEXEC, 900);
    if (high >= 0) {
        syscall(SYS_close, trace);
        trace = high;
    }
}

static void note(enum disk_act_kind kind, const char *name, int64_t offset, const void *bytes, size_t length)
{
    const struct disk_act act = {kind, (uint32_t)strlen(name), offset, bytes ? (int64_t)length : 0};
    char *whole = malloc(sizeof act + act.name_bytes + (size_t)act.bytes);
    if (!whole)
        abort();
    memcpy(whole, &act, sizeof act);
    memcpy(whole + sizeof act, name, act.name_bytes);
    if (act.bytes)
        memcpy(whole + sizeof act + act.name_bytes, bytes, (size_t)act.bytes);
    size_t size = sizeof act + act.name_bytes + (size_t)act.bytes;
    if (syscall(SYS_write, trace, whole, size) != (long)size)
        abort();
    free(whole);
}

/* The name below the directory; NULL: it is somewhere else. */
static const char *name_of(const char *path)
{
    size_t length = below ? strlen(below) : 0;
    if (strncmp(path, below, length) != 0 || (path[length] != '/' && path[length] != '\0'))
        return NULL;
    return path[length] ? path + length + 1 : "";
}

static const char *name_behind(int fd, char path[4096])
{
    char link[64];
    if (trace < 0)
        return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long n = syscall(SYS_readlinkat, AT_FDCWD, link, path, 4095);
    path[n > 0 ? n : 0] = '\0';
    return name_of(path);
}

static const char *name_at(const char *given, char path[8192])
{
    char here[4096] = "";
    if (trace < 0)
        return NULL;
    if (given[0] != '/')
        syscall(SYS_getcwd, here, sizeof here);
    snprintf(path, 8192, "%s%s%s", here, *here ? "/" : "", given);
    return name_of(path);
}

static ssize_t write_noted(int fd, const void *bytes, size_t n, int64_t at)
{
    char path[4096];
    pthread_mutex_lock(&mutex);
    long rc = at < 0 ? syscall(SYS_write, fd, bytes, n) : syscall(SYS_pwrite64, fd, bytes, n, at);
    int error = errno;
    const char *name = name_behind(fd, path);
    if (rc > 0 && name)
        note(DISK_WRITE, name, at < 0 ? lseek(fd, 0, SEEK_CUR) - rc : at, bytes, (size_t)rc);
    pthread_mutex_unlock(&mutex);
    errno = error;
    return rc;
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    return write_noted(fd, bytes, n, -1);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    return write_noted(fd, bytes, n, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
    return write_noted(fd, bytes, n, at);
}

static int noted(enum disk_act_kind kind, long call, int fd, int64_t length)
{
    char path[4096];
    pthread_mutex_lock(&mutex);
    const char *name = name_behind(fd, path);
    long rc = syscall(call, fd, length);
    int error = errno;
    if (rc == 0 && name)
        note(kind, name, length, NULL, 0);
    pthread_mutex_unlock(&mutex);
    errno = error;
    return (int)rc;
}

int fsync(int fd)
{
    return noted(DISK_SYNC, SYS_fsync, fd, 0);
}

int fdatasync(int fd)
{
    return noted(DISK_SYNC, SYS_fdatasync, fd, 0);
}

int ftruncate(int fd, off_t length)
{
    return noted(DISK_TRUNCATE, SYS_ftruncate, fd, length);
}

int ftruncate64(int fd, off64_t length)
{
    return noted(DISK_TRUNCATE, SYS_ftruncate, fd, length);
}

static int open_noted(const char *given, int flags, int mode)
{
    char path[8192];
    struct stat status;
    pthread_mutex_lock(&mutex);
    const char *name = flags & (O_CREAT | O_TRUNC) && (flags & O_TMPFILE) != O_TMPFILE ? name_at(given, path) : NULL;
    int is_new = name && stat(given, &status) < 0;
    long rc = syscall(SYS_openat, AT_FDCWD, given, flags, mode);
    int error = errno;
    if (rc >= 0 && is_new)
        note(DISK_CREATE, name, 0, NULL, 0);
    else if (rc >= 0 && name && flags & O_TRUNC)
        note(DISK_TRUNCATE, name, 0, NULL, 0);
    pthread_mutex_unlock(&mutex);
    errno = error;
    return (int)rc;
}

#define OPEN(open_name)                                                                                                \
    int open_name(const char *path, int flags, ...)                                                                    \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0;                                         \
        va_end(arguments);                                                                                             \
        return open_noted(path, flags, mode);                                                                          \
    }
OPEN(open)
OPEN(open64)

int unlink(const char *given)
{
    char path[8192];
    pthread_mutex_lock(&mutex);
    const char *name = name_at(given, path);
    long rc = syscall(SYS_unlink, given);
    int error = errno;
    if (rc == 0 && name)
        note(DISK_UNLINK, name, 0, NULL, 0);
    pthread_mutex_unlock(&mutex);
    errno = error;
    return (int)rc;
}

/* The library's own writing cannot be preloaded. */
int fprintf(FILE *stream, const char *format, ...)
{
    char text[65536];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (trace >= 0 && stream == stderr && n > 0 && (size_t)n < sizeof text) {
        pthread_mutex_lock(&mutex);
        note(DISK_SAID, "", 0, text, (size_t)n);
        pthread_mutex_unlock(&mutex);
    }
    va_start(arguments, format);
    n = vfprintf(stream, format, arguments);
    va_end(arguments);
    return n;
}

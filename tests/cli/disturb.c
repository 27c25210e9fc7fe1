/* Preloaded into the tool by black-box tests (LD_PRELOAD): makes calls on files fail, and sets the clocks.
 *
 *   DISTURB_CALL=write     of write, pwrite, read, pread, sync (fsync, fdatasync), open; kill: a TERM is lost
 *   DISTURB_ERRNO=5        fails with this errno
 *   DISTURB_PATH=TEXT      on files in whose path TEXT occurs
 *   DISTURB_WHILE=FILE     while FILE exists
 *   DISTURB_FILE_SYSTEM=N  every file lies on a file system of this type (statfs(2))
 *   DISTURB_CLOCK=FILE     "REALTIME MONOTONIC" in FILE: milliseconds added to these clocks (boot time goes with the
 *                          former)
 *   DISTURB_SPAWN_MS=N     a program that is started runs for so long before the tool goes on
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static int is_path_meant(const char *path)
{
    const char *part = getenv("DISTURB_PATH"), *until = getenv("DISTURB_WHILE");
    return part && strstr(path, part) && until && access(until, F_OK) == 0;
}

static int is_call_meant(const char *call)
{
    const char *meant = getenv("DISTURB_CALL");
    return meant && strcmp(meant, call) == 0;
}

static int error_meant(void)
{
    const char *number = getenv("DISTURB_ERRNO");
    return number ? atoi(number) : EIO;
}

/* Returns whether the call is to fail; errno is set then. */
static int fails(const char *call, int fd)
{
    char link[64], path[4096];
    int error = errno;
    if (!is_call_meant(call))
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    int meant = n > 0 && is_path_meant(path);
    errno = meant ? error_meant() : error;
    return meant;
}

#define REAL(type, name, parameters)                                                                                   \
    static type(*real) parameters;                                                                                     \
    if (!real)                                                                                                         \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

/* A call on the file behind `fd`, which DISTURB_CALL calls `meant`. */
#define CALL(type, name, meant, parameters, arguments)                                                                 \
    type name parameters                                                                                               \
    {                                                                                                                  \
        REAL(type, name, parameters);                                                                                  \
        return fails(meant, fd) ? -1 : real arguments;                                                                 \
    }
CALL(ssize_t, write, "write", (int fd, const void *bytes, size_t n), (fd, bytes, n))
CALL(ssize_t, pwrite, "pwrite", (int fd, const void *bytes, size_t n, off_t at), (fd, bytes, n, at))
CALL(ssize_t, pwrite64, "pwrite", (int fd, const void *bytes, size_t n, off64_t at), (fd, bytes, n, at))
CALL(ssize_t, read, "read", (int fd, void *bytes, size_t n), (fd, bytes, n))
CALL(ssize_t, pread, "pread", (int fd, void *bytes, size_t n, off_t at), (fd, bytes, n, at))
CALL(ssize_t, pread64, "pread", (int fd, void *bytes, size_t n, off64_t at), (fd, bytes, n, at))
CALL(int, fsync, "sync", (int fd), (fd))
CALL(int, fdatasync, "sync", (int fd), (fd))

/* By the name that is given. */
#define OPEN(name, arguments, ...)                                                                                     \
    int name(__VA_ARGS__, ...)                                                                                         \
    {                                                                                                                  \
        REAL(int, name, (__VA_ARGS__, ...));                                                                           \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;                                              \
        va_end(more);                                                                                                  \
        if (!is_call_meant("open") || !is_path_meant(path))                                                            \
            return real arguments;                                                                                     \
        errno = error_meant();                                                                                         \
        return -1;                                                                                                     \
    }
OPEN(open, (path, flags, mode), const char *path, int flags)
OPEN(openat, (directory, path, flags, mode), int directory, const char *path, int flags)

#define STATFS(name)                                                                                                   \
    int name(const char *path, struct name *out)                                                                       \
    {                                                                                                                  \
        REAL(int, name, (const char *, struct name *));                                                                \
        const char *type = getenv("DISTURB_FILE_SYSTEM");                                                              \
        int rc = real(path, out);                                                                                      \
        if (rc == 0 && type)                                                                                           \
            out->f_type = (__typeof__(out->f_type))strtoul(type, NULL, 0);                                             \
        return rc;                                                                                                     \
    }
STATFS(statfs)
STATFS(statfs64)

int kill(pid_t pid, int number)
{
    return is_call_meant("kill") && number == SIGTERM ? 0 : (int)syscall(SYS_kill, pid, number);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *files,
                const posix_spawnattr_t *attributes, char *const *argv, char *const *environment)
{
    REAL(int, posix_spawn,
         (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *,
          char *const *));
    const char *late = getenv("DISTURB_SPAWN_MS");
    int rc = real(pid, path, files, attributes, argv, environment);
    for (int i = late ? atoi(late) : 0; i > 0; i--)
        usleep(1000);
    return rc;
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    const char *name = getenv("DISTURB_CLOCK");
    int rc = (int)syscall(SYS_clock_gettime, id, out);
    long long wall = 0, monotonic = 0;
    FILE *file = rc == 0 && name ? fopen(name, "re") : NULL;
    if (!file)
        return rc;
    if (fscanf(file, "%lld %lld", &wall, &monotonic) != 2)
        wall = monotonic = 0;
    fclose(file);
    long long add = id == CLOCK_MONOTONIC ? monotonic : wall;
    long long ns = out->tv_nsec + add % 1000 * 1000000;
    out->tv_sec += add / 1000 + (ns < 0 ? -1 : ns / 1000000000);
    out->tv_nsec = ns < 0 ? ns + 1000000000 : ns % 1000000000;
    return rc;
}

/* Preloaded into the tool by test_failed_calls.sh: one call of the tool and of what it forks fails, once; the programs
 * that it starts are left alone.
 *
 *   FAIL_KIND=calls   what the tool asks of the kernel about files, pipes, processes and threads; or memory
 *   FAIL_AT=N         the N-th of them fails, from 1; 0 or nothing: none does
 *   FAIL_SCARCE=1     for want of something (room, descriptors, processes), where that can be; else with EIO
 *   FAIL_SAID=FILE    says which one failed: "N CALL WHAT"; without FAIL_AT the number of each one that no call of the
 *                     same name and the same chain of callers came before
 *
 * Built twice: with the allocations (WITH_MEMORY), and without, which a sanitizer's own would not bear. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind { KIND_CALLS = 1, KIND_MEMORY };

static enum kind kind_meant;
static long at;
static int is_scarce;
static const char *said;

#define CHAINS 65536
#define CHAIN_CALLERS 10

/* Shared with what is forked. */
static struct shared {
    atomic_long count;
    atomic_ulong chains[CHAINS]; /* hashes; 0: free */
} * shared;                      /* NULL until the program is the tool and begins */

static void say(const char *text, int length)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, said, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    syscall(SYS_write, fd, text, length);
    syscall(SYS_close, fd);
}

__attribute__((constructor)) static void begin(void)
{
    const char *kind = getenv("FAIL_KIND"), *number = getenv("FAIL_AT");
    said = getenv("FAIL_SAID");
    if (!kind || !said || strcmp(program_invocation_short_name, "meshsweep") != 0)
        return;
    kind_meant = strcmp(kind, "memory") == 0 ? KIND_MEMORY : KIND_CALLS;
    at = number ? atol(number) : 0;
    is_scarce = getenv("FAIL_SCARCE") != NULL;
    void *callers[1];
    backtrace(callers, 1); /* allocates, the first time */
    void *memory =
        (void *)syscall(SYS_mmap, NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0L);
    if (memory != MAP_FAILED)
        shared = memory;
}

/* Returns whether no call before had the chain of callers. */
static int is_new_chain(const char *call)
{
    void *callers[CHAIN_CALLERS];
    static __thread int is_inside;
    if (is_inside)
        return 0;
    is_inside = 1;
    int n = backtrace(callers, CHAIN_CALLERS);
    is_inside = 0;
    unsigned long hash = 14695981039346656037ul;
    for (int i = 0; i < n; i++)
        hash = (hash ^ (uintptr_t)callers[i]) * 1099511628211ul;
    for (const char *c = call; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211ul;
    hash |= 1;
    for (unsigned long i = hash >> 8;; i++) {
        unsigned long free_place = 0;
        atomic_ulong *place = &shared->chains[i % CHAINS];
        if (atomic_compare_exchange_strong(place, &free_place, hash))
            return 1;
        if (free_place == hash)
            return 0;
    }
}

static int path_behind(int fd, char *out, size_t bytes)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long n = syscall(SYS_readlinkat, AT_FDCWD, link, out, bytes - 1);
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* `what`: the name of a file; NULL: of the file behind `fd`. */
static int is_turn(enum kind kind, const char *call, const char *what, int fd)
{
    char path[1024] = "", text[1200];
    if (!shared || kind != kind_meant)
        return 0;
    long number = atomic_fetch_add(&shared->count, 1) + 1;
    if (at > 0 ? number != at : !is_new_chain(call))
        return 0;
    int before = errno;
    if (!what && fd >= 0)
        path_behind(fd, path, sizeof path);
    say(text, snprintf(text, sizeof text, "%ld %s %s\n", number, call, what ? what : path));
    errno = before;
    return at > 0;
}

static int fails(const char *call, const char *what, int fd, int scarce)
{
    if (!is_turn(KIND_CALLS, call, what, fd))
        return 0;
    errno = is_scarce && scarce ? scarce : EIO;
    return 1;
}

#define CALL(type, name, parameters, arguments, what, fd, scarce, failed)                                              \
    type name parameters                                                                                               \
    {                                                                                                                  \
        static type(*real) parameters;                                                                                 \
        if (!real)                                                                                                     \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                                                 \
        if (fails(#name, what, fd, scarce))                                                                            \
            return failed;                                                                                             \
        return real arguments;                                                                                         \
    }

CALL(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n), NULL, fd, ENOSPC, -1)
CALL(ssize_t, pwrite, (int fd, const void *b, size_t n, off_t o), (fd, b, n, o), NULL, fd, ENOSPC, -1)
CALL(ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t o), (fd, b, n, o), NULL, fd, ENOSPC, -1)
CALL(ssize_t, read, (int fd, void *b, size_t n), (fd, b, n), NULL, fd, 0, -1)
CALL(ssize_t, pread, (int fd, void *b, size_t n, off_t o), (fd, b, n, o), NULL, fd, 0, -1)
CALL(ssize_t, pread64, (int fd, void *b, size_t n, off64_t o), (fd, b, n, o), NULL, fd, 0, -1)
CALL(int, fsync, (int fd), (fd), NULL, fd, ENOSPC, -1)
CALL(int, fdatasync, (int fd), (fd), NULL, fd, ENOSPC, -1)
CALL(int, ftruncate, (int fd, off_t n), (fd, n), NULL, fd, ENOSPC, -1)
CALL(int, ftruncate64, (int fd, off64_t n), (fd, n), NULL, fd, ENOSPC, -1)
CALL(int, fallocate, (int fd, int m, off_t o, off_t n), (fd, m, o, n), NULL, fd, ENOSPC, -1)
CALL(off_t, lseek, (int fd, off_t o, int w), (fd, o, w), NULL, fd, 0, -1)
CALL(int, fstat, (int fd, struct stat *s), (fd, s), NULL, fd, ENOMEM, -1)
CALL(int, fstat64, (int fd, struct stat64 *s), (fd, s), NULL, fd, ENOMEM, -1)
CALL(int, fstatvfs, (int fd, struct statvfs *s), (fd, s), NULL, fd, ENOMEM, -1)
CALL(int, fchmod, (int fd, mode_t m), (fd, m), NULL, fd, 0, -1)
CALL(int, flock, (int fd, int o), (fd, o), NULL, fd, ENOLCK, -1)
CALL(int, stat, (const char *p, struct stat *s), (p, s), p, -1, ENOMEM, -1)
CALL(int, stat64, (const char *p, struct stat64 *s), (p, s), p, -1, ENOMEM, -1)
CALL(int, lstat, (const char *p, struct stat *s), (p, s), p, -1, ENOMEM, -1)
CALL(int, lstat64, (const char *p, struct stat64 *s), (p, s), p, -1, ENOMEM, -1)
CALL(int, fstatat, (int d, const char *p, struct stat *s, int f), (d, p, s, f), p, -1, ENOMEM, -1)
CALL(int, fstatat64, (int d, const char *p, struct stat64 *s, int f), (d, p, s, f), p, -1, ENOMEM, -1)
CALL(int, statfs, (const char *p, struct statfs *s), (p, s), p, -1, ENOMEM, -1)
CALL(int, access, (const char *p, int m), (p, m), p, -1, ENOMEM, -1)
CALL(int, chmod, (const char *p, mode_t m), (p, m), p, -1, 0, -1)
CALL(int, mkdir, (const char *p, mode_t m), (p, m), p, -1, ENOSPC, -1)
CALL(int, mkdirat, (int d, const char *p, mode_t m), (d, p, m), p, -1, ENOSPC, -1)
CALL(int, rmdir, (const char *p), (p), p, -1, 0, -1)
CALL(int, unlink, (const char *p), (p), p, -1, 0, -1)
CALL(int, unlinkat, (int d, const char *p, int f), (d, p, f), p, -1, 0, -1)
CALL(int, remove, (const char *p), (p), p, -1, 0, -1)
CALL(int, rename, (const char *p, const char *q), (p, q), p, -1, ENOSPC, -1)
CALL(int, renameat, (int d, const char *p, int e, const char *q), (d, p, e, q), p, -1, ENOSPC, -1)
CALL(int, linkat, (int d, const char *p, int e, const char *q, int f), (d, p, e, q, f), q, -1, ENOSPC, -1)
CALL(ssize_t, readlink, (const char *p, char *b, size_t n), (p, b, n), p, -1, ENOMEM, -1)
CALL(char *, realpath, (const char *p, char *b), (p, b), p, -1, ENOMEM, NULL)
CALL(char *, getcwd, (char *b, size_t n), (b, n), "", -1, ENOMEM, NULL)
CALL(int, mkostemp, (char *p, int f), (p, f), p, -1, EMFILE, -1)
CALL(char *, mkdtemp, (char *p), (p), p, -1, ENOSPC, NULL)
CALL(DIR *, opendir, (const char *p), (p), p, -1, EMFILE, NULL)
CALL(DIR *, fdopendir, (int d), (d), "", -1, ENOMEM, NULL)
CALL(struct dirent *, readdir, (DIR * d), (d), "", -1, 0, NULL)
CALL(int, pipe2, (int p[2], int f), (p, f), "", -1, EMFILE, -1)
CALL(int, dup2, (int a, int b), (a, b), NULL, a, EMFILE, -1)
CALL(pid_t, fork, (void), (), "", -1, EAGAIN, -1)
CALL(void *, mmap64, (void *a, size_t n, int p, int f, int fd, off64_t o), (a, n, p, f, fd, o), NULL, fd, ENOMEM,
     MAP_FAILED)
CALL(int, pthread_create,
     (pthread_t *restrict t, const pthread_attr_t *restrict a, void *(*f)(void *), void *restrict c), (t, a, f, c), "",
     -1, EAGAIN, EAGAIN)

/* The descriptor is gone then, as close(2) says. */
int close(int fd)
{
    int failed = fails("close", NULL, fd, 0);
    int rc = (int)syscall(SYS_close, fd);
    if (!failed)
        return rc;
    errno = EIO;
    return -1;
}

#define OPEN(name, at, ...)                                                                                            \
    int name(__VA_ARGS__ const char *path, int flags, ...)                                                             \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0;                                         \
        va_end(arguments);                                                                                             \
        return fails(#name, path, -1, EMFILE) ? -1 : (int)syscall(SYS_openat, at, path, flags, mode);                  \
    }
#define COMMA ,
OPEN(open, AT_FDCWD)
OPEN(open64, AT_FDCWD)
OPEN(openat, directory, int directory COMMA)
OPEN(openat64, directory, int directory COMMA)

#define FCNTL(name)                                                                                                    \
    int name(int fd, int command, ...)                                                                                 \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, command);                                                                                  \
        void *argument = va_arg(arguments, void *);                                                                    \
        va_end(arguments);                                                                                             \
        int unlocks = command == F_SETLK && ((struct flock *)argument)->l_type == F_UNLCK; /* which cannot fail */     \
        return !unlocks && fails(#name, NULL, fd, ENOLCK) ? -1 : (int)syscall(SYS_fcntl, fd, command, argument);       \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

#ifdef WITH_MEMORY

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);

static int is_gone(const char *call, size_t bytes)
{
    char text[32];
    if (!shared || kind_meant != KIND_MEMORY)
        return 0;
    snprintf(text, sizeof text, "%zu bytes", bytes);
    int gone = is_turn(KIND_MEMORY, call, text, -1);
    if (gone)
        errno = ENOMEM;
    return gone;
}

void *malloc(size_t bytes)
{
    return is_gone("malloc", bytes) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    return is_gone("calloc", n * bytes) ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *block, size_t bytes)
{
    return is_gone("realloc", bytes) ? NULL : __libc_realloc(block, bytes);
}

#endif

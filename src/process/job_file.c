#include "process/job_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process/archived_file.h"
#include "util/file.h"
#include "util/memory.h"

enum { NAMES_OF_JOB = 2 }; /* of a directory's path: KEY/NUMBER */

#define FOR_READING (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* --- directories --- */

/* Returns where the names of the path begin that are the job's. */
static size_t begin_of_names(const char *path)
{
    size_t at = strlen(path);
    for (int i = 0; i < NAMES_OF_JOB; i++) {
        while (at > 0 && path[at - 1] == '/')
            at--;
        while (at > 0 && path[at - 1] != '/')
            at--;
    }
    return at;
}

static char *path_above(const char *path)
{
    size_t length = begin_of_names(path);
    /* glibc cannot resolve a name that ends in a slash where faccessat2 is refused as if it were forbidden. */
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length ? xstrndup(path, length) : xstrdup(".");
}

/* Closes `at`, but for -1. */
static int open_name(int at, const char *name, size_t length, int flags, bool make)
{
    char text[NAME_MAX + 1];
    int opened = -1, error = ENAMETOOLONG;
    if (at < 0)
        return -1;
    if (length <= NAME_MAX) {
        memcpy(text, name, length);
        text[length] = '\0';
        bool made = !make || mkdirat(at, text, 0700) == 0 || errno == EEXIST;
        opened = made ? openat(at, text, flags | O_NOFOLLOW | O_CLOEXEC) : -1;
        error = errno;
    }
    close(at);
    errno = error;
    return opened;
}

static int open_directory(const char *path, bool make)
{
    OWNED char *above = path_above(path);
    struct error ignored = ERROR_INIT;
    int at = make && file_make_directories(above, &ignored) < 0 ? -1 : open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (const char *name = path + begin_of_names(path); at >= 0 && *name;) {
        size_t length = strcspn(name, "/");
        at = open_name(at, name, length, O_PATH | O_DIRECTORY, make);
        name += length + strspn(name + length, "/");
    }
    return at;
}

int job_directory_open(const char *path)
{
    return open_directory(path, false);
}

int job_directory_make(const char *path)
{
    return open_directory(path, true);
}

DIR *job_directory_list(int at, const char *name)
{
    int directory = at == AT_FDCWD ? job_directory_open(name) : -1;
    int fd = at == AT_FDCWD && directory < 0 ? -1
                                             : openat(directory < 0 ? at : directory, directory < 0 ? name : ".",
                                                      FOR_READING | O_DIRECTORY | O_NOFOLLOW);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (directory >= 0)
        close(directory);
    return list;
}

char *job_directory_absolute(const char *path)
{
    OWNED char *above = path_above(path), *whole = path_absolute(above);
    return xasprintf("%s/%s", strcmp(whole, "/") ? whole : "", path + begin_of_names(path));
}

/* --- files --- */

/* Takes `fd`. */
static int only_regular(int fd)
{
    struct stat status;
    if (fd < 0)
        return -1;
    int error = fstat(fd, &status) < 0 ? errno : S_ISREG(status.st_mode) ? 0 : EINVAL;
    if (error == 0)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

int job_file_open_in(int directory, const char *name)
{
    return only_regular(openat(directory, name, FOR_READING | O_NOFOLLOW));
}

typedef int open_plain(const char *directory, const char *path);

/* Opens the file or, where there is none, what it was compressed to. It may have been brought back meanwhile. */
static int open_or_unpack(open_plain *plain, const char *directory, const char *path)
{
    errno = ENOENT;
    int fd = path ? plain(directory, path) : -1;
    if (fd >= 0 || errno != ENOENT || !path || !archived_is_name(path_name(path)))
        return fd;
    OWNED char *packed = xasprintf("%s" ARCHIVED_SUFFIX, path);
    fd = archived_file_read(plain(directory, packed));
    return fd >= 0 || errno != ENOENT ? fd : plain(directory, path);
}

static int open_itself(const char *directory, const char *path)
{
    (void)directory;
    return job_file_open_in(AT_FDCWD, path);
}

static int open_named(const char *directory, const char *path)
{
    (void)directory;
    return only_regular(open(path, FOR_READING));
}

int job_file_open(const char *path)
{
    return open_or_unpack(open_itself, NULL, path);
}

int job_file_open_named(const char *path)
{
    return open_or_unpack(open_named, NULL, path);
}

int64_t job_file_size(const char *path)
{
    struct stat status;
    if (job_file_stat(AT_FDCWD, path, &status))
        return status.st_size;
    OWNED char *packed = xasprintf("%s" ARCHIVED_SUFFIX, path);
    return archived_file_size(job_file_open(packed));
}

static bool is_below(const char *name, size_t length)
{
    return length > 0 && !(length == 1 && name[0] == '.') && !(length == 2 && name[0] == '.' && name[1] == '.');
}

static int open_below(const char *directory, const char *path)
{
    int at = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (bool last = false; at >= 0 && !last; path += strcspn(path, "/") + 1) {
        const size_t length = strcspn(path, "/");
        last = path[length] == '\0';
        if (!is_below(path, length)) {
            close(at);
            errno = ENOENT;
            return -1;
        }
        at = open_name(at, path, length, last ? FOR_READING : O_PATH | O_DIRECTORY, false);
        if (last)
            break;
    }
    return only_regular(at);
}

int job_file_open_below(const char *directory, const char *path)
{
    return open_or_unpack(open_below, directory, path);
}

int job_file_create(int directory, const char *name, int flags)
{
    if (unlinkat(directory, name, 0) < 0 && errno != ENOENT)
        return -1;
    return openat(directory, name, flags | O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int job_file_reopen(int fd)
{
    char self[40];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    return open(self, O_WRONLY | O_CLOEXEC);
}

bool job_file_stat(int directory, const char *name, struct stat *out)
{
    return fstatat(directory, name, out, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(out->st_mode);
}

int job_file_read(int fd, size_t limit_bytes, struct buffer *out)
{
    char block[65536];
    ssize_t n = -1;
    size_t total = 0;
    while (fd >= 0 && ((n = read(fd, block, sizeof block)) > 0 || (n < 0 && errno == EINTR))) {
        total += n > 0 ? (size_t)n : 0;
        if (total > limit_bytes)
            break;
        buffer_add(out, block, n > 0 ? (size_t)n : 0);
    }
    int error = total > limit_bytes ? EFBIG : errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return n == 0 ? 0 : -1;
}

char *job_file_text(const char *path, size_t limit_bytes)
{
    OWNED_BUFFER text = BUFFER_INIT;
    if (job_file_read(job_file_open(path), limit_bytes, &text) == 0)
        return buffer_take(&text);
    return NULL;
}

void job_file_share(const char *path)
{
    int fd = open(path, FOR_READING | O_NOFOLLOW);
    if (fd < 0)
        return;
    file_share_open(fd);
    close(fd);
}

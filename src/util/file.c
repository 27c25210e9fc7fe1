#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fault.h"
#include "util/memory.h"

static int read_all(int fd, const char *path, size_t limit_bytes, struct buffer *out, struct error *e)
{
    char block[65536];
    size_t total = 0;
    for (;;) {
        ssize_t n = read(fd, block, sizeof block);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(e, errno, "%s: cannot read", path);
        if (n == 0)
            return 0;
        total += (size_t)n;
        if (total > limit_bytes)
            return error_set(e, ERROR_FAILED, "%s: larger than the %zu bytes allowed", path, limit_bytes);
        buffer_add(out, block, (size_t)n);
    }
}

/* A named pipe would have its reader wait for somebody who writes. One that a shell made (/dev/stdin, /dev/fd/63) has
 * somebody. */
static bool is_lone_pipe(int fd, const char *path)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISFIFO(status.st_mode))
        return false;
    OWNED char *place = path_absolute(path);
    bool made_by_shell = strncmp(path, "/dev/", 5) == 0 || strncmp(place, "/proc/", 6) == 0;
    return !made_by_shell;
}

int file_read(const char *path, size_t limit_bytes, struct buffer *out, struct error *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_errno(e, errno, "%s: cannot open", path);
    if (is_lone_pipe(fd, path)) {
        close(fd);
        return error_set(e, ERROR_FAILED, "%s: cannot read: it is a pipe, not a file", path);
    }
    fcntl(fd, F_SETFL, 0);
    int rc = read_all(fd, path, limit_bytes, out, e);
    close(fd);
    return rc;
}

char *file_text(const char *path, size_t limit_bytes)
{
    OWNED_BUFFER text = BUFFER_INIT;
    if (file_read(path, limit_bytes, &text, NULL) == 0)
        return buffer_take(&text);
    return NULL;
}

int file_write_all(int fd, const void *bytes, size_t length)
{
    const char *rest = bytes;
    while (length > 0) {
        ssize_t n = write(fd, rest, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        rest += n;
        length -= (size_t)n;
    }
    return 0;
}

int file_copy_range(int from, int64_t start, int64_t end, int to)
{
    char block[65536];
    while (start < end) {
        size_t wanted = end - start < (int64_t)sizeof block ? (size_t)(end - start) : sizeof block;
        ssize_t n = pread(from, block, wanted, start);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || file_write_all(to, block, (size_t)n) < 0)
            return -1;
        start += n;
    }
    return 0;
}

bool file_has_room(int fd, size_t bytes, bool to_disk)
{
    static const char block[1 << 16];
    bool has = fd >= 0;
    for (size_t n = 0; has && n < bytes; n += sizeof block)
        has = pwrite(fd, block, sizeof block, (off_t)n) == (ssize_t)sizeof block;
    has = has && (!to_disk || fsync(fd) == 0);
    return (fd < 0 || ftruncate(fd, 0) == 0) && has;
}

int file_copy(int from, int to)
{
    struct stat status;
    off_t data = 0, end = 0;
    while ((data = lseek(from, end, SEEK_DATA)) >= 0) {
        end = lseek(from, data, SEEK_HOLE);
        if (end < 0 || lseek(to, data, SEEK_SET) < 0 || file_copy_range(from, data, end, to) < 0)
            return -1;
    }
    /* No data but a hole at the end, or nothing. */
    return errno == ENXIO && fstat(from, &status) == 0 ? ftruncate(to, status.st_size) : -1;
}

/* Can only be asked by being set. */
static mode_t creation_mask(void)
{
    mode_t mask = umask(S_IRWXG | S_IRWXO);
    umask(mask);
    return mask;
}

/* A file without a name, beside `path`; -1 where there are none. */
static int open_unnamed(const char *path)
{
    OWNED char *directory = path_beside(path, ".");
    int fd = access("/proc/self/fd", X_OK) == 0 ? open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1;
    return fd;
}

static int open_temporary(const char *path, char **name)
{
    int fd = open_unnamed(path);
    *name = NULL;
    if (fd >= 0)
        return fd;
    *name = xasprintf("%s.XXXXXX", path);
    return mkostemp(*name, O_CLOEXEC);
}

int atomic_file_open(const char *path, const char *like, struct atomic_file *out, struct error *e)
{
    struct stat status;
    const bool follows = like && lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    struct atomic_file f = {.path = follows ? realpath(path, NULL) : NULL};
    f.path = f.path ? f.path : xstrdup(path);
    f.mode = 0644 & ~creation_mask();
    if (like)
        f.mode &= stat(like, &status) == 0 ? status.st_mode : 0600;
    f.in_place = stat(path, &status) == 0 && !S_ISREG(status.st_mode);
    f.descriptor = f.in_place ? open(path, O_WRONLY | O_CLOEXEC) : open_temporary(f.path, &f.temporary);
    if (f.descriptor < 0) {
        error_errno(e, errno, "%s: cannot create", path);
        free_all(f.temporary, f.path);
        return -1;
    }
    *out = f;
    return 0;
}

int atomic_file_write(struct atomic_file *f, const void *bytes, size_t length, struct error *e)
{
    if (file_write_all(f->descriptor, bytes, length) < 0)
        return error_errno(e, errno, "%s: cannot write", f->path);
    return 0;
}

static int name_it(int descriptor, const char *name)
{
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", descriptor);
    return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* A link cannot replace: the file is "PATH.part" for a moment. One by one, so that what has that name already was left
 * by a kill. */
static int replace(int descriptor, const char *path)
{
    OWNED char *directory = path_beside(path, "."), *part = xasprintf("%s.part", path);
    int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0)
        flock(lock, LOCK_EX);
    unlink(part);
    int rc = name_it(descriptor, part);
    FAULT(FILE_LINKED);
    if (rc == 0)
        rc = rename(part, path);
    int error = errno;
    if (lock >= 0)
        close(lock);
    errno = error;
    return rc;
}

static int name_and_replace(int descriptor, const char *path)
{
    int rc = name_it(descriptor, path);
    return rc < 0 && errno == EEXIST ? replace(descriptor, path) : rc;
}

int atomic_file_commit(struct atomic_file *f, struct error *e)
{
    if (f->in_place)
        return 0;
    if (fchmod(f->descriptor, f->mode) < 0 || fsync(f->descriptor) < 0)
        return error_errno(e, errno, "%s: cannot write", f->path);
    FAULT(FILE_WRITTEN);
    int rc = f->temporary ? rename(f->temporary, f->path) : name_and_replace(f->descriptor, f->path);
    if (rc < 0)
        return error_errno(e, errno, "%s: cannot replace", f->path);
    FAULT(FILE_RENAMED);
    free(f->temporary);
    f->temporary = NULL;
    return 0;
}

void atomic_file_close(struct atomic_file *f)
{
    if (f->descriptor >= 0)
        close(f->descriptor);
    if (f->temporary)
        unlink(f->temporary);
    free_all(f->temporary, f->path);
    *f = ATOMIC_FILE_INIT;
}

int file_write_atomic(const char *path, const void *bytes, size_t length, struct error *e)
{
    return file_write_like(path, NULL, bytes, length, e);
}

int file_write_like(const char *path, const char *like, const void *bytes, size_t length, struct error *e)
{
    struct atomic_file f = ATOMIC_FILE_INIT;
    int rc = -1;
    if (atomic_file_open(path, like, &f, e) == 0 && atomic_file_write(&f, bytes, length, e) == 0)
        rc = atomic_file_commit(&f, e);
    atomic_file_close(&f);
    return rc;
}

static mode_t shared_mode(const struct stat *status)
{
    mode_t more = S_IRGRP | S_IROTH | (S_ISDIR(status->st_mode) ? S_IXGRP | S_IXOTH : 0);
    return (status->st_mode | (more & ~creation_mask())) & 07777;
}

void file_share(const char *path)
{
    struct stat status;
    /* A file that belongs to somebody else is for them to decide on. */
    if (stat(path, &status) == 0 && shared_mode(&status) != (status.st_mode & 07777))
        (void)!chmod(path, shared_mode(&status));
}

void file_share_open(int fd)
{
    struct stat status;
    if (fstat(fd, &status) == 0 && shared_mode(&status) != (status.st_mode & 07777))
        (void)!fchmod(fd, shared_mode(&status));
}

int file_make_directories(const char *path, struct error *e)
{
    OWNED char *copy = xstrdup(path);
    int rc = 0;
    for (char *p = copy + 1; rc == 0; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char kept = *p;
        *p = '\0';
        struct stat status;
        if (mkdir(copy, 0700) < 0 && (errno != EEXIST || stat(copy, &status) < 0 || !S_ISDIR(status.st_mode)))
            rc = error_errno(e, errno, "%s: cannot make the directory", copy);
        *p = kept;
        if (kept == '\0')
            break;
    }
    return rc;
}

int64_t file_tree_bytes(char *path, bool remove, int64_t *written_ms)
{
    char *const paths[] = {path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    const FTSENT *f = NULL;
    int64_t bytes = 0;
    int rc = tree ? 0 : -1;
    while (rc == 0 && (errno = 0, f = fts_read(tree))) {
        const bool is_file = f->fts_info != FTS_D && f->fts_info != FTS_DP;
        const int64_t at_ms = (int64_t)f->fts_statp->st_mtim.tv_sec * 1000;
        if (f->fts_info == FTS_DNR || f->fts_info == FTS_ERR || f->fts_info == FTS_NS) {
            errno = f->fts_errno;
            rc = -1;
        } else {
            bytes += is_file ? f->fts_statp->st_size : 0;
            if (written_ms && at_ms > *written_ms)
                *written_ms = at_ms;
        }
        if (rc == 0 && remove && f->fts_info != FTS_D)
            rc = is_file ? unlink(f->fts_accpath) : rmdir(f->fts_accpath);
    }
    const int error = errno;
    if (tree)
        fts_close(tree);
    errno = error;
    return rc < 0 || error ? -1 : bytes;
}

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *path_beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    if (name[0] == '/' || !slash)
        return xstrdup(name);
    return xasprintf("%.*s/%s", (int)(slash - path), path, name);
}

char *path_absolute(const char *path)
{
    char *whole = realpath(path, NULL);
    if (whole)
        return whole;
    const char *slash = strrchr(path, '/');
    OWNED char *parent = slash ? xstrndup(path, slash == path ? 1 : (size_t)(slash - path)) : xstrdup(".");
    OWNED char *resolved = realpath(parent, NULL);
    if (!resolved)
        return xstrdup(path);
    return xasprintf("%s/%s", strcmp(resolved, "/") ? resolved : "", path_name(path));
}

bool path_is_same(const char *a, const char *b)
{
    struct stat of_a, of_b;
    if (stat(a, &of_a) == 0 && stat(b, &of_b) == 0)
        return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    OWNED char *whole_a = path_absolute(a), *whole_b = path_absolute(b);
    return strcmp(whole_a, whole_b) == 0;
}

bool path_is_within(const char *path, const char *directory)
{
    char *above = path_absolute(path), *slash;
    bool within = path_is_same(above, directory);
    while (!within && (slash = strrchr(above, '/')) && slash != above) {
        *slash = '\0';
        within = path_is_same(above, directory);
    }
    free(above);
    return within;
}

#include "process/archived_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "process/job_file.h"
#include "process/process.h"
#include "util/fault.h"
#include "util/file.h"
#include "util/memory.h"

/* A file that is no larger takes a block of the disk either way; one that is larger than that is not brought into
 * memory. */
enum { LEAST_BYTES = 4096, MOST_BYTES = 1 << 30, BLOCK_BYTES = 65536 };

const char *const archived_names[] = {"output.log", "stdout.log", "stderr.log", "metrics.jsonl", NULL};

bool archived_is_name(const char *name)
{
    for (size_t i = 0; archived_names[i]; i++)
        if (strcmp(archived_names[i], name) == 0)
            return true;
    return false;
}

/* --- reading and writing --- */

typedef int take_piece(void *context, const void *bytes, size_t length);

static gzFile open_stream(int fd, const char *mode)
{
    int copy = lseek(fd, 0, SEEK_SET) == 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    gzFile stream = copy < 0 ? NULL : gzdopen(copy, mode);
    if (!stream && copy >= 0) {
        close(copy);
        errno = ENOMEM;
    }
    return stream;
}

static int unpack(int packed, take_piece *take, void *context)
{
    char block[BLOCK_BYTES];
    gzFile in = open_stream(packed, "rb");
    int n = -1, rc = in ? 0 : -1;
    int64_t total = 0;
    while (rc == 0 && (n = gzread(in, block, sizeof block)) > 0) {
        total += n;
        errno = EFBIG;
        rc = total > MOST_BYTES ? -1 : take(context, block, (size_t)n);
    }
    if (!in)
        return -1;
    const int error = errno;
    /* Text that is not compressed would be passed on as it is. */
    const bool damaged = n < 0 || gzdirect(in);
    const bool ended = gzclose_r(in) == Z_OK;
    errno = rc < 0 ? error : EBADMSG;
    return rc < 0 || damaged || !ended ? -1 : 0;
}

static int pack(int from, int to)
{
    char block[BLOCK_BYTES];
    gzFile out = lseek(from, 0, SEEK_SET) == 0 ? open_stream(to, "wb6") : NULL;
    ssize_t n = -1;
    if (!out)
        return -1;
    errno = 0;
    while ((n = read(from, block, sizeof block)) > 0 && gzwrite(out, block, (unsigned)n) == n)
        continue;
    const int error = errno;
    const bool ended = gzclose_w(out) == Z_OK;
    errno = error ? error : errno ? errno : EIO;
    return n == 0 && ended ? 0 : -1;
}

static int take_write(void *context, const void *bytes, size_t length)
{
    return file_write_all(*(int *)context, bytes, length);
}

int archived_file_read(int packed)
{
    int fd = packed < 0 ? -1 : memfd_create("archived", MFD_CLOEXEC);
    if (fd >= 0 && (unpack(packed, take_write, &fd) < 0 || lseek(fd, 0, SEEK_SET) < 0)) {
        const int error = errno;
        descriptor_close(&fd);
        errno = error;
    }
    const int error = errno;
    descriptor_close(&packed);
    errno = error;
    return fd;
}

int64_t archived_file_size(int packed)
{
    unsigned char end[4]; /* the length modulo 2^32, the lowest byte first: RFC 1952 */
    struct stat status;
    const bool is_there = packed >= 0 && fstat(packed, &status) == 0 &&
                          pread(packed, end, sizeof end, status.st_size - (off_t)sizeof end) == sizeof end;
    descriptor_close(&packed);
    return is_there ? (int64_t)((uint32_t)end[3] << 24 | (uint32_t)end[2] << 16 | (uint32_t)end[1] << 8 | end[0]) : -1;
}

/* --- comparing --- */

struct piecewise {
    int fd;
    off_t at;
};

static int take_compare(void *context, const void *bytes, size_t length)
{
    struct piecewise *c = context;
    char block[BLOCK_BYTES];
    size_t have = 0;
    ssize_t n = 1;
    while (have < length && (n = pread(c->fd, block + have, length - have, c->at)) > 0) {
        have += (size_t)n;
        c->at += n;
    }
    errno = n < 0 ? errno : EBADMSG;
    return have == length && memcmp(block, bytes, length) == 0 ? 0 : -1;
}

static bool is_same(int plain, int packed)
{
    struct piecewise c = {plain, 0};
    struct stat status;
    if (unpack(packed, take_compare, &c) < 0)
        return false;
    errno = EBADMSG;
    return fstat(plain, &status) == 0 && status.st_size == c.at;
}

/* --- one file --- */

struct turning {
    int directory, from, back; /* `back`: what was made, to be read back; -1: not yet */
    const char *from_name, *to_name;
    char *temporary;
    enum archived_way way;
    struct stat before;
};

static int sync_directory(int directory)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? -1 : fsync(fd);
    descriptor_close(&fd);
    return rc < 0 && errno == EINVAL ? 0 : rc; /* a file system that has no such thing */
}

static bool is_turned(const struct turning *t, int made)
{
    return t->way == ARCHIVED_PACK ? is_same(t->from, made) : is_same(made, t->from);
}

static int make(struct turning *t)
{
    int to = job_file_create(t->directory, t->temporary, 0);
    int rc = to < 0 ? -1 : t->way == ARCHIVED_PACK ? pack(t->from, to) : unpack(t->from, take_write, &to);
    const struct timespec times[] = {t->before.st_atim, t->before.st_mtim};
    if (rc == 0 && geteuid() == 0 && fchown(to, t->before.st_uid, t->before.st_gid) < 0)
        rc = -1;
    if (rc == 0 && (fchmod(to, t->before.st_mode & 0777) < 0 || futimens(to, times) < 0 || fsync(to) < 0))
        rc = -1;
    if (rc == 0) /* so that it is read from the disk, where there is one */
        posix_fadvise(to, 0, 0, POSIX_FADV_DONTNEED);
    const int error = errno;
    descriptor_close(&to);
    errno = error;
    t->back = rc < 0 ? -1 : job_file_open_in(t->directory, t->temporary);
    FAULT(ARCHIVE_WRITTEN);
    return t->back < 0 ? -1 : 0;
}

/* Returns whether it is still what was turned, under its name. */
static bool is_unchanged(const struct turning *t)
{
    struct stat now;
    errno = EBUSY;
    return job_file_stat(t->directory, t->from_name, &now) && now.st_ino == t->before.st_ino &&
           now.st_size == t->before.st_size && now.st_mtim.tv_sec == t->before.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == t->before.st_mtim.tv_nsec;
}

static int take_place(const struct turning *t)
{
    struct stat made, named;
    if (renameat(t->directory, t->temporary, t->directory, t->to_name) < 0 || sync_directory(t->directory) < 0)
        return -1;
    FAULT(ARCHIVE_RENAMED);
    errno = EBUSY;
    if (fstat(t->back, &made) < 0 || !job_file_stat(t->directory, t->to_name, &named) || made.st_ino != named.st_ino)
        return -1;
    if (!is_unchanged(t)) {
        if (job_file_stat(t->directory, t->from_name, &named) && named.st_ino == t->before.st_ino)
            unlinkat(t->directory, t->to_name, 0);
        errno = EBUSY;
        return -1;
    }
    if (unlinkat(t->directory, t->from_name, 0) < 0)
        return -1;
    FAULT(ARCHIVE_REMOVED);
    return sync_directory(t->directory);
}

static int turn(struct turning *t, struct archived_change *out)
{
    struct stat made;
    int rc = make(t) < 0 || fstat(t->back, &made) < 0 ? -1 : 1;
    if (rc > 0 && t->way == ARCHIVED_PACK && made.st_size >= t->before.st_size)
        rc = 0;
    if (rc > 0 && (!is_turned(t, t->back) || !is_unchanged(t) || take_place(t) < 0))
        rc = -1;
    const int error = errno;
    if (rc <= 0)
        unlinkat(t->directory, t->temporary, 0);
    descriptor_close(&t->back);
    errno = error;
    out->to = rc > 0 ? made.st_size : 0;
    return rc;
}

/* Both are there: somebody died before the last step. */
static int finish_turning(const struct turning *t, int there, struct archived_change *out)
{
    struct stat status;
    if (!is_turned(t, there) || !is_unchanged(t) || fsync(there) < 0 || sync_directory(t->directory) < 0 ||
        fstat(there, &status) < 0) {
        errno = EEXIST;
        return -1;
    }
    out->to = status.st_size;
    return unlinkat(t->directory, t->from_name, 0) < 0 || sync_directory(t->directory) < 0 ? -1 : 1;
}

static int turn_open(struct turning *t, bool dry, struct archived_change *out)
{
    if (fstat(t->from, &t->before) < 0)
        return -1;
    out->from = t->before.st_size;
    if (t->way == ARCHIVED_PACK && (t->before.st_size <= LEAST_BYTES || t->before.st_size > MOST_BYTES))
        return 0;
    if (dry)
        return 1;
    int there = job_file_open_in(t->directory, t->to_name);
    if (there < 0)
        return errno == ENOENT ? turn(t, out) : -1;
    int rc = finish_turning(t, there, out), error = errno;
    descriptor_close(&there);
    errno = error;
    return rc;
}

int archived_file_turn(int directory, const char *name, enum archived_way way, bool dry, struct archived_change *out)
{
    char *packed = xasprintf("%s" ARCHIVED_SUFFIX, name);
    const bool packs = way == ARCHIVED_PACK;
    struct turning t = {.directory = directory,
                        .from_name = packs ? name : packed,
                        .to_name = packs ? packed : name,
                        .temporary = xasprintf("%s" ARCHIVED_TEMPORARY, name),
                        .way = way,
                        .back = -1};
    *out = (struct archived_change){0, 0};
    t.from = job_file_open_in(directory, t.from_name);
    /* A link, or what is no file, is the job's own. */
    const bool none = t.from < 0 && (errno == ENOENT || errno == ELOOP || errno == EINVAL);
    int rc = t.from >= 0 ? turn_open(&t, dry, out) : none ? 0 : -1;
    const int error = errno;
    descriptor_close(&t.from);
    free_all(packed, t.temporary);
    errno = error;
    return rc;
}

int archived_lock(const char *directory, int *lock, struct error *e)
{
    *lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* A file system that has no such locks keeps nobody out: then the check before the last step does. */
    if (*lock < 0 || flock(*lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return 0;
    descriptor_close(lock);
    return error_set(e, ERROR_FAILED, "%s: another `meshsweep archive` or `meshsweep gc` is at work; wait for it",
                     directory);
}

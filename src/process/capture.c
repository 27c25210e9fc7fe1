#include "process/capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "process/log_cap.h"
#include "process/process.h"
#include "process/slot_owners.h"
#include "util/error.h"
#include "util/fault.h"
#include "util/file.h"
#include "util/memory.h"

#define FULL_BYTES 65536
#define KEEP_TRIES 2 /* what fails once may not fail again; a log is worth that */

void capture_init(struct capture *c, const char *scratch_dir, size_t slot, int64_t cap_bytes)
{
    *c = (struct capture){.scratch_dir = xstrdup(scratch_dir),
                          .slot = slot,
                          .cap_bytes = cap_bytes > 0 ? cap_bytes : LOG_CAP_DEFAULT_BYTES,
                          .owners_fd = -1,
                          .idle_fd = -1,
                          .fd = -1};
}

static bool is_slot_file(const char *name)
{
    size_t length = strlen(name);
    return strncmp(name, "slot-", 5) == 0 ||
           (strncmp(name, "attempt-", 8) == 0 && length > 6 && strcmp(name + length - 6, ".jsonl") == 0);
}

void capture_tidy(const char *scratch_dir)
{
    DIR *directory = opendir(scratch_dir);
    struct dirent *entry;
    while (directory && (entry = readdir(directory)))
        if (is_slot_file(entry->d_name))
            unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
}

static char *slot_path(const struct capture *c)
{
    return xasprintf("%s/slot-%zu.log", c->scratch_dir, c->slot);
}

static void forget_attempt(struct capture *c)
{
    descriptor_close(&c->fd);
    free(c->log_path);
    free(c->metrics_path);
    c->log_path = c->metrics_path = NULL;
}

static void drop_idle(struct capture *c)
{
    if (c->idle_fd < 0)
        return;
    char *path = slot_path(c);
    unlink(path);
    free(path);
    descriptor_close(&c->idle_fd);
}

static void end_streams(struct capture *c)
{
    streams_end(c->streams);
    c->streams = NULL;
}

void capture_free(struct capture *c)
{
    end_streams(c);
    forget_attempt(c);
    drop_idle(c);
    free(c->scratch_dir);
    c->scratch_dir = NULL;
}

/* Makes `path` anew, opens it for the child (returned) and for ourselves (*read_fd): two open files, so that the
 * kernel can tell whether the child's is still held. */
static int open_new(const char *path, int *read_fd)
{
    if (unlink(path) < 0 && errno != ENOENT)
        return -1;
    int fd = descriptor_above_standard(open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (fd < 0)
        return -1;
    *read_fd = descriptor_above_standard(open(path, O_RDONLY | O_CLOEXEC));
    if (*read_fd < 0) {
        close(fd);
        return -1;
    }
    /* A lease breaks with SIGIO, which kills by default; SIGURG does nothing. */
    fcntl(*read_fd, F_SETSIG, SIGURG);
    return fd;
}

static bool same_file(int a, int b)
{
    struct stat left, right;
    return fstat(a, &left) == 0 && fstat(b, &right) == 0 && left.st_ino == right.st_ino && left.st_dev == right.st_dev;
}

static int open_slot(struct capture *c, const char *path)
{
    if (c->idle_fd >= 0) {
        int fd = descriptor_above_standard(open(path, O_WRONLY | O_APPEND | O_CLOEXEC));
        if (fd >= 0 && same_file(fd, c->idle_fd)) {
            c->fd = c->idle_fd;
            c->idle_fd = -1;
            return fd;
        }
        /* Somebody tidied the directory. */
        descriptor_close(&fd);
        descriptor_close(&c->idle_fd);
    }
    return open_new(path, &c->fd);
}

/* Opens the log, and has the child write to it itself or through `c->streams`. */
static int open_for_child(struct capture *c, const char *own_dir, int child[STREAM_COUNT])
{
    int fd = own_dir ? open_new(c->log_path, &c->fd) : open_slot(c, c->log_path);
    if (fd < 0)
        return -1;
    if (own_dir && c->keeps_apart)
        return streams_begin(fd, own_dir, c->cap_bytes, child, &c->streams);
    child[0] = child[1] = fd;
    return 0;
}

void capture_close_child(int child[STREAM_COUNT])
{
    if (child[1] != child[0])
        close(child[1]);
    close(child[0]);
}

int capture_begin(struct capture *c, int64_t attempt, const char *own_dir, int child[STREAM_COUNT])
{
    struct error ignored = ERROR_INIT;
    c->own_dir = own_dir != NULL;
    if (own_dir && file_make_directories(own_dir, &ignored) < 0) {
        errno = errno ? errno : EIO;
        return -1;
    }
    c->log_path = own_dir ? xasprintf("%s/output.log", own_dir) : slot_path(c);
    /* The attempt's number keeps a straggler of the slot's last job from writing into this one's metrics. */
    c->metrics_path = own_dir ? xasprintf("%s/metrics.jsonl", own_dir)
                              : xasprintf("%s/attempt-%" PRId64 ".metrics.jsonl", c->scratch_dir, attempt);
    int rc = open_for_child(c, own_dir, child);
    /* Somebody removed the directory: there is nothing in it that could be missed. */
    if (rc < 0 && errno == ENOENT && !own_dir && file_make_directories(c->scratch_dir, &ignored) == 0)
        rc = open_for_child(c, own_dir, child);
    if (rc < 0) {
        int error_number = errno;
        forget_attempt(c);
        errno = error_number;
    } else if (!own_dir) {
        slot_owner_set(c->owners_fd, c->slot, attempt);
    }
    return rc;
}

void capture_abandon(struct capture *c)
{
    end_streams(c);
    if (c->own_dir) {
        unlink(c->log_path);
    } else {
        c->idle_fd = c->fd;
        c->fd = -1;
    }
    forget_attempt(c);
}

static int64_t changed_ns(const struct stat *status)
{
    return (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
}

struct capture_activity capture_look(const struct capture *c)
{
    struct capture_activity seen = {0};
    struct stat status;
    if (fstat(c->fd, &status) == 0) {
        seen.log_bytes = status.st_size;
        seen.log_changed_ns = changed_ns(&status);
    }
    if (stat(c->metrics_path, &status) == 0) {
        seen.metrics_bytes = status.st_size;
        seen.metrics_changed_ns = changed_ns(&status);
    }
    return seen;
}

enum capture_hold capture_hold(const struct capture *c)
{
    if (c->streams)
        return streams_ended(c->streams) ? CAPTURE_RELEASED : CAPTURE_HELD;
    /* A read lease is granted only while nobody has the file open for writing. */
    if (fcntl(c->fd, F_SETLEASE, F_RDLCK) < 0)
        return errno == EAGAIN ? CAPTURE_HELD : CAPTURE_UNKNOWN;
    fcntl(c->fd, F_SETLEASE, F_UNLCK);
    return CAPTURE_RELEASED;
}

bool capture_outgrows(const struct capture *c, int64_t log_bytes)
{
    return log_bytes > c->cap_bytes / 4;
}

void capture_bound(const struct capture *c, int64_t log_bytes, int64_t read_bytes)
{
    if (read_bytes < log_bytes - CAPTURE_UNREAD_MOST)
        read_bytes = log_bytes - CAPTURE_UNREAD_MOST;
    if (log_bytes > c->cap_bytes)
        log_cap_release_middle(c->log_path, log_bytes, c->cap_bytes, read_bytes);
}

static int copy_file(int from, const char *to)
{
    int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    int rc = file_copy_range(from, 0, INT64_MAX, fd);
    close(fd);
    if (rc < 0)
        unlink(to);
    return rc;
}

/* Moves `from` to `to`; over a file-system border, or when `from` was removed under us, copies what `fd` shows. */
static int move_file(const char *from, const char *to, int fd)
{
    if (rename(from, to) == 0)
        return 0;
    if (errno != EXDEV && errno != ENOENT)
        return -1;
    if (copy_file(fd, to) < 0)
        return -1;
    unlink(from);
    return 0;
}

/* Brings a file to its place. Returns where it ended up. */
static char *keep(const char *path, int fd, const char *job_dir, const char *name, const char *fallback)
{
    struct error ignored = ERROR_INIT;
    char *wanted = xasprintf("%s/%s", job_dir, name);
    for (int i = 0; i < KEEP_TRIES; i++)
        if (file_make_directories(job_dir, &ignored) == 0 && move_file(path, wanted, fd) == 0)
            return wanted;
    free(wanted);
    if (strcmp(path, fallback) != 0 && rename(path, fallback) < 0)
        return xstrdup(path);
    return xstrdup(fallback);
}

static char *keep_log(struct capture *c, int64_t attempt, const char *job_dir)
{
    if (c->own_dir)
        return xstrdup(c->log_path);
    char *fallback = xasprintf("%s/attempt-%" PRId64 ".log", c->scratch_dir, attempt);
    char *path = keep(c->log_path, c->fd, job_dir, "output.log", fallback);
    free(fallback);
    return path;
}

static char *keep_metrics(struct capture *c, const char *job_dir)
{
    if (c->own_dir)
        return access(c->metrics_path, F_OK) == 0 || errno != ENOENT ? xstrdup(c->metrics_path) : NULL;
    int fd = open(c->metrics_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? NULL : xstrdup(c->metrics_path); /* whoever reads it will say */
    char *path = keep(c->metrics_path, fd, job_dir, "metrics.jsonl", c->metrics_path);
    close(fd);
    return path;
}

/* An empty log: the slot's is kept for the next attempt, another is removed. */
static void put_back_empty(struct capture *c, bool released)
{
    if (!c->own_dir && released && c->idle_fd < 0) {
        c->idle_fd = c->fd;
        c->fd = -1;
        return;
    }
    unlink(c->log_path);
}

/* A block may be left where the last write did not fit. Of the blocks that are kept for root others have nothing. */
static bool is_disk_full(int fd)
{
    struct statvfs f;
    if (fstatvfs(fd, &f) < 0 || f.f_blocks == 0)
        return false;
    return (geteuid() == 0 ? f.f_bfree : f.f_bavail) * f.f_frsize < FULL_BYTES;
}

struct captured capture_end(struct capture *c, int64_t attempt, const char *job_dir, bool released)
{
    end_streams(c);
    struct captured kept = {.disk_full = is_disk_full(c->fd)};
    struct stat status;
    bool is_known = fstat(c->fd, &status) == 0;
    if (is_known)
        kept.log_bytes = status.st_size;
    if (kept.log_bytes > 0 || !is_known)
        kept.log_path = keep_log(c, attempt, job_dir);
    else
        put_back_empty(c, released);
    kept.cap_bytes = kept.log_bytes > c->cap_bytes ? c->cap_bytes : 0;
    FAULT(LOG_KEPT);
    kept.metrics_path = keep_metrics(c, job_dir);
    forget_attempt(c);
    return kept;
}

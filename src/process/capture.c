#include "process/capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/job_file.h"
#include "process/log_cap.h"
#include "process/process.h"
#include "process/supervisor.h"
#include "util/error.h"
#include "util/fault.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/string_list.h"

#define FULL_BYTES 65536
#define LOG_NAME "output.log"
#define METRICS_NAME "metrics.jsonl"
#define KEEP_TRIES 2 /* what fails once may not fail again; a log is worth that */

enum { CHUNK = 65536 };

/* --- streams --- */

/* Standard output and standard error of one job, separately and together in one log.
 *
 * Each is a pipe, which a thread empties into the common log and into its own file, in the order in which the
 * kernel hands them over: that within a stream is always the job's, that between them as far as the thread is awake
 * when they are written. The job no longer writes into its own log: it waits when the thread does, and is sent
 * SIGPIPE when this process has died. */

struct stream_copy {
    int pipe_fd, file_fd; /* -1: at its end; could not be written */
    char *path;
    int64_t bytes;
};

struct streams {
    struct stream_copy of[STREAM_COUNT];
    int log_fd, stop_fd[2];
    int directory; /* borrowed */
    int64_t cap_bytes;
    pthread_t thread;
    atomic_bool ended;
    char chunk[CHUNK];
};

/* A full disk is no reason to let the job wait: what does not fit is lost, as it is of a log that a job writes. */
static void keep_chunk(struct streams *s, struct stream_copy *stream, size_t n)
{
    file_write_all(s->log_fd, s->chunk, n);
    if (stream->file_fd >= 0 && file_write_all(stream->file_fd, s->chunk, n) < 0)
        descriptor_close(&stream->file_fd);
    if (stream->file_fd < 0)
        return;
    stream->bytes += (int64_t)n;
    if (stream->bytes > s->cap_bytes)
        log_cap_release_middle(stream->file_fd, stream->bytes, s->cap_bytes, stream->bytes);
}

/* At most `most` bytes; returns how many there were, 0: the pipe is empty, or at its end and closed. */
static size_t take_chunk(struct streams *s, struct stream_copy *stream, size_t most)
{
    ssize_t n = read(stream->pipe_fd, s->chunk, most < CHUNK ? most : CHUNK);
    if (n > 0)
        keep_chunk(s, stream, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        descriptor_close(&stream->pipe_fd);
    return n > 0 ? (size_t)n : 0;
}

/* Takes what is there now, and not what a straggler adds meanwhile. */
static void take_rest(struct streams *s, struct stream_copy *stream)
{
    int waiting = 0;
    if (stream->pipe_fd < 0 || ioctl(stream->pipe_fd, FIONREAD, &waiting) < 0)
        return;
    for (size_t left = (size_t)waiting, n; left > 0 && (n = take_chunk(s, stream, left)) > 0;)
        left -= n;
}

static void finish_streams(struct streams *s)
{
    for (int i = 0; i < STREAM_COUNT; i++) {
        struct stream_copy *stream = &s->of[i];
        take_rest(s, stream);
        descriptor_close(&stream->pipe_fd);
        descriptor_close(&stream->file_fd);
        if (stream->bytes > s->cap_bytes)
            log_cap_compact(stream->path, stream->bytes, s->cap_bytes);
        else if (stream->bytes == 0)
            unlinkat(s->directory, path_name(stream->path), 0);
    }
    descriptor_close(&s->log_fd);
    atomic_store(&s->ended, true);
}

static void *empty(void *context)
{
    struct streams *s = context;
    for (;;) {
        struct pollfd waits[] = {{s->of[0].pipe_fd, POLLIN, 0},
                                 {s->of[1].pipe_fd, POLLIN, 0},
                                 {s->stop_fd[0], POLLIN, 0}};
        if (waits[0].fd < 0 && waits[1].fd < 0)
            break;
        if (poll(waits, STREAM_COUNT + 1, -1) < 0 && errno != EINTR)
            break;
        for (int i = 0; i < STREAM_COUNT; i++)
            if (waits[i].revents)
                take_chunk(s, &s->of[i], CHUNK);
        if (waits[STREAM_COUNT].revents)
            break;
    }
    finish_streams(s);
    return NULL;
}

/* --- beginning and end --- */

static void release(struct streams *s)
{
    for (int i = 0; i < STREAM_COUNT; i++) {
        descriptor_close(&s->of[i].pipe_fd);
        descriptor_close(&s->of[i].file_fd);
        free(s->of[i].path);
    }
    descriptor_close(&s->log_fd);
    descriptor_close(&s->stop_fd[0]);
    descriptor_close(&s->stop_fd[1]);
    free(s);
}

static int open_stream(struct stream_copy *stream, int directory, const char *name, int *child)
{
    int ends[2];
    int rc = pipe_above_standard(ends);
    stream->pipe_fd = ends[0];
    *child = ends[1];
    if (rc < 0 || fcntl(stream->pipe_fd, F_SETFL, O_NONBLOCK) < 0)
        return -1;
    stream->file_fd = descriptor_above_standard(job_file_create(directory, name, O_APPEND));
    return stream->file_fd < 0 ? -1 : 0;
}

static int start_thread(struct streams *s)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error_number = pthread_create(&s->thread, NULL, empty, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = error_number;
    return error_number ? -1 : 0;
}

/* The directory of an attempt, borrowed until streams_end. */
struct streams_place {
    int fd;
    const char *path;
};

/* Empties two new pipes into `log_fd` (taken, whatever comes of it) and into stdout.log and stderr.log at `place`, made
 * anew; each of the two keeps its head and tail where it outgrows `cap_bytes` (process/log_cap.h), which the
 * common log's owner sees to itself. `child`: the ends for standard output and standard error, the caller's.
 * -1: errno is set, and nothing is begun. */
static int streams_begin(int log_fd, const struct streams_place *place, int64_t cap_bytes, int child[STREAM_COUNT],
                         struct streams **out)
{
    static const char *const names[STREAM_COUNT] = {STREAMS_OUT_FILE, STREAMS_ERR_FILE};
    struct streams *s = xcalloc(1, sizeof *s);
    int rc = 0;
    s->log_fd = log_fd;
    s->directory = place->fd;
    s->cap_bytes = cap_bytes;
    s->stop_fd[0] = s->stop_fd[1] = -1;
    for (int i = 0; i < STREAM_COUNT; i++) {
        s->of[i] = (struct stream_copy){-1, -1, xasprintf("%s/%s", place->path, names[i]), 0};
        child[i] = -1;
    }
    for (int i = 0; rc == 0 && i < STREAM_COUNT; i++)
        rc = open_stream(&s->of[i], place->fd, names[i], &child[i]);
    rc = rc < 0 ? rc : pipe_above_standard(s->stop_fd);
    rc = rc < 0 ? rc : start_thread(s);
    if (rc == 0) {
        *out = s;
        return 0;
    }
    int error_number = errno;
    for (int i = 0; i < STREAM_COUNT; i++)
        descriptor_close(&child[i]);
    release(s);
    errno = error_number;
    return -1;
}

/* Returns whether nobody holds an end to write to any more, and all that was written is in the files. */
static bool streams_ended(const struct streams *s)
{
    return atomic_load(&s->ended);
}

/* Ends the copying: what has been written by now is in the files, and those who still hold an end are not heard any
 * more. A file of a stream to which nothing was written is removed. NULL is none. */
static void streams_end(struct streams *s)
{
    if (!s)
        return;
    descriptor_close(&s->stop_fd[1]);
    pthread_join(s->thread, NULL);
    release(s);
}

void capture_init(struct capture *c, const char *scratch_dir, size_t slot, int64_t cap_bytes)
{
    *c = (struct capture){.scratch_dir = xstrdup(scratch_dir),
                          .slot = slot,
                          .cap_bytes = cap_bytes > 0 ? cap_bytes : LOG_CAP_DEFAULT_BYTES,
                          .owners_fd = -1,
                          .idle_fd = -1,
                          .fd = -1,
                          .directory = -1,
                          .room_fd = -1};
}

static bool is_slot_file(const char *name)
{
    return strncmp(name, "slot-", 5) == 0 || (strncmp(name, "attempt-", 8) == 0 && length_before(name, ".jsonl"));
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
    descriptor_close(&c->directory);
    free_all(c->own_dir, c->log_path, c->metrics_path);
    c->own_dir = c->log_path = c->metrics_path = NULL;
}

static void drop_idle(struct capture *c)
{
    if (c->idle_fd < 0)
        return;
    OWNED char *path = slot_path(c);
    unlink(path);
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

/* Makes a file anew, opens it for the child (returned) and for ourselves (*read_fd): two open files, so that the
 * kernel can tell whether the child's is still held. */
static int open_new(int directory, const char *name, int *read_fd)
{
    int fd = descriptor_above_standard(job_file_create(directory, name, O_APPEND));
    if (fd < 0)
        return -1;
    *read_fd = descriptor_above_standard(job_file_open_in(directory, name));
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

/* Opens what is held open for reading for appending, too, under its name if that is still its own; else -1. */
static int open_in_place(int directory, const char *name, int held)
{
    int fd = openat(directory, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && same_file(fd, held) && fcntl(fd, F_SETFL, O_APPEND) == 0)
        return fd;
    descriptor_close(&fd);
    return -1;
}

/* Returns whether the name still is the open file's. */
static bool is_named(int directory, const char *name, int fd)
{
    struct stat named, held;
    return job_file_stat(directory, name, &named) && fstat(fd, &held) == 0 && named.st_ino == held.st_ino &&
           named.st_dev == held.st_dev;
}

static int open_slot(struct capture *c, const char *path)
{
    if (c->idle_fd >= 0) {
        int fd = descriptor_above_standard(open_in_place(AT_FDCWD, path, c->idle_fd));
        if (fd >= 0) {
            c->fd = c->idle_fd;
            c->idle_fd = -1;
            return fd;
        }
        /* Somebody tidied the directory. */
        descriptor_close(&c->idle_fd);
    }
    return open_new(AT_FDCWD, path, &c->fd);
}

/* Opens the log, and has the child write to it itself or through `c->streams`. */
static int open_for_child(struct capture *c, int child[STREAM_COUNT])
{
    descriptor_close(&c->fd);
    descriptor_close(&c->directory);
    if (c->own_dir)
        c->directory = descriptor_above_standard(job_directory_make(c->own_dir));
    if (c->own_dir && c->directory < 0)
        return -1;
    int fd = c->own_dir ? open_new(c->directory, LOG_NAME, &c->fd) : open_slot(c, c->log_path);
    if (fd < 0)
        return -1;
    if (c->own_dir && c->keeps_apart)
        return streams_begin(fd, &(struct streams_place){c->directory, c->own_dir}, c->cap_bytes, child, &c->streams);
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
    c->own_dir = own_dir ? xstrdup(own_dir) : NULL;
    c->log_path = own_dir ? xasprintf("%s/" LOG_NAME, own_dir) : slot_path(c);
    /* The attempt's number keeps a straggler of the slot's last job from writing into this one's metrics. */
    c->metrics_path = own_dir ? xasprintf("%s/" METRICS_NAME, own_dir)
                              : xasprintf("%s/attempt-%" PRId64 ".metrics.jsonl", c->scratch_dir, attempt);
    int rc = open_for_child(c, child);
    /* Somebody removed the directory: there is nothing in it that could be missed. */
    if (rc < 0 && errno == ENOENT && (own_dir || file_make_directories(c->scratch_dir, &ignored) == 0))
        rc = open_for_child(c, child);
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
        unlinkat(c->directory, LOG_NAME, 0);
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
    if (fstatat(c->own_dir ? c->directory : AT_FDCWD, c->own_dir ? METRICS_NAME : c->metrics_path, &status, 0) == 0) {
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
    if (log_bytes <= c->cap_bytes)
        return;
    int fd = job_file_reopen(c->fd); /* the log itself, whatever its name leads to now */
    log_cap_release_middle(fd, log_bytes, c->cap_bytes, read_bytes);
    descriptor_close(&fd);
}

/* --- the end --- */

/* Writes what `from` holds to a new file. */
static int write_anew(int from, int directory, const char *name)
{
    int fd = job_file_create(directory, name, 0);
    int rc = fd < 0 ? -1 : file_copy(from, fd), error = errno;
    descriptor_close(&fd);
    if (rc < 0)
        unlinkat(directory, name, 0);
    errno = error;
    return rc;
}

/* Moves the slot's file to the directory; over a file-system border, or where its name is another file's by now, what
 * `fd` shows is copied. */
static int move_file(const char *from, int fd, int directory, const char *name)
{
    bool is_own = is_named(AT_FDCWD, from, fd);
    if (is_own && renameat(AT_FDCWD, from, directory, name) == 0)
        return 0;
    if ((is_own && errno != EXDEV && errno != ENOENT) || write_anew(fd, directory, name) < 0)
        return -1;
    unlink(from);
    return 0;
}

/* Brings a slot's file to its place. Returns where it ended up. */
static char *keep_file(const char *path, int fd, const char *job_dir, const char *name, const char *fallback)
{
    bool moved = false;
    for (int i = 0; i < KEEP_TRIES && !moved; i++) {
        int directory = job_directory_make(job_dir);
        moved = directory >= 0 && move_file(path, fd, directory, name) == 0;
        descriptor_close(&directory);
    }
    if (moved)
        return xasprintf("%s/%s", job_dir, name);
    if (strcmp(path, fallback) != 0 && move_file(path, fd, AT_FDCWD, fallback) < 0)
        return xstrdup(path);
    return xstrdup(fallback);
}

static bool is_directory_moved(const struct capture *c)
{
    int directory = c->own_dir ? job_directory_open(c->own_dir) : -1;
    bool is_moved = c->own_dir && (directory < 0 || !same_file(directory, c->directory));
    descriptor_close(&directory);
    return is_moved;
}

/* The log is where it was made, unless the job moved, removed or replaced it. Then what is held open is written there
 * anew. */
static char *keep_own_log(struct capture *c, const char *fallback, struct captured *kept)
{
    if (!kept->directory_moved && is_named(c->directory, LOG_NAME, c->fd))
        return xstrdup(c->log_path);
    int directory = job_directory_make(c->own_dir);
    bool kept_there = directory >= 0 && write_anew(c->fd, directory, LOG_NAME) == 0;
    descriptor_close(&directory);
    if (!kept_there && write_anew(c->fd, AT_FDCWD, fallback) < 0)
        kept->log_error = errno;
    return xstrdup(kept_there ? c->log_path : fallback);
}

static char *keep_log(struct capture *c, int64_t attempt, const char *job_dir, struct captured *kept)
{
    OWNED char *fallback = xasprintf("%s/attempt-%" PRId64 ".log", c->scratch_dir, attempt);
    return c->own_dir ? keep_own_log(c, fallback, kept) : keep_file(c->log_path, c->fd, job_dir, LOG_NAME, fallback);
}

/* A directory that was moved has the job's metrics, too. */
static char *keep_own_metrics(const struct capture *c, bool directory_moved)
{
    struct stat status;
    int fd = directory_moved ? job_file_open_in(c->directory, METRICS_NAME) : -1;
    int directory = fd < 0 ? -1 : job_directory_make(c->own_dir);
    if (directory >= 0)
        write_anew(fd, directory, METRICS_NAME);
    descriptor_close(&directory);
    descriptor_close(&fd);
    /* Whoever reads a file about which nothing can be found out will say so. */
    return lstat(c->metrics_path, &status) == 0 || errno != ENOENT ? xstrdup(c->metrics_path) : NULL;
}

static char *keep_metrics(struct capture *c, const char *job_dir, bool directory_moved)
{
    if (c->own_dir)
        return keep_own_metrics(c, directory_moved);
    int fd = job_file_open_named(c->metrics_path);
    if (fd < 0)
        return errno == ENOENT ? NULL : xstrdup(c->metrics_path);
    char *path = keep_file(c->metrics_path, fd, job_dir, METRICS_NAME, c->metrics_path);
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
    unlinkat(c->own_dir ? c->directory : AT_FDCWD, c->own_dir ? LOG_NAME : c->log_path, 0);
}

/* A block may be left where the last write did not fit. A log may have grown as far as files may (ulimit -f). */
static bool is_disk_full(const struct capture *c, int64_t log_bytes)
{
    struct rlimit limit;
    bool is_largest =
        getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && (rlim_t)log_bytes >= limit.rlim_cur;
    return is_largest || (c->room_fd >= 0 && !file_has_room(c->room_fd, FULL_BYTES, false));
}

struct captured capture_end(struct capture *c, int64_t attempt, const char *job_dir, bool released)
{
    end_streams(c);
    struct captured kept = {.directory_moved = is_directory_moved(c)};
    struct stat status;
    bool is_known = fstat(c->fd, &status) == 0;
    if (is_known)
        kept.log_bytes = status.st_size;
    if (kept.log_bytes > 0 || !is_known)
        kept.log_path = keep_log(c, attempt, job_dir, &kept);
    else
        put_back_empty(c, released);
    kept.cap_bytes = kept.log_bytes > c->cap_bytes ? c->cap_bytes : 0;
    FAULT(LOG_KEPT);
    kept.metrics_path = keep_metrics(c, job_dir, kept.directory_moved);
    kept.disk_full = (kept.log_bytes > 0 || kept.metrics_path) && is_disk_full(c, kept.log_bytes);
    forget_attempt(c);
    return kept;
}

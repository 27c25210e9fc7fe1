#include "process/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "process/job_file.h"
#include "process/log_cap.h"
#include "process/process.h"
#include "util/file.h"
#include "util/memory.h"

enum { CHUNK = 65536 };

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

int streams_begin(int log_fd, const struct streams_place *place, int64_t cap_bytes, int child[STREAM_COUNT],
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

bool streams_ended(const struct streams *s)
{
    return atomic_load(&s->ended);
}

void streams_end(struct streams *s)
{
    if (!s)
        return;
    descriptor_close(&s->stop_fd[1]);
    pthread_join(s->thread, NULL);
    release(s);
}

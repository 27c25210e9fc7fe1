#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output.h"
#include "commands/commands.h"
#include "database/open.h"
#include "process/job_file.h"
#include "results/job_record.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/utf8.h"

#define LOOK_EVERY_MS 200

struct follower {
    const struct tail_options *options;
    struct db *db;
    char *directory; /* of the database's files */
    int64_t job;
    struct job_log log;
    int fd; /* -1: no file yet */
    off_t at;
};

/* The log is in the attempt's directory or, while it runs, the slot's file. The caller's; NULL: none. */
static char *log_path(const struct follower *f)
{
    if (f->log.directory) {
        char *path = f->log.directory[0] == '/' ? xasprintf("%s/output.log", f->log.directory)
                                                : xasprintf("%s/%s/output.log", f->directory, f->log.directory);
        struct stat status;
        if (f->log.ended || lstat(path, &status) == 0)
            return path;
        free(path);
    }
    return f->log.ended || f->log.slot < 0 ? NULL
                                           : xasprintf("%s/slots/slot-%lld.log", f->directory, (long long)f->log.slot);
}

/* Offset of the last `lines` lines of the file. */
static off_t line_start(int fd, off_t size, int64_t lines)
{
    char block[4096];
    off_t end = size;
    int64_t seen = 0;
    while (end > 0) {
        size_t length = end < (off_t)sizeof block ? (size_t)end : sizeof block;
        ssize_t got = pread(fd, block, length, end - (off_t)length);
        if (got <= 0)
            return end;
        for (ssize_t i = got - 1; i >= 0; i--) {
            off_t position = end - (off_t)length + i;
            if (block[i] == '\n' && position != size - 1 && ++seen >= lines)
                return position + 1;
        }
        end -= (off_t)length;
    }
    return 0;
}

static int open_log(struct follower *f, struct error *e)
{
    OWNED char *path = log_path(f);
    struct stat st;
    if (!path)
        return 0;
    f->fd = job_file_open(path);
    int error_number = errno;
    if (f->fd < 0 && (error_number == EINVAL || error_number == ELOOP))
        error_set(e, ERROR_FAILED, "%s: the job has put something else in place of its log, which is kept when it ends",
                  path);
    else if (f->fd < 0 && error_number != ENOENT)
        error_errno(e, error_number, "%s", path);
    if (f->fd < 0)
        return error_number == ENOENT ? 0 : -1;
    f->at = fstat(f->fd, &st) == 0 && f->options->lines ? line_start(f->fd, st.st_size, f->options->lines)
            : f->options->lines                         ? 0
                                                        : st.st_size;
    return 0;
}

/* The length without an incomplete character at the end, which a terminal would show as U+FFFD. */
static size_t whole_characters(const char *text, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char c = (unsigned char)text[length - back];
        if (c >= 0xC0)
            return utf8_sequence_length(text + length - back, back) ? length : length - back;
        if (c < 0x80)
            break;
    }
    return length;
}

/* With `ended`, an incomplete character is copied too. */
static int copy_new(struct follower *f, bool ended, struct error *e)
{
    char block[65536];
    ssize_t got;
    while (f->fd >= 0 && (got = pread(f->fd, block, sizeof block, f->at)) > 0) {
        size_t length = whole_characters(block, (size_t)got);
        if (length == 0 && !ended)
            break;
        length = length ? length : (size_t)got;
        if (output_write(block, length, e) < 0)
            return -1;
        f->at += (off_t)length;
    }
    return output_flush_all(e);
}

/* Without a file, the recorded end of the output. */
static int write_recorded(const struct follower *f, struct error *e)
{
    if (f->log.tail)
        return output_text(f->log.tail, e);
    output_message("attempt %lld of job %lld has no output", (long long)f->log.number, (long long)f->job);
    return 0;
}

/* The open file remains the attempt's when it is moved to its directory. */
static int follow(struct follower *f, struct error *e)
{
    for (;;) {
        int64_t number = f->log.number;
        bool ended = f->log.ended;
        if (f->fd < 0 && open_log(f, e) < 0)
            return -1;
        if (copy_new(f, ended || f->options->once, e) < 0)
            return -1;
        if (ended || f->options->once || store_is_copy(f->db))
            return f->fd < 0 ? write_recorded(f, e) : 0;
        poll(NULL, 0, LOOK_EVERY_MS);
        job_log_free(&f->log);
        if (job_log_read(f->db, f->job, number, &f->log, e) < 0)
            return -1;
    }
}

static int find_worst(struct db *db, int64_t *job, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db, embedded_text("src/commands/worst_job.sql"), NO_VALUES, &s, e);
    if (rc == 0)
        return error_set(e, ERROR_NOTHING, "no job has ended yet");
    if (rc > 0) {
        *job = stmt_int(s, 0);
        output_message("%s", stmt_text(s, 1));
    }
    return rc < 0 ? -1 : 0;
}

static void release(struct follower *f)
{
    if (f->fd >= 0)
        close(f->fd);
    job_log_free(&f->log);
    free(f->directory);
    store_close(f->db);
}

int command_tail(const struct tail_options *o, const struct arguments *a, struct error *e)
{
    OWNED_BY(release) struct follower f = {.options = o, .fd = -1};
    if (o->worst && a->word_count)
        return error_set(e, ERROR_USAGE, "tail: give only one of JOB and --worst");
    if (a->word_count == 0 && !o->worst)
        return error_set(e, ERROR_USAGE,
                         "tail: name a job by its number, or by the beginning of its key; meshsweep results lists "
                         "them");
    if (store_open_read_only(o->db, &f.db, e) < 0)
        return -1;
    f.directory = store_directory_of(f.db);
    int rc = o->worst ? find_worst(f.db, &f.job, e) : job_named(f.db, a->words[0], &f.job, e);
    return rc < 0 || job_log_read(f.db, f.job, o->attempt, &f.log, e) < 0 ? -1 : follow(&f, e);
}

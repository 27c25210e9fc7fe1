#include "run/line_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/memory.h"

struct line_reader {
    int fd;
    int error;                /* errno of a read that failed */
    int64_t at;               /* offset of what is read next */
    int64_t gap_from, gap_to; /* not read; empty when equal */
    size_t begin, end;        /* what of `block` is unread; nothing when begin is not below end */
    bool looked_for_line_feed;
    size_t line_feed;         /* the first one in it, `end` when there is none; out of date once below `begin` */
    size_t length;
    char block[LINE_BYTES_MOST];
    char line[LINE_BYTES_MOST + 1];
};

static struct line_reader *reader_of(int fd, int64_t size, int64_t bytes_most)
{
    struct line_reader *r = xmalloc(sizeof *r);
    r->fd = fd;
    r->error = 0;
    r->at = 0;
    r->gap_from = r->gap_to = INT64_MAX;
    r->begin = r->end = r->length = 0;
    r->looked_for_line_feed = false;
    if (bytes_most > 0 && size > bytes_most) {
        r->gap_from = bytes_most / 2;
        r->gap_to = size - bytes_most / 2;
    }
    return r;
}

struct line_reader *line_reader_open(const char *path, int64_t bytes_most)
{
    struct stat status;
    errno = ENOENT;
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        errno = EINVAL;
        return NULL;
    }
    return reader_of(fd, status.st_size, bytes_most);
}

void line_reader_close(struct line_reader *r)
{
    if (!r)
        return;
    close(r->fd);
    free(r);
}

/* The next block; across the gap, a line end takes the place of what is left out. */
static bool fill(struct line_reader *r)
{
    size_t room = sizeof r->block;
    ssize_t n;
    r->begin = r->end = 0;
    r->looked_for_line_feed = false;
    if (r->at == r->gap_from) {
        r->at = r->gap_to;
        r->gap_from = INT64_MAX;
        r->block[0] = '\n';
        r->end = 1;
        return true;
    }
    if (r->gap_from != INT64_MAX && r->gap_from - r->at < (int64_t)room)
        room = (size_t)(r->gap_from - r->at);
    do
        n = pread(r->fd, r->block, room, r->at);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        r->error = errno;
    if (n <= 0)
        return false;
    r->at += n;
    r->end = (size_t)n;
    return true;
}

static void append(struct line_reader *r, const char *bytes, size_t n)
{
    size_t room = LINE_BYTES_MOST - r->length;
    n = n < room ? n : room;
    memcpy(r->line + r->length, bytes, n);
    char *from = r->line + r->length, *end = from + n;
    for (char *nul; (nul = memchr(from, '\0', (size_t)(end - from))); from = nul + 1)
        *nul = ' ';
    r->length += n;
}

/* Where the unread part's first line ends, `end` of the block when it does not. The line feed is looked for once, not
 * again for each of the carriage returns before it. */
static size_t line_end(struct line_reader *r)
{
    if (!r->looked_for_line_feed || r->line_feed < r->begin) {
        r->looked_for_line_feed = true;
        const char *found = memchr(r->block + r->begin, '\n', r->end - r->begin);
        r->line_feed = found ? (size_t)(found - r->block) : r->end;
    }
    const char *found = memchr(r->block + r->begin, '\r', r->line_feed - r->begin);
    return found ? (size_t)(found - r->block) : r->line_feed;
}

char *line_reader_next(struct line_reader *r)
{
    bool any = false;
    r->length = 0;
    while (r->begin < r->end || fill(r)) {
        size_t end = line_end(r);
        append(r, r->block + r->begin, end - r->begin);
        any = true;
        r->begin = end + 1;
        if (end < r->end)
            break;
    }
    r->line[r->length] = '\0';
    return any ? r->line : NULL;
}

int line_reader_error(const struct line_reader *r)
{
    return r->error;
}

bool is_machine_error(int error)
{
    static const int errors[] = {EIO, EMFILE, ENFILE, ENOMEM, ESTALE, EREMOTEIO, ETIMEDOUT, ENODEV, EUCLEAN};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i] == error)
            return true;
    return false;
}

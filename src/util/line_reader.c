#include "util/line_reader.h"

#include <errno.h>
#include <fcntl.h>
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
    size_t line_feed; /* the first one in it, `end` when there is none; out of date once below `begin` */
    size_t length;
    bool begun;      /* `line` holds what is to be handed over */
    bool goes_on;    /* the piece that was handed over last did not end its line */
    bool growing;    /* more may be written */
    bool waits;      /* `line` holds the begin of a piece, the rest is still to be written */
    int64_t skipped; /* bytes */
    char block[LINE_BYTES_MOST];
    char line[LINE_BYTES_MOST + 1];
};

static struct line_reader *reader_of(int fd, int64_t size, int64_t bytes_most)
{
    struct line_reader *r = xmalloc(sizeof *r);
    memset(r, 0, offsetof(struct line_reader, block));
    r->fd = fd;
    r->gap_from = r->gap_to = INT64_MAX;
    if (bytes_most > 0 && size > bytes_most) {
        r->gap_from = bytes_most / 2;
        r->gap_to = size - bytes_most / 2;
    }
    return r;
}

struct line_reader *line_reader_of(int fd, int64_t bytes_most)
{
    struct stat status;
    if (fd < 0)
        return NULL;
    int error = fstat(fd, &status) < 0 ? errno : S_ISREG(status.st_mode) ? 0 : EINVAL;
    if (error == 0)
        return reader_of(fd, status.st_size, bytes_most);
    close(fd);
    errno = error;
    return NULL;
}

struct line_reader *line_reader_open(const char *path, int64_t bytes_most)
{
    errno = ENOENT;
    return line_reader_of(path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1, bytes_most);
}

struct line_reader *line_reader_create_growing(void)
{
    struct line_reader *r = reader_of(-1, 0, 0);
    r->growing = true;
    return r;
}

void line_reader_attach(struct line_reader *r, int fd)
{
    r->fd = fd;
}

void line_reader_detach(struct line_reader *r)
{
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}

void line_reader_set_growth(struct line_reader *r, bool growing)
{
    r->growing = growing;
}

void line_reader_close(struct line_reader *r)
{
    if (!r)
        return;
    line_reader_detach(r);
    free(r);
}

/* A line end takes the place of what is left out. */
static bool leave_out(struct line_reader *r, int64_t to)
{
    r->at = to;
    r->block[0] = '\n';
    r->end = 1;
    return true;
}

/* Returns whether nothing but zeros came: no process wrote them. */
static bool was_given_back(const char *block, size_t n)
{
    return n == LINE_BYTES_MOST && block[0] == '\0' && memcmp(block, block + 1, n - 1) == 0;
}

/* Returns where the file system has more; a hole is quicker passed over than read. */
static int64_t next_data(const struct line_reader *r)
{
    off_t data = lseek(r->fd, r->at, SEEK_DATA);
    return data > r->at ? data : r->at;
}

/* The next block. */
static bool read_block(struct line_reader *r)
{
    size_t room = sizeof r->block;
    ssize_t n;
    r->begin = r->end = 0;
    r->looked_for_line_feed = false;
    if (r->fd < 0)
        return false;
    if (r->at == r->gap_from) {
        r->skipped += r->gap_to - r->gap_from;
        r->gap_from = INT64_MAX;
        return leave_out(r, r->gap_to);
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
    if (was_given_back(r->block, (size_t)n)) {
        int64_t to = next_data(r);
        r->skipped += n + to - r->at;
        return leave_out(r, to);
    }
    return true;
}

static void append(struct line_reader *r, const char *bytes, size_t n)
{
    memcpy(r->line + r->length, bytes, n);
    char *from = r->line + r->length, *end = from + n;
    for (char *nul; (nul = memchr(from, '\0', (size_t)(end - from))); from = nul + 1)
        *nul = ' ';
    r->length += n;
}

/* Returns where the unread part's first line ends, `end` of the block when it does not. The line feed is looked for
 * once, not again for each of the carriage returns before it. */
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

enum piece_end {
    PIECE_ENDS_LINE = 1,
    PIECE_IS_FULL, /* the line goes on */
    PIECE_ENDS_FILE,
};

/* Adds to `line` what is there of the line. */
static enum piece_end gather(struct line_reader *r)
{
    while (r->begin < r->end || read_block(r)) {
        size_t end = line_end(r), n = end - r->begin, room = LINE_BYTES_MOST - r->length;
        r->begun = true;
        append(r, r->block + r->begin, n < room ? n : room);
        r->begin += n <= room ? n + 1 : room;
        if (n > room)
            return PIECE_IS_FULL;
        if (end < r->end)
            return PIECE_ENDS_LINE;
    }
    return PIECE_ENDS_FILE;
}

static void begin_piece(struct line_reader *r)
{
    if (r->goes_on)
        memmove(r->line, r->line + r->length - LINE_OVERLAP, LINE_OVERLAP);
    r->length = r->goes_on ? LINE_OVERLAP : 0;
}

bool line_reader_next_piece(struct line_reader *r, struct line_piece *out)
{
    if (!r->waits)
        begin_piece(r);
    enum piece_end end = gather(r);
    r->waits = end == PIECE_ENDS_FILE && r->growing;
    if (r->waits || !r->begun)
        return false;
    r->line[r->length] = '\0';
    *out = (struct line_piece){r->line, r->length, r->goes_on ? LINE_OVERLAP : 0, !r->goes_on, end != PIECE_IS_FULL};
    r->goes_on = end == PIECE_IS_FULL;
    r->begun = false;
    return true;
}

char *line_reader_next(struct line_reader *r)
{
    struct line_piece piece;
    while (line_reader_next_piece(r, &piece))
        if (piece.begins)
            return piece.text;
    return NULL;
}

int64_t line_reader_position(const struct line_reader *r)
{
    return r->at;
}

int64_t line_reader_skipped(const struct line_reader *r)
{
    return r->skipped;
}

int line_reader_error(const struct line_reader *r)
{
    return r->error;
}

bool is_machine_error(int error)
{
    static const int errors[] = {EIO, EMFILE, ENFILE, ENOMEM, ESTALE, EREMOTEIO, ETIMEDOUT, ENODEV, EUCLEAN};
    return ANY(i, LENGTH(errors), errors[i] == error);
}

#include "process/log_cap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/file.h"
#include "util/line_reader.h"
#include "util/memory.h"

#define MARK " bytes cut by meshsweep …]"

enum { ALIGNMENT = 65536, BLOCK = 65536 };

void log_cap_release_middle(const char *path, int64_t size_bytes, int64_t cap_bytes, int64_t read_bytes)
{
    int64_t from = (cap_bytes / 2 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    int64_t tail = size_bytes - cap_bytes / 2;
    int64_t to = (tail < read_bytes ? tail : read_bytes) / ALIGNMENT * ALIGNMENT;
    if (to <= from)
        return;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    /* A hole that is punched again costs next to nothing, so no note is kept of where the last one ended. */
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from) < 0)
        errno = 0;
    close(fd);
}

/* The end of the last line within the block before `at`, or `at` when that block holds no line end. */
static int64_t line_end_before(int fd, int64_t at)
{
    char block[BLOCK];
    int64_t from = at > BLOCK ? at - BLOCK : 0;
    ssize_t n = pread(fd, block, (size_t)(at - from), from);
    for (; n > 0; n--)
        if (block[n - 1] == '\n')
            return from + n;
    return at;
}

/* The start of the first line within the block after `at`, or `at`. */
static int64_t line_start_after(int fd, int64_t at)
{
    char block[BLOCK];
    ssize_t n = pread(fd, block, sizeof block, at);
    const char *end = n > 0 ? memchr(block, '\n', (size_t)n) : NULL;
    return end ? at + (end - block) + 1 : at;
}

int log_cap_compact(const char *path, int64_t size_bytes, int64_t cap_bytes)
{
    char *temporary = xasprintf("%s.cut", path);
    int rc = -1;
    int to = -1;
    int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        goto out;
    to = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (to < 0)
        goto out;
    int64_t head_end = line_end_before(from, cap_bytes / 2);
    int64_t tail_start = line_start_after(from, size_bytes - cap_bytes / 2);
    char mark[96];
    int length = snprintf(mark, sizeof mark, "\n[… %" PRId64 MARK "\n", tail_start - head_end);
    if (file_copy_range(from, 0, head_end, to) < 0 || file_write_all(to, mark, (size_t)length) < 0 ||
        file_copy_range(from, tail_start, size_bytes, to) < 0 || rename(temporary, path) < 0)
        goto out;
    rc = 0;
out:
    if (to >= 0 && rc < 0)
        unlink(temporary);
    if (to >= 0)
        close(to);
    if (from >= 0)
        close(from);
    free(temporary);
    return rc;
}

bool log_cap_is_marked(const char *path)
{
    struct line_reader *r = line_reader_open(path, 0);
    const char *line = NULL;
    while (r && (line = line_reader_next(r)) && !strstr(line, MARK))
        continue;
    line_reader_close(r);
    return line != NULL;
}

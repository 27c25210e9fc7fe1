#include "process/log_cap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process/job_file.h"
#include "process/process.h"
#include "util/file.h"
#include "util/line_reader.h"
#include "util/memory.h"

#define MARK " bytes cut by meshsweep …]"

enum { ALIGNMENT = 65536, BLOCK = 65536 };

void log_cap_release_middle(int fd, int64_t size_bytes, int64_t cap_bytes, int64_t read_bytes)
{
    int64_t from = (cap_bytes / 2 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    int64_t tail = size_bytes - cap_bytes / 2;
    int64_t to = (tail < read_bytes ? tail : read_bytes) / ALIGNMENT * ALIGNMENT;
    /* A hole that is punched again costs next to nothing, so no note is kept of where the last one ended. */
    if (to > from && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from) < 0)
        errno = 0;
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

static int write_cut(int from, int to, int64_t size_bytes, int64_t cap_bytes)
{
    int64_t head_end = line_end_before(from, cap_bytes / 2);
    int64_t tail_start = line_start_after(from, size_bytes - cap_bytes / 2);
    char mark[96];
    int length = snprintf(mark, sizeof mark, "\n[… %" PRId64 MARK "\n", tail_start - head_end);
    if (file_copy_range(from, 0, head_end, to) < 0 || file_write_all(to, mark, (size_t)length) < 0)
        return -1;
    return file_copy_range(from, tail_start, size_bytes, to);
}

int log_cap_compact(const char *path, int64_t size_bytes, int64_t cap_bytes)
{
    const char *name = path_name(path);
    OWNED char *above = xstrndup(path, (size_t)(name - path)), *temporary = xasprintf("%s" LOG_CAP_TEMPORARY, name);
    int directory = job_directory_open(above), to = -1, rc = -1;
    int from = directory < 0 ? -1 : job_file_open_in(directory, name);
    if (from >= 0)
        to = job_file_create(directory, temporary, 0);
    if (to >= 0) {
        rc = write_cut(from, to, size_bytes, cap_bytes);
        rc = rc < 0 ? rc : renameat(directory, temporary, directory, name);
        if (rc < 0)
            unlinkat(directory, temporary, 0);
    }
    descriptor_close(&to);
    descriptor_close(&from);
    descriptor_close(&directory);
    return rc;
}

bool log_cap_is_marked(const char *path)
{
    struct line_reader *r = line_reader_of(job_file_open(path), 0);
    const char *line = NULL;
    while (r && (line = line_reader_next(r)) && !strstr(line, MARK))
        continue;
    line_reader_close(r);
    return line != NULL;
}

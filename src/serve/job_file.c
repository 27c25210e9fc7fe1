#include "serve/job_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_name(const char *part, size_t length)
{
    return length > 0 && length <= NAME_MAX && !(length == 1 && part[0] == '.') &&
           !(length == 2 && part[0] == '.' && part[1] == '.');
}

/* Closes `at`. */
static int open_in(int at, const char *part, size_t length, int flags)
{
    char name[NAME_MAX + 1];
    int opened = -1;
    if (is_name(part, length)) {
        memcpy(name, part, length);
        name[length] = '\0';
        opened = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags);
    }
    close(at);
    return opened;
}

int job_file_open(const char *directory, const char *path, int64_t *bytes)
{
    int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (const char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1)
        at = open_in(at, path, (size_t)(slash - path), O_DIRECTORY);
    if (at >= 0)
        at = open_in(at, path, strlen(path), 0);
    struct stat s;
    if (at >= 0 && (fstat(at, &s) < 0 || !S_ISREG(s.st_mode))) {
        close(at);
        return -1;
    }
    if (at >= 0)
        *bytes = s.st_size;
    return at;
}

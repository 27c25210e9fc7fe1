#include "process/oom_counter.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"

/* The value on the line "oom_kill N", -1 when there is none. */
static int64_t find_count(const char *text)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "oom_kill ", 9) == 0)
            return strtoll(line + 9, NULL, 10);
    }
    return -1;
}

static int64_t read_count(int fd)
{
    char text[32768]; /* /proc/vmstat is the largest, at about 5 KiB */
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    return find_count(text);
}

static int open_counting(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read_count(fd) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* `controllers` is the second field of a line of /proc/self/cgroup: empty in v2. */
static int open_group(const char *controllers, const char *path)
{
    bool unified = controllers[0] == '\0';
    if (!unified && strcmp(controllers, "memory") != 0)
        return -1;
    static const char *const mounts[2][2] = {{"/sys/fs/cgroup/memory", NULL},
                                             {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}};
    int fd = -1;
    for (int i = 0; i < 2 && fd < 0 && mounts[unified][i]; i++) {
        OWNED char *file =
            xasprintf("%s%s/%s", mounts[unified][i], path, unified ? "memory.events" : "memory.oom_control");
        fd = open_counting(file);
    }
    return fd;
}

int oom_counter_open(void)
{
    OWNED_BUFFER groups = BUFFER_INIT;
    int fd = -1;
    if (file_read("/proc/self/cgroup", 1 << 20, &groups, NULL) == 0) {
        char *rest = groups.data;
        for (char *line; fd < 0 && (line = strsep(&rest, "\n"));) {
            strsep(&line, ":");
            char *controllers = line ? strsep(&line, ":") : NULL;
            if (controllers && line)
                fd = open_group(controllers, line);
        }
    }
    return fd >= 0 ? fd : open_counting("/proc/vmstat");
}

int64_t oom_counter_read(int fd)
{
    int64_t count = fd >= 0 ? read_count(fd) : 0;
    return count > 0 ? count : 0;
}

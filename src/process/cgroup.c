#include "process/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"

#define NAME "meshsweep:"

/* The hierarchy is mounted at one of these: alone, or beside those of v1. */
static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

/* The path of the process's group within the hierarchy, the caller's; NULL: none. */
static char *path_of(const char *proc_file)
{
    OWNED_BUFFER groups = BUFFER_INIT;
    char *path = NULL;
    if (file_read(proc_file, 1 << 20, &groups, NULL) == 0) {
        const char *line = groups.data;
        while (line && strncmp(line, "0::/", 4) != 0) {
            line = strchr(line, '\n');
            line += line != NULL;
        }
        if (line)
            path = xasprintf("%.*s", (int)strcspn(line + 3, "\n"), line + 3);
    }
    return path;
}

/* The directory of the caller's group, the caller's; NULL: none. */
static char *own_directory(void)
{
    char *path = path_of("/proc/self/cgroup"), *directory = NULL;
    for (size_t i = 0; path && !directory && i < LENGTH(mounts); i++) {
        OWNED char *members = xasprintf("%s%s/cgroup.procs", mounts[i], path);
        if (access(members, W_OK) == 0)
            directory = xasprintf("%s%s", mounts[i], strcmp(path, "/") == 0 ? "" : path);
    }
    free(path);
    return directory;
}

static bool join(const char *directory)
{
    OWNED char *members = xasprintf("%s/cgroup.procs", directory);
    int fd = open(members, O_WRONLY | O_CLOEXEC);
    bool joined = fd >= 0 && write(fd, "0", 1) == 1;
    if (fd >= 0)
        close(fd);
    return joined;
}

/* Returns whether it is the group of a runner that is dead: "meshsweep:<identity>:<number>-<process>:". */
static bool is_abandoned(const char *name, const char *unused)
{
    (void)unused;
    const char *process = strrchr(name, '-');
    char *end;
    if (strncmp(name, NAME, strlen(NAME)) != 0 || !process)
        return false;
    long pid = strtol(process + 1, &end, 10);
    return pid > 0 && pid <= INT_MAX && strcmp(end, ":") == 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* Removes the groups that are chosen and empty: the kernel keeps the others. */
static void remove_groups(const char *above, bool (*chosen)(const char *name, const char *wanted), const char *wanted)
{
    DIR *groups = opendir(above);
    for (struct dirent *d; groups && (d = readdir(groups));)
        if (chosen(d->d_name, wanted))
            unlinkat(dirfd(groups), d->d_name, AT_REMOVEDIR);
    if (groups)
        closedir(groups);
}

static bool begins_with(const char *name, const char *wanted)
{
    return strncmp(name, wanted, strlen(wanted)) == 0;
}

char *cgroup_enter(const char *token)
{
    OWNED char *above = own_directory();
    if (!above)
        return NULL;
    remove_groups(above, is_abandoned, NULL);
    char *directory = xasprintf("%s/" NAME "%s:", above, token);
    if (mkdir(directory, 0755) == 0 && join(directory))
        return directory;
    rmdir(directory);
    free(directory);
    return NULL;
}

void cgroup_leave(char *directory)
{
    if (!directory)
        return;
    OWNED char *above = xasprintf("%.*s", (int)(strrchr(directory, '/') - directory), directory);
    if (join(above))
        rmdir(directory);
    free(directory);
}

bool cgroup_holds(pid_t pid, const char *prefix)
{
    char file[40], *path, *wanted = xasprintf("/" NAME "%s:", prefix);
    snprintf(file, sizeof file, "/proc/%d/cgroup", (int)pid);
    path = path_of(file);
    bool held = path && strstr(path, wanted);
    free_all(path, wanted);
    return held;
}

void cgroup_remove_empty(const char *prefix)
{
    OWNED char *above = own_directory(), *wanted = xasprintf(NAME "%s:", prefix);
    if (above)
        remove_groups(above, begins_with, wanted);
}

/* --- how many were killed for want of memory --- */

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
    static const char *const places[2][2] = {{"/sys/fs/cgroup/memory", NULL},
                                             {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}};
    int fd = -1;
    for (int i = 0; i < 2 && fd < 0 && places[unified][i]; i++) {
        OWNED char *file =
            xasprintf("%s%s/%s", places[unified][i], path, unified ? "memory.events" : "memory.oom_control");
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

#include "metrics/log_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "process/archived_file.h"
#include "process/job_file.h"
#include "util/memory.h"

struct log_file {
    char *path;
    struct timespec written;
};

struct found_logs {
    struct log_file *items;
    size_t count, seen;
    const struct stat *but; /* NULL: none */
};

static bool is_log_name(const char *name)
{
    static const char *const endings[] = {".log", ".err", ".out", "stderr", "stdout"};
    size_t length = strlen(name);
    for (size_t i = 0; i < LENGTH(endings); i++) {
        size_t n = strlen(endings[i]);
        if (length >= n && strcmp(name + length - n, endings[i]) == 0)
            return true;
    }
    return false;
}

/* Returns the name before it was compressed; NULL: it was not. The caller's. */
static char *plain_name(const char *name)
{
    const size_t length = strlen(name), end = sizeof ARCHIVED_SUFFIX - 1;
    return length > end && strcmp(name + length - end, ARCHIVED_SUFFIX) == 0 ? xstrndup(name, length - end) : NULL;
}

bool log_file_is_ours(const char *name)
{
    OWNED char *plain = plain_name(name);
    return archived_is_name(plain ? plain : name);
}

/* Takes `path`. */
static void add_file(struct found_logs *l, char *path, const struct stat *status)
{
    if (l->count == LOG_FILES_MOST || status->st_size == 0 ||
        (l->but && l->but->st_dev == status->st_dev && l->but->st_ino == status->st_ino)) {
        free(path);
        return;
    }
    *array_add(l->items, l->count) = (struct log_file){path, status->st_mtim};
}

/* Closes `d`; NULL: none. */
static void find_files(struct found_logs *l, DIR *d, const char *directory, int depth)
{
    const struct dirent *entry;
    while (d && l->seen < LOG_FILES_SEEN && (entry = readdir(d))) {
        struct stat status;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        l->seen++;
        OWNED char *plain = depth == 0 && log_file_is_ours(entry->d_name) ? plain_name(entry->d_name) : NULL;
        const char *name = plain ? plain : entry->d_name;
        /* The job's own output.log would be looked at twice. */
        const bool is_log = is_log_name(name) && !(plain && strcmp(plain, "output.log") == 0);
        char *path = xasprintf("%s/%s", directory, name);
        mode_t mode = fstatat(dirfd(d), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_mode : 0;
        if (S_ISDIR(mode) && depth < LOG_FILES_DEPTH)
            find_files(l, job_directory_list(dirfd(d), entry->d_name), path, depth + 1);
        if (S_ISREG(mode) && is_log)
            add_file(l, path, &status);
        else
            free(path);
    }
    if (d)
        closedir(d);
}

static int by_time(const void *a, const void *b)
{
    const struct log_file *x = a, *y = b;
    if (x->written.tv_sec != y->written.tv_sec)
        return x->written.tv_sec < y->written.tv_sec ? -1 : 1;
    if (x->written.tv_nsec != y->written.tv_nsec)
        return x->written.tv_nsec < y->written.tv_nsec ? -1 : 1;
    return strcmp(x->path, y->path);
}

void log_files_each(const char *directory, const char *but, void (*take)(const char *path, void *context),
                    void *context)
{
    struct stat status;
    struct found_logs l = {.but = but && stat(but, &status) == 0 ? &status : NULL};
    if (directory)
        find_files(&l, job_directory_list(AT_FDCWD, directory), directory, 0);
    if (l.count)
        qsort(l.items, l.count, sizeof *l.items, by_time);
    for (size_t i = 0; i < l.count; i++) {
        take(l.items[i].path, context);
        free(l.items[i].path);
    }
    free(l.items);
}

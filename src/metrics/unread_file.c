#include "metrics/unread_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "metrics/log_files.h"
#include "process/job_file.h"
#include "util/file.h"
#include "util/memory.h"

#define OUTPUT_BYTES 16384
#define NAME_BYTES_MOST 100

static bool has_ending(const char *name, const char *const *endings, size_t count)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < count; i++) {
        const size_t n = strlen(endings[i]);
        if (length > n && strcmp(name + length - n, endings[i]) == 0)
            return true;
    }
    return false;
}

static bool is_text_of_job(const char *name)
{
    static const char *const endings[] = {".log", ".txt", ".jsonl", ".csv", ".out"};
    return strlen(name) <= NAME_BYTES_MOST && has_ending(name, endings, sizeof endings / sizeof *endings) &&
           !log_file_is_ours(name);
}

static char *newest_in(const char *directory)
{
    DIR *d = directory ? job_directory_list(AT_FDCWD, directory) : NULL;
    const struct dirent *entry;
    struct stat status;
    time_t newest = 0;
    char *name = NULL;
    while (d && (entry = readdir(d))) {
        if (!is_text_of_job(entry->d_name) || fstatat(dirfd(d), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(status.st_mode) || status.st_size == 0 || (name && status.st_mtime < newest))
            continue;
        newest = status.st_mtime;
        free(name);
        name = xstrdup(entry->d_name);
    }
    if (d)
        closedir(d);
    return name;
}

static char *last_named(const char *log)
{
    char *text = log_tail(log, OUTPUT_BYTES), *rest = text, *word, *name = NULL;
    while ((word = strtok_r(rest, " \t\r\n\"'`()[]<>,;:=", &rest))) {
        word[strlen(word) - (strlen(word) > 1 && word[strlen(word) - 1] == '.')] = '\0';
        if (!is_text_of_job(path_name(word)))
            continue;
        free(name);
        name = xstrdup(path_name(word));
    }
    free(text);
    return name;
}

char *unread_file(const struct attempt_output *output)
{
    char *name = newest_in(output->directory);
    return name || !output->log ? name : last_named(output->log);
}

#include "metrics/log_files.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "process/archived_file.h"
#include "process/job_file.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/string_list.h"
#include "util/suggest.h"
#include "util/utf8.h"

struct log_file {
    char *path;
    int64_t written_ns;
};

struct found_logs {
    struct log_file *items;
    size_t count, seen;
    const struct stat *but; /* NULL: none */
};

static bool has_ending(const char *name, const char *const *endings, size_t count)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < count; i++) {
        const size_t n = strlen(endings[i]);
        if (length >= n && strcmp(name + length - n, endings[i]) == 0)
            return true;
    }
    return false;
}

static bool is_log_name(const char *name)
{
    static const char *const endings[] = {".log", ".err", ".out", "stderr", "stdout"};
    return has_ending(name, endings, LENGTH(endings));
}

/* Returns the name before it was compressed; NULL: it was not. The caller's. */
static char *plain_name(const char *name)
{
    const size_t length = length_before(name, ARCHIVED_SUFFIX);
    return length ? xstrndup(name, length) : NULL;
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
    *array_add(l->items, l->count) =
        (struct log_file){path, (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec};
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
    if (x->written_ns != y->written_ns)
        return x->written_ns < y->written_ns ? -1 : 1;
    return strcmp(x->path, y->path);
}

void log_files_each(const char *directory, const char *but, void (*take)(const char *path, void *context),
                    void *context)
{
    struct stat status;
    struct found_logs l = {.but = but && stat(but, &status) == 0 ? &status : NULL};
    if (directory)
        find_files(&l, job_directory_list(AT_FDCWD, directory), directory, 0);
    array_sort(l.items, l.count, by_time);
    for (size_t i = 0; i < l.count; i++) {
        take(l.items[i].path, context);
        free(l.items[i].path);
    }
    free(l.items);
}

/* --- numbers that no reader looked for --- */

#define OUTPUT_BYTES 16384
#define NAME_BYTES_MOST 100
#define END_BYTES (256 << 10)
#define LINE_BYTES 160
#define WORDS_MOST 16
#define WORD_BYTES 32

static bool is_text_of_job(const char *name)
{
    static const char *const endings[] = {".log", ".txt", ".jsonl", ".csv", ".out"};
    return strlen(name) <= NAME_BYTES_MOST && strrchr(name, '.') != name &&
           has_ending(name, endings, LENGTH(endings)) && !log_file_is_ours(name);
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
        text_replace(&name, xstrdup(entry->d_name));
    }
    if (d)
        closedir(d);
    return name;
}

static char *last_named(const char *log)
{
    OWNED char *text = log_tail(log, OUTPUT_BYTES);
    char *rest = text, *word, *name = NULL;
    while ((word = strtok_r(rest, " \t\r\n\"'`()[]<>,;:=", &rest))) {
        word[strlen(word) - (strlen(word) > 1 && word[strlen(word) - 1] == '.')] = '\0';
        if (!is_text_of_job(path_name(word)))
            continue;
        text_replace(&name, xstrdup(path_name(word)));
    }
    return name;
}

char *unread_file(const struct attempt_output *output)
{
    char *name = newest_in(output->directory);
    return name || !output->log ? name : last_named(output->log);
}

/* --- lines --- */

struct pattern_words {
    char items[WORDS_MOST][WORD_BYTES];
    size_t count;
};

/* The next run of letters at or after `p`, of three or more, in `word`; NULL: there is none. Else where it ends. */
static const char *next_word(const char *p, char word[WORD_BYTES])
{
    while (*p) {
        size_t length = 0;
        while (isalpha((unsigned char)p[length]))
            length++;
        if (length >= 3 && length < WORD_BYTES) {
            memcpy(word, p, length);
            word[length] = '\0';
            return p + length;
        }
        p += length ? length : 1;
    }
    return NULL;
}

/* The pattern without what is no text: escapes, bracket expressions, what follows "(?". The caller's. */
static char *literal_parts(const char *pattern)
{
    char *text = xstrdup(pattern), *out = text;
    for (const char *p = pattern; *p; p++) {
        const char *class_end = *p == '[' ? strchr(p + 2 + (p[1] == '^'), ']') : NULL;
        if (*p == '\\' && p[1])
            p++;
        else if (class_end)
            p = class_end;
        else if (*p == '(' && p[1] == '?')
            p += 1 + strcspn(p + 1, ":>)");
        else {
            *out++ = *p;
            continue;
        }
        *out++ = ' ';
    }
    *out = '\0';
    return text;
}

static void find_words(const char *pattern, struct pattern_words *out)
{
    OWNED char *text = literal_parts(pattern);
    const char *p = text;
    while (p && out->count < WORDS_MOST)
        if ((p = next_word(p, out->items[out->count])))
            out->count++;
}

static bool nearly_has(const char *line, const char *word)
{
    char found[WORD_BYTES];
    while ((line = next_word(line, found)))
        if (SUGGEST(word, i, 1, found).near)
            return true;
    return false;
}

static bool nearly_matches(const char *line, const struct pattern_words *words)
{
    if (!strpbrk(line, "0123456789"))
        return false;
    return !ANY(i, words->count, !nearly_has(line, words->items[i]));
}

char *unread_line(const char *pattern, const char *log)
{
    struct pattern_words words = {.count = 0};
    char *found = NULL;
    find_words(pattern, &words);
    if (words.count == 0)
        return NULL;
    OWNED char *text = log_tail(log, END_BYTES);
    char *rest = text, *line;
    while ((line = strtok_r(rest, "\r\n", &rest))) {
        if (!nearly_matches(line, &words))
            continue;
        text_replace(&found, xstrndup(line, utf8_cut(line, strlen(line), LINE_BYTES)));
    }
    return found;
}

#include "metrics/unread_file.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "metrics/log_files.h"
#include "process/job_file.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/suggest.h"
#include "util/utf8.h"

#define OUTPUT_BYTES 16384
#define NAME_BYTES_MOST 100
#define END_BYTES (256 << 10)
#define LINE_BYTES 160
#define WORDS_MOST 16
#define WORD_BYTES 32

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
    return strlen(name) <= NAME_BYTES_MOST && has_ending(name, endings, LENGTH(endings)) && !log_file_is_ours(name);
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
    const char *const candidate = found;
    while ((line = next_word(line, found)))
        if (suggest_nearest(word, &candidate, 1))
            return true;
    return false;
}

static bool nearly_matches(const char *line, const struct pattern_words *words)
{
    if (!strpbrk(line, "0123456789"))
        return false;
    for (size_t i = 0; i < words->count; i++)
        if (!nearly_has(line, words->items[i]))
            return false;
    return true;
}

char *unread_line(const char *pattern, const char *log)
{
    struct pattern_words words = {.count = 0};
    char *found = NULL;
    find_words(pattern, &words);
    if (words.count == 0)
        return NULL;
    char *text = log_tail(log, END_BYTES), *rest = text, *line;
    while ((line = strtok_r(rest, "\r\n", &rest))) {
        if (!nearly_matches(line, &words))
            continue;
        free(found);
        found = xstrndup(line, utf8_cut(line, strlen(line), LINE_BYTES));
    }
    free(text);
    return found;
}

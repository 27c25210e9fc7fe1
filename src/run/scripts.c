#include "run/scripts.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"

#define PROGRAM_BYTES_MOST ((int64_t)256 << 20)
#define FILES_MOST 256 /* remembered: the scripts of a sweep are few */

struct script {
    char *path;
    struct stat seen;
    char content[HASH_HEX_BYTES];
};

struct scripts {
    struct script *items;
    size_t count;
    char *directory; /* the current one */
    char unremembered[HASH_HEX_BYTES];
};

struct scripts *scripts_create(void)
{
    struct scripts *s = xcalloc(1, sizeof *s);
    s->directory = path_absolute(".");
    return s;
}

void scripts_free(struct scripts *s)
{
    for (size_t i = 0; s && i < s->count; i++)
        free(s->items[i].path);
    if (!s)
        return;
    free_all(s->items, s->directory, s);
}

/* --- contents --- */

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static void read_content(const char *path, const struct stat *st, char out[HASH_HEX_BYTES])
{
    int64_t most = st->st_mode & 0111 ? PROGRAM_BYTES_MOST : SCRIPT_BYTES_MOST;
    OWNED_BUFFER bytes = BUFFER_INIT;
    out[0] = '\0';
    if (S_ISREG(st->st_mode) && st->st_size <= most && file_read(path, (size_t)most, &bytes, NULL) == 0) {
        const struct hash128 hash = hash_bytes(bytes.data, bytes.length);
        hash_hex(&hash, out);
    }
}

static struct script *remembered(struct scripts *s, const char *path)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->items[i].path, path) == 0)
            return &s->items[i];
    if (s->count == FILES_MOST)
        return NULL;
    *array_add(s->items, s->count) = (struct script){.path = xstrdup(path)};
    return &s->items[s->count - 1];
}

const char *scripts_content(struct scripts *s, const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return "";
    struct script *known = remembered(s, path);
    if (!known) {
        read_content(path, &st, s->unremembered);
        return s->unremembered;
    }
    if (!is_same(&known->seen, &st)) {
        known->seen = st;
        read_content(path, &st, known->content);
    }
    return known->content;
}

/* --- the words of a command --- */

struct script_listing {
    struct scripts *scripts;
    const char *directory, *job_dir;
    struct buffer json;
};

static bool is_below(const char *path, const char *directory)
{
    size_t length = strlen(directory);
    return length > 0 && strncmp(path, directory, length) == 0 && (path[length] == '/' || !path[length]);
}

static bool is_system(const char *path)
{
    static const char *const systems[] = {"/bin", "/sbin", "/usr", "/lib", "/lib64", "/dev", "/proc", "/sys"};
    return ANY(i, LENGTH(systems), is_below(path, systems[i]) && !is_below(path, "/usr/local"));
}

static void add_file(struct script_listing *l, const char *path)
{
    const char *content = is_system(path) || is_below(path, l->job_dir) ? "" : scripts_content(l->scripts, path);
    if (!content[0])
        return;
    OWNED_BUFFER name = BUFFER_INIT;
    buffer_add_json_string(&name, path, strlen(path));
    if (l->json.length == 0 || !strstr(buffer_text(&l->json), buffer_text(&name)))
        buffer_printf(&l->json, "%c%s:\"%s\"", l->json.length ? ',' : '{', buffer_text(&name), content);
}

static void add_word(struct script_listing *l, const char *word)
{
    const char *equals = strchr(word, '=');
    word = equals ? equals + 1 : word;
    /* A bare word may be anything; a script has a directory or a suffix. */
    if (word[0] == '-' || !strpbrk(word, "/.") || strlen(word) > PATH_MAX)
        return;
    while (strncmp(word, "./", 2) == 0)
        word += 2;
    bool inner = l->directory[0] != '/';
    OWNED char *path = word[0] == '/' ? xstrdup(word)
                                      : xasprintf("%s%s%s/%s", inner ? l->scripts->directory : "", inner ? "/" : "",
                                                  l->directory, word);
    add_file(l, path);
}

/* Adds what may be words of a line for the shell. */
static void add_line(struct script_listing *l, const char *line)
{
    char *copy = xstrdup(line), *rest = NULL;
    for (char *word = strtok_r(copy, " \t\n;|&()<>\"'`", &rest); word; word = strtok_r(NULL, " \t\n;|&()<>\"'`", &rest))
        add_word(l, word);
    free(copy);
}

char *scripts_json(struct scripts *s, char *const *command, const char *directory, const char *job_dir)
{
    struct script_listing l = {s, directory ? directory : s->directory, job_dir, BUFFER_INIT};
    for (char *const *w = command; *w; w++) {
        bool is_line = w > command && strcmp(w[-1], "-c") == 0;
        if (is_line)
            add_line(&l, *w);
        else
            add_word(&l, *w);
    }
    if (l.json.length == 0)
        return NULL;
    buffer_add_char(&l.json, '}');
    return buffer_take(&l.json);
}

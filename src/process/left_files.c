#include "process/left_files.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/job_file.h"
#include "util/buffer.h"
#include "util/memory.h"

enum { FILES_MOST = 100000, LEVELS_MOST = 16, LISTED_MOST = 100 };

struct left_file {
    char *name; /* from the directory on */
    int64_t bytes;
    bool goes;
};

struct left_files {
    struct left_file *items;
    size_t count;
};

/* Called with the descriptor of its directory, its name there, and its path. */
typedef void (*file_visit)(void *context, int directory, const char *name, const char *path, int64_t bytes);

struct file_walk {
    file_visit visit;
    void *context;
    size_t left; /* files */
};

static void walk_directory(struct file_walk *w, DIR *directory, const char *prefix, int level)
{
    const struct dirent *entry;
    while (w->left > 0 && (entry = readdir(directory))) {
        struct stat status;
        const int at = dirfd(directory);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        OWNED char *path = xasprintf("%s%s", prefix, entry->d_name);
        if (S_ISREG(status.st_mode)) {
            w->left--;
            w->visit(w->context, at, entry->d_name, path, (int64_t)status.st_size);
        }
        DIR *below = S_ISDIR(status.st_mode) && level < LEVELS_MOST ? job_directory_list(at, entry->d_name) : NULL;
        OWNED char *inner = xasprintf("%s/", path);
        if (below)
            walk_directory(w, below, inner, level + 1);
    }
    closedir(directory);
}

static void walk_files(const char *job_dir, file_visit visit, void *context)
{
    struct file_walk w = {visit, context, FILES_MOST};
    DIR *directory = job_directory_list(AT_FDCWD, job_dir);
    if (directory)
        walk_directory(&w, directory, "", 0);
}

/* --- which stay --- */

static bool matches(char *const *patterns, size_t count, const char *path)
{
    return ANY(i, count, fnmatch(patterns[i], path, 0) == 0);
}

/* Returns whether meshsweep itself writes the file there (batch/script.h). */
static bool is_output(const char *path)
{
    static char *const names[] = {(char *)"output.log",    (char *)"stdout.log", (char *)"stderr.log",
                                  (char *)"metrics.jsonl", (char *)"job.sh",     (char *)"slurm.*"};
    return matches(names, LENGTH(names), path);
}

static bool is_kept(const struct keep_rules *rules, const char *path)
{
    size_t count = 0;
    while (rules->kept && rules->kept[count])
        count++;
    return !rules->kept || matches(rules->kept, count, path);
}

static int by_size(const void *a, const void *b)
{
    const struct left_file *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes > y->bytes) - (x->bytes < y->bytes) : strcmp(x->name, y->name);
}

static void add_file(void *context, int directory, const char *name, const char *path, int64_t bytes)
{
    struct left_files *all = context;
    (void)directory;
    (void)name;
    if (!is_output(path))
        *array_add(all->items, all->count) = (struct left_file){xstrdup(path), bytes, false};
}

/* All of them, the smallest first, with which are to go. */
static struct left_files list_files(const char *job_dir, const struct keep_rules *rules)
{
    struct left_files all = {NULL, 0};
    int64_t bytes = 0;
    walk_files(job_dir, add_file, &all);
    array_sort(all.items, all.count, by_size);
    for (size_t i = 0; i < all.count; i++) {
        struct left_file *f = &all.items[i];
        if (matches(rules->own.items, rules->own.count, f->name))
            continue;
        f->goes = !is_kept(rules, f->name) || (rules->most_bytes > 0 && bytes + f->bytes > rules->most_bytes);
        bytes += f->goes ? 0 : f->bytes;
    }
    return all;
}

static void files_free(struct left_files *all)
{
    for (size_t i = 0; i < all->count; i++)
        free(all->items[i].name);
    free(all->items);
}

char *left_files_json(const char *job_dir, const struct keep_rules *rules)
{
    struct left_files all = list_files(job_dir, rules);
    OWNED_BUFFER b = BUFFER_INIT;
    int64_t bytes = 0, removed = 0;
    for (size_t i = 0; i < all.count; i++) {
        bytes += all.items[i].bytes;
        removed += all.items[i].goes;
    }
    buffer_printf(&b, "{\"count\":%zu,\"bytes\":%lld,\"removed\":%lld,\"list\":[", all.count, (long long)bytes,
                  (long long)removed);
    for (size_t i = all.count; i-- > 0 && all.count - i <= LISTED_MOST;) {
        const struct left_file *f = &all.items[i];
        buffer_add_text(&b, i + 1 < all.count ? ",{\"name\":" : "{\"name\":");
        buffer_add_json_string(&b, f->name, strlen(f->name));
        buffer_printf(&b, ",\"bytes\":%lld%s}", (long long)f->bytes, f->goes ? ",\"removed\":true" : "");
    }
    buffer_add_text(&b, "]}");
    const bool any = all.count > 0;
    files_free(&all);
    if (any)
        return buffer_take(&b);
    return NULL;
}

static void remove_one(void *context, int directory, const char *name, const char *path, int64_t bytes)
{
    const struct left_files *all = context;
    const struct left_file sought = {(char *)path, bytes, false};
    const struct left_file *f =
        all->count > 0 ? bsearch(&sought, all->items, all->count, sizeof *all->items, by_size) : NULL;
    if (f && f->goes)
        unlinkat(directory, name, 0);
}

void left_files_remove(const char *job_dir, const struct keep_rules *rules)
{
    struct left_files all = {NULL, 0};
    if (!rules->kept && rules->most_bytes == 0)
        return;
    all = list_files(job_dir, rules);
    walk_files(job_dir, remove_one, &all);
    files_free(&all);
}

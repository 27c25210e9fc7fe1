#include "draft/command_files.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "config/template.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/suggest.h"

static bool has_path(const struct command_files *f, const char *path)
{
    return ANY(i, f->count, strcmp(f->items[i].path, path) == 0);
}

static bool has_name(const struct command_files *f, const char *name)
{
    return ANY(i, f->count, strcmp(f->items[i].name, name) == 0);
}

/* No two files have one name. */
static char *name_for(const struct command_files *f, const char *path)
{
    char *name = xstrdup(path_name(path));
    for (size_t number = 1; template_name_length(name) != strlen(name) || has_name(f, name); number++) {
        free(name);
        name = number == 1 ? xasprintf("config%s", strrchr(path, '.'))
                           : xasprintf("config%zu%s", number, strrchr(path, '.'));
    }
    return name;
}

static void add_leaf(void *context, const char *path, const struct doc_node *leaf)
{
    struct command_files *f = context;
    *array_add(f->leaves, f->leaf_count) =
        (struct file_place){.file = &f->items[f->walked], .path = xstrdup(path), .kind = leaf->kind};
}

void command_files_open(const struct job_command *c, const char *except, struct command_files *out)
{
    *out = (struct command_files){0};
    for (size_t i = 0; i < c->words.count; i++) {
        const char *path = word_configuration(c->words.items[i]);
        struct doc read;
        if (!path || (except && strcmp(path, except) == 0) || has_path(out, path) ||
            document_read(path, file_format_of(path), &read, NULL) < 0)
            continue;
        char *name = name_for(out, path);
        *array_add(out->items, out->count) =
            (struct command_file){.path = xstrdup(path), .name = name, .document = read};
    }
    for (; out->walked < out->count; out->walked++)
        document_leaves(&out->items[out->walked].document, add_leaf, out);
}

void command_files_free(struct command_files *f)
{
    for (size_t i = 0; i < f->count; i++) {
        free_all(f->items[i].path, f->items[i].name);
        document_free(&f->items[i].document);
    }
    for (size_t i = 0; i < f->leaf_count; i++)
        free(f->leaves[i].path);
    free_all(f->items, f->leaves);
    *f = (struct command_files){0};
}

/* --- looking up --- */

static bool is_same_key(const char *a, const char *b)
{
    for (; *a && (*a == *b || (strchr("-_", *a) && *b && strchr("-_", *b))); a++, b++)
        ;
    return *a == *b;
}

/* The key ends the path, after a dot. */
static bool is_last_part(const char *path, const char *key)
{
    const size_t length = strlen(path), n = strlen(key);
    return length > n && path[length - n - 1] == '.' && is_same_key(path + length - n, key);
}

static int refuse_several(const char *key, const struct file_place *const *places, size_t count, struct error *e)
{
    OWNED_BUFFER all = BUFFER_INIT;
    bool is_one_path = true;
    for (size_t i = 0; i < count; i++) {
        buffer_printf(&all, "%s%s of %s", i ? ", " : "", places[i]->path, places[i]->file->path);
        is_one_path &= strcmp(places[i]->path, places[0]->path) == 0;
    }
    return is_one_path ? error_set(e, ERROR_USAGE, "init: %s may be %s; leave it out of all files but one", key,
                                   buffer_text(&all))
                       : error_set(e, ERROR_USAGE, "init: %s may be %s; name the whole path, for example %s=…", key,
                                   buffer_text(&all), places[0]->path);
}

int command_files_find(const struct command_files *f, const char *key, struct file_place *out, struct error *e)
{
    OWNED const struct file_place **found = xcalloc(f->leaf_count + 1, sizeof *found);
    size_t count = 0;
    for (int part = 0; part < 2 && count == 0; part++)
        for (const struct file_place *leaf = f->leaves; leaf && leaf < f->leaves + f->leaf_count; leaf++)
            if ((part ? is_last_part : is_same_key)(leaf->path, key))
                found[count++] = leaf;
    if (count > 1)
        return refuse_several(key, found, count, e);
    if (count == 1)
        *out = (struct file_place){found[0]->file, xstrdup(found[0]->path), found[0]->kind};
    return (int)count;
}

static char *nearest_in(const struct command_files *f, const struct command_file *file, const char *key)
{
    OWNED const char **names = xcalloc(f->leaf_count + 1, sizeof *names);
    size_t first = FIRST(i, f->leaf_count, f->leaves[i].file == file), count = 0;
    for (size_t i = first; i < f->leaf_count && f->leaves[i].file == file; i++) {
        const char *path = f->leaves[i].path, *dot = strchr(key, '.') ? NULL : strrchr(path, '.');
        names[count++] = dot ? dot + 1 : path;
    }
    const char *near = suggest_nearest(key, names, count);
    return near
               ? xasprintf("%s of %s", f->leaves[first + FIRST(i, count, strcmp(names[i], near) == 0)].path, file->path)
               : NULL;
}

char *command_files_nearest(const struct command_files *f, const char *key)
{
    char *near = NULL;
    for (size_t i = 0; i < f->count && !near; i++)
        near = nearest_in(f, &f->items[i], key);
    return near;
}

/* --- what is written --- */

void command_files_place(const struct command_files *f, struct job_command *c)
{
    for (size_t i = 0; i < c->words.count; i++) {
        char *word = c->words.items[i];
        const char *path = word_configuration(word);
        for (size_t k = 0; path && k < f->count; k++)
            if (f->items[k].is_swept && strcmp(f->items[k].path, path) == 0) {
                c->words.items[i] = xasprintf("%.*s{file.%s}", (int)(path - word), word, f->items[k].name);
                free(word);
                break;
            }
    }
}

static bool is_whole(const char *text)
{
    const char *digits = text + strspn(text, "+-");
    return *digits && digits[strspn(digits, "0123456789")] == '\0';
}

static bool fits(enum doc_kind kind, const char *toml)
{
    const bool is_text = *toml == '"', is_truth = isalpha((unsigned char)*toml);
    switch (kind) {
    case DOC_INT:
        return is_whole(toml);
    case DOC_REAL:
        return !is_text && !is_truth;
    case DOC_BOOL:
        return is_truth;
    case DOC_TIME:
        return is_text;
    default:
        return true;
    }
}

bool file_place_add_value(const struct file_place *p, const char *value, size_t length, struct buffer *out)
{
    OWNED_BUFFER literal = BUFFER_INIT;
    buffer_add_toml_value(&literal, value, length);
    const char *toml = buffer_text(&literal);
    const bool is_fit = fits(p->kind, toml);
    if (p->kind == DOC_TEXT && *toml != '"')
        buffer_add_json_string(out, value, length);
    else
        buffer_printf(out, "%s%s", toml, p->kind == DOC_REAL && is_whole(toml) ? ".0" : "");
    return is_fit;
}

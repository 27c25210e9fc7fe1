#include "compare/key_ties.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "store/sweeps.h"
#include "sweep_file/reader.h"
#include "util/memory.h"

#define DERIVED_DEEPEST 20

static void add_new(struct string_list *l, char *text)
{
    if (string_list_find(l, text) == l->count)
        string_list_add(l, text);
    else
        free(text);
}

static bool begins_name(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static const struct derived *find_derived(const struct sweep *s, const char *name)
{
    for (size_t i = 0; i < s->derived_count; i++)
        if (strcmp(s->derived[i].name, name) == 0)
            return &s->derived[i];
    return NULL;
}

/* Adds the words of an expression that may be keys, without their sections, and for a derived key also those of its own
 * expression. Quoted texts are values. */
static void add_words(const struct sweep *s, const char *expression, int depth, struct string_list *out)
{
    for (const char *p = expression; p && *p;) {
        size_t length = 1;
        if (*p == '\'') {
            length = strcspn(p + 1, "'") + 1;
            p += length + (p[length] == '\'');
            continue;
        }
        while (begins_name(*p) && (begins_name(p[length]) || isdigit((unsigned char)p[length]) || p[length] == '.'))
            length++;
        if (begins_name(*p)) {
            char *name = xstrndup(p, length), *dot = strrchr(name, '.');
            const struct derived *d = find_derived(s, name);
            if (d && depth < DERIVED_DEEPEST)
                add_words(s, d->expression, depth + 1, out);
            add_new(out, xstrdup(dot ? dot + 1 : name));
            free(name);
        }
        p += length;
    }
}

static const char *bare(const char *key)
{
    const char *dot = strchr(key, '.');
    return dot ? dot + 1 : key;
}

/* Adds all words of an expression that reads the key. */
static void add_expression(const struct sweep *s, const char *expression, const char *key, struct string_list *out)
{
    struct string_list words = STRING_LIST_INIT;
    add_words(s, expression, 0, &words);
    bool reads = string_list_find(&words, key) < words.count;
    for (size_t i = 0; reads && i < words.count; i++)
        add_new(out, xstrdup(words.items[i]));
    string_list_free(&words);
}

static void add_axis(const struct axis *axis, const char *key, struct string_list *out)
{
    bool has = false;
    for (size_t k = 0; k < axis->key_count; k++)
        has |= strcmp(axis->keys[k], key) == 0;
    for (size_t k = 0; has && k < axis->key_count; k++)
        add_new(out, xstrdup(axis->keys[k]));
}

static void add_tied(const struct sweep *s, const char *key, struct string_list *out)
{
    for (size_t i = 0; i < s->rule_count; i++) {
        add_expression(s, s->rules[i].require, key, out);
        add_expression(s, s->rules[i].when, key, out);
    }
    for (size_t i = 0; i < s->derived_count; i++)
        add_expression(s, s->derived[i].expression, key, out);
    for (int kind = 0; kind < SECTION_COUNT; kind++)
        for (size_t b = 0; b < s->sections[kind].block_count; b++)
            for (size_t a = 0; a < s->sections[kind].blocks[b].axis_count; a++)
                add_axis(&s->sections[kind].blocks[b].axes[a], key, out);
}

static bool is_batch(const char *key)
{
    return strcmp(key, "global_batch") == 0 || strcmp(key, "train_batch_size") == 0;
}

static int by_name(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    bool x_micro = strcasestr(x, "micro"), y_micro = strcasestr(y, "micro");
    return x_micro != y_micro ? y_micro - x_micro : strcmp(x, y);
}

/* The keys with several values. The micro-batch comes first: it affects a step most, so if either of two keys could
 * stay equal, it should. */
static void find_swept(const struct compared_jobs *jobs, const char *key, struct string_list *out)
{
    for (enum compared_kind kind = 0; kind < COMPARED_SECTIONS; kind++)
        for (size_t k = 0; k < jobs->sections[kind].key_count; k++) {
            const struct compared_key *one = &jobs->sections[kind].keys[k];
            if (one->distinct > 1 && !one->is_label && !one->is_replicate && !is_batch(one->name) &&
                strcmp(one->name, key) != 0)
                add_new(out, xstrdup(one->name));
        }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_name);
}

/* Keys that follow `key` may have followers of their own. `found` marks which of `swept` are connected. */
static void find_followers(const struct sweep *s, const char *key, const struct string_list *swept, bool *found)
{
    struct string_list words = STRING_LIST_INIT;
    add_tied(s, key, &words);
    for (size_t i = 0; i < swept->count; i++)
        if (!found[i] && string_list_find(&words, swept->items[i]) < words.count) {
            found[i] = true;
            find_followers(s, swept->items[i], swept, found);
        }
    string_list_free(&words);
}

static void add_followers(const struct sweep *s, const char *key, const struct string_list *swept,
                          struct string_list *out)
{
    bool *found = xcalloc(swept->count + 1, sizeof *found);
    find_followers(s, key, swept, found);
    for (size_t i = 0; i < swept->count; i++)
        if (found[i])
            string_list_add(out, xstrdup(swept->items[i]));
    free(found);
}

int key_ties_read(struct db *db, const struct compared_jobs *jobs, const char *key, struct string_list *out,
                  struct error *e)
{
    struct string_list swept = STRING_LIST_INIT;
    struct sweep *sweep = NULL;
    struct error unreadable = ERROR_INIT;
    char *path = NULL, *text = NULL;
    int64_t id;
    if (sweep_read_current(db, &id, &path, &text, e) < 0)
        return -1;
    find_swept(jobs, bare(key), &swept);
    if (sweep_parse(path, text, strlen(text), &sweep, &unreadable) == 0)
        add_followers(sweep, bare(key), &swept, out);
    sweep_free(sweep);
    string_list_free(&swept);
    free(path);
    free(text);
    return 0;
}

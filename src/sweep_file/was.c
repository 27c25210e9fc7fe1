#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "config/template.h"
#include "sweep_file/schema.h"
#include "util/memory.h"
#include "util/parse.h"

static const struct entries was_entries = {ENTRIES(sweep, was, was_count, struct was_key), .is_once = true};

/* The name without that end; NULL where it has another. The caller's. */
static char *without_end(const char *name, const char *end)
{
    const size_t length = strlen(name), tail = strlen(end);
    return length > tail && strcmp(name + length - tail, end) == 0 ? xstrndup(name, length - tail) : NULL;
}

static bool check_from(const struct reading *r, const struct toml_node *node)
{
    const bool good = node->kind == NODE_STRING && template_is_name(node->text);
    if (!good)
        problem_at_value(r, node, "renamed_from must be the name that the key had");
    return good;
}

void read_was(const struct reading *r, const struct toml_node *node, const char *name)
{
    static const char dropped[] = "dropped.";
    const bool is_dropped = strncmp(name, dropped, sizeof dropped - 1) == 0;
    OWNED char *renamed = is_dropped ? NULL : without_end(name, ".renamed_from");
    if (strcmp(name, "dropped") == 0) {
        problem_at_value(r, node, "dropped must say which value the results have that stay: dropped = { KEY = VALUE }");
        return;
    }
    if ((renamed && !check_from(r, node)) || !check_finite(r, node))
        return;
    const char *key = renamed ? renamed : is_dropped ? name + sizeof dropped - 1 : name;
    struct was_key *slot = entry_slot(r, node, key, &was_entries);
    struct buffer json = BUFFER_INIT;
    if (!slot)
        return;
    toml_add_json(node, &json);
    char *text = arena_keep(r->arena, buffer_take(&json));
    *slot = (struct was_key){.name = arena_text(r->arena, key),
                             .kind = renamed      ? WAS_RENAMED
                                     : is_dropped ? WAS_DROPPED
                                                  : WAS_ADDED,
                             .section = SECTION_COUNT,
                             .text = renamed ? arena_text(r->arena, node->text) : text,
                             .at = reading_at_key(r, node)};
}

static void check_absent(const struct reading *r, const struct word_list *keys, const struct was_key *w,
                         const char *key)
{
    for (int k = 0; k < SECTION_COUNT; k++) {
        if (w->section != SECTION_COUNT && (int)w->section != k)
            continue;
        for (size_t i = 0; i < keys[k].count; i++)
            if (strcmp(keys[k].items[i].text, key) == 0)
                problems_add(r->problems, w->at, "[was]: %s still has a key \"%s\" (line %d)", section_names[k], key,
                             keys[k].items[i].at.line);
    }
}

/* "training_spec.seed" of a key that no section has any more. */
static void split_dropped(struct was_key *w)
{
    for (int k = 0; k < SECTION_COUNT; k++) {
        const size_t length = strlen(section_names[k]);
        if (strncmp(w->name, section_names[k], length) != 0 || w->name[length] != '.')
            continue;
        w->section = (enum section_kind)k;
        w->name += length + 1;
        return;
    }
}

/* As the section would have it: in bytes (sweep_file/specs.c). */
static void take_size(const struct reading *r, struct was_key *w)
{
    const char *last = strrchr(w->name, '_');
    int64_t bytes;
    if (w->section != SECTION_CLUSTER || !last || (strcmp(last, "_memory") != 0 && strcmp(last, "_bytes") != 0))
        return;
    OWNED char *size = xstrndup(w->text + 1, strlen(w->text) - 1);
    size[strcspn(size, "\"")] = '\0';
    if (w->text[0] == '"' && parse_size_bytes(size, &bytes))
        w->text = arena_keep(r->arena, xasprintf("%lld", (long long)bytes));
}

void check_was(const struct reading *r, const struct word_list *keys)
{
    for (size_t i = 0; i < r->sweep->was_count; i++) {
        struct was_key *w = &r->sweep->was[i];
        struct listed_key found;
        if (w->kind == WAS_DROPPED) {
            split_dropped(w);
            check_absent(r, keys, w, w->name);
        } else if (listed_key_find(r, keys, "[was]", &(struct listed_word){w->name, w->at}, &found)) {
            w->section = found.kind;
            w->name = arena_text(r->arena, found.key);
            take_size(r, w);
            if (w->kind == WAS_RENAMED)
                check_absent(r, keys, w, w->text);
        }
    }
}

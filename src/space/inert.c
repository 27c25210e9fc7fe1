#include "space/inert.h"

#include <stdlib.h>
#include <string.h>

#include "space/compile.h"
#include "util/memory.h"

/* Whether the entry speaks of that key: by its name, in any section, or as what the name resolves to. */
static bool names_key(const struct names *n, const struct inert *entry, size_t key)
{
    size_t index;
    if (strcmp(n->keys[key].name, entry->key) == 0)
        return true;
    return names_resolve(n, entry->key, &index) == RESOLVED_KEY && index == key;
}

void inert_mark(struct space *space)
{
    const struct sweep *s = space->sweep;
    for (size_t k = 0; k < space->names.key_count; k++)
        for (size_t i = 0; i < s->inert_count; i++)
            space->names.keys[k].is_inert |= names_key(&space->names, &s->inert[i], k);
}

static struct space_inert *slot_of(struct space *space, size_t key)
{
    for (size_t i = 0; i < space->inert_count; i++)
        if (space->inert[i].key == key)
            return &space->inert[i];
    space->inert = array_grow(space->inert, space->inert_count, sizeof *space->inert);
    space->inert[space->inert_count] = (struct space_inert){key, NULL};
    return &space->inert[space->inert_count++];
}

static void add_condition(struct space *space, size_t key, const char *sql)
{
    struct space_inert *slot = slot_of(space, key);
    char *both =
        slot->condition ? xasprintf("(%s OR %s IS TRUE)", slot->condition, sql) : xasprintf("(%s IS TRUE)", sql);
    free(slot->condition);
    slot->condition = both;
}

static void compile_entry(struct space *space, const struct inert *entry, struct problems *problems)
{
    struct expression x = EXPRESSION_INIT;
    const struct source_text source = {entry->condition, unknown_at(space, &entry->at),
                                       &entry->at,       "inert key",
                                       entry->key,       NULL};
    bool known = false;
    if (compile_expression(space, &source, &x, problems) < 0)
        return;
    for (size_t k = 0; k < space->names.key_count; k++) {
        if (!names_key(&space->names, entry, k))
            continue;
        known = true;
        add_condition(space, k, x.sql);
    }
    if (!known && !sweep_in_profile(space->sweep, &entry->at) && !names_excused(&space->names, entry->key)) {
        char *hint = names_hint(&space->names, entry->key, NULL, 0);
        problems_add(problems, entry->at, "[inert]: no spec has the key `%s`%s", entry->key, hint);
        free(hint);
    }
    expression_free(&x);
}

static int compare_keys(const struct key *a, const struct key *b)
{
    return a->section != b->section ? (int)a->section - (int)b->section : strcmp(a->name, b->name);
}

/* By section and name: the order of keys in the file must not count in identities. */
static void sort(struct space *space)
{
    for (size_t i = 1; i < space->inert_count; i++) {
        struct space_inert moved = space->inert[i];
        size_t at = i;
        for (; at > 0 && compare_keys(&space->names.keys[moved.key], &space->names.keys[space->inert[at - 1].key]) < 0;
             at--)
            space->inert[at] = space->inert[at - 1];
        space->inert[at] = moved;
    }
}

void inert_compile(struct space *space, struct problems *problems)
{
    for (size_t i = 0; i < space->sweep->inert_count; i++)
        compile_entry(space, &space->sweep->inert[i], problems);
    sort(space);
}

void inert_free_all(struct space *space)
{
    for (size_t i = 0; i < space->inert_count; i++)
        free(space->inert[i].condition);
    free(space->inert);
}

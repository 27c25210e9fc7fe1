#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sweep_file/schema.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"

/* Pairs of words that are compared for a hint: more take long, and nobody writes them by hand. */
#define MOST_HINT_PAIRS 100000

/* SQLite compares column names without regard to case: words are sorted so too, then exactly, then as written. */
static int compare_columns(const void *a, const void *b)
{
    const struct listed_word *x = a, *y = b;
    int order = strcasecmp(x->text, y->text);
    if (order == 0)
        order = strcmp(x->text, y->text);
    if (order == 0)
        order = (x->at.line > y->at.line) - (x->at.line < y->at.line);
    return order;
}

static int compare_column(const void *text, const void *word)
{
    return strcasecmp(text, ((const struct listed_word *)word)->text);
}

/* The keys of a section, and those that a table gives it, each spelling once. */
static struct word_list section_keys(const struct reading *r, enum section_kind kind)
{
    const struct sweep *s = r->sweep;
    const struct section *section = &s->sections[kind];
    struct word_list all = {NULL, 0};
    for (size_t i = 0; i < s->import.column_count; i++)
        if (!s->import.columns[i].is_metric && s->import.columns[i].section == kind)
            words_add(r, &all, s->import.columns[i].name, s->import.columns[i].at);
    for (size_t b = 0; b < section->block_count; b++)
        for (size_t a = 0; a < section->blocks[b].axis_count; a++)
            for (size_t k = 0; k < section->blocks[b].axes[a].key_count; k++)
                words_add(r, &all, section->blocks[b].axes[a].keys[k], section->blocks[b].axes[a].at);
    if (all.count > 0)
        qsort(all.items, all.count, sizeof *all.items, compare_columns);
    size_t kept = 0;
    for (size_t i = 0; i < all.count; i++)
        if (kept == 0 || strcmp(all.items[i].text, all.items[kept - 1].text) != 0)
            all.items[kept++] = all.items[i];
    all.count = kept;
    return all;
}

static void check_case(const struct reading *r, const struct word_list *keys)
{
    for (size_t i = 1; i < keys->count; i++)
        if (strcasecmp(keys->items[i].text, keys->items[i - 1].text) == 0)
            problems_add(r->problems, keys->items[i].at, "\"%s\" differs from \"%s\" (line %d) only in case",
                         keys->items[i].text, keys->items[i - 1].text, keys->items[i - 1].at.line);
}

static const struct axis *constant_name(const struct block *block)
{
    for (size_t a = 0; a < block->axis_count; a++) {
        const struct axis *axis = &block->axes[a];
        if (axis->key_count == 1 && axis->value_count == 1 && strcmp(axis->keys[0], "name") == 0)
            return axis;
    }
    return NULL;
}

static void check_names(const struct reading *r, const struct section *section)
{
    struct word_list names = {NULL, 0};
    for (size_t b = 0; sweep_is_label(r->sweep, "name") && b < section->block_count; b++) {
        const struct axis *axis = constant_name(&section->blocks[b]);
        if (axis && axis->values[0].kind == VALUE_STRING)
            words_add(r, &names, axis->values[0].text, axis->at);
    }
    words_sort(&names);
    for (size_t i = 1; i < names.count; i++)
        if (strcmp(names.items[i].text, names.items[i - 1].text) == 0)
            problems_add(r->problems, names.items[i].at, "the name \"%s\" is given twice (first at %s:%d)",
                         names.items[i].text, names.items[i - 1].at.file, names.items[i - 1].at.line);
}

static const struct listed_word *find_column(const struct word_list *keys, const char *name)
{
    return keys->count ? bsearch(name, keys->items, keys->count, sizeof *keys->items, compare_column) : NULL;
}

/* Returns whether a derived key stays: one of a profile gives way to a key that the file sets itself. */
static bool check_derived(const struct reading *r, const struct word_list *keys, const struct derived *d)
{
    for (int kind = 0; kind < SECTION_COUNT; kind++) {
        const struct listed_word *key = find_column(&keys[kind], d->name);
        if (key && sweep_in_profile(r->sweep, &d->at))
            return false;
        if (key)
            problems_add(r->problems, d->at, "\"%s\" is a derived key, but also a key of %s (line %d); rename one",
                         d->name, section_names[kind], key->at.line);
    }
    return true;
}

static void check_all_derived(const struct reading *r, const struct word_list *keys)
{
    struct sweep *s = r->sweep;
    size_t kept = 0;
    for (size_t i = 0; i < s->derived_count; i++) {
        if (check_derived(r, keys, &s->derived[i]))
            s->derived[kept++] = s->derived[i];
    }
    s->derived_count = kept;
}

/* A word of note or list_values that is no key does no harm where the block that had it is commented out; one that is
 * nearly a key is a slip that would change what counts as the same job. */
static void check_word(const struct reading *r, const struct listed_word *word, const struct word_list *known)
{
    const char *dot = strchr(word->text, '.');
    if (sweep_in_profile(r->sweep, &word->at) || problems_excused(r->problems, word->text) ||
        word_list_has(known, word->text) || (dot && word_list_has(known, dot + 1)))
        return;
    OWNED char *hint = hint_among(word->text, known->items, known->count, sizeof *known->items);
    if (*hint)
        problems_add(r->problems, word->at, "no section has a key \"%s\"%s", word->text, hint);
}

static void check_words(const struct reading *r, const struct word_list *keys)
{
    const struct word_list *lists[] = {&r->gathered->notes, &r->gathered->list_values};
    struct word_list known = {0};
    for (int kind = 0; kind < SECTION_COUNT; kind++)
        for (size_t i = 0; i < keys[kind].count; i++)
            words_add(r, &known, keys[kind].items[i].text, keys[kind].items[i].at);
    if (known.count * (lists[0]->count + lists[1]->count) > MOST_HINT_PAIRS)
        return;
    for (size_t l = 0; l < LENGTH(lists); l++)
        for (size_t i = 0; i < lists[l]->count; i++)
            check_word(r, &lists[l]->items[i], &known);
}

/* --- replicates and groups --- */

/* A word of a list that names a key of a section ("seed" or "training_spec.seed"). */
struct listed_key {
    enum section_kind kind;
    const char *key; /* its bare name; borrowed from the word */
};

static size_t sections_with(const struct word_list *keys, const char *name, struct listed_key *out)
{
    const char *dot = strchr(name, '.');
    size_t found = 0;
    for (int k = 0; k < SECTION_COUNT; k++) {
        bool qualified =
            dot && strncmp(section_names[k], name, (size_t)(dot - name)) == 0 && !section_names[k][dot - name];
        const char *bare = qualified ? dot + 1 : name;
        const struct listed_word *word = find_column(&keys[k], bare);
        if (!word || strcmp(word->text, bare) != 0)
            continue;
        *out = (struct listed_key){(enum section_kind)k, bare};
        found++;
    }
    return found;
}

static bool is_derived(const struct sweep *s, const char *name)
{
    return ANY(i, s->derived_count, strcmp(s->derived[i].name, name) == 0);
}

static void unknown_listed(const struct reading *r, const struct word_list *keys, const char *list,
                           const struct listed_word *word)
{
    OWNED char *hint = xstrdup("");
    for (int k = 0; k < SECTION_COUNT && !*hint; k++)
        text_replace(&hint, hint_among(word->text, keys[k].items, keys[k].count, sizeof *keys[k].items));
    if (!problems_excused(r->problems, word->text))
        problems_add(r->problems, word->at, "%s: no section has a key \"%s\"%s", list, word->text, hint);
}

/* The key that a word of `list` names. False after a complaint: no section has it, with what may be meant, or several
 * have. */
static bool listed_key_find(const struct reading *r, const struct word_list *keys, const char *list,
                            const struct listed_word *word, struct listed_key *out)
{
    size_t sections = sections_with(keys, word->text, out);
    if (sections == 0)
        unknown_listed(r, keys, list, word);
    else if (sections > 1)
        problems_add(r->problems, word->at, "%s: several sections have a key \"%s\"; write \"%s.%s\"", list, word->text,
                     section_names[out->kind], out->key);
    return sections == 1;
}

/* Puts "training_spec.seed" in the word's place. */
static void listed_word_qualify(const struct reading *r, struct listed_word *word, const struct listed_key *key)
{
    word->text = arena_keep(r->arena, xasprintf("%s.%s", section_names[key->kind], key->key));
}

/* A replicate key that moves together with another one has no replicates: where it differs, so does the other. */
static void check_untied(const struct reading *r, const struct listed_key *key)
{
    const struct section *section = &r->sweep->sections[key->kind];
    for (size_t b = 0; b < section->block_count; b++)
        for (size_t a = 0; a < section->blocks[b].axis_count; a++) {
            const struct axis *axis = &section->blocks[b].axes[a];
            for (size_t k = 0; axis_has(axis, key->key) && k < axis->key_count; k++)
                if (!sweep_is_replicate(r->sweep, key->kind, axis->keys[k]))
                    problems_add(r->problems, axis->at,
                                 "\"%s\" is a replicate key, but it is tied to \"%s\": jobs that differ in one also "
                                 "differ in the other, so they are not replicates",
                                 key->key, axis->keys[k]);
        }
}

static void check_replicate(const struct reading *r, const struct word_list *keys, struct listed_word *word)
{
    struct listed_key key;
    if (sections_with(keys, word->text, &key) == 0 && is_derived(r->sweep, word->text)) {
        problems_add(r->problems, word->at, "replicate: \"%s\" is derived; name the key from which it is derived",
                     word->text);
        return;
    }
    if (!listed_key_find(r, keys, "replicate", word, &key))
        return;
    if (sweep_is_label(r->sweep, key.key)) {
        problems_add(r->problems, word->at,
                     "replicate: \"%s\" does not count towards identity ([sweep] note): jobs that differ only in it "
                     "are one job, which runs once",
                     word->text);
        return;
    }
    check_untied(r, &key);
    listed_word_qualify(r, word, &key);
}

static void check_group_key(const struct reading *r, const struct word_list *keys, struct listed_word *word)
{
    struct listed_key key;
    if (sections_with(keys, word->text, &key) == 0 && is_derived(r->sweep, word->text))
        return;
    if (!listed_key_find(r, keys, "group_by", word, &key))
        return;
    if (sweep_is_replicate(r->sweep, key.kind, key.key))
        problems_add(r->problems, word->at,
                     "group_by: \"%s\" is a replicate key, so its jobs are one configuration and in one group",
                     word->text);
    else
        listed_word_qualify(r, word, &key);
}

/* Those of a sweep that is imported may come from the table. */
static void check_replicates(const struct reading *r, const struct word_list *keys)
{
    struct sweep *s = r->sweep;
    for (size_t i = 0; i < s->replicates.count; i++)
        check_replicate(r, keys, &s->replicates.items[i]);
    for (size_t i = 0; i < s->groups.count; i++)
        check_group_key(r, keys, &s->groups.items[i]);
}

/* Names are compared one by one, and SQLite takes 2,000 columns: a section with more keys is reported and left out. */
static void check_key_count(const struct reading *r, enum section_kind kind, struct word_list *keys)
{
    struct section *section = &r->sweep->sections[kind];
    if (keys->count <= SECTION_MOST_KEYS)
        return;
    problems_add(r->problems, section->blocks[0].at, "%s has %zu keys, more than %d", section_names[kind], keys->count,
                 SECTION_MOST_KEYS);
    problems_excuse_all(r->problems);
    *section = (struct section){NULL, 0};
    keys->count = 0;
}

/* --- stages when all files are read --- */

static bool check_stage_key(const struct reading *r, const struct word_list *keys, struct listed_word *word)
{
    struct listed_key key;
    if (!listed_key_find(r, keys, "free", word, &key))
        return false;
    if (sweep_is_label(r->sweep, key.key))
        problems_add(r->problems, word->at,
                     "free: \"%s\" does not count towards identity ([sweep] note), so there is nothing to choose",
                     word->text);
    else if (sweep_is_replicate(r->sweep, key.kind, key.key))
        problems_add(r->problems, word->at, "free: \"%s\" is a replicate key, so its jobs are one configuration",
                     word->text);
    else {
        listed_word_qualify(r, word, &key);
        return true;
    }
    return false;
}

static bool is_free(const struct search_stage *stage, enum section_kind kind, const char *key)
{
    OWNED char *qualified = xasprintf("%s.%s", section_names[kind], key);
    return word_list_has(&stage->free, qualified);
}

/* Keys that move together with one that is free are free. */
static void free_tied(const struct reading *r, struct search_stage *stage, enum section_kind kind,
                      const struct axis *axis)
{
    bool any = false;
    for (size_t k = 0; k < axis->key_count; k++)
        any |= is_free(stage, kind, axis->keys[k]);
    for (size_t k = 0; any && k < axis->key_count; k++) {
        OWNED char *qualified = xasprintf("%s.%s", section_names[kind], axis->keys[k]);
        word_list_add(r->arena, &stage->free, qualified, axis->at);
    }
}

static bool is_free_somewhere(const struct search_config *c, enum section_kind kind, const char *key)
{
    return ANY(i, c->stage_count, is_free(&c->stages[i], kind, key));
}

/* Keys of other sections separate what is compared. */
static void check_stage_axis(const struct reading *r, const struct axis *axis)
{
    const struct sweep *s = r->sweep;
    if (axis->value_count < 2)
        return;
    for (size_t k = 0; k < axis->key_count; k++) {
        const char *key = axis->keys[k];
        if (!is_free_somewhere(&s->search, SECTION_PARALLEL, key) && !sweep_is_label(s, key) &&
            !sweep_is_replicate(s, SECTION_PARALLEL, key))
            problems_add(r->problems, axis->at,
                         "\"%s\" has %zu values but is not free in any stage of [search], so only the first would be "
                         "tried; add it to `free` of a stage",
                         key, axis->value_count);
    }
}

/* Returns whether its keys are keys of the sweep. */
static bool check_stage(const struct reading *r, const struct word_list *section_keys, struct search_stage *stage)
{
    const struct section *sections = r->sweep->sections;
    bool known = true;
    for (size_t k = 0; k < stage->free.count; k++)
        known &= check_stage_key(r, section_keys, &stage->free.items[k]);
    for (int kind = 0; kind < SECTION_COUNT; kind++)
        for (size_t b = 0; b < sections[kind].block_count; b++)
            for (size_t a = 0; a < sections[kind].blocks[b].axis_count; a++)
                free_tied(r, stage, (enum section_kind)kind, &sections[kind].blocks[b].axes[a]);
    return known;
}

static void check_search_stages(const struct reading *r, const struct word_list *section_keys)
{
    const struct search_config *c = &r->sweep->search;
    const struct section *parallel = &r->sweep->sections[SECTION_PARALLEL];
    bool known = c->stage_count > 0;
    for (size_t i = 0; i < c->stage_count; i++)
        known &= check_stage(r, section_keys, &c->stages[i]);
    for (size_t b = 0; known && b < parallel->block_count; b++)
        for (size_t a = 0; a < parallel->blocks[b].axis_count; a++)
            check_stage_axis(r, &parallel->blocks[b].axes[a]);
}

/* --- [was] --- */

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

static void check_was(const struct reading *r, const struct word_list *keys)
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

void check_sections(const struct reading *r)
{
    struct word_list keys[SECTION_COUNT];
    for (int kind = 0; kind < SECTION_COUNT; kind++) {
        keys[kind] = section_keys(r, (enum section_kind)kind);
        check_key_count(r, (enum section_kind)kind, &keys[kind]);
        check_case(r, &keys[kind]);
        check_names(r, &r->sweep->sections[kind]);
    }
    check_all_derived(r, keys);
    check_words(r, keys);
    check_replicates(r, keys);
    check_search_stages(r, keys);
    check_was(r, keys);
}

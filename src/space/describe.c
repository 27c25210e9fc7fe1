#include "space/describe.h"

#include <stdlib.h>
#include <string.h>

#include "join/combinations.h"
#include "util/memory.h"

struct describer {
    struct space *space;
    size_t *keys; /* indices into names.keys, section by section */
    size_t key_count;
    const struct scaling *scaling; /* NULL: none */
};

/* Selects keys of a section: labels or others, those that differ or all. */
struct key_selection {
    bool labels, constant;
};

static bool is_scaled(const struct describer *d, const struct key *key)
{
    const struct scaling *x = d->scaling;
    return x && (scaling_is_key(x, key->section, key->name) || scaling_follower(x, key->section, key->name));
}

static size_t choose_keys(struct describer *d, enum section_kind section, struct key_selection choice)
{
    const struct names *n = &d->space->names;
    size_t chosen = 0;
    for (size_t i = 0; i < n->key_count; i++) {
        if (n->keys[i].section != section || n->keys[i].is_label != choice.labels ||
            (!choice.constant && !specs_differ(d->space->specs[section], i)) || is_scaled(d, &n->keys[i]))
            continue;
        *array_add(d->keys, d->key_count) = i;
        chosen++;
    }
    return chosen;
}

static void choose_all(struct describer *d, bool constant)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        enum section_kind section = (enum section_kind)i;
        if (d->space->counts[i] && (choose_keys(d, section, (struct key_selection){false, constant}) == 0 ||
                                    specs_have_twins(d->space->specs[section])))
            choose_keys(d, section, (struct key_selection){true, constant});
    }
}

struct describer *describer_create(struct space *space, const struct scaling *scaling)
{
    struct describer *d = xcalloc(1, sizeof *d);
    d->space = space;
    d->scaling = scaling;
    choose_all(d, false);
    if (d->key_count == 0)
        choose_all(d, true);
    return d;
}

void describer_free(struct describer *d)
{
    if (d)
        free_all(d->keys, d);
}

static void add_member(const struct names *n, const struct key *key, const struct value *v, struct buffer *out)
{
    size_t index;
    if (!v || v->kind == VALUE_NULL)
        return;
    if (out->length)
        buffer_add_char(out, ' ');
    if (names_resolve(n, key->name, &index) == RESOLVED_AMBIGUOUS)
        buffer_printf(out, "%s.", section_names[key->section]);
    buffer_printf(out, "%s=", key->name);
    value_add_text(v, out);
}

void describe_match(struct describer *d, const struct match *m, struct buffer *out)
{
    const struct space *space = d->space;
    int64_t specs[SECTION_COUNT];
    combination_split(space->counts, m->rank, specs);
    for (size_t i = 0; i < d->key_count; i++) {
        const struct key *key = &space->names.keys[d->keys[i]];
        const struct value *v = specs_value(space->specs[key->section], specs[key->section], d->keys[i]);
        add_member(&space->names, key, v, out);
    }
}

/* The member of a JSON object; null: it has none. The caller's. */
static struct value find_member(const char *json, const char *name)
{
    struct value found = {.kind = VALUE_NULL}, value;
    char *key;
    for (const char *at = json + (*json == '{'); !found.kind && value_next_member(&at, &key, &value); free(key))
        if (strcmp(key, name) == 0)
            found = value;
        else
            value_free(&value);
    return found;
}

void describe_spec(struct describer *d, const char *spec_json, struct buffer *out)
{
    for (size_t i = 0; i < d->key_count; i++) {
        const struct key *key = &d->space->names.keys[d->keys[i]];
        struct value section = find_member(spec_json, section_names[key->section]);
        struct value v = find_member(section.text ? section.text : "", key->name);
        add_member(&d->space->names, key, &v, out);
        value_free(&section);
        value_free(&v);
    }
}

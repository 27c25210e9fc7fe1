#include "space/describe.h"

#include <string.h>

#include "util/memory.h"

struct describer {
    struct space *space;
    struct stmt *values;  /* of a combination; NULL until it is asked for */
    struct stmt *members; /* out of a spec_json; NULL until it is asked for */
    size_t *keys;         /* indices into names.keys, section by section */
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
    if (!d)
        return;
    stmt_free(d->values);
    stmt_free(d->members);
    free_all(d->keys, d);
}

static void add_member(const struct names *n, const struct key *key, const struct stmt *s, int column,
                       struct buffer *out)
{
    size_t index;
    if (stmt_is_null(s, column))
        return;
    if (out->length)
        buffer_add_char(out, ' ');
    if (names_resolve(n, key->name, &index) == RESOLVED_AMBIGUOUS)
        buffer_printf(out, "%s.", section_names[key->section]);
    buffer_printf(out, "%s=", key->name);
    struct value v = match_column_value(s, column, key->is_bool);
    value_add_text(&v, out);
    value_free(&v);
}

/* Adds the row, which has all keys, of a statement with its parameters bound. */
static int add_row(struct describer *d, struct stmt *s, struct buffer *out, struct error *e)
{
    int rc = stmt_next(s, e);
    for (size_t i = 0; rc > 0 && i < d->key_count; i++)
        add_member(&d->space->names, &d->space->names.keys[d->keys[i]], s, (int)i, out);
    stmt_reset(s);
    return rc < 0 ? -1 : 0;
}

static int prepare(struct describer *d, bool of_json, struct stmt **out, struct error *e)
{
    struct buffer sql = BUFFER_INIT;
    for (size_t i = 0; i < d->key_count; i++) {
        const struct key *key = &d->space->names.keys[d->keys[i]];
        OWNED char *section = xasprintf("?1 -> '$.%s'", section_names[key->section]);
        buffer_add_text(&sql, i ? ", " : "SELECT ");
        if (of_json)
            expression_add_member(&sql, section, key->name);
        else
            expression_add_column(&sql, key);
    }
    if (!of_json)
        space_add_combination(d->space, 1, &sql);
    return db_prepare_built(d->space->db, &sql, out, e);
}

int describe_match(struct describer *d, const struct match *m, struct buffer *out, struct error *e)
{
    if (d->key_count == 0)
        return 0;
    if (!d->values && prepare(d, false, &d->values, e) < 0)
        return -1;
    space_bind_rank(d->space, d->values, 1, m->rank);
    return add_row(d, d->values, out, e);
}

int describe_spec(struct describer *d, const char *spec_json, struct buffer *out, struct error *e)
{
    if (d->key_count == 0)
        return 0;
    if (!d->members && prepare(d, true, &d->members, e) < 0)
        return -1;
    stmt_bind_text(d->members, 1, spec_json);
    return add_row(d, d->members, out, e);
}

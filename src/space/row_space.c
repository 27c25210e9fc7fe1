#include "space/row_space.h"

#include <stdlib.h>
#include <string.h>

#include "join/combinations.h"
#include "util/memory.h"

/* Specs that have the same keys: a block with one tied axis. */
struct pattern {
    struct axis axis;
    int64_t first; /* row of its first spec in the section */
};

struct row_spec {
    struct hash128 hash;
    size_t pattern, index; /* within it */
};

struct row_section {
    struct pattern *patterns;
    size_t pattern_count;
    struct row_spec *specs;
    size_t spec_count;
    size_t *slots; /* spec + 1 by hash; 0: free */
    size_t slot_count;
};

struct row_space {
    struct sweep view;
    struct row_section sections[SECTION_COUNT];
};

/* Every part ends with a NUL, an absent one too. */
static void add_part(struct buffer *b, const char *text)
{
    buffer_add_text(b, text ? text : "");
    buffer_add_char(b, '\0');
}

/* What decides what a row comes to, and which one wins. */
static struct hash128 hash_reading(const struct sweep *s)
{
    const struct import_config *c = &s->import;
    struct buffer b = BUFFER_INIT;
    add_part(&b, "rows of tables");
    add_part(&b, s->name);
    for (size_t i = 0; i < s->objective_count; i++)
        buffer_printf(&b, "%s %d;", s->objectives[i].metric, s->objectives[i].maximise);
    for (size_t i = 0; i < s->job.metric_count; i++) {
        const struct metric *m = &s->job.metrics[i];
        buffer_printf(&b, "%s %d %d %d;", m->name, m->better_given, m->maximise, m->means);
        add_part(&b, m->unit);
        add_part(&b, m->expression);
    }
    for (size_t i = 0; i < s->derived_count; i++) {
        add_part(&b, s->derived[i].name);
        add_part(&b, s->derived[i].expression);
    }
    add_part(&b, c->state);
    add_part(&b, c->duration);
    for (size_t i = 0; i < c->state_count; i++) {
        add_part(&b, c->states[i].value);
        add_part(&b, c->states[i].outcome);
    }
    for (size_t i = 0; i < c->decimal_commas.count; i++)
        add_part(&b, c->decimal_commas.items[i].text);
    for (size_t i = 0; i < c->column_count; i++) {
        buffer_printf(&b, "%d %d %s=", c->columns[i].is_metric, (int)c->columns[i].section, c->columns[i].name);
        add_part(&b, c->columns[i].expression);
    }
    for (size_t i = 0; i < c->refusal_count; i++)
        add_part(&b, c->refusals[i].when);
    struct hash128 hash = hash_bytes(b.data, b.length);
    buffer_free(&b);
    return hash;
}

struct row_space *row_space_create(const struct sweep *s)
{
    struct row_space *r = xcalloc(1, sizeof *r);
    r->view = *s;
    r->view.hash = hash_reading(s);
    for (int i = 0; i < SECTION_COUNT; i++)
        r->view.sections[i] = (struct section){NULL, 0};
    return r;
}

void row_space_free(struct row_space *r)
{
    if (!r)
        return;
    for (int i = 0; i < SECTION_COUNT; i++) {
        struct row_section *s = &r->sections[i];
        for (size_t p = 0; p < s->pattern_count; p++) {
            struct axis *axis = &s->patterns[p].axis;
            for (size_t k = 0; k < axis->key_count; k++)
                free(axis->keys[k]);
            for (size_t v = 0; v < axis->key_count * axis->value_count; v++)
                value_free(&axis->values[v]);
            free_all(axis->keys, axis->values);
        }
        free_all(r->view.sections[i].blocks, s->patterns, s->specs, s->slots);
    }
    free(r);
}

/* --- which spec --- */

static struct hash128 hash_spec(const struct row_key *keys, size_t count)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < count; i++) {
        if (keys[i].value.kind == VALUE_NULL)
            continue;
        buffer_add(&b, keys[i].name, strlen(keys[i].name) + 1);
        value_add_json(&keys[i].value, &b);
        buffer_add_char(&b, '\0');
    }
    struct hash128 hash = hash_bytes(b.data, b.length);
    buffer_free(&b);
    return hash;
}

/* The slot of that hash, or a free one. */
static size_t find_slot(const struct row_section *s, const struct hash128 *hash)
{
    size_t start;
    memcpy(&start, hash->bytes, sizeof start);
    for (size_t i = start & (s->slot_count - 1);; i = (i + 1) & (s->slot_count - 1))
        if (s->slots[i] == 0 || memcmp(&s->specs[s->slots[i] - 1].hash, hash, sizeof *hash) == 0)
            return i;
}

static void make_room(struct row_section *s)
{
    if (2 * (s->spec_count + 1) <= s->slot_count)
        return;
    s->slot_count = s->slot_count ? 2 * s->slot_count : 64;
    free(s->slots);
    s->slots = xcalloc(s->slot_count, sizeof *s->slots);
    for (size_t i = 0; i < s->spec_count; i++)
        s->slots[find_slot(s, &s->specs[i].hash)] = i + 1;
}

/* --- its pattern --- */

static bool has_keys(const struct axis *axis, const struct row_key *keys, size_t count)
{
    size_t k = 0;
    for (size_t i = 0; i < count; i++)
        if (keys[i].value.kind != VALUE_NULL && (k == axis->key_count || strcmp(axis->keys[k++], keys[i].name) != 0))
            return false;
    return k == axis->key_count;
}

static struct axis axis_with(const struct row_key *keys, size_t count)
{
    struct axis axis = {.keys = xcalloc(count, sizeof *axis.keys)};
    for (size_t i = 0; i < count; i++) {
        if (keys[i].value.kind == VALUE_NULL)
            continue;
        axis.at = axis.key_count ? axis.at : keys[i].at;
        axis.keys[axis.key_count++] = xstrdup(keys[i].name);
    }
    return axis;
}

static size_t find_pattern(struct row_section *s, const struct row_key *keys, size_t count)
{
    size_t p = 0;
    while (p < s->pattern_count && !has_keys(&s->patterns[p].axis, keys, count))
        p++;
    if (p == s->pattern_count) {
        s->patterns = array_grow(s->patterns, s->pattern_count++, sizeof *s->patterns);
        s->patterns[p] = (struct pattern){axis_with(keys, count), 0};
    }
    return p;
}

static void add_values(struct axis *axis, const struct row_key *keys, size_t count)
{
    size_t at = axis->value_count++ * axis->key_count;
    for (size_t i = 0; i < count; i++) {
        if (keys[i].value.kind == VALUE_NULL)
            continue;
        *array_add(axis->values, at) = value_copy(&keys[i].value);
    }
}

int64_t row_space_add(struct row_space *r, enum section_kind section, const struct row_key *keys, size_t count)
{
    struct row_section *s = &r->sections[section];
    if (count == 0)
        return -1;
    struct hash128 hash = hash_spec(keys, count);
    make_room(s);
    size_t slot = find_slot(s, &hash);
    if (s->slots[slot] == 0) {
        size_t p = find_pattern(s, keys, count);
        *array_add(s->specs, s->spec_count) = (struct row_spec){hash, p, s->patterns[p].axis.value_count};
        add_values(&s->patterns[p].axis, keys, count);
        s->slots[slot] = s->spec_count;
    }
    return (int64_t)s->slots[slot] - 1;
}

/* --- building --- */

int row_space_build(struct row_space *r, const struct space_options *options, struct space **out, struct error *e)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        struct row_section *s = &r->sections[i];
        struct section *section = &r->view.sections[i];
        int64_t first = 0;
        section->blocks = xcalloc(s->pattern_count + 1, sizeof *section->blocks);
        section->block_count = s->pattern_count;
        for (size_t p = 0; p < s->pattern_count; p++) {
            section->blocks[p] = (struct block){&s->patterns[p].axis, 1, s->patterns[p].axis.at};
            s->patterns[p].first = first;
            first += (int64_t)s->patterns[p].axis.value_count;
        }
    }
    if (space_build(&r->view, options, out, e) < 0)
        return -1;
    (*out)->of_rows = true;
    return 0;
}

int64_t row_space_find(const struct row_space *r, enum section_kind section, int64_t spec)
{
    if (spec < 0)
        return -1;
    const struct row_spec *s = &r->sections[section].specs[spec];
    return r->sections[section].patterns[s->pattern].first + (int64_t)s->index;
}

static int by_rank(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void row_space_limit(const struct row_space *r, struct space *space, const int64_t *specs, size_t count)
{
    space->job_ranks = xcalloc(count + 1, sizeof *space->job_ranks);
    for (size_t n = 0; n < count; n++) {
        int64_t rows[SECTION_COUNT];
        for (int i = 0; i < SECTION_COUNT; i++) {
            rows[i] = row_space_find(r, (enum section_kind)i, specs[n * SECTION_COUNT + (size_t)i]);
            rows[i] = rows[i] < 0 ? 0 : rows[i];
        }
        space->job_ranks[n] = combination_rank(space->counts, rows);
    }
    qsort(space->job_ranks, count, sizeof *space->job_ranks, by_rank);
    size_t kept = 0;
    for (size_t n = 0; n < count; n++)
        if (n == 0 || space->job_ranks[n] != space->job_ranks[n - 1])
            space->job_ranks[kept++] = space->job_ranks[n];
    space->of_jobs = true;
    /* What a table says ran is predicted, too, where the prediction is that it cannot. */
    if (space->sweep->import.given)
        space->prediction.prune = PRUNE_OFF;
    space->job_count = (int64_t)kept;
}

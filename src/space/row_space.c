#include "space/row_space.h"

#include <stdlib.h>
#include <string.h>

#include "join/combinations.h"
#include "util/hash.h"
#include "util/memory.h"

/* Specs that have the same keys: a block with one tied axis. */
struct pattern {
    struct axis axis;
    int64_t first;           /* row of its first spec in the section */
    size_t values, cells;    /* of the axis: how many there are, and codes of them */
    struct hash_index known; /* the first of the values */
};

struct row_spec {
    uint32_t pattern, index; /* within it */
};

struct row_section {
    struct pattern *patterns;
    size_t pattern_count;
    struct row_spec *specs; /* where they have several patterns */
    size_t spec_count;
    struct hash_index hashes; /* of the specs, until all are there */
};

struct row_space {
    struct sweep view;
    struct row_section sections[SECTION_COUNT];
    struct buffer text; /* scratch */
};

/* Every part ends with a NUL, an absent one too. */
static void add_part(struct buffer *b, const char *text)
{
    buffer_add_text(b, text ? text : "");
    buffer_add_char(b, '\0');
}

/* Hashes what decides what a row comes to, and which one wins. */
static struct hash128 hash_reading(const struct sweep *s)
{
    const struct import_config *c = &s->import;
    OWNED_BUFFER b = BUFFER_INIT;
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
    return hash_bytes(b.data, b.length);
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

void row_space_release(struct row_space **at)
{
    row_space_free(*at);
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
            for (size_t v = 0; v < s->patterns[p].values; v++)
                value_free(&axis->values[v]);
            free_all(axis->keys, axis->values, axis->codes);
            hash_index_free(&s->patterns[p].known);
        }
        hash_index_free(&s->hashes);
        free_all(r->view.sections[i].blocks, s->patterns, s->specs);
    }
    buffer_free(&r->text);
    free(r);
}

/* --- which spec --- */

static struct hash128 hash_spec(struct buffer *b, const struct row_key *keys, size_t count)
{
    buffer_clear(b);
    for (size_t i = 0; i < count; i++) {
        if (keys[i].value.kind == VALUE_NULL)
            continue;
        buffer_add(b, keys[i].name, strlen(keys[i].name) + 1);
        value_add_json(&keys[i].value, b);
        buffer_add_char(b, '\0');
    }
    return hash_bytes(b->data, b->length);
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
    size_t p = FIRST(k, s->pattern_count, has_keys(&s->patterns[k].axis, keys, count));
    if (p == s->pattern_count) {
        s->patterns = array_grow(s->patterns, s->pattern_count++, sizeof *s->patterns);
        s->patterns[p] = (struct pattern){.axis = axis_with(keys, count)};
    }
    return p;
}

/* Most keys have few values: so many are looked for before one is added once more. */
#define VALUES_KNOWN (1U << 16)

static void add_value(struct pattern *p, const struct value *value, struct buffer *text)
{
    bool is_new = true;
    size_t number = p->values;
    buffer_clear(text);
    value_add_json(value, text);
    buffer_add_char(text, (char)value->kind);
    const struct hash128 hash = hash_bytes(text->data, text->length);
    if (p->known.count < VALUES_KNOWN)
        number = hash_index_add(&p->known, &hash, &is_new);
    if (is_new)
        *array_add(p->axis.values, p->values) = value_copy(value);
    *array_add(p->axis.codes, p->cells) = (uint32_t)number;
}

static void add_values(struct pattern *p, const struct row_key *keys, size_t count, struct buffer *text)
{
    p->axis.value_count++;
    for (size_t i = 0; i < count; i++)
        if (keys[i].value.kind != VALUE_NULL)
            add_value(p, &keys[i].value, text);
}

int64_t row_space_add(struct row_space *r, enum section_kind section, const struct row_key *keys, size_t count)
{
    struct row_section *s = &r->sections[section];
    if (count == 0)
        return -1;
    bool is_new;
    const struct hash128 hash = hash_spec(&r->text, keys, count);
    const size_t spec = hash_index_add(&s->hashes, &hash, &is_new);
    if (is_new) {
        size_t p = find_pattern(s, keys, count);
        for (size_t i = 0; s->pattern_count > 1 && s->spec_count < spec && i < spec; i++)
            *array_add(s->specs, s->spec_count) = (struct row_spec){0, (uint32_t)i};
        if (s->pattern_count > 1)
            *array_add(s->specs, s->spec_count) =
                (struct row_spec){(uint32_t)p, (uint32_t)s->patterns[p].axis.value_count};
        add_values(&s->patterns[p], keys, count, &r->text);
    }
    return (int64_t)spec;
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
        hash_index_free(&s->hashes);
        for (size_t p = 0; p < s->pattern_count; p++) {
            section->blocks[p] = (struct block){&s->patterns[p].axis, 1, s->patterns[p].axis.at};
            s->patterns[p].first = first;
            hash_index_free(&s->patterns[p].known);
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
    if (spec < 0 || !r->sections[section].specs)
        return spec;
    const struct row_spec *s = &r->sections[section].specs[spec];
    return r->sections[section].patterns[s->pattern].first + (int64_t)s->index;
}

BY_NUMBER(by_rank, int64_t, [0])

/* Limits the built space to these combinations, `count` times SECTION_COUNT numbers of row_space_add: match_open,
 * counts and rules then look at each of them once, and at no other of the product. Once. */
static void row_space_limit(const struct row_space *r, struct space *space, const int64_t *specs, size_t count)
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
    array_sort(space->job_ranks, count, by_rank);
    size_t kept = 0;
    for (size_t n = 0; n < count; n++)
        if (n == 0 || space->job_ranks[n] != space->job_ranks[n - 1])
            space->job_ranks[kept++] = space->job_ranks[n];
    space->of_jobs = true;
    /* Jobs that ran by a table are predicted, too, where the prediction is that they cannot run. */
    if (space->sweep->import.given)
        space->prediction.prune = PRUNE_OFF;
    space->job_count = (int64_t)kept;
}

/* --- specs and jobs of a database --- */

struct recorded_specs {
    struct row_space *rows;
    struct db *db;
    struct stmt *json; /* of spec ?1 */
    int64_t *number;   /* by id: in the row space, + 1; 0: not read */
    size_t room;
    const struct scaling *scaling; /* NULL: none */
    double ratio;                  /* of the job whose specs are read; 0: none */
    struct row_key *keys;          /* of the spec that was read last */
    size_t key_count;
};

static void clear_keys(struct recorded_specs *r)
{
    for (size_t i = 0; i < r->key_count; i++) {
        free((char *)r->keys[i].name);
        value_free(&r->keys[i].value);
    }
    r->key_count = 0;
}

int recorded_specs_open(struct db *db, struct row_space *rows, struct recorded_specs **out, struct error *e)
{
    struct recorded_specs *r = xcalloc(1, sizeof *r);
    r->rows = rows;
    r->db = db;
    if (db_prepare(db, "SELECT json FROM spec WHERE id = ?", &r->json, e) < 0) {
        recorded_specs_close(r);
        return -1;
    }
    *out = r;
    return 0;
}

void recorded_specs_close(struct recorded_specs *r)
{
    if (!r)
        return;
    stmt_free(r->json);
    clear_keys(r);
    free_all(r->number, r->keys, r);
}

/* The value of a key in the job's spec. */
static struct value scaled_value(const struct recorded_specs *r, enum section_kind section, const struct row_key *key)
{
    struct value v = key->value;
    if (!r->scaling || !(r->ratio > 0))
        return v;
    if (scaling_is_key(r->scaling, section, key->name)) {
        value_free(&v);
        return (struct value){VALUE_INT, r->scaling->value, 0, NULL};
    }
    const struct scaled_follower *f = scaling_follower(r->scaling, section, key->name);
    if (f)
        scaling_follow(f, &v, r->ratio);
    return v;
}

/* Returns whether it is canonical JSON, all of whose keys are read. */
static bool take_apart(struct recorded_specs *r, const char *json)
{
    const char *at = json + (*json == '{');
    char *name;
    clear_keys(r);
    for (struct value value; value_next_member(&at, &name, &value);)
        *array_add(r->keys, r->key_count) = (struct row_key){.name = name, .value = value};
    return strcmp(at, "}") == 0;
}

static int read_keys(struct recorded_specs *r, int64_t id, struct error *e)
{
    OWNED char *canonical = NULL;
    clear_keys(r);
    stmt_bind_at(r->json, 1, sql_int(id));
    int rc = stmt_next(r->json, e);
    if (rc > 0 && !take_apart(r, stmt_text(r->json, 0))) {
        rc = db_query_text(r->db, "SELECT json(?1)", VALUES(sql_text(stmt_text(r->json, 0))), &canonical, e);
        if (rc == 0 && !take_apart(r, canonical))
            rc = error_set(e, ERROR_FAILED, "a spec is no table: %.80s", canonical);
    }
    stmt_reset(r->json);
    return rc < 0 ? -1 : 0;
}

static int read_spec(struct recorded_specs *r, enum section_kind section, int64_t id, struct error *e)
{
    if (read_keys(r, id, e) < 0)
        return -1;
    for (size_t i = 0; i < r->key_count; i++)
        r->keys[i].value = scaled_value(r, section, &r->keys[i]);
    r->number[id] = row_space_add(r->rows, section, r->keys, r->key_count) + 1;
    return 0;
}

int recorded_specs_find(struct recorded_specs *r, enum section_kind section, int64_t id, int64_t *out, struct error *e)
{
    *out = -1;
    if (id <= 0)
        return 0;
    if ((size_t)id >= r->room) {
        size_t room = 2 * (size_t)id + 64;
        r->number = xreallocarray(r->number, room, sizeof *r->number);
        memset(r->number + r->room, 0, (room - r->room) * sizeof *r->number);
        r->room = room;
    }
    if ((r->number[id] == 0 || r->scaling) && read_spec(r, section, id, e) < 0)
        return -1;
    *out = r->number[id] - 1;
    return 0;
}

/* --- the space of an import --- */

struct job_specs_list {
    int64_t *numbers; /* SECTION_COUNT of each */
    size_t count;
};

/* Finds the factor by which the job must be multiplied whose spec of the scaled key's section is `id`; 0: it lacks the
 * key. */
static int find_ratio(struct recorded_specs *r, int64_t id, struct error *e)
{
    r->ratio = 0;
    if (read_keys(r, id, e) < 0)
        return -1;
    for (size_t i = 0; i < r->key_count; i++)
        if (strcmp(r->keys[i].name, r->scaling->key.name) == 0)
            r->ratio = scaling_ratio(r->scaling, &r->keys[i].value);
    return 0;
}

static int read_jobs(struct db *db, struct row_space *rows, const struct scaling *scaling, struct job_specs_list *out,
                     struct error *e)
{
    struct recorded_specs *specs = NULL;
    struct stmt *s = NULL;
    int rc = recorded_specs_open(db, rows, &specs, e);
    if (rc == 0)
        specs->scaling = scaling;
    if (rc == 0)
        rc = db_prepare(db,
                        "SELECT cluster_id, model_id, training_id, parallel_id FROM job"
                        " WHERE sweep_id = (SELECT id FROM current_sweep) ORDER BY rank, id",
                        &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        out->numbers = array_grow(out->numbers, out->count, SECTION_COUNT * sizeof *out->numbers);
        int64_t *numbers = out->numbers + SECTION_COUNT * out->count++;
        rc = scaling ? find_ratio(specs, stmt_int(s, (int)scaling->key.section), e) : 0;
        for (int i = 0; rc == 0 && i < SECTION_COUNT; i++)
            rc = recorded_specs_find(specs, (enum section_kind)i, stmt_int(s, i), &numbers[i], e);
    }
    stmt_free(s);
    recorded_specs_close(specs);
    return rc;
}

static int has_key(struct stmt *s, const struct import_column *c, struct error *e)
{
    stmt_bind(s, VALUES(sql_text(section_names[c->section]), sql_text(c->name)));
    int rc = stmt_next(s, e);
    stmt_reset(s);
    return rc;
}

/* The keys that the table is to give and no spec has, so that expressions may name them: in a spec of each section that
 * no job has. `specs` NULL: there are none. */
static int add_named_keys(const struct sweep *s, struct stmt *specs, struct row_space *rows, struct error *e)
{
    const struct import_config *c = &s->import;
    OWNED struct row_key *keys = xcalloc(c->column_count + 1, sizeof *keys);
    int rc = 0;
    for (int kind = 0; rc >= 0 && kind < SECTION_COUNT; kind++) {
        size_t count = 0;
        for (size_t i = 0; rc >= 0 && i < c->column_count; i++) {
            const struct import_column *column = &c->columns[i];
            if (column->is_metric || column->section != (enum section_kind)kind)
                continue;
            rc = specs ? has_key(specs, column, e) : 0;
            if (rc == 0)
                keys[count++] = (struct row_key){column->name, {VALUE_INT, 1, 0, NULL}, column->at};
        }
        row_space_add(rows, (enum section_kind)kind, keys, count);
    }
    return rc < 0 ? -1 : 0;
}

static int add_all_keys(const struct sweep *s, struct db *db, struct row_space *rows, struct error *e)
{
    OWNED_STMT *specs = NULL;
    if (!db)
        return add_named_keys(s, NULL, rows, e);
    int rc = db_prepare(db, "SELECT 1 FROM spec, json_each(spec.json) AS k WHERE kind = ?1 AND k.key = ?2 LIMIT 1",
                        &specs, e);
    if (rc == 0)
        rc = add_named_keys(s, specs, rows, e);
    return rc;
}

int recorded_space_build(const struct sweep *s, struct db *db, const struct space_options *options,
                         struct row_space **rows, struct space **out, struct error *e)
{
    struct job_specs_list jobs = {NULL, 0};
    struct space_options single = *options;
    single.is_single = true; /* the jobs are looked at one by one: see row_space_limit */
    *rows = row_space_create(s);
    int rc = db ? read_jobs(db, *rows, options->scaling, &jobs, e) : 0;
    if (rc == 0)
        rc = add_all_keys(s, jobs.count ? db : NULL, *rows, e);
    if (rc == 0)
        rc = row_space_build(*rows, &single, out, e);
    if (rc == 0)
        row_space_limit(*rows, *out, jobs.numbers, jobs.count);
    free(jobs.numbers);
    return rc;
}

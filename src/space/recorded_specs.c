#include "space/recorded_specs.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/parse.h"

struct recorded_specs {
    struct row_space *rows;
    struct stmt *json, *members; /* of spec ?1; of the JSON ?1 */
    int64_t *number;             /* by id: in the row space, + 1; 0: not read */
    size_t room;
    const struct scaling *scaling; /* NULL: none */
    double ratio;                  /* of the job whose specs are read; 0: none */
};

int recorded_specs_open(struct db *db, struct row_space *rows, struct recorded_specs **out, struct error *e)
{
    struct recorded_specs *r = xcalloc(1, sizeof *r);
    r->rows = rows;
    if (db_prepare(db, "SELECT json FROM spec WHERE id = ?", &r->json, e) < 0 ||
        db_prepare(db, "SELECT key, type, value FROM json_each(?)", &r->members, e) < 0) {
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
    stmt_free(r->members);
    free_all(r->number, r);
}

static struct value value_of(const struct stmt *s)
{
    const char *type = stmt_text(s, 1);
    if (strcmp(type, "true") == 0 || strcmp(type, "false") == 0)
        return (struct value){VALUE_BOOL, type[0] == 't', 0, NULL};
    if (strcmp(type, "integer") == 0)
        return (struct value){VALUE_INT, stmt_int(s, 2), 0, NULL};
    if (strcmp(type, "real") == 0)
        return (struct value){VALUE_FLOAT, 0, stmt_double(s, 2), NULL};
    if (strcmp(type, "null") == 0)
        return (struct value){VALUE_NULL, 0, 0, NULL};
    return (struct value){strcmp(type, "text") == 0 ? VALUE_STRING : VALUE_JSON, 0, 0, xstrdup(stmt_text(s, 2))};
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

/* The keys of the spec that is read. */
struct spec_keys {
    struct row_key *items;
    size_t count;
};

static void add_key(struct spec_keys *keys, char *name, struct value value)
{
    *array_add(keys->items, keys->count) = (struct row_key){.name = name, .value = value};
}

static void clear_keys(struct spec_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++) {
        free((char *)keys->items[i].name);
        value_free(&keys->items[i].value);
    }
    keys->count = 0;
}

static struct value plain_value(const struct plain_member *m)
{
    if (m->is_string)
        return (struct value){VALUE_STRING, 0, 0, xstrndup(m->value, m->length)};
    if (m->value[0] == 'n')
        return (struct value){VALUE_NULL, 0, 0, NULL};
    if (m->value[0] == 't' || m->value[0] == 'f')
        return (struct value){VALUE_BOOL, m->value[0] == 't', 0, NULL};
    return (struct value){VALUE_INT, strtoll(m->value, NULL, 10), 0, NULL};
}

/* Specs are plain as a rule, and SQLite takes several times as long. */
static int take_apart(struct recorded_specs *r, const char *json, struct spec_keys *keys, struct error *e)
{
    struct plain_member m;
    const char *at = json;
    int rc;
    while ((rc = plain_json_next(&at, &m)) > 0)
        add_key(keys, xstrndup(m.name, m.name_length), plain_value(&m));
    if (rc == 0)
        return 0;
    clear_keys(keys);
    stmt_bind_text(r->members, 1, json);
    while ((rc = stmt_next(r->members, e)) > 0)
        add_key(keys, xstrdup(stmt_text(r->members, 0)), value_of(r->members));
    stmt_reset(r->members);
    return rc;
}

static int read_keys(struct recorded_specs *r, int64_t id, struct spec_keys *keys, struct error *e)
{
    stmt_bind_int(r->json, 1, id);
    int rc = stmt_next(r->json, e);
    if (rc > 0)
        rc = take_apart(r, stmt_text(r->json, 0), keys, e);
    stmt_reset(r->json);
    return rc;
}

static int read_spec(struct recorded_specs *r, enum section_kind section, int64_t id, struct error *e)
{
    struct spec_keys keys = {NULL, 0};
    int rc = read_keys(r, id, &keys, e);
    for (size_t i = 0; i < keys.count; i++)
        keys.items[i].value = scaled_value(r, section, &keys.items[i]);
    if (rc == 0)
        r->number[id] = row_space_add(r->rows, section, keys.items, keys.count) + 1;
    clear_keys(&keys);
    free(keys.items);
    return rc;
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
static int find_ratio(struct recorded_specs *r, int64_t id, double *out, struct error *e)
{
    struct spec_keys keys = {NULL, 0};
    int rc = read_keys(r, id, &keys, e);
    *out = 0;
    for (size_t i = 0; i < keys.count; i++)
        if (strcmp(keys.items[i].name, r->scaling->key.name) == 0)
            *out = scaling_ratio(r->scaling, &keys.items[i].value);
    clear_keys(&keys);
    free(keys.items);
    return rc;
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
        rc = scaling ? find_ratio(specs, stmt_int(s, (int)scaling->key.section), &specs->ratio, e) : 0;
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
    *rows = row_space_create(s);
    int rc = db ? read_jobs(db, *rows, options->scaling, &jobs, e) : 0;
    if (rc == 0)
        rc = add_all_keys(s, jobs.count ? db : NULL, *rows, e);
    if (rc == 0)
        rc = row_space_build(*rows, options, out, e);
    if (rc == 0)
        row_space_limit(*rows, *out, jobs.numbers, jobs.count);
    free(jobs.numbers);
    return rc;
}

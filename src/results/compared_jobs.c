#include "results/compared_jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/value.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/memory.h"

const struct compared_key *compared_key_named(const struct compared_section *s, const char *name)
{
    return FIND(k, s->key_count, strcmp(s->keys[k].name, name) == 0, &s->keys[k]);
}

/* --- identities --- */

/* Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014: the finalizer of SplitMix64. */
static uint64_t mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

struct compared_identity compared_identity_of(uint64_t place, uint64_t number)
{
    uint64_t low = mixed(mixed(place) + number);
    return (struct compared_identity){low, mixed(low ^ mixed(number) ^ place)};
}

void compared_identity_add(struct compared_identity *to, struct compared_identity part)
{
    to->low += part.low;
    to->high += part.high;
}

int compared_identity_order(const struct compared_identity *a, const struct compared_identity *b)
{
    if (a->high != b->high)
        return a->high < b->high ? -1 : 1;
    return (a->low > b->low) - (a->low < b->low);
}

struct compared_identity compared_spec_identity(const struct compared_jobs *jobs, enum section_kind kind, size_t spec,
                                                const bool *removed)
{
    const struct compared_section *s = &jobs->sections[kind];
    struct compared_identity sum = {0, 0};
    for (size_t k = 0; k < s->key_count; k++)
        if (!removed[k] && s->keys[k].values[spec])
            compared_identity_add(&sum, compared_identity_of((uint64_t)kind << 56 | k << 8 | s->keys[k].quoted[spec],
                                                             s->keys[k].values[spec]));
    return sum;
}

/* --- specs --- */

/* Specs have their keys in the same order, so the next key is usually the one after the last. */
static struct compared_key *find_key(struct compared_section *s, const char *name, size_t length, size_t *last)
{
    for (size_t i = 0; i < s->key_count; i++) {
        *last = *last + 1 < s->key_count ? *last + 1 : 0;
        if (strncmp(s->keys[*last].name, name, length) == 0 && !s->keys[*last].name[length])
            return &s->keys[*last];
    }
    s->keys = array_grow(s->keys, s->key_count, sizeof *s->keys);
    *last = s->key_count;
    struct compared_key *k = &s->keys[s->key_count++];
    *k = (struct compared_key){.name = xstrndup(name, length),
                               .values = xcalloc(s->spec_count + 1, sizeof *k->values),
                               .quoted = xcalloc(s->spec_count + 1, sizeof *k->quoted)};
    k->is_label = strcmp(k->name, "name") == 0 || strcmp(k->name, "description") == 0;
    return k;
}

/* A section while its specs are read. */
struct spec_reading {
    struct compared_section *section;
    struct texts *texts;
    size_t spec, key; /* the one that is read; the last one found */
};

static void put_value(struct spec_reading *r, struct compared_key *key, const char *text, bool quoted)
{
    key->quoted[r->spec] = quoted;
    if (key->last >= r->texts->count || strcmp(r->texts->items[key->last], text) != 0)
        key->last = texts_number(r->texts, text);
    key->values[r->spec] = key->last + 1;
}

/* Returns whether it is canonical JSON, of which all is read. */
static bool read_members(struct spec_reading *r, const char *json)
{
    const char *at = json + (*json == '{');
    char *name;
    for (struct value value; value_next_member(&at, &name, &value); value_free(&value)) {
        OWNED_BUFFER text = BUFFER_INIT;
        value_add_text(&value, &text);
        if (value.kind == VALUE_NULL)
            buffer_add_text(&text, "null");
        put_value(r, find_key(r->section, name, strlen(name), &r->key), buffer_text(&text), value.kind == VALUE_STRING);
        free(name);
    }
    return strcmp(at, "}") == 0;
}

static int read_spec(struct db *db, struct spec_reading *r, const char *json, struct error *e)
{
    OWNED char *canonical = NULL;
    if (read_members(r, json))
        return 0;
    if (db_query_text(db, "SELECT json(?1)", VALUES(sql_text(json)), &canonical, e) < 0)
        return -1;
    return read_members(r, canonical) ? 0 : error_set(e, ERROR_FAILED, "a spec is no table: %.80s", canonical);
}

static int read_specs(struct db *db, enum section_kind kind, struct compared_jobs *out, struct error *e)
{
    struct compared_section *section = &out->sections[kind];
    struct spec_reading r = {.section = section, .texts = &out->texts};
    OWNED_STMT *s = NULL;
    if (section->spec_count == 0)
        return 0;
    int rc = 0;
    while (rc >= 0 && (rc = db_next(db, "SELECT id, json FROM spec WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
                                    VALUES(sql_int(section->ids[0]), sql_int(section->ids[section->spec_count - 1])),
                                    &s, e)) > 0) {
        while (section->ids[r.spec] < stmt_int(s, 0))
            r.spec++;
        if (section->ids[r.spec] == stmt_int(s, 0))
            rc = read_spec(db, &r, stmt_text(s, 1), e);
    }
    return rc;
}

/* A text that something else is written like, as "1" is like 1, gets the text that it has in JSON. */
static void tell_apart(struct compared_jobs *all)
{
    const size_t count = all->texts.count + 1;
    OWNED const void **plain = xcalloc(count, sizeof *plain); /* the key that last had the value, and no text */
    for (enum section_kind kind = 0; kind < SECTION_COUNT; kind++)
        for (size_t k = 0; k < all->sections[kind].key_count; k++) {
            const struct compared_key *key = &all->sections[kind].keys[k];
            for (size_t i = 0; i < all->sections[kind].spec_count; i++)
                if (!key->quoted[i])
                    plain[key->values[i]] = key;
            for (size_t i = 0; i < all->sections[kind].spec_count; i++) {
                OWNED_BUFFER text = BUFFER_INIT;
                if (!key->quoted[i] || plain[key->values[i]] != key)
                    continue;
                const char *bare = all->texts.items[key->values[i] - 1];
                buffer_add_json_string(&text, bare, strlen(bare));
                key->values[i] = texts_number(&all->texts, buffer_text(&text)) + 1;
            }
        }
}

static void count_values(struct compared_jobs *all)
{
    OWNED const void **seen = xcalloc(all->texts.count + 1, sizeof *seen); /* the key that last had the value */
    for (enum section_kind kind = 0; kind < SECTION_COUNT; kind++)
        for (size_t k = 0; k < all->sections[kind].key_count; k++) {
            struct compared_key *key = &all->sections[kind].keys[k];
            for (size_t i = 0; i < all->sections[kind].spec_count; i++) {
                key->distinct += key->values[i] && seen[key->values[i]] != key->values;
                seen[key->values[i]] = key->values;
            }
        }
}

static int by_identity(const void *a, const void *b)
{
    return compared_identity_order(a, b);
}

/* A name that alone tells two specs of a section apart is no label (join/specs.h). */
static void mark_twins(struct compared_jobs *all, enum section_kind kind)
{
    const struct compared_section *s = &all->sections[kind];
    OWNED bool *labels = xcalloc(s->key_count + 1, sizeof *labels);
    OWNED struct compared_identity *specs = xcalloc(s->spec_count + 1, sizeof *specs);
    bool twins = false;
    for (size_t k = 0; k < s->key_count; k++)
        labels[k] = s->keys[k].is_label;
    for (size_t i = 0; i < s->spec_count; i++)
        specs[i] = compared_spec_identity(all, kind, i, labels);
    array_sort(specs, s->spec_count, by_identity);
    for (size_t i = 1; i < s->spec_count; i++)
        twins |= by_identity(&specs[i - 1], &specs[i]) == 0;
    for (size_t k = 0; k < s->key_count; k++)
        s->keys[k].is_label &= !twins || strcmp(s->keys[k].name, "name") != 0;
}

static int mark_replicates(struct db *db, struct compared_jobs *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, "SELECT r.value FROM meta AS m, json_each(m.value) AS r WHERE m.name = 'replicate'",
                         NO_VALUES, &s, e)) > 0) {
        const char *name;
        const enum section_kind kind = section_split(stmt_text(s, 0), &name);
        for (size_t k = 0; kind < SECTION_COUNT && k < out->sections[kind].key_count; k++)
            out->sections[kind].keys[k].is_replicate |= strcmp(out->sections[kind].keys[k].name, name) == 0;
    }
    return rc;
}

int compared_jobs_read_labels(struct db *db, struct compared_jobs *jobs, enum section_kind kind, struct error *e)
{
    struct compared_section *section = &jobs->sections[kind];
    OWNED_STMT *s = NULL;
    int rc = 0;
    if (section->labels)
        return 0;
    if (db_prepare(db, "SELECT coalesce(name, json) FROM spec WHERE id = ?1", &s, e) < 0)
        return -1;
    section->labels = xcalloc(section->spec_count + 1, sizeof *section->labels);
    for (size_t i = 0; rc >= 0 && i < section->spec_count; i++) {
        stmt_reset(s);
        stmt_bind_at(s, 1, sql_int(section->ids[i]));
        rc = stmt_next(s, e);
        if (rc > 0)
            section->labels[i] = texts_number(&jobs->texts, stmt_text(s, 0)) + 1;
    }
    return rc < 0 ? -1 : 0;
}

/* --- jobs --- */

static enum compared_state state_of(const char *state)
{
    return strcmp(state, "ok") == 0 ? COMPARED_OK : strcmp(state, "failed") == 0 ? COMPARED_FAILED : COMPARED_OPEN;
}

/* Jobs while they are read: their specs get their indices, and their batches their numbers, when all are known. */
struct job_reading {
    struct compared_jobs *out;
    int64_t *specs[SECTION_COUNT]; /* by job; 0: none */
    struct texts batches;
};

static void add_job(struct job_reading *r, const struct stmt *s)
{
    const size_t count = r->out->count;
    const enum column_type type = stmt_type(s, 2);
    for (enum section_kind kind = 0; kind < SECTION_COUNT; kind++) {
        r->specs[kind] = array_grow(r->specs[kind], count, sizeof *r->specs[kind]);
        r->specs[kind][count] = stmt_int(s, 4 + (int)kind);
    }
    r->out->jobs = array_grow(r->out->jobs, count, sizeof *r->out->jobs);
    r->out->jobs[r->out->count++] =
        (struct compared_job){.id = stmt_int(s, 0),
                              .state = state_of(stmt_text(s, 1)),
                              .value = type == COLUMN_FLOAT || type == COLUMN_INT ? stmt_double(s, 2) : NAN,
                              .batch = texts_number(&r->batches, stmt_text(s, 3))};
}

static int read_jobs(struct db *db, const char *sql, struct sql_values values, struct job_reading *r, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, values, &s, e)) > 0)
        add_job(r, s);
    return rc;
}

BY_NUMBER(by_id, int64_t, [0])

/* The specs of a section, and their index in each job. Neighbours often have one, or one after the other. */
static void index_specs(struct job_reading *r, enum section_kind kind)
{
    struct compared_section *section = &r->out->sections[kind];
    const int64_t *of_job = r->specs[kind];
    size_t last = 0, count = 0;
    bool is_ascending = true;
    for (size_t i = 0; i < r->out->count; i++)
        if (of_job[i] && (section->spec_count == 0 || section->ids[section->spec_count - 1] != of_job[i])) {
            is_ascending &= section->spec_count == 0 || section->ids[section->spec_count - 1] < of_job[i];
            *array_add(section->ids, section->spec_count) = of_job[i];
        }
    if (!is_ascending)
        array_sort(section->ids, section->spec_count, by_id);
    for (size_t i = 0; i < section->spec_count; i++)
        if (i == 0 || section->ids[i] != section->ids[count - 1])
            section->ids[count++] = section->ids[i];
    section->spec_count = count;
    for (size_t i = 0; i < r->out->count; i++) {
        uint32_t *index = &r->out->jobs[i].specs[kind];
        last += last + 1 < count && section->ids[last + 1] == of_job[i];
        if (of_job[i] && section->ids[last] != of_job[i])
            last = (size_t)((int64_t *)bsearch(&of_job[i], section->ids, count, sizeof *section->ids, by_id) -
                            section->ids);
        *index = of_job[i] ? (uint32_t)last : COMPARED_NO_SPEC;
    }
}

/* Behind the values of the specs. */
static void number_batches(struct job_reading *r)
{
    OWNED uint32_t *numbers = xcalloc(r->batches.count + 1, sizeof *numbers);
    for (size_t i = 0; i < r->batches.count; i++)
        numbers[i] = texts_number(&r->out->texts, r->batches.items[i]);
    for (size_t i = 0; i < r->out->count; i++)
        r->out->jobs[i].batch = numbers[r->out->jobs[i].batch];
}

/* `told`: what is said of keys is known, too. */
static int read_all(struct db *db, const char *sql, struct sql_values values, bool told, struct compared_jobs *out,
                    struct error *e)
{
    struct compared_jobs all = {.texts = TEXTS_INIT};
    struct job_reading r = {.out = &all, .batches = TEXTS_INIT};
    int rc = read_jobs(db, sql, values, &r, e);
    for (enum section_kind kind = 0; kind < SECTION_COUNT; kind++) {
        if (rc == 0)
            index_specs(&r, kind);
        free(r.specs[kind]);
    }
    for (enum section_kind kind = 0; rc == 0 && kind < SECTION_COUNT; kind++)
        rc = read_specs(db, kind, &all, e);
    if (told) {
        tell_apart(&all);
        count_values(&all);
    }
    for (enum section_kind kind = 0; told && kind < SECTION_COUNT; kind++)
        mark_twins(&all, kind);
    number_batches(&r);
    texts_free(&r.batches);
    rc = rc == 0 && told ? mark_replicates(db, &all, e) : rc;
    if (rc < 0) {
        compared_jobs_free(&all);
        return -1;
    }
    *out = all;
    return 0;
}

int compared_jobs_read(struct db *db, const char *metric, struct compared_jobs *out, struct error *e)
{
    return read_all(db, embedded_text("src/results/paired_jobs.sql"), VALUES(sql_text(metric)), true, out, e);
}

int compared_jobs_read_ended(struct db *db, int64_t sweep_id, int64_t from_job, int64_t most, struct compared_jobs *out,
                             struct error *e)
{
    static const char sql[] =
        "SELECT id, state, NULL, '', cluster_id, model_id, training_id, parallel_id FROM (SELECT * FROM job"
        " WHERE sweep_id = ?1 AND id >= ?2 AND state IN ('ok', 'failed') ORDER BY id DESC LIMIT ?3) ORDER BY id";
    return read_all(db, sql, VALUES(sql_int(sweep_id), sql_int(from_job), sql_int(most)), false, out, e);
}

void compared_jobs_free(struct compared_jobs *jobs)
{
    for (enum section_kind kind = 0; kind < SECTION_COUNT; kind++) {
        struct compared_section *s = &jobs->sections[kind];
        for (size_t k = 0; k < s->key_count; k++)
            free_all(s->keys[k].name, s->keys[k].values, s->keys[k].quoted);
        free_all(s->keys, s->ids, s->labels);
    }
    free(jobs->jobs);
    texts_free(&jobs->texts);
    *jobs = (struct compared_jobs){.texts = TEXTS_INIT};
}

/* --- texts --- */

uint32_t texts_number(struct texts *t, const char *text)
{
    const struct hash128 hash = hash_bytes(text, strlen(text));
    bool is_new;
    const size_t number = hash_index_add(&t->numbers, &hash, &is_new);
    if (is_new)
        *array_add(t->items, t->count) = xstrdup(text);
    return (uint32_t)number;
}

void texts_free(struct texts *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->items[i]);
    free(t->items);
    hash_index_free(&t->numbers);
    *t = TEXTS_INIT;
}

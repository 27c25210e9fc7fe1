#include "compare/compared_jobs.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

const char *const compared_names[COMPARED_SECTIONS] = {[COMPARED_CLUSTER] = "cluster_spec",
                                                       [COMPARED_MODEL] = "model",
                                                       [COMPARED_TRAINING] = "training_spec",
                                                       [COMPARED_PARALLEL] = "parallel_spec"};

static const char *const columns[COMPARED_SECTIONS] = {[COMPARED_CLUSTER] = "cluster_id",
                                                       [COMPARED_MODEL] = "model_id",
                                                       [COMPARED_TRAINING] = "training_id",
                                                       [COMPARED_PARALLEL] = "parallel_id"};

#define CURRENT "(SELECT id FROM current_sweep)"

enum compared_kind compared_section_named(const char *name, size_t length)
{
    for (enum compared_kind kind = 0; kind < COMPARED_SECTIONS; kind++)
        if (strlen(compared_names[kind]) == length && strncmp(compared_names[kind], name, length) == 0)
            return kind;
    return COMPARED_SECTIONS;
}

const struct compared_key *compared_key_named(const struct compared_section *s, const char *name)
{
    for (size_t k = 0; k < s->key_count; k++)
        if (strcmp(s->keys[k].name, name) == 0)
            return &s->keys[k];
    return NULL;
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

struct compared_identity compared_spec_identity(const struct compared_jobs *jobs, enum compared_kind kind, size_t spec,
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

/* Its index in the section, or SIZE_MAX. */
static size_t find_spec(const struct compared_section *s, int64_t id)
{
    size_t from = 0, to = s->spec_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (s->ids[middle] < id)
            from = middle + 1;
        else
            to = middle;
    }
    return from < s->spec_count && s->ids[from] == id ? from : SIZE_MAX;
}

static int read_ids(struct db *db, enum compared_kind kind, struct compared_section *out, struct error *e)
{
    struct stmt *s = NULL;
    char *sql = xasprintf("SELECT DISTINCT %s FROM job WHERE sweep_id = " CURRENT " AND %s IS NOT NULL ORDER BY 1",
                          columns[kind], columns[kind]);
    int rc;
    while ((rc = db_next(db, sql, NO_VALUES, &s, e)) > 0)
        *array_add(out->ids, out->spec_count) = stmt_int(s, 0);
    free(sql);
    return rc;
}

/* Specs have their keys in the same order, so the next key is usually the one after the last. */
static struct compared_key *find_key(struct compared_section *s, const char *name, size_t *last)
{
    for (size_t i = 0; i < s->key_count; i++) {
        *last = *last + 1 < s->key_count ? *last + 1 : 0;
        if (strcmp(s->keys[*last].name, name) == 0)
            return &s->keys[*last];
    }
    s->keys = array_grow(s->keys, s->key_count, sizeof *s->keys);
    *last = s->key_count;
    struct compared_key *k = &s->keys[s->key_count++];
    *k = (struct compared_key){.name = xstrdup(name),
                               .is_label = strcmp(name, "name") == 0 || strcmp(name, "description") == 0,
                               .values = xcalloc(s->spec_count + 1, sizeof *k->values),
                               .quoted = xcalloc(s->spec_count + 1, sizeof *k->quoted)};
    return k;
}

static int read_keys(struct db *db, enum compared_kind kind, struct compared_jobs *out, struct error *e)
{
    struct compared_section *section = &out->sections[kind];
    struct stmt *s = NULL;
    size_t spec = 0, last = 0;
    int rc;
    char *sql = xasprintf("SELECT s.id, k.key, k.type, CASE k.type WHEN 'null' THEN 'null' WHEN 'true' THEN 'true'"
                          " WHEN 'false' THEN 'false' ELSE k.value END FROM spec AS s, json_each(s.json) AS k"
                          " WHERE s.id IN (SELECT %s FROM job WHERE sweep_id = " CURRENT ") ORDER BY s.id",
                          columns[kind]);
    while ((rc = db_next(db, sql, NO_VALUES, &s, e)) > 0) {
        while (spec + 1 < section->spec_count && section->ids[spec] < stmt_int(s, 0))
            spec++;
        struct compared_key *key = find_key(section, stmt_text(s, 1), &last);
        key->quoted[spec] = strcmp(stmt_text(s, 2), "text") == 0;
        key->values[spec] = texts_number(&out->texts, stmt_text(s, 3)) + 1;
    }
    free(sql);
    return rc;
}

static void count_values(struct compared_jobs *all)
{
    const void **seen = xcalloc(all->texts.count + 1, sizeof *seen); /* the key that last had the value */
    for (enum compared_kind kind = 0; kind < COMPARED_SECTIONS; kind++)
        for (size_t k = 0; k < all->sections[kind].key_count; k++) {
            struct compared_key *key = &all->sections[kind].keys[k];
            for (size_t i = 0; i < all->sections[kind].spec_count; i++) {
                key->distinct += key->values[i] && seen[key->values[i]] != key->values;
                seen[key->values[i]] = key->values;
            }
        }
    free(seen);
}

static int mark_replicates(struct db *db, struct compared_jobs *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, "SELECT r.value FROM meta AS m, json_each(m.value) AS r WHERE m.name = 'replicate'",
                         NO_VALUES, &s, e)) > 0) {
        const char *name = stmt_text(s, 0), *dot = strchr(name, '.');
        enum compared_kind kind = dot ? compared_section_named(name, (size_t)(dot - name)) : COMPARED_SECTIONS;
        for (size_t k = 0; kind < COMPARED_SECTIONS && k < out->sections[kind].key_count; k++)
            out->sections[kind].keys[k].is_replicate |= strcmp(out->sections[kind].keys[k].name, dot + 1) == 0;
    }
    return rc;
}

int compared_jobs_read_labels(struct db *db, struct compared_jobs *jobs, enum compared_kind kind, struct error *e)
{
    struct compared_section *section = &jobs->sections[kind];
    struct stmt *s = NULL;
    int rc = 0;
    if (section->labels)
        return 0;
    if (db_prepare(db, "SELECT coalesce(name, json) FROM spec WHERE id = ?1", &s, e) < 0)
        return -1;
    section->labels = xcalloc(section->spec_count + 1, sizeof *section->labels);
    for (size_t i = 0; rc >= 0 && i < section->spec_count; i++) {
        stmt_reset(s);
        stmt_bind_int(s, 1, section->ids[i]);
        rc = stmt_next(s, e);
        if (rc > 0)
            section->labels[i] = texts_number(&jobs->texts, stmt_text(s, 0)) + 1;
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

/* --- jobs --- */

static enum compared_state state_of(const char *state)
{
    return strcmp(state, "ok") == 0 ? COMPARED_OK : strcmp(state, "failed") == 0 ? COMPARED_FAILED : COMPARED_OPEN;
}

static void add_job(struct compared_jobs *out, const struct stmt *s)
{
    const enum column_type type = stmt_type(s, 2);
    out->jobs = array_grow(out->jobs, out->count, sizeof *out->jobs);
    struct compared_job *j = &out->jobs[out->count++];
    *j = (struct compared_job){.id = stmt_int(s, 0),
                               .state = state_of(stmt_text(s, 1)),
                               .has_value = type == COLUMN_FLOAT || type == COLUMN_INT,
                               .value = stmt_double(s, 2),
                               .batch = texts_number(&out->texts, stmt_text(s, 3))};
    for (enum compared_kind kind = 0; kind < COMPARED_SECTIONS; kind++)
        j->specs[kind] =
            stmt_is_null(s, 4 + (int)kind) ? SIZE_MAX : find_spec(&out->sections[kind], stmt_int(s, 4 + (int)kind));
}

static int read_jobs(struct db *db, const char *metric, struct compared_jobs *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db,
                         "SELECT j.id, j.state, m.value, coalesce(json_extract(j.derived, '$.global_batch'),"
                         " json_extract(j.derived, '$.train_batch_size'), ''),"
                         " j.cluster_id, j.model_id, j.training_id, j.parallel_id FROM job AS j"
                         " LEFT JOIN job_metric AS m ON m.job_id = j.id AND m.name = ?1"
                         " WHERE j.sweep_id = " CURRENT " ORDER BY j.id",
                         VALUES(sql_text(metric)), &s, e)) > 0)
        add_job(out, s);
    return rc;
}

int compared_jobs_read(struct db *db, const char *metric, struct compared_jobs *out, struct error *e)
{
    struct compared_jobs all = {.texts = TEXTS_INIT};
    int rc = 0;
    for (enum compared_kind kind = 0; rc == 0 && kind < COMPARED_SECTIONS; kind++) {
        rc = read_ids(db, kind, &all.sections[kind], e);
        rc = rc == 0 ? read_keys(db, kind, &all, e) : rc;
    }
    count_values(&all);
    rc = rc == 0 ? mark_replicates(db, &all, e) : rc;
    rc = rc == 0 ? read_jobs(db, metric, &all, e) : rc;
    if (rc < 0) {
        compared_jobs_free(&all);
        return -1;
    }
    *out = all;
    return 0;
}

void compared_jobs_free(struct compared_jobs *jobs)
{
    for (enum compared_kind kind = 0; kind < COMPARED_SECTIONS; kind++) {
        struct compared_section *s = &jobs->sections[kind];
        for (size_t k = 0; k < s->key_count; k++)
            free_all(s->keys[k].name, s->keys[k].values, s->keys[k].quoted);
        free_all(s->keys, s->ids, s->labels);
    }
    free(jobs->jobs);
    texts_free(&jobs->texts);
    *jobs = (struct compared_jobs){.texts = TEXTS_INIT};
}

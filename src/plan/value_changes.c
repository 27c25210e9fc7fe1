#include "plan/value_changes.h"

#include <stdlib.h>
#include <string.h>

#include "store/model_facts.h"
#include "util/memory.h"

/* Longer values (lists of layers) are cut: what is shown is to be read. */
#define VALUE_BYTES_MOST "60"

/* The members of a spec's JSON that are worth a word. */
#define MEMBERS(json) " json_each(" json ") AS k WHERE k.type <> 'null' AND k.key NOT IN ('name', 'description')"
#define MEMBER "k.key, iif(k.type IN ('true', 'false'), k.type, CAST(k.value AS TEXT))"

/* One side's specs: what each has that the other side lacks is asked once. */
struct section_values {
    char **lacking; /* per row of the section's table, or id in results.db; NULL: not asked yet */
    int64_t count;
    struct stmt *members; /* of spec ?1 */
    const struct hash_set *other;
};

struct value_changes {
    struct space *space;
    struct db *db;
    struct section_values file[SECTION_COUNT], recorded;
    struct hash_set in_file, in_database; /* of section, key and value */
    bool compared;                        /* false: too many specs */
    struct buffer scratch, why;
};

static bool is_label(const struct value_changes *c, enum section_kind section, const char *key)
{
    const struct names *n = &c->space->names;
    for (size_t i = 0; i < n->key_count; i++)
        if (n->keys[i].section == section && strcmp(n->keys[i].name, key) == 0)
            return n->keys[i].is_label;
    return false;
}

static struct hash128 member_hash(struct value_changes *c, int section, const struct stmt *row)
{
    buffer_clear(&c->scratch);
    buffer_printf(&c->scratch, "%d %s=%s", section, stmt_text(row, 0), stmt_text(row, 1));
    return hash_bytes(c->scratch.data, c->scratch.length);
}

/* --- both sides --- */

static int read_members(struct value_changes *c, struct db *db, const char *sql, int section, struct hash_set *set,
                        struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    if (db_query(db, sql, VALUES(sql_text(section_names[section])), &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0) {
        struct hash128 hash = member_hash(c, section, s);
        hash_set_add(set, &hash);
    }
    stmt_free(s);
    return rc;
}

static int read_spec(struct value_changes *c, int section, int64_t spec, struct error *e)
{
    struct stmt *members = c->file[section].members;
    int rc;
    stmt_bind_int(members, 1, spec);
    while ((rc = stmt_next(members, e)) > 0) {
        struct hash128 hash = member_hash(c, section, members);
        hash_set_add(&c->in_file, &hash);
    }
    stmt_reset(members);
    return rc;
}

/* Every value of every axis is in one of these specs. */
static int read_axes(struct value_changes *c, int section, struct error *e)
{
    size_t count;
    const struct spec_block *blocks = specs_blocks(c->space->specs[section], &count);
    for (size_t b = 0; b < count; b++) {
        if (read_spec(c, section, blocks[b].first, e) < 0)
            return -1;
        for (size_t a = 0; a < blocks[b].axis_count; a++)
            for (size_t v = 1; v < blocks[b].axes[a].axis->value_count; v++)
                if (read_spec(c, section, blocks[b].first + (int64_t)v * blocks[b].axes[a].stride, e) < 0)
                    return -1;
    }
    return 0;
}

static int read_section(struct value_changes *c, int section, struct error *e)
{
    struct section_values *file = &c->file[section];
    int rc = read_members(c, c->db, "SELECT DISTINCT " MEMBER " FROM spec AS s," MEMBERS("s.json") " AND s.kind = ?1",
                          section, &c->in_database, e);
    if (rc < 0 || !c->space->counts[section])
        return rc;
    char *one = xasprintf("SELECT " MEMBER " FROM \"%s\" AS s," MEMBERS("s.\"#json\"") " AND s.\"#id\" = ?1",
                          section_names[section]);
    rc = db_prepare(c->space->db, one, &file->members, e);
    free(one);
    file->other = &c->in_database;
    file->count = c->space->counts[section];
    file->lacking = xcalloc((size_t)file->count, sizeof *file->lacking);
    return rc < 0 ? rc : read_axes(c, section, e);
}

static int compare(struct value_changes *c, struct error *e)
{
    int64_t recorded, specs;
    if (db_query_int(c->db, "SELECT max(id) FROM spec", NO_VALUES, 0, &recorded, e) < 0)
        return -1;
    specs = recorded;
    for (int i = 0; i < SECTION_COUNT; i++)
        specs = c->space->counts[i] > specs ? c->space->counts[i] : specs;
    c->compared = specs <= COMPARED_SPECS_MOST;
    if (!c->compared)
        return 0;
    c->recorded.other = &c->in_file;
    c->recorded.count = recorded + 1;
    c->recorded.lacking = xcalloc((size_t)c->recorded.count, sizeof *c->recorded.lacking);
    for (int i = 0; i < SECTION_COUNT; i++)
        if (read_section(c, i, e) < 0)
            return -1;
    return db_prepare(c->db, "SELECT " MEMBER " FROM spec AS s," MEMBERS("s.json") " AND s.id = ?1",
                      &c->recorded.members, e);
}

int value_changes_open(struct space *space, struct db *db, struct value_changes **out, struct error *e)
{
    struct value_changes *c = xcalloc(1, sizeof *c);
    c->space = space;
    c->db = db;
    if (compare(c, e) < 0) {
        value_changes_close(c);
        return -1;
    }
    *out = c;
    return 0;
}

static void section_values_free(struct section_values *s)
{
    for (int64_t i = 0; s->lacking && i < s->count; i++)
        free(s->lacking[i]);
    free(s->lacking);
    stmt_free(s->members);
}

void value_changes_close(struct value_changes *c)
{
    if (!c)
        return;
    for (int i = 0; i < SECTION_COUNT; i++)
        section_values_free(&c->file[i]);
    section_values_free(&c->recorded);
    hash_set_free(&c->in_file);
    hash_set_free(&c->in_database);
    buffer_free(&c->scratch);
    buffer_free(&c->why);
    free(c);
}

/* --- one spec, then a combination --- */

/* "layers=8 heads=4": what spec `id` has and the other side lacks; "" for nothing. */
static int lacking(struct value_changes *c, struct section_values *side, int section, int64_t id, const char **out,
                   struct error *e)
{
    struct buffer words = BUFFER_INIT;
    int rc = 0;
    if (id < 0 || id >= side->count || side->lacking[id]) {
        *out = id < 0 || id >= side->count ? "" : side->lacking[id];
        return 0;
    }
    stmt_bind_int(side->members, 1, id);
    while ((rc = stmt_next(side->members, e)) > 0) {
        const char *key = stmt_text(side->members, 0);
        struct hash128 hash = member_hash(c, section, side->members);
        if (!hash_set_has(side->other, &hash) && !is_label(c, (enum section_kind)section, key))
            buffer_printf(&words, "%s%s=%." VALUE_BYTES_MOST "s", words.length ? " " : "", key,
                          stmt_text(side->members, 1));
    }
    stmt_reset(side->members);
    *out = side->lacking[id] = buffer_take(&words);
    return rc;
}

static void begin(struct value_changes *c)
{
    buffer_clear(&c->why);
}

static void add_lacking(struct value_changes *c, const char *words)
{
    if (words[0])
        buffer_printf(&c->why, "%s%s", c->why.length ? " " : "", words);
}

/* `some` follows the values, `none` stands where there are none. */
static const char *end(struct value_changes *c, const char *some, const char *none)
{
    buffer_add_text(&c->why, c->why.length ? some : c->compared ? none : "there are too many specs to say more");
    return buffer_text(&c->why);
}

int value_changes_why_new(struct value_changes *c, const struct match *match, const char **why, struct error *e)
{
    const char *words;
    begin(c);
    for (int i = 0; c->compared && i < SECTION_COUNT; i++) {
        if (match->spec[i] < 0)
            continue;
        if (lacking(c, &c->file[i], i, match->spec[i], &words, e) < 0)
            return -1;
        add_lacking(c, words);
    }
    *why = end(c, " not seen before", "known values in a new combination or with another command");
    return 0;
}

static int why_gone(struct value_changes *c, const struct stmt *job, const char **why, struct error *e)
{
    const char *words;
    begin(c);
    for (int i = 0; c->compared && i < SECTION_COUNT; i++) {
        if (stmt_is_null(job, i + 1))
            continue;
        if (lacking(c, &c->recorded, i, stmt_int(job, i + 1), &words, e) < 0)
            return -1;
        add_lacking(c, words);
    }
    *why = end(c, " is no longer in the file", "excluded by a rule now, or run with another command");
    return 0;
}

int value_changes_list_gone(struct value_changes *c, const struct hash_set *asked,
                            void (*each)(void *context, const char *why), void *context, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    if (db_prepare(c->db, "SELECT key, cluster_id, model_id, training_id, parallel_id FROM job WHERE " JOBS_ASKED_FOR,
                   &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0) {
        struct hash128 key;
        const char *why;
        memcpy(key.bytes, stmt_blob(s, 0), sizeof key.bytes);
        if (hash_set_has(asked, &key))
            continue;
        if ((rc = why_gone(c, s, &why, e)) < 0)
            break;
        each(context, why);
    }
    stmt_free(s);
    return rc;
}

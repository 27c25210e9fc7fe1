#include "space/migration.h"

#include <stdlib.h>
#include <string.h>

#include "store/model_info.h"
#include "util/memory.h"

/* Longer values (lists of layers) are cut: what is shown is to be read. */
#define VALUE_BYTES_MOST "60"

/* The members of a spec's JSON that are worth a word. */
#define MEMBERS(json) \
    " json_each(" json ") AS k WHERE k.type <> 'null' AND k.key NOT IN ('name', 'description')"
#define MEMBER "k.key, iif(k.type IN ('true', 'false'), k.type, CAST(k.value AS TEXT))"

/* One side's specs: what each has that the other side lacks is asked once. */
struct side {
    char **lacking; /* per row of the section's table, or id in results.db; NULL: not asked yet */
    int64_t count;
    struct stmt *members; /* of spec ?1 */
    const struct hash_set *other;
};

struct migration {
    struct space *space;
    struct db *db;
    struct side file[SECTION_COUNT], recorded;
    struct hash_set in_file, in_database; /* of section, key and value */
    bool compared;                        /* false: too many specs */
    struct buffer scratch, why;
};

static bool is_label(const struct migration *m, enum section_kind section, const char *key)
{
    const struct names *n = &m->space->names;
    for (size_t i = 0; i < n->key_count; i++)
        if (n->keys[i].section == section && strcmp(n->keys[i].name, key) == 0)
            return n->keys[i].is_label;
    return false;
}

static struct hash128 member_hash(struct migration *m, int section, const struct stmt *row)
{
    buffer_clear(&m->scratch);
    buffer_printf(&m->scratch, "%d %s=%s", section, stmt_text(row, 0), stmt_text(row, 1));
    return hash_bytes(m->scratch.data, m->scratch.length);
}

/* --- both sides --- */

static int read_members(struct migration *m, struct db *db, const char *sql, int section, struct hash_set *set,
                        struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    if (db_prepare(db, sql, &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, section_names[section]);
    while ((rc = stmt_next(s, e)) > 0) {
        struct hash128 hash = member_hash(m, section, s);
        hash_set_add(set, &hash);
    }
    stmt_free(s);
    return rc;
}

static int read_section(struct migration *m, int section, struct error *e)
{
    struct side *file = &m->file[section];
    int rc = read_members(m, m->db, "SELECT DISTINCT " MEMBER " FROM spec AS s," MEMBERS("s.json") " AND s.kind = ?1",
                          section, &m->in_database, e);
    if (rc < 0 || !m->space->counts[section])
        return rc;
    char *all = xasprintf("SELECT DISTINCT " MEMBER " FROM \"%s\" AS s," MEMBERS("s.\"#json\"") " AND ?1 IS NOT NULL",
                          section_names[section]);
    char *one = xasprintf("SELECT " MEMBER " FROM \"%s\" AS s," MEMBERS("s.\"#json\"") " AND s.\"#id\" = ?1",
                          section_names[section]);
    rc = read_members(m, m->space->db, all, section, &m->in_file, e);
    if (rc == 0)
        rc = db_prepare(m->space->db, one, &file->members, e);
    file->other = &m->in_database;
    file->count = m->space->counts[section];
    file->lacking = xcalloc((size_t)file->count, sizeof *file->lacking);
    free(one);
    free(all);
    return rc;
}

static int compare(struct migration *m, struct error *e)
{
    int64_t recorded, specs;
    if (db_query_int(m->db, "SELECT max(id) FROM spec", 0, &recorded, e) < 0)
        return -1;
    specs = recorded;
    for (int i = 0; i < SECTION_COUNT; i++)
        specs = m->space->counts[i] > specs ? m->space->counts[i] : specs;
    m->compared = specs <= MIGRATION_SPECS_MOST;
    if (!m->compared)
        return 0;
    m->recorded.other = &m->in_file;
    m->recorded.count = recorded + 1;
    m->recorded.lacking = xcalloc((size_t)m->recorded.count, sizeof *m->recorded.lacking);
    for (int i = 0; i < SECTION_COUNT; i++)
        if (read_section(m, i, e) < 0)
            return -1;
    return db_prepare(m->db, "SELECT " MEMBER " FROM spec AS s," MEMBERS("s.json") " AND s.id = ?1",
                      &m->recorded.members, e);
}

int migration_open(struct space *space, struct db *db, struct migration **out, struct error *e)
{
    struct migration *m = xcalloc(1, sizeof *m);
    m->space = space;
    m->db = db;
    if (compare(m, e) < 0) {
        migration_close(m);
        return -1;
    }
    *out = m;
    return 0;
}

static void side_free(struct side *s)
{
    for (int64_t i = 0; s->lacking && i < s->count; i++)
        free(s->lacking[i]);
    free(s->lacking);
    stmt_free(s->members);
}

void migration_close(struct migration *m)
{
    if (!m)
        return;
    for (int i = 0; i < SECTION_COUNT; i++)
        side_free(&m->file[i]);
    side_free(&m->recorded);
    hash_set_free(&m->in_file);
    hash_set_free(&m->in_database);
    buffer_free(&m->scratch);
    buffer_free(&m->why);
    free(m);
}

/* --- one spec, then a combination --- */

/* "layers=8 heads=4": what spec `id` has and the other side lacks; "" for nothing. */
static int lacking(struct migration *m, struct side *side, int section, int64_t id, const char **out,
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
        struct hash128 hash = member_hash(m, section, side->members);
        if (!hash_set_has(side->other, &hash) && !is_label(m, (enum section_kind)section, key))
            buffer_printf(&words, "%s%s=%." VALUE_BYTES_MOST "s", words.length ? " " : "", key,
                          stmt_text(side->members, 1));
    }
    stmt_reset(side->members);
    *out = side->lacking[id] = buffer_take(&words);
    return rc;
}

static void begin(struct migration *m)
{
    buffer_clear(&m->why);
}

static void add_lacking(struct migration *m, const char *words)
{
    if (words[0])
        buffer_printf(&m->why, "%s%s", m->why.length ? " " : "", words);
}

/* `some` follows the values, `none` stands where there are none. */
static const char *end(struct migration *m, const char *some, const char *none)
{
    buffer_add_text(&m->why, m->why.length ? some : m->compared ? none : "too many specs to say more");
    return buffer_text(&m->why);
}

int migration_why_new(struct migration *m, const struct match *match, const char **why, struct error *e)
{
    const char *words;
    begin(m);
    for (int i = 0; m->compared && i < SECTION_COUNT; i++) {
        if (match->spec[i] < 0)
            continue;
        if (lacking(m, &m->file[i], i, match->spec[i], &words, e) < 0)
            return -1;
        add_lacking(m, words);
    }
    *why = end(m, " not seen before", "known values in a new combination, or with another command");
    return 0;
}

static int why_gone(struct migration *m, const struct stmt *job, const char **why, struct error *e)
{
    const char *words;
    begin(m);
    for (int i = 0; m->compared && i < SECTION_COUNT; i++) {
        if (stmt_is_null(job, i + 1))
            continue;
        if (lacking(m, &m->recorded, i, stmt_int(job, i + 1), &words, e) < 0)
            return -1;
        add_lacking(m, words);
    }
    *why = end(m, " is no longer in the file", "excluded by a rule now, or run with another command");
    return 0;
}

int migration_list_gone(struct migration *m, const struct hash_set *asked, void (*each)(void *context, const char *why),
                        void *context, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    if (db_prepare(m->db, "SELECT key, cluster_id, model_id, training_id, parallel_id FROM job WHERE "
                   JOBS_ASKED_FOR, &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0) {
        struct hash128 key;
        const char *why;
        memcpy(key.bytes, stmt_blob(s, 0), sizeof key.bytes);
        if (hash_set_has(asked, &key))
            continue;
        if ((rc = why_gone(m, s, &why, e)) < 0)
            break;
        each(context, why);
    }
    stmt_free(s);
    return rc;
}

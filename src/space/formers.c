#include "space/formers.h"

#include <stdlib.h>
#include <string.h>

#include "config/template.h"
#include "space/enumerate.h"
#include "space/identity.h"
#include "space/match.h"
#include "util/embedded.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/shell.h"

/* --- the parts of keys, compared --- */

static const char *const names[] = {"command", "env", "cwd", "file", "ds_config", "derive", "inert", "note"};

void parts_add_difference(cJSON *list, const char *what, const char *was, const char *now)
{
    cJSON *d = cJSON_CreateObject();
    cJSON_AddStringToObject(d, "what", what);
    cJSON_AddItemToObject(d, "was", was ? cJSON_CreateString(was) : cJSON_CreateNull());
    cJSON_AddItemToObject(d, "now", now ? cJSON_CreateString(now) : cJSON_CreateNull());
    cJSON_AddItemToArray(list, d);
}

/* "command: python a.py -> python b.py" */
static void add_words(const cJSON *difference, struct buffer *out)
{
    const char *was = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(difference, "was"));
    const char *now = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(difference, "now"));
    buffer_printf(out, "%s: %s -> %s", cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(difference, "what")),
                  was ? was : "none", now ? now : "none");
}

/* --- texts under [was] --- */

static const struct was_key *find_was(const struct sweep *s, const char *placeholder)
{
    const char *key;
    section_split(placeholder, &key);
    return FIND(i, s->was_count, strcmp(s->was[i].kind == WAS_RENAMED ? s->was[i].text : s->was[i].name, key) == 0,
                &s->was[i]);
}

/* Returns whether it gives keys that [was] says were added or dropped, and no other. */
static bool gives_was(const struct sweep *s, const struct template *t)
{
    size_t given = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (!t->parts[i].is_placeholder)
            continue;
        const struct was_key *w = find_was(s, t->parts[i].text);
        if (!w || w->kind == WAS_RENAMED)
            return false;
        given++;
    }
    return given > 0;
}

static void add_renamed(const struct sweep *s, const struct template *t, struct buffer *out)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct was_key *w = t->parts[i].is_placeholder ? find_was(s, t->parts[i].text) : NULL;
        if (w && w->kind == WAS_RENAMED)
            buffer_printf(out, "{%s%s}", w->name, t->parts[i].is_raw ? "!r" : "");
        else
            template_add_part(&t->parts[i], out);
    }
}

/* A text as it was under [was], piece by piece; `last` is where the piece before begins. */
struct normal {
    const struct sweep *sweep;
    struct buffer text;
    size_t last;
    struct arena arena; /* of the pieces */
};

static void cut(struct normal *n, size_t length)
{
    n->text.length = length;
    if (n->text.data)
        n->text.data[length] = '\0';
}

/* An option whose value is the next piece goes with it. */
static void add_piece(struct normal *n, const char *piece, char before)
{
    const struct template t = template_parse(&n->arena, piece, true);
    const char *option = n->text.data && n->last < n->text.length ? n->text.data + n->last + 1 : "";
    if (gives_was(n->sweep, &t)) {
        if (option[0] == '-' && !strpbrk(option, "={"))
            cut(n, n->last);
    } else {
        n->last = n->text.length;
        buffer_add_char(&n->text, before);
        add_renamed(n->sweep, &t, &n->text);
    }
}

static void add_text(struct normal *n, const char *text)
{
    char *copy = xstrdup(text), *rest = copy, before = '\n';
    for (char *piece; (piece = strsep(&rest, " ")); before = ' ')
        add_piece(n, piece, before);
    free(copy);
}

static char *normal_text(const struct sweep *s, const cJSON *part)
{
    struct normal n = {.sweep = s};
    const cJSON *item;
    if (cJSON_IsString(part))
        add_text(&n, part->valuestring);
    cJSON_ArrayForEach(item, part)
    {
        /* A setting, or a word. */
        const struct template t = template_parse(&n.arena, item->valuestring, false);
        if (!item->string || !gives_was(s, &t)) {
            if (item->string)
                buffer_printf(&n.text, "\n%s=", item->string);
            add_text(&n, item->valuestring);
        }
    }
    arena_free(&n.arena);
    return buffer_take(&n.text);
}

/* --- texts that are shown --- */

/* Returns the text of a part; for settings only those that differ from the other side's. */
static char *shown(const cJSON *part, const cJSON *other)
{
    struct buffer out = BUFFER_INIT;
    const cJSON *item;
    if (cJSON_IsString(part))
        buffer_add_text(&out, part->valuestring);
    cJSON_ArrayForEach(item, part)
    {
        const char *there =
            item->string ? cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(other, item->string)) : NULL;
        if (there && strcmp(there, item->valuestring) == 0)
            continue;
        if (out.length)
            buffer_add_char(&out, ' ');
        if (item->string)
            buffer_printf(&out, "%s=", item->string);
        shell_add_word(&out, item->valuestring);
    }
    return out.length ? buffer_take(&out) : NULL;
}

/* [{"what": "command", "was": "…", "now": "…"}, …], as they are shown; the caller's. An option of the command or a
 * setting of the environment that gives a key of [was] alone is no difference, where the other side lacks it, and a
 * renamed key is one key. `was` NULL: not recorded. */
static cJSON *parts_compare(const struct sweep *s, const cJSON *was, const cJSON *now)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < LENGTH(names); i++) {
        const cJSON *w = cJSON_GetObjectItemCaseSensitive(was, names[i]);
        const cJSON *n = cJSON_GetObjectItemCaseSensitive(now, names[i]);
        OWNED char *then = normal_text(s, w), *there = normal_text(s, n);
        if (was && strcmp(then, there) != 0) {
            OWNED char *old = shown(w, n), *new = shown(n, w);
            parts_add_difference(list, names[i], old, new);
        }
    }
    if (!was) {
        OWNED char *new = shown(cJSON_GetObjectItemCaseSensitive(now, names[0]), NULL);
        parts_add_difference(list, names[0], "not recorded, or measured elsewhere", new);
    }
    return list;
}

/* --- formers --- */

/* So many combinations are compared only where somebody asked. */
#define HINT_COMBINATIONS_MOST 20000

struct finder {
    struct space *space;
    struct db *db;
    enum formers_kind kind;
    struct formers *out;
    cJSON *parts; /* of the space (space/identity.h) */
    char *labels; /* JSON: by section the keys that do not count */
    struct stmt *put_asked, *put_member;
    struct hash_index put[SECTION_COUNT];
    struct buffer json;
    int put_formers; /* how often */
};

/* --- the sweep file's jobs --- */

static char *labels_json(const struct space *space)
{
    OWNED_JSON *all = cJSON_CreateObject();
    for (int i = 0; i < SECTION_COUNT; i++) {
        cJSON *list = cJSON_AddArrayToObject(all, section_names[i]);
        const bool count = identity_counts_labels(space, (enum section_kind)i) ||
                           (space->counts[i] > 1 && specs_have_twins(space->specs[i]));
        for (size_t k = 0; !count && space->sweep->labels[k]; k++)
            cJSON_AddItemToArray(list, cJSON_CreateString(space->sweep->labels[k]));
    }
    return cJSON_PrintUnformatted(all);
}

static int put_spec(struct finder *f, int section, int64_t spec, struct error *e)
{
    const struct hash128 number = hash_bytes(&spec, sizeof spec);
    if (!hash_index_takes(&f->put[section], &number))
        return 0;
    buffer_clear(&f->json);
    specs_add_json(f->space->specs[section], spec, false, NULL, &f->json);
    return stmt_run_with(f->put_member,
                         VALUES(sql_text(section_names[section]), sql_int(spec), sql_text(buffer_text(&f->json)),
                                sql_text(f->labels)),
                         e);
}

static int put_match(struct finder *f, const struct match *m, struct error *e)
{
    for (int i = 0; i < SECTION_COUNT; i++)
        if (m->spec[i] >= 0 && put_spec(f, i, m->spec[i], e) < 0)
            return -1;
    return stmt_run_with(f->put_asked,
                         VALUES(sql_hash(&m->key), sql_int(m->spec[SECTION_CLUSTER]), sql_int(m->spec[SECTION_MODEL]),
                                sql_int(m->spec[SECTION_TRAINING]), sql_int(m->spec[SECTION_PARALLEL])),
                         e);
}

static int put_asked(struct finder *f, struct error *e)
{
    struct match_cursor *cursor = match_open(f->space, NULL);
    const struct match *m;
    int rc = db_prepare(f->db, "INSERT OR IGNORE INTO temp.asked VALUES (?, ?, ?, ?, ?, 0)", &f->put_asked, e);
    if (rc == 0)
        rc = db_prepare(f->db,
                        "INSERT OR IGNORE INTO temp.member SELECT 0, ?1, ?2, m.key, ?3 -> m.fullkey FROM json_each(?3) "
                        "AS m WHERE m.key NOT IN (SELECT value FROM json_each(?4, '$.' || ?1))",
                        &f->put_member, e);
    while (rc == 0 && (rc = match_next(cursor, &m, e)) > 0)
        rc = put_match(f, m, e);
    match_close(cursor);
    if (rc == 0)
        rc = db_exec(f->db,
                     "UPDATE temp.asked SET has_results = 1 WHERE EXISTS (SELECT 1 FROM job AS j JOIN attempt AS a"
                     " ON a.job_id = j.id WHERE j.key = asked.key)",
                     e);
    if (rc == 0)
        rc = db_query_bool(f->db, "SELECT NOT EXISTS (SELECT 1 FROM temp.asked WHERE has_results)", NO_VALUES,
                           &f->out->all_are_new, e);
    return rc;
}

/* --- the database's --- */

/* `sweeps`: a JSON list of their ids. */
static int put_formers(struct finder *f, const char *sweeps, struct error *e)
{
    if (db_exec(f->db, "DELETE FROM temp.former; DELETE FROM temp.member WHERE is_old", e) < 0 ||
        db_run(f->db,
               "INSERT INTO temp.former SELECT id, key, ifnull(cluster_id, 0), ifnull(model_id, 0), "
               "ifnull(training_id, 0),"
               " ifnull(parallel_id, 0) FROM job WHERE sweep_id IN (SELECT value FROM json_each(?1))"
               " AND state <> 'running' AND EXISTS (SELECT 1 FROM attempt WHERE job_id = job.id) AND key NOT IN "
               "(SELECT key FROM temp.asked)",
               VALUES(sql_text(sweeps)), e) < 0)
        return -1;
    return db_run(f->db,
                  "INSERT OR IGNORE INTO temp.member SELECT 1, s.kind, s.id, m.key, s.json -> m.fullkey FROM spec AS s,"
                  " json_each(s.json) AS m WHERE s.id IN (SELECT cluster_spec FROM temp.former UNION SELECT model"
                  " FROM temp.former UNION SELECT training_spec FROM temp.former UNION SELECT parallel_spec FROM "
                  "temp.former) AND m.key NOT IN (SELECT value FROM json_each(?1, '$.' || s.kind))",
                  VALUES(sql_text(f->labels)), e);
}

static int add_key(struct finder *f, const char *section, const char *key, const char *value, struct error *e)
{
    OWNED char *sql =
        xasprintf("INSERT OR IGNORE INTO temp.member SELECT DISTINCT 1, ?1, %s, ?2, ?3 FROM temp.former", section);
    return db_run(f->db, sql, VALUES(sql_text(section), sql_text(key), sql_text(value)), e);
}

static int drop_key(struct finder *f, const char *section, const char *key, const char *value, struct error *e)
{
    return db_run(f->db,
                  "DELETE FROM temp.member WHERE is_old AND ifnull(section = ?1, true) AND key = ?2"
                  " AND ifnull(value = ?3, true)",
                  VALUES(sql_text(section), sql_text(key), sql_text(value)), e);
}

static int carry_out(struct finder *f, const struct was_key *w, struct error *e)
{
    const char *section = w->section < SECTION_COUNT ? section_names[w->section] : NULL;
    if (w->kind == WAS_ADDED)
        return add_key(f, section, w->name, w->text, e);
    if (w->kind == WAS_DROPPED)
        return drop_key(f, section, w->name, w->text, e);
    return db_run(f->db, "UPDATE OR IGNORE temp.member SET key = ?2 WHERE is_old AND section = ?1 AND key = ?3",
                  VALUES(sql_text(section), sql_text(w->name), sql_text(w->text)), e);
}

/* Adds why what was just carried out lets no result stand. */
static int add_unmet(struct finder *f, const struct was_key *w, struct error *e)
{
    const char *section = w->section < SECTION_COUNT ? section_names[w->section] : NULL;
    OWNED char *why = NULL;
    if (db_query_text(f->db, embedded_text("sql/formers/unmet.sql"),
                      VALUES(sql_text(section), sql_text(w->name), sql_text(w->text), sql_int(db_changes(f->db)),
                             sql_int(w->kind)),
                      &why, e) < 0)
        return -1;
    if (why)
        buffer_printf(&f->out->unmet, "%s%s", f->out->unmet.length ? "; " : "[was] lets no result stand: ", why);
    return 0;
}

/* A renamed key has its new name before it is asked whether it is there. */
static int carry_out_all(struct finder *f, struct error *e)
{
    const struct sweep *s = f->space->sweep;
    const bool is_last = f->put_formers++ == 0;
    int rc = 0;
    for (int first = 1; rc == 0 && first >= 0; first--)
        for (size_t i = 0; rc == 0 && i < s->was_count; i++)
            if ((s->was[i].kind == WAS_RENAMED) == first && (rc = carry_out(f, &s->was[i], e)) == 0 && is_last)
                rc = add_unmet(f, &s->was[i], e);
    return rc;
}

/* --- what is different in all of them --- */

/* A key that had one value and has another one is as if it had had that. One that had several is, too: then two may
 * stand for one, which is told. */
static int even_out(struct finder *f, cJSON *differences, bool *several, struct error *e)
{
    OWNED_STMT *s = NULL;
    *several = false;
    if (db_prepare(f->db, embedded_text("sql/formers/changed.sql"), &s, e) < 0)
        return -1;
    int rc;
    while ((rc = stmt_next(s, e)) > 0) {
        const char *section = stmt_text(s, 0), *key = stmt_text(s, 1), *now = stmt_text(s, 3);
        const bool had_several = stmt_int(s, 4) > 1;
        *several |= had_several;
        if (stmt_int(s, 5) > 1)
            continue;
        OWNED char *what = xasprintf("%s.%s", section, key);
        parts_add_difference(differences, what, had_several ? "several" : stmt_text(s, 2), now);
        if (drop_key(f, section, key, NULL, e) < 0 || (now && add_key(f, section, key, now, e) < 0)) {
            rc = -1;
            break;
        }
    }
    return rc;
}

/* --- pairs --- */

static int refuse_two(struct finder *f, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc =
        db_next(f->db,
                "SELECT min(job_id), max(job_id), lower(hex(now)) FROM temp.pair WHERE NOT has_results GROUP BY now"
                " HAVING count(*) > 1 ORDER BY 1 LIMIT 1",
                NO_VALUES, &s, e);
    if (rc > 0)
        rc = error_set(e, ERROR_USAGE,
                       "the results of job %lld and of job %lld would both stand for job %.16s of the sweep file; say "
                       "in [was] what tells them apart, or delete one",
                       (long long)stmt_int(s, 0), (long long)stmt_int(s, 1), stmt_text(s, 2));
    return rc;
}

static int read_pairs(struct finder *f, struct error *e)
{
    OWNED_STMT *s = NULL;
    struct formers *out = f->out;
    out->count = 0;
    if (db_exec(f->db, embedded_text("sql/formers/pairs.sql"), e) < 0 || refuse_two(f, e) < 0 ||
        db_query_int(f->db, "SELECT count(*) FROM temp.pair WHERE has_results", NO_VALUES, 0, &out->own, e) < 0 ||
        db_prepare(f->db, "SELECT job_id, was, min(now) FROM temp.pair WHERE NOT has_results GROUP BY job_id", &s, e) <
            0)
        return -1;
    int rc;
    while ((rc = stmt_next(s, e)) > 0) {
        struct job_move *m = array_add(out->items, out->count);
        m->job_id = stmt_int(s, 0);
        memcpy(m->was.bytes, stmt_hash(s, 1), sizeof m->was.bytes);
        memcpy(m->now.bytes, stmt_hash(s, 2), sizeof m->now.bytes);
    }
    return rc;
}

/* --- which sweeps --- */

static void take_differences(struct formers *out, cJSON *differences)
{
    cJSON_Delete(out->differences);
    out->differences = differences;
}

/* Returns what [was] says, as differences. */
static cJSON *was_differences(const struct sweep *s)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < s->was_count; i++) {
        const struct was_key *w = &s->was[i];
        OWNED char *what =
            w->section < SECTION_COUNT ? xasprintf("%s.%s", section_names[w->section], w->name) : xstrdup(w->name);
        parts_add_difference(list, what, w->kind == WAS_ADDED ? NULL : w->text,
                             w->kind == WAS_ADDED     ? w->text
                             : w->kind == WAS_RENAMED ? w->name
                                                      : NULL);
    }
    return list;
}

static int take_sweeps(struct finder *f, const char *sweeps, cJSON *differences, struct error *e)
{
    bool several = false;
    if (!f->put_asked && (db_allow_temporary(f->db, e) < 0 ||
                          db_exec(f->db, embedded_text("sql/formers/begin.sql"), e) < 0 || put_asked(f, e) < 0))
        return -1;
    if (put_formers(f, sweeps, e) < 0 || carry_out_all(f, e) < 0)
        return -1;
    if (f->kind == FORMERS_ANY && even_out(f, differences, &several, e) < 0)
        return -1;
    if (read_pairs(f, e) < 0)
        return -1;
    /* Pairs that were told apart by the key differ in more than one way. */
    if (several)
        f->out->count = 0;
    return 0;
}

/* The sweeps whose jobs are looked at, the last first: what has results of this one is the file's. */
static const char other_sweeps[] =
    "SELECT json_array(id, json(identity)) FROM sweep AS s WHERE role IS NULL AND hash <> ?1 AND EXISTS (SELECT 1 FROM "
    "job AS j JOIN attempt AS a ON a.job_id = j.id WHERE j.sweep_id = s.id) ORDER BY last_seen DESC, id DESC";

/* FORMERS_ANY takes the first that any are of, FORMERS_WAS those together in which nothing else differs. */
static int try_sweep(struct finder *f, const cJSON *sweep, struct buffer *alike, struct error *e)
{
    const cJSON *identity = cJSON_GetArrayItem(sweep, 1);
    cJSON *differences = parts_compare(f->space->sweep, cJSON_IsNull(identity) ? NULL : identity, f->parts);
    const int64_t id = (int64_t)cJSON_GetArrayItem(sweep, 0)->valuedouble;
    if (f->kind == FORMERS_WAS) {
        if (cJSON_GetArraySize(differences) == 0)
            buffer_printf(alike, "%c%lld", alike->length ? ',' : '[', (long long)id);
        cJSON_Delete(differences);
        return 0;
    }
    OWNED char *sweeps = xasprintf("[%lld]", (long long)id);
    int rc = take_sweeps(f, sweeps, differences, e);
    take_differences(f->out, differences);
    return rc;
}

static int try_sweeps(struct finder *f, struct error *e)
{
    OWNED_LIST sweeps = STRING_LIST_INIT;
    OWNED_BUFFER alike = BUFFER_INIT;
    const struct hash128 hash = space_identity(f->space).hash;
    int rc = db_query_texts(f->db, other_sweeps, VALUES(sql_hash(&hash)), &sweeps, e);
    if (rc == 0 && sweeps.count > 0) {
        f->parts = identity_parts(f->space);
        f->labels = labels_json(f->space);
    }
    for (size_t i = 0; rc == 0 && f->out->count == 0 && i < sweeps.count; i++) {
        OWNED_JSON *sweep = cJSON_Parse(sweeps.items[i]);
        rc = try_sweep(f, sweep, &alike, e);
    }
    if (rc == 0 && alike.length) {
        buffer_add_char(&alike, ']');
        rc = take_sweeps(f, buffer_text(&alike), NULL, e);
        take_differences(f->out, was_differences(f->space->sweep));
    }
    return rc;
}

int formers_find(struct space *space, struct db *db, enum formers_kind kind, struct formers *out, struct error *e)
{
    struct finder f = {.space = space, .db = db, .kind = kind, .out = out};
    struct error ignored = ERROR_INIT;
    *out = (struct formers){.all_are_new = true, .unmet = BUFFER_INIT};
    const bool may_be = !space->of_rows && (kind == FORMERS_ANY || space->sweep->was_count > 0);
    int rc = may_be ? try_sweeps(&f, e) : 0;
    stmt_free(f.put_asked);
    stmt_free(f.put_member);
    db_exec(db, embedded_text("sql/formers/end.sql"), &ignored);
    for (int i = 0; i < SECTION_COUNT; i++)
        hash_index_free(&f.put[i]);
    cJSON_Delete(f.parts);
    cJSON_free(f.labels);
    buffer_free(&f.json);
    return rc;
}

void formers_free(struct formers *f)
{
    free(f->items);
    buffer_free(&f->unmet);
    cJSON_Delete(f->differences);
    *f = (struct formers){0};
}

char *formers_detail(const struct formers *f)
{
    OWNED_JSON *detail = cJSON_CreateObject();
    cJSON_AddItemReferenceToObject(detail, "differences", f->differences);
    return cJSON_PrintUnformatted(detail);
}

int formers_hint(struct space *space, struct db *db, struct buffer *out, struct error *e)
{
    struct formers f = {0};
    struct error two = ERROR_INIT;
    if (space_combinations(space) > HINT_COMBINATIONS_MOST)
        return 0;
    int rc = formers_find(space, db, FORMERS_ANY, &f, &two);
    if (rc < 0 && two.kind != ERROR_USAGE)
        *e = two;
    else if (rc == 0 && f.all_are_new && f.count > 0 && cJSON_GetArraySize(f.differences) == 1) {
        add_words(cJSON_GetArrayItem(f.differences, 0), out);
        buffer_add_text(out, "; all jobs are new for that alone: `meshsweep accept` lets ");
        buffer_add_count(out, (int64_t)f.count, "result");
        buffer_add_text(out, " stand for them");
    } else if (rc == 0 && f.all_are_new) {
        buffer_add_text(out, buffer_text(&f.unmet));
    }
    formers_free(&f);
    return rc < 0 && two.kind != ERROR_USAGE ? -1 : 0;
}

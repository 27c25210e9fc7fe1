#include "results/views.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "database/open.h"
#include "database/schema.h"
#include "results/configurations.h"
#include "results/measured.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/fault.h"
#include "util/hash.h"
#include "util/memory.h"

/* --- keys of objects --- */

/* Most objects have the same keys, which are looked up only once. */

/* Behind the quotation mark that ends it, or where the text ends. */
static const char *skip_string(const char *text)
{
    for (text++; *text && *text != '"'; text++)
        if (*text == '\\' && text[1])
            text++;
    return *text ? text + 1 : text;
}

void key_sets_add_names(const char *json, struct buffer *out)
{
    int depth = 0;
    bool is_name = false;
    while (*json) {
        if (*json == '"') {
            const char *start = json;
            json = skip_string(json);
            if (is_name && depth == 1)
                buffer_add(out, start, (size_t)(json - start));
            is_name = false;
            continue;
        }
        depth += *json == '{' || *json == '[';
        depth -= *json == '}' || *json == ']';
        is_name = is_name || *json == '{' || *json == ',';
        json++;
    }
}

struct set_reader {
    struct stmt *objects, *keys;
    struct hash_index sets;     /* of section and names */
    struct hash_index keys_had; /* of section and key */
    struct buffer set, last;    /* the set of this object, and of the one before */
    cJSON *found;               /* [section, key] each */
};

static bool is_new(struct hash_index *seen, const char *section, const char *key, struct buffer *b)
{
    buffer_clear(b);
    buffer_add(b, section, strlen(section) + 1);
    buffer_add_text(b, key);
    const struct hash128 hash = hash_bytes(b->data, b->length);
    return hash_index_takes(seen, &hash);
}

/* SQLite parses, and says what is no JSON. */
static int parse(struct set_reader *r, const char *section, const char *json, struct error *e)
{
    OWNED_BUFFER scratch = BUFFER_INIT;
    int rc;
    stmt_bind_at(r->keys, 1, sql_text(json));
    while ((rc = stmt_next(r->keys, e)) > 0) {
        const char *key = stmt_text(r->keys, 0);
        if (is_new(&r->keys_had, section, key, &scratch))
            cJSON_AddItemToArray(r->found, cJSON_CreateStringArray((const char *const[]){section, key}, 2));
    }
    return rc;
}

static int read_object(struct set_reader *r, struct error *e)
{
    const char *section = stmt_text(r->objects, 0), *json = stmt_text(r->objects, 1);
    buffer_clear(&r->set);
    buffer_add(&r->set, section, strlen(section) + 1);
    key_sets_add_names(json, &r->set);
    if (r->set.length == r->last.length && memcmp(r->set.data, r->last.data, r->set.length) == 0)
        return 0;
    const struct buffer other = r->last;
    r->last = r->set;
    r->set = other;
    const struct hash128 hash = hash_bytes(r->last.data, r->last.length);
    return hash_index_takes(&r->sets, &hash) ? parse(r, section, json, e) : 0;
}

/* Reads a query with the columns section and JSON object: adds each key of each section once, in the order in which the
 * objects come and have them. Objects that differ in values alone cost reading them, not parsing them. */
static int key_sets_read(struct db *db, const char *sql, cJSON *found, struct error *e)
{
    struct set_reader r = {.found = found};
    int rc = db_prepare(db, sql, &r.objects, e) < 0 ? -1 : db_prepare(db, "SELECT key FROM json_each(?1)", &r.keys, e);
    while (rc == 0 && (rc = stmt_next(r.objects, e)) > 0)
        rc = read_object(&r, e);
    stmt_free(r.objects);
    stmt_free(r.keys);
    hash_index_free(&r.sets);
    hash_index_free(&r.keys_had);
    buffer_free(&r.set);
    buffer_free(&r.last);
    return rc;
}

/* --- putting them in place --- */

static int replace(struct db *db, const char *const *views, struct error *e)
{
    /* A savepoint works within a transaction and without one. */
    if (db_exec(db, "SAVEPOINT result_views", e) < 0)
        return -1;
    if (db_exec(db, "DROP VIEW IF EXISTS ranking; DROP VIEW IF EXISTS configurations; DROP VIEW IF EXISTS results",
                e) == 0 &&
        db_exec(db, views[0], e) == 0 && db_exec(db, views[1], e) == 0 && db_exec(db, views[2], e) == 0) {
        FAULT(VIEWS_REPLACED);
        if (schema_note_views(db, e) == 0 && db_exec(db, "RELEASE result_views", e) == 0)
            return 0;
    }
    error_context(e, "views results and ranking");
    db_exec(db, "ROLLBACK TO result_views; RELEASE result_views", NULL);
    return -1;
}

int (*const store_make_views)(struct db *db, struct error *e) = result_views_refresh;

/* Makes the statements of all views; `*s` has the first and the third. */
static int make_views(struct db *db, struct buffer *configurations, struct stmt **s, struct error *e)
{
    OWNED_JSON *keys = cJSON_CreateArray();
    bool any;
    if (key_sets_read(db, "SELECT kind, json FROM spec ORDER BY id", keys, e) < 0 ||
        db_query_bool(db,
                      "SELECT 1 FROM job WHERE coalesce(derived, predicted_memory, predicted_time) IS NOT NULL LIMIT 1",
                      NO_VALUES, &any, e) < 0 ||
        (any && key_sets_read(db, "SELECT 'derived', derived FROM job WHERE derived IS NOT NULL", keys, e) < 0) ||
        configurations_add(db, CONFIGURATIONS_VIEW, configurations, e) < 0)
        return -1;
    OWNED char *list = cJSON_PrintUnformatted(keys);
    const int rc = db_next(db, embedded_text("sql/result_views.sql"),
                           VALUES(sql_text(list), sql_int(any), sql_int(configurations->length > 0),
                                  sql_text(MEASURED_AS_ASKED("a"))),
                           s, e);
    return rc < 0 ? -1 : 0;
}

int result_views_refresh(struct db *db, struct error *e)
{
    OWNED_BUFFER configurations = BUFFER_INIT;
    OWNED_STMT *s = NULL;
    static const char *const names[] = {"results", "configurations", "ranking"};
    bool are_same = true;
    if (make_views(db, &configurations, &s, e) < 0)
        return -1;
    OWNED char *results = stmt_copy_text(s, 0), *ranking = stmt_copy_text(s, 1);
    const char *const views[] = {results, buffer_text(&configurations), ranking};
    stmt_reset(s);
    for (size_t i = 0; i < LENGTH(names); i++) {
        bool is_same = true;
        if (views[i][0] && db_query_bool(db, "SELECT 1 FROM sqlite_schema WHERE type = 'view' AND name = ? AND sql = ?",
                                         VALUES(sql_text(names[i]), sql_text(views[i])), &is_same, e) < 0)
            return -1;
        are_same &= is_same;
    }
    return are_same ? 0 : replace(db, views, e);
}

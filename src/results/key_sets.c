#include "results/key_sets.h"

#include <string.h>

#include "util/hash_set.h"

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
    struct hash_set sets;     /* of section and names */
    struct hash_set keys_had; /* of section and key */
    struct buffer set, last;  /* the set of this object, and of the one before */
    key_found found;
    void *context;
};

static bool is_new(struct hash_set *seen, const char *section, const char *key, struct buffer *b)
{
    buffer_clear(b);
    buffer_add(b, section, strlen(section) + 1);
    buffer_add_text(b, key);
    const struct hash128 hash = hash_bytes(b->data, b->length);
    return hash_set_add(seen, &hash);
}

/* SQLite parses, and says what is no JSON. */
static int parse(struct set_reader *r, const char *section, const char *json, struct error *e)
{
    OWNED_BUFFER scratch = BUFFER_INIT;
    int rc;
    stmt_bind_text(r->keys, 1, json);
    while ((rc = stmt_next(r->keys, e)) > 0) {
        const char *key = stmt_text(r->keys, 0);
        if (is_new(&r->keys_had, section, key, &scratch))
            r->found(r->context, section, key);
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
    return hash_set_add(&r->sets, &hash) ? parse(r, section, json, e) : 0;
}

int key_sets_read(struct db *db, const char *sql, key_found found, void *context, struct error *e)
{
    struct set_reader r = {.found = found, .context = context};
    int rc = db_prepare(db, sql, &r.objects, e) < 0 ? -1 : db_prepare(db, "SELECT key FROM json_each(?1)", &r.keys, e);
    while (rc == 0 && (rc = stmt_next(r.objects, e)) > 0)
        rc = read_object(&r, e);
    stmt_free(r.objects);
    stmt_free(r.keys);
    hash_set_free(&r.sets);
    hash_set_free(&r.keys_had);
    buffer_free(&r.set);
    buffer_free(&r.last);
    return rc;
}

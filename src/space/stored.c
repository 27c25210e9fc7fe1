#include "space/stored.h"

#include <string.h>

#include <cjson/cJSON.h>

#include "expression/expression.h"
#include "store/job_specs.h"

struct stored_job stored_of(const struct job_specs *row)
{
    struct stored_job job = {.json = {NULL}};
    memcpy(job.key.bytes, row->key, sizeof job.key.bytes);
    memcpy(job.json, row->json, sizeof job.json);
    memcpy(job.hash, row->hash, sizeof job.hash);
    return job;
}

static bool keys_are_known(const struct space *space, enum section_kind section, const char *json)
{
    cJSON *spec = cJSON_Parse(json);
    bool known = spec && space->counts[section];
    for (const cJSON *k = spec ? spec->child : NULL; k && known; k = k->next)
        known = names_find(&space->names, section, k->string) != NULL;
    cJSON_Delete(spec);
    return known;
}

bool stored_is_known(const struct space *space, const struct stored_job *job)
{
    for (int i = 0; i < SECTION_COUNT; i++)
        if (job->json[i] && !keys_are_known(space, (enum section_kind)i, job->json[i]))
            return false;
    return true;
}

/* json_extract() wants a path, in which a key's own quotes and backslashes have no place: such keys stay NULL. */
static void add_value(const struct key *key, const char *json, struct buffer *sql)
{
    if (strpbrk(key->name, "\"\\'"))
        buffer_add_text(sql, "NULL AS ");
    else
        buffer_printf(sql, "json_extract(%s, '$.\"%s\"') AS ", json, key->name);
    expression_add_name(sql, key->name);
}

void stored_add_from(const struct space *space, const char *const *json, struct buffer *sql)
{
    static const char *const parameters[SECTION_COUNT] = {"?1", "?2", "?3", "?4"};
    const char *word = "FROM";
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (!space->counts[i])
            continue;
        const char *of_spec = json ? json[i] : parameters[i];
        buffer_printf(sql, "%s (SELECT 0 AS \"#id\", ", word);
        if (json)
            buffer_add_text(sql, "NULL");
        else
            buffer_printf(sql, "?%d", SECTION_COUNT + i + 1);
        buffer_printf(sql, " AS \"#hash\", NULL AS \"#core\", %s AS \"#json\"", of_spec);
        for (size_t k = 0; k < space->names.key_count; k++)
            if ((int)space->names.keys[k].section == i) {
                buffer_add_text(sql, ", ");
                add_value(&space->names.keys[k], of_spec, sql);
            }
        buffer_printf(sql, ") AS \"%s\"", section_names[i]);
        word = " CROSS JOIN";
    }
}

void stored_bind(struct stmt *s, const struct space *space, const struct stored_job *job)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (!space->counts[i])
            continue;
        stmt_bind_text(s, i + 1, job->json[i]);
        stmt_bind_blob(s, SECTION_COUNT + i + 1, job->hash[i], sizeof(struct hash128));
    }
}

#include "space/identity.h"

#include <string.h>

#include "config/sweep.h"
#include "space/job_texts.h"
#include "util/memory.h"

static const unsigned char no_spec[16];

/* Every part ends with a NUL, so that ["ab", "c"] and ["a", "bc"] differ. */
void identity_add_given(const struct space *space, const struct value *values, struct buffer *out)
{
    job_texts_add(&space->command, values, NULL, out, NULL);
    buffer_add_char(out, '\0');
    job_texts_add(&space->environment, values, NULL, out, NULL);
    buffer_add_char(out, '\0');
    job_text_render(&space->directory, values, NULL, out);
    buffer_add_char(out, '\0');
    job_files_add_identity(space, values, out);
    for (size_t i = 0; i < space->fixture_count; i++)
        fixture_texts_add(&space->fixtures[i], values, out);
}

struct hash128 identity_job_key(const struct space *space, const void *const *hashes, const struct value *values,
                                const struct value *derived, struct buffer *scratch)
{
    buffer_clear(scratch);
    for (int i = 0; i < SECTION_COUNT; i++)
        buffer_add(scratch, hashes[i] ? hashes[i] : no_spec, sizeof no_spec);
    for (size_t i = 0; i < space->names.derived_count; i++) {
        if (!space->names.derived[i].reads_label)
            continue;
        buffer_add_text(scratch, space->names.derived[i].name);
        buffer_add_char(scratch, '=');
        value_add_json(&derived[i], scratch);
        buffer_add_char(scratch, '\0');
    }
    identity_add_given(space, values, scratch);
    if (space->has_base)
        buffer_add(scratch, space->base_hash.bytes, sizeof space->base_hash.bytes);
    return hash_bytes(scratch->data, scratch->length);
}

bool identity_counts_labels(const struct space *space, enum section_kind section)
{
    const struct names *n = &space->names;
    for (size_t i = 0; i < space->placeholder_count; i++) {
        const struct placeholder *p = &space->placeholders[i];
        if (!p->is_derived && n->keys[p->index].is_label && n->keys[p->index].section == section)
            return true;
    }
    return ANY(i, n->derived_count,
               n->derived[i].reads_label && expression_sections(n, &n->derived[i].expression) >> section & 1);
}

struct spec_row identity_spec_row(const struct space *space, enum section_kind section, const void *hash16,
                                  const char *json)
{
    struct spec_row row = {.json = json};
    memcpy(row.identity.bytes, hash16, sizeof row.identity.bytes);
    row.hash = identity_counts_labels(space, section) ? hash_bytes(json, strlen(json)) : row.identity;
    return row;
}

/* --- beside specs --- */

static void add_redacted(cJSON *object, const char *name, const char *text, const struct secrets *secrets)
{
    OWNED char *redacted = secrets_redact(secrets, text);
    cJSON_AddStringToObject(object, name, redacted);
}

static void add_command(const struct space *space, const struct secrets *secrets, cJSON *parts)
{
    char **words = job_texts_command(space), **redacted = secrets_redact_words(secrets, words);
    cJSON *list = cJSON_AddArrayToObject(parts, "command");
    for (size_t i = 0; redacted[i]; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(redacted[i]));
    strings_free(words);
    strings_free(redacted);
}

/* Derived keys that a text of the job uses, or that labels are told by. */
static bool is_of_identity(const struct space *space, const char *derived)
{
    for (size_t i = 0; i < space->placeholder_count; i++) {
        const struct placeholder *p = &space->placeholders[i];
        if (p->is_derived && strcmp(space->names.derived[p->index].name, derived) == 0)
            return true;
    }
    return ANY(i, space->names.derived_count,
               space->names.derived[i].reads_label && strcmp(space->names.derived[i].name, derived) == 0);
}

cJSON *identity_parts(const struct space *space)
{
    const struct sweep *sweep = space->sweep;
    struct secrets secrets = SECRETS_INIT;
    cJSON *parts = cJSON_CreateObject();
    char hex[HASH_HEX_BYTES], **words = job_texts_command(space);
    declared_secrets_add(&secrets, sweep);
    declared_secrets_add_command(&secrets, words);
    strings_free(words);
    add_command(space, &secrets, parts);
    cJSON *environment = cJSON_AddObjectToObject(parts, "env");
    for (size_t i = 0; i < sweep->job.environment_count; i++)
        add_redacted(environment, sweep->job.environment[i].name, sweep->job.environment[i].value, &secrets);
    if (sweep->job.directory)
        add_redacted(parts, "cwd", sweep->job.directory, &secrets);
    if (space->has_base)
        cJSON_AddStringToObject(parts, "ds_config", hash_hex(&space->base_hash, hex));
    job_files_add_parts(space, parts);
    cJSON *derived = cJSON_AddObjectToObject(parts, "derive"), *inert = cJSON_AddObjectToObject(parts, "inert");
    for (size_t i = 0; i < sweep->derived_count; i++)
        if (is_of_identity(space, sweep->derived[i].name))
            cJSON_AddStringToObject(derived, sweep->derived[i].name, sweep->derived[i].expression);
    for (size_t i = 0; i < sweep->inert_count; i++)
        cJSON_AddStringToObject(inert, sweep->inert[i].key, sweep->inert[i].condition);
    cJSON *notes = cJSON_AddArrayToObject(parts, "note");
    for (size_t i = 0; sweep->labels[i]; i++)
        cJSON_AddItemToArray(notes, cJSON_CreateString(sweep->labels[i]));
    secrets_free(&secrets);
    return parts;
}

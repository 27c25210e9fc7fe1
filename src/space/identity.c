#include "space/identity.h"

#include <string.h>

#include "space/job_texts.h"

static const unsigned char no_spec[16];

/* Every part ends with a NUL, so that ["ab", "c"] and ["a", "bc"] differ. */
static void add_text(const struct job_text *t, const struct value *values, struct buffer *out)
{
    job_text_render(t, values, NULL, out);
    buffer_add_char(out, '\0');
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
    for (size_t i = 0; i < space->command_count; i++)
        add_text(&space->command[i], values, scratch);
    buffer_add_char(scratch, '\0');
    for (size_t i = 0; i < space->sweep->job.environment_count; i++) {
        buffer_add_text(scratch, space->sweep->job.environment[i].name);
        buffer_add_char(scratch, '=');
        add_text(&space->environment[i], values, scratch);
    }
    buffer_add_char(scratch, '\0');
    add_text(&space->directory, values, scratch);
    if (space->has_base)
        buffer_add(scratch, space->base_hash.bytes, sizeof space->base_hash.bytes);
    return hash_bytes(scratch->data, scratch->length);
}

/* Whether specs of the section that differ in a label alone may make different jobs. */
static bool labels_count(const struct space *space, enum section_kind section)
{
    const struct names *n = &space->names;
    for (size_t i = 0; i < space->placeholder_count; i++) {
        const struct placeholder *p = &space->placeholders[i];
        if (!p->is_derived && n->keys[p->index].is_label && n->keys[p->index].section == section)
            return true;
    }
    for (size_t i = 0; i < n->derived_count; i++)
        if (n->derived[i].reads_label && (n->derived[i].sections & 1U << section))
            return true;
    return false;
}

struct spec_row identity_spec_row(const struct space *space, enum section_kind section, const void *hash16,
                                  const char *json)
{
    struct spec_row row = {.json = json};
    memcpy(row.identity.bytes, hash16, sizeof row.identity.bytes);
    row.hash = labels_count(space, section) ? hash_bytes(json, strlen(json)) : row.identity;
    return row;
}

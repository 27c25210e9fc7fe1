#include "config/sweep.h"

#include <string.h>

#include "sweep_file/schema.h"
#include "util/buffer.h"
#include "util/memory.h"

/* --- [slurm], [executor] --- */

const struct schema schema_slurm = {SCHEMA("[slurm]", KEYS_OF_SLURM)};

static void *read_word(const struct reading *r, const struct toml_node *node, const char *name)
{
    return schema_expect(r, node, name, TYPE_STRING | TYPE_NUMBER) ? constant_text(r, node) : NULL;
}

static const struct entries set_entries = {ENTRIES(sweep, batch_other.set, batch_other.set_count, struct setting),
                                           .value = read_word};

const struct schema schema_executor = {SCHEMA("[executor]", KEYS_OF_EXECUTOR)};

/* --- [ssh] --- */

const struct schema schema_ssh = {SCHEMA("[ssh]", KEYS_OF_SSH)};

/* --- [local] --- */

/* A device of a list; NULL after a complaint. Two jobs would be given one that is in `before`. */
static const char *device_text(const struct reading *r, const struct toml_node *name, const struct word_list *before)
{
    if (name->kind != NODE_INT && name->kind != NODE_STRING)
        problem_at_value(r, name, "devices: a device must be a number or a name such as \"GPU-…\"");
    else if (name->kind == NODE_INT ? name->integer < 0
                                    : name->text[strspn(name->text, " ")] == '\0' || strchr(name->text, ','))
        problem_at_value(r, name, "devices: a device must be a number from 0, or a name such as \"GPU-…\"");
    else if (word_list_has(before, literal_text(r, name)))
        problem_at_value(r, name, "devices: a device is listed twice");
    else
        return constant_text(r, name);
    return NULL;
}

static void read_devices(const struct reading *r, const struct toml_node *node)
{
    enum { DEVICES_MOST = 1024 };
    struct local_config *c = &r->sweep->local;
    struct word_list seen = {NULL, 0};
    if (node->kind == NODE_INT) {
        if (check_range(r, node, 0, DEVICES_MOST))
            c->devices = node->integer;
        return;
    }
    struct buffer names = BUFFER_INIT;
    for (size_t i = 0; i < node->child_count; i++) {
        const char *text = device_text(r, &node->children[i], &seen);
        words_add(r, &seen, literal_text(r, &node->children[i]), reading_at_value(r, node));
        if (text)
            buffer_printf(&names, "%s%s", i ? "," : "", text);
    }
    c->device_names = arena_keep(r->arena, buffer_take(&names));
    c->devices = (int64_t)node->child_count;
}

static void check_local(const struct reading *r, struct found *found)
{
    const struct toml_node *shared = found_key(found, "jobs_per_device");
    schema_take(r, found, r->sweep);
    if (shared && r->sweep->local.exclusive && r->sweep->local.jobs_per_device > 1)
        problem_at_key(r, shared, "jobs cannot share a device where exclusive = true runs one at a time");
}

const struct schema schema_local = {SCHEMA("[local]", KEYS_OF_LOCAL), check_local};

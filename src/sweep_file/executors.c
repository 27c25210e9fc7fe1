#include "config/sweep.h"

#include <string.h>

#include "sweep_file/schema.h"
#include "util/buffer.h"
#include "util/memory.h"

#define AT(member) offsetof(struct sweep, member)
#define LINE(key, member)                                                                                              \
    {                                                                                                                  \
        .name = (key), TYPE_STRING, DEFAULTS, FORM_LINE, AT(member)                                                    \
    }

/* --- [slurm], [executor] --- */

/* MaxArraySize is 1001 as delivered, and 4,000,001 at most (slurm.conf(5)). */
#define BATCH_KEYS(of)                                                                                                 \
    LINE("account", of.account), LINE("qos", of.qos), LINE("constraint", of.constraint),                               \
        LINE("reservation", of.reservation),                                                                           \
        {.name = "memory", TYPE_STRING, DEFAULTS, FORM_LINE, AT(of.memory), .where = AT(of.memory_at)},                \
        LINE("gpu_type", of.gpu_type),                                                                                 \
        {.name = "gpus", TYPE_BOOL, DEFAULTS, FORM_BOOL, AT(of.gpus), .otherwise = true},                              \
        {.name = "options", TYPE_STRINGS, DEFAULTS, FORM_LINES, AT(of.options)},                                       \
        {.name = "launcher", TYPE_STRINGS, DEFAULTS, FORM_LINES, AT(of.launcher)},                                     \
        {.name = "tasks_per_node", TYPE_INT, DEFAULTS, FORM_COUNT, AT(of.tasks_per_node), 1, 65536},                   \
        {.name = "cpus_per_task", TYPE_INT, DEFAULTS, FORM_COUNT, AT(of.cpus_per_task), 1, 65536},                     \
        {.name = "array_size", TYPE_INT, DEFAULTS, FORM_COUNT, AT(of.array_size), 1, 4000001, .otherwise = 200},       \
        {.name = "max_jobs", TYPE_INT, DEFAULTS, FORM_COUNT, AT(of.max_jobs), 1, 1000000, .otherwise = 500},           \
        {.name = "poll", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(of.poll_ms), 100, .otherwise = 10000},                 \
        {.name = "absence", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(of.absence_ms), .otherwise = 300000},               \
        {.name = "margin", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(of.margin_ms), .otherwise = 120000},                 \
        {.name = "heartbeat", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(of.heartbeat_ms), 1000, .otherwise = 30000},      \
    {                                                                                                                  \
        .name = "timeout_factor", TYPE_NUMBER, DEFAULTS, FORM_NUMBER, AT(of.timeout_factor), 1, 100, .otherwise = 1    \
    }

static const struct schema_key slurm_keys[] = {LINE("partition", batch.partition), BATCH_KEYS(batch)};
const struct schema schema_slurm = {"[slurm]", SCHEMA_KEYS(slurm_keys)};

static void *read_word(const struct reading *r, const struct toml_node *node, const char *name)
{
    return schema_expect(r, node, name, TYPE_STRING | TYPE_NUMBER) ? constant_text(r, node) : NULL;
}

static const struct entries set_entries = {ENTRIES(sweep, batch_other.set, batch_other.set_count, struct setting),
                                           .value = read_word};

static const struct schema_key executor_keys[] = {
    {.name = "name", TYPE_STRING, DEFAULTS, FORM_TEXT, AT(batch_other.name), .where = AT(batch_other.name_at)},
    LINE("queue", batch_other.partition),
    BATCH_KEYS(batch_other),
    {.name = "shared", TYPE_BOOL, DEFAULTS, FORM_BOOL, AT(batch_other.shared), .otherwise = true},
    {.name = "set", TYPE_TABLE, DEFAULTS, .entries = &set_entries},
};
const struct schema schema_executor = {"[executor]", SCHEMA_KEYS(executor_keys)};

/* --- [ssh] --- */

static const struct schema_key ssh_keys[] = {
    {.name = "hosts", TYPE_STRINGS, DEFAULTS, FORM_LINES, AT(ssh.hosts)},
    LINE("hostfile", ssh.hostfile),
    {.name = "options", TYPE_STRINGS, DEFAULTS, FORM_LINES, AT(ssh.options)},
    {.name = "lease", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(ssh.lease_ms), 2000, .otherwise = 60000},
};
const struct schema schema_ssh = {"[ssh]", SCHEMA_KEYS(ssh_keys)};

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

static const struct schema_key local_keys[] = {
    {.name = "devices",
     TYPE_INT | TYPE_LIST,
     DEFAULTS,
     .at = AT(local.devices),
     .read = read_devices,
     .most = 1024,
     .otherwise = -1},
    {.name = "several_hosts", TYPE_BOOL, DEFAULTS, FORM_BOOL, AT(local.several_hosts)},
    LINE("hostfile", local.hostfile),
    LINE("include", local.include),
    LINE("exclude", local.exclude),
    {.name = "jobs_per_device", TYPE_INT, DEFAULTS, FORM_COUNT, AT(local.jobs_per_device), 1, 64, .otherwise = 1},
    {.name = "exclusive", TYPE_BOOL, DEFAULTS, FORM_BOOL, AT(local.exclusive)},
    {.name = "bind_cpus", TYPE_BOOL, DEFAULTS, FORM_BOOL, AT(local.bind_cpus)},
    {.name = "wait_clean", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(local.clean_ms), .otherwise = 60000},
    {.name = "dirty_memory", TYPE_STRING, DEFAULTS, FORM_SIZE, AT(local.dirty_bytes), .otherwise = 1 << 30},
    {.name = "sample", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(local.sample_ms), .otherwise = 1000},
    {.name = "give_up", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(local.give_up_ms), .otherwise = 3600000},
    {.name = "repeat_throttled", TYPE_INT, DEFAULTS, FORM_COUNT, AT(local.repeat_throttled), 0, 1000},
};

static void check_local(const struct reading *r, struct found *found)
{
    const struct toml_node *shared = found_key(found, "jobs_per_device");
    schema_take(r, found, r->sweep);
    if (shared && r->sweep->local.exclusive && r->sweep->local.jobs_per_device > 1)
        problem_at_key(r, shared, "jobs cannot share a device where exclusive = true runs one at a time");
}

const struct schema schema_local = {"[local]", SCHEMA_KEYS(local_keys), check_local};

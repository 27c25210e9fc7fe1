#include "config/executors.h"

#include <stdlib.h>
#include <string.h>

#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "sweep_file/values.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* --- values --- */

/* `key`: what it is the value of, or one of the values. */
static void read_text_of(const struct reading *r, const struct toml_node *node, const char *key, char **member)
{
    if (!check_not_blank(r, node, key))
        return;
    /* It becomes an option of a script's line. */
    if (strpbrk(node->text, "\r\n")) {
        problem_at_value(r, node, "%s must not contain a line break", key);
        return;
    }
    text_replace(member, xstrdup(node->text));
}

static void read_text(const struct reading *r, const struct toml_node *node, char **member)
{
    read_text_of(r, node, node->key, member);
}

static void read_words(const struct reading *r, const struct toml_node *list, char ***member)
{
    char **words = xcalloc(list->child_count + 1, sizeof *words);
    for (size_t i = 0; i < list->child_count; i++)
        read_text_of(r, &list->children[i], list->key, &words[i]);
    for (size_t i = 0; i < list->child_count; i++)
        words[i] = words[i] ? words[i] : xstrdup("");
    strings_free(*member);
    *member = words;
}

static void read_duration_from(const struct reading *r, const struct toml_node *node, int64_t least_ms, int64_t *member)
{
    int64_t ms = *member;
    read_duration(r, node, &ms);
    if (ms < least_ms)
        problem_at_value(r, node, "%s must be at least %lld ms", node->key, (long long)least_ms);
    else
        *member = ms;
}

/* --- [slurm] --- */

static void read_slurm_texts(const struct reading *r, const struct toml_node *const *found, struct slurm_config *c)
{
    const struct {
        enum slurm_key key;
        char **member;
    } texts[] = {
        {SLURM_KEY_PARTITION, &c->partition},
        {SLURM_KEY_ACCOUNT, &c->account},
        {SLURM_KEY_QOS, &c->qos},
        {SLURM_KEY_CONSTRAINT, &c->constraint},
        {SLURM_KEY_RESERVATION, &c->reservation},
        {SLURM_KEY_MEMORY, &c->memory},
        {SLURM_KEY_GPU_TYPE, &c->gpu_type},
    };
    for (size_t i = 0; i < LENGTH(texts); i++)
        if (found[texts[i].key])
            read_text(r, found[texts[i].key], texts[i].member);
    if (found[SLURM_KEY_OPTIONS])
        read_words(r, found[SLURM_KEY_OPTIONS], &c->options);
    if (found[SLURM_KEY_LAUNCHER])
        read_words(r, found[SLURM_KEY_LAUNCHER], &c->launcher);
}

static void read_slurm_numbers(const struct reading *r, const struct toml_node *const *found, struct slurm_config *c)
{
    const struct {
        enum slurm_key key;
        int64_t *member, most;
    } counts[] = {
        {SLURM_KEY_TASKS_PER_NODE, &c->tasks_per_node, 65536},
        {SLURM_KEY_CPUS_PER_TASK, &c->cpus_per_task, 65536},
        /* MaxArraySize is 1001 as delivered, and 4,000,001 at most (slurm.conf(5)). */
        {SLURM_KEY_ARRAY_SIZE, &c->array_size, 4000001},
        {SLURM_KEY_MAX_JOBS, &c->max_jobs, 1000000},
    };
    const struct {
        enum slurm_key key;
        int64_t *member, least;
    } durations[] = {
        {SLURM_KEY_POLL, &c->poll_ms, 100},
        {SLURM_KEY_ABSENCE, &c->absence_ms, 0},
        {SLURM_KEY_MARGIN, &c->margin_ms, 0},
        {SLURM_KEY_HEARTBEAT, &c->heartbeat_ms, 1000},
    };
    for (size_t i = 0; i < LENGTH(counts); i++)
        if (found[counts[i].key] && check_range(r, found[counts[i].key], 1, counts[i].most))
            *counts[i].member = found[counts[i].key]->integer;
    for (size_t i = 0; i < LENGTH(durations); i++)
        if (found[durations[i].key])
            read_duration_from(r, found[durations[i].key], durations[i].least, durations[i].member);
}

void read_slurm(const struct reading *r, const struct toml_node *table)
{
    struct slurm_config *c = &r->sweep->slurm;
    const struct toml_node *found[SLURM_KEY_COUNT];
    schema_match(&schema_slurm, r, table, found);
    read_slurm_texts(r, found, c);
    read_slurm_numbers(r, found, c);
    const struct toml_node *factor = found[SLURM_KEY_TIMEOUT_FACTOR], *gpus = found[SLURM_KEY_GPUS];
    if (factor) {
        double value = number_of(factor);
        if (value >= 1 && value <= 100)
            c->timeout_factor = value;
        else
            problem_at_value(r, factor, "timeout_factor must be between 1 and 100");
    }
    if (gpus)
        c->no_gpus = gpus->integer == 0;
}

/* --- [local] --- */

/* Whether the list has the same number or name earlier: two jobs would be given one device. */
static bool is_repeated(const struct toml_node *list, size_t at)
{
    const struct toml_node *name = &list->children[at];
    for (size_t i = 0; i < at; i++)
        if (list->children[i].kind == name->kind &&
            (name->kind == NODE_STRING ? strcmp(list->children[i].text, name->text) == 0
                                       : list->children[i].integer == name->integer))
            return true;
    return false;
}

static bool check_device(const struct reading *r, const struct toml_node *list, size_t at)
{
    const struct toml_node *name = &list->children[at];
    if (name->kind != NODE_INT && name->kind != NODE_STRING)
        problem_at_value(r, name, "devices: a device must be a number or a name such as \"GPU-…\"");
    else if (name->kind == NODE_INT ? name->integer < 0
                                    : name->text[strspn(name->text, " ")] == '\0' || strchr(name->text, ','))
        problem_at_value(r, name, "devices: a device must be a number from 0, or a name such as \"GPU-…\"");
    else if (is_repeated(list, at))
        problem_at_value(r, name, "devices: a device is listed twice");
    else
        return true;
    return false;
}

static void read_devices(const struct reading *r, const struct toml_node *node, struct local_config *c)
{
    enum { DEVICES_MOST = 1024 };
    if (node->kind == NODE_INT) {
        if (check_range(r, node, 0, DEVICES_MOST))
            c->devices = node->integer;
        return;
    }
    struct buffer names = BUFFER_INIT;
    for (size_t i = 0; i < node->child_count; i++) {
        const struct toml_node *name = &node->children[i];
        if (!check_device(r, node, i))
            continue;
        buffer_add_text(&names, i ? "," : "");
        if (name->kind == NODE_STRING)
            buffer_add_text(&names, name->text);
        else
            buffer_printf(&names, "%lld", (long long)name->integer);
    }
    text_replace(&c->device_names, buffer_take(&names));
    c->devices = (int64_t)node->child_count;
}

void read_local(const struct reading *r, const struct toml_node *table)
{
    struct local_config *c = &r->sweep->local;
    const struct toml_node *found[LOCAL_COUNT];
    schema_match(&schema_local, r, table, found);
    if (found[LOCAL_DEVICES])
        read_devices(r, found[LOCAL_DEVICES], c);
    if (found[LOCAL_SEVERAL_HOSTS])
        c->several_hosts = found[LOCAL_SEVERAL_HOSTS]->integer != 0;
    if (found[LOCAL_HOSTFILE])
        read_text(r, found[LOCAL_HOSTFILE], &c->hostfile);
    if (found[LOCAL_HOSTFILE] && !c->several_hosts)
        problem_at_key(r, found[LOCAL_HOSTFILE],
                       "nothing is started on the hosts of a hostfile but by the command itself: if it does that "
                       "(mpirun, "
                       "ssh, deepspeed --hostfile), add several_hosts = true; else use --executor slurm");
    if (found[LOCAL_INCLUDE])
        read_text(r, found[LOCAL_INCLUDE], &c->include);
    if (found[LOCAL_EXCLUDE])
        read_text(r, found[LOCAL_EXCLUDE], &c->exclude);
    if (found[LOCAL_EXCLUSIVE])
        c->exclusive = found[LOCAL_EXCLUSIVE]->integer != 0;
    if (found[LOCAL_BIND_CPUS])
        c->bind_cpus = found[LOCAL_BIND_CPUS]->integer != 0;
    if (found[LOCAL_WAIT_CLEAN])
        read_duration(r, found[LOCAL_WAIT_CLEAN], &c->clean_ms);
    if (found[LOCAL_GIVE_UP])
        read_duration(r, found[LOCAL_GIVE_UP], &c->give_up_ms);
    const struct toml_node *repeat = found[LOCAL_REPEAT_THROTTLED];
    if (repeat && check_range(r, repeat, 0, 1000))
        c->repeat_throttled = repeat->integer;
    if (found[LOCAL_SAMPLE])
        read_duration(r, found[LOCAL_SAMPLE], &c->sample_ms);
    const struct toml_node *dirty = found[LOCAL_DIRTY_MEMORY];
    if (dirty && !parse_size_bytes(dirty->text, &c->dirty_bytes))
        problem_at_value(r, dirty, "dirty_memory: \"%s\" is not a size, such as \"1GiB\"", dirty->text);
}

void executors_set_defaults(struct sweep *s)
{
    s->slurm = (struct slurm_config){.array_size = 200,
                                     .max_jobs = 500,
                                     .poll_ms = 10000,
                                     .absence_ms = 300000,
                                     .margin_ms = 120000,
                                     .heartbeat_ms = 30000,
                                     .timeout_factor = 1};
    s->local = (struct local_config){.devices = -1,
                                     .clean_ms = 60000,
                                     .give_up_ms = 3600000,
                                     .dirty_bytes = INT64_C(1) << 30,
                                     .sample_ms = 1000};
}

void slurm_config_free(struct slurm_config *c)
{
    free(c->partition);
    free(c->account);
    free(c->qos);
    free(c->constraint);
    free(c->reservation);
    free(c->memory);
    free(c->gpu_type);
    strings_free(c->options);
    strings_free(c->launcher);
}

void local_config_free(struct local_config *c)
{
    free(c->device_names);
    free(c->hostfile);
    free(c->include);
    free(c->exclude);
}

#include "deepspeed/default_space.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/memory.h"
#include "util/parse.h"

#define STAGE(n) (1U << (n))
#define HOST_BYTES_PER_PARAMETER 16 /* DeepSpeed stage_1_and_2.py: estimate_zero2_model_states_mem_needs, CPU offload */

/* Requirements of an axis besides its release. */
enum need {
    NEED_NOTHING = 0,
    NEED_OPTIMIZER,     /* the ds_config has an optimizer with a CPU version in DeepSpeed, and does not set offload */
    NEED_PARAM_OFFLOAD, /* the same, and it does not set parameter offload */
    NEED_CHECKPOINTING, /* the section says that the script uses DeepSpeed's checkpointing */
    NEED_MODEL_PARALLEL_CHECKPOINTING,
    NEED_COMPILING, /* the section says that the script compiles */
    NEED_TRAINER,
    NEED_HOSTS,
    NEED_SEQUENCE, /* "auto" says that the script splits sequences */
};

/* In the order of trial: the later a key is written, the sooner it varies. NULL values: default_values. */
static const struct default_axis {
    const char *key, *values;
    unsigned stages;
    enum need need;
    const char *since; /* release; NULL: any */
} axes[] = {
    {"zero_optimization.offload_optimizer.device", NULL, STAGE(1) | STAGE(2) | STAGE(3), NEED_OPTIMIZER, NULL},
    {"zero_optimization.offload_param.device", NULL, STAGE(3), NEED_PARAM_OFFLOAD, NULL},
    {"gradient_checkpointing", "[false, true]", STAGE(0) | STAGE(1) | STAGE(2) | STAGE(3), NEED_TRAINER, NULL},
    {"activation_checkpointing.partition_activations", "[false, true]", STAGE(0) | STAGE(1) | STAGE(2) | STAGE(3),
     NEED_MODEL_PARALLEL_CHECKPOINTING, NULL},
    {"activation_checkpointing.cpu_checkpointing", "[false, true]", STAGE(0) | STAGE(1) | STAGE(2) | STAGE(3),
     NEED_CHECKPOINTING, NULL},
    {"torch_compile", "[false, true]", STAGE(0) | STAGE(1) | STAGE(2) | STAGE(3), NEED_TRAINER, "0.14.4"},
    {"compile.deepcompile", "[false, true]", STAGE(1) | STAGE(2) | STAGE(3), NEED_COMPILING, "0.16"},
    {"sequence_parallel_size", NULL, STAGE(0) | STAGE(1) | STAGE(2) | STAGE(3), NEED_SEQUENCE, "0.17"},
    {"zero_optimization.zero_hpz_partition_size", NULL, STAGE(3), NEED_HOSTS, "0.10"},
    {"zero_optimization.overlap_comm", "[false, true]", STAGE(1) | STAGE(2), NEED_NOTHING, NULL},
    {"zero_optimization.overlap_comm", "[true, false]", STAGE(3), NEED_NOTHING, NULL},
    {"zero_optimization.reduce_bucket_size", "[500000000, 50000000, 1000000000]", STAGE(1) | STAGE(2) | STAGE(3),
     NEED_NOTHING, NULL},
    {"zero_optimization.allgather_bucket_size", "[500000000, 50000000, 1000000000]", STAGE(1) | STAGE(2), NEED_NOTHING,
     NULL},
    {"zero_optimization.stage3_prefetch_bucket_size", "[50000000, 500000000]", STAGE(3), NEED_NOTHING, NULL},
};

static const struct json *given(const struct default_space *d, const char *path)
{
    const struct json *found = json_text_find(d->root, path);
    return found && !json_text_is_null(found) ? found : NULL;
}

static bool has_release(const struct default_space *d, const char *since)
{
    int64_t own, least;
    return !since || !d->version || !parse_release(d->version, true, &own) || !parse_release(since, false, &least) ||
           own >= least;
}

/* --- the script --- */

/* Whether the script's arguments have the flag, spelled with "-" or "_". */
static bool has_flag(const struct default_space *d, const char *key)
{
    for (char *const *word = d->program; *word; word++) {
        const char *w = *word;
        size_t i = 0;
        if (strncmp(w, "--", 2) != 0)
            continue;
        while (key[i] && (w[2 + i] == key[i] || (w[2 + i] == '-' && key[i] == '_')))
            i++;
        if (!key[i] && (!w[2 + i] || w[2 + i] == '='))
            return true;
    }
    return false;
}

/* DeepSpeed runs the optimizer step on the host only with its own optimizers. */
static bool has_cpu_optimizer(const struct default_space *d)
{
    static const char *const types[] = {"\"Adam\"", "\"AdamW\"", "\"adam\"", "\"adamw\"", "\"Adagrad\"", "\"adagrad\""};
    const struct json *type = given(d, "optimizer.type");
    for (size_t i = 0; type && type->kind == JSON_SCALAR && i < sizeof types / sizeof *types; i++)
        if (strcmp(type->text, types[i]) == 0)
            return true;
    return false;
}

/* --- the machine --- */

static const struct json *path_in(const struct default_space *d, const char *section)
{
    char *key = xasprintf("zero_optimization.%s.nvme_path", section);
    const struct json *path = given(d, key);
    free(key);
    return path && path->kind == JSON_SCALAR && path->text[0] == '"' ? path : NULL;
}

/* As JSON. NULL if the ds_config names no path, or this machine runs the jobs and has no such path. */
static const struct json *nvme_of(const struct default_space *d)
{
    const struct json *path =
        path_in(d, "offload_optimizer") ? path_in(d, "offload_optimizer") : path_in(d, "offload_param");
    char *plain = path ? json_text_string(path) : NULL;
    bool is_there = plain && (d->cluster->hostfile || access(plain, W_OK) == 0);
    free(plain);
    return is_there ? path : NULL;
}

/* The number if it is the same for every cluster; 0 if they differ. */
static long long the_number(const struct json *j, long long otherwise)
{
    long long n = otherwise;
    return !j ? otherwise : j->kind == JSON_LIST || !json_text_integer(j, &n) ? 0 : n;
}

static long long devices_per_host(const struct default_space *d)
{
    return the_number(d->knobs->num_gpus, d->cluster->devices);
}

/* --- axes --- */

static bool says_device(const struct default_space *d, const char *section)
{
    char *key = xasprintf("zero_optimization.%s", section), *device = xasprintf("%s.device", key);
    const struct json *whole = given(d, key);
    bool says = given(d, device) || (whole && whole->kind != JSON_OBJECT);
    free(key);
    free(device);
    return says;
}

static bool is_open(const struct default_space *d, const struct default_axis *a)
{
    switch (a->need) {
    case NEED_NOTHING:
        return !given(d, a->key);
    case NEED_OPTIMIZER:
        return has_cpu_optimizer(d) && !says_device(d, "offload_optimizer") &&
               !given(d, "zero_optimization.cpu_offload");
    case NEED_PARAM_OFFLOAD:
        return has_cpu_optimizer(d) && !says_device(d, "offload_param") &&
               !given(d, "zero_optimization.cpu_offload_param");
    case NEED_CHECKPOINTING:
        return given(d, "activation_checkpointing") && !given(d, a->key);
    case NEED_MODEL_PARALLEL_CHECKPOINTING:
        return given(d, "activation_checkpointing") && !given(d, a->key) && d->knobs->mp_size > 1;
    case NEED_COMPILING:
        return given(d, "compile") && !given(d, a->key);
    case NEED_TRAINER:
        return d->is_trainers && !has_flag(d, a->key);
    case NEED_HOSTS:
        return !given(d, a->key) && the_number(d->knobs->num_nodes, d->cluster->nodes) > 1 && devices_per_host(d) > 1;
    case NEED_SEQUENCE:
        return given(d, a->key) && json_text_is(given(d, a->key), "auto") && devices_per_host(d) > 1;
    }
    return false;
}

static bool is_tuned(const struct default_space *d, const struct default_axis *a, int stage)
{
    return (a->stages & STAGE(stage)) && has_release(d, a->since) && is_open(d, a);
}

static void add_devices(const struct default_space *d, int stage, struct buffer *out)
{
    buffer_printf(out, "[\"none\", \"cpu\"%s]", stage == 3 && nvme_of(d) ? ", \"nvme\"" : "");
}

/* Degrees that divide the devices of a host: sequences are best split within a host. */
static void add_degrees(const struct default_space *d, struct buffer *out)
{
    buffer_add_text(out, "[1");
    for (long long n = 2; n <= devices_per_host(d); n *= 2)
        if (devices_per_host(d) % n == 0)
            buffer_printf(out, ", %lld", n);
    buffer_add_char(out, ']');
}

static void add_values(const struct default_space *d, const struct default_axis *a, int stage, struct buffer *out)
{
    if (a->values)
        buffer_add_text(out, a->values);
    else if (a->need == NEED_SEQUENCE)
        add_degrees(d, out);
    else if (a->need == NEED_HOSTS)
        buffer_printf(out, "[1, %lld]", devices_per_host(d));
    else
        add_devices(d, stage, out);
}

/* If only one of the two sections has the path. */
static void add_nvme_path(const struct default_space *d, const char *section, struct buffer *out)
{
    if (!path_in(d, section))
        buffer_printf(out, "\"zero_optimization.%s.nvme_path\" = %s\n", section, nvme_of(d)->text);
}

void default_space_add(const struct default_space *d, int stage, struct buffer *out)
{
    bool offloads = false;
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        if (!is_tuned(d, &axes[i], stage))
            continue;
        buffer_printf(out, "\"%s\" = ", axes[i].key);
        add_values(d, &axes[i], stage, out);
        buffer_add_char(out, '\n');
        offloads |= axes[i].need == NEED_OPTIMIZER || axes[i].need == NEED_PARAM_OFFLOAD;
    }
    if (stage == 3 && offloads && nvme_of(d)) {
        add_nvme_path(d, "offload_optimizer", out);
        add_nvme_path(d, "offload_param", out);
    }
}

void default_space_add_arguments(const struct default_space *d, struct buffer *out)
{
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        if (axes[i].need == NEED_TRAINER && is_tuned(d, &axes[i], 0))
            buffer_printf(out, ", \"--%s\", \"{%s}\"", axes[i].key, axes[i].key);
}

void default_space_add_rules(const struct default_space *d, struct buffer *out)
{
    if (d->cluster->hostfile || d->host_bytes <= 0 || !given(d, "autotuning.model_info.num_params") ||
        !is_tuned(d, &axes[0], 1))
        return;
    buffer_printf(out,
                  "\n[[rule]]\nname = \"offload-host-memory\"\n"
                  "require = \"coalesce(offload_optimizer, 'none') <> 'cpu' OR %d * params <= %lld\"\n"
                  "why = \"an optimizer on the host takes %d bytes of its memory for each parameter\"\n"
                  "source = \"DeepSpeed runtime/zero/stage_1_and_2.py: estimate_zero2_model_states_mem_needs\"\n",
                  HOST_BYTES_PER_PARAMETER, d->host_bytes, HOST_BYTES_PER_PARAMETER);
}

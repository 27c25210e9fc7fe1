#include "slurm/allocation.h"

#include <stdlib.h>
#include <string.h>

#include "process/external_command.h"
#include "process/process.h"
#include "slurm/client.h"
#include "util/memory.h"
#include "util/parse.h"

enum { ANSWER_MS = 60000, ANSWER_BYTES = 1 << 20 };

void allocation_free(struct allocation *a)
{
    for (size_t i = 0; i < a->count; i++)
        free(a->nodes[i].name);
    free(a->nodes);
    *a = (struct allocation){0};
}

static void add_node(struct allocation *a, struct allocation_node node)
{
    a->nodes = array_grow(a->nodes, a->count, sizeof *a->nodes);
    a->nodes[a->count++] = node;
}

/* --- what scontrol prints --- */

/* The value of "KEY=" within a group, up to the next blank; "" when there is none. The caller's. */
static char *value_of(const char *group, size_t length, const char *key)
{
    const char *at = memmem(group, length, key, strlen(key));
    if (!at)
        return xstrdup("");
    at += strlen(key);
    size_t n = strcspn(at, " \n");
    return xstrndup(at, n < length - (size_t)(at - group) ? n : length - (size_t)(at - group));
}

/* "0-6,8": 8. */
static int64_t count_ids(const char *text)
{
    int64_t count = 0;
    while (*text >= '0' && *text <= '9') {
        char *end;
        long long first = strtoll(text, &end, 10), last = *end == '-' ? strtoll(end + 1, &end, 10) : first;
        count += last >= first && last - first < 1 << 20 ? last - first + 1 : 0;
        text = end + (*end == ',');
    }
    return count;
}

/* "gpu:a100:2(IDX:0-1),gpu:1(IDX:2),license:3": 3. */
static int64_t count_gpus(const char *text)
{
    int64_t count = 0;
    for (const char *at = text; (at = strstr(at, "gpu:")); at += 4) {
        const char *end = at + strcspn(at, "(,");
        const char *digits = end;
        while (digits > at && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        int64_t n = strtoll(digits, NULL, 10);
        count += (at == text || at[-1] == ',') && n > 0 && n < 1 << 20 ? n : 0;
    }
    return count;
}

int allocation_parse(const char *text, struct allocation *out)
{
    static const char mark[] = " Nodes=";
    struct allocation a = {0};
    for (const char *at = strstr(text, mark), *next; at; at = next) {
        next = strstr(at + 1, mark);
        size_t length = next ? (size_t)(next - at) : strlen(at);
        char *name = value_of(at, length, "Nodes="), *cpus = value_of(at, length, "CPU_IDs=");
        char *memory = value_of(at, length, "Mem="), *gres = value_of(at, length, "GRES=");
        int64_t megabytes = strtoll(memory, NULL, 10);
        if (*name && *cpus)
            add_node(&a, (struct allocation_node){xstrdup(name), count_ids(cpus), count_gpus(gres),
                                                  megabytes > 0 ? megabytes : 0});
        free(name);
        free(cpus);
        free(memory);
        free(gres);
    }
    *out = a;
    return a.count > 0 ? 0 : -1;
}

/* --- asking --- */

static int ask(char *const *environment, const char *what, const char *of, const char *option, char **answer,
               struct error *e)
{
    char *argv[] = {(char *)"scontrol", (char *)"show", (char *)what, (char *)of, (char *)option, (char *)"-o", NULL};
    const struct external_command question = {argv, environment, NULL, ANSWER_MS, ANSWER_BYTES};
    struct external_command_result result = EXTERNAL_COMMAND_RESULT_INIT;
    int rc = external_command_run(&question, &result, e);
    if (rc == 0 && result.exit_code != 0)
        rc = error_set(e, ERROR_FAILED, "scontrol show %s %s: %.200s", what, of, result.errors);
    if (rc == 0)
        *answer = xstrdup(result.output);
    external_command_result_free(&result);
    return rc;
}

/* The nodes of each group, one by one. */
static int spread(char *const *environment, const struct allocation *groups, struct allocation *out, struct error *e)
{
    for (size_t i = 0; i < groups->count; i++) {
        const struct allocation_node *g = &groups->nodes[i];
        char *names = NULL, *rest = NULL;
        if (ask(environment, "hostnames", g->name, NULL, &names, e) < 0)
            return -1;
        for (char *name = strtok_r(names, " \n", &rest); name; name = strtok_r(NULL, " \n", &rest))
            add_node(out, (struct allocation_node){xstrdup(name), g->cpus, g->gpus, g->memory_mb});
        free(names);
    }
    return 0;
}

int allocation_read(char *const *environment, struct allocation *out, struct error *e)
{
    const char *job = environment_value(environment, "SLURM_JOB_ID");
    struct allocation a = {0}, groups = {0};
    char *text = NULL;
    if (!job || !parse_int64(job, &a.job) || a.job <= 0)
        return error_set(e, ERROR_USAGE,
                         "--in-allocation: SLURM_JOB_ID is not set; start meshsweep inside salloc or sbatch");
    char **bare = slurm_environment(environment, NULL);
    int rc = ask(bare, "job", job, "-d", &text, e);
    if (rc == 0 && allocation_parse(text, &groups) < 0)
        rc = error_set(e, ERROR_FAILED, "--in-allocation: Slurm's job %s holds no nodes", job);
    if (rc == 0)
        rc = spread(bare, &groups, &a, e);
    strings_free(bare);
    free(text);
    allocation_free(&groups);
    if (rc == 0)
        *out = a;
    else
        allocation_free(&a);
    return rc;
}

/* --- sharing it out --- */

void allocation_devices(const struct allocation *a, bool by_cpus, int64_t cpus_each, struct device_list *out)
{
    bool gpus = false;
    for (size_t i = 0; i < a->count; i++)
        gpus |= !by_cpus && a->nodes[i].gpus > 0;
    *out = (struct device_list){.source = gpus ? "GPUs of the allocation" : "processors of the allocation"};
    for (size_t i = 0; i < a->count; i++) {
        const struct allocation_node *n = &a->nodes[i];
        device_list_add_node(out, (uint16_t)i, n->name, gpus ? n->gpus : n->cpus / (cpus_each > 0 ? cpus_each : 1));
    }
}

const struct allocation_node *allocation_node(const struct allocation *a, const char *name, size_t length)
{
    for (size_t i = 0; i < a->count; i++)
        if (strlen(a->nodes[i].name) == length && strncmp(a->nodes[i].name, name, length) == 0)
            return &a->nodes[i];
    return NULL;
}

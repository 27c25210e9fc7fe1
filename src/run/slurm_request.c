#include "run/slurm_request.h"

#include <stdlib.h>

#include "run/json_value.h"
#include "run/slurm_script.h"
#include "util/memory.h"

static const char *text_of(const cJSON *cluster, const char *key, const char *otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(cluster, key);
    return cJSON_IsString(item) && item->valuestring[0] ? item->valuestring : otherwise;
}

static int64_t count_of(const cJSON *cluster, const char *key, int64_t otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(cluster, key);
    return cJSON_IsNumber(item) && item->valuedouble >= 1 && item->valuedouble < 1e9 ? (int64_t)item->valuedouble
                                                                                     : otherwise;
}

static struct slurm_shape shape_of(const struct slurm_config *c, const cJSON *cluster, int64_t devices)
{
    int64_t nodes = count_of(cluster, "num_hosts", count_of(cluster, "num_nodes", 1));
    int64_t each = devices > 0 ? (devices + nodes - 1) / nodes : 1;
    return (struct slurm_shape){
        .nodes = nodes,
        .devices_per_node = count_of(cluster, "num_devices_per_host", count_of(cluster, "gpus_per_node", each)),
        .tasks_per_node = count_of(cluster, "tasks_per_node", c->tasks_per_node),
        .cpus_per_task = count_of(cluster, "cpus_per_task", c->cpus_per_task),
    };
}

struct slurm_shape slurm_shape_of(const struct slurm_config *config, const char *spec_json, int64_t devices)
{
    cJSON *spec = json_parse(spec_json);
    struct slurm_shape shape = shape_of(config, cJSON_GetObjectItemCaseSensitive(spec, "cluster_spec"), devices);
    cJSON_Delete(spec);
    return shape;
}

void slurm_wish_add(const struct slurm_wish *w, struct buffer *out)
{
    const struct slurm_config *c = w->config;
    cJSON *spec = json_parse(w->spec_json);
    const cJSON *cluster = cJSON_GetObjectItemCaseSensitive(spec, "cluster_spec");
    const struct slurm_shape shape = shape_of(c, cluster, w->devices);
    const char *type = text_of(cluster, "gpu_type", c->gpu_type);
    const struct slurm_request request = {
        .partition = text_of(cluster, "partition", c->partition),
        .account = text_of(cluster, "account", c->account),
        .qos = text_of(cluster, "qos", c->qos),
        .constraint = text_of(cluster, "constraint", c->constraint),
        .reservation = text_of(cluster, "reservation", c->reservation),
        .memory = text_of(cluster, "memory", c->memory),
        .nodes = shape.nodes,
        .tasks_per_node = shape.tasks_per_node,
        .cpus_per_task = shape.cpus_per_task,
        .gpus_per_node = c->no_gpus || type ? 0 : shape.devices_per_node,
        .minutes = w->minutes,
        .extra = c->options,
    };
    slurm_request_add(&request, out);
    if (type && !c->no_gpus)
        buffer_printf(out, "#SBATCH --gpus-per-node=%s:%lld\n", type, (long long)shape.devices_per_node);
    cJSON_Delete(spec);
}

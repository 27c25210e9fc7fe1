#include "slurm/request.h"

#include "metrics/json_value.h"
#include "slurm/script.h"
#include "space/job_shape.h"

static const char *text_of(const cJSON *cluster, const char *key, const char *otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(cluster, key);
    return cJSON_IsString(item) && item->valuestring[0] ? item->valuestring : otherwise;
}

void slurm_wish_add(const struct slurm_wish *w, struct buffer *out)
{
    const struct slurm_config *c = w->config;
    cJSON *spec = json_parse(w->spec_json);
    const cJSON *cluster = cJSON_GetObjectItemCaseSensitive(spec, "cluster_spec");
    const struct job_shape shape = job_shape_of(c, w->spec_json, w->devices);
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

#include "space/job_shape.h"

#include "metrics/json_value.h"

static int64_t count_of(const cJSON *cluster, const char *key, int64_t otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(cluster, key);
    return cJSON_IsNumber(item) && item->valuedouble >= 1 && item->valuedouble < 1e9 ? (int64_t)item->valuedouble
                                                                                     : otherwise;
}

struct job_shape job_shape_of(const struct batch_config *config, const char *spec_json, int64_t devices)
{
    cJSON *spec = json_parse(spec_json);
    const cJSON *cluster = cJSON_GetObjectItemCaseSensitive(spec, "cluster_spec");
    int64_t nodes = count_of(cluster, "num_hosts", count_of(cluster, "num_nodes", 1));
    const cJSON *gpus = cJSON_GetObjectItemCaseSensitive(cluster, "gpus");
    int64_t each = devices > 0 ? (devices + nodes - 1) / nodes : 1;
    struct job_shape shape = {
        .nodes = nodes,
        .devices_per_node = count_of(cluster, "num_devices_per_host", count_of(cluster, "gpus_per_node", each)),
        .tasks_per_node = count_of(cluster, "tasks_per_node", config->tasks_per_node),
        .cpus_per_task = count_of(cluster, "cpus_per_task", config->cpus_per_task),
        .share = cJSON_IsNumber(gpus) && gpus->valuedouble > 0 && gpus->valuedouble < 1 ? gpus->valuedouble : 0,
    };
    cJSON_Delete(spec);
    return shape;
}

#include "sweep_file/schema.h"

#include <stdlib.h>
#include <string.h>

#include "sweep_file/unknown_key.h"
#include "util/buffer.h"
#include "util/memory.h"

#define EVERY (FILE_SWEEP | FILE_INCLUDE | FILE_PROFILE)
#define SPACE (FILE_SWEEP | FILE_INCLUDE)
#define DEFAULTS (FILE_SWEEP | FILE_PROFILE)
#define LENGTH(array) (sizeof(array) / sizeof *(array))

static const struct schema_key top_keys[] = {
    [TOP_PROFILE] = {"profile", TYPE_STRING | TYPE_STRINGS, FILE_SWEEP, false},
    [TOP_INCLUDE] = {"include", TYPE_STRING | TYPE_STRINGS, SPACE, false},
    [TOP_CLUSTER] = {"cluster_spec", TYPE_TABLE | TYPE_TABLES, SPACE, false},
    [TOP_MODEL] = {"model", TYPE_TABLE | TYPE_TABLES, SPACE, false},
    [TOP_TRAINING] = {"training_spec", TYPE_TABLE | TYPE_TABLES, SPACE, false},
    [TOP_PARALLEL] = {"parallel_spec", TYPE_TABLE | TYPE_TABLES, SPACE, false},
    [TOP_SWEEP] = {"sweep", TYPE_TABLE, EVERY, false},
    [TOP_JOB] = {"job", TYPE_TABLE, DEFAULTS, false},
    [TOP_METRICS] = {"metrics", TYPE_TABLE, DEFAULTS, false},
    [TOP_DERIVE] = {"derive", TYPE_TABLE, EVERY, false},
    [TOP_SYNONYM] = {"synonym", TYPE_TABLE, EVERY, false},
    [TOP_INERT] = {"inert", TYPE_TABLE, EVERY, false},
    [TOP_RULE] = {"rule", TYPE_TABLES, EVERY, false},
    [TOP_FAILURE] = {"failure", TYPE_TABLES, EVERY, false},
    [TOP_RETRY] = {"retry", TYPE_TABLE, DEFAULTS, false},
    [TOP_DEVICE] = {"device", TYPE_TABLES, EVERY, false},
    [TOP_MODEL_TYPE] = {"model_type", TYPE_TABLES, EVERY, false},
    [TOP_MODEL_SPACE] = {"model_space", TYPE_TABLE, EVERY, false},
    [TOP_MODEL_INFO] = {"model_info", TYPE_TABLE, FILE_SWEEP, false},
    [TOP_DEEPSPEED] = {"deepspeed", TYPE_TABLE, DEFAULTS, false},
    [TOP_SEARCH] = {"search", TYPE_TABLE, DEFAULTS, false},
    [TOP_SLURM] = {"slurm", TYPE_TABLE, DEFAULTS, false},
    [TOP_LOCAL] = {"local", TYPE_TABLE, DEFAULTS, false},
    [TOP_PREDICT] = {"predict", TYPE_TABLE, DEFAULTS, false},
    [TOP_IMPORT] = {"import", TYPE_TABLE, DEFAULTS, false},
};
const struct schema schema_top = {"the file", top_keys, LENGTH(top_keys)};

static const struct schema_key sweep_keys[] = {
    [SWEEP_NAME] = {"name", TYPE_STRING, FILE_SWEEP, false},
    [SWEEP_DESCRIPTION] = {"description", TYPE_STRING, FILE_SWEEP, false},
    [SWEEP_OBJECTIVE] = {"objective", TYPE_STRING | TYPE_STRINGS, DEFAULTS, false},
    [SWEEP_SUBJECT_TO] = {"subject_to", TYPE_STRING | TYPE_STRINGS, DEFAULTS, false},
    [SWEEP_NOTE] = {"note", TYPE_STRINGS, DEFAULTS, false},
    [SWEEP_REPLICATE] = {"replicate", TYPE_STRINGS, DEFAULTS, false},
    [SWEEP_GROUP_BY] = {"group_by", TYPE_STRINGS, DEFAULTS, false},
    /* An included file says itself which of its lists are values. */
    [SWEEP_LIST_VALUES] = {"list_values", TYPE_STRINGS, EVERY, false},
    [SWEEP_DISABLE_RULES] = {"disable_rules", TYPE_STRINGS, DEFAULTS, false},
    [SWEEP_RULE_SETS] = {"rule_sets", TYPE_STRINGS, DEFAULTS, false},
    [SWEEP_SEED] = {"seed", TYPE_INT, FILE_SWEEP, false},
    [SWEEP_SHARE] = {"share", TYPE_BOOL, FILE_SWEEP, false},
    [SWEEP_CHECKSUMS] = {"checksums", TYPE_BOOL, FILE_SWEEP, false},
};
const struct schema schema_sweep = {"[sweep]", sweep_keys, LENGTH(sweep_keys)};

static const struct schema_key job_keys[] = {
    [JOB_COMMAND] = {"command", TYPE_STRING | TYPE_STRINGS, DEFAULTS, false},
    [JOB_ENV] = {"env", TYPE_TABLE, DEFAULTS, false},
    [JOB_PASS_ENV] = {"pass_env", TYPE_STRINGS, DEFAULTS, false},
    [JOB_VERSIONS] = {"versions", TYPE_TABLE, DEFAULTS, false},
    [JOB_SECRETS] = {"secrets", TYPE_STRINGS, DEFAULTS, false},
    [JOB_CWD] = {"cwd", TYPE_STRING, DEFAULTS, false},
    [JOB_JOB_DIR] = {"job_dir", TYPE_BOOL, DEFAULTS, false},
    [JOB_SEPARATE_STREAMS] = {"separate_streams", TYPE_BOOL, DEFAULTS, false},
    [JOB_TIMEOUT] = {"timeout", TYPE_STRING | TYPE_NUMBER, DEFAULTS, false},
    [JOB_IDLE_TIMEOUT] = {"idle_timeout", TYPE_STRING | TYPE_NUMBER, DEFAULTS, false},
    [JOB_STARTUP_TIMEOUT] = {"startup_timeout", TYPE_STRING | TYPE_NUMBER, DEFAULTS, false},
    [JOB_GRACE] = {"grace", TYPE_STRING | TYPE_NUMBER, DEFAULTS, false},
    [JOB_REPEAT] = {"repeat", TYPE_INT, DEFAULTS, false},
    [JOB_METRICS] = {"metrics", TYPE_TABLE, DEFAULTS, false},
};
const struct schema schema_job = {"[job]", job_keys, LENGTH(job_keys)};

static const struct schema_key metric_keys[] = {
    [METRIC_REGEX] = {"regex", TYPE_STRING, DEFAULTS, false},
    [METRIC_KEY] = {"key", TYPE_STRING, DEFAULTS, false},
    [METRIC_JSON] = {"json", TYPE_STRING, DEFAULTS, false},
    [METRIC_JSONL] = {"jsonl", TYPE_STRING, DEFAULTS, false},
    [METRIC_CSV] = {"csv", TYPE_STRING, DEFAULTS, false},
    [METRIC_FILE] = {"file", TYPE_STRING, DEFAULTS, false},
    [METRIC_SCALE] = {"scale", TYPE_NUMBER, DEFAULTS, false},
    [METRIC_WRITTEN_UNIT] = {"written_unit", TYPE_BOOL, DEFAULTS, false},
    [METRIC_NUMERATOR] = {"numerator", TYPE_STRING, DEFAULTS, false},
    [METRIC_SUM] = {"sum", TYPE_BOOL, DEFAULTS, false},
    [METRIC_FALLBACK] = {"fallback", TYPE_TABLE | TYPE_TABLES, DEFAULTS, false},
    [METRIC_UNIT] = {"unit", TYPE_STRING, DEFAULTS, false},
    [METRIC_BETTER] = {"better", TYPE_STRING, DEFAULTS, false},
    [METRIC_WARMUP] = {"warmup", TYPE_INT, DEFAULTS, false},
    [METRIC_TAKE] = {"take", TYPE_STRING, DEFAULTS, false},
    [METRIC_MEANS] = {"means", TYPE_STRING, DEFAULTS, false},
    [METRIC_RANK] = {"rank", TYPE_STRING | TYPE_INT, DEFAULTS, false},
};
const struct schema schema_metric = {"[job.metrics]", metric_keys, LENGTH(metric_keys)};
const struct schema schema_fallback = {"a fallback", metric_keys, METRIC_READER_COUNT};

static const struct schema_key derived_metric_keys[] = {
    [DERIVED_METRIC_EXPRESSION] = {"expression", TYPE_STRING | TYPE_NUMBER, DEFAULTS, true},
    [DERIVED_METRIC_UNIT] = {"unit", TYPE_STRING, DEFAULTS, false},
    [DERIVED_METRIC_BETTER] = {"better", TYPE_STRING, DEFAULTS, false},
    [DERIVED_METRIC_TAKE] = {"take", TYPE_STRING, DEFAULTS, false},
};
const struct schema schema_derived_metric = {"[metrics]", derived_metric_keys, LENGTH(derived_metric_keys)};

static const struct schema_key deepspeed_keys[] = {
    [DEEPSPEED_CONFIG] = {"config", TYPE_STRING, FILE_SWEEP, false},
    [DEEPSPEED_AUTO] = {"auto", TYPE_STRING, DEFAULTS, false},
    [DEEPSPEED_SECTIONS] = {"sections", TYPE_STRINGS, DEFAULTS, false},
    [DEEPSPEED_ARGUMENTS] = {"arg_mappings", TYPE_TABLE, DEFAULTS, false},
    [DEEPSPEED_PROFILE_STEPS] = {"profile_steps", TYPE_LIST, DEFAULTS, false},
    [DEEPSPEED_VERSION] = {"version", TYPE_STRING, DEFAULTS, false},
};
const struct schema schema_deepspeed = {"[deepspeed]", deepspeed_keys, LENGTH(deepspeed_keys)};

#define FACT (TYPE_NUMBER | TYPE_STRING)
static const struct schema_key model_info_keys[] = {
    [MODEL_INFO_COMMAND] = {"command", TYPE_STRING | TYPE_STRINGS, FILE_SWEEP, false},
    [MODEL_INFO_TIMEOUT] = {"timeout", TYPE_STRING | TYPE_NUMBER, FILE_SWEEP, false},
    [MODEL_INFO_WITH] = {"with", TYPE_TABLE, FILE_SWEEP, false},
    [MODEL_INFO_WITHOUT] = {"without", TYPE_STRINGS, FILE_SWEEP, false},
    [MODEL_INFO_PARAMS] = {"params", TYPE_NUMBER, FILE_SWEEP, false},
    [MODEL_INFO_ACTIVATION_MEMORY] = {"activation_memory", FACT, FILE_SWEEP, false},
    [MODEL_INFO_DEVICE_MEMORY] = {"device_memory", FACT, FILE_SWEEP, false},
    [MODEL_INFO_FWD_FLOPS] = {"fwd_flops", TYPE_NUMBER, FILE_SWEEP, false},
};
const struct schema schema_model_info = {"[model_info]", model_info_keys, LENGTH(model_info_keys)};

static const struct schema_key rule_keys[] = {
    [RULE_NAME] = {"name", TYPE_STRING, EVERY, true},      [RULE_REQUIRE] = {"require", TYPE_STRING, EVERY, true},
    [RULE_WHEN] = {"when", TYPE_STRING, EVERY, false},     [RULE_WHY] = {"why", TYPE_STRING, EVERY, false},
    [RULE_SOURCE] = {"source", TYPE_STRING, EVERY, false}, [RULE_LEVEL] = {"level", TYPE_STRING, EVERY, false},
};
const struct schema schema_rule = {"[[rule]]", rule_keys, LENGTH(rule_keys)};

static const struct schema_key stage_keys[] = {
    [STAGE_NAME] = {"name", TYPE_STRING, DEFAULTS, false},
    [STAGE_FREE] = {"free", TYPE_STRINGS, DEFAULTS, true},
    [STAGE_STRATEGY] = {"strategy", TYPE_STRING, DEFAULTS, true},
    [STAGE_MAX_TRIALS] = {"max_trials", TYPE_INT, DEFAULTS, true},
};
const struct schema schema_stage = {"[[search.stage]]", stage_keys, LENGTH(stage_keys)};

static const struct schema_key failure_keys[] = {
    [PATTERN_CLASS] = {"class", TYPE_STRING, EVERY, true},
    [PATTERN_REGEX] = {"pattern", TYPE_STRING, EVERY, true},
    [PATTERN_SOURCE] = {"source", TYPE_STRING, EVERY, false},
};
const struct schema schema_failure = {"[[failure]]", failure_keys, LENGTH(failure_keys)};

static const struct schema_key device_keys[] = {
    [DEVICE_NAME] = {"name", TYPE_STRING, EVERY, true},
    [DEVICE_OTHERS] = {"others", TYPE_STRINGS, EVERY, false},
    [DEVICE_SOURCE] = {"source", TYPE_STRING, EVERY, false},
    [DEVICE_MEASURED] = {"measured", TYPE_BOOL, EVERY, false},
    [DEVICE_ENGINES] = {"collective_engines", TYPE_BOOL, EVERY, false},
    [DEVICE_DOMAIN] = {"link_domain", TYPE_INT, EVERY, false},
    [DEVICE_PEAK_FLOPS] = {"peak_flops", TYPE_NUMBER, EVERY, false},
    [DEVICE_ATTENTION_FLOPS] = {"attention_flops", TYPE_NUMBER, EVERY, false},
    [DEVICE_LATEST_ATTENTION_FLOPS] = {"latest_attention_flops", TYPE_NUMBER, EVERY, false},
    [DEVICE_FP8_FACTOR] = {"fp8_factor", TYPE_NUMBER, EVERY, false},
    [DEVICE_FP4_FACTOR] = {"fp4_factor", TYPE_NUMBER, EVERY, false},
    [DEVICE_FP32_FACTOR] = {"fp32_factor", TYPE_NUMBER, EVERY, false},
    [DEVICE_PRODUCT_SHARE] = {"product_share", TYPE_NUMBER, EVERY, false},
    [DEVICE_FP8_SHARE] = {"fp8_share", TYPE_NUMBER, EVERY, false},
    [DEVICE_VECTOR_FLOPS] = {"vector_flops", TYPE_NUMBER, EVERY, false},
    [DEVICE_MEMORY_BANDWIDTH] = {"memory_bandwidth", TYPE_NUMBER, EVERY, false},
    [DEVICE_MEMORY_GIB] = {"memory_gib", TYPE_NUMBER, EVERY, false},
    [DEVICE_LINK_BANDWIDTH] = {"link_bandwidth", TYPE_NUMBER, EVERY, false},
    [DEVICE_NETWORK_BANDWIDTH] = {"network_bandwidth", TYPE_NUMBER, EVERY, false},
};
const struct schema schema_device = {"[[device]]", device_keys, LENGTH(device_keys)};

static const struct schema_key model_type_keys[] = {
    [MODEL_TYPE_NAME] = {"name", TYPE_STRING, EVERY, true},
    [MODEL_TYPE_LIKE] = {"like", TYPE_STRING, EVERY, false},
    [MODEL_TYPE_FAMILY] = {"family", TYPE_STRING, EVERY, false},
    [MODEL_TYPE_WINDOWS] = {"windows", TYPE_STRING, EVERY, false},
    [MODEL_TYPE_KEYS] = {"keys", TYPE_TABLE, EVERY, false},
    [MODEL_TYPE_ALWAYS] = {"always", TYPE_TABLE, EVERY, false},
    [MODEL_TYPE_ONLY] = {"only", TYPE_TABLE, EVERY, false},
    [MODEL_TYPE_REFUSED] = {"refused", TYPE_STRING, EVERY, false},
};
const struct schema schema_model_type = {"[[model_type]]", model_type_keys, LENGTH(model_type_keys)};

#define NUMBERS (TYPE_INT | TYPE_LIST | TYPE_TABLE)
static const struct schema_key space_keys[] = {
    [SPACE_SEED] = {"seed", TYPE_INT, EVERY, false},
    [SPACE_MIXERS] = {"mixers", TYPE_STRINGS, EVERY, false},
    [SPACE_FEATURES] = {"num_features", NUMBERS, EVERY, false},
    [SPACE_EMB_DIM] = {"emb_dim", NUMBERS, EVERY, false},
    [SPACE_OUTPUTS] = {"output_per_emb", NUMBERS, EVERY, false},
    [SPACE_LAYERS] = {"num_zhen_layers", NUMBERS, EVERY, false},
    [SPACE_TOTAL_MIXERS] = {"total_mixers", NUMBERS, EVERY, false},
    [SPACE_MIXERS_PER_LAYER] = {"mixers_per_layer", NUMBERS, EVERY, false},
    [SPACE_SHARED_WEIGHTS] = {"shared_weights", TYPE_BOOL, EVERY, false},
    [SPACE_KEYS] = {"keys", TYPE_TABLE, EVERY, false},
    [SPACE_WHERE] = {"where", TYPE_STRING, EVERY, false},
    [SPACE_FILTER] = {"filter", TYPE_TABLES, EVERY, false},
    [SPACE_BASE] = {"base", TYPE_TABLE, EVERY, false},
    [SPACE_INCLUDE_BASE] = {"include_base", TYPE_BOOL, EVERY, false},
    [SPACE_SAMPLE] = {"sample", TYPE_TABLES, EVERY, false},
};
const struct schema schema_model_space = {"[model_space]", space_keys, LENGTH(space_keys)};

static const struct schema_key range_keys[] = {
    [RANGE_FROM] = {"from", TYPE_INT, EVERY, true},
    [RANGE_TO] = {"to", TYPE_INT, EVERY, true},
    [RANGE_STEP] = {"step", TYPE_INT, EVERY, false},
    [RANGE_FACTOR] = {"factor", TYPE_INT, EVERY, false},
};
const struct schema schema_range = {"a range", range_keys, LENGTH(range_keys)};

static const struct schema_key real_range_keys[] = {
    [RANGE_FROM] = {"from", TYPE_NUMBER, EVERY, true},
    [RANGE_TO] = {"to", TYPE_NUMBER, EVERY, true},
    [RANGE_STEP] = {"step", TYPE_NUMBER, EVERY, false},
    [RANGE_FACTOR] = {"factor", TYPE_NUMBER, EVERY, false},
};
const struct schema schema_real_range = {"a range", real_range_keys, LENGTH(real_range_keys)};

static const struct schema_key multiset_keys[] = {
    [MULTISET_KINDS] = {"multiset", TYPE_STRINGS, EVERY, true},
    [MULTISET_TOTAL] = {"total", NUMBERS, EVERY, false},
    [MULTISET_PER_LAYER] = {"per_layer", NUMBERS, EVERY, false},
    [MULTISET_LAYERS] = {"layers", NUMBERS, EVERY, false},
    [MULTISET_LAYERS_KEY] = {"layers_key", TYPE_STRING, EVERY, false},
};
const struct schema schema_multiset = {"a multiset", multiset_keys, LENGTH(multiset_keys)};

static const struct schema_key filter_keys[] = {
    [FILTER_NAME] = {"name", TYPE_STRING, EVERY, false},
    [FILTER_WHERE] = {"where", TYPE_STRING, EVERY, false},
    [FILTER_PRESET] = {"preset", TYPE_STRING, EVERY, false},
    [FILTER_LAYERS] = {"layers", TYPE_INT, EVERY, false},
    [FILTER_TOLERANCE] = {"tolerance", TYPE_NUMBER, EVERY, false},
    [FILTER_MIXER] = {"mixer", TYPE_STRING, EVERY, false},
};
const struct schema schema_filter = {"[[model_space.filter]]", filter_keys, LENGTH(filter_keys)};

static const struct schema_key sample_keys[] = {
    [SAMPLE_TAKE] = {"take", TYPE_INT, EVERY, true},
    [SAMPLE_EACH] = {"each", TYPE_STRING | TYPE_TABLE, EVERY, false},
    [SAMPLE_WHERE] = {"where", TYPE_STRING, EVERY, false},
};
const struct schema schema_sample = {"[[model_space.sample]]", sample_keys, LENGTH(sample_keys)};

static const struct schema_key predict_keys[] = {
    [PREDICT_FRAMEWORK] = {"framework", TYPE_STRING, DEFAULTS, false},
    [PREDICT_DEVICE] = {"device", TYPE_STRING, DEFAULTS, false},
    [PREDICT_CLUSTER] = {"cluster", TYPE_STRING, DEFAULTS, false},
    [PREDICT_MEMORY_METRIC] = {"memory_metric", TYPE_STRING, DEFAULTS, false},
    [PREDICT_TIME_METRIC] = {"time_metric", TYPE_STRING, DEFAULTS, false},
    [PREDICT_PRUNE] = {"prune", TYPE_STRING, DEFAULTS, false},
    [PREDICT_CERTAIN] = {"certain", TYPE_NUMBER, DEFAULTS, false},
    [PREDICT_RISKY] = {"risky", TYPE_NUMBER, DEFAULTS, false},
    [PREDICT_AUDIT] = {"audit", TYPE_NUMBER, DEFAULTS, false},
    [PREDICT_PEAK_FLOPS] = {"peak_flops", TYPE_NUMBER, DEFAULTS, false},
    [PREDICT_MEMORY_BANDWIDTH] = {"memory_bandwidth", TYPE_NUMBER, DEFAULTS, false},
    [PREDICT_LINK_BANDWIDTH] = {"link_bandwidth", TYPE_NUMBER, DEFAULTS, false},
    [PREDICT_NETWORK_BANDWIDTH] = {"network_bandwidth", TYPE_NUMBER, DEFAULTS, false},
    [PREDICT_NETWORK_LATENCY] = {"network_latency", TYPE_NUMBER, DEFAULTS, false},
    [PREDICT_KEYS] = {"keys", TYPE_TABLE, DEFAULTS, false},
    [PREDICT_MEMORY] = {"memory", TYPE_TABLE, DEFAULTS, false},
    [PREDICT_TIME] = {"time", TYPE_TABLE, DEFAULTS, false},
    [PREDICT_ORDER] = {"order", TYPE_TABLE, DEFAULTS, false},
};
const struct schema schema_predict = {"[predict]", predict_keys, LENGTH(predict_keys)};

static const struct schema_key import_keys[] = {
    [IMPORT_STATE] = {"state", TYPE_STRING, DEFAULTS, false},
    [IMPORT_DURATION] = {"duration", TYPE_STRING, DEFAULTS, false},
    [IMPORT_DECIMAL_COMMA] = {"decimal_comma", TYPE_STRINGS, DEFAULTS, false},
    [IMPORT_STATES] = {"states", TYPE_TABLE, DEFAULTS, false},
    [IMPORT_REFUSE] = {"refuse", TYPE_TABLES, DEFAULTS, false},
    [IMPORT_METRICS] = {"metrics", TYPE_TABLE, DEFAULTS, false},
    [IMPORT_CLUSTER] = {"cluster_spec", TYPE_TABLE, DEFAULTS, false},
    [IMPORT_MODEL] = {"model", TYPE_TABLE, DEFAULTS, false},
    [IMPORT_TRAINING] = {"training_spec", TYPE_TABLE, DEFAULTS, false},
    [IMPORT_PARALLEL] = {"parallel_spec", TYPE_TABLE, DEFAULTS, false},
};
const struct schema schema_import = {"[import]", import_keys, LENGTH(import_keys)};

static const struct schema_key refuse_keys[] = {
    [REFUSE_WHEN] = {"when", TYPE_STRING, DEFAULTS, true},
    [REFUSE_WHY] = {"why", TYPE_STRING, DEFAULTS, true},
};
const struct schema schema_refuse = {"[[import.refuse]]", refuse_keys, LENGTH(refuse_keys)};
static const struct schema_key slurm_keys[] = {
    [SLURM_KEY_PARTITION] = {"partition", TYPE_STRING, DEFAULTS, false},
    [SLURM_KEY_ACCOUNT] = {"account", TYPE_STRING, DEFAULTS, false},
    [SLURM_KEY_QOS] = {"qos", TYPE_STRING, DEFAULTS, false},
    [SLURM_KEY_CONSTRAINT] = {"constraint", TYPE_STRING, DEFAULTS, false},
    [SLURM_KEY_RESERVATION] = {"reservation", TYPE_STRING, DEFAULTS, false},
    [SLURM_KEY_MEMORY] = {"memory", TYPE_STRING, DEFAULTS, false},
    [SLURM_KEY_GPU_TYPE] = {"gpu_type", TYPE_STRING, DEFAULTS, false},
    [SLURM_KEY_GPUS] = {"gpus", TYPE_BOOL, DEFAULTS, false},
    [SLURM_KEY_OPTIONS] = {"options", TYPE_STRINGS, DEFAULTS, false},
    [SLURM_KEY_LAUNCHER] = {"launcher", TYPE_STRINGS, DEFAULTS, false},
    [SLURM_KEY_TASKS_PER_NODE] = {"tasks_per_node", TYPE_INT, DEFAULTS, false},
    [SLURM_KEY_CPUS_PER_TASK] = {"cpus_per_task", TYPE_INT, DEFAULTS, false},
    [SLURM_KEY_ARRAY_SIZE] = {"array_size", TYPE_INT, DEFAULTS, false},
    [SLURM_KEY_MAX_JOBS] = {"max_jobs", TYPE_INT, DEFAULTS, false},
    [SLURM_KEY_POLL] = {"poll", TYPE_STRING | TYPE_NUMBER, DEFAULTS, false},
    [SLURM_KEY_ABSENCE] = {"absence", TYPE_STRING | TYPE_NUMBER, DEFAULTS, false},
    [SLURM_KEY_MARGIN] = {"margin", TYPE_STRING | TYPE_NUMBER, DEFAULTS, false},
    [SLURM_KEY_HEARTBEAT] = {"heartbeat", TYPE_STRING | TYPE_NUMBER, DEFAULTS, false},
    [SLURM_KEY_TIMEOUT_FACTOR] = {"timeout_factor", TYPE_NUMBER, DEFAULTS, false},
};
const struct schema schema_slurm = {"[slurm]", slurm_keys, LENGTH(slurm_keys)};

static const struct schema_key local_keys[] = {
    [LOCAL_DEVICES] = {"devices", TYPE_INT | TYPE_LIST, DEFAULTS, false},
    [LOCAL_SEVERAL_HOSTS] = {"several_hosts", TYPE_BOOL, DEFAULTS, false},
    [LOCAL_HOSTFILE] = {"hostfile", TYPE_STRING, DEFAULTS, false},
    [LOCAL_INCLUDE] = {"include", TYPE_STRING, DEFAULTS, false},
    [LOCAL_EXCLUDE] = {"exclude", TYPE_STRING, DEFAULTS, false},
    [LOCAL_EXCLUSIVE] = {"exclusive", TYPE_BOOL, DEFAULTS, false},
    [LOCAL_BIND_CPUS] = {"bind_cpus", TYPE_BOOL, DEFAULTS, false},
    [LOCAL_WAIT_CLEAN] = {"wait_clean", TYPE_STRING | TYPE_NUMBER, DEFAULTS, false},
    [LOCAL_DIRTY_MEMORY] = {"dirty_memory", TYPE_STRING, DEFAULTS, false},
    [LOCAL_SAMPLE] = {"sample", TYPE_STRING | TYPE_NUMBER, DEFAULTS, false},
    [LOCAL_GIVE_UP] = {"give_up", TYPE_STRING | TYPE_NUMBER, DEFAULTS, false},
    [LOCAL_REPEAT_THROTTLED] = {"repeat_throttled", TYPE_INT, DEFAULTS, false},
};
const struct schema schema_local = {"[local]", local_keys, LENGTH(local_keys)};

static const struct schema_key order_keys[] = {
    [ORDER_KEY_ORDER] = {"order", TYPE_STRING | TYPE_LIST, DEFAULTS, true},
    [ORDER_KEY_WHEN] = {"when", TYPE_STRING, DEFAULTS, false},
};
const struct schema schema_order = {"[predict.order]", order_keys, LENGTH(order_keys)};

const struct schema *const schema_common[] = {&schema_top,       &schema_sweep, &schema_job,     &schema_metric,
                                              &schema_deepspeed, &schema_rule,  &schema_failure, &schema_model_space,
                                              &schema_predict,   &schema_slurm, &schema_local};
const size_t schema_common_count = LENGTH(schema_common);

static const struct {
    unsigned type;
    const char *name;
} type_names[] = {
    {TYPE_STRING, "a string"},         {TYPE_INT, "an integer"}, {TYPE_FLOAT, "a float"},
    {TYPE_BOOL, "true or false"},      {TYPE_TABLE, "a table"},  {TYPE_STRINGS, "a list of strings"},
    {TYPE_TABLES, "a list of tables"}, {TYPE_LIST, "a list"},
};

/* The bit of each kind of node; of a list, that of its elements. */
static const unsigned node_types[] = {
    [NODE_TABLE] = TYPE_TABLE, [NODE_LIST] = 0,           [NODE_STRING] = TYPE_STRING,
    [NODE_INT] = TYPE_INT,     [NODE_FLOAT] = TYPE_FLOAT, [NODE_BOOL] = TYPE_BOOL,
};

static size_t first_not(const struct toml_node *list, enum node_kind kind)
{
    size_t i = 0;
    while (i < list->child_count && list->children[i].kind == kind)
        i++;
    return i;
}

bool schema_type_fits(const struct toml_node *node, unsigned types)
{
    if (node->kind != NODE_LIST)
        return node_types[node->kind] & types;
    return (types & TYPE_LIST) || ((types & TYPE_STRINGS) && first_not(node, NODE_STRING) == node->child_count) ||
           ((types & TYPE_TABLES) && first_not(node, NODE_TABLE) == node->child_count);
}

void schema_wrong_type(const struct reading *r, const struct toml_node *node, const char *name, unsigned types)
{
    struct buffer wanted = BUFFER_INIT;
    for (size_t i = 0; i < LENGTH(type_names); i++)
        if (types & type_names[i].type)
            buffer_printf(&wanted, "%s%s", wanted.length ? " or " : "", type_names[i].name);
    const struct toml_node *culprit = node;
    if (node->kind == NODE_LIST && (types & (TYPE_STRINGS | TYPE_TABLES)))
        culprit = &node->children[first_not(node, types & TYPE_STRINGS ? NODE_STRING : NODE_TABLE)];
    problem_at_value(r, culprit, "%s must be %s, %s %s", name, buffer_text(&wanted),
                     culprit == node ? "not" : "but the list has", toml_kind_name(culprit->kind));
    buffer_free(&wanted);
}

bool schema_expect(const struct reading *r, const struct toml_node *node, const char *name, unsigned types)
{
    bool fits = schema_type_fits(node, types);
    if (!fits)
        schema_wrong_type(r, node, name, types);
    return fits;
}

static size_t find(const struct schema *s, const char *name)
{
    size_t i = 0;
    while (i < s->count && strcmp(s->keys[i].name, name) != 0)
        i++;
    return i;
}

/* A table that was not read may have had any name. */
static void excuse_value(const struct reading *r, const struct toml_node *node, unsigned types)
{
    if (types & (TYPE_TABLE | TYPE_TABLES))
        problems_excuse_all(r->problems);
    else
        reading_excuse(r, node);
}

/* Returns the key that may have been meant; s->count: none is near. */
static size_t unknown_in(const struct schema *s, const struct reading *r, const struct toml_node *node)
{
    const char **names = xreallocarray(NULL, s->count, sizeof *names);
    for (size_t i = 0; i < s->count; i++)
        names[i] = s->keys[i].name;
    size_t meant = unknown_key(r, node, s->title, names, s->count);
    free(names);
    return meant;
}

static const char *role_name(enum file_role role)
{
    return role == FILE_PROFILE ? "a profile" : "an included file";
}

void schema_match(const struct schema *s, const struct reading *r, const struct toml_node *table,
                  const struct toml_node **found)
{
    bool *seen = xcalloc(s->count, sizeof *seen);
    memset(found, 0, s->count * sizeof *found);
    for (size_t i = 0; i < table->child_count; i++) {
        const struct toml_node *node = &table->children[i];
        size_t k = find(s, node->key);
        bool known = k < s->count;
        if (!known)
            k = unknown_in(s, r, node);
        if (k < s->count)
            seen[k] = true;
        if (!known)
            continue;
        if (!(s->keys[k].files & r->role))
            problem_at_key(r, node, "%s is not allowed in %s", node->key, role_name(r->role));
        else if (schema_expect(r, node, node->key, s->keys[k].types))
            found[k] = node;
        if (!found[k])
            excuse_value(r, node, s->keys[k].types);
    }
    for (size_t k = 0; k < s->count; k++)
        if (s->keys[k].required && !seen[k])
            problem_at_value(r, table, "%s lacks \"%s\"", s->title, s->keys[k].name);
    free(seen);
}

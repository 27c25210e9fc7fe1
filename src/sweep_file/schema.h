/* The keys that a sweep file may have: one table for each kind of table in it. */
#ifndef MESHSWEEP_SWEEP_FILE_SCHEMA_H
#define MESHSWEEP_SWEEP_FILE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "sweep_file/reading.h"
#include "toml/tree.h"

/* Accepted forms of a value, as bits. */
enum {
    TYPE_STRING = 1,
    TYPE_INT = 2,
    TYPE_FLOAT = 4,
    TYPE_BOOL = 8,
    TYPE_TABLE = 16,
    TYPE_STRINGS = 32, /* a list of strings */
    TYPE_TABLES = 64,  /* a list of tables: [[name]] */
    TYPE_LIST = 128,   /* a list of anything */
    TYPE_NUMBER = TYPE_INT | TYPE_FLOAT,
};

struct schema_key {
    const char *name;
    unsigned types;
    unsigned files; /* FILE_ bits */
    bool required;
};

struct schema {
    const char *title; /* "[job]" */
    const struct schema_key *keys;
    size_t count;
};

enum top_key {
    TOP_PROFILE,
    TOP_INCLUDE,
    TOP_CLUSTER, /* the sections, in the order of enum section_kind */
    TOP_MODEL,
    TOP_TRAINING,
    TOP_PARALLEL,
    TOP_SWEEP,
    TOP_JOB,
    TOP_METRICS,
    TOP_DERIVE,
    TOP_SYNONYM,
    TOP_INERT,
    TOP_RULE,
    TOP_FAILURE,
    TOP_RETRY,
    TOP_DEVICE,
    TOP_MODEL_TYPE,
    TOP_DEEPSPEED,
    TOP_MODEL_SPACE,
    TOP_MODEL_INFO,
    TOP_PREDICT,
    TOP_IMPORT,
    TOP_SEARCH,
    TOP_SLURM,
    TOP_LOCAL,
    TOP_COUNT
};

enum sweep_key {
    SWEEP_NAME,
    SWEEP_DESCRIPTION,
    SWEEP_OBJECTIVE,
    SWEEP_SUBJECT_TO,
    SWEEP_NOTE,
    SWEEP_REPLICATE,
    SWEEP_GROUP_BY,
    SWEEP_LIST_VALUES,
    SWEEP_DISABLE_RULES,
    SWEEP_RULE_SETS,
    SWEEP_SEED,
    SWEEP_SHARE,
    SWEEP_CHECKSUMS,
    SWEEP_COUNT
};

enum job_table_key {
    JOB_COMMAND,
    JOB_ENV,
    JOB_PASS_ENV,
    JOB_VERSIONS,
    JOB_SECRETS,
    JOB_CWD,
    JOB_JOB_DIR,
    JOB_SEPARATE_STREAMS,
    JOB_TIMEOUT,
    JOB_IDLE_TIMEOUT,
    JOB_STARTUP_TIMEOUT,
    JOB_GRACE,
    JOB_REPEAT,
    JOB_METRICS,
    JOB_COUNT
};

/* The first ones say how a metric is read: they are the keys of a fallback too. */
enum metric_key {
    METRIC_REGEX,
    METRIC_KEY,
    METRIC_JSON,
    METRIC_JSONL,
    METRIC_CSV,
    METRIC_FILE,
    METRIC_SCALE,
    METRIC_WRITTEN_UNIT,
    METRIC_NUMERATOR,
    METRIC_SUM,
    METRIC_READER_COUNT,
    METRIC_FALLBACK = METRIC_READER_COUNT,
    METRIC_UNIT,
    METRIC_BETTER,
    METRIC_WARMUP,
    METRIC_TAKE,
    METRIC_MEANS,
    METRIC_RANK,
    METRIC_COUNT
};

/* [metrics.NAME]. */
enum derived_metric_key {
    DERIVED_METRIC_EXPRESSION,
    DERIVED_METRIC_UNIT,
    DERIVED_METRIC_BETTER,
    DERIVED_METRIC_TAKE,
    DERIVED_METRIC_COUNT
};

enum model_info_table_key {
    MODEL_INFO_COMMAND,
    MODEL_INFO_TIMEOUT,
    MODEL_INFO_WITH,
    MODEL_INFO_WITHOUT,
    MODEL_INFO_PARAMS,
    MODEL_INFO_ACTIVATION_MEMORY,
    MODEL_INFO_DEVICE_MEMORY,
    MODEL_INFO_FWD_FLOPS,
    MODEL_INFO_COUNT
};
enum deepspeed_key {
    DEEPSPEED_CONFIG,
    DEEPSPEED_AUTO,
    DEEPSPEED_SECTIONS,
    DEEPSPEED_ARGUMENTS,
    DEEPSPEED_PROFILE_STEPS,
    DEEPSPEED_VERSION,
    DEEPSPEED_COUNT
};
enum rule_key { RULE_NAME, RULE_REQUIRE, RULE_WHEN, RULE_WHY, RULE_SOURCE, RULE_LEVEL, RULE_COUNT };
enum predict_table_key {
    PREDICT_FRAMEWORK,
    PREDICT_DEVICE,
    PREDICT_CLUSTER,
    PREDICT_MEMORY_METRIC,
    PREDICT_TIME_METRIC,
    PREDICT_PRUNE,
    PREDICT_CERTAIN,
    PREDICT_RISKY,
    PREDICT_AUDIT,
    PREDICT_PEAK_FLOPS,
    PREDICT_MEMORY_BANDWIDTH,
    PREDICT_LINK_BANDWIDTH,
    PREDICT_NETWORK_BANDWIDTH,
    PREDICT_NETWORK_LATENCY,
    PREDICT_KEYS,
    PREDICT_MEMORY,
    PREDICT_TIME,
    PREDICT_ORDER,
    PREDICT_COUNT
};

enum import_key {
    IMPORT_STATE,
    IMPORT_DURATION,
    IMPORT_DECIMAL_COMMA,
    IMPORT_STATES,
    IMPORT_REFUSE,
    IMPORT_METRICS,
    IMPORT_CLUSTER, /* the sections, in the order of enum section_kind */
    IMPORT_MODEL,
    IMPORT_TRAINING,
    IMPORT_PARALLEL,
    IMPORT_COUNT
};
enum refuse_key { REFUSE_WHEN, REFUSE_WHY, REFUSE_COUNT };
enum slurm_key {
    SLURM_KEY_PARTITION,
    SLURM_KEY_ACCOUNT,
    SLURM_KEY_QOS,
    SLURM_KEY_CONSTRAINT,
    SLURM_KEY_RESERVATION,
    SLURM_KEY_MEMORY,
    SLURM_KEY_GPU_TYPE,
    SLURM_KEY_GPUS,
    SLURM_KEY_OPTIONS,
    SLURM_KEY_LAUNCHER,
    SLURM_KEY_TASKS_PER_NODE,
    SLURM_KEY_CPUS_PER_TASK,
    SLURM_KEY_ARRAY_SIZE,
    SLURM_KEY_MAX_JOBS,
    SLURM_KEY_POLL,
    SLURM_KEY_ABSENCE,
    SLURM_KEY_MARGIN,
    SLURM_KEY_HEARTBEAT,
    SLURM_KEY_TIMEOUT_FACTOR,
    SLURM_KEY_COUNT
};
enum local_key {
    LOCAL_DEVICES,
    LOCAL_SEVERAL_HOSTS,
    LOCAL_HOSTFILE,
    LOCAL_INCLUDE,
    LOCAL_EXCLUDE,
    LOCAL_EXCLUSIVE,
    LOCAL_BIND_CPUS,
    LOCAL_WAIT_CLEAN,
    LOCAL_DIRTY_MEMORY,
    LOCAL_SAMPLE,
    LOCAL_GIVE_UP,
    LOCAL_REPEAT_THROTTLED,
    LOCAL_COUNT
};

/* [[search.stage]]. */
enum stage_key { STAGE_NAME, STAGE_FREE, STAGE_STRATEGY, STAGE_MAX_TRIALS, STAGE_COUNT };

enum device_key {
    DEVICE_NAME,
    DEVICE_OTHERS,
    DEVICE_SOURCE,
    DEVICE_MEASURED,
    DEVICE_ENGINES,
    DEVICE_DOMAIN,
    DEVICE_PEAK_FLOPS,
    DEVICE_ATTENTION_FLOPS,
    DEVICE_LATEST_ATTENTION_FLOPS,
    DEVICE_FP8_FACTOR,
    DEVICE_FP4_FACTOR,
    DEVICE_FP32_FACTOR,
    DEVICE_PRODUCT_SHARE,
    DEVICE_FP8_SHARE,
    DEVICE_VECTOR_FLOPS,
    DEVICE_MEMORY_BANDWIDTH,
    DEVICE_MEMORY_GIB,
    DEVICE_LINK_BANDWIDTH,
    DEVICE_NETWORK_BANDWIDTH,
    DEVICE_KEY_COUNT
};

enum model_type_key {
    MODEL_TYPE_NAME,
    MODEL_TYPE_LIKE,
    MODEL_TYPE_FAMILY,
    MODEL_TYPE_WINDOWS,
    MODEL_TYPE_KEYS,
    MODEL_TYPE_ALWAYS,
    MODEL_TYPE_ONLY,
    MODEL_TYPE_REFUSED,
    MODEL_TYPE_COUNT
};

enum pattern_key { PATTERN_CLASS, PATTERN_REGEX, PATTERN_SOURCE, PATTERN_COUNT };

/* An entry of [predict.order] that is a table. */
enum order_key { ORDER_KEY_ORDER, ORDER_KEY_WHEN, ORDER_KEY_COUNT };

enum space_table_key {
    SPACE_SEED,
    SPACE_MIXERS,
    SPACE_FEATURES, /* in the order of enum dhen_key */
    SPACE_EMB_DIM,
    SPACE_OUTPUTS,
    SPACE_LAYERS,
    SPACE_TOTAL_MIXERS,
    SPACE_MIXERS_PER_LAYER,
    SPACE_SHARED_WEIGHTS,
    SPACE_KEYS,
    SPACE_WHERE,
    SPACE_FILTER,
    SPACE_BASE,
    SPACE_INCLUDE_BASE,
    SPACE_SAMPLE,
    SPACE_COUNT
};
enum range_key { RANGE_FROM, RANGE_TO, RANGE_STEP, RANGE_FACTOR, RANGE_COUNT };
enum multiset_key {
    MULTISET_KINDS,
    MULTISET_TOTAL,
    MULTISET_PER_LAYER,
    MULTISET_LAYERS,
    MULTISET_LAYERS_KEY,
    MULTISET_COUNT
};
enum filter_key {
    FILTER_NAME,
    FILTER_WHERE,
    FILTER_PRESET,
    FILTER_LAYERS,
    FILTER_TOLERANCE,
    FILTER_MIXER,
    FILTER_COUNT
};
enum sample_key { SAMPLE_TAKE, SAMPLE_EACH, SAMPLE_WHERE, SAMPLE_COUNT };

extern const struct schema schema_deepspeed, schema_model_info;
extern const struct schema schema_top, schema_sweep, schema_job, schema_metric, schema_fallback, schema_derived_metric,
    schema_rule, schema_failure, schema_device, schema_model_type;
extern const struct schema schema_model_space, schema_range, schema_real_range, schema_multiset, schema_filter,
    schema_sample;
extern const struct schema schema_predict, schema_order, schema_import, schema_refuse, schema_slurm, schema_local;
extern const struct schema schema_stage;

/* The tables that people write by hand most, where a key that is out of place is looked for. */
extern const struct schema *const schema_common[];
extern const size_t schema_common_count;

/* Compares a table with its schema: unknown keys (with what may have been meant), keys that this kind of file may
 * not have, wrong types and missing keys (but for one that an unknown key seems to mean) are problems. What they would
 * have named is excused. `found[i]` becomes the value of the i-th key, NULL where it is
 * absent or wrong: what is found has one of the types of its key. */
void schema_match(const struct schema *s, const struct reading *r, const struct toml_node *table,
                  const struct toml_node **found);

/* Whether `node` has one of `types`. */
bool schema_type_fits(const struct toml_node *node, unsigned types);

/* The same; where not, complains that the value of `name` must be of `types`. */
bool schema_expect(const struct reading *r, const struct toml_node *node, const char *name, unsigned types);

/* Complains that the value of `name` must be of `types`. */
void schema_wrong_type(const struct reading *r, const struct toml_node *node, const char *name, unsigned types);

#endif

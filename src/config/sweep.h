/* A sweep file, checked. What `sweep_load` (sweep_file/reader.h) returns has passed every test that needs no database:
 * types, keys, duplicates, durations, sizes, regular expressions, placeholder syntax. Expressions are text here: the
 * space compiles them. Profiles are merged in: their derived keys, rules, metrics, note keys and list values come first
 * and are replaced by name. MEMBERS_OF_JOB are the members that take the values of the keys of [job] (keys.toml), texts
 * NULL and numbers 0 where nothing is said of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "config/failure.h"
#include "config/key_members.h"
#include "config/search_options.h"
#include "config/value.h"
#include "process/environment.h"
#include "secrets/secrets.h"
#include "util/error.h"
#include "util/hash.h"
#include "util/memory.h"

/* The place in a file where something was written, for messages. */
struct position {
    const char *file; /* borrowed from the sweep: one of its `files` */
    int line, column; /* from 1; 0 where there is none */
};

enum section_kind { SECTION_CLUSTER, SECTION_MODEL, SECTION_TRAINING, SECTION_PARALLEL, SECTION_COUNT };

/* "cluster_spec", "model", "training_spec", "parallel_spec": the table names of files, expressions and databases. */
extern const char *const section_names[SECTION_COUNT];

/* The section whose name is the first `length` bytes of `name`; SECTION_COUNT: none. */
enum section_kind section_named(const char *name, size_t length);
/* The same of "section.key", whose "key" is `*key`; with SECTION_COUNT that is the whole text. */
enum section_kind section_split(const char *text, const char **key);

/* One key with its values, or several keys that move together ("(a, b)"). */
struct axis {
    char **keys;
    size_t key_count;
    struct value *values; /* value_count rows of key_count */
    size_t value_count;   /* at least 1 */
    struct position at;
    bool is_from_file; /* by hf_config: nobody wrote it */
    uint32_t *codes;   /* of the rows of a table: which of `values` each is; NULL: they stand there */
};

/* The n-th value, row by row. */
static inline const struct value *axis_value(const struct axis *a, size_t n)
{
    return &a->values[a->codes ? a->codes[n] : n];
}

/* One [[section]] block: the product of its axes, the last axis fastest. */
struct block {
    struct axis *axes;
    size_t axis_count;
    struct position at;
};

/* The bounds of what expressions work on: bytes of a value, and of a spec as JSON; keys of a section. */
#define SPEC_LONGEST (64 << 10)
#define SECTION_MOST_KEYS 1900

struct section {
    struct block *blocks; /* a union, in file order; none: the section is absent */
    size_t block_count;
};

/* Where sweep_next_axis is: at the axes of the sections up to `last`, or of one. */
struct axis_place {
    enum section_kind section, last;
    struct axis *axis;
    size_t block, next;
};
#define AXES_FROM(first) ((struct axis_place){.section = (first), .last = SECTION_COUNT - 1})
#define AXES_OF(kind) ((struct axis_place){.section = (kind), .last = (kind)})

/* [derive] name = "expression". */
struct derived {
    char *name;
    char *expression;
    struct position at;
};

/* [synonym] NAME = ["key", …]: where no spec has NAME, it stands for the first of these that some spec has. */
struct synonym {
    char *name;
    char **keys; /* NULL-terminated */
    struct position at;
};

/* [inert] KEY = "condition": where it is true, the key's value does not count towards identity. */
struct inert {
    char *key;
    char *condition; /* SQL */
    struct position at;
};

/* [was]: what runs had before a key was added, renamed or dropped. */
struct was_key {
    char *name; /* without its section */
    enum was_kind { WAS_ADDED = 1, WAS_RENAMED, WAS_DROPPED } kind;
    enum section_kind section; /* SECTION_COUNT: any, of a dropped key */
    char *text;                /* the value as JSON, of a renamed key its former name */
    struct position at;
};

/* [[rule]]. */
#define RULE_OF_DEVICES "devices.exist" /* what the machine that runs the sweep has no devices for */

struct rule {
    MEMBERS_OF_RULE;
    struct position at;
};

enum reader_kind { READER_REGEX = 1, READER_JSON, READER_JSONL, READER_CSV, READER_FILE, READER_EXPRESSION };
enum take { TAKE_MEDIAN = 1, TAKE_MEAN, TAKE_LAST, TAKE_MAX, TAKE_MIN, TAKE_P90 };

extern const char *const take_names[]; /* indexed by enum take */

/* [job.metrics.NAME]: how one named number is read from what an attempt left. A metric without a reader is one that
 * the job writes to $MESHSWEEP_METRICS itself. [metrics.NAME]: one that is not read but reckoned from others. */
struct metric {
    char *name;
    enum reader_kind reader; /* READER_FILE: from $MESHSWEEP_METRICS */
    char *expression;        /* READER_EXPRESSION: SQL over metrics and keys (measures/measures.h); else NULL */
    char *pattern;           /* READER_REGEX: POSIX extended, first group is the number */
    bool is_key;             /* READER_REGEX: the first group is only its begin, what is written there ends it */
    char *path;      /* READER_JSON, READER_JSONL: dotted path to the number, "results.0.throughput"; "*" is every
                              * element of a list, each with its own "step". READER_CSV: the column's name */
    char *file;      /* all but READER_FILE: file name, relative to the job directory; NULL: the log. With
                              * *, ? or []: the matching file that changed last */
    double scale;    /* what a number that is read is multiplied by; 0: nothing */
    char *numerator; /* "FILE:PATH": the number read is a rate, the sample that number of a JSON file in the job
                              * directory divided by it; without that number there is no sample. NULL: none */
    MEMBERS_OF_HOW_READ;
    /* How it is read where the above finds nothing (only what says how is filled); NULL: none. */
    struct metric *fallback;
    MEMBERS_OF_METRIC;
    bool better_given;
    struct position at;
};

/* Words of a list. */
struct listed_word {
    const char *text;
    struct position at;
};

struct word_list {
    struct listed_word *items;
    size_t count;
};

struct objective {
    char *metric;
    bool maximise;
};

/* NAME = "value with {placeholders}". */
struct setting {
    char *name;
    char *value;
    struct position at;
};

/* An output text that classifies a failure: [[failure]] class = "oom", pattern = "regex". */
struct failure_pattern {
    MEMBERS_OF_FAILURE;
    struct position at;
};

/* A change of one path of a file: set, which the file must have; added, which it may have; left out. */
enum doc_change_kind { DOC_SET = 1, DOC_ADD, DOC_UNSET };

struct file_change {
    enum doc_change_kind kind;
    char *path;
    char *expression; /* SQL; NULL: `value` is it */
    struct value value;
    struct position at;
};

/* [[job.file]]: a file that each job is given. */
struct job_file {
    MEMBERS_OF_JOB_FILE;
    struct file_change *changes; /* sorted by path */
    size_t change_count;
};

/* A command. `words` NULL: there is none. */
struct command_words {
    char **words; /* NULL-terminated */
    bool is_line; /* a line for the shell, the third of its words: values in it are quoted */
    struct position at;
};

struct job_config {
    MEMBERS_OF_JOB;
    MEMBERS_OF_JOB_PROFILE;
    struct setting *environment;
    size_t environment_count;
    char **pass_environment;  /* names (or "HF_*", "*") taken from the runner's environment: process/environment.h */
    struct setting *versions; /* what is asked once a run: name, line for the shell */
    size_t version_count;
    char **secrets; /* names whose values never reach the database; NULL-terminated */
    /* Samples of other steps do not count; 0: no such end. From start_profile_step and end_profile_step of a search.
     * What was asked for is measured with least_step; from there it goes on to last_step while steps are short. */
    int64_t first_step, least_step, last_step;
    struct metric *metrics;
    size_t metric_count;
    struct job_file *files; /* sorted by path */
    size_t file_count;
};

/* [[fixture]]: what several jobs share. A server where `is_server`, else a set-up step, which is to end with 0. */
struct fixture {
    MEMBERS_OF_FIXTURE;
    MEMBERS_OF_READY;
    bool is_server;
    struct setting *environment;
    size_t environment_count;
    struct position at;
};

/* [retry]: attempts allowed per failure class, 0 of what is no failure of a job's own. For `lost`: deaths of its runner
 * or node in a row at which a job ran, after which it runs last; none of them fails it. */
struct retry_policy {
    int64_t attempts[FAILURE_COUNT];
    MEMBERS_OF_RETRY;
};

struct model_space_table; /* config/model_space.h */
/* [predict] prune. What ran out of memory excludes what needs no less ([predict.order]) unless this is PRUNE_OFF; what
 * is predicted excludes under PRUNE_CERTAIN and PRUNE_RISKY only. */
enum prune { PRUNE_CERTAIN = 0, PRUNE_RISKY, PRUNE_SOUND, PRUNE_OFF, PRUNE_COUNT };

/* [predict.order] EXPRESSION = …: how the need of device memory follows a value, all else equal. */
enum order_direction {
    ORDER_RISES = 1, /* a higher value needs no less */
    ORDER_FALLS,     /* a lower value needs no less */
    ORDER_EQUAL,     /* compared only where it is equal; then the keys it reads may differ */
    ORDER_ANY,       /* says nothing about memory */
    ORDER_LISTED,    /* a list of values, each needing no less than the ones before it */
};

struct order_entry {
    char *expression;
    char *when; /* SQL or NULL: where this is not true the entry says nothing, and the keys it reads must be equal */
    enum order_direction direction;
    struct value *levels; /* ORDER_LISTED */
    size_t level_count;
    struct position at;
};

/* [predict.keys] NAME = "expression": what a prediction takes for one of its inputs. */
struct predict_key {
    char *name;
    char *expression;
    bool is_default; /* of a profile that the program carries: where it is NULL the input's own keys count */
    struct position at;
};

/* [[device]]: an accelerator, as configs/knowledge/devices.toml explains its figures. */
struct device {
    const char *name;
    char **others; /* further names, NULL-terminated; NULL: none */
    MEMBERS_OF_DEVICE;
    struct position at;
};

struct device_table {
    struct device *items;
    size_t count;
};

/* [predict.memory] or [predict.time] NAME = number. Names are the predictor's to know. */
struct predict_number {
    char *name;
    double value;
    bool is_time;
    struct position at;
};

/* [predict]. Numbers that are not given are 0, texts NULL. */
struct predict_config {
    bool given;
    bool of_file; /* the sweep file itself has the table, not only a profile */
    MEMBERS_OF_PREDICT;
    struct predict_key *keys;
    size_t key_count;
    struct predict_number *numbers;
    size_t number_count;
    struct order_entry *order;
    size_t order_count;
};

/* [import.SECTION] KEY = "expression" or [import.metrics] NAME = "expression": SQL over the columns of a table. */
struct import_column {
    bool is_metric;
    enum section_kind section; /* where it is not a metric */
    char *name;
    char *expression;
    struct position at;
};

/* [import.states] VALUE = "ok" or a failure class. */
struct import_state {
    char *value;
    char *outcome;
    struct position at;
};

/* [[import.refuse]]: rows for which `when` is true stay out. */
struct import_refusal {
    MEMBERS_OF_REFUSE;
};

/* [import]: how rows of a measured table become jobs. */
struct import_config {
    bool given;
    MEMBERS_OF_IMPORT;
    struct position at;
    struct import_column *columns; /* keys by section, then metrics, in file order */
    size_t column_count;
    struct import_state *states;
    size_t state_count;
    struct import_refusal *refusals;
    size_t refusal_count;
};

/* [[search.stage]]: in it these keys are free, and all others stay as the best so far has them. */
struct search_stage {
    char *name; /* the keys with commas between them, where none is given */
    MEMBERS_OF_STAGE;
};

/* [search]. */
struct search_config {
    bool given;
    struct search_options options; /* nothing given: not set where `given` is false */
    MEMBERS_OF_SEARCH;
    struct search_stage *stages; /* what `options` borrows */
    size_t stage_count;
};

/* [model_info.with] NAME = value. */
struct model_info_key {
    char *name;
    struct value value;
    struct position at;
};

/* [model_info]: see sweep_file/model_info_sweep.h. */
struct model_info_config {
    bool given;
    bool is_job; /* this sweep is the model-information job of another */
    struct position at;
    MEMBERS_OF_MODEL_INFO;
    struct model_info_key *keys;
    size_t key_count;
    double facts[4]; /* by enum model_fact; NAN: not given */
};

/* [deepspeed]: the ds_config.json that each job gets. */
struct deepspeed_settings {
    bool given;
    MEMBERS_OF_DEEPSPEED;
    struct position at;
    int64_t version; /* of DeepSpeed, as parse_release gives it; 0: the newest */
    char **sections; /* sections of the user's own; NULL-terminated */
    /* From which to which step DeepSpeed measures for metrics.json; the third, where it is not 0: up to which it may
     * where steps are short. 0 and 0: it is not asked to. */
    int64_t profile_steps[3];
    struct setting *arguments; /* [deepspeed.arg_mappings]: dotted key of the ds_config, flag of the script */
    size_t argument_count;
};

/* --- [slurm], [executor], [ssh] and [local]: where jobs run --- */

/* Texts that are not given are NULL. Those up to `memory` may also be keys of a cluster_spec, which then count. */
struct batch_config {
    MEMBERS_OF_EXECUTOR;
    MEMBERS_OF_BATCH;
    struct setting *set; /* of [executor.set] */
    size_t set_count;
};

/* Returns whether `memory` is worked out for each attempt (space/build.c). */
static inline bool batch_memory_varies(const struct batch_config *c)
{
    return c->memory && (strstr(c->memory, "attempt") || strstr(c->memory, "last_failure"));
}

/* NULL: not given. */
struct ssh_config {
    MEMBERS_OF_SSH;
};

struct local_config {
    int64_t devices;    /* -1: not given, look for them */
    char *device_names; /* "0,2,5", as given in a list; NULL: numbered from 0 */
    MEMBERS_OF_LOCAL;
};

struct sweep {
    char *path;                   /* as given */
    char *text;                   /* the whole file */
    char **files;                 /* all that was read, NULL-terminated: `path`, then included files, then profiles */
    size_t profile_rank;          /* files[profile_rank] is the first profile */
    char **profile_names;         /* NULL-terminated */
    char *profile_text;           /* texts of included files and of the profiles in force, concatenated */
    struct hash128 hash;          /* of text and profile_text: equal hash, equal sweep */
    char *name;                   /* [sweep] name, or the file's base name without .toml */
    struct objective *objectives; /* first is the one that ranks */
    size_t objective_count;
    /* [sweep] subject_to, what a job must have measured to win: SQL over metrics and keys, in which numbers may have
     * units, "peak_memory <= 70 GiB". */
    struct word_list constraints;
    char **labels; /* keys that do not count towards identity: "name", "description", [sweep] note; NULL-terminated */
    MEMBERS_OF_SWEEP;
    struct word_list groups; /* [sweep] group_by: jobs that differ in one of these are not compared */
    bool groups_given;       /* [sweep] group_by stands there: empty, all jobs are compared */
    char **on_end;           /* [sweep] on_end: a command for the end of a run, NULL-terminated; NULL: none */
    struct section sections[SECTION_COUNT];
    struct derived *derived;
    size_t derived_count;
    struct synonym *synonyms;
    size_t synonym_count;
    struct inert *inert;
    size_t inert_count;
    struct was_key *was;
    size_t was_count;
    struct rule *rules; /* of the profiles, then of the file */
    size_t rule_count;
    struct failure_pattern *failures;
    size_t failure_count;
    struct device_table devices;
    struct job_config job;
    struct fixture *fixtures; /* in file order: a later one may use an earlier one */
    size_t fixture_count;
    struct deepspeed_settings deepspeed;
    struct model_info_config model_info;
    struct retry_policy retry;
    struct model_space_table *model_space; /* NULL: the file has none */
    struct predict_config predict;
    struct search_config search;
    struct import_config import;
    struct batch_config batch, batch_other; /* what counts, [slurm] at first; [executor] */
    struct ssh_config ssh;
    struct local_config local;
    struct arena arena; /* all that the above points to */
};

/* Returns whether `at` lies in a profile. Expressions there may name keys that no spec of the sweep has: those are
 * NULL. */
bool sweep_in_profile(const struct sweep *s, const struct position *at);

bool word_list_has(const struct word_list *list, const char *text);

/* Adds a copy, unless the list has the word. */
void word_list_add(struct arena *p, struct word_list *list, const char *text, struct position at);

/* Adds the key to a block, as an axis with a copy of that value alone. */
struct axis *block_add_key(struct arena *p, struct block *block, const char *key, const struct value *value,
                           struct position at);

/* Returns whether the jobs of the sweep come from measured tables alone ([import]), so that its keys stand in a
 * database and not in the file. */
bool sweep_is_imported(const struct sweep *s);
/* Returns what its jobs get of the runner's environment; borrowed from it. */
struct environment_passing job_passing(const struct job_config *job);

/* NULL when there is none of that name. Borrowed from the job. */
struct metric *job_find_metric(const struct job_config *job, const char *name);

/* The unit of the metric; "" for one that has none and for a name that no metric has. */
const char *sweep_metric_unit(const struct sweep *s, const char *metric);

/* The smallest share of a device that a job takes, by gpus of a cluster_spec and [local] jobs_per_device; 1: each has
 * its devices for itself. */
double sweep_least_share(const struct sweep *s);

/* Returns whether replicate keys or groups are listed, so that a job alone is not the best. */
bool sweep_ranks_configurations(const struct sweep *s);

/* Returns whether `key` is a label (does not count towards identity). */
bool sweep_is_label(const struct sweep *s, const char *key);

/* Returns whether results are means over the key of that section: it is a replicate key. */
bool sweep_is_replicate(const struct sweep *s, enum section_kind kind, const char *key);

/* Goes on to the next axis, in file order; false: there is none. */
bool sweep_next_axis(const struct sweep *s, struct axis_place *at);

/* The axis that has the key; NULL: none. */
const struct axis *block_axis(const struct block *b, const char *key);
bool axis_has(const struct axis *axis, const char *key);

/* Adds what [job] env gives to names that match, what [job] command and the other values of env have behind options
 * that do, and the parts of these around placeholders. From then on `s` knows the names of [job] secrets, which the
 * sweep lends it. */
void declared_secrets_add(struct secrets *s, const struct sweep *sweep);

/* The same of a command that stands in place of the sweep's, as it is written. */
void declared_secrets_add_command(struct secrets *s, char *const *words);

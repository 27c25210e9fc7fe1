/* The tables of a sweep file, each read into its part of `struct sweep`. All of these report to the reading's problems
 * and go on; a second entry of one name replaces that of a profile and is a problem otherwise. */
#pragma once

#include "config/sweep.h"
#include "sweep_file/reading.h"
#include "toml/tree.h"

/* When all files are read: objectives, with the direction of those that were given by a name alone, and labels. */
void finish_objectives(const struct reading *r);
void finish_labels(const struct reading *r);

/* [job.metrics.NAME]: where a profile has the metric too, a table that does not say how it is read changes only what it
 * names; [metrics.NAME]: SQL over others. */
void read_metric(const struct reading *r, const struct toml_node *node);
void read_derived_metric(const struct reading *r, const struct toml_node *node);

/* The words that run a shell line. */
char **shell_command(const struct reading *r, const char *line);

/* A command and a time limit ([job] command, timeout) in place of what `*out` holds. */
void read_command(const struct reading *r, const struct toml_node *node, struct command_words *out);
void read_limit(const struct reading *r, const struct toml_node *node, char **out);

/* [[job.file]]. */
void read_job_file(const struct reading *r, const struct toml_node *table);
void finish_job_files(struct job_config *job);

/* [[fixture]]. A variable of an `env`: its name, and its value as text. */
void read_fixture(const struct reading *r, const struct toml_node *table);
bool check_variable(const struct reading *r, const struct toml_node *node);

/* When all files are read: whether jobs need their own directory. */
void finish_job(struct job_config *job);

/* A key of [derive], a [[rule]], a [[failure]]. */
void read_derived(const struct reading *r, const struct toml_node *node);
void read_rule(const struct reading *r, const struct toml_node *table);
void read_failure(const struct reading *r, const struct toml_node *table);

/* [[device]]. What a row leaves out is as it was of a device of that name. */
void read_device(const struct reading *r, const struct toml_node *table);

/* [[model_type]]. What a row leaves out is as it is of the type that it is like, or of that name. */
void read_model_types(const struct reading *r, const struct toml_node *list);

/* [deepspeed] and [deepspeed.arg_mappings]; the latter is merged key by key. */
void read_deepspeed(const struct reading *r, const struct toml_node *table);

/* Samples up to the step that profile_steps have profiled are warm-up. */
void finish_profile_steps(struct sweep *s);

/* [model_info]; first of all its defaults, and when all files are read: whether it can speak for all models. */
void read_model_info(const struct reading *r, const struct toml_node *table);
void model_info_set_defaults(struct sweep *s);
void check_model_info(const struct reading *r);

/* A name of [synonym], a key of [inert]. */
void read_synonym(const struct reading *r, const struct toml_node *node, const char *name);
void read_inert(const struct reading *r, const struct toml_node *node, const char *key);

/* A key of [was], and when all files are read: whether the sweep has what it says it has, and not what it had. */
void read_was(const struct reading *r, const struct toml_node *node, const char *name);
void check_was(const struct reading *r, const struct word_list *section_keys);

/* [predict] with [predict.keys], [predict.memory] and [predict.time]. */
void read_predict(const struct reading *r, const struct toml_node *table);

/* [import] with [import.SECTION], [import.metrics], [import.states] and [[import.refuse]]. */
void read_import(const struct reading *r, const struct toml_node *table);

/* [local]; first of all defaults, of [slurm] too. */
void read_local(const struct reading *r, const struct toml_node *table);
void executors_set_defaults(struct sweep *s);

/* [search]. A key given before is replaced; `metric` replaces the objectives of [sweep]. */
void read_search(const struct reading *r, const struct toml_node *table);

/* When all files are read: their keys are keys of the sweep, and what a file lists several values of is free in one. */
void check_search_stages(const struct reading *r, const struct word_list *section_keys);

/* A word of `list` that names a key of a section ("seed" or "training_spec.seed"). */
struct listed_key {
    enum section_kind kind;
    const char *key; /* its bare name; borrowed from the word */
};

/* The key that a word names. False after a complaint: no section has it, with what may be meant, or several have. */
bool listed_key_find(const struct reading *r, const struct word_list *section_keys, const char *list,
                     const struct listed_word *word, struct listed_key *out);

/* Puts "training_spec.seed" in the word's place. */
void listed_word_qualify(const struct reading *r, struct listed_word *word, const struct listed_key *key);

/* A list of keys as words, each once; what is not a key is a problem. */
void read_key_names(const struct reading *r, const struct toml_node *list, struct word_list *out);

/* A section: one table or a list of them; its blocks are appended. */
void read_section(const struct reading *r, enum section_kind kind, const struct toml_node *node);

/* When all files are read: keys that differ only in case, constant names used twice, derived keys that are keys too
 * (those of profiles give way), labels and list values that look misspelt. */
void check_sections(const struct reading *r);

/* [model_space]. Where several files have one, that of the sweep file stands in place of a profile's. */
void read_model_space(const struct reading *r, const struct toml_node *table);

#define HF_CONFIG_KEY "hf_config"

/* Those of configs/knowledge/model_types.toml, which are read when they are first asked for. Static. */
const struct hf_type_table *model_types_carried(void);

/* One of step and factor; the other is 0. */
struct number_range {
    int64_t first, step, factor;
    uint64_t count;
};

/* Returns whether a value is meant as a range: a table with `from` or `to`. */
bool range_is_meant(const struct toml_node *node);

/* A range of integers; false after a complaint. */
bool range_read(const struct reading *r, const struct toml_node *node, struct number_range *out);
int64_t range_at(const struct number_range *range, uint64_t position);

/* The ds_config.json of each job: the base file of [deepspeed], overridden by the job's specs. */
#pragma once

#include "config/problems.h"
#include "config/sweep.h"
#include "files/json_text.h"
#include "space/build.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/string_list.h"

struct ds_config;

/* Reads and checks the base file. Adds a problem with file, line and column for a file that cannot be read or is not a
 * JSON object, a duplicate name, a key of zero_optimization that the release does not know, in the specs too (with a
 * suggestion), a key of the specs below a value in the file that is not an object, and arg_mappings with a shell
 * command. Borrows `s`. NULL without [deepspeed]. The caller frees it; if there are problems, only the names in it may
 * be used. */
struct ds_config *ds_config_open(const struct sweep *s, struct problems *problems);
void ds_config_free(struct ds_config *c);

/* Adds a problem if no job has a batch, from the base file or its specs: DeepSpeed refuses that. NULL is allowed. */
void ds_config_need_batch(const struct ds_config *c, struct problems *problems);

/* Lines "FILE:LINE:COLUMN: warning: …" about unknown sections of the base file. Borrowed. NULL for NULL. */
const struct string_list *ds_config_warnings(const struct ds_config *c);

/* Returns what the space needs to know about the base file. Borrowed. NULL for NULL. */
const struct space_base *ds_config_base(const struct ds_config *c);

/* Appends the configuration of one job as JSON. `spec_json` is from struct job_details (space/launch.h). In this order:
 *   the base file, with numbers spelled as there;
 *   keys of training_spec and parallel_spec that begin with a section of a ds_config ("zero_optimization.stage") or
 *   are a [synonym] of such a key ("zero_stage"); tables are merged, so that none of the user's keys are lost;
 *   train_batch_size = train_micro_batch_size_per_gpu x gradient_accumulation_steps x data-parallel size, completed
 *   from the two that are known (if one is known, accumulation is 1); the data-parallel size is `dp` or else all
 *   devices, divided by sequence_parallel_size;
 *   with auto = "resolve", every remaining "auto": the batch as above, bucket sizes from the model's `hidden` as in
 *   Hugging Face Transformers; others are removed, so that DeepSpeed's defaults apply.
 * ERROR_USAGE if the batch contradicts itself. */
int ds_config_render(const struct ds_config *c, const char *spec_json, struct buffer *out, struct error *e);

/* The dotted key of a ds_config where the key of a spec belongs if its value is no table; NULL: nowhere. Borrowed. */
const char *ds_config_place(const struct sweep *s, const char *key);

/* Returns whether the jobs have profile_steps. A ds_config from ds_config_render trains; with profiling added it ends
 * early. */
bool ds_config_is_profiled(const struct ds_config *c);

/* With profile_steps: adds a section "autotuning" that makes DeepSpeed measure the steps up to `last`, print a line for
 * each, write metrics.json into `job_dir` and exit. For a model-information job (sweep_file/model_info_sweep.h): makes
 * it profile the model, write model_info.json there and exit. The base file's own section is for a tuner and is not
 * passed to jobs. Other jobs are not changed. */
int ds_config_add_profiling(const struct ds_config *c, const char *job_dir, int64_t last, struct buffer *text,
                            struct error *e);

/* Samples per step in such a text; 0 if it does not say. */
int64_t ds_config_batch(const char *text);

/* Appends base 64 with "-" and "_", which DeepSpeed accepts as a configuration on the command line. */
void ds_config_add_base64(const char *text, struct buffer *out);

/* Returns the command with the configuration's values. A flag that is present, in any spelling ("--lr 1", "--lr=1", "-"
 * for "_", mapped with or without its dashes), gets the value wherever it occurs. One without a value, such as a
 * switch, becomes "--flag=value" unless the value is true. A missing flag is appended. A key without dots is looked up
 * at the top level, then in the sections, as DeepSpeed's tuner does. Keys that are absent, "auto" or not scalar are
 * skipped. `command` is NULL-terminated. The caller frees the array and its strings. */
char **ds_arguments_map(const struct deepspeed_settings *d, const char *config_json, char *const *command);

/* Returns whether the flag is among the words (NULL-terminated), in any spelling. */
bool ds_arguments_have(char *const *words, const char *flag);

/* The first value of the flag; "true" of a switch; NULL: the flag is not there. Borrowed. */
const char *ds_arguments_value(char *const *words, const char *flag);

/* Finds the index of the word that names the ds_config: the one after --deepspeed_config or --deepspeed, or
 * "FLAG=FILE". ERROR_USAGE if there is none. */
int ds_arguments_find_config(char *const *program, size_t *at, struct error *e);

/* The path in that word; the caller frees it. */
char *ds_arguments_config_path(const char *word);

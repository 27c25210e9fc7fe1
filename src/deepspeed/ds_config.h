/* The ds_config.json of each job: the base file of [deepspeed] under what the job's specs say. */
#ifndef MESHSWEEP_DEEPSPEED_DS_CONFIG_H
#define MESHSWEEP_DEEPSPEED_DS_CONFIG_H

#include "config/problems.h"
#include "config/sweep.h"
#include "deepspeed/json_text.h"
#include "space/build.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/string_list.h"

struct ds_config;

/* Reads and checks the base file. Problems are added, each with file, line and column: a file that cannot be read or is
 * no JSON object, a name given twice, a key of zero_optimization that the release does not know, in the specs too (with
 * what may have been meant), a key of the specs that goes below something in the file that is not an object, and
 * arg_mappings with a command for the shell. `s` is borrowed. NULL without [deepspeed]; the caller's; good for the
 * names that it has alone where there are problems. */
struct ds_config *ds_config_open(const struct sweep *s, struct problems *problems);
void ds_config_free(struct ds_config *c);

/* A problem where no job has a batch, in the base file or by its specs: DeepSpeed refuses that. Nothing of NULL. */
void ds_config_need_batch(const struct ds_config *c, struct problems *problems);

/* What is not an error but worth saying: lines "FILE:LINE:COLUMN: warning: …" about sections of the base file that
 * DeepSpeed does not know. NULL for NULL. Borrowed. */
const struct string_list *ds_config_warnings(const struct ds_config *c);

/* What the space is to know of it; NULL for NULL. Borrowed. */
const struct space_base *ds_config_base(const struct ds_config *c);

/* Appends the configuration of one job as JSON. `spec_json` is struct job_details' (space/launch.h). In this order:
 *   the base file, numbers as they are spelled there;
 *   keys of training_spec and parallel_spec that begin with a section of a ds_config ("zero_optimization.stage"), or
 *   are a [synonym] of such a key ("zero_stage"); tables are laid over, so that nothing of the user's is lost;
 *   train_batch_size = train_micro_batch_size_per_gpu x gradient_accumulation_steps x data-parallel size: completed
 *   from the two that are known (from one: accumulation is 1), where data-parallel size is `dp`, or else all devices,
 *   per sequence_parallel_size;
 *   with auto = "resolve", every "auto" that is left: the batch as above, sizes of buckets from the model's `hidden` as
 *   Hugging Face Transformers does it, others are left out, so that DeepSpeed's defaults hold.
 * Fails (ERROR_USAGE) when the batch contradicts itself. */
int ds_config_render(const struct ds_config *c, const char *spec_json, struct buffer *out, struct error *e);

/* Whether jobs have profile_steps. What ds_config_render makes of these trains; with the profile it ends early. */
bool ds_config_is_profiled(const struct ds_config *c);

/* With profile_steps: has DeepSpeed measure the steps from the first of them to `last`, print a line of each, write
 * metrics.json into `job_dir` and end, through a section "autotuning". Of a model-information job
 * (sweep_file/model_info_sweep.h): has it profile the model, write model_info.json there and end. The base file's
 * section, which is a tuner's, is not a job's. Of other jobs nothing changes. */
int ds_config_add_profiling(const struct ds_config *c, const char *job_dir, int64_t last, struct buffer *text,
                            struct error *e);

/* Samples of a step by such a text; 0: it does not say. */
int64_t ds_config_batch(const char *text);

/* Base 64 with "-" and "_", as DeepSpeed takes a configuration on the command line. */
void ds_config_add_base64(const char *text, struct buffer *out);

#endif

/* [[job.file]]: the files of the jobs, with the values that are set resolved to columns. */
#pragma once

#include <cjson/cJSON.h>

#include "space/space.h"
#include "store/given_files.h"

/* Fills space->files: bases are read, and every path, expression and placeholder that does not resolve is added to
 * `problems`. After the derived keys; an expression becomes one of them, a key alone stays what it is. */
void job_files_compile(struct space *space, struct problems *problems);
void job_files_free_all(struct space *space);

/* Appends what counts to a job's identity: values, not layout. `values`: one per space->placeholders. */
void job_files_add_identity(const struct space *space, const struct value *values, struct buffer *out);

/* Adds what the files of all jobs have in common, for space_hash(). */
void job_files_add_common(const struct space *space, struct buffer *out);

/* {"config.yaml": "base.yaml <hash>", "config.yaml: data.batch_size": "{micro_batch}", …}: for identity_parts(). */
void job_files_add_parts(const struct space *space, cJSON *parts);

/* Appends the files of one attempt to `out`. `runtime` as launch_texts_render(). */
int job_files_render(const struct space *space, const struct value *values, const char *const *runtime,
                     struct given_files *out, struct error *e);

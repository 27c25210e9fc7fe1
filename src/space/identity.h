/* The identity of a job: its content, never its position or name. */
#pragma once

#include <cjson/cJSON.h>

#include "space/space.h"
#include "store/job_writer.h"
#include "util/hash.h"

/* XXH3-128 of, in this order: the four spec hashes (zeros where a section is absent), the derived keys that are made
 * from labels, and the command, environment and directory as rendered, runtime names left as they are, and the hash of
 * the base. `hashes` are 16 bytes each or NULL; what is inert (space/space.h) is neither in them nor in `values`.
 * `scratch` is reused between calls. */
struct hash128 identity_job_key(const struct space *space, const void *const *hashes, const struct value *values,
                                const struct value *derived, struct buffer *scratch);

/* Appends the part of that which jobs are given: their command, environment and directory. */
void identity_add_given(const struct space *space, const struct value *values, struct buffer *out);

/* The row of a spec in results.db, from its identity (specs_hash) and its JSON with labels. `json` is borrowed. */
struct spec_row identity_spec_row(const struct space *space, enum section_kind section, const void *hash16,
                                  const char *json);

/* Returns whether specs of the section that differ in a label alone may make different jobs. */
bool identity_counts_labels(const struct space *space, enum section_kind section);

/* Returns what keys are made of beside specs, as it is written and without secrets: {"command": […], "env": {…}, "cwd":
 * "…", "file": {…}, "ds_config": "hash", "derive": {…}, "inert": {…}, "note": […]}. The caller's. */
cJSON *identity_parts(const struct space *space);

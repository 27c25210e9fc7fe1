/* The identity of a job: its content, never its position or name. */
#ifndef MESHSWEEP_SPACE_IDENTITY_H
#define MESHSWEEP_SPACE_IDENTITY_H

#include "space/space.h"
#include "store/job_writer.h"
#include "util/hash.h"

/* XXH3-128 of, in this order: the four spec hashes (zeros where a section is absent), the derived keys that are made
 * from labels, and the command, environment and directory as rendered, runtime names left as they are, and the hash of
 * the base. `hashes` are 16 bytes each or NULL; what is inert (space/space.h) is neither in them nor in `values`.
 * `scratch` is reused between calls. */
struct hash128 identity_job_key(const struct space *space, const void *const *hashes, const struct value *values,
                                const struct value *derived, struct buffer *scratch);

/* The row of a spec in results.db, from "#hash" and "#json" of its section's table. `json` is borrowed. */
struct spec_row identity_spec_row(const struct space *space, enum section_kind section, const void *hash16,
                                  const char *json);

#endif

/* Jobs of a database, read as if the sweep file had their specs: jobs from before the file was changed. */
#pragma once

#include "space/space.h"
#include "util/hash.h"

/* Borrowed. A section that the job has no spec of is NULL. */
struct stored_job {
    struct hash128 key;
    const char *json[SECTION_COUNT]; /* specs as canonical JSON */
    const void *hash[SECTION_COUNT]; /* theirs, 16 bytes */
};

struct job_specs;
struct stored_job stored_of(const struct job_specs *row); /* borrows what it does */

/* Returns whether the sweep knows every key of the job's specs: nobody could say what another key means. */
bool stored_is_known(const struct space *space, const struct stored_job *job);

/* Appends "FROM …" with one row of each section that the space has: a spec of the job, from the SQL that its JSON is
 * by section; NULL: what stored_bind() binds. */
void stored_add_from(const struct space *space, const char *const *json, struct buffer *sql);
void stored_bind(struct stmt *s, const struct space *space, const struct stored_job *job);

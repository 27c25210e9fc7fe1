/* A job of a database with its specs. */
#pragma once

#include <stdint.h>

#include "database/db.h"

#define JOB_SPECS 4

/* All borrowed from the row. */
struct job_specs {
    int64_t job_id;
    const void *key;             /* 16 bytes */
    const char *json[JOB_SPECS]; /* in the order of enum section_kind; NULL: none */
    const void *hash[JOB_SPECS]; /* without labels */
};

/* Columns and joins of a query over job AS j, of which they are the first. */
#define JOB_SPECS_COLUMNS                                                                                              \
    "j.id, j.key, a.json, b.json, c.json, d.json,"                                                                     \
    " coalesce(a.identity, a.hash), coalesce(b.identity, b.hash), coalesce(c.identity, c.hash),"                       \
    " coalesce(d.identity, d.hash)"
#define JOB_SPECS_JOINS                                                                                                \
    " LEFT JOIN spec AS a ON a.id = j.cluster_id LEFT JOIN spec AS b ON b.id = j.model_id"                             \
    " LEFT JOIN spec AS c ON c.id = j.training_id LEFT JOIN spec AS d ON d.id = j.parallel_id"
#define JOB_SPECS_END (2 + 2 * JOB_SPECS) /* the first column after them */

void job_specs_read(const struct stmt *s, struct job_specs *out);

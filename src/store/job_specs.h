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
    "j.id, j.key, c.json, m.json, t.json, p.json,"                                                                     \
    " coalesce(c.identity, c.hash), coalesce(m.identity, m.hash), coalesce(t.identity, t.hash),"                       \
    " coalesce(p.identity, p.hash)"
#define JOB_SPECS_JOINS                                                                                                \
    " LEFT JOIN spec AS c ON c.id = j.cluster_id LEFT JOIN spec AS m ON m.id = j.model_id"                             \
    " LEFT JOIN spec AS t ON t.id = j.training_id LEFT JOIN spec AS p ON p.id = j.parallel_id"
#define JOB_SPECS_END (2 + 2 * JOB_SPECS) /* the first column after them */

void job_specs_read(const struct stmt *s, struct job_specs *out);

/* The specs' JSON under those joins: "c.json", … */
extern const char *const job_spec_columns[JOB_SPECS];

/* A job's specs, and all keys of its combination as the job is given them in MESHSWEEP_SPEC. */
#define JOB_SPECS_FROM_SQL " FROM job AS j" JOB_SPECS_JOINS
#define JOB_SPEC_SQL                                                                                                   \
    "json_object('cluster_spec', json(c.json), 'model', json(m.json), 'training_spec', json(t.json), 'parallel_spec'," \
    " json(p.json), 'derived', json(j.derived))"

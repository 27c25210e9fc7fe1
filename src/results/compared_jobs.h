/* The jobs of the current sweep, read once for comparisons by any number of keys. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/sweep.h"
#include "database/db.h"
#include "util/hash.h"

/* Distinct texts, numbered from 0 in the order in which they were added. */
struct texts {
    char **items; /* indexed by number */
    size_t count;
    struct hash_index numbers;
};

#define TEXTS_INIT ((struct texts){NULL, 0, HASH_INDEX_INIT})

/* The number of a text. A new text is copied. */
uint32_t texts_number(struct texts *t, const char *text);
void texts_free(struct texts *t);

/* A 128-bit hash of a set of parts: the sum of the parts' hashes, so that parts can be taken out again. */
struct compared_identity {
    uint64_t low, high;
};

struct compared_key {
    char *name;
    bool is_replicate, is_label; /* [sweep] replicate; "name" and "description" */
    uint32_t *values;            /* by spec: 1 + the number of its text; 0: the spec does not have the key */
    size_t distinct;             /* distinct values */
    bool *quoted;                /* by spec: whether the value is a string ("1" is not 1) */
    uint32_t last;               /* the number of the text that was read last */
};

struct compared_section {
    int64_t *ids; /* of its specs, ascending */
    size_t spec_count;
    struct compared_key *keys;
    size_t key_count;
    uint32_t *labels; /* by spec, like a key's values: its name or else its JSON; NULL until
                         compared_jobs_read_labels */
};

enum compared_state { COMPARED_OPEN = 1, COMPARED_FAILED, COMPARED_OK };

#define COMPARED_NO_SPEC UINT32_MAX

/* There may be a million of these, so each is to have few bytes. */
struct compared_job {
    int64_t id;
    double value;                  /* of the metric; NAN: none */
    uint32_t specs[SECTION_COUNT]; /* indices into the sections, or COMPARED_NO_SPEC */
    uint32_t batch;                /* the text number of its derived global batch */
    enum compared_state state;
};

struct compared_jobs {
    struct compared_section sections[SECTION_COUNT];
    struct compared_job *jobs; /* sorted by id */
    size_t count;
    struct texts texts;
};

/* NULL if no spec of the section has the key. */
const struct compared_key *compared_key_named(const struct compared_section *s, const char *name);

/* Reads the jobs with their values of the metric. Free `*out` with compared_jobs_free. */
int compared_jobs_read(struct db *db, const char *metric, struct compared_jobs *out, struct error *e);

/* Reads the newest `most` jobs from that one on that ended, without values, batches and what is said of keys: two
 * values may have the text "1", a number and a string. */
int compared_jobs_read_ended(struct db *db, int64_t sweep_id, int64_t from_job, int64_t most, struct compared_jobs *out,
                             struct error *e);

/* Reads the labels of the specs of a section. */
int compared_jobs_read_labels(struct db *db, struct compared_jobs *jobs, enum section_kind kind, struct error *e);

/* The identity of a spec without the keys marked in `removed`. */
struct compared_identity compared_spec_identity(const struct compared_jobs *jobs, enum section_kind kind, size_t spec,
                                                const bool *removed);

/* The identity of one number in one place. */
struct compared_identity compared_identity_of(uint64_t place, uint64_t number);
void compared_identity_add(struct compared_identity *to, struct compared_identity part);
int compared_identity_order(const struct compared_identity *a, const struct compared_identity *b);

void compared_jobs_free(struct compared_jobs *jobs);

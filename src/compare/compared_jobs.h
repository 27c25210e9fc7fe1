/* The jobs of the current sweep for comparisons: read once for any number of keys. */
#ifndef MESHSWEEP_COMPARE_COMPARED_JOBS_H
#define MESHSWEEP_COMPARE_COMPARED_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compare/texts.h"
#include "database/db.h"

/* 128 bits that stand for what is equal: sums of those of its parts, so that parts can be taken away again. */
struct compared_identity {
    uint64_t low, high;
};

struct compared_key {
    char *name;
    bool is_replicate, is_label; /* [sweep] replicate; "name" and "description" */
    uint32_t *values;            /* by spec: the number of its text + 1; 0: it has no such key */
    size_t distinct;             /* values */
    bool *quoted;                /* by spec: "1" is not 1 */
};

enum compared_kind { COMPARED_CLUSTER, COMPARED_MODEL, COMPARED_TRAINING, COMPARED_PARALLEL, COMPARED_SECTIONS };

struct compared_section {
    int64_t *ids; /* of its specs, ascending */
    size_t spec_count;
    struct compared_key *keys;
    size_t key_count;
    uint32_t *labels; /* by spec, as a key's values: its name or else its JSON; NULL until asked for */
};

enum compared_state { COMPARED_OPEN = 1, COMPARED_FAILED, COMPARED_OK };

struct compared_job {
    int64_t id;
    size_t specs[COMPARED_SECTIONS]; /* their places in the sections; SIZE_MAX: none */
    uint32_t batch;                  /* the number of its derived global batch's text */
    enum compared_state state;
    bool has_value; /* of the metric */
    double value;
};

struct compared_jobs {
    struct compared_section sections[COMPARED_SECTIONS];
    struct compared_job *jobs; /* by id */
    size_t count;
    struct texts texts;
};

/* "model", and SQL for the column of `job` that refers to it. */
extern const char *const compared_names[COMPARED_SECTIONS];

/* The section of so many bytes of a name, or COMPARED_SECTIONS. */
enum compared_kind compared_section_named(const char *name, size_t length);

/* NULL: no spec of the section has it. */
const struct compared_key *compared_key_named(const struct compared_section *s, const char *name);

/* With the values of the metric. `*out` is the caller's: compared_jobs_free. */
int compared_jobs_read(struct db *db, const char *metric, struct compared_jobs *out, struct error *e);

/* What whole specs of a section are called. */
int compared_jobs_read_labels(struct db *db, struct compared_jobs *jobs, enum compared_kind kind, struct error *e);

/* Of a spec but for the keys that `removed` marks. */
struct compared_identity compared_spec_identity(const struct compared_jobs *jobs, enum compared_kind kind, size_t spec,
                                                const bool *removed);

/* Of one number in one place. */
struct compared_identity compared_identity_of(uint64_t place, uint64_t number);
void compared_identity_add(struct compared_identity *to, struct compared_identity part);
int compared_identity_order(const struct compared_identity *a, const struct compared_identity *b);

void compared_jobs_free(struct compared_jobs *jobs);

#endif

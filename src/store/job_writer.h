/* Specs and jobs in bulk. Inside the caller's write transaction. */
#pragma once

#include "config/sweep.h"
#include "database/db.h"
#include "util/hash.h"

struct spec_row {
    struct hash128 hash;     /* equal hash, equal spec: of the content, and of labels where a job's texts read one */
    struct hash128 identity; /* of the content alone: what job keys are made from */
    const char *json;        /* labels included */
};

/* One at a time for a database. */
struct job_writer;
int job_writer_create(struct db *db, int64_t sweep_id, struct job_writer **out, struct error *e);
void job_writer_free(struct job_writer *w);

/* For a database whose jobs, if there are any, are this writer's: `jobs` are coming that do not exist, no two of which
 * have one key, and each of their specs is put once, unless it was put before. Where they are many, job_writer_finish
 * indexes both all at once, which takes half of the time; until then references are not to be checked. */
int job_writer_expect(struct job_writer *w, int64_t jobs, struct error *e);
/* They have ended: id, failure and attempt_id of rows count. `are_alone`: as for job_writer_expect, of whose specs
 * `has_distinct_specs` tells the same; else some may be there. */
int job_writer_expect_ended(struct job_writer *w, int64_t jobs, bool are_alone, bool has_distinct_specs,
                            struct error *e);

/* The id of that spec; made when it is new, its name and labels brought up to date when not. */
int job_writer_put_spec(struct job_writer *w, enum section_kind kind, const struct spec_row *row, int64_t *id,
                        struct error *e);

struct job_row {
    struct hash128 key;
    int64_t rank;
    int64_t spec_ids[SECTION_COUNT]; /* 0: none */
    const char *derived_json;        /* NULL: none */
    int64_t devices;
    int64_t timeout_ms, idle_timeout_ms, startup_timeout_ms; /* 0: none */
    double predicted_memory, predicted_time;                 /* bytes, seconds; NaN: not predicted */
    const char *predicted_memory_of;                         /* whose memory; lives as long as the writer. NULL: none */
    int64_t risk;                                            /* enum oom_verdict; 0: not predicted */
    int64_t priority;                                        /* lower ones run first */
    bool is_audit;
    /* job_writer_expect_ended: */
    int64_t id;          /* 0: it is there */
    const char *failure; /* NULL: ok. Lives as long as the writer */
    int64_t attempt_id;
};

/* Makes the job, or takes the one with that key over into the sweep: its state stays. The row is copied, and put in
 * together with others, by job_writer_finish at the latest. */
int job_writer_put(struct job_writer *w, const struct job_row *row, struct error *e);

/* Puts in what was not put in yet; `*new_jobs` gets how many jobs were made since the last call. */
int job_writer_finish(struct job_writer *w, int64_t *new_jobs, struct error *e);

/* Sweeps as recorded: what was asked for, its rules and what they removed. Every function runs inside the caller's
 * write transaction unless it says otherwise. */
#pragma once

#include "config/sweep.h"
#include "database/db.h"
#include "sweep_file/model_info_sweep.h"

struct sweep_counts {
    int64_t combinations, matched, duplicates, jobs;
};

struct sweep_identity {
    struct hash128 hash;    /* equal hash, equal sweep */
    struct hash128 content; /* what was asked for, whatever the machine that runs it excludes; merging joins these */
};

/* Finds or makes the row with that hash, makes it the current one (last_seen, and the path that it has now). */
int sweep_record(struct db *db, const struct sweep *s, const struct sweep_identity *identity, int64_t *id,
                 struct error *e);

/* Finds whether every job of it stands in the table job: it was enumerated once and none was deleted or taken over
 * since (the table's triggers watch). `*counts` is filled when so. */
int sweep_is_enumerated(struct db *db, int64_t id, bool *yes, struct sweep_counts *counts, struct error *e);

/* Marks it enumerated, or notes that only some jobs of it stand there: then no duplicates are reported. `*counts` has
 * combinations and matched, and jobs where they are known, else -1: then they are counted from the table. Gets the
 * rest. */
int sweep_set_counts(struct db *db, int64_t id, struct sweep_counts *counts, bool is_enumerated, struct error *e);

/* The sweep that was asked for last; texts are the caller's. ERROR_NOTHING where none was recorded. A read: needs no
 * transaction. */
int sweep_read_current(struct db *db, int64_t *id, char **path, char **text, struct error *e);

/* Reads where the file of the current sweep was: its path as it was given, and the directory that the last runner was
 * in (NULL: not known), which a relative path starts from. Both are the caller's; NULL where no sweep was recorded.
 * A read. */
int sweep_read_place(struct db *db, char **path, char **directory, struct error *e);

/* Finds whether the current sweep was recorded with the texts that `s` has: its file, what that includes, and its
 * profiles. A read. */
int sweep_is_as_recorded(struct db *db, const struct sweep *s, bool *yes, struct error *e);

struct rule_row {
    const char *name, *require, *reason, *source;
    bool warning;
    int64_t excluded;
    int64_t alone; /* -1: not counted */
};

/* Forgets the rules and exclusions of the sweep, then writes these. */
int sweep_record_rules(struct db *db, int64_t id, const struct rule_row *rules, size_t count, struct error *e);

int sweep_record_exclusion(struct db *db, int64_t id, size_t rule, int64_t rank, const char *values_json,
                           struct error *e);

/* --- facts of models --- */

/* SQL over `job`: those of sweeps that somebody asked for, as opposed to model-information jobs. */
#define JOBS_ASKED_FOR "sweep_id NOT IN (SELECT id FROM sweep WHERE role IS NOT NULL)"

struct model_facts {
    double values[FACT_COUNT]; /* NAN: not known */
    int64_t job_id;            /* of the model-information job; 0: there is none */
    char *failure, *message;   /* why it has found nothing; NULL: it has, or has not run */
    char *rule;                /* which excludes its combination; NULL: none */
    char *stages;              /* JSON: what they mean for each ZeRO stage (cli/model_info_job.h); NULL: nothing */
};

/* Those given in the file. Released with model_facts_free. */
struct model_facts model_facts_given(const struct sweep *s);
void model_facts_free(struct model_facts *f);

bool model_facts_known(const struct model_facts *f); /* params at least */

/* Fills in what the file does not give from the job of the sweep with that hash, if it was recorded and has ended. */
int model_facts_read(struct db *db, const struct hash128 *hash, struct model_facts *f, struct error *e);

/* Adds one that the job did not say itself to what its attempt measured. Runs in its own transaction. */
int model_facts_note(struct db *db, const struct model_facts *f, enum model_fact fact, double value, struct error *e);

/* {"params": …, "job": …, "failure": …, "message": …, "stages": […]}, only what is known. The caller's. */
char *model_facts_json(const struct model_facts *f);

/* Records them with a sweep. Runs in its own transaction. */
int model_facts_record(struct db *db, int64_t sweep_id, const struct model_facts *f, struct error *e);

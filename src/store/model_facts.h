/* Facts of a model (sweep_file/model_info_sweep.h) as a model-information job left them, and as a sweep was run with
 * them. */
#pragma once

#include "database/db.h"
#include "sweep_file/model_info_sweep.h"

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

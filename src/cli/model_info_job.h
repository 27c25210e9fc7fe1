/* The model-information job of a sweep ([model_info]): a sweep of one job in the same database, run before the sweep
 * itself, whose facts the sweep's space is then built with. */
#ifndef MESHSWEEP_CLI_MODEL_INFO_JOB_H
#define MESHSWEEP_CLI_MODEL_INFO_JOB_H

#include "cli/session.h"
#include "store/model_facts.h"

/* The session of that job, released with session_close; only where model_info_wants_job(). */
int model_info_open(const struct session *s, struct session *job, struct error *e);

/* What the file says, and what the job has found in `db` (NULL: there is none). The caller's: model_facts_free. */
int model_info_gather(const struct session *s, struct db *db, struct model_facts *out, struct error *e);

/* Builds the space of the session anew with these facts, where there are any. */
int model_info_apply(struct session *s, const struct model_facts *f, struct error *e);

/* The two for what is known already. */
int model_info_use_known(struct session *s, struct db *db, struct error *e);

/* Says why the job has found nothing, where that is so. */
void model_info_explain(const struct model_facts *f);

#endif

/* The model-information job of a sweep ([model_info]): a sweep of one job in the same database that runs first. The
 * space of the sweep is then built with the facts that it found. */
#ifndef MESHSWEEP_CLI_MODEL_INFO_JOB_H
#define MESHSWEEP_CLI_MODEL_INFO_JOB_H

#include "cli/session.h"
#include "store/model_facts.h"

/* Opens the session of that job, to be released with session_close; only if model_info_wants_job(). */
int model_info_open(const struct session *s, struct session *job, struct error *e);

/* Facts from the sweep file and those that the job recorded in `db` (may be NULL). The caller's: model_facts_free. */
int model_info_gather(const struct session *s, struct db *db, struct model_facts *out, struct error *e);

/* Rebuilds the space of the session with these facts, if there are any. */
int model_info_apply(struct session *s, const struct model_facts *f, struct error *e);

/* Both for facts that are known already. */
int model_info_use_known(struct session *s, struct db *db, struct error *e);

/* Says why the job found nothing, if so. */
void model_info_explain(const struct model_facts *f);

#endif

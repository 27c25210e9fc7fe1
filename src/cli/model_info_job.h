/* The model-information job of a sweep ([model_info]): a sweep of one job in the same database that runs first. The
 * space of the sweep is then built with the facts that it found. */
#pragma once

#include "cli/session.h"
#include "results/json.h"
#include "store/sweeps.h"

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

/* Works out what the facts mean for each ZeRO stage that the sweep names, into f->stages: [{"zero_stage",
 * "state_bytes": of a device, without activations, "micro_batch": the largest that fits, "rule", "reason": which leaves
 * nothing of it}], each by the stage's first combination; null where it is not known, or no such thing. NULL without
 * [model_info] or such a key. */
int model_info_find_stages(struct session *s, struct model_facts *f, struct error *e);

/* Says what is known: "3.35e+08 parameters, 309 MiB of activations per sample", and a line of each ZeRO stage. */
void model_info_tell(const struct model_facts *f);

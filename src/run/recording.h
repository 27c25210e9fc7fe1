/* From how a process ended and what it left to what stands in the database. */
#ifndef MESHSWEEP_RUN_RECORDING_H
#define MESHSWEEP_RUN_RECORDING_H

#include "config/secrets.h"
#include "run/classify.h"
#include "run/readers.h"
#include "run/supervisor.h"
#include "store/attempts.h"

#define TAIL_BYTES 4096 /* of an attempt's output kept in the database */

struct recording_context {
    const struct sweep *sweep;
    const struct reader_set *readers;
    const struct classifier *classifier;
    const struct secrets *secrets; /* redacted in the message and the output's end */
    const char *job_dir;
};

/* Everything that an attempt's end comes to. */
struct recording {
    struct verdict verdict;
    const char *failure; /* the verdict's class; NULL: ok */
    struct sample_list samples;
    struct attempt_end end; /* without ids and directory; texts owned by the recording */
    bool kept_files;
    bool has_objective;
    double objective;
    int64_t counted_steps; /* samples of the objective behind it */
    int64_t duration_ms;
    const struct sweep *sweep;
    enum job_fate fate; /* after recording_store */
};

void recording_make(const struct recording_context *context, const struct outcome *outcome, struct recording *out);

/* Writes samples, summaries, the attempt and the job's new state; inside the caller's transaction. Nothing (FATE_GONE)
 * when the attempt was deleted while it ran. */
int recording_store(struct attempt_store *store, const struct claim *claim, const char *directory, struct recording *r,
                    struct error *e);
void recording_free(struct recording *r);

#endif

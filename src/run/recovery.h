/* What a dead runner left: its processes first, then its files, then its rows. */
#ifndef MESHSWEEP_RUN_RECOVERY_H
#define MESHSWEEP_RUN_RECOVERY_H

#include "run/executor.h"
#include "run/runner.h"
#include "secrets/secrets.h"

/* The processes and files of a runner that died without a word; `*after_death` says whether there was one. What stands
 * in the directory of slots otherwise, of another database's runner say, is removed. Before this one is recorded and
 * before anything is started. */
int recovery_clean(const struct runner_options *options, const char *scratch, const struct secrets *secrets,
                   bool *after_death, struct error *e);

/* Records this process as a runner. */
int recovery_record_runner(const struct runner_options *options, int64_t *runner_id, struct error *e);

/* Ends attempts that nobody holds, `left` that were taken excepted: those are the runner's now. Jobs that are due again
 * become pending. Fills `recovered` and `requeued` of the result. */
int recovery_rows(const struct runner_options *options, int64_t runner_id, const struct recovered_attempts *left,
                  struct run_result *result, struct error *e);

#endif

/* Small jobs by which a batch system, or the file that describes it, is tried. */
#ifndef MESHSWEEP_ANSWERS_EXECUTOR_TRIAL_H
#define MESHSWEEP_ANSWERS_EXECUTOR_TRIAL_H

#include "batch/system.h"
#include "config/executors.h"

/* Where, how, and what comes of it. */
struct batch_trial {
    struct batch_system *system;
    const struct batch_config *config; /* the queue, the account and so on */
    char *const *environment;          /* the runner's */
    const char *directory;             /* new, and seen by the nodes */
    int64_t most_ms;                   /* for all of them */
    struct buffer out;                 /* lines: what each witness said */
};

/* Submits true, false, a sleep that it cancels and a job with a wrong option, and watches them. Returns how many did
 * not go as they should; then their files stay. */
int batch_trial_run(struct batch_trial *t, struct error *e);

#endif

/* Fault points: named places around every step that must survive a kill, where a test build dies as if by `kill -9`.
 *
 * Configured with --enable-faults, the program reads MESHSWEEP_FAULT=NAME[:N] and kills itself with SIGKILL when it
 * passes that point for the Nth time (the first by default). Otherwise FAULT() is nothing at all.
 * tests/cli/test_faults.sh visits every point, starts again, and compares with an undisturbed run. */
#pragma once

#include "util/error.h"

/* Constant, name. In the order in which a run passes them. */
#define FAULT_POINTS(X)                                                                                                \
    /* database/open.c: the file, its schema, the data of the program in it */                                         \
    X(LOCKED, "locked")                                                                                                \
    X(MIGRATION_APPLIED, "migration-applied")                                                                          \
    X(MIGRATED, "migrated")                                                                                            \
    X(DATA_REFRESHED, "data-refreshed")                                                                                \
    X(OPENED, "opened")                                                                                                \
    /* space/enumerate.c: the jobs of a sweep file, in one transaction */                                              \
    X(SWEEP_RECORDED, "sweep-recorded")                                                                                \
    X(JOB_ENUMERATED, "job-enumerated")                                                                                \
    X(ENUMERATED, "enumerated")                                                                                        \
    X(ENUMERATION_COMMITTED, "enumeration-committed")                                                                  \
    /* results/views.c */                                                                                              \
    X(VIEWS_REPLACED, "views-replaced")                                                                                \
    /* measures/definitions.c: what was measured before, under the definitions of now, in one transaction */           \
    X(NUMBERS_RENEWED, "numbers-renewed")                                                                              \
    /* run/recovery.c, store/attempts.c: what a dead runner left */                                                    \
    X(OUTPUT_RECOVERED, "output-recovered")                                                                            \
    X(RUNNER_RECORDED, "runner-recorded")                                                                              \
    X(ATTEMPTS_RECOVERED, "attempts-recovered")                                                                        \
    X(JOBS_RECOVERED, "jobs-recovered")                                                                                \
    X(REQUEUED, "requeued")                                                                                            \
    X(RECOVERED, "recovered")                                                                                          \
    /* a claim: attempt made, job running, committed, only then started */                                             \
    X(ATTEMPT_CLAIMED, "attempt-claimed")                                                                              \
    X(JOB_CLAIMED, "job-claimed")                                                                                      \
    /* fixture/fixtures.c: a fixture's row, then its process */                                                        \
    X(FIXTURE_RECORDED, "fixture-recorded")                                                                            \
    X(FIXTURE_STARTED, "fixture-started")                                                                              \
    X(SPAWNED, "spawned")                                                                                              \
    X(START_WRITTEN, "start-written")                                                                                  \
    /* store/trials.c: what a search decided, in the transaction of its claim; what came of it, in that of its end */  \
    X(TRIAL_ASKED, "trial-asked")                                                                                      \
    X(TRIAL_TOLD, "trial-told")                                                                                        \
    /* slurm/submit.c: a batch's directory, sbatch, its answer */                                                      \
    X(SUBMISSION_WRITTEN, "submission-written")                                                                        \
    X(SUBMITTED, "submitted")                                                                                          \
    X(SUBMISSION_RECORDED, "submission-recorded")                                                                      \
    /* batch/fetch.c: what a job printed, into its files; its result behind them */                                    \
    X(FRAME_WRITTEN, "frame-written")                                                                                  \
    X(RESULT_FETCHED, "result-fetched")                                                                                \
    /* the end of a job's processes, and its files */                                                                  \
    X(TREE_TERMINATED, "tree-terminated")                                                                              \
    X(LOG_KEPT, "log-kept")                                                                                            \
    X(OUTCOME_TAKEN, "outcome-taken")                                                                                  \
    X(OUTCOME_READ, "outcome-read")                                                                                    \
    /* the record of an end, announced only once it is committed */                                                    \
    X(SAMPLES_WRITTEN, "samples-written")                                                                              \
    X(ATTEMPT_ENDED, "attempt-ended")                                                                                  \
    X(JOB_FINISHED, "job-finished")                                                                                    \
    X(BATCH_WRITTEN, "batch-written")                                                                                  \
    X(BATCH_COMMITTED, "batch-committed")                                                                              \
    X(ANNOUNCED, "announced")                                                                                          \
    /* process/archived_file.c: a file is compressed, takes its place, and what it was made of goes */                 \
    X(ARCHIVE_WRITTEN, "archive-written")                                                                              \
    X(ARCHIVE_RENAMED, "archive-renamed")                                                                              \
    X(ARCHIVE_REMOVED, "archive-removed")                                                                              \
    /* commands/archive.c: samples of a job are compressed, that is committed; the file gives back what is free */     \
    X(ARCHIVE_PACKED, "archive-packed")                                                                                \
    X(ARCHIVE_COMMITTED, "archive-committed")                                                                          \
    X(ARCHIVE_VACUUMED, "archive-vacuumed")                                                                            \
    /* leaving */                                                                                                      \
    X(CLAIM_RELEASED, "claim-released")                                                                                \
    X(CLAIMS_RELEASED, "claims-released")                                                                              \
    X(RUNNER_ENDED, "runner-ended")                                                                                    \
    X(CLOSING, "closing")                                                                                              \
    /* util/file.c: a file that is whole or not there */                                                               \
    X(FILE_WRITTEN, "file-written")                                                                                    \
    X(FILE_LINKED, "file-linked")                                                                                      \
    X(FILE_RENAMED, "file-renamed")

enum fault_point {
    FAULT_NONE = 0,
#define FAULT_CONSTANT(constant, name) FAULT_##constant,
    FAULT_POINTS(FAULT_CONSTANT)
#undef FAULT_CONSTANT
        FAULT_COUNT
};

/* [FAULT_NONE] is NULL. */
extern const char *const fault_names[FAULT_COUNT];

/* Sets the point at which to die, from "NAME" or "NAME:N". ERROR_USAGE when there is no such point. */
int fault_arm(const char *text, struct error *e);

#ifdef MESHSWEEP_FAULTS
void fault_pass(enum fault_point point);
#define FAULT(constant) fault_pass(FAULT_##constant)
#else
#define FAULT(constant) ((void)0)
#endif

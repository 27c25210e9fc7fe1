/* The cause to which a failed attempt is attributed. Only failures that the job may have caused use up its attempts. */
#pragma once

enum blame {
    BLAME_JOB = 0,
    BLAME_RUNNER,     /* its runner died, or the machine that it was on */
    BLAME_NODE,       /* its node failed, or nobody knows of it any more */
    BLAME_PREEMPTION, /* the batch system took its place for another */
    BLAME_HOST,       /* its host could not start it, or keep what it wrote */
    BLAME_COUNT
};

/* As in the column attempt.blame; [BLAME_JOB] is NULL. */
extern const char *const blame_names[BLAME_COUNT];

/* The check for what every job of a sweep needs, before the first is claimed: a typing mistake is reported at once, and
 * not by an attempt, nor by a run that waits for the host to have it again. */
#pragma once

#include "space/space.h"

struct start_check {
    const struct space *space;
    struct db *db;
    int64_t sweep_id;
    char *const *environment; /* the runner's */
    const char *launcher;     /* the program that starts jobs on other machines ("sbatch"), which is looked for instead;
                               * NULL: they run on this one */
};

/* ERROR_USAGE where a job is due and there is no such launcher, working directory or program. A directory or program
 * that is another for each job is left to them. */
int start_check(const struct start_check *c, struct error *e);

/* The runner before this one. */
#ifndef MESHSWEEP_RUN_PREVIOUS_RUNNER_H
#define MESHSWEEP_RUN_PREVIOUS_RUNNER_H

#include <stdbool.h>

#include "store/attempts.h"
#include "store/runners.h"
#include "util/error.h"

/* Whether the last runner of the database, then in `*last`, died without a word, so that processes of its may be left.
 * -1 when it is still at work: somebody removed the lock's file, or this is a copy of a database in use. To end its
 * jobs, which look like those of a dead runner, would spoil both. */
int previous_runner_check(struct db *db, struct runner_process *last, bool *died, struct error *e);

/* What the processes that a runner starts bear: "<identity>:<id>-<pid>". A copy of the database has its identity and
 * numbers its runners alike. The caller's. */
char *runner_token(const char *identity, int64_t id, int64_t pid);

#endif

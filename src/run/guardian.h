/* A process that outlives a runner killed by SIGKILL, to end what the runner's jobs had started.
 *
 * The kernel kills a job's own process with its runner, but not what that process had started. Whoever starts again
 * ends it too (supervisor_end_strays); the guardian need not be waited for. It is no descendant of the runner, has a
 * session of its own, keeps no file of the runner's open, and holds one end of a pipe: when the other end closes
 * without a farewell, the runner is dead. It looks for the runner's own token alone, so a next runner that is already
 * at work on the same database has nothing to fear. */
#ifndef MESHSWEEP_RUN_GUARDIAN_H
#define MESHSWEEP_RUN_GUARDIAN_H

#include <stdint.h>

/* Returns the runner's end of the pipe, close-on-exec; -1 when there is no process or descriptor to be had, which is
 * no error. Call it before supervisor_create, which takes over signals. */
int guardian_start(const char *token_prefix, int64_t grace_ms);

/* Sends it away: nothing of the runner is left. Takes -1. */
void guardian_dismiss(int descriptor);

#endif

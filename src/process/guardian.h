/* A process that outlives a runner killed by SIGKILL, to end what the runner's jobs had started.
 *
 * The kernel kills a job's own process with its runner, but not what that process had started. Whoever starts again
 * ends it too (supervisor_end_escaped); the guardian need not be waited for. It is not a descendant of the runner, has
 * a session of its own, keeps no file of the runner's open, and holds one end of a pipe: when the other end closes
 * without a farewell, the runner is dead. It looks for the runner's own token alone, so a next runner that is already
 * at work on the same database has nothing to fear.
 *
 * What holds, also where no cgroup can be made, and whatever environment, session or parent a process has:
 *   the runner killed              ended within the grace period of [job] and some tenths of a second
 *   the guardian killed            nothing happens; should the runner be killed later, it is as below
 *   both killed                    ended by the next runner on the database, before it starts anything
 * What does not: without a cgroup, a process that took off the runner's mark (process/process.h) as well as its
 * environment, and that no process of a job is above any more; and one of another user, who may not be signalled. */
#pragma once

#include <stdint.h>

/* Returns the runner's end of the pipe, close-on-exec; -1 when there is no process or descriptor to be had, which is
 * no error. Call it before supervisor_create, which takes over signals. */
int guardian_start(const char *token_prefix, int64_t grace_ms);

/* Sends it away: nothing of the runner is left. Takes -1. */
void guardian_dismiss(int descriptor);

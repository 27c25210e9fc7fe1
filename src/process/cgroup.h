/* A cgroup (v2) of the runner's own, below the one it was started in, where that may be written. No process leaves it
 * of itself: what a job started is known by it after the runner's death, too, even where it cleared its environment,
 * has its own session and descends from nobody any more. It bears no controllers: it limits and accounts for
 * nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes the group "meshsweep:<token>:" and moves the calling process with all its threads there; `token` ends with "-"
 * and the process's number. Beside it, empty groups whose processes of that number are dead are removed: those of
 * runners that were killed, and whose databases are gone since, so that none comes after them. Returns its directory
 * for cgroup_leave; NULL when none can be made, which is not an error. Call it before any job starts, after what is to
 * outlive the runner (process/guardian.h), and after oom_counter_open, for this group has no count of its own. */
char *cgroup_enter(const char *token);

/* Moves back and removes the group, which stays when there is still a process in it. Takes NULL. */
void cgroup_leave(char *directory);

/* Returns whether the process is in a group whose token is `prefix` or begins with "<prefix>:". */
bool cgroup_holds(pid_t pid, const char *prefix);

/* Removes groups of such tokens in which there is no process any more, below the one that the caller is in. */
void cgroup_remove_empty(const char *prefix);

/* --- how many were killed for want of memory ---
 *
 * The kernel's own count of processes that its out-of-memory killer ended, in our memory cgroup where it tells
 * (memory.events of v2, memory.oom_control of v1), else on the machine (/proc/vmstat). Field "oom_kill" in each. */

/* A descriptor to read the count from, the caller's to close; -1 when the kernel does not tell. */
int oom_counter_open(void);

/* The count so far; 0 when `fd` is -1. */
int64_t oom_counter_read(int fd);

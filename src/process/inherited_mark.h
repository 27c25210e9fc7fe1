/* A mark that everything a job starts inherits and that no change of environment, session, parent or descriptors takes
 * away: the soft limit of RLIMIT_RTTIME, a resource limit that is without limit nearly everywhere, set to a number so
 * high (over 100,000 years) that it never limits anything. An ordinary user may set it, and anybody may read it
 * in /proc/PID/limits, also of a process that hides its environment.
 *
 * A process loses it where it sets that limit itself (`ulimit -R`, `prlimit --rttime`) or logs in anew through PAM (su,
 * sudo); one that was started by somebody else's daemon never had it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The mark of a token, "<database>:<runner>" or "<database>" alone; never 0. Both parts are hashed, 31 bits each. */
uint64_t inherited_mark(const char *token);

/* Gives it to the calling process; nothing where another limit, of somebody else's, is in force. Async-signal-safe. */
void inherited_mark_set(uint64_t mark);

/* Returns whether the process bears the mark of the token; with a token of one part, any of that database. */
bool inherited_mark_borne(pid_t pid, const char *token);

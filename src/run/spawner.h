/* A thread that starts children. vfork suspends its caller until the child's execve is done, most of what starting a
 * small program takes; meanwhile whoever reaps and records goes on.
 *
 * One thread at a time uses it, the one that waits for the children. They get SIGKILL at the death of the spawner's
 * thread (PR_SET_PDEATHSIG): they end before spawner_free. */
#ifndef MESHSWEEP_RUN_SPAWNER_H
#define MESHSWEEP_RUN_SPAWNER_H

#include <stddef.h>

#include "run/process.h"

struct spawner;

/* `room`: how many starts may be under way at once. Nobody may change what a signal does as long as it exists. Its thread
 * has every signal blocked. Where no process is allowed, so that there can be no thread, spawner_start is done only when
 * the start is: never fails. */
struct spawner *spawner_create(size_t room);
void spawner_free(struct spawner *s);

/* Hands over a start: everything is copied but the descriptors; output_fd is the spawner's, which closes it. `tag`
 * comes back. */
void spawner_start(struct spawner *s, size_t tag, const struct process_start *start);

struct spawned {
    size_t tag;
    pid_t pid; /* -1: failed */
    struct process_failure failure;
    char *subject;       /* of a failure: the program of an "exec", the directory of a "chdir"; the caller's; else NULL */
    int64_t started_ms;  /* monotonic */
    int64_t start_ticks; /* as process_start_ticks */
};

/* The next start that is done, in the order in which they were handed over. Never blocks; false when there is none. */
bool spawner_take(struct spawner *s, struct spawned *out);

/* How many are handed over and not taken. */
size_t spawner_pending(const struct spawner *s);

/* Blocks until every start is done, and can be taken. */
void spawner_settle(struct spawner *s);

/* Sends SIGCHLD to this process when the next start is done. A failed one does so by itself. */
void spawner_alert(struct spawner *s);

#endif

/* The classes of failures: the one table of them. The database's (failure_class) is filled with their names whenever it
 * is opened for writing. */
#pragma once

#include <stdbool.h>

/* Those that a sweep file may name, which is all but "cancelled", not a failure of the job's own: FAILURE_id, name, how
 * many attempts a job has. A program that could not be started may be there a moment later. */
#define FAILURES_DECLARABLE(ROW)                                                                                       \
    ROW(EXIT, "exit", 1)                                                                                               \
    ROW(SIGNAL, "signal", 1)                                                                                           \
    ROW(OOM, "oom", 1)                                                                                                 \
    ROW(OOM_HOST, "oom-host", 1)                                                                                       \
    ROW(TIMEOUT, "timeout", 1)                                                                                         \
    ROW(HANG, "hang", 1)                                                                                               \
    ROW(DIVERGED, "diverged", 1)                                                                                       \
    ROW(NO_METRIC, "no-metric", 1)                                                                                     \
    ROW(SPAWN, "spawn", 2)                                                                                             \
    ROW(LOST, "lost", 3)

#define FAILURE_ID(id, name, attempts) FAILURE_##id,
enum failure { FAILURE_NONE = 0, FAILURES_DECLARABLE(FAILURE_ID) FAILURE_CANCELLED, FAILURE_COUNT };
#undef FAILURE_ID

/* As in the database: "oom-host"; "" for FAILURE_NONE, and NULL after the last. */
extern const char *const failure_names[FAILURE_COUNT + 1];

#define FAILURE_DECLARABLE_COUNT (FAILURE_CANCELLED - 1)

/* Returns whether the message of a failure is about the command that all jobs of a sweep have, and not about what one
 * of them tried: an option that the program does not know, one that lacks its value, a module that does not exist.
 * NULL: no. */
bool failure_is_of_command(const char *message);

/* The failure with this name, FAILURE_NONE when there is none. */
enum failure failure_by_name(const char *name);

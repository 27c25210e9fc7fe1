/* The classes of failures: the one table of their names. The database's checks (sql/migrations) list them as well; a
 * test holds the two together. */
#pragma once

#include <stdbool.h>

/* Those that a sweep file may name: all but "cancelled", which is not a failure of the job's own. */
#define FAILURES_DECLARABLE(ROW)                                                                                       \
    ROW(EXIT, "exit")                                                                                                  \
    ROW(SIGNAL, "signal")                                                                                              \
    ROW(OOM, "oom")                                                                                                    \
    ROW(OOM_HOST, "oom-host")                                                                                          \
    ROW(TIMEOUT, "timeout")                                                                                            \
    ROW(HANG, "hang")                                                                                                  \
    ROW(DIVERGED, "diverged")                                                                                          \
    ROW(NO_METRIC, "no-metric")                                                                                        \
    ROW(SPAWN, "spawn")                                                                                                \
    ROW(LOST, "lost")

#define FAILURE_ID(id, name) FAILURE_##id,
enum failure { FAILURE_NONE = 0, FAILURES_DECLARABLE(FAILURE_ID) FAILURE_CANCELLED, FAILURE_COUNT };
#undef FAILURE_ID

/* As in the database: "oom-host"; "" for FAILURE_NONE, and NULL after the last. */
extern const char *const failure_names[FAILURE_COUNT + 1];

#define FAILURE_DECLARABLE_COUNT (FAILURE_CANCELLED - 1)
extern const char *const *const failure_declarable_names;

/* Returns whether the message of a failure is about the command that all jobs of a sweep have, and not about what one
 * of them tried: an option that the program does not know, one that lacks its value, a module that does not exist.
 * NULL: no. */
bool failure_is_of_command(const char *message);

/* The failure with this name, FAILURE_NONE when there is none. */
enum failure failure_by_name(const char *name);

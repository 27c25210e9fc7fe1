/* Which failure an attempt was. Patterns are data: sql/failures.sql seeds them, a sweep file adds its own. */
#ifndef MESHSWEEP_RUN_CLASSIFY_H
#define MESHSWEEP_RUN_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>

#include "config/sweep.h"
#include "run/supervisor.h"
#include "store/db.h"
#include "util/error.h"

/* Failure classes; names as in the database: "exit", "signal", "oom", "oom-host", "timeout", "hang", "no-metric",
 * "spawn", "lost", "cancelled". */
enum failure {
    FAILURE_NONE = 0,
    FAILURE_EXIT,
    FAILURE_SIGNAL,
    FAILURE_OOM,
    FAILURE_OOM_HOST,
    FAILURE_TIMEOUT,
    FAILURE_HANG,
    FAILURE_NO_METRIC,
    FAILURE_SPAWN,
    FAILURE_LOST,
    FAILURE_CANCELLED,
    FAILURE_COUNT
};
extern const char *const failure_names[FAILURE_COUNT]; /* "" for FAILURE_NONE */

/* The failure with this name, FAILURE_NONE when there is none. */
enum failure failure_by_name(const char *name);

struct classifier; /* compiled patterns */
int classifier_create(const struct failure_pattern *patterns, size_t count, struct classifier **out, struct error *e);

/* The same from the sweep file's patterns, which come first, and the database's. */
int classifier_load(struct db *db, const struct sweep *sweep, struct classifier **out, struct error *e);
void classifier_free(struct classifier *c);

struct verdict {
    enum failure failure;
    char *message; /* one sentence for people, the caller's: "exit status 1: RuntimeError: …", "no output for 30s" */
};

/* Decides from the outcome, the log (searched as a whole, in bounded memory; NULL: none) and whether the objective
 * was measured. Order: spawn, cancelled, stopped (no failure where the objective was measured); device out-of-memory in the output of anything that did not exit 0;
 * host out-of-memory (SIGKILL not ours with evidence); timeout and startup limits (timeout), idle limit (hang);
 * signal; exit; then, with exit 0, no-metric when `objective_wanted` and not `objective_found`. */
struct verdict classify(const struct classifier *c, const struct outcome *o, const char *log_path,
                        bool objective_wanted, bool objective_found);

/* The last `limit` bytes of a file as UTF-8 text (bytes that are none replaced), cut at a line's start where
 * possible. The caller's; "" when there is nothing. */
char *log_tail(const char *log_path, size_t limit);

#endif

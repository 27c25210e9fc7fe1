/* The failure class of an attempt. Patterns are data: sql/failures.sql has the built-in ones, a sweep file adds its
 * own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/failure.h"
#include "config/sweep.h"
#include "database/db.h"
#include "process/supervisor.h"
#include "util/error.h"

struct classifier; /* compiled patterns */
int classifier_create(const struct failure_pattern *patterns, size_t count, struct classifier **out, struct error *e);

/* The same from the sweep file's patterns, which come first, and the database's. */
int classifier_load(struct db *db, const struct sweep *sweep, struct classifier **out, struct error *e);
void classifier_free(struct classifier *c);

struct attempt_output {
    const char *log;       /* NULL: none */
    const char *directory; /* of the attempt, with logs that it kept there by itself; NULL: none */
};

struct verdict {
    enum failure failure;
    char *message; /* one sentence for people, the caller's: "exit status 1: RuntimeError: …", "no output for 30s" */
    char *consequence; /* what other ranks or the launcher said of it, the caller's; NULL: nothing */
    bool of_host;      /* by its words, a device or a link of the host is broken */
};

/* Decides from the outcome, the output (searched as a whole, in bounded memory) and whether the objective
 * was measured. Order: spawn, cancelled, stopped (no failure where the objective was measured); device out-of-memory in
 * the output of anything that did not exit 0; host out-of-memory (SIGKILL not ours with evidence); timeout and startup
 * limits (timeout), idle limit (hang); signal; exit; then, with exit 0, no-metric when `objective_wanted` and not
 * `objective_found`. */
struct verdict classify(const struct classifier *c, const struct outcome *o, const struct attempt_output *output,
                        bool objective_wanted, bool objective_found);

/* Fills in how a recorded attempt ended, from its exit code, signal and limit, and what its class and message alone
 * tell: the whole message becomes the note where it begins in another way than classify() begins one. */
void outcome_recall(struct outcome *o, enum failure was, const char *message);

/* The last `limit` bytes of a file as UTF-8 text (bytes that are none replaced), cut at a line's start where
 * possible. The caller's; "" when there is nothing. */
char *log_tail(const char *log_path, size_t limit);

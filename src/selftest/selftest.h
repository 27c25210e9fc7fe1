/* Proof by killing: sweeps of small real processes whose runner is killed by SIGKILL at random instants and started
 * again, until the asked number of kills is reached. A sweep that finishes in between is proved and followed by
 * another; the last one is left to finish.
 *
 * Each job computes a number that follows from its place, so that what must be in the database is known without a
 * second run. Some jobs fail by design, some leave a process behind, and each takes a lock that shows when two
 * attempts of one job are at work at once. */
#ifndef MESHSWEEP_SELFTEST_SELFTEST_H
#define MESHSWEEP_SELFTEST_SELFTEST_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct selftest_options {
    const char *program;      /* this tool: what is started and killed */
    const char *directory;    /* empty; sweeps and databases are made in it */
    char *const *environment; /* of the runner */
    int64_t kills;
    int64_t jobs; /* per sweep */
    uint64_t seed;
    void (*on_kill)(void *context, int64_t kills_so_far); /* may be NULL */
    void *context;
};

struct selftest_report {
    int64_t kills, sweeps, jobs, attempts, lost;
    int64_t longest_orphan_ms; /* from a kill to the end of the last process, where that was waited for */
    int64_t duration_ms;
};

/* 0 when all is proved. -1 with the first thing that was not as it must be; then the directory is worth keeping. */
int selftest_run(const struct selftest_options *options, struct selftest_report *out, struct error *e);

/* --- parts --- */

/* Adds what stands in a finished database to the report, or says what is wrong with it. */
int selftest_prove(const char *db_path, int64_t jobs, struct selftest_report *report, struct error *e);

/* The database's identity, NULL while there is none. The caller's. */
char *selftest_identity(const char *db_path);

#endif

/* Tests crash safety: sweeps of small real processes whose runner is killed by SIGKILL at random moments and restarted,
 * until the requested number of kills is reached. A sweep that finishes before that is checked and followed by another;
 * the last one is left to finish.
 *
 * Each job computes a number that follows from its index, so the expected content of the database is known without a
 * second run. Some jobs fail by design, some leave a process behind, and each takes a lock that reveals two
 * simultaneous attempts of one job. */
#ifndef MESHSWEEP_SELFTEST_SELFTEST_H
#define MESHSWEEP_SELFTEST_SELFTEST_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct selftest_options {
    const char *program;      /* this program, which is started and killed */
    const char *directory;    /* must be empty; holds the sweeps and databases */
    char *const *environment; /* the runner's */
    int64_t kills;
    int64_t jobs; /* per sweep */
    uint64_t seed;
    void (*on_kill)(void *context, int64_t kills_so_far); /* may be NULL */
    void *context;
};

struct selftest_report {
    int64_t kills, sweeps, jobs, attempts, lost;
    int64_t longest_orphan_ms; /* from a kill to the end of the last process, if that was waited for */
    int64_t duration_ms;
};

/* 0 if everything holds. -1 with the first violation in `e`; then the directory is worth keeping. */
int selftest_run(const struct selftest_options *options, struct selftest_report *out, struct error *e);

/* --- parts --- */

/* Adds the content of a finished database to the report, or fails with what is wrong with it. */
int selftest_prove(const char *db_path, int64_t jobs, struct selftest_report *report, struct error *e);

/* The database's identity; NULL if there is none yet. The caller frees it. */
char *selftest_identity(const char *db_path);

#endif

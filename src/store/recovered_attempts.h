/* Attempts that an earlier runner left open, and how another runner takes over those whose executor still knows
 * them. */
#pragma once

#include "store/attempts.h"

struct recovered_attempt {
    struct claim claim;
    bool started;    /* its start is in the database; else it was only claimed, and may have been started or not */
    char *reference; /* the executor's own name for it; NULL: none was recorded */
    char *directory; /* relative; NULL: none was recorded */
    bool taken;      /* set by the executor: it runs, or its end will be reported */
};

struct recovered_attempts {
    struct recovered_attempt *items;
    size_t count;
};

#define RECOVERED_ATTEMPTS_INIT ((struct recovered_attempts){NULL, 0})
void recovered_attempts_free(struct recovered_attempts *l);

/* Every open attempt of `executor` in the order of their ids. */
int recovered_attempts_read(struct db *db, const char *executor, struct recovered_attempts *out, struct error *e);

/* Fails when attempts are open that another executor's jobs may still be at work on: those only it can collect. */
int recovered_attempts_none_elsewhere(struct db *db, const char *executor, struct error *e);

/* Makes an attempt that of `runner_id`: attempts_recover leaves it alone. Inside the caller's write transaction. */
int recovered_attempt_adopt(struct db *db, int64_t attempt_id, int64_t runner_id, struct error *e);

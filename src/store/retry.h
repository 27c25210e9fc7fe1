/* The policy of which failures are tried again, how often, and after how long. Pure. */
#pragma once

#include "config/sweep.h"

/* Attempts allowed per failure class; a class that does not exist is allowed one. For `lost`: deaths of its runner or
 * node in a row at which a job ran, after which it runs last (store/states.h); none of them fails it. */
struct retry_policy {
    const struct retry_limit *limits; /* of the sweep file; override the defaults (lost 3, spawn 2) */
    size_t count;
    int64_t backoff_ms, backoff_max_ms;
};

/* Borrows the sweep's. */
struct retry_policy retry_policy_of(const struct sweep *sweep);

int64_t retry_allowed(const struct retry_policy *p, const char *failure);

/* SQL: whether a job waits to run, of its columns; `job`: "", or its alias and a dot. */
#define JOB_MAY_RUN(job) job "state = 'pending' AND " job "witness_id IS NULL AND " job "held IS NULL"

/* SQL: whether a pending job may be tried at `now`. `most` is the longest back-off: a clock that was set back makes
 * none wait longer. */
#define RETRY_IS_DUE(now, most) "(due IS NULL OR due <= " now " OR due > " now " + " most ")"

/* How long to wait before the next attempt when `tried` (from 1) have failed so: the first back-off, doubled with each,
 * up to the longest. */
int64_t retry_delay_ms(const struct retry_policy *p, int64_t tried);

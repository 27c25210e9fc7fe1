/* Failures that are alike, before anything has gone well: a typing mistake in the command fails all jobs, and the first
 * tell it as well as a thousand. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/failure.h"

/* All zero: none so far. */
struct like_failures {
    enum failure failure;
    char *cause; /* its message without the digits */
    int64_t count;
    bool went_well; /* something is ok: then they are of the configurations */
};

/* Takes in how a job has ended. Out of memory, of time, lost and cancelled say nothing of the other jobs: they are left
 * out. Returns whether `most` (0: any number) that are alike have failed in a row and nothing was ok; one is enough of
 * those that are of the command (failure_is_of_command). */
bool like_failures_note(struct like_failures *l, enum failure failure, const char *message, int64_t most);

void like_failures_free(struct like_failures *l);

/* What a run that has to wait says about it. */
#ifndef MESHSWEEP_RUN_WAITS_H
#define MESHSWEEP_RUN_WAITS_H

#include <stdbool.h>

#include "run/runner.h"

struct waits {
    int64_t told_due_ms; /* the last wait for a job that failed that was told */
    int64_t locked_ms;   /* since when another program keeps us from writing; 0: it does not */
    bool told_lock;
};

/* Nothing runs until `due_ms` (since 1970), when a job that failed is tried again. */
void waits_tell_due(struct waits *w, int64_t due_ms, const struct runner_options *o);

/* Another program is in the middle of a change, perhaps one that a person has not finished: once more it could not be
 * waited for. Told after 10 s; from then on -1 in a run that is to end. */
int waits_note_lock(struct waits *w, bool is_ending, const struct runner_options *o, struct error *e);
void waits_note_unlocked(struct waits *w);

#endif

/* The messages of a run that has to wait. */
#pragma once

#include <stdbool.h>

#include "run/host_watch.h"
#include "run/runner.h"

struct waits {
    int64_t notified_due_ms; /* the last wait for a job that failed of which a notice was given */
    int64_t locked_ms;       /* since when another program keeps us from writing; 0: it does not */
    bool notified_lock;
};

/* Nothing runs until `due_ms` (since 1970), when a job that failed is tried again. */
void waits_notify_due(struct waits *w, int64_t due_ms, const struct runner_options *o);

/* Returns whether somebody asks a run that pauses to try at once (waits_ask_release). Takes the request. */
bool waits_release_asked(const char *directory);

/* Asks the run at work on the database with this directory. */
int waits_ask_release(const char *directory, struct error *e);

/* Another program is in the middle of a change, perhaps one that a person has not finished: once more it could not be
 * waited for. A notice says so after 10 s; from then on -1 in a run that is to end. */
int waits_note_lock(struct waits *w, bool is_ending, const struct runner_options *o, struct error *e);
void waits_note_unlocked(struct waits *w);

/* Reading what attempts write beside the loop that supervises them, which never waits for it: one thread follows the
 * output of those that run, a piece at a time, and reads what ended ones left. All calls come from the loop, and each
 * is brief. */
#pragma once

#include "run/recording.h"
#include "run/running_attempt.h"

struct readings;

/* `context` without directory and reading; what it points to is borrowed until readings_free, which waits for what is
 * under way. */
struct readings *readings_create(const struct recording_context *context);
void readings_free(struct readings *r);

/* Takes what the thread has done, and gives it more to do. */
void readings_turn(struct readings *r);

/* Returns whether the thread has something to do: readings_turn is due again within a millisecond or so. */
bool readings_are_busy(const struct readings *r);

/* --- of attempts that run --- */

/* Has the output of a running attempt read on. */
void readings_follow(struct readings *r, const struct running_attempt *f, const struct attempt_files *files);

/* How far it has been read, from its begin; whether any reader has found a sample in that. */
int64_t readings_position(const struct readings *r, int64_t attempt);
bool readings_found_any(const struct readings *r, int64_t attempt);

/* Has all that the attempt reported so far gathered. */
void readings_look(struct readings *r, const struct running_attempt *f, const struct attempt_files *files);

/* Takes what readings_look asked for, of one attempt after the other once all are there, so that those that are to end
 * early end together; false: nothing yet. `out` is the caller's. */
bool readings_take_look(struct readings *r, int64_t *attempt, struct sample_list *out);

/* --- of attempts that have ended --- */

/* Returns whether what is left to be read is so little that recording_make is brief, with the reading of what was
 * followed. */
bool readings_are_brief(const struct readings *r, const struct running_attempt *f, const struct outcome *o);

/* The reading of such an attempt; NULL: nothing was followed. The caller's. */
struct output_reading *readings_take(struct readings *r, int64_t attempt);

/* Has the recording made. Takes both. */
void readings_add_ended(struct readings *r, const struct running_attempt *f, const struct outcome *o);

/* How many have ended and were not taken yet. */
size_t readings_ended_count(const struct readings *r);

/* One whose recording is made, in the order in which they ended; all three are the caller's. False: none yet. */
bool readings_take_ended(struct readings *r, struct running_attempt *f, struct outcome *o, struct recording *out);

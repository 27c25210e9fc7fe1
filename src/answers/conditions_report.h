/* How [sweep] subject_to affects the winner, as `best` and `status` print it. */
#pragma once

#include "results/conditions.h"

/* Adds a paragraph with each condition, and whether it binds, then that line; nothing if there is nothing to say. */
void conditions_add_text(const struct conditions *c, struct buffer *out);

/* Adds a line for each that binds: "bound by peak_memory <= 70 GiB, which keeps out 2 better jobs"; then that line. */
void conditions_add_binding(const struct conditions *c, struct buffer *out);

/* Adds, if no job meets all: "no job meets all of [sweep] subject_to; the nearest is job 4: peak_memory <= 70 GiB is
 * missed by 20 % (84 where 70 is allowed)". */
void conditions_add_nearest(const struct conditions *c, struct buffer *out);

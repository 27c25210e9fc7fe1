/* How [sweep] subject_to affects the winner, as `best` and `status` print it (results/conditions.h). */
#pragma once

#include "results/conditions.h"

/* Adds a line for each that binds: "bound by peak_memory <= 70 GiB, which keeps out 2 better jobs"; then what
 * unranked_add_text does. */
void conditions_add_binding(const cJSON *document, const cJSON *beside, struct buffer *out);

/* Adds, if no job meets all: "no job meets all of [sweep] subject_to; the nearest is job 4: peak_memory <= 70 GiB is
 * missed by 20 % (84 where 70 is allowed)". */
void conditions_add_nearest(const cJSON *document, const cJSON *beside, struct buffer *out);

/* How [sweep] subject_to affects the winner, as `best`, `run` and `status` say it (results/conditions.h). */
#pragma once

#include "results/conditions.h"

/* Adds, if no job meets all: "no job meets all of [sweep] subject_to; the nearest is job 4: peak_memory <= 70 GiB is
 * missed by 20 % (84 where 70 is allowed)". */
void conditions_add_nearest(const cJSON *document, const cJSON *beside, struct buffer *out);

/* Notices about what was compared: different global batches, slow devices. */
#pragma once

#include "results/best.h"

/* A step of a larger batch does more work, so the winner across batches may not win at equal ones. Says nothing if all
 * batches are equal. Of what stands beside the document of the best. */
void batch_notice_say(const cJSON *beside);

/* Says so where the job (0: any job of the current sweep that is ok) was measured on devices that were slower than
 * others of their model. */
int device_notice_say(struct db *db, int64_t job_id, struct error *e);

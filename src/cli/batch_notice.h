/* A notice that jobs with different global batches were compared. */
#ifndef MESHSWEEP_CLI_BATCH_NOTICE_H
#define MESHSWEEP_CLI_BATCH_NOTICE_H

#include "results/best.h"

/* A step of a larger batch does more work, so the winner across batches may not win at equal ones. Says nothing if all
 * batches are equal. */
void batch_notice_say(const struct batch_spread *s);

#endif

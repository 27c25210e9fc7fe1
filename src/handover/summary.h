/* The current sweep on one page of Markdown, as GitHub shows it: for an issue, a pull request, a job's summary. */
#ifndef MESHSWEEP_HANDOVER_SUMMARY_H
#define MESHSWEEP_HANDOVER_SUMMARY_H

#include "database/db.h"
#include "util/buffer.h"

/* Appends the winner with its command, how many jobs are in which state, the ten best and what failed by cause; texts
 * of the sweep are escaped. ERROR_NOTHING when no sweep has been recorded. */
int summary_add(struct db *db, struct buffer *out, struct error *e);

#endif

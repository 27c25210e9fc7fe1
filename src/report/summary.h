/* The current sweep on one page of GitHub Markdown: for an issue, a pull request, a job's summary. */
#ifndef MESHSWEEP_REPORT_SUMMARY_H
#define MESHSWEEP_REPORT_SUMMARY_H

#include "database/db.h"
#include "util/buffer.h"

/* Appends the winner with its command, the number of jobs by state, the ten best, and failures by cause. Texts of the
 * sweep are escaped. ERROR_NOTHING if no sweep has been recorded. */
int summary_add(struct db *db, struct buffer *out, struct error *e);

#endif

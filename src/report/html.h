/* The report: one self-contained HTML page about the current sweep, from the database alone. It asks no network, needs no
 * script to be read, and holds whatever names and texts the sweep has as text. */
#ifndef MESHSWEEP_REPORT_HTML_H
#define MESHSWEEP_REPORT_HTML_H

#include <stdint.h>

#include "report/rows.h"
#include "store/db.h"

/* Reads as of one moment and hands the page to the sink, section by section. `now_ms` is the time it is made at.
 * ERROR_NOTHING when no sweep has been recorded. */
int html_report(struct db *db, int64_t now_ms, const struct report_sink *sink, struct error *e);

#endif

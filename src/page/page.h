/* The report: one self-contained HTML page about the current sweep, from the database alone, but
 * for the ds_config that the winner trains with (report/job_command.h), which is looked for in `job_files`,
 * store_directory(). It asks no network, needs
 * no script to be read, and holds whatever names and texts the sweep has as text. Links to files of attempts begin with
 * `files_beside`, where that directory is from where the page lies; NULL: there are none. */
#ifndef MESHSWEEP_PAGE_PAGE_H
#define MESHSWEEP_PAGE_PAGE_H

#include <stdint.h>

#include "database/db.h"
#include "report/rows.h"

/* Reads as of one moment and hands the page to the sink, section by section. `now_ms` is the time it is made at.
 * ERROR_NOTHING when no sweep has been recorded. */
struct html_request {
    const char *job_files, *files_beside;
    int64_t now_ms;
};
int html_report(struct db *db, const struct html_request *request, const struct report_sink *sink, struct error *e);

#endif

/* The report: one self-contained HTML page about the current sweep, from the database alone, but
 * for the ds_config that the winner trains with (report/job_command.h), which is looked for in `job_files`,
 * store_directory(). It asks no network, needs
 * no script to be read, and holds whatever names and texts the sweep has as text. Links to files of attempts begin with
 * `files_beside`, where that directory is from where the page lies; NULL: there are none. */
#ifndef MESHSWEEP_PAGE_PAGE_H
#define MESHSWEEP_PAGE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "database/db.h"
#include "report/rows.h"
#include "util/string_list.h"

struct html_request {
    const char *job_files;       /* store_directory() */
    const char *files_beside;    /* the same as links of the page name it; NULL: they cannot */
    int64_t now_ms;              /* the time the page is made at */
    bool live;                   /* it is served (serve/server.h), and follows what is committed: src/page/live.js */
    struct string_list *columns; /* the titles of the table of jobs are added; NULL: nobody asks */
};

/* Reads as of one moment and hands the page to the sink, section by section. Each section begins a line with
 * "<section", and the line that tells the time it was made at begins with "<footer" (serve/live_page.h goes by them).
 * ERROR_NOTHING when no sweep has been recorded. */
int html_report(struct db *db, const struct html_request *request, const struct report_sink *sink, struct error *e);

#endif

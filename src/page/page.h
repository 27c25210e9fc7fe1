/* The report: one self-contained HTML page about the current sweep. It is made from the database alone, except for the
 * winner's ds_config (report/job_command.h). The page needs no network, has its tables without JavaScript, and escapes
 * all names and texts of the sweep. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "database/db.h"
#include "report/rows.h"
#include "util/string_list.h"

struct html_request {
    const char *job_files;       /* store_directory() */
    const char *files_beside;    /* the same directory relative to the page, for links; NULL: no links */
    int64_t now_ms;              /* current time */
    bool live;                   /* the page is served (serve/server.h) and follows the database (live.js) */
    struct string_list *columns; /* receives the titles of the table of jobs; may be NULL */
};

/* Reads in one transaction and writes the page to the sink, section by section. Each section begins a line with
 * "<section", and the line with the time a line with "<footer"; serve/live_page.h relies on both. ERROR_NOTHING if no
 * sweep has been recorded. */
int html_report(struct db *db, const struct html_request *request, const struct report_sink *sink, struct error *e);

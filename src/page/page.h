/* The report: one self-contained HTML page about the current sweep. It is made from the database alone, except for the
 * winner's ds_config (report/job_command.h). The page needs no network, has its tables without JavaScript, and escapes
 * all names and texts of the sweep. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "database/db.h"
#include "report/rows.h"
#include "util/buffer.h"
#include "util/string_list.h"

struct html_request {
    const char *job_files;       /* store_directory() */
    const char *files_beside;    /* the same directory relative to the page, for links; NULL: no links */
    int64_t now_ms;              /* current time */
    bool live;                   /* the page is served (serve/server.h) and follows the database (live.js) */
    struct string_list *columns; /* receives the titles of the table of jobs; may be NULL */
};

/* Reads in one transaction and writes the page to the sink, section by section. Each section begins a line with
 * "<section", and the line with the time a line with "<footer"; serve/server.h relies on both. ERROR_NOTHING if no
 * sweep has been recorded. */
int html_report(struct db *db, const struct html_request *request, const struct report_sink *sink, struct error *e);

/* Has `said`, of sql/comparisons.sql, tell of the effect of each key of the current sweep on its objective
 * (compare/comparison.h). ERROR_NOTHING if no sweep has been recorded, ERROR_USAGE if it declares no objective. */
int html_rank_keys(struct db *db, struct db *said, struct error *e);

/* --- while it is served ---
 *
 * Jobs that changed since a page was made. With many jobs a page takes seconds to make, but the changed rows only
 * milliseconds. Jobs whose attempts started or ended are reported; other changes appear on the next page. New jobs and
 * another sweep make the page `outdated`. */

struct html_follower {
    int64_t sweep_id;           /* 0: none */
    int64_t newest;             /* newest attempt read so far */
    int64_t last_job;           /* newest job when the page was made */
    char *open;                 /* jobs with an attempt that had not ended at the last look, as a JSON array */
    struct buffer search;       /* sentence about the search, as HTML; "": none */
    struct string_list columns; /* columns of the page (html_request.columns) */
    bool more;                  /* there are more changes than were reported */
    bool outdated;              /* there is a new column, job or sweep */
};

#define HTML_FOLLOWER_INIT ((struct html_follower){0, 0, 0, NULL, BUFFER_INIT, STRING_LIST_INIT, false, false})

/* Receives a job that may have changed. `row` is [JOB, {"COLUMN": VALUE, …}, BARRED] with the values that the page's
 * script has (embed.c), without keys and absent values; BARRED is html_job.barred. */
struct html_rows_sink {
    void (*take)(void *context, int64_t job, struct buffer *row);
    void *context;
};

/* Records which attempts there are; to be called before the page is made. Resets `f`. */
int html_follow_begin(struct db *db, struct html_follower *f, struct error *e);

/* Reports jobs whose attempts started or ended since the last call, up to a few thousand; the rest with the next call.
 * Reports nothing if another sweep is current now. `database` is the name of its file without directories. */
int html_follow(struct db *db, struct html_follower *f, const char *database, const struct html_rows_sink *sink,
                struct error *e);

void html_follower_free(struct html_follower *f);

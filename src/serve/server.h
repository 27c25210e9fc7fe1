/* One page to many readers over HTTP, by libmicrohttpd: its own thread serves what it is given, so that a reader
 * costs nothing but the bytes that are sent.
 *
 *   /TOKEN/                    the page, and its version in a comment at the end
 *   /TOKEN/changes?since=V     what differs from version V, as JSON
 *   /TOKEN/rows?since=N        jobs that changed since the page was made and after change N: {"version": of that page,
 *                              "rows": the last change, "changed": [row, …]} (page/page.h)
 *   /TOKEN/events              server-sent events: {"version": V, "rows": N, "problem": TEXT or null}, at once and at
 *                              each change
 *   /TOKEN/NAME.d/…            files of jobs (process/job_file.h), as plain text
 *
 * Nothing that a reader does is kept for it: an event is made from the state of the moment when the reader takes it, so
 * one who does not read holds nothing up; readers who take nothing for a minute are dropped. */
#pragma once

#include <stdint.h>

#include "util/buffer.h"
#include "util/error.h"

/* Rows of jobs that changed since a page was made, numbered by change. */
struct live_row {
    int64_t job, change; /* number of its last change */
    char *text;
};

struct live_rows {
    struct live_row *items; /* by job */
    size_t count;
    char *search;   /* sentence about the search; NULL: unchanged since the page was made */
    int64_t change; /* number of the last change; live_rows_clear() does not reset it */
};

#define LIVE_ROWS_INIT ((struct live_rows){NULL, 0, NULL, 0})

/* Replaces the job's row; takes over the contents of `text`. The same row again is no change. */
void live_rows_put(struct live_rows *r, int64_t job, struct buffer *text);

/* Replaces the sentence, which is taken over. The same sentence again is no change. */
void live_rows_put_search(struct live_rows *r, char *text);

/* To be called when a new page includes them. */
void live_rows_clear(struct live_rows *r);

struct server_options {
    int listening;                                 /* listening socket; taken over */
    const char *token;                             /* "": none */
    const char *host;                              /* as the user gave it */
    const char *job_files;                         /* store_directory() */
    void (*tell)(void *context, const char *text); /* called at most once, for a wrong token, from another thread */
    void *context;
};

struct server;
int server_start(const struct server_options *o, struct server **out, struct error *e);

/* Takes over a new page; readers are notified if it differs. */
void server_show(struct server *s, struct buffer *text);

/* Takes over rows of changed jobs and empties `rows`; readers are notified. The next page must include them. */
void server_show_rows(struct server *s, struct live_rows *rows);

/* Tells readers why there is no new page; NULL: no problem any more. */
void server_tell(struct server *s, const char *problem);

/* Sends a keep-alive to waiting readers; to be called every few seconds. */
void server_beat(struct server *s);

/* Version of libmicrohttpd, such as "0.9.75"; "not found" if it is missing. */
const char *server_library_version(void);

/* Closes all connections. */
void server_stop(struct server *s);

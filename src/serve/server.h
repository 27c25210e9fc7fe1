/* One page to many readers over HTTP, by libmicrohttpd: its own thread serves what it is given, so that a reader
 * costs nothing but the bytes that are sent.
 *
 *   /TOKEN/                    the page, and its version in a comment at the end
 *   /TOKEN/changes?since=V     what differs from version V, as JSON (serve/live_page.h)
 *   /TOKEN/rows?since=N        jobs that changed since the page was made and after change N: {"version": of that page,
 *                              "rows": the last change, "changed": [row, …]} (page/follow.h)
 *   /TOKEN/events              server-sent events: {"version": V, "rows": N, "problem": TEXT or null}, at once and at
 *                              each change
 *   /TOKEN/NAME.d/…            files of jobs (serve/job_file.h), as plain text
 *
 * Nothing that a reader does is kept for it: an event is made from the state of the moment when the reader takes it, so
 * one who does not read holds nothing up; readers who take nothing for a minute are dropped. */
#ifndef MESHSWEEP_SERVE_SERVER_H
#define MESHSWEEP_SERVE_SERVER_H

#include "serve/live_page.h"
#include "serve/live_rows.h"
#include "util/error.h"

struct server_options {
    int listening;                                 /* taken over */
    const char *token;                             /* "": none */
    const char *host;                              /* as asked for */
    const char *job_files;                         /* their directory: store_directory() */
    void (*tell)(void *context, const char *text); /* told once: a wrong token. From another thread */
    void *context;
};

struct server;
int server_start(const struct server_options *o, struct server **out, struct error *e);

/* Hands a new text of the page over, which `text` holds; readers hear of it if it differs. */
void server_show(struct server *s, struct buffer *text);

/* Hands rows of jobs over, which are taken out of `rows`; readers hear of those that changed. The next page is to have
 * them. */
void server_show_rows(struct server *s, struct live_rows *rows);

/* What is in the way of a new page; readers of an older one hear of it. NULL: nothing any more. */
void server_tell(struct server *s, const char *problem);

/* Readers who wait hear that the server is still there. Every few seconds. */
void server_beat(struct server *s);

/* "0.9.75": libmicrohttpd's, as it would serve; "not found" where there is none. */
const char *server_library_version(void);

/* Ends all connections. */
void server_stop(struct server *s);

#endif

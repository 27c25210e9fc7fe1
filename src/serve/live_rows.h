/* Rows of jobs that changed since a page was made, numbered by change, so that readers can be sent the newer ones.
 * Pure. */
#ifndef MESHSWEEP_SERVE_LIVE_ROWS_H
#define MESHSWEEP_SERVE_LIVE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

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

#define LIVE_ROWS_INIT                                                                                                 \
    {                                                                                                                  \
        NULL, 0, NULL, 0                                                                                               \
    }

/* Replaces the job's row; takes over the contents of `text`. The same row again is no change. */
void live_rows_put(struct live_rows *r, int64_t job, struct buffer *text);

/* Replaces the sentence, which is taken over. The same sentence again is no change. */
void live_rows_put_search(struct live_rows *r, char *text);

/* Appends the rows that changed after `since`, separated by ",". */
void live_rows_add_changes(const struct live_rows *r, int64_t since, struct buffer *out);

/* To be called when a new page includes them. */
void live_rows_clear(struct live_rows *r);

#endif

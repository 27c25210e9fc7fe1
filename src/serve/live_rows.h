/* Rows of jobs that changed since a page was made: whoever has some is given the others. Pure. */
#ifndef MESHSWEEP_SERVE_LIVE_ROWS_H
#define MESHSWEEP_SERVE_LIVE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

struct live_row {
    int64_t job, change; /* with which it came to be as it is */
    char *text;
};

struct live_rows {
    struct live_row *items; /* by job */
    size_t count;
    char *search;   /* what the page says of it; NULL: as when it was made */
    int64_t change; /* counts rows that came or changed; goes on when they are cleared */
};

#define LIVE_ROWS_INIT                                                                                                 \
    {                                                                                                                  \
        NULL, 0, NULL, 0                                                                                               \
    }

/* Takes over what `text` holds, in place of the job's row before. One that is the same is not a change. */
void live_rows_put(struct live_rows *r, int64_t job, struct buffer *text);

/* Takes over the text in place of what was said before; the same is not a change. */
void live_rows_put_search(struct live_rows *r, char *text);

/* Appends the rows that came or changed after `since`, with "," between them. */
void live_rows_add_changes(const struct live_rows *r, int64_t since, struct buffer *out);

/* A new page has them all. */
void live_rows_clear(struct live_rows *r);

#endif

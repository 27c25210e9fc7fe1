/* A page with a version for each line, so that readers of an older version can be sent the difference. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

struct live_line {
    size_t offset, length; /* range in the text, without the line end */
    int64_t version;       /* in which it last changed */
};

/* A run of lines that begins with "<section", "</main>" or "<script", or the first one. */
struct live_part {
    struct live_line *lines;
    size_t count;
};

struct live_page {
    struct buffer text;
    struct live_part *parts;
    size_t part_count;
    int64_t version; /* 0: no page yet */
    int64_t since;   /* versions before this one had other parts; their readers get everything */
};

#define LIVE_PAGE_INIT ((struct live_page){BUFFER_INIT, NULL, 0, 0, 0})

/* Takes over the contents of `text`. Returns whether anything but the line that begins with "<footer" changed; if not,
 * the page stays as it was. Lines of a part are compared one by one if their number is the same as before. */
bool live_page_update(struct live_page *p, struct buffer *text);
void live_page_free(struct live_page *p);

/* Appends {"version": V, "parts": N, "changed": {"PART": {"count": N, "lines": {"LINE": "TEXT"}}}}: what differs from
 * version `since` (0: everything), with parts and lines counted from 0. */
void live_page_add_changes(const struct live_page *p, int64_t since, struct buffer *out);

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

/* Appends the rows that changed after `since`, separated by ",". */
void live_rows_add_changes(const struct live_rows *r, int64_t since, struct buffer *out);

/* To be called when a new page includes them. */
void live_rows_clear(struct live_rows *r);

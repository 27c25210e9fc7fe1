/* A page that changes, line by line: whoever has an older version is given what differs. Pure. */
#ifndef MESHSWEEP_SERVE_LIVE_PAGE_H
#define MESHSWEEP_SERVE_LIVE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

struct live_line {
    size_t offset, length; /* in the text, without its line end */
    int64_t version;       /* in which it came to be as it is */
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
    int64_t version; /* 0: there is none yet */
    int64_t since;   /* older versions had other parts, and get everything */
};

#define LIVE_PAGE_INIT                                                                                                 \
    {                                                                                                                  \
        BUFFER_INIT, NULL, 0, 0, 0                                                                                     \
    }

/* Takes over what `text` holds. Returns whether anything changed but the line that begins with "<footer", which says
 * when the page was made; if not, the page is as before. Lines of a part are compared by their place where it has as
 * many as before. */
bool live_page_update(struct live_page *p, struct buffer *text);
void live_page_free(struct live_page *p);

/* Appends {"version": V, "parts": N, "changed": {"PART": {"count": N, "lines": {"LINE": "TEXT"}}}}: what differs from
 * version `since` (0: everything), with parts and lines counted from 0. */
void live_page_add_changes(const struct live_page *p, int64_t since, struct buffer *out);

#endif

/* The jobs that changed since a page was made, for one that stands open: of many jobs a page takes seconds to make, and
 * its rows milliseconds. Jobs are followed by their attempts: what began or ended. Jobs that are new, asked for anew or
 * changed in another way come with the next page; new ones and another sweep ask for it (`outdated`). */
#ifndef MESHSWEEP_PAGE_FOLLOW_H
#define MESHSWEEP_PAGE_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "database/db.h"
#include "util/buffer.h"
#include "util/string_list.h"

struct html_follower {
    int64_t sweep_id; /* 0: there was none */
    int64_t newest;   /* of the attempts that were looked at */
    int64_t last_job; /* of all jobs then */
    int64_t *open;    /* jobs with an attempt that had not ended then */
    size_t open_count;
    struct buffer search;       /* how far the search is, as HTML; "": there is none */
    struct string_list columns; /* that the page has: html_request.columns */
    bool more;                  /* than what was handed over */
    bool outdated;              /* a job has a value in another one, there are new jobs, or another sweep */
};

#define HTML_FOLLOWER_INIT                                                                                             \
    {                                                                                                                  \
        0, 0, 0, NULL, 0, BUFFER_INIT, STRING_LIST_INIT, false, false                                                  \
    }

/* What the caller does with a job of the page: `row` is [JOB, {"COLUMN": VALUE, …}, BARRED], with the columns and
 * values of the page's script that are not keys (embed.c), without those that are absent; BARRED: it cannot win
 * (html_job.barred). It may be as it was. */
struct html_rows_sink {
    void (*take)(void *context, int64_t job, struct buffer *row);
    void *context;
};

/* Remembers what has begun and ended, before the page is made. `f` is filled anew. */
int html_follow_begin(struct db *db, struct html_follower *f, struct error *e);

/* Hands over what has begun or ended since the last call; at most some thousand jobs, the rest the next time. Nothing
 * where another sweep is the current one. `database` is its file's name alone. */
int html_follow(struct db *db, struct html_follower *f, const char *database, const struct html_rows_sink *sink,
                struct error *e);

void html_follower_free(struct html_follower *f);

#endif

/* Results that were made under another identity than the sweep file's jobs have now, and could stand for these: those
 * of the jobs that have the same keys once [was] is taken into account. */
#pragma once

#include <cjson/cJSON.h>

#include "config/sweep.h"
#include "space/space.h"
#include "store/changes.h"
#include "util/buffer.h"

struct formers {
    struct job_move *items; /* by number of job; none: nothing stands for anything */
    size_t count;
    int64_t own;         /* jobs that another one's results would be of, but that have results of their own */
    bool all_are_new;    /* no job of the sweep file has results */
    cJSON *differences;  /* [{"what": "command", "was": "…", "now": "…"}, …]: null for what was or is not there */
    struct buffer unmet; /* why entries of [was] let no result stand of the last sweep whose jobs were looked at */
};

enum formers_kind {
    FORMERS_WAS = 1, /* what [was] says, and nothing else differs; without [was] there are none */
    FORMERS_ANY,     /* of the last sweep but this that any are of, whatever one and the same thing differs in all */
};

/* `db` is results.db; nothing of it is changed, and it may be open for reading only. ERROR_USAGE where two would stand
 * for one; both are named. formers_free in any case. */
int formers_find(struct space *space, struct db *db, enum formers_kind kind, struct formers *out, struct error *e);
void formers_free(struct formers *f);

/* Adds what a run or plan says where all jobs became new by one change, and `accept` would help, or by [was], which
 * then means none of the results; otherwise nothing. */
int formers_hint(struct space *space, struct db *db, struct buffer *out, struct error *e);

/* The detail of a change: {"differences": […]}. The caller's. */
char *formers_detail(const struct formers *f);

/* --- the parts of keys, compared ---
 *
 * The parts that jobs' keys are made of beside their specs (identity_parts), compared: how they were, and how they
 * are. */

/* Adds a difference to such a list; NULL: there is none. */
void parts_add_difference(cJSON *list, const char *what, const char *was, const char *now);

/* The progress of a sweep as text. Pure: the caller supplies the clock, the counts and the terminal. Text from outside
 * (labels, units, class names) may hold anything and is made printable. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/progress_events.h"
#include "util/buffer.h"

struct failure_count {
    const char *name; /* failure class, as in the database */
    int64_t count;    /* failed jobs whose last attempt has this class */
};

/* All borrowed. */
struct sweep_progress {
    int64_t total;         /* jobs of the sweep */
    int64_t ok;            /* succeeded in this run */
    int64_t failed;        /* failed in this run */
    int64_t skipped;       /* finished before this run */
    int64_t failed_before; /* of these, those that failed */
    int64_t running;
    int64_t waiting;   /* for a batch system to begin them; not among `running` */
    const char *waits; /* why the first of them waits; NULL: none does */
    bool waits_differ;
    int64_t pending;
    int64_t to_come;      /* pending jobs that will run at most; -1: not known */
    int64_t ended;        /* being recorded; neither `running` nor done */
    int64_t pruned;       /* need at least as much device memory as one that ran out of it; not among `pending` */
    int64_t held;         /* cannot start; not among `pending` */
    const char *held_for; /* what the first of them waits for; NULL: not read yet */
    int64_t elapsed_ms;
    double jobs_per_second; /* over the caller's window; unknown if not above 0 or not finite */
    int64_t eta_ms;         /* until the end; -1: unknown */
    bool has_best;
    double best_value;
    int64_t best_job;
    const char *objective;  /* the metric; NULL: none */
    const char *best_unit;  /* NULL or "": none */
    const char *best_label; /* which job it is; NULL or "": not given */
    const struct failure_count *failures;
    size_t failure_count;
};

/* Appends one line for a terminal, without a line end or escape sequences, of at most `columns` columns: "[####......]
 * 45%  123/456  2 failed  4 running  12.3 jobs/s  eta 3m20s  best 45.2 samples/s (tiny)". If it does not fit, parts are
 * left out: first the bar, then the best, the rate, running, the percentage, the ETA and the failures. The count is cut
 * if nothing else is left. `ascii`: ASCII characters only. */
void progress_add_line(const struct sweep_progress *p, size_t columns, bool ascii, struct buffer *out);

/* Appends one line for a log, complete, without a line end:
 * "123/456 done (26%): 119 ok (9 before), 4 failed (2 oom, 1 timeout, 1 before), 4 running, 329 pending; 1m30s elapsed,
 * 12.3 jobs/s, eta 3m20s; best 45.2 samples/s (tiny)". What is not there is left out, an unknown ETA too. */
void progress_add_plain(const struct sweep_progress *p, struct buffer *out);

/* Appends one JSON object without a line end: EVENT_PROGRESS or EVENT_END with the struct's fields by name, and "done".
 * Unknown values are null, "best" is an object or null, "failure_classes" an object of counts. */
void progress_add_json(enum progress_event event, const struct sweep_progress *p, struct buffer *out);

/* Writes "unknown" for -1, "<1s", whole seconds rounded up below a minute, "3m20s", "2h05m", "4d06h", and ">99d"
 * beyond. Returns `out`. */
char *progress_format_eta(int64_t eta_ms, char *out, size_t out_bytes);

/* The progress of a sweep as text, and the lines of `run --progress json`: one object each, beginning with
 * {"event": NAME, "schema_version": …}. Pure: the caller supplies the clock, the counts and the terminal. Text from
 * outside (units, reasons) may hold anything and is made printable. */
#pragma once

#include "run/runner.h"

/* docs/json.md and schemas/run.json list the same names. */
enum progress_event {
    EVENT_ENUMERATED,
    EVENT_ATTEMPT,
    EVENT_PROGRESS,
    EVENT_NOTICE,
    EVENT_ERROR,
    EVENT_END,
    EVENT_COUNT
};

/* Appends the beginning of a line, without its closing brace. */
void progress_event_begin(enum progress_event event, struct buffer *out);

/* Appends a line with only a text, for a notice or an error, without a line end. */
void progress_event_add_text(enum progress_event event, const char *text, struct buffer *out);

/* All borrowed. */
struct sweep_progress {
    const struct run_counts *counts;
    const char *held_for;   /* what the first of those held waits for; NULL: not read yet */
    double jobs_per_second; /* over the caller's window; unknown if not above 0 or not finite */
    int64_t eta_ms;         /* until the end; -1: unknown */
    const char *objective;  /* the metric; NULL: none */
    const char *best_unit;  /* NULL or "": none */
};

/* Appends one line for a terminal, without a line end or escape sequences, of at most `columns` columns: "[####......]
 * 45%  123/456  2 failed  4 running  12.3 jobs/s  eta 3m20s  best 45.2 samples/s (job 7)". If it does not fit, parts
 * are left out: first the bar, then the best, the rate, running, the percentage, the ETA and the failures. The count is
 * cut if nothing else is left. `ascii`: ASCII characters only. */
void progress_add_line(const struct sweep_progress *p, size_t columns, bool ascii, struct buffer *out);

/* Appends one line for a log, complete, without a line end:
 * "123/456 done (26%): 119 ok (9 before), 4 failed (2 oom, 1 timeout, 1 before), 4 running, 329 pending; 1m30s elapsed,
 * 12.3 jobs/s, eta 3m20s; best 45.2 samples/s (job 7)". What is not there is left out, an unknown ETA too. */
void progress_add_plain(const struct sweep_progress *p, struct buffer *out);

/* Appends one JSON object without a line end: EVENT_PROGRESS or EVENT_END with the counts of this run, "done" and, of
 * what ended before, "skipped". Unknown values are null, "best" is an object or null, "failure_classes" an object of
 * counts. */
void progress_add_json(enum progress_event event, const struct sweep_progress *p, struct buffer *out);

/* Writes "unknown" for -1, "<1s", whole seconds rounded up below a minute, "3m20s", "2h05m", "4d06h", and ">99d"
 * beyond. Returns `out`. */
char *progress_format_eta(int64_t eta_ms, char *out, size_t out_bytes);

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

/* --- the time left --- */

/* The remaining time of a run, which counts down as time passes. A new estimate is made only when a job ends or starts;
 * made in between, it would rise only to fall again. */

/* Input of an estimate. */
struct work_left {
    int64_t finished, running, pending; /* jobs */
};

struct countdown {
    struct work_left last; /* at the last estimate */
    int64_t estimate_ms;   /* -1: unknown */
    int64_t at_ms;         /* when it was made */
};

/* Initial state. */
#define COUNTDOWN_INIT ((struct countdown){{-1, 0, 0}, -1, 0})

/* Estimates the time for `pending` and `running` jobs right after one has started. Jobs take `each_ms`, and as many run
 * at a time as now (above 0); the progress of the running ones is assumed to be evenly spread. */
int64_t countdown_estimate_ms(double each_ms, int64_t pending, int64_t running);

/* The time left at `now_ms`, or -1 if unknown. Calls `estimate`, which returns -1 if it does not know, if a job has
 * ended or started since the last estimate, or if the last one was unknown. */
int64_t countdown_left_ms(struct countdown *c, struct work_left now, int64_t now_ms, int64_t (*estimate)(void *context),
                          void *context);

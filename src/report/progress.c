#include "report/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/text.h"
#include "results/json.h"
#include "util/memory.h"
#include "util/parse.h"

/* A text on the terminal line is a reminder, not the record. */
#define LINE_LABEL_COLUMNS 40
#define BAR_COLUMNS_MIN 10
#define BAR_COLUMNS_MAX 30
#define GAP "  "

/* Jobs that a batch system has begun, or that were begun here. */
static int64_t running(const struct run_counts *c)
{
    return c->running - c->waiting;
}

/* Finished jobs: ok, failed and pruned, in this run or before. */
static int64_t progress_done(const struct run_counts *c)
{
    return c->total - c->running - c->ended - c->pending - c->held;
}

/* Of these, the ones that ended before this run; and of them, those that failed. */
static int64_t skipped(const struct run_counts *c)
{
    return progress_done(c) - c->ok_now - c->failed_now - c->pruned;
}

static int64_t failed_before(const struct run_counts *c)
{
    const int64_t failed = c->failed - c->failed_now;
    return failed < 0 ? 0 : failed > skipped(c) ? skipped(c) : failed;
}

static bool anything_left(const struct run_counts *c)
{
    return c->running > 0 || c->to_come != 0;
}

char *progress_format_eta(int64_t eta_ms, char *out, size_t out_bytes)
{
    if (eta_ms < 0)
        snprintf(out, out_bytes, "unknown");
    else if (eta_ms < 1000)
        snprintf(out, out_bytes, "<1s");
    else if (eta_ms <= 59000)
        snprintf(out, out_bytes, "%ds", (int)((eta_ms + 999) / 1000));
    else if (eta_ms > INT64_C(99) * 86400 * 1000)
        snprintf(out, out_bytes, ">99d");
    else
        format_duration_ms(eta_ms + 999, out, out_bytes);
    return out;
}

/* Rounded down, so that 100 means all are done. */
static int percent_done(const struct run_counts *c)
{
    int64_t done = progress_done(c);
    return c->total <= 0 || done >= c->total ? 100 : (int)((double)done / (double)c->total * 100);
}

static bool rate_known(const struct sweep_progress *p)
{
    return isfinite(p->jobs_per_second) && p->jobs_per_second > 0;
}

/* In the largest unit in which it is at least 1, if there is one. */
static void add_rate(const struct sweep_progress *p, struct buffer *out)
{
    double rate = p->jobs_per_second;
    if (rate >= 1)
        buffer_printf(out, "%.*f jobs/s", rate < 100, rate);
    else if (rate * 60 >= 1)
        buffer_printf(out, "%.1f jobs/min", rate * 60);
    else
        buffer_printf(out, "%.2g jobs/h", rate * 3600);
}

static void add_text(struct buffer *out, const char *text, size_t limit, bool ascii)
{
    text_add_printable(out, text, strlen(text), limit, ascii);
}

static void add_best(const struct sweep_progress *p, size_t limit, bool ascii, struct buffer *out)
{
    buffer_add_text(out, "best ");
    text_add_rounded(out, p->counts->best);
    if (p->best_unit && *p->best_unit) {
        buffer_add_char(out, ' ');
        add_text(out, p->best_unit, limit, ascii);
    }
    buffer_printf(out, " (job %" PRId64 ")", p->counts->best_job_id);
}

/* "5 waiting (Resources and others)"; what to change is told once, elsewhere. */
static void add_waiting(const struct run_counts *c, bool ascii, struct buffer *out)
{
    buffer_printf(out, "%" PRId64 " waiting (", c->waiting);
    add_text(out, c->waits, LINE_LABEL_COLUMNS, ascii);
    buffer_add_text(out, c->waits_differ ? " and others)" : ")");
}

/* --- the line for a terminal --- */

/* Parts, in the order shown. */
enum line_part {
    PART_PERCENT,
    PART_COUNT,
    PART_FAILED,
    PART_RUNNING,
    PART_WAITING,
    PART_RATE,
    PART_ETA,
    PART_BEST,
    PARTS
};

static void make_parts(const struct sweep_progress *p, bool ascii, struct buffer parts[PARTS])
{
    const struct run_counts *c = p->counts;
    const int64_t failed = c->failed_now + failed_before(c);
    char eta[32];
    if (c->total > 0)
        buffer_printf(&parts[PART_PERCENT], "%3d%%", percent_done(c));
    buffer_printf(&parts[PART_COUNT], "%" PRId64 "/%" PRId64, progress_done(c), c->total);
    if (failed > 0)
        buffer_printf(&parts[PART_FAILED], "%" PRId64 " failed", failed);
    if (running(c) > 0)
        buffer_printf(&parts[PART_RUNNING], "%" PRId64 " running", running(c));
    if (c->waiting > 0)
        add_waiting(c, ascii, &parts[PART_WAITING]);
    if (rate_known(p))
        add_rate(p, &parts[PART_RATE]);
    if (p->eta_ms >= 0 && anything_left(c))
        buffer_printf(&parts[PART_ETA], "eta %s", progress_format_eta(p->eta_ms, eta, sizeof eta));
    if (c->has_best)
        add_best(p, LINE_LABEL_COLUMNS, ascii, &parts[PART_BEST]);
}

/* Columns of the remaining parts, with gaps between them. */
static size_t parts_columns(const struct buffer parts[PARTS])
{
    size_t columns = 0;
    for (int i = 0; i < PARTS; i++) {
        if (parts[i].length == 0)
            continue;
        columns += (columns ? strlen(GAP) : 0) + text_columns(parts[i].data, parts[i].length);
    }
    return columns;
}

static void drop_until_fit(struct buffer parts[PARTS], size_t columns)
{
    static const enum line_part order[] = {PART_BEST,    PART_RATE, PART_RUNNING, PART_WAITING,
                                           PART_PERCENT, PART_ETA,  PART_FAILED};
    for (size_t i = 0; i < LENGTH(order) && parts_columns(parts) > columns; i++)
        buffer_clear(&parts[order[i]]);
}

/* A bar of `columns` columns, brackets included. */
static void add_bar(const struct run_counts *c, size_t columns, bool ascii, struct buffer *out)
{
    size_t cells = columns - 2, full = cells * (size_t)percent_done(c) / 100;
    buffer_add_char(out, '[');
    for (size_t i = 0; i < cells; i++)
        buffer_add_text(out, i < full ? (ascii ? "#" : "█") : (ascii ? "." : "░"));
    buffer_add_char(out, ']');
}

void progress_add_line(const struct sweep_progress *p, size_t columns, bool ascii, struct buffer *out)
{
    struct buffer parts[PARTS] = {BUFFER_INIT};
    make_parts(p, ascii, parts);
    drop_until_fit(parts, columns);
    size_t used = parts_columns(parts), start = out->length;
    size_t room = columns > used + strlen(GAP) ? columns - used - strlen(GAP) : 0;
    if (p->counts->total > 0 && room >= BAR_COLUMNS_MIN)
        add_bar(p->counts, room < BAR_COLUMNS_MAX ? room : BAR_COLUMNS_MAX, ascii, out);
    for (int i = 0; i < PARTS; i++) {
        if (parts[i].length > 0 && out->length > start)
            buffer_add_text(out, GAP);
        if (used <= columns)
            buffer_add(out, parts[i].data, parts[i].length);
        else if (columns > 0)
            add_text(out, buffer_text(&parts[i]), columns, ascii);
        buffer_free(&parts[i]);
    }
}

/* --- the line for a log --- */

static void add_failed(const struct run_counts *c, struct buffer *out)
{
    const int64_t earlier = failed_before(c);
    const char *before = " (";
    buffer_printf(out, ", %" PRId64 " failed", c->failed_now + earlier);
    for (int i = 1; i < FAILURE_COUNT; i++)
        if (c->failures[i]) {
            buffer_printf(out, "%s%" PRId64 " %s", before, c->failures[i], failure_names[i]);
            before = ", ";
        }
    if (earlier > 0)
        buffer_printf(out, "%s%" PRId64 " before", before, earlier);
    buffer_add_text(out, earlier > 0 || before[0] == ',' ? ")" : "");
}

/* The reason ends at its colon: the rest has been told. */
static void add_held(const struct sweep_progress *p, struct buffer *out)
{
    const char *why = p->held_for ? p->held_for : "meshsweep status says why";
    OWNED char *start = xstrndup(why, strcspn(why, ":"));
    buffer_printf(out, ", %" PRId64 " held (", p->counts->held);
    add_text(out, start, 0, false);
    buffer_add_char(out, ')');
}

/* Adds the states of the whole sweep's jobs, whichever run they were in. */
static void add_states(const struct sweep_progress *p, struct buffer *out)
{
    const struct run_counts *c = p->counts;
    const int64_t ok_before = skipped(c) - failed_before(c);
    buffer_printf(out, "%" PRId64 " ok", c->ok_now + ok_before);
    if (ok_before > 0 && (c->ok_now > 0 || anything_left(c)))
        buffer_printf(out, " (%" PRId64 " before)", ok_before);
    if (c->failed_now + failed_before(c) > 0)
        add_failed(c, out);
    if (c->pruned > 0)
        buffer_printf(out, ", %" PRId64 " pruned (need at least as much memory as a job that ran out of it)",
                      c->pruned);
    if (c->held > 0)
        add_held(p, out);
    if (running(c) > 0)
        buffer_printf(out, ", %" PRId64 " running", running(c));
    if (c->waiting > 0) {
        buffer_add_text(out, ", ");
        add_waiting(c, false, out);
    }
    if (c->pending > 0)
        buffer_printf(out, ", %" PRId64 " pending", c->pending);
    if (skipped(c) > 0 && c->ok_now + c->failed_now + c->pending + c->held == 0 && !anything_left(c))
        buffer_add_text(out, ", nothing to run");
}

void progress_add_plain(const struct sweep_progress *p, struct buffer *out)
{
    const struct run_counts *c = p->counts;
    char text[32];
    buffer_printf(out, "%" PRId64 "/%" PRId64 " done (%d%%): ", progress_done(c), c->total, percent_done(c));
    add_states(p, out);
    buffer_printf(out, "; %s elapsed", format_duration_ms(c->elapsed_ms, text, sizeof text));
    if (rate_known(p)) {
        buffer_add_text(out, ", ");
        add_rate(p, out);
    }
    if (p->eta_ms >= 0 && anything_left(c) && (running(c) > 0 || c->waiting == 0))
        buffer_printf(out, ", eta %s", progress_format_eta(p->eta_ms, text, sizeof text));
    if (c->has_best) {
        buffer_add_text(out, "; ");
        add_best(p, 0, false, out);
    }
}

/* --- JSON --- */

void progress_add_json(enum progress_event event, const struct sweep_progress *p, struct buffer *out)
{
    const struct run_counts *c = p->counts;
    const char *before = "";
    progress_event_begin(event, out);
    JSON_WRITE(out, JSON_INT("total", c->total), JSON_INT("done", progress_done(c)), JSON_INT("ok", c->ok_now),
               JSON_INT("failed", c->failed_now), JSON_INT("skipped", skipped(c)), JSON_INT("pruned", c->pruned),
               JSON_INT("held", c->held), JSON_INT("running", running(c)), JSON_INT("waiting", c->waiting),
               JSON_INT("being_recorded", c->ended), JSON_INT("pending", c->pending),
               JSON_INT("elapsed_ms", c->elapsed_ms),
               JSON_REAL("jobs_per_second", rate_known(p) ? p->jobs_per_second : NAN), JSON_COUNT("eta_ms", p->eta_ms));
    if (c->has_best) {
        buffer_printf(out, ",\"best\":{\"job\":%" PRId64, c->best_job_id);
        JSON_WRITE(out, JSON_TEXT("objective", p->objective), JSON_REAL("value", c->best),
                   JSON_TEXT("unit", p->best_unit));
    }
    buffer_add_text(out, c->has_best ? "}" : ",\"best\":null");
    buffer_add_text(out, ",\"failure_classes\":{");
    for (int i = 1; i < FAILURE_COUNT; i++)
        if (c->failures[i]) {
            buffer_printf(out, "%s\"%s\":%" PRId64, before, failure_names[i], c->failures[i]);
            before = ",";
        }
    buffer_add_text(out, "}}");
}

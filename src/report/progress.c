#include "report/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/text.h"
#include "results/json.h"
#include "util/memory.h"
#include "util/parse.h"

/* A label on the terminal line is a reminder, not the record. */
#define LINE_LABEL_COLUMNS 40
#define BAR_COLUMNS_MIN 10
#define BAR_COLUMNS_MAX 30
#define GAP "  "

/* Finished jobs: ok, failed, skipped and pruned. */
static int64_t progress_done(const struct sweep_progress *p)
{
    return p->ok + p->failed + p->skipped + p->pruned;
}

static bool anything_left(const struct sweep_progress *p)
{
    return p->running > 0 || p->waiting > 0 || p->to_come != 0;
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
static int percent_done(const struct sweep_progress *p)
{
    int64_t done = progress_done(p);
    return p->total <= 0 || done >= p->total ? 100 : (int)((double)done / (double)p->total * 100);
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

static void add_best(const struct sweep_progress *p, size_t label_limit, bool ascii, struct buffer *out)
{
    buffer_add_text(out, "best ");
    text_add_rounded(out, p->best_value);
    if (p->best_unit && *p->best_unit) {
        buffer_add_char(out, ' ');
        add_text(out, p->best_unit, label_limit, ascii);
    }
    if (p->best_label && *p->best_label) {
        buffer_add_text(out, " (");
        add_text(out, p->best_label, label_limit, ascii);
        buffer_add_char(out, ')');
    }
}

/* "5 waiting (Resources and others)"; what to change is told once, elsewhere. */
static void add_waiting(const struct sweep_progress *p, bool ascii, struct buffer *out)
{
    buffer_printf(out, "%" PRId64 " waiting (", p->waiting);
    add_text(out, p->waits, LINE_LABEL_COLUMNS, ascii);
    buffer_add_text(out, p->waits_differ ? " and others)" : ")");
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
    char eta[32];
    if (p->total > 0)
        buffer_printf(&parts[PART_PERCENT], "%3d%%", percent_done(p));
    buffer_printf(&parts[PART_COUNT], "%" PRId64 "/%" PRId64, progress_done(p), p->total);
    if (p->failed + p->failed_before > 0)
        buffer_printf(&parts[PART_FAILED], "%" PRId64 " failed", p->failed + p->failed_before);
    if (p->running > 0)
        buffer_printf(&parts[PART_RUNNING], "%" PRId64 " running", p->running);
    if (p->waiting > 0)
        add_waiting(p, ascii, &parts[PART_WAITING]);
    if (rate_known(p))
        add_rate(p, &parts[PART_RATE]);
    if (p->eta_ms >= 0 && anything_left(p))
        buffer_printf(&parts[PART_ETA], "eta %s", progress_format_eta(p->eta_ms, eta, sizeof eta));
    if (p->has_best)
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
static void add_bar(const struct sweep_progress *p, size_t columns, bool ascii, struct buffer *out)
{
    size_t cells = columns - 2, full = cells * (size_t)percent_done(p) / 100;
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
    if (p->total > 0 && room >= BAR_COLUMNS_MIN)
        add_bar(p, room < BAR_COLUMNS_MAX ? room : BAR_COLUMNS_MAX, ascii, out);
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

static void add_failed(const struct sweep_progress *p, struct buffer *out)
{
    const char *before = " (";
    buffer_printf(out, ", %" PRId64 " failed", p->failed + p->failed_before);
    for (size_t i = 0; i < p->failure_count; i++) {
        if (p->failures[i].count == 0)
            continue;
        buffer_printf(out, "%s%" PRId64 " ", before, p->failures[i].count);
        add_text(out, p->failures[i].name, 0, false);
        before = ", ";
    }
    if (p->failed_before > 0) {
        buffer_printf(out, "%s%" PRId64 " before", before, p->failed_before);
        before = ", ";
    }
    buffer_add_text(out, before[0] == ',' ? ")" : "");
}

/* The reason ends at its colon: the rest has been told. */
static void add_held(const struct sweep_progress *p, struct buffer *out)
{
    const char *why = p->held_for ? p->held_for : "meshsweep status says why";
    OWNED char *start = xstrndup(why, strcspn(why, ":"));
    buffer_printf(out, ", %" PRId64 " held (", p->held);
    add_text(out, start, 0, false);
    buffer_add_char(out, ')');
}

/* Adds the states of the whole sweep's jobs, whichever run they were in. */
static void add_states(const struct sweep_progress *p, struct buffer *out)
{
    const int64_t ok_before = p->skipped - p->failed_before;
    buffer_printf(out, "%" PRId64 " ok", p->ok + ok_before);
    if (ok_before > 0 && (p->ok > 0 || anything_left(p)))
        buffer_printf(out, " (%" PRId64 " before)", ok_before);
    if (p->failed + p->failed_before > 0)
        add_failed(p, out);
    if (p->pruned > 0)
        buffer_printf(out, ", %" PRId64 " pruned (need at least as much memory as a job that ran out of it)",
                      p->pruned);
    if (p->held > 0)
        add_held(p, out);
    if (p->running > 0)
        buffer_printf(out, ", %" PRId64 " running", p->running);
    if (p->waiting > 0) {
        buffer_add_text(out, ", ");
        add_waiting(p, false, out);
    }
    if (p->pending > 0)
        buffer_printf(out, ", %" PRId64 " pending", p->pending);
    if (p->skipped > 0 && p->ok + p->failed + p->pending + p->held == 0 && !anything_left(p))
        buffer_add_text(out, ", nothing to run");
}

void progress_add_plain(const struct sweep_progress *p, struct buffer *out)
{
    char text[32];
    buffer_printf(out, "%" PRId64 "/%" PRId64 " done (%d%%): ", progress_done(p), p->total, percent_done(p));
    add_states(p, out);
    buffer_printf(out, "; %s elapsed", format_duration_ms(p->elapsed_ms, text, sizeof text));
    if (rate_known(p)) {
        buffer_add_text(out, ", ");
        add_rate(p, out);
    }
    if (p->eta_ms >= 0 && anything_left(p) && (p->running > 0 || p->waiting == 0))
        buffer_printf(out, ", eta %s", progress_format_eta(p->eta_ms, text, sizeof text));
    if (p->has_best) {
        buffer_add_text(out, "; ");
        add_best(p, 0, false, out);
    }
}

/* --- JSON --- */

void progress_add_json(enum progress_event event, const struct sweep_progress *p, struct buffer *out)
{
    progress_event_begin(event, out);
    JSON_WRITE(out, JSON_INT("total", p->total), JSON_INT("done", progress_done(p)), JSON_INT("ok", p->ok),
               JSON_INT("failed", p->failed), JSON_INT("skipped", p->skipped), JSON_INT("pruned", p->pruned),
               JSON_INT("held", p->held), JSON_INT("running", p->running), JSON_INT("waiting", p->waiting),
               JSON_INT("being_recorded", p->ended), JSON_INT("pending", p->pending),
               JSON_INT("elapsed_ms", p->elapsed_ms),
               JSON_REAL("jobs_per_second", rate_known(p) ? p->jobs_per_second : NAN), JSON_COUNT("eta_ms", p->eta_ms));
    if (p->has_best) {
        buffer_printf(out, ",\"best\":{\"job\":%" PRId64, p->best_job);
        JSON_WRITE(out, JSON_TEXT("objective", p->objective), JSON_REAL("value", p->best_value),
                   JSON_TEXT("unit", p->best_unit));
    }
    buffer_add_text(out, p->has_best ? "}" : ",\"best\":null");
    buffer_add_text(out, ",\"failure_classes\":{");
    for (size_t i = 0; i < p->failure_count; i++)
        buffer_printf(out, "%s\"%s\":%" PRId64, i > 0 ? "," : "", p->failures[i].name, p->failures[i].count);
    buffer_add_text(out, "}}");
}

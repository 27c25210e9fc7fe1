#include "report/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/saying.h"
#include "report/text.h"
#include "results/json.h"
#include "util/memory.h"
#include "util/parse.h"

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

static bool rate_known(const struct sweep_progress *p)
{
    return isfinite(p->jobs_per_second) && p->jobs_per_second > 0;
}

/* --- JSON --- */

static const char *const progress_event_names[EVENT_COUNT] = {
    [EVENT_ENUMERATED] = "enumerated", [EVENT_ATTEMPT] = "attempt", [EVENT_PROGRESS] = "progress",
    [EVENT_NOTICE] = "notice",         [EVENT_ERROR] = "error",     [EVENT_END] = "end",
};

void progress_event_begin(enum progress_event event, struct buffer *out)
{
    buffer_printf(out, "{\"event\":\"%s\",\"schema_version\":%d", progress_event_names[event], JSON_SCHEMA_VERSION);
}

void progress_event_add_text(enum progress_event event, const char *text, struct buffer *out)
{
    progress_event_begin(event, out);
    JSON_WRITE(out, JSON_STRING("text", text));
    buffer_add_char(out, '}');
}

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

/* --- texts --- */

/* `room`: of a terminal, as fit() of report/saying.h has it; -1: the line is for a log. */
static void add_text(const struct sweep_progress *p, int64_t room, struct buffer *out)
{
    const struct run_counts *c = p->counts;
    const size_t before = out->length;
    struct error none = ERROR_INIT;
    OWNED_BUFFER event = BUFFER_INIT;
    char eta[32];
    progress_add_json(EVENT_PROGRESS, p, &event);
    event.length--;
    JSON_WRITE(&event, JSON_INT("failed_before", failed_before(c)), JSON_STRING("waits", c->waits),
               JSON_TRUTH("waits_differ", c->waits_differ), JSON_TRUTH("is_left", c->running > 0 || c->to_come != 0),
               JSON_STRING("held_for", p->held_for ? p->held_for : "meshsweep status says why"),
               JSON_STRING("eta", progress_format_eta(p->eta_ms, eta, sizeof eta)), JSON_COUNT("room", room));
    buffer_add_char(&event, '}');
    const struct sql_values values =
        VALUES(sql_text(buffer_text(&event)), sql_real(c->best), sql_real(rate_known(p) ? p->jobs_per_second : NAN));
    saying_add_answer("sql/texts/progress.sql", values, out, &none);
    if (out->length > before)
        out->data[--out->length] = '\0';
}

void progress_add_line(const struct sweep_progress *p, size_t columns, bool ascii, struct buffer *out)
{
    OWNED_BUFFER line = BUFFER_INIT;
    add_text(p, (int64_t)columns * 2 + ascii, &line);
    if (text_columns(buffer_text(&line), line.length) <= columns)
        buffer_add(out, buffer_text(&line), line.length);
    else if (columns > 0)
        text_add_printable(out, buffer_text(&line), line.length, columns, ascii);
}

void progress_add_plain(const struct sweep_progress *p, struct buffer *out)
{
    add_text(p, -1, out);
}

/* --- the time left --- */

int64_t countdown_estimate_ms(double each_ms, int64_t pending, int64_t running)
{
    return (int64_t)(each_ms * ((double)pending + ((double)running + 1) / 2) / (double)running);
}

int64_t countdown_left_ms(struct countdown *c, struct work_left now, int64_t now_ms, int64_t (*estimate)(void *context),
                          void *context)
{
    if (c->estimate_ms < 0 || c->last.finished != now.finished || c->last.running != now.running ||
        c->last.pending != now.pending) {
        c->last = now;
        c->estimate_ms = estimate(context);
        c->at_ms = now_ms;
    }
    if (c->estimate_ms < 0)
        return -1;
    int64_t left_ms = c->estimate_ms - (now_ms - c->at_ms);
    return left_ms > 0 ? left_ms : 0;
}

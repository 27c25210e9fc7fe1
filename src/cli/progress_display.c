#include "cli/progress_display.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "database/open.h"
#include "report/hint.h"
#include "report/progress.h"
#include "report/text.h"
#include "results/json.h"
#include "results/status.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/shell.h"

#define LOOK_EVERY_MS 5000
#define SHORT_MS 1000        /* for shorter jobs, the time to start and record them matters */
#define ETA_FROM 3           /* jobs that have ended: fewer say too little of the rest */
#define PLAIN_EVERY_MS 10000 /* between progress lines in a log */
#define JSON_EVERY_MS 1000
#define EVENTS_WRITTEN_OUT 200 /* larger sweeps show only failures, at most this many */
#define WINDOW_MS 30000        /* window for the rate */
#define HELD_BYTES 200

struct progress_display {
    enum progress how; /* never auto or none */
    const struct sweep *sweep;
    struct space *space;
    const char *db_path;
    struct db *db; /* NULL: not open yet */
    int64_t looked_ms;
    bool none_waits;
    double mean_ms;                 /* of waiting jobs, or if none waits, of running ones; NaN: unknown */
    double attempts;                /* that each of them takes yet ([job] repeat) */
    struct describer *describer;    /* NULL until needed */
    const struct metric *objective; /* NULL: not declared as a metric */
    struct buffer line;
    int64_t total;
    int64_t events_shown;
    int64_t shown_ms;
    int64_t window_began_ms, window_finished; /* where the rate's window begins */
    double rate;
    struct countdown countdown;
    bool on_line; /* a live line is on the terminal */
};

static const struct metric *objective_of(const struct sweep *s)
{
    return s->objective_count ? job_find_metric(&s->job, s->objectives[0].metric) : NULL;
}

struct progress_display *progress_display_open(enum progress how, struct space *space, const char *db_path)
{
    if (how == PROGRESS_NONE)
        return NULL;
    struct progress_display *d = xcalloc(1, sizeof *d);
    d->how = how != PROGRESS_AUTO ? how : output_has_cursor(stderr) ? PROGRESS_TTY : PROGRESS_PLAIN;
    d->countdown = COUNTDOWN_INIT;
    d->space = space;
    d->db_path = db_path;
    d->mean_ms = NAN;
    d->attempts = 1;
    d->looked_ms = -LOOK_EVERY_MS;
    d->sweep = space->sweep;
    d->objective = objective_of(d->sweep);
    return d;
}

void progress_display_close(struct progress_display *d)
{
    if (!d)
        return;
    store_close(d->db);
    buffer_free(&d->line);
    describer_free(d->describer);
    free(d);
}

/* --- how long it will take, by the durations of similar jobs --- */

/* A database that cannot be read must not disturb a run. */
static void look(struct progress_display *d, int64_t waiting)
{
    struct error none = ERROR_INIT;
    if ((!d->db && store_open_read_only(d->db_path, &d->db, &none) < 0) ||
        status_expected_ms(d->db, waiting, &d->mean_ms, &d->attempts, &none) < 0)
        d->mean_ms = NAN;
}

/* Reads what the first held job waits for, cut to what fits. "": not known. */
static void read_held(struct progress_display *d, char *out, size_t out_bytes)
{
    struct error none = ERROR_INIT;
    OWNED char *why = NULL;
    *out = '\0';
    if ((d->db || store_open_read_only(d->db_path, &d->db, &none) == 0) &&
        db_query_text(d->db,
                      "SELECT held FROM job WHERE held <> '' AND witness_id IS NULL AND sweep_id = (SELECT id FROM"
                      " current_sweep) ORDER BY id LIMIT 1",
                      NO_VALUES, &why, &none) == 0 &&
        why)
        snprintf(out, out_bytes, "%s", why);
}

/* Of each job that runs or is to come: its repeats, but no more than a limit leaves for all of them. */
static double attempts_each(const struct progress_display *d, const struct run_counts *c)
{
    const double jobs = (double)(c->to_come + c->running), most = (double)(c->starts_left + c->running);
    return c->starts_left >= 0 && most < jobs * d->attempts ? most / jobs : d->attempts;
}

/* In milliseconds; -1 if no similar job has ended, or jobs are so short that their rate is a better estimate. Running
 * jobs are assumed to be half done. */
static int64_t by_durations_ms(struct progress_display *d, const struct run_counts *c)
{
    if (c->elapsed_ms - d->looked_ms >= LOOK_EVERY_MS || (c->pending == 0) != d->none_waits) {
        d->looked_ms = c->elapsed_ms;
        d->none_waits = c->pending == 0;
        look(d, c->pending);
    }
    if (!(d->mean_ms >= SHORT_MS) || c->running <= 0)
        return -1;
    return countdown_estimate_ms(d->mean_ms * attempts_each(d, c), c->to_come, c->running);
}

/* --- lines --- */

static void put_line(struct progress_display *d)
{
    output_clear_line(&d->on_line);
    output_to_stderr("", &d->line, "\n");
    buffer_clear(&d->line);
}

static void put_live(struct progress_display *d)
{
    output_to_stderr("\r", &d->line, "\x1b[K");
    fflush(stderr);
    buffer_clear(&d->line);
    d->on_line = true;
}

void progress_display_notice(struct progress_display *d, const char *text)
{
    if (!d) {
        output_message("%s", text);
        return;
    }
    buffer_clear(&d->line);
    if (d->how == PROGRESS_JSON) {
        progress_event_add_text(EVENT_NOTICE, text, &d->line);
    } else {
        buffer_printf(&d->line, "meshsweep: %s", text);
    }
    put_line(d);
}

/* --- enumeration --- */

void progress_display_enumerating(struct progress_display *d, int64_t matched)
{
    if (!d || d->how != PROGRESS_TTY)
        return;
    buffer_printf(&d->line, "matching: %" PRId64 " jobs so far", matched);
    put_live(d);
}

static void add_enumeration_json(struct progress_display *d, const struct enumeration *n)
{
    progress_event_begin(EVENT_ENUMERATED, &d->line);
    JSON_WRITE(&d->line, JSON_INT("combinations", n->counts.combinations), JSON_INT("matched", n->counts.matched),
               JSON_INT("jobs", n->counts.jobs), JSON_INT("duplicates", n->counts.duplicates),
               JSON_INT("new", n->new_jobs));
    buffer_add_char(&d->line, '}');
}

static void add_enumeration_text(struct progress_display *d, const struct enumeration *n)
{
    text_add_line(&d->line, d->sweep->name);
    buffer_add_text(&d->line, ": ");
    buffer_add_count(&d->line, n->counts.combinations, "combination");
    buffer_printf(&d->line, ", %" PRId64 " excluded by rules, ", n->counts.combinations - n->counts.matched);
    buffer_add_count(&d->line, n->counts.jobs, "job");
    buffer_printf(&d->line, " (%" PRId64 " new)", n->new_jobs);
}

void progress_display_enumerated(struct progress_display *d, const struct enumeration *n)
{
    if (!d)
        return;
    d->total = n->counts.jobs;
    if (d->how == PROGRESS_JSON)
        add_enumeration_json(d, n);
    else
        add_enumeration_text(d, n);
    put_line(d);
}

/* --- events --- */

static void add_event_json(struct progress_display *d, const struct run_event *event)
{
    progress_event_begin(EVENT_ATTEMPT, &d->line);
    JSON_WRITE(&d->line, JSON_INT("job", event->job_id), JSON_STRING("key", event->key_hex),
               JSON_INT("attempt", event->attempt_number), JSON_STRING("state", event->failure ? "failed" : "ok"),
               JSON_TEXT("failure", event->failure), JSON_INT("duration_ms", event->duration_ms),
               JSON_REAL("objective_value", event->has_objective ? event->objective : NAN));
    buffer_printf(&d->line, ",\"keys\":%s", event->spec_json);
    JSON_WRITE(&d->line, event->message ? JSON_STRING("message", event->message) : JSON_TEXT("message", NULL),
               JSON_TRUTH("will_retry", event->will_retry), JSON_TRUTH("full_training", event->is_full));
    buffer_add_char(&d->line, '}');
}

/* A short description of the configuration. */
static void add_words(struct progress_display *d, const char *spec_json)
{
    OWNED_BUFFER words = BUFFER_INIT;
    d->describer = d->describer ? d->describer : describer_create(d->space, NULL);
    describe_spec(d->describer, spec_json, &words);
    if (words.length > 0) {
        buffer_add_text(&d->line, "  ");
        text_add_line(&d->line, buffer_text(&words));
    }
}

static void add_unit(struct progress_display *d, const char *unit)
{
    buffer_add_text(&d->line, unit[0] ? " " : "");
    text_add_line(&d->line, unit);
}

/* Cuts the line, from byte `from` on, to the terminal's width now; `before` columns stand in front. What is cut off is
 * told by other commands. */
static void fit(struct progress_display *d, size_t from, size_t before)
{
    const size_t width = d->how == PROGRESS_TTY ? output_width(stderr) : 0;
    if (width <= before + 1)
        return;
    OWNED char *rest = xstrdup(buffer_text(&d->line) + from);
    d->line.length = from;
    text_add_printable(&d->line, rest, strlen(rest), width - before - 1, !output_has_utf8());
}

static void add_event_text(struct progress_display *d, const struct run_event *event)
{
    char duration[32];
    char state[16];
    snprintf(state, sizeof state, "%-9s", event->failure ? event->failure : "ok");
    text_add_styled(&d->line, event->failure ? STYLE_RED : STYLE_GREEN, state);
    const size_t from = d->line.length;
    buffer_printf(&d->line, " job %-*" PRId64 "  %7s", snprintf(NULL, 0, "%" PRId64, d->total), event->job_id,
                  format_duration_ms(event->duration_ms, duration, sizeof duration));
    if (event->is_full || event->is_profile)
        buffer_add_text(&d->line, event->is_full ? "  full training" : "  under [job.profile]");
    if (event->has_objective) {
        buffer_printf(&d->line, "  %s ", d->sweep->objectives[0].metric);
        text_add_rounded(&d->line, event->objective);
        add_unit(d, d->objective ? d->objective->unit : "");
    }
    add_words(d, event->spec_json);
    if (event->message) {
        buffer_add_text(&d->line, "  ");
        text_add_line(&d->line, event->message);
    }
    if (event->will_retry)
        buffer_add_text(&d->line, "  (again)");
    fit(d, from, strlen(state));
}

static bool is_shown(const struct progress_display *d, const struct run_event *event)
{
    if (d->how == PROGRESS_JSON)
        return true;
    return d->events_shown < EVENTS_WRITTEN_OUT && (event->failure || d->total <= EVENTS_WRITTEN_OUT);
}

void progress_display_event(struct progress_display *d, const struct run_event *event)
{
    if (!d || !is_shown(d, event))
        return;
    d->events_shown++;
    if (d->how == PROGRESS_JSON)
        add_event_json(d, event);
    else
        add_event_text(d, event);
    put_line(d);
}

/* --- how far it is --- */

static void update_rate(struct progress_display *d, const struct run_counts *c)
{
    int64_t ms = c->elapsed_ms - d->window_began_ms;
    if (ms > 0)
        d->rate = (double)(c->finished_now - d->window_finished) * 1e3 / (double)ms;
    if (ms < WINDOW_MS)
        return;
    d->window_began_ms = c->elapsed_ms - WINDOW_MS / 2;
    d->window_finished = c->finished_now - (int64_t)(d->rate * WINDOW_MS / 2e3);
}

struct estimated {
    struct progress_display *display;
    const struct run_counts *counts;
};

/* From similar jobs, else from the rate. */
static int64_t until_all_ran_ms(const struct estimated *x)
{
    const struct run_counts *c = x->counts;
    int64_t expected_ms = c->to_come < 0 ? -1 : by_durations_ms(x->display, c);
    if (c->to_come < 0 || expected_ms >= 0)
        return expected_ms;
    const double attempts = (double)(c->to_come + c->running) * attempts_each(x->display, c);
    return x->display->rate > 0 ? (int64_t)(attempts / x->display->rate * 1e3) : -1;
}

/* No later than the deadline after which nothing new starts. */
static int64_t estimate_ms(void *context)
{
    const struct estimated *x = context;
    int64_t all_ms = until_all_ran_ms(x), left_ms = x->counts->left_ms;
    return left_ms >= 0 && left_ms < all_ms ? left_ms : all_ms;
}

static int64_t eta_ms(struct progress_display *d, const struct run_counts *c)
{
    struct estimated context = {d, c};
    bool stands = c->running == 0 && (c->held > 0 || (c->draining && c->pending > 0)); /* until a person acts */
    if (stands || (c->finished_now < ETA_FROM && c->ok + c->failed < ETA_FROM))
        return -1;
    const struct work_left now = {c->finished_now, c->running, c->to_come};
    return countdown_left_ms(&d->countdown, now, c->elapsed_ms, estimate_ms, &context);
}

/* `held_for` is the caller's, of HELD_BYTES. */
static struct sweep_progress describe(struct progress_display *d, const struct run_counts *c, char *held_for)
{
    *held_for = '\0';
    if (c->held > 0)
        read_held(d, held_for, HELD_BYTES);
    return (struct sweep_progress){
        .counts = c,
        .held_for = *held_for ? held_for : NULL,
        .jobs_per_second = d->rate,
        .eta_ms = eta_ms(d, c),
        .objective = d->sweep->objective_count ? d->sweep->objectives[0].metric : NULL,
        .best_unit = d->objective ? d->objective->unit : NULL,
    };
}

void progress_display_counts(struct progress_display *d, const struct run_counts *counts)
{
    static const int64_t every_ms[] =
        {[PROGRESS_TTY] = 0, [PROGRESS_PLAIN] = PLAIN_EVERY_MS, [PROGRESS_JSON] = JSON_EVERY_MS};
    char held_for[HELD_BYTES];
    update_rate(d, counts);
    if (counts->elapsed_ms - d->shown_ms < every_ms[d->how])
        return;
    d->shown_ms = counts->elapsed_ms;
    const struct sweep_progress now = describe(d, counts, held_for);
    buffer_clear(&d->line);
    if (d->how == PROGRESS_TTY) {
        const size_t width = output_width(stderr);
        progress_add_line(&now, width ? width - 1 : 0, !output_has_utf8(), &d->line);
        put_live(d);
        return;
    }
    if (d->how == PROGRESS_JSON)
        progress_add_json(EVENT_PROGRESS, &now, &d->line);
    else
        progress_add_plain(&now, &d->line);
    put_line(d);
}

/* --- the end --- */

static void say_winner(struct progress_display *d, const struct best *best)
{
    const cJSON *word;
    buffer_printf(&d->line, "best %s: ", json_text_of(best->document, "objective"));
    text_add_rounded(&d->line, json_real_of(best->document, "value"));
    add_unit(d, json_text_or(best->document, "unit", ""));
    buffer_printf(&d->line, "  job %" PRId64, best_job(best));
    cJSON_ArrayForEach(word, cJSON_GetObjectItemCaseSensitive(best->beside, "words"))
    {
        const char *text = word->child->next->valuestring;
        buffer_printf(&d->line, " %s=", word->child->next->next->valuestring);
        text_add_printable(&d->line, text, strlen(text), 40, false);
    }
    fit(d, 0, 0);
    put_line(d);
}

/* Failures stay until they are asked for. */
static void say_failed(struct progress_display *d, const struct run_result *result)
{
    const int64_t failed = result->counts.failed;
    if (failed <= 0 || result->signal)
        return;
    buffer_add_count(&d->line, failed, "job");
    buffer_add_text(&d->line, failed == 1 ? " stays failed: --retry-failed runs it again"
                                          : " stay failed: --retry-failed runs them again");
    put_line(d);
}

static void say_where(struct progress_display *d, bool has_best, const char *db_path)
{
    OWNED_BUFFER db = BUFFER_INIT;
    hint_add_db(&db, db_path);
    buffer_printf(&d->line, "results in %s; see ", db_path);
    if (has_best)
        buffer_printf(&d->line, "meshsweep best%s, ", buffer_text(&db));
    buffer_printf(&d->line, "meshsweep results%s, meshsweep status%s", buffer_text(&db), buffer_text(&db));
    put_line(d);
}

void progress_display_end(struct progress_display *d, const struct run_result *result, const struct best *best,
                          const char *db_path)
{
    if (!d)
        return;
    struct run_counts counts = result->counts;
    char held_for[HELD_BYTES];
    const bool has_best = best && best_job(best) >= 0;
    output_clear_line(&d->on_line);
    if (result->counts.elapsed_ms > 0) /* of the whole run, beside how long it took */
        d->rate = (double)result->counts.finished_now * 1e3 / (double)result->counts.elapsed_ms;
    const struct sweep_progress now = describe(d, &counts, held_for);
    if (d->how == PROGRESS_JSON) {
        progress_add_json(EVENT_END, &now, &d->line);
        put_line(d);
        return;
    }
    counts.has_best &= !has_best;
    progress_add_plain(&now, &d->line);
    put_line(d);
    say_failed(d, result);
    if (has_best)
        say_winner(d, best);
    say_where(d, has_best, db_path);
}

/* What was swept, how it ended, and the winner. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/failure.h"
#include "page/sections.h"
#include "page/text.h"
#include "report/hint.h"
#include "report/job_command.h"
#include "results/configurations.h"
#include "results/pareto.h"
#include "results/status.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/parse.h"

/* --- overview --- */

struct totals {
    int64_t attempts, wall_ms;
    double device_hours; /* NaN: no attempt ended */
};

static int read_totals(struct html_page *p, struct totals *out, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(p->db,
                   "SELECT count(*), coalesce(max(a.ended) - min(a.started), -1),"
                   " sum(1.0 * a.duration_ms * j.devices) / 3600000 FROM attempt AS a JOIN job AS j ON j.id = a.job_id"
                   " WHERE j.sweep_id = ?1 AND a.state IN ('ok', 'failed')",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, p->data->sweep_id);
    int rc = stmt_next(s, e);
    if (rc > 0)
        *out = (struct totals){stmt_int(s, 0), stmt_int(s, 1), stmt_double_or_nan(s, 2)};
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

static void add_card(struct buffer *out, const char *class, const char *label, const char *value)
{
    buffer_printf(out, "<div class=\"card %s\"><b>", class);
    html_add(out, value, HTML_NAME_MOST);
    buffer_add_text(out, "</b><span>");
    html_add(out, label, HTML_NAME_MOST);
    buffer_add_text(out, "</span></div>\n");
}

static void add_count_card(struct buffer *out, const char *class, const char *label, int64_t count)
{
    char *text = xasprintf("%lld", (long long)count);
    add_card(out, class, label, text);
    free(text);
}

/* Jobs that a search which has ended did not choose wait for nothing. */
static const char *state_words(enum html_state state, bool search_ended)
{
    return state == HTML_PENDING && search_ended ? "pending, not to come" : html_state_names[state];
}

static void add_cards(struct html_page *p, const struct totals *t, bool search_ended)
{
    const struct html_data *d = p->data;
    struct buffer *out = &p->out;
    char duration[32];
    buffer_add_text(out, "<div class=cards>\n");
    if (d->combinations >= 0)
        add_count_card(out, "", "combinations", d->combinations);
    if (d->excluded >= 0)
        add_count_card(out, "", "excluded by rules", d->excluded);
    add_count_card(out, "", "jobs", d->jobs_in_all);
    for (int i = 0; i < HTML_STATE_COUNT; i++)
        if (d->counts[i])
            add_count_card(out, html_state_names[i], state_words((enum html_state)i, search_ended), d->counts[i]);
    add_count_card(out, "", t->attempts == 1 ? "attempt" : "attempts", t->attempts);
    if (t->wall_ms >= 0)
        add_card(out, "", "from first to last", format_duration_ms(t->wall_ms, duration, sizeof duration));
    if (!isnan(t->device_hours)) {
        char *hours = t->device_hours < 0.001 ? xstrdup("< 0.001") : xasprintf("%.3g", t->device_hours);
        add_card(out, "", "device-hours", hours);
        free(hours);
    }
    buffer_add_text(out, "</div>\n");
}

/* What went well, each class of failures, what runs, what waits. */
#define BAR_PIECES (FAILURE_COUNT + 2)

static const char *piece_name(size_t piece)
{
    if (piece == 0)
        return html_state_names[HTML_OK];
    if (piece < FAILURE_COUNT)
        return failure_names[piece];
    return html_state_names[piece == FAILURE_COUNT ? HTML_RUNNING : HTML_PENDING];
}

/* One bar, a piece per state or failure class, and its legend in words. */
static void add_bar(struct html_page *p, bool search_ended)
{
    const struct html_data *d = p->data;
    struct buffer *out = &p->out;
    struct buffer legend = BUFFER_INIT;
    double x = 0;
    if (d->job_count == 0)
        return;
    buffer_add_text(out, "<svg class=bar viewBox=\"0 0 1000 20\" preserveAspectRatio=none role=img "
                         "aria-label=\"Jobs by how they ended\">");
    for (size_t c = 0; c < BAR_PIECES; c++) {
        const char *name = piece_name(c);
        size_t count = 0;
        for (size_t i = 0; i < d->job_count; i++)
            count += strcmp(d->jobs[i].state == HTML_FAILED ? d->jobs[i].failure : html_state_names[d->jobs[i].state],
                            name) == 0;
        if (count == 0)
            continue;
        double width = 1000.0 * (double)count / (double)d->job_count;
        buffer_printf(out, "<rect class=\"x-%s\" x=%.2f y=0 width=%.2f height=20><title>%zu %s</title></rect>", name, x,
                      width, count, name);
        const char *words = c == FAILURE_COUNT + 1 ? state_words(HTML_PENDING, search_ended) : name;
        buffer_printf(&legend, "<li><i class=\"x-%s\"></i>%s %zu", name, words, count);
        x += width;
    }
    buffer_printf(out, "</svg>\n<ul class=legend>%s</ul>\n", buffer_text(&legend));
    buffer_free(&legend);
}

/* All of a number that is shortened is in its title. */
static void add_key_value(struct buffer *out, const struct html_column *c, const char *text)
{
    char size[HTML_SIZE_BYTES];
    const char *shown = html_key_text(c, text, size);
    if (shown != text) {
        buffer_add_text(out, "<data title=\"");
        html_add(out, text, HTML_NAME_MOST);
        buffer_printf(out, " B\">%s</data>", shown);
    } else {
        html_add(out, text, HTML_NAME_MOST);
    }
}

static void add_values(struct buffer *out, const struct html_column *c)
{
    for (size_t i = 0; i < c->level_count && i < 12; i++) {
        buffer_add_text(out, i ? ", " : "");
        add_key_value(out, c, c->level_texts[i]);
    }
    if (c->level_count > 12)
        buffer_printf(out, " and %zu more", c->level_count - 12);
}

/* The keys that were swept with their values, then those that are the same everywhere. */
static void add_keys(struct html_page *p)
{
    const struct html_data *d = p->data;
    struct buffer *out = &p->out;
    size_t same = 0, tied = 0;
    for (size_t i = 0; i < d->column_count; i++)
        tied += d->columns[i].role == HTML_KEY && html_column_varies(&d->columns[i]) &&
                (d->columns[i].twin || d->columns[i].derived);
    buffer_printf(out,
                  "<div class=scroll tabindex=0><table class=plain><caption>Keys that were swept</caption><thead><tr>"
                  "<th scope=col>key<th scope=col>values<th scope=col>how many%s</thead><tbody>\n",
                  tied ? "<th scope=col>tied to" : "");
    for (size_t i = 0; i < d->column_count; i++) {
        const struct html_column *c = &d->columns[i];
        if (c->role != HTML_KEY || !html_column_varies(c)) {
            same += c->role == HTML_KEY && c->level_count == 1;
            continue;
        }
        buffer_add_text(out, "<tr><th scope=row>");
        html_add(out, c->title, HTML_NAME_MOST);
        buffer_add_text(out, "<td>");
        add_values(out, c);
        buffer_printf(out, "<td class=n>%zu%s", c->level_count, tied ? "<td>" : "");
        buffer_add_text(out, c->twin ? "moves with " : c->derived ? "derived" : "");
        html_add(out, c->twin ? c->twin->title : NULL, HTML_NAME_MOST);
        buffer_add_char(out, '\n');
    }
    buffer_add_text(out, "</tbody></table></div>\n");
    if (same == 0)
        return;
    buffer_add_text(out, "<details><summary>The same in all jobs</summary><dl class=keys>");
    for (size_t i = 0; i < d->column_count; i++) {
        const struct html_column *c = &d->columns[i];
        if (c->role != HTML_KEY || c->level_count != 1)
            continue;
        buffer_add_text(out, "<div><dt>");
        html_add(out, c->title, HTML_NAME_MOST);
        buffer_add_text(out, "</dt><dd>");
        add_key_value(out, c, c->level_texts[0]);
        buffer_add_text(out, "</dd></div>");
    }
    buffer_add_text(out, "</dl></details>\n");
}

/* "2026-03-01 12:34:56 UTC" */
static void add_time(struct buffer *out, const char *before, int64_t ms)
{
    char text[32];
    clock_format_utc(ms, text);
    buffer_printf(out, "%s%.10s %.8s UTC", before, text, text + 11);
}

/* What caps have kept out, of the attempts that count. */
static int add_left_out(struct html_page *p, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(p->db,
                   "SELECT count(a.left_out), count(k.attempt_id), min(a.left_out) FROM job AS j"
                   " JOIN attempt AS a ON a.id = j.attempt_id"
                   " LEFT JOIN (SELECT DISTINCT attempt_id FROM summary WHERE kept IS NOT NULL) AS k"
                   " ON k.attempt_id = a.id WHERE j.sweep_id = ?1",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, p->data->sweep_id);
    int rc = stmt_next(s, e);
    if (rc > 0 && stmt_int(s, 0) > 0) {
        buffer_printf(&p->out,
                      "<p class=note>Jobs whose metrics are not of all that they reported (<code>partial"
                      "</code>): %lld, for one: ",
                      (long long)stmt_int(s, 0));
        html_add(&p->out, stmt_text(s, 2), HTML_TEXT_MOST);
        buffer_add_text(&p->out, "</p>\n");
    }
    if (rc > 0 && stmt_int(s, 1) > 0)
        buffer_printf(&p->out,
                      "<p class=note>Jobs of whose samples evenly spaced ones are kept: %lld. Their summaries are of "
                      "all.</p>\n",
                      (long long)stmt_int(s, 1));
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

/* With the names of files alone, as where the page goes nobody knows of directories. */
static void add_rest_of_search(struct html_page *p, const struct status_search *x)
{
    struct buffer command = BUFFER_INIT;
    const char *slash = strrchr(p->job_files, '/');
    char *db = xstrdup(slash ? slash + 1 : p->job_files);
    db[strlen(db) - strlen(".d")] = '\0';
    hint_add_rest_of_search(&command, x, p->data->file, db);
    html_add(&p->out, buffer_text(&command), HTML_TEXT_MOST);
    buffer_free(&command);
    free(db);
}

/* "Search by random: 5 trials, 5 ok, 0 stopped early, 0 failed. It has ended: max_trials: 5 trials were made." */
static void add_search(struct html_page *p, const struct sweep_status *s)
{
    const struct status_search *x = &s->search;
    const long long pending = p->data->counts[HTML_PENDING];
    struct buffer *out = &p->out;
    if (!x->strategy)
        return;
    buffer_add_text(out, "<p>Search by ");
    html_add(out, x->strategy, HTML_NAME_MOST);
    buffer_add_text(out, ": ");
    html_add_count(out, x->trials, "trial");
    buffer_printf(out, ", %lld ok, %lld stopped early, %lld failed", (long long)x->ok, (long long)x->stopped,
                  (long long)x->failed);
    if (x->running > 0)
        buffer_printf(out, ", %lld open", (long long)x->running);
    buffer_add_text(out, ". ");
    if (x->ended) {
        buffer_add_text(out, "It has ended: ");
        html_add(out, x->ended, HTML_TEXT_MOST);
        buffer_add_char(out, '.');
        if (pending > 0) {
            buffer_add_char(out, ' ');
            html_add_count(out, pending, "pending job");
            buffer_printf(out, " %s not to come: <code>", pending == 1 ? "is" : "are");
            add_rest_of_search(p, x);
            buffer_add_text(out, "</code> " HINT_REST_OF_SEARCH ".");
        }
    } else if (s->to_come >= 0) {
        buffer_printf(out, "At most %lld more to come, of %lld pending.",
                      s->to_come < pending ? (long long)s->to_come : pending, pending);
    }
    buffer_add_text(out, "</p>\n");
}

/* Of several sweeps in one file the page has the one that was asked for last. */
static int add_other_sweeps(struct html_page *p, struct error *e)
{
    enum { NAMED = 10 };
    struct stmt *s = NULL;
    struct buffer names = BUFFER_INIT;
    long long count = 0;
    int rc;
    if (db_prepare(p->db, "SELECT name FROM sweep WHERE id <> ?1 ORDER BY last_seen DESC, id DESC", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, p->data->sweep_id);
    while ((rc = stmt_next(s, e)) > 0)
        if (count++ < NAMED) {
            buffer_add_text(&names, count > 1 ? ", " : "");
            html_add(&names, stmt_text(s, 0), HTML_NAME_MOST);
        }
    stmt_free(s);
    if (rc == 0 && count > 0) {
        buffer_add_text(&p->out, "<p class=note>This page is of the sweep that was asked for last; the database has ");
        html_add_count(&p->out, count, "other");
        buffer_printf(&p->out, ": %s%s.</p>\n", buffer_text(&names), count > NAMED ? ", …" : "");
    }
    buffer_free(&names);
    return rc < 0 ? -1 : 0;
}

int html_overview(struct html_page *p, struct error *e)
{
    const struct html_data *d = p->data;
    struct totals t = {0, 0, NAN};
    struct sweep_status status = {0};
    if (read_totals(p, &t, e) < 0 || status_search_read(p->db, d->sweep_id, &status, e) < 0)
        return -1;
    buffer_add_text(&p->out, "<p>");
    if (d->objective) {
        buffer_printf(&p->out, "Sought: the %s <b>", d->maximise ? "highest" : "lowest");
        html_add(&p->out, d->objective, HTML_NAME_MOST);
        buffer_add_text(&p->out, "</b>");
    } else {
        buffer_add_text(&p->out, "No objective is declared, so nothing is best");
    }
    add_time(&p->out, ". First asked for at ", d->first_ms);
    if (d->last_ms - d->first_ms >= 60000)
        add_time(&p->out, ", last at ", d->last_ms);
    buffer_add_text(&p->out, ". Sweep file: <code>");
    html_add(&p->out, d->file, HTML_TEXT_MOST);
    buffer_add_text(&p->out, "</code></p>\n");
    add_search(p, &status);
    add_cards(p, &t, status.search.ended);
    add_bar(p, status.search.ended);
    status_free(&status);
    if (add_left_out(p, e) < 0 || add_other_sweeps(p, e) < 0)
        return -1;
    if (d->job_count < (size_t)d->jobs_in_all)
        buffer_printf(&p->out,
                      "<p class=note>This page holds the first %zu of %lld jobs; <code>meshsweep export</code> has "
                      "all.</p>\n",
                      d->job_count, (long long)d->jobs_in_all);
    if (d->job_count == 0)
        html_add_none(&p->out,
                      "No job is in the database: every combination was excluded, or none has been enumerated.");
    else
        add_keys(p);
    return 0;
}

/* --- the winner --- */

static void add_winner_keys(struct html_page *p)
{
    const struct html_data *d = p->data;
    buffer_add_text(&p->out, "<dl class=keys>");
    for (size_t i = 0; i < d->column_count; i++) {
        const struct html_column *c = &d->columns[i];
        if (c->role != HTML_KEY || !c->values[d->best].text)
            continue;
        buffer_printf(&p->out, "<div%s><dt>", html_column_varies(c) ? " class=varies" : "");
        html_add(&p->out, c->title, HTML_NAME_MOST);
        buffer_add_text(&p->out, "</dt><dd>");
        add_key_value(&p->out, c, c->values[d->best].text);
        buffer_add_text(&p->out, "</dd></div>\n");
    }
    buffer_add_text(&p->out, "</dl>\n");
}

static void add_command(struct html_page *p, const struct job_launch *l)
{
    char *line = l->command[0] ? job_command_line(l) : NULL, *redacted = job_command_redacted(l);
    if (line) {
        buffer_add_text(&p->out,
                        "<p>Its command, to be run again:</p>\n<div class=command><pre id=command tabindex=0>");
        html_add_lines(&p->out, line, 0);
        buffer_add_text(&p->out, "</pre><button type=button data-copy=command hidden>copy</button></div>\n");
    }
    if (l->measured_elsewhere) {
        buffer_add_text(&p->out, "<p class=note>It has no command: it was measured elsewhere (");
        html_add(&p->out, l->measured_elsewhere, HTML_TEXT_MOST);
        buffer_add_text(&p->out, ").</p>\n");
    }
    if (redacted[0]) {
        buffer_add_text(&p->out, "<p class=note>Secrets are left out, to be put in their places: ");
        html_add(&p->out, redacted, HTML_TEXT_MOST);
        buffer_add_text(&p->out, "</p>\n");
    }
    free(line);
    free(redacted);
}

static void add_unbeaten(struct html_page *p, const struct pareto_job *job, size_t objectives)
{
    buffer_printf(&p->out, "<tr><td><a href=\"#j%lld\">%lld</a>", (long long)job->job_id, (long long)job->job_id);
    for (size_t k = 0; k < objectives; k++) {
        buffer_add_text(&p->out, "<td class=n>");
        html_add_number(&p->out, job->values[k]);
    }
    if (job->tie)
        buffer_printf(&p->out, "<td>as job %lld", (long long)job->tie);
    buffer_add_char(&p->out, '\n');
}

/* Of several objectives the first ranks; here are those that none beats in all of them. */
static int add_pareto_set(struct html_page *p, struct error *e)
{
    enum { MOST = 50 };
    struct pareto set = {0};
    if (pareto_read(p->db, &set, e) < 0)
        return -1;
    if (set.objective_count >= 2 && set.count > 0) {
        buffer_printf(&p->out,
                      "<div class=scroll tabindex=0><table class=plain><caption>Of %zu objectives: the %zu jobs that "
                      "none beats in all of them (Pareto set)%s</caption><thead><tr><th scope=col>job",
                      set.objective_count, set.count, set.count > MOST ? ", the first 50" : "");
        for (size_t k = 0; k < set.objective_count; k++) {
            const struct pareto_objective *o = &set.objectives[k];
            buffer_printf(&p->out, "<th scope=col>%s ", o->maximise ? "highest" : "lowest");
            html_add(&p->out, o->metric, HTML_NAME_MOST);
            html_add_unit(&p->out, o->unit);
        }
        buffer_add_text(&p->out, "</thead><tbody>\n");
        for (size_t i = 0; i < set.count && i < MOST; i++)
            add_unbeaten(p, &set.jobs[i], set.objective_count);
        buffer_add_text(&p->out, "</tbody></table></div>\n");
    }
    pareto_free(&set);
    return 0;
}

static void add_no_winner(struct html_page *p)
{
    const struct html_data *d = p->data;
    const long long failed = d->counts[HTML_FAILED];
    if (d->counts[HTML_OK])
        html_add_none(&p->out, "Jobs are ok, but none has a finite objective.");
    else if (failed == 0)
        html_add_none(&p->out, "No job is ok yet.");
    else
        buffer_printf(&p->out,
                      "<p class=none>No job is ok%s: %lld failed (<a href=\"#failures\">why</a>)."
                      "</p>\n",
                      failed == d->jobs_in_all ? "" : " yet", failed);
}

int html_winner(struct html_page *p, struct error *e)
{
    const struct html_data *d = p->data;
    struct job_launch launch;
    bool compete = false;
    if (!d->objective) {
        html_add_none(&p->out,
                      "The sweep declares no objective: add objective = \"max:METRIC\" or \"min:METRIC\" under "
                      "[sweep] and run it once more.");
        return 0;
    }
    if (configurations_compete(p->db, &compete, e) < 0)
        return -1;
    if (compete)
        return html_winning_configurations(p, e);
    if (d->best < 0) {
        add_no_winner(p);
        return 0;
    }
    const struct html_job *best = &d->jobs[d->best];
    if (job_launch_read(p->db, best->id, &launch, e) < 0)
        return -1;
    buffer_add_text(&p->out, "<p class=best><b title=\"");
    html_add_number(&p->out, best->objective);
    buffer_add_text(&p->out, "\">");
    html_add_short(&p->out, best->objective);
    buffer_add_text(&p->out, " ");
    html_add(&p->out, d->unit, HTML_NAME_MOST);
    buffer_add_text(&p->out, "</b> ");
    html_add(&p->out, d->objective, HTML_NAME_MOST);
    buffer_printf(&p->out, ", <a href=\"#j%lld\">job %lld</a></p>\n", (long long)best->id, (long long)best->id);
    if (html_lead(p, e) < 0) {
        job_launch_free(&launch);
        return -1;
    }
    add_winner_keys(p);
    job_command_train(&launch, p->job_files);
    add_command(p, &launch);
    job_launch_free(&launch);
    return add_pareto_set(p, e);
}

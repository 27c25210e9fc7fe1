/* The overview: what was swept and how it ended. */
#include <math.h>
#include <string.h>

#include "config/failure.h"
#include "page/sections.h"
#include "report/hint.h"
#include "results/status.h"
#include "util/memory.h"
#include "util/parse.h"

/* Once a search has ended, the jobs that it did not choose will not run. */
static const char *state_words(enum html_state state, bool search_ended)
{
    return state == HTML_PENDING && search_ended ? "pending, will not run" : html_state_names[state];
}

/* ok, each failure class, running, pending */
#define BAR_PIECES (FAILURE_COUNT + 2)

static const char *piece_name(size_t piece)
{
    if (piece == 0)
        return html_state_names[HTML_OK];
    if (piece < FAILURE_COUNT)
        return failure_names[piece];
    return html_state_names[piece == FAILURE_COUNT ? HTML_RUNNING : HTML_PENDING];
}

/* A bar with a piece for each state and failure class, and its legend. */
static void add_bar(struct html_page *p, bool search_ended)
{
    const struct html_data *d = p->data;
    struct buffer *out = &p->out;
    OWNED_BUFFER legend = BUFFER_INIT;
    double x = 0;
    if (d->job_count == 0)
        return;
    buffer_add_text(out, "<svg class=bar viewBox=\"0 0 1000 20\" preserveAspectRatio=none role=img "
                         "aria-label=\"Jobs by outcome\">");
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
}

static void add_values(struct buffer *out, const struct html_column *c)
{
    for (size_t i = 0; i < c->level_count && i < 12; i++) {
        buffer_add_text(out, i ? ", " : "");
        html_add_key_value(out, c->unit, c->level_texts[i]);
    }
    if (c->level_count > 12)
        buffer_printf(out, " and %zu more", c->level_count - 12);
}

/* Keys that vary with their values, then the keys that are the same in all jobs. */
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
        html_name(out, "<tr><th scope=row>", c->title, "<td>");
        add_values(out, c);
        buffer_printf(out, "<td class=n>%zu%s", c->level_count, tied ? "<td>" : "");
        html_name(out, c->twin ? "moves with " : c->derived ? "derived" : "", c->twin ? c->twin->title : NULL, "\n");
    }
    buffer_add_text(out, "</tbody></table></div>\n");
    if (same == 0)
        return;
    buffer_add_text(out, "<details><summary>The same in all jobs</summary><dl class=keys>");
    for (size_t i = 0; i < d->column_count; i++) {
        const struct html_column *c = &d->columns[i];
        if (c->role != HTML_KEY || c->level_count != 1)
            continue;
        html_name(out, "<div><dt>", c->title, "</dt><dd>");
        html_add_key_value(out, c->unit, c->level_texts[0]);
        buffer_add_text(out, "</dd></div>");
    }
    buffer_add_text(out, "</dl></details>\n");
}

/* "Search by random: 5 trials, 5 ok, 0 stopped early, 0 failed. It ended: max_trials: 5 trials were made." */
void html_add_search(struct buffer *out, const struct cJSON *search, long long pending, const char *file,
                     const char *database)
{
    static const char *const names[] = {"ok", "stopped_early", "failed"}, *const titles[] = {"ok", "stopped early",
                                                                                             "failed"};
    const char *ended = json_text_of(search, "why_it_ended");
    const int64_t trials = json_count_of(search, "trials_made");
    int64_t open = trials, to_come = json_count_of(search, "trials_to_come");
    if (!search)
        return;
    html_name(out, "Search by ", json_text_of(search, "strategy"), ": ");
    buffer_add_count(out, trials, "trial");
    for (size_t i = 0; i < LENGTH(names); i++) {
        buffer_printf(out, ", %lld %s", (long long)json_count_of(search, names[i]), titles[i]);
        open -= json_count_of(search, names[i]);
    }
    if (open > 0)
        buffer_printf(out, ", %lld open", (long long)open);
    buffer_add_text(out, ". ");
    if (ended) {
        html_text(out, "It ended: ", ended, ".");
        if (pending > 0) {
            OWNED_BUFFER command = BUFFER_INIT;
            buffer_add_char(out, ' ');
            buffer_add_count(out, pending, "pending job");
            buffer_add_text(out, " will not run: <code>");
            hint_add_rest_of_search(&command, json_text_of(search, "lifting"), file, database);
            html_text(out, "", buffer_text(&command), "</code> " HINT_REST_OF_SEARCH ".");
        }
    } else if (to_come >= 0) {
        buffer_printf(out, "At most %lld more to come, of %lld pending.",
                      to_come < pending ? (long long)to_come : pending, pending);
    }
}

int html_overview(struct html_page *p, struct error *e)
{
    const struct html_data *d = p->data;
    OWNED_JSON *search = NULL;
    if (html_add_document(&p->out, p->db, "sought", VALUES(sql_text(d->file)), e) < 0 ||
        status_search_read(p->db, d->sweep_id, &search, e) < 0)
        return -1;
    if (search) {
        buffer_add_text(&p->out, "<p id=search>");
        html_add_search(&p->out, search, d->counts[HTML_PENDING], d->file, p->database);
        buffer_add_text(&p->out, "</p>\n");
    }
    const bool ended = json_text_of(search, "why_it_ended");
    if (html_add_document(&p->out, p->db, "cards", VALUES(sql_text(p->states), sql_int(ended)), e) < 0)
        return -1;
    add_bar(p, ended);
    if (html_add_document(&p->out, p->db, "remarks", NO_VALUES, e) < 0)
        return -1;
    if (d->job_count < (size_t)d->jobs_in_all)
        buffer_printf(&p->out,
                      "<p class=note>This page holds the first %zu of %lld jobs; <code>meshsweep export</code> has "
                      "all.</p>\n",
                      d->job_count, (long long)d->jobs_in_all);
    if (d->job_count == 0)
        html_add_none(&p->out,
                      "The database has no jobs: every combination was excluded, or none has been enumerated.");
    else
        add_keys(p);
    return 0;
}

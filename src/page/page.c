#include "page/page.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "compare/comparison.h"
#include "compare/ratios.h"
#include "page/sections.h"
#include "report/hint.h"
#include "report/job_command.h"
#include "report/saying.h"
#include "results/best.h"
#include "results/failure_causes.h"
#include "results/status.h"
#include "util/clock.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/shell.h"

/* --- overview --- */

/* "Search by random: 5 trials, 5 ok, 0 stopped early, 0 failed. It ended: max_trials: 5 trials were made." */
void html_add_search(struct buffer *out, const struct cJSON *search, long long pending, const char *file,
                     const char *database)
{
    static const char *const names[] = {"ok", "stopped_early", "failed", "infeasible"};
    static const char *const titles[] = {"ok", "stopped early", "failed", "that do not meet [sweep] subject_to"};
    const char *ended = json_text_of(search, "why_it_ended");
    const int64_t trials = json_count_of(search, "trials_made");
    int64_t open = trials, to_come = json_count_of(search, "trials_to_come");
    if (!search)
        return;
    html_name(out, "Search by ", json_text_of(search, "strategy"), ": ");
    buffer_add_count(out, trials, "trial");
    for (size_t i = 0; i < LENGTH(names); i++) {
        const int64_t count = json_count_of(search, names[i]);
        if (count > 0 || i < 3)
            buffer_printf(out, ", %lld %s", (long long)count, titles[i]);
        open -= count;
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
            /* Each limit is lifted, because the sweep file may set them. */
            buffer_add_text(&command, "meshsweep run");
            hint_add_config(&command, file);
            hint_add_db(&command, database);
            buffer_printf(&command, " --strategy grid%s", json_text_of(search, "lifting"));
            html_text(out, "", buffer_text(&command), "</code> runs what the search left out.");
        }
    } else if (to_come >= 0) {
        buffer_printf(out, "At most %lld more to come, of %lld pending.",
                      to_come < pending ? (long long)to_come : pending, pending);
    }
}

static int html_overview(struct html_page *p, struct error *e)
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
    return html_add_document(&p->out, p->db, "cards", VALUES(sql_int(ended)), e) < 0
               ? -1
               : html_add_document(&p->out, p->db, "remarks", NO_VALUES, e);
}

/* --- winner --- */

#define GROUPS_MOST 100

/* Adds how a winner is run, unless it is not on this page. */
static int add_run(struct html_page *p, cJSON *winner, struct error *e)
{
    const int64_t job = json_count_of(winner, "job");
    const long row = html_row_of(p->data, job);
    struct job_launch l;
    if (row < 0)
        return 0;
    if (job_launch_read(p->db, job, &l, e) < 0)
        return -1;
    job_command_train(&l);
    OWNED char *line = l.command[0] ? job_command_line(&l, false) : NULL, *redacted = job_command_redacted(&l);
    OWNED_BUFFER best = BUFFER_INIT;
    buffer_add_text(&best, "meshsweep best");
    hint_add_db(&best, p->database);
    buffer_add_text(&best, " --group ");
    shell_add_word(&best, json_text_or(winner, "group", ""));
    JSON_ADD(winner, JSON_COUNT("row", row), JSON_TEXT("line", line), JSON_TEXT("redacted", redacted),
             JSON_TEXT("elsewhere", l.measured_elsewhere), JSON_TEXT("best", buffer_text(&best)));
    job_launch_free(&l);
    return 0;
}

/* Adds a winner to each group of configurations that compete. */
static int add_groups(struct html_page *p, cJSON *parts, struct error *e)
{
    struct best best = {NULL, NULL};
    int rc = best_read(p->db, NULL, &best, e);
    if (rc == 0 && best_job(&best) >= 0)
        json_take_members(parts, cJSON_GetObjectItemCaseSensitive(best.beside, "groups"));
    best_free(&best);
    return rc;
}

static int add_winner(struct html_page *p, cJSON *parts, struct error *e)
{
    const struct html_job *best = &p->data->jobs[p->data->best];
    cJSON *pareto = NULL;
    JSON_ITEM(cJSON_AddArrayToObject(parts, "groups"), JSON_COUNT("job", best->id),
              JSON_REAL("value", best->objective));
    const int rc = pareto_read(p->db, &pareto, e);
    cJSON_AddItemToObject(parts, "pareto", pareto);
    return rc;
}

static int read_parts(struct html_page *p, cJSON *parts, struct error *e)
{
    const struct html_data *d = p->data;
    const bool compete = d->competition.replicates || d->competition.groups;
    OWNED_JSON *unranked = cJSON_CreateObject();
    cJSON *leads = NULL, *winner;
    int shown = 0, rc = unranked_read(p->db, d->objective, unranked, parts, e);
    if (rc < 0 || (!compete && d->best < 0))
        return rc;
    if (leads_read(p->db, d->objective, d->maximise, &d->competition, &leads, e) < 0)
        return -1;
    cJSON_AddItemToObject(parts, "leads", leads);
    rc = compete ? add_groups(p, parts, e) : add_winner(p, parts, e);
    cJSON_ArrayForEach(winner, cJSON_GetObjectItemCaseSensitive(parts, "groups")) if (rc == 0 && shown++ < GROUPS_MOST)
        rc = add_run(p, winner, e);
    return rc;
}

static int html_winner(struct html_page *p, struct error *e)
{
    OWNED_JSON *parts = cJSON_CreateObject();
    if (p->data->objective && read_parts(p, parts, e) < 0)
        return -1;
    OWNED char *text = cJSON_PrintUnformatted(parts);
    return html_add_document(&p->out, p->db, "winner", VALUES(sql_text(text)), e);
}

/* --- effects --- */

static int say_effects(struct db *db, const struct html_data *d, struct db *said, struct error *e)
{
    const char *keys[EFFECTS_KEYS_MOST];
    if (db_run(said, "INSERT INTO asked (metric, unit, maximise, least) VALUES (?, ?, ?, ?)",
               VALUES(sql_text(d->objective), sql_text(d->unit), sql_int(d->maximise), sql_int(RATIOS_LEAST)), e) < 0)
        return -1;
    return key_effects_read(db, d->objective, keys, html_effect_keys(d, keys, EFFECTS_KEYS_MOST), said, e);
}

int html_rank_keys(struct db *db, struct db *said, struct error *e)
{
    struct html_data d = {0};
    /* One transaction: a runner may be at work. */
    if (db_read_begin(db, e) < 0)
        return -1;
    int rc = html_data_read(db, &d, e);
    if (rc == 0)
        rc = d.objective ? say_effects(db, &d, said, e)
                         : error_set(e, ERROR_USAGE,
                                     "--rank: the sweep has no objective; add objective = \"max:METRIC\" or "
                                     "\"min:METRIC\" under [sweep]");
    db_read_end(db);
    html_data_free(&d);
    return rc;
}

static int html_effects(struct html_page *p, struct error *e)
{
    struct db *said = NULL;
    int rc = saying_open("sql/comparisons.sql", &said, e);
    if (rc == 0)
        rc = html_add_functions(said, e);
    if (rc == 0 && p->data->objective)
        rc = say_effects(p->db, p->data, said, e);
    if (rc == 0)
        rc = html_add_document(&p->out, said, "effects", NO_VALUES, e);
    db_close(said);
    return rc;
}

/* --- failures --- */

static int html_failures(struct html_page *p, struct error *e)
{
    struct failure_causes causes;
    if (failure_causes_read(p->db, p->data->sweep_id, 0, &causes, e) < 0)
        return -1;
    OWNED char *list = cJSON_PrintUnformatted(causes.list), *words = cJSON_PrintUnformatted(causes.words);
    failure_causes_free(&causes);
    return html_add_document(&p->out, p->db, "failures",
                             VALUES(sql_text(list), sql_text(words), sql_int(causes.others)), e);
}

/* --- the page --- */

static const struct {
    const char *id, *title;
    html_section *add; /* NULL: sql/page/ID.sql makes it */
} sections[] = {
    {"winner", "Winner", html_winner},
    {"overview", "Overview", html_overview},
    {"explore", "Any two against each other", NULL},
    {"curves", "Curves", html_curves},
    {"front", "Speed against memory", NULL},
    {"effects", "Effect of each key", html_effects},
    {"heat", "Two keys at a time", html_heat},
    {"parallel", "All keys at once", NULL},
    {"predicted", "Predicted and measured", NULL},
    {"learning", "Best so far", NULL},
    {"timeline", "Time line", NULL},
    {"failures", "Failures", html_failures},
    {"excluded", "Excluded combinations", NULL},
    {"jobs", "All jobs", html_jobs},
};
#define SECTION_COUNT LENGTH(sections)

/* Index of the section that stands at a place: where no job is ok, the failures come first. */
static size_t section_at(const struct html_data *d, size_t place)
{
    size_t first = 0;
    while (!d->counts[HTML_OK] && d->counts[HTML_FAILED] && sections[first].add != html_failures)
        first++;
    if (place == 0)
        return first;
    return place <= first ? place - 1 : place;
}

/* Concatenated to one script, in this order. */
static const char *const scripts[] = {"model",   "state",  "table",  "plot",   "charts", "marks",
                                      "explore", "curves", "chosen", "follow", "save",   "main"};

static void add_head(struct html_page *p, bool live)
{
    struct buffer *out = &p->out;
    buffer_add_text(out,
                    "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
                    "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=referrer content=no-referrer>\n"
                    "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; "
                    "script-src 'unsafe-inline'; img-src data:");
    buffer_add_text(out, live ? "; connect-src 'self'" : "");
    html_name(out, "\">\n<link rel=icon href=\"data:,\">\n<title>", p->data->sweep, " · meshsweep</title>\n<style>\n");
    buffer_add_text(out, embedded_text("src/page/report.css"));
    buffer_add_text(out, "</style>\n");
    if (live) {
        buffer_add_text(out, "<script>\n");
        buffer_add_text(out, embedded_text("src/page/live.js"));
        buffer_add_text(out, "</script>\n");
    }
    html_name(out, "</head>\n<body>\n<a class=skip href=#main>To the report</a>\n<header><h1>", p->data->sweep,
              "</h1>\n<button type=button id=theme hidden>dark</button>\n<nav aria-label=Sections>");
    for (size_t place = 0; place < SECTION_COUNT; place++) {
        size_t i = section_at(p->data, place);
        buffer_printf(out, "<a href=\"#%s\">%s</a>\n", sections[i].id, sections[i].title);
    }
    buffer_add_text(out,
                    "</nav></header>\n<main id=main>\n<noscript><p class=none>The plots need JavaScript; without it, "
                    "the page shows their tables.</p></noscript>\n");
}

static void add_foot(struct html_page *p, int64_t now_ms)
{
    char time[32];
    buffer_printf(&p->out, "</main>\n<footer>Made by meshsweep " MESHSWEEP_VERSION " at %s from ",
                  clock_format_utc(now_ms, time));
    html_text(&p->out, "", p->data->file,
              ". The tables can be read without JavaScript; with it, the page draws plots, can filter and compare, "
              "and says what each point is.</footer>\n");
}

/* Overlays: the panel of a job, the status of the filter, the tooltip. */
static void add_overlays(struct html_page *p)
{
    buffer_add_text(&p->out,
                    "<aside id=chosen aria-labelledby=chosen-title hidden><div class=bar><h2 id=chosen-title "
                    "tabindex=-1></h2><label><input type=checkbox id=chosen-differ checked>only what differs</label>"
                    "<button type=button id=chosen-none hidden>unpin all</button><button type=button "
                    "id=chosen-close>close</button></div><div class=scroll id=chosen-table></div>"
                    "<p class=note id=chosen-note></p><div id=chosen-curves hidden><h3>Curves</h3><div id=chosen-plot "
                    "class=drawn></div><ul class=legend id=chosen-legend></ul></div></aside>\n"
                    "<p id=passing role=status hidden><span id=passing-count></span> <button type=button id=clear-all>"
                    "show all</button></p><p id=pinned role=status hidden><span id=pinned-count></span> <button "
                    "type=button id=pinned-show>show</button> <button type=button id=pinned-none>unpin all</button></p>"
                    "<div id=tip role=status hidden></div><i id=probe hidden></i>\n");
}

static void add_scripts(struct html_page *p)
{
    buffer_add_text(&p->out, "<script type=module>\n");
    for (size_t i = 0; i < LENGTH(scripts); i++) {
        OWNED char *name = xasprintf("src/page/%s.js", scripts[i]);
        buffer_add_text(&p->out, embedded_text(name));
    }
    buffer_add_text(&p->out, "</script>\n</body></html>\n");
}

static int flush(struct html_page *p, const struct report_sink *sink, struct error *e)
{
    int rc = sink->write(sink->context, p->out.data, p->out.length, e);
    buffer_clear(&p->out);
    return rc;
}

static int add_sections(struct html_page *p, const struct report_sink *sink, struct error *e)
{
    for (size_t place = 0; place < SECTION_COUNT; place++) {
        size_t i = section_at(p->data, place);
        buffer_printf(&p->out, "<section id=\"%s\" aria-labelledby=\"%s-h\"><h2 id=\"%s-h\">%s</h2>\n", sections[i].id,
                      sections[i].id, sections[i].id, sections[i].title);
        if ((sections[i].add ? sections[i].add(p, e)
                             : html_add_document(&p->out, p->db, sections[i].id, NO_VALUES, e)) < 0)
            return -1;
        buffer_add_text(&p->out, "</section>\n");
        if (flush(p, sink, e) < 0)
            return -1;
    }
    return 0;
}

/* "results.db" of ".../results.db.d" */
static char *database_name(const char *job_files)
{
    const char *name = path_name(job_files);
    return xasprintf("%.*s", (int)(strlen(name) - strlen(".d")), name);
}

static int make_page(struct db *db, const struct html_request *request, const struct report_sink *sink, struct error *e)
{
    struct html_data data;
    if (saying_add_functions(db, e) < 0 || html_add_functions(db, e) < 0 || html_data_read(db, &data, e) < 0)
        return -1;
    OWNED char *database = database_name(request->job_files);
    const char *in_file = request->live ? NULL : request->job_files;
    struct html_page p = {BUFFER_INIT, &data, db, request->files_beside, in_file, database, html_level_most(&data)};
    add_head(&p, request->live);
    int rc = html_add_tables(&p, e);
    rc = rc == 0 ? add_sections(&p, sink, e) : rc;
    html_drop_tables(db);
    add_foot(&p, request->now_ms);
    for (size_t i = 0; request->columns && i < data.shown_count; i++)
        string_list_add(request->columns, xstrdup(data.shown[i]->title));
    add_overlays(&p);
    rc = rc == 0 ? html_embed_jobs(&p, e) : rc;
    rc = rc == 0 ? html_embed_details(&p, e) : rc;
    add_scripts(&p);
    rc = rc == 0 ? flush(&p, sink, e) : rc;
    buffer_free(&p.out);
    html_data_free(&data);
    return rc;
}

int html_report(struct db *db, const struct html_request *request, const struct report_sink *sink, struct error *e)
{
    if (db_read_begin(db, e) < 0)
        return -1;
    int rc = make_page(db, request, sink, e);
    db_read_end(db);
    return rc;
}

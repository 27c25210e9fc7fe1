#include "page/page.h"

#include <stdlib.h>
#include <string.h>

#include "page/sections.h"
#include "report/saying.h"
#include "util/clock.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"

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

/* Parallel coordinates: the script draws them from the jobs that it has. */
#include <math.h>

#include "page/sections.h"

#define AXES_MOST 10
#define LINES_MOST 1000

int html_parallel(struct html_page *p, struct error *e)
{
    const struct html_data *d = p->data;
    const struct html_column *keys[AXES_MOST];
    const size_t count = html_varying(d, keys, AXES_MOST);
    bool has_objective = false;
    (void)e;
    for (size_t i = 0; i < d->job_count && !has_objective; i++)
        has_objective = isfinite(d->jobs[i].objective);
    if (count == 0 || count + has_objective < 2) {
        html_add_none(&p->out, "This plot needs a key with two values and an objective, or two such keys.");
        return 0;
    }
    if (!html_any_ended(d)) {
        html_add_none(&p->out, "No job has ended yet.");
        return 0;
    }
    buffer_add_text(&p->out, HTML_CHART("parallel-plot") "{\"keys\":[");
    for (size_t i = count; i-- > 0;) {
        html_add_json(&p->out, "", keys[i]->title, HTML_NAME_MOST);
        buffer_add_text(&p->out, i ? "," : "]}" HTML_CHART_END);
    }
    buffer_add_text(&p->out,
                    "<p class=note>Each line is a job: lighter is better, and the best lie on top. The thick line is "
                    "the winner; dashed lines are failed jobs. <a href=\"#jobs\">All jobs</a> has the same numbers.");
    if (d->job_count > LINES_MOST)
        buffer_printf(&p->out, " Of %zu jobs, one in %zu is drawn, and all of the best.", d->job_count,
                      (d->job_count + LINES_MOST - 1) / LINES_MOST);
    buffer_add_text(&p->out, "</p>\n");
    return 0;
}

static void add_choice(struct buffer *out, const char *label, const char *id, bool log)
{
    buffer_printf(out, "<label>%s <select id=plot-%s></select></label>\n", label, id);
    if (log)
        buffer_printf(out, "<label><input type=checkbox id=plot-log%s>log</label>\n", id);
}

int html_explore(struct html_page *p, struct error *e)
{
    struct buffer *out = &p->out;
    (void)e;
    if (p->data->job_count == 0) {
        html_add_none(out, "There are no jobs.");
        return 0;
    }
    buffer_add_text(out, "<form id=plot-form hidden>");
    add_choice(out, "across", "x", true);
    add_choice(out, "up", "y", true);
    add_choice(out, "colour", "colour", false);
    add_choice(out, "facets", "facet", false);
    add_choice(out, "join by", "join", false);
    buffer_add_text(out, "<label><input type=checkbox id=plot-zoom>a rectangle zooms</label> <button type=button "
                         "id=plot-out hidden>zoom out</button>");
    buffer_add_text(out,
                    "</form>\n<div id=plots class=drawn></div>\n<ul class=legend "
                    "id=plot-legend></ul>\n" HTML_FIGURES_BY_SCRIPT(
                        "plot-figures") "<p "
                                        "class=note><span id=plot-note></span> Rings mark the winner and pinned jobs; "
                                        "dashed lines are conditions and the "
                                        "devices' memory. With Shift, or where the box is ticked, a rectangle here "
                                        "zooms. Draw one over any plot to filter all plots and the <a "
                                        "href=\"#jobs\">table of jobs</a>, which has the same values as text.</p>\n");
    return 0;
}

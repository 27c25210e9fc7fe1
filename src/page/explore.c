/* The plot of any column against any other: its form; the script draws it. */
#include "page/sections.h"
#include "page/text.h"

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
    buffer_add_text(
        out,
        "</form>\n<div id=plots class=drawn></div>\n<ul class=legend id=plot-legend></ul>\n" HTML_FIGURES_BY_SCRIPT(
            "plot-figures") "<p "
                            "class=note><span id=plot-note></span> Crosses are failed jobs, at the bottom if they have "
                            "no value; rings mark the winner and pinned jobs; dashed lines are conditions and the "
                            "devices' memory. Draw a rectangle over any plot to filter all plots and the <a "
                            "href=\"#jobs\">table of jobs</a>, which has the same values as text.</p>\n");
    return 0;
}

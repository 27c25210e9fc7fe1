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

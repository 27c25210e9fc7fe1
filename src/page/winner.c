/* The winner, and the Pareto set of several objectives. */
#include "page/figures.h"
#include "page/sections.h"
#include "page/text.h"
#include "results/conditions.h"
#include "results/contenders.h"
#include "results/pareto.h"

static void add_unbeaten(struct html_page *p, const struct pareto_job *job, const struct pareto *set)
{
    figures_job(&p->out, job->job_id);
    for (size_t k = 0; k < set->objective_count; k++)
        html_add_amount_cell(&p->out, job->values[k], set->objectives[k].unit);
    if (job->tie)
        buffer_printf(&p->out, "<td>as job %lld", (long long)job->tie);
    buffer_add_char(&p->out, '\n');
}

/* With several objectives, the first one ranks; this is the Pareto set of all. */
static int add_pareto_set(struct html_page *p, struct error *e)
{
    enum { MOST = 50 };
    struct pareto set = {0};
    if (pareto_read(p->db, &set, e) < 0)
        return -1;
    if (set.objective_count >= 2 && set.count > 0) {
        buffer_printf(&p->out,
                      "<div class=scroll tabindex=0><table class=plain><caption>Of %zu objectives: the %zu jobs that "
                      "no other job beats in all of them (Pareto set)%s</caption><thead><tr><th scope=col>job",
                      set.objective_count, set.count, set.count > MOST ? ", the first 50" : "");
        for (size_t k = 0; k < set.objective_count; k++) {
            const struct pareto_objective *o = &set.objectives[k];
            buffer_printf(&p->out, "<th scope=col>%s ", o->maximise ? "highest" : "lowest");
            html_add(&p->out, o->metric, HTML_NAME_MOST);
            html_add_unit(&p->out, o->unit);
        }
        buffer_add_text(&p->out, "</thead><tbody>\n");
        for (size_t i = 0; i < set.count && i < MOST; i++)
            add_unbeaten(p, &set.jobs[i], &set);
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
        html_add_none(&p->out, "Some jobs succeeded, but none has a finite objective.");
    else if (failed == 0)
        html_add_none(&p->out, "No job has succeeded yet.");
    else
        buffer_printf(&p->out,
                      "<p class=none>No job has succeeded%s: %lld failed (<a href=\"#failures\">why</a>)."
                      "</p>\n",
                      failed == d->jobs_in_all ? "" : " yet", failed);
}

static int add_winner(struct html_page *p, struct error *e)
{
    const struct html_data *d = p->data;
    const struct html_job *best = &d->jobs[d->best];
    const struct competition all = {d->objective, d->maximise, &best->id, 1, NULL, 0};
    struct lead lead;
    if (leads_read(p->db, &all, &lead, e) < 0)
        return -1;
    buffer_add_text(&p->out, "<p class=best><b title=\"");
    html_add_number(&p->out, best->objective);
    buffer_add_text(&p->out, "\">");
    html_add_amount(&p->out, best->objective, d->unit);
    html_name(&p->out, "</b> ", d->objective, ", ");
    html_link_job(&p->out, "job ", best->id);
    buffer_add_text(&p->out, "</p>\n");
    return html_add_winner_details(p, (size_t)d->best, &lead, e);
}

/* What cannot win for want of a number that can be compared. */
static int add_unranked(struct html_page *p, struct error *e)
{
    const struct conditions_request request = {p->data->objective, p->data->maximise, 0};
    struct conditions all = {0};
    struct buffer text = BUFFER_INIT;
    if (conditions_read(p->db, &request, &all, e) < 0)
        return -1;
    conditions_add_unranked(&all, &text);
    if (text.length) {
        buffer_add_text(&p->out, "<p class=note>");
        html_add(&p->out, buffer_text(&text), HTML_TEXT_MOST);
        buffer_add_text(&p->out, "</p>\n");
    }
    buffer_free(&text);
    conditions_free(&all);
    return 0;
}

static int add_result(struct html_page *p, struct error *e)
{
    bool compete = false;
    if (configurations_compete(p->db, &compete, e) < 0)
        return -1;
    if (compete)
        return html_winning_configurations(p, e);
    if (p->data->best < 0) {
        add_no_winner(p);
        return 0;
    }
    return add_winner(p, e) < 0 ? -1 : add_pareto_set(p, e);
}

int html_winner(struct html_page *p, struct error *e)
{
    if (!p->data->objective) {
        html_add_none(&p->out,
                      "The sweep declares no objective: add objective = \"max:METRIC\" or \"min:METRIC\" under "
                      "[sweep] and run it once more.");
        return 0;
    }
    return add_result(p, e) < 0 ? -1 : add_unranked(p, e);
}

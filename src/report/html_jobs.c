/* The table of all jobs. */
#include <math.h>
#include <string.h>

#include "report/html_page.h"
#include "report/html_text.h"

/* Texts in cells are cut: 10,000 rows of long messages are no page. */
#define CELL_MOST 60
#define MESSAGE_MOST 120

static bool has_values(const struct html_data *d, const struct html_column *c)
{
    for (size_t i = 0; i < d->job_count; i++)
        if (c->values[i].text)
            return true;
    return false;
}

/* What tells jobs apart and what came of them; identifiers of files and the like are in the exports. */
static bool is_shown(const struct html_data *d, const struct html_column *c)
{
    static const char *const shown[] = {"job", "state", "failure", "attempts", "duration_ms", "max_rss",
                                        "predicted_memory", "predicted_time", "error"};
    if (c->role == HTML_KEY)
        return html_column_varies(c);
    if (c->role == HTML_METRIC)
        return has_values(d, c);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (strcmp(shown[i], c->title) == 0)
            return has_values(d, c);
    return false;
}

static void add_header(struct html_page *p)
{
    const struct html_data *d = p->data;
    buffer_add_text(&p->out, "<thead><tr>");
    for (size_t i = 0; i < d->column_count; i++) {
        if (!is_shown(d, &d->columns[i]))
            continue;
        buffer_add_text(&p->out, "<th scope=col>");
        html_add(&p->out, d->columns[i].title, HTML_NAME_MOST);
        if (d->columns[i].unit[0]) {
            buffer_add_text(&p->out, " <small>(");
            html_add(&p->out, d->columns[i].unit, HTML_NAME_MOST);
            buffer_add_text(&p->out, ")</small>");
        }
    }
    buffer_add_text(&p->out, "</thead>\n");
}

static void add_cell(struct html_page *p, const struct html_column *c, size_t row)
{
    const struct html_value *v = &c->values[row];
    buffer_add_text(&p->out, "<td>");
    if (!v->text)
        return;
    if (c->role != HTML_KEY && !isnan(v->number))
        html_add_number(&p->out, v->number);
    else
        html_add(&p->out, v->text, strcmp(c->title, "error") == 0 ? MESSAGE_MOST : CELL_MOST);
}

int html_jobs(struct html_page *p, struct error *e)
{
    const struct html_data *d = p->data;
    (void)e;
    if (d->job_count == 0) {
        html_add_none(&p->out, "There is no job.");
        return 0;
    }
    buffer_add_text(&p->out, "<form id=filter hidden><label>Filter <input type=search id=words autocomplete=off "
                             "placeholder=\"deep zero_stage=3 throughput&gt;100\"></label>\n<fieldset><legend>States</legend>");
    for (int i = HTML_STATE_COUNT - 1; i >= 0; i--)
        if (d->counts[i])
            buffer_printf(&p->out, "<label><input type=checkbox name=state value=%s checked>%s</label>\n",
                          html_state_names[i], html_state_names[i]);
    buffer_add_text(&p->out, "</fieldset><output id=shown aria-live=polite></output></form>\n"
                             "<p class=note>A click on a column's name sorts. A filter is words that a row has, and "
                             "conditions such as <code>zero_stage=3</code> or <code>throughput&gt;100</code>.</p>\n"
                             "<div class=scroll tabindex=0><table id=table>");
    add_header(p);
    buffer_add_text(&p->out, "<tbody>\n");
    for (size_t row = 0; row < d->job_count; row++) {
        const struct html_job *j = &d->jobs[row];
        buffer_printf(&p->out, "<tr id=j%lld class=%s>", (long long)j->id, html_state_names[j->state]);
        for (size_t i = 0; i < d->column_count; i++)
            if (is_shown(d, &d->columns[i]))
                add_cell(p, &d->columns[i], row);
        buffer_add_char(&p->out, '\n');
    }
    buffer_add_text(&p->out, "</tbody></table></div>\n<p id=more hidden><button type=button>Show more rows</button></p>\n");
    return 0;
}

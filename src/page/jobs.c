/* The table of all jobs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/sections.h"
#include "page/text.h"
#include "report/text.h"

/* Rows in the HTML; the script adds the others from its data (embed.c). */
#define ROWS_MOST 250

/* Longer texts in cells are cut. */
#define CELL_MOST 60
#define MESSAGE_MOST 120

static void add_header(struct html_page *p, const struct html_column *const *columns, size_t count)
{
    buffer_add_text(&p->out, "<thead><tr>");
    for (size_t i = 0; i < count; i++) {
        html_name(&p->out, "<th scope=col>", columns[i]->title, "");
        if (columns[i]->unit[0]) {
            html_name(&p->out, " <small>(", columns[i]->unit, ")</small>");
        }
    }
    buffer_add_text(&p->out, "</thead>\n");
}

/* Whether the table fits on paper without breaking numbers; texts of the last column may be broken. */
static bool is_narrow(const struct html_data *d, const struct html_column *const *columns, size_t count)
{
    enum { LETTERS_ACROSS = 240, NUMBER_MOST = 9, BETWEEN = 1, LAST = 24 };
    size_t letters = LAST;
    for (size_t k = 0; k + 1 < count; k++) {
        size_t most = 0;
        for (size_t i = 0; i < d->job_count; i++) {
            const struct html_value *v = &columns[k]->values[i];
            size_t length = v->text ? strlen(v->text) : 0;
            length = !isnan(v->number) && length > NUMBER_MOST ? NUMBER_MOST : length;
            most = length > most ? length : most;
        }
        letters += most + BETWEEN;
    }
    return letters <= LETTERS_ACROSS;
}

/* Tells the script the objective, its direction and the winner. */
static void add_table_start(struct html_page *p, bool narrow)
{
    const struct html_data *d = p->data;
    buffer_add_text(&p->out, "<div class=scroll tabindex=0><table id=table");
    buffer_add_text(&p->out, narrow ? " class=narrow" : "");
    if (d->sought) {
        buffer_printf(&p->out, " data-best=%s data-sought=\"", d->maximise ? "max" : "min");
        html_name(&p->out, "", d->sought->title, "\"");
    }
    if (d->best >= 0)
        buffer_printf(&p->out, " data-winner=%lld", (long long)d->jobs[d->best].id);
    buffer_add_char(&p->out, '>');
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

static void add_rows(struct html_page *p, const struct html_column *const *columns, size_t count)
{
    const struct html_data *d = p->data;
    size_t *order = html_best_first(d);
    buffer_add_text(&p->out, "<tbody>\n");
    for (size_t i = 0; i < d->job_count && i < ROWS_MOST; i++) {
        const size_t row = order[i];
        const struct html_job *j = &d->jobs[row];
        buffer_printf(&p->out, "<tr id=j%lld class=%s>", (long long)j->id, html_state_names[j->state]);
        for (size_t k = 0; k < count; k++)
            add_cell(p, columns[k], row);
        buffer_add_char(&p->out, '\n');
    }
    free(order);
}

/* Tells which keys have values that are cut on the page. */
static void add_cut_note(struct html_page *p)
{
    const struct html_data *d = p->data;
    struct buffer text = BUFFER_INIT;
    for (size_t i = 0; i < d->column_count; i++) {
        const struct html_column *c = &d->columns[i];
        size_t cut = 0;
        for (size_t k = 0; c->role == HTML_KEY && k < c->level_count; k++) {
            text.length = 0;
            cut += strlen(c->level_texts[k]) > p->level_most &&
                   text_add_printable(&text, c->level_texts[k], strlen(c->level_texts[k]), 0, false) > p->level_most;
        }
        if (cut == 0)
            continue;
        html_name(&p->out, "<p class=note>Of ", c->title, "");
        buffer_printf(&p->out,
                      " %zu of %zu values are cut after %zu characters; <code>meshsweep export</code> has them in "
                      "full.</p>\n",
                      cut, c->level_count, p->level_most);
    }
    buffer_free(&text);
}

int html_jobs(struct html_page *p, struct error *e)
{
    const struct html_data *d = p->data;
    (void)e;
    if (d->job_count == 0) {
        html_add_none(&p->out, "There are no jobs.");
        return 0;
    }
    buffer_add_text(&p->out,
                    "<form id=filter hidden><label>Filter <input type=search id=words autocomplete=off list=columns "
                    "aria-describedby=wrong placeholder=\"deep zero_stage=3 "
                    "throughput&gt;100\"></label>\n<fieldset><legend>States</legend>");
    for (int i = HTML_STATE_COUNT - 1; i >= 0; i--)
        if (d->counts[i])
            buffer_printf(&p->out, "<label><input type=checkbox name=state value=%s checked>%s</label>\n",
                          html_state_names[i], html_state_names[i]);
    buffer_add_text(&p->out, "</fieldset><button type=button id=clear hidden>clear</button><output id=shown "
                             "aria-live=polite></output>"
                             "<datalist id=columns></datalist><p id=wrong role=alert hidden></p></form>\n"
                             "<p class=\"note help\">Click a column's name to sort. A filter consists of words that "
                             "occur in the row and conditions such as <code>zero_stage=1|3</code> or "
                             "<code>throughput&gt;100</code>; put values with spaces in quotes.</p>\n");
    if (d->job_count > ROWS_MOST)
        buffer_printf(&p->out,
                      "<noscript><p class=note>Without JavaScript, only the best %d of %zu jobs are "
                      "shown.</p></noscript>\n",
                      ROWS_MOST, d->job_count);
    add_cut_note(p);
    const struct html_column **columns;
    size_t count = html_shown_columns(d, &columns);
    add_table_start(p, is_narrow(d, columns, count));
    add_header(p, columns, count);
    add_rows(p, columns, count);
    free(columns);
    buffer_add_text(&p->out,
                    "</tbody></table></div>\n<p id=more hidden><button type=button>Show more rows</button></p>\n");
    return 0;
}

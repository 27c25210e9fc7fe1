/* The table of all jobs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/sections.h"
#include "util/memory.h"

/* Rows in the HTML; the script adds the others from its data (embed.c). */
#define ROWS_MOST 250

/* Longer texts in cells are cut. */
#define CELL_MOST 60
#define MESSAGE_MOST 120

static void add_header(struct html_page *p)
{
    const struct html_data *d = p->data;
    buffer_add_text(&p->out, "<thead><tr>");
    for (size_t i = 0; i < d->shown_count; i++) {
        html_name(&p->out, "<th scope=col>", d->shown[i]->title, "");
        if (d->shown[i]->unit[0])
            html_name(&p->out, " <small>(", d->shown[i]->unit, ")</small>");
    }
    buffer_add_text(&p->out, "</thead>\n");
}

/* Returns whether the table fits on paper without breaking numbers; texts of the last column may be broken. */
static bool is_narrow(const struct html_data *d)
{
    enum { LETTERS_ACROSS = 240, NUMBER_MOST = 9, BETWEEN = 1, LAST = 24 };
    size_t letters = LAST;
    for (size_t k = 0; k + 1 < d->shown_count; k++) {
        size_t most = 0;
        for (size_t i = 0; i < d->job_count; i++) {
            const struct html_value *v = &d->shown[k]->values[i];
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

static void add_rows(struct html_page *p)
{
    const struct html_data *d = p->data;
    buffer_add_text(&p->out, "<tbody>\n");
    for (size_t i = 0; i < d->job_count && i < ROWS_MOST; i++) {
        const size_t row = d->best_first[i];
        const struct html_job *j = &d->jobs[row];
        buffer_printf(&p->out, "<tr id=j%lld class=%s>", (long long)j->id, html_state_names[j->state]);
        for (size_t k = 0; k < d->shown_count; k++)
            add_cell(p, d->shown[k], row);
        buffer_add_char(&p->out, '\n');
    }
}

int html_jobs(struct html_page *p, struct error *e)
{
    const struct html_data *d = p->data;
    if (d->job_count == 0) {
        html_add_none(&p->out, "There are no jobs.");
        return 0;
    }
    if (html_add_document(&p->out, p->db, "filter", VALUES(sql_int(ROWS_MOST), sql_int((int64_t)p->level_most)), e) < 0)
        return -1;
    add_table_start(p, is_narrow(d));
    add_header(p);
    add_rows(p);
    buffer_add_text(&p->out,
                    "</tbody></table></div>\n<p id=more hidden><button type=button>Show more rows</button></p>\n");
    return 0;
}

/* Jobs per line; a served page sends only lines that changed. */
#define JOBS_TO_A_LINE 500

/* --- columns --- */

static void add_comma(struct buffer *out, size_t row)
{
    buffer_add_text(out, row == 0 ? "" : row % JOBS_TO_A_LINE ? "," : ",\n");
}

static const char *const role_names[] = {[HTML_FIXED] = "fixed", [HTML_KEY] = "key", [HTML_METRIC] = "metric"};

static void add_levels(struct buffer *out, const struct html_column *c, size_t rows, size_t most)
{
    buffer_add_text(out, ",\"levels\":[");
    for (size_t i = 0; i < c->level_count; i++)
        html_add_json(out, i ? "," : "", c->level_texts[i], most);
    buffer_add_text(out, "],\"codes\":[");
    for (size_t i = 0; i < rows; i++) {
        add_comma(out, i);
        buffer_printf(out, "%d", c->levels[i]);
    }
    buffer_add_char(out, ']');
}

/* A metric that was reported as NaN differs from one that was not reported. */
static void add_numbers(struct buffer *out, const struct html_column *c, size_t rows)
{
    buffer_add_text(out, ",\"numbers\":[");
    for (size_t i = 0; i < rows; i++) {
        add_comma(out, i);
        if (c->values[i].text && isnan(c->values[i].number))
            html_add_json(out, "", c->values[i].text, HTML_LEVEL_MOST);
        else
            html_add_json_number(out, c->values[i].number);
    }
    buffer_add_char(out, ']');
}

static void add_column(struct buffer *out, const struct html_column *c, size_t rows, size_t level_most)
{
    html_add_json(out, "{\"name\":", c->title, HTML_NAME_MOST);
    html_add_json(out, ",\"unit\":", c->unit, HTML_NAME_MOST);
    buffer_printf(out, ",\"role\":\"%s\"%s", role_names[c->role], c->derived ? ",\"derived\":true" : "");
    if (c->twin)
        html_add_json(out, ",\"twin\":", c->twin->title, HTML_NAME_MOST);
    if (c->levels)
        add_levels(out, c, rows, c->role == HTML_KEY ? level_most : HTML_LEVEL_MOST);
    else
        add_numbers(out, c, rows);
    buffer_add_char(out, '}');
}

/* Keys with the same value in all jobs. */
static void add_constants(struct buffer *out, const struct html_data *d)
{
    bool first = true;
    OWNED_BUFFER sizes = BUFFER_INIT; /* the ones that are bytes */
    buffer_add_text(out, "],\n\"constants\":{");
    for (size_t i = 0; i < d->column_count; i++) {
        const struct html_column *c = &d->columns[i];
        if (c->role != HTML_KEY || c->level_count != 1)
            continue;
        html_add_json(out, first ? "" : ",", c->title, HTML_NAME_MOST);
        buffer_add_char(out, ':');
        html_add_json(out, "", c->level_texts[0], HTML_LEVEL_MOST);
        first = false;
        if (c->unit[0])
            html_add_json(&sizes, sizes.length ? "," : "", c->title, HTML_NAME_MOST);
    }
    buffer_printf(out, "},\n\"sizes\":[%s],\n\"conditions\":[", buffer_text(&sizes));
}

static int add_conditions(struct html_page *p, struct error *e)
{
    OWNED_LIST all = STRING_LIST_INIT;
    if (!p->data->objective)
        return 0;
    int rc = db_query_texts(p->db, "SELECT condition FROM subject_to ORDER BY position", NO_VALUES, &all, e);
    for (size_t i = 0; rc == 0 && i < all.count; i++)
        html_add_json(&p->out, i ? "," : "", all.items[i], HTML_TEXT_MOST);
    return rc;
}

int html_embed_jobs(struct html_page *p, struct error *e)
{
    const struct html_data *d = p->data;
    struct buffer *out = &p->out;
    html_add_json(out, "<script type=application/json id=data>{\"sweep\":", d->sweep, HTML_NAME_MOST);
    html_add_json(out, ",\"objective\":", d->sought ? d->sought->title : NULL, HTML_NAME_MOST);
    html_add_json(out, ",\"memory\":", d->memory ? d->memory->title : NULL, HTML_NAME_MOST);
    html_add_json(out, ",\"files\":", p->files_beside, HTML_TEXT_MOST);
    buffer_printf(out, ",\"maximise\":%s,\"best\":%lld,\n\"columns\":[", d->maximise ? "true" : "false",
                  d->best < 0 ? -1LL : (long long)d->jobs[d->best].id);
    for (size_t i = 0; i < d->shown_count; i++) {
        buffer_add_text(out, i ? ",\n" : "");
        add_column(out, d->shown[i], d->job_count, p->level_most);
    }
    add_constants(out, d);
    int rc = add_conditions(p, e);
    buffer_add_text(out, "]}</script>\n");
    return rc;
}

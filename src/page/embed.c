/* The jobs as JSON for the page's script. A column is a list of numbers, or its distinct texts and an index for each
 * job. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/sections.h"
#include "page/text.h"

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
    for (size_t i = 0; i < c->level_count; i++) {
        buffer_add_text(out, i ? "," : "");
        html_add_json(out, c->level_texts[i], most);
    }
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
            html_add_json(out, c->values[i].text, HTML_LEVEL_MOST);
        else
            html_add_json_number(out, c->values[i].number);
    }
    buffer_add_char(out, ']');
}

static void add_column(struct buffer *out, const struct html_column *c, size_t rows, size_t level_most)
{
    buffer_add_text(out, "{\"name\":");
    html_add_json(out, c->title, HTML_NAME_MOST);
    buffer_add_text(out, ",\"unit\":");
    html_add_json(out, c->unit, HTML_NAME_MOST);
    buffer_printf(out, ",\"role\":\"%s\"%s", role_names[c->role], c->derived ? ",\"derived\":true" : "");
    if (c->twin) {
        buffer_add_text(out, ",\"twin\":");
        html_add_json(out, c->twin->title, HTML_NAME_MOST);
    }
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
    struct buffer sizes = BUFFER_INIT; /* the ones that are bytes */
    buffer_add_text(out, "],\n\"constants\":{");
    for (size_t i = 0; i < d->column_count; i++) {
        const struct html_column *c = &d->columns[i];
        if (c->role != HTML_KEY || c->level_count != 1)
            continue;
        buffer_add_text(out, first ? "" : ",");
        html_add_json(out, c->title, HTML_NAME_MOST);
        buffer_add_char(out, ':');
        html_add_json(out, c->level_texts[0], HTML_LEVEL_MOST);
        first = false;
        if (c->unit[0]) {
            buffer_add_text(&sizes, sizes.length ? "," : "");
            html_add_json(&sizes, c->title, HTML_NAME_MOST);
        }
    }
    buffer_printf(out, "},\n\"sizes\":[%s],\n\"conditions\":[", buffer_text(&sizes));
    buffer_free(&sizes);
}

static int add_conditions(struct html_page *p, struct error *e)
{
    struct string_list all = STRING_LIST_INIT;
    if (!p->data->objective)
        return 0;
    int rc = db_query_texts(p->db, "SELECT condition FROM subject_to ORDER BY position", NO_VALUES, &all, e);
    for (size_t i = 0; rc == 0 && i < all.count; i++) {
        buffer_add_text(&p->out, i ? "," : "");
        html_add_json(&p->out, all.items[i], HTML_TEXT_MOST);
    }
    string_list_free(&all);
    return rc;
}

int html_embed_jobs(struct html_page *p, struct error *e)
{
    const struct html_data *d = p->data;
    const struct html_column **columns;
    size_t count = html_shown_columns(d, &columns);
    struct buffer *out = &p->out;
    buffer_add_text(out, "<script type=application/json id=data>{\"sweep\":");
    html_add_json(out, d->sweep, HTML_NAME_MOST);
    buffer_add_text(out, ",\"objective\":");
    html_add_json(out, d->sought ? d->sought->title : NULL, HTML_NAME_MOST);
    buffer_add_text(out, ",\"memory\":");
    html_add_json(out, d->memory ? d->memory->title : NULL, HTML_NAME_MOST);
    buffer_add_text(out, ",\"files\":");
    html_add_json(out, p->files_beside, HTML_TEXT_MOST);
    buffer_printf(out, ",\"maximise\":%s,\"best\":%lld,\n\"columns\":[", d->maximise ? "true" : "false",
                  d->best < 0 ? -1LL : (long long)d->jobs[d->best].id);
    for (size_t i = 0; i < count; i++) {
        buffer_add_text(out, i ? ",\n" : "");
        add_column(out, columns[i], d->job_count, p->level_most);
    }
    free(columns);
    add_constants(out, d);
    int rc = add_conditions(p, e);
    buffer_add_text(out, "]}</script>\n");
    return rc;
}

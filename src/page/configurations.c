/* The winner of each group, if configurations compete ([sweep] replicate, group_by). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/sections.h"
#include "page/text.h"
#include "report/hint.h"
#include "results/best.h"
#include "results/contenders.h"
#include "util/memory.h"
#include "util/shell_words.h"

#define GROUPS_MOST 100

/* --- groups --- */

struct group {
    const struct configuration *items; /* the winner first */
    size_t count;
    long row; /* of the winner's job; -1: not on this page */
    struct lead lead;
};

struct groups {
    struct group *items;
    size_t count;
};

static struct groups find_groups(const struct html_data *d, const struct configurations *c)
{
    struct groups all = {0};
    for (size_t i = 0; i < c->count; i++) {
        if (i == 0 || strcmp(c->items[i].group, c->items[i - 1].group) != 0) {
            all.items = array_grow(all.items, all.count, sizeof *all.items);
            all.items[all.count++] = (struct group){.items = &c->items[i], .row = html_row_of(d, c->items[i].job)};
        }
        all.items[all.count - 1].count++;
    }
    return all;
}

/* For replicates, from their means. */
static void lead_by_means(struct group *g)
{
    const struct configuration *winner = g->items;
    g->lead = (struct lead){.ahead = NAN, .low = NAN, .high = NAN};
    for (const struct configuration *c = winner + 1; c < winner + g->count; c++)
        lead_note(winner->value, c->value, c->job, configurations_reach(winner, c, g->count), &g->lead);
}

static int by_job(const void *a, const void *b)
{
    int64_t x = ((const struct competitor *)a)->job, y = ((const struct competitor *)b)->job;
    return (x > y) - (x < y);
}

static int read_leads_of_jobs(struct db *db, const struct best *b, struct groups *all, struct error *e)
{
    struct competitor *competitors = xcalloc(b->configurations.count, sizeof *competitors);
    int64_t *winners = xcalloc(all->count, sizeof *winners);
    struct lead *leads = xcalloc(all->count, sizeof *leads);
    size_t count = 0;
    for (size_t g = 0; g < all->count; g++) {
        winners[g] = all->items[g].items->job;
        for (size_t i = 0; i < all->items[g].count; i++)
            competitors[count++] = (struct competitor){all->items[g].items[i].job, g};
    }
    qsort(competitors, count, sizeof *competitors, by_job);
    const struct competition c = {b->objective, b->maximise, winners, all->count, competitors, count};
    int rc = leads_read(db, &c, leads, e);
    for (size_t g = 0; g < all->count; g++)
        all->items[g].lead = leads[g];
    free(competitors);
    free(winners);
    free(leads);
    return rc;
}

static int read_leads(struct db *db, const struct best *b, struct groups *all, struct error *e)
{
    if (!b->configurations.has_replicates)
        return read_leads_of_jobs(db, b, all, e);
    for (size_t g = 0; g < all->count; g++)
        lead_by_means(&all->items[g]);
    return 0;
}

/* --- the table --- */

static void add_share_cell(struct buffer *out, double share)
{
    buffer_add_text(out, "<td class=n>");
    if (isfinite(share))
        buffer_printf(out, "%.3g %%", share * 100);
}

static void add_header(struct html_page *p, const struct best *b)
{
    buffer_add_text(&p->out, "<div class=scroll tabindex=0><table class=plain><thead><tr>");
    if (b->configurations.has_groups)
        buffer_add_text(&p->out, "<th scope=col>group");
    buffer_printf(&p->out, "<th scope=col>%s ", b->maximise ? "highest" : "lowest");
    html_add(&p->out, b->objective, HTML_NAME_MOST);
    html_add_unit(&p->out, b->unit);
    if (b->maximise)
        buffer_add_text(&p->out, "<th scope=col>per device");
    if (b->configurations.has_replicates)
        buffer_add_text(&p->out, "<th scope=col>replicates<th scope=col>failed<th scope=col>median<th scope=col>from "
                                 "(95 %)<th scope=col>to<th scope=col>cannot be told apart from it");
    buffer_add_text(&p->out, "<th scope=col>ahead of the next<th scope=col>by at least (95 %)<th scope=col>at most"
                             "<th scope=col>job</thead><tbody>\n");
}

/* The key of `row` that `text` begins with ("KEY=VALUE") and that is shown as a size; NULL: none. */
static const struct html_column *size_at(const struct html_data *d, size_t row, const char *text)
{
    char size[HTML_SIZE_BYTES];
    for (size_t i = 0; i < d->column_count; i++) {
        const struct html_column *c = &d->columns[i];
        const char *value = c->values[row].text, *name = html_column_name(c);
        const size_t length = strlen(name);
        if (c->role == HTML_KEY && value && html_key_text(c, value, size) != value &&
            strncmp(text, name, length) == 0 && text[length] == '=' &&
            strncmp(text + length + 1, value, strlen(value)) == 0 && strchr(",", text[length + 1 + strlen(value)]))
            return c;
    }
    return NULL;
}

/* "num_hosts=1, device_memory=16 MiB" */
static void add_group_name(struct html_page *p, const struct group *g)
{
    const char *text = g->items->group, *end;
    for (; g->row >= 0 && *text; text = end) {
        const struct html_column *c = size_at(p->data, (size_t)g->row, text);
        end = strstr(text, ", ");
        end = end ? end + 2 : text + strlen(text);
        char *part = xasprintf("%.*s", (int)((c ? strchr(text, '=') + 1 : end) - text), text);
        html_add(&p->out, part, HTML_NAME_MOST);
        free(part);
        if (c)
            html_add_key_value(&p->out, c, c->values[g->row].text);
        buffer_add_text(&p->out, c && *end ? ", " : "");
    }
    html_add(&p->out, text, HTML_TEXT_MOST);
}

static void add_row(struct html_page *p, const struct best *b, const struct group *g)
{
    const struct configuration *c = g->items;
    buffer_add_text(&p->out, "<tr>");
    if (b->configurations.has_groups) {
        buffer_add_text(&p->out, "<td>");
        add_group_name(p, g);
    }
    html_add_amount_cell(&p->out, c->value, b->unit);
    if (b->maximise)
        html_add_amount_cell(&p->out, c->per_device, b->unit);
    if (b->configurations.has_replicates) {
        buffer_printf(&p->out, "<td class=n>%lld<td class=n>%lld", (long long)c->replicates, (long long)c->failed);
        html_add_amount_cell(&p->out, c->median, b->unit);
        html_add_amount_cell(&p->out, c->low, b->unit);
        html_add_amount_cell(&p->out, c->high, b->unit);
        buffer_printf(&p->out, "<td class=n>%lld", (long long)g->lead.alike_count);
    }
    add_share_cell(&p->out, g->lead.ahead);
    add_share_cell(&p->out, g->lead.low);
    add_share_cell(&p->out, g->lead.high);
    buffer_add_text(&p->out, "<td>");
    html_link_job(&p->out, "", c->job);
    buffer_add_char(&p->out, '\n');
}

/* --- one below the other --- */

static int add_details(struct html_page *p, const struct best *b, const struct group *g, struct error *e)
{
    const bool named = b->configurations.has_groups;
    if (g->row < 0)
        return 0;
    buffer_printf(&p->out, "<details class=winner data-job=%lld%s><summary>", (long long)g->items->job,
                  named ? "" : " open");
    if (named) {
        add_group_name(p, g);
        buffer_add_text(&p->out, ": ");
    }
    html_add_amount(&p->out, g->items->value, b->unit);
    buffer_printf(&p->out, ", job %lld</summary>\n", (long long)g->items->job);
    if (html_add_winner_details(p, (size_t)g->row, &g->lead, e) < 0)
        return -1;
    if (named) {
        struct buffer command = BUFFER_INIT;
        buffer_add_text(&command, "meshsweep best");
        hint_add_db(&command, p->database);
        buffer_add_text(&command, " --group ");
        shell_add_word(&command, g->items->group);
        html_text(&p->out, "<p class=note>Files to use it: <code>", buffer_text(&command), " --out DIR</code></p>\n");
        buffer_free(&command);
    }
    buffer_add_text(&p->out, "</details>\n");
    return 0;
}

static int add_winners(struct html_page *p, const struct best *b, const struct groups *all, struct error *e)
{
    const struct configurations *c = &b->configurations;
    const size_t shown = all->count < GROUPS_MOST ? all->count : GROUPS_MOST;
    add_header(p, b);
    for (size_t g = 0; g < shown; g++)
        add_row(p, b, &all->items[g]);
    buffer_add_text(&p->out, "</tbody></table></div>\n<p class=note>");
    if (shown < all->count)
        buffer_printf(&p->out, "The first %zu of %zu groups are shown. ", shown, all->count);
    if (c->has_groups)
        buffer_add_text(&p->out, "Groups are not compared with each other. ");
    if (c->has_replicates)
        buffer_add_text(&p->out, "Values are means over replicates; the job shown is the median one.");
    buffer_add_text(&p->out, "</p>\n");
    for (size_t g = 0; g < shown; g++)
        if (add_details(p, b, &all->items[g], e) < 0)
            return -1;
    return 0;
}

int html_winning_configurations(struct html_page *p, struct error *e)
{
    struct best b = {0};
    if (best_read(p->db, &b, e) < 0)
        return -1;
    struct groups all = find_groups(p->data, &b.configurations);
    int rc = read_leads(p->db, &b, &all, e);
    if (rc == 0 && b.count)
        rc = add_winners(p, &b, &all, e);
    else if (rc == 0)
        html_add_none(&p->out, "No configuration has a finite objective yet.");
    free(all.items);
    best_free(&b);
    return rc;
}

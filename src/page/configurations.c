/* The winners where configurations compete ([sweep] replicate, group_by): one of each group. */
#include <math.h>
#include <string.h>

#include "page/sections.h"
#include "page/text.h"
#include "results/best.h"
#include "results/contenders.h"

#define GROUPS_MOST 100

static void add_number_cell(struct buffer *out, double value)
{
    buffer_add_text(out, "<td class=n>");
    if (isfinite(value))
        html_add_number(out, value);
}

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
                                 "(95 %)<th scope=col>to<th scope=col>not told apart from it");
    buffer_add_text(&p->out, "<th scope=col>ahead of the next<th scope=col>by at least (95 %)<th scope=col>at most"
                             "<th scope=col>job</thead><tbody>\n");
}

/* By the means of replicates and their intervals, else by the jobs. */
static int read_lead(struct html_page *p, const struct best *b, const struct configuration *winner,
                     const struct configuration *next, struct lead *out, struct error *e)
{
    *out = (struct lead){.ahead = NAN, .low = NAN, .high = NAN};
    if (!next)
        return 0;
    if (!b->configurations.has_replicates)
        return lead_between(p->db, b->objective, winner->job, next->job, out, e);
    double distance = fabs(winner->value - next->value), size = fabs(next->value);
    double half_width = hypot((winner->high - winner->low) / 2, (next->high - next->low) / 2);
    out->ahead = distance / size;
    out->low = (distance - half_width) / size;
    out->high = (distance + half_width) / size;
    return 0;
}

static void add_row(struct html_page *p, const struct best *b, const struct configuration *c, size_t alike,
                    const struct lead *lead)
{
    buffer_add_text(&p->out, "<tr>");
    if (b->configurations.has_groups) {
        buffer_add_text(&p->out, "<td>");
        html_add(&p->out, c->group, HTML_TEXT_MOST);
    }
    add_number_cell(&p->out, c->value);
    if (b->maximise)
        add_number_cell(&p->out, c->per_device);
    if (b->configurations.has_replicates) {
        buffer_printf(&p->out, "<td class=n>%lld<td class=n>%lld", (long long)c->replicates, (long long)c->failed);
        add_number_cell(&p->out, c->median);
        add_number_cell(&p->out, c->low);
        add_number_cell(&p->out, c->high);
        buffer_printf(&p->out, "<td class=n>%zu", alike);
    }
    add_share_cell(&p->out, lead->ahead);
    add_share_cell(&p->out, lead->low);
    add_share_cell(&p->out, lead->high);
    buffer_printf(&p->out, "<td><a href=\"#j%lld\">%lld</a>\n", (long long)c->job, (long long)c->job);
}

static size_t count_alike(const struct configurations *c, size_t winner)
{
    size_t alike = 0;
    for (size_t i = winner + 1; i < c->count && strcmp(c->items[i].group, c->items[winner].group) == 0; i++)
        alike += configurations_alike(&c->items[winner], &c->items[i]);
    return alike;
}

/* The one after it in its group; NULL: it is alone. */
static const struct configuration *next_in_group(const struct configurations *c, size_t winner)
{
    return winner + 1 < c->count && strcmp(c->items[winner + 1].group, c->items[winner].group) == 0
               ? &c->items[winner + 1]
               : NULL;
}

static int add_winners(struct html_page *p, const struct best *b, struct error *e)
{
    const struct configurations *c = &b->configurations;
    size_t groups = 0;
    add_header(p, b);
    for (size_t i = 0; i < c->count && groups < GROUPS_MOST; i++)
        if (i == 0 || strcmp(c->items[i].group, c->items[i - 1].group) != 0) {
            struct lead lead;
            if (read_lead(p, b, &c->items[i], next_in_group(c, i), &lead, e) < 0)
                return -1;
            add_row(p, b, &c->items[i], count_alike(c, i), &lead);
            groups++;
        }
    buffer_add_text(&p->out, "</tbody></table></div>\n<p class=note>");
    if (c->has_groups)
        buffer_add_text(&p->out, "Groups are not compared with each other. <code>meshsweep best --group GROUP</code>"
                                 " has the command of its winner. ");
    if (c->has_replicates)
        buffer_add_text(&p->out, "Values are means over replicates; the job is the one in the middle.");
    buffer_add_text(&p->out, "</p>\n");
    return 0;
}

int html_winning_configurations(struct html_page *p, struct error *e)
{
    struct best b = {0};
    if (best_read(p->db, &b, e) < 0)
        return -1;
    int rc = 0;
    if (b.count)
        rc = add_winners(p, &b, e);
    else
        html_add_none(&p->out, "No configuration has a finite objective yet.");
    best_free(&b);
    return rc;
}

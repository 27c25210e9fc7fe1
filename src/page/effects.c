/* The effect of each key on the objective: ratios of matched pairs with their intervals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compared_jobs.h"
#include "compare/comparison.h"
#include "page/figures.h"
#include "page/sections.h"
#include "page/svg.h"
#include "page/text.h"
#include "util/memory.h"

#define KEYS_MOST 16
#define ROWS_MOST 80
#define ROW_HEIGHT 22
#define WIDTH 960
#define LEFT 300
#define RIGHT 770
#define TOP 26

struct effects {
    struct compared_jobs jobs;
    struct comparison items[KEYS_MOST];
    size_t count;
    struct buffer freed;   /* sentences about keys that may differ too */
    struct buffer apart;   /* keys without any pair of jobs that differ only in them */
    size_t rows, together; /* shown; those with an interval */
    double low, high;
};

static bool has_ratios(const struct comparison *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->pairs[i].summary.count)
            return true;
    return false;
}

/* An interval without a conclusion is not drawn: that of a few pairs may be many times as wide as all others. */
static bool is_drawn(const struct ratio_summary *s)
{
    return s->verdict != RATIO_TOO_FEW && s->low > 0 && isfinite(s->high);
}

static void widen(struct effects *x, const struct comparison *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct ratio_summary *s = &c->pairs[i].summary;
        if (s->count == 0)
            continue;
        x->rows++;
        x->low = fmin(x->low, is_drawn(s) ? fmin(s->low, s->quarter) : s->quarter);
        x->high = fmax(x->high, is_drawn(s) ? fmax(s->high, s->three_quarters) : s->three_quarters);
    }
}

static void note_free(const char *key, const struct comparison *c, struct buffer *out)
{
    if (!c->free_was_found)
        return;
    buffer_printf(out, "%s%s (too few pairs: %zu of %d) with ", out->length ? "; " : "", key, c->pairs_alone,
                  RATIOS_LEAST);
    for (size_t i = 0; i < c->free.count; i++)
        buffer_printf(out, "%s%s", i ? ", " : "", c->free.items[i]);
}

static int read_effect(struct html_page *p, const char *key, struct effects *x, struct error *e)
{
    const struct comparison_request request = {.key = key, .seed = 1, .jobs = &x->jobs};
    struct error why = ERROR_INIT;
    if (x->count == KEYS_MOST)
        return 0;
    if (comparison_read(p->db, &request, &x->items[x->count], &why) < 0) {
        if (why.kind == ERROR_USAGE)
            return 0;
        *e = why;
        return -1;
    }
    if (has_ratios(&x->items[x->count])) {
        note_free(key, &x->items[x->count], &x->freed);
        x->count++;
        return 0;
    }
    buffer_printf(&x->apart, "%s%s", x->apart.length ? ", " : "", key);
    comparison_free(&x->items[x->count]);
    return 0;
}

static int read_effects(struct html_page *p, struct effects *x, struct error *e)
{
    const struct html_column *keys[KEYS_MOST];
    size_t count = html_varying(p->data, keys, KEYS_MOST);
    if (count && compared_jobs_read(p->db, p->data->objective, &x->jobs, e) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        /* The section of a bare name is not known here; usually it is the model that has a name. */
        const char *key = strcmp(html_column_name(keys[i]), "name") == 0 ? "model" : keys[i]->title;
        if (read_effect(p, key, x, e) < 0)
            return -1;
    }
    x->together = comparisons_judge(x->items, x->count);
    for (size_t i = 0; i < x->count; i++)
        widen(x, &x->items[i]);
    return 0;
}

/* --- drawing --- */

static const char *const classes[] =
    {[RATIO_TOO_FEW] = "few", [RATIO_SAME] = "same", [RATIO_LOWER] = "lower", [RATIO_HIGHER] = "higher"};

static void add_words(struct buffer *out, const struct comparison *c, const struct ratio_summary *s)
{
    if (s->verdict == RATIO_TOO_FEW)
        buffer_printf(out, "too few pairs: %zu of %d", s->count, RATIOS_LEAST);
    else if (s->verdict == RATIO_SAME)
        buffer_printf(out, "not told apart (%zu)", s->count);
    else
        buffer_printf(out, "%s by %.3g %% (%zu)", (s->verdict == RATIO_HIGHER) == c->maximise ? "better" : "worse",
                      fabs(s->median - 1) * 100, s->count);
}

static void add_row(struct html_page *p, const struct comparison *c, const struct comparison_pair *pair,
                    const struct svg_axis *x, double y)
{
    const struct ratio_summary *s = &pair->summary;
    const struct html_column *key = c->key ? html_column_named(p->data, c->key) : NULL;
    char from[HTML_SIZE_BYTES], to[HTML_SIZE_BYTES];
    struct buffer words = BUFFER_INIT, *out = &p->out;
    bool told = s->verdict == RATIO_HIGHER || s->verdict == RATIO_LOWER;
    bool better = told && (s->verdict == RATIO_HIGHER) == c->maximise;
    char *label =
        xasprintf("%s: %s against %s", c->key ? c->key : c->section, key ? html_key_text(key, pair->b, to) : pair->b,
                  key ? html_key_text(key, pair->a, from) : pair->a);
    svg_text(out, LEFT - 10, y + 4, " class=name text-anchor=end", label, 42);
    buffer_printf(out, "<g class=\"effect %s\">", !told ? classes[s->verdict] : better ? "better" : "worse");
    buffer_printf(out, "<path d=\"M%.1f %.1fH%.1f\"/>", svg_at(x, s->quarter), y, svg_at(x, s->three_quarters));
    if (is_drawn(s))
        buffer_printf(out, "<path class=wide d=\"M%.1f %.1fH%.1f\"/>", svg_at(x, s->low), y, svg_at(x, s->high));
    buffer_printf(out, "<circle cx=%.1f cy=%.1f r=4.5 /></g>", svg_at(x, s->median), y);
    add_words(&words, c, s);
    svg_text(out, RIGHT + 14, y + 4, "", buffer_text(&words), 0);
    buffer_add_char(out, '\n');
    buffer_free(&words);
    free(label);
}

static void add_figures(struct html_page *p, const struct effects *x)
{
    static const struct figures_column columns[] = {{"key", NULL},   {"value", NULL},     {"against", NULL},
                                                    {"pairs", NULL}, {"median", "ratio"}, {"from", "95 %"},
                                                    {"to", "95 %"},  {"conclusion", NULL}};
    size_t shown = 0;
    figures_begin(&p->out, "Effect of each key by matched pairs", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < x->count; i++)
        for (size_t j = 0; j < x->items[i].count && shown < FIGURES_MOST; j++) {
            const struct comparison *c = &x->items[i];
            const struct ratio_summary *s = &c->pairs[j].summary;
            struct buffer words = BUFFER_INIT;
            if (s->count == 0)
                continue;
            add_words(&words, c, s);
            buffer_add_text(&p->out, "<tr>");
            figures_text(&p->out, c->key ? c->key : c->section);
            figures_text(&p->out, c->pairs[j].b);
            figures_text(&p->out, c->pairs[j].a);
            figures_number(&p->out, (double)s->count);
            figures_number(&p->out, s->median);
            figures_number(&p->out, s->low);
            figures_number(&p->out, s->high);
            figures_text(&p->out, buffer_text(&words));
            buffer_add_char(&p->out, '\n');
            buffer_free(&words);
            shown++;
        }
    figures_end(&p->out, shown, x->rows, "rows, the first ones.");
}

static void draw(struct html_page *p, const struct effects *x)
{
    size_t rows = x->rows > ROWS_MOST ? ROWS_MOST : x->rows, row = 0;
    double bottom = TOP + ROW_HEIGHT * (double)rows;
    struct buffer title = BUFFER_INIT;
    buffer_printf(&title, "ratio of %s", p->data->objective);
    struct svg_axis axis = svg_axis_log(fmin(x->low, 0.9), fmax(x->high, 1.1), buffer_text(&title), "");
    axis.from = LEFT;
    axis.to = RIGHT;
    svg_open(&p->out, "effects-plot", WIDTH, bottom + 46, "Effect of each key on the objective by matched pairs",
             "Per two values of a key: the median ratio of the objective over pairs of jobs equal in everything else, "
             "its 95 % "
             "interval, and the conclusion.");
    svg_axis_x(&p->out, &axis, TOP - 8, bottom);
    buffer_printf(&p->out, "<path class=even d=\"M%.1f %dV%.1f\"/>\n<g class=axis>", svg_at(&axis, 1), TOP - 14,
                  bottom);
    for (size_t i = 0; i < x->count; i++)
        for (size_t j = 0; j < x->items[i].count && row < rows; j++)
            if (x->items[i].pairs[j].summary.count)
                add_row(p, &x->items[i], &x->items[i].pairs[j], &axis, TOP + ROW_HEIGHT * ((double)row++ + 0.5));
    buffer_add_text(&p->out, "</g>\n");
    svg_close(&p->out);
    buffer_printf(&p->out,
                  "<p class=note>Pairs of jobs that are equal in everything else and in the global batch. Thick line: "
                  "the interval of the median; thin line: the middle half of the pairs; in parentheses: the number of "
                  "pairs. With fewer than %d pairs, no conclusion is drawn.",
                  RATIOS_LEAST);
    if (x->together > 1)
        buffer_printf(&p->out,
                      " The %zu intervals hold together with 95 %%, so they are wider than those of <code>meshsweep "
                      "compare</code>, which shows one key.",
                      x->together);
    if (x->rows > rows)
        buffer_printf(&p->out, " The first %zu of %zu are shown.", rows, x->rows);
    buffer_add_text(&p->out, "</p>\n");
    add_figures(p, x);
    buffer_free(&title);
}

/* Pairs of which one side fails. */
static void add_one_sided(struct html_page *p, const struct effects *x)
{
    bool any = false;
    for (size_t i = 0; i < x->count; i++) {
        for (size_t j = 0; j < x->items[i].count; j++) {
            const struct comparison_pair *pair = &x->items[i].pairs[j];
            if (pair->only_a + pair->only_b == 0)
                continue;
            if (!any)
                buffer_add_text(&p->out,
                                "<details><summary>Pairs in which only one side runs</summary><div class=scroll "
                                "tabindex=0><table class=plain><thead><tr><th scope=col>key<th scope=col>values<th "
                                "scope=col>only the first<th scope=col>only the second</thead><tbody>\n");
            any = true;
            html_name(&p->out, "<tr><td>", x->items[i].key ? x->items[i].key : x->items[i].section, "<td>");
            html_name(&p->out, "", pair->a, ", ");
            html_add(&p->out, pair->b, HTML_NAME_MOST);
            buffer_printf(&p->out, "<td class=n>%lld<td class=n>%lld\n", (long long)pair->only_a,
                          (long long)pair->only_b);
        }
    }
    if (any)
        buffer_add_text(&p->out, "</tbody></table></div></details>\n");
}

int html_effects(struct html_page *p, struct error *e)
{
    struct effects x = {.low = INFINITY, .high = -INFINITY};
    if (!p->data->objective) {
        html_add_none(&p->out, "The sweep declares no objective.");
        return 0;
    }
    int rc = read_effects(p, &x, e);
    if (rc == 0 && x.rows)
        draw(p, &x);
    else if (rc == 0 && x.apart.length == 0)
        html_add_none(&p->out, "No two successful jobs differ in only one key.");
    if (rc == 0)
        add_one_sided(p, &x);
    if (rc == 0 && x.freed.length) {
        html_text(&p->out,
                  "<p class=note>The best of each side is compared, chosen by the other half of the pairs, over the "
                  "keys "
                  "that rules and derived keys tie to the key: ",
                  buffer_text(&x.freed), ".</p>\n");
    }
    if (rc == 0 && x.apart.length) {
        buffer_add_text(&p->out, x.rows ? "<p class=note>" : "<p class=none>");
        html_text(&p->out, "No two successful jobs differ in only one of these keys, so their effects are not known: ",
                  buffer_text(&x.apart), ".</p>\n");
    }
    for (size_t i = 0; i < x.count; i++)
        comparison_free(&x.items[i]);
    compared_jobs_free(&x.jobs);
    buffer_free(&x.apart);
    buffer_free(&x.freed);
    return rc;
}

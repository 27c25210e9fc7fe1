/* The effect of each key on the objective: ratios of matched pairs with their intervals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/effects.h"
#include "report/text.h"

#define ROWS_MOST 80

static bool has_ratios(const struct comparison *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->pairs[i].summary.count)
            return true;
    return false;
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

static int read_effect(struct db *db, const char *key, struct key_effects *x, struct error *e)
{
    const struct comparison_request request = {.key = key, .seed = 1, .jobs = &x->jobs};
    struct error why = ERROR_INIT;
    if (x->count == EFFECTS_KEYS_MOST)
        return 0;
    if (comparison_read(db, &request, &x->items[x->count], &why) < 0) {
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

/* How far from 1 the ratio surely is, as a logarithm; below 0, by how much more it only seems to be. */
static double strength(const struct ratio_summary *s)
{
    if (s->count == 0)
        return -INFINITY;
    if (s->verdict == RATIO_HIGHER || s->verdict == RATIO_LOWER)
        return fmin(fabs(log(s->low)), fabs(log(s->high)));
    return (s->verdict == RATIO_SAME ? -1 : -2) + fmin(fabs(log(s->median)), 9) / 10;
}

const struct comparison_pair *key_effect_most(const struct comparison *c)
{
    const struct comparison_pair *most = &c->pairs[0];
    for (size_t i = 1; i < c->count; i++)
        if (strength(&c->pairs[i].summary) > strength(&most->summary))
            most = &c->pairs[i];
    return most;
}

static int by_strength(const void *a, const void *b)
{
    const double x = strength(&key_effect_most(a)->summary), y = strength(&key_effect_most(b)->summary);
    return (x < y) - (x > y);
}

int key_effects_read(struct db *db, const struct html_data *d, struct key_effects *out, struct error *e)
{
    const struct html_column *keys[EFFECTS_KEYS_MOST];
    struct key_effects x = {0};
    size_t count = html_varying(d, keys, EFFECTS_KEYS_MOST);
    int rc = count ? compared_jobs_read(db, d->objective, &x.jobs, e) : 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        /* The section of a bare name is not known here; usually it is the model that has a name. */
        const char *key = strcmp(html_column_name(keys[i]), "name") == 0 ? "model" : keys[i]->title;
        rc = read_effect(db, key, &x, e);
    }
    if (rc < 0) {
        key_effects_free(&x);
        return -1;
    }
    x.together = comparisons_judge(x.items, x.count);
    qsort(x.items, x.count, sizeof *x.items, by_strength);
    for (size_t i = 0; i < x.count; i++)
        for (size_t j = 0; j < x.items[i].count; j++)
            x.rows += x.items[i].pairs[j].summary.count > 0;
    *out = x;
    return 0;
}

void key_effects_free(struct key_effects *x)
{
    for (size_t i = 0; i < x->count; i++)
        comparison_free(&x->items[i]);
    compared_jobs_free(&x->jobs);
    buffer_free(&x->apart);
    buffer_free(&x->freed);
}

/* --- in words --- */

/* "better by 11 % (8)", "not told apart (8)", "too few pairs: 2 of 6". */
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

void key_effect_add_line(struct buffer *out, const struct comparison *c)
{
    const struct comparison_pair *p = key_effect_most(c);
    text_add_line(out, c->key ? c->key : c->section);
    buffer_add_text(out, ": ");
    text_add_line(out, p->b);
    buffer_add_text(out, " against ");
    text_add_line(out, p->a);
    buffer_add_text(out, p->summary.verdict == RATIO_TOO_FEW ? ", " : " is ");
    add_words(out, c, &p->summary);
    if (p->summary.interval != RATIO_INTERVAL_NONE)
        buffer_printf(out, ", 95 %% interval of the ratio %.4g to %.4g", p->summary.low, p->summary.high);
}

/* --- drawing --- */

/* The script colours by it. */
static const char *class_of(const struct comparison *c, const struct ratio_summary *s)
{
    if (s->verdict == RATIO_TOO_FEW || s->verdict == RATIO_SAME)
        return s->verdict == RATIO_SAME ? "same" : "few";
    return (s->verdict == RATIO_HIGHER) == c->maximise ? "better" : "worse";
}

static void add_figures(struct html_page *p, const struct key_effects *x)
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
            buffer_printf(&p->out, "<tr class=%s data-quarters=\"%.6g %.6g\">", class_of(c, s), s->quarter,
                          s->three_quarters);
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

/* Which key matters most. */
static void add_ranked(struct html_page *p, const struct key_effects *x)
{
    buffer_add_text(&p->out, "<ol class=ranked>\n");
    for (size_t i = 0; i < x->count; i++) {
        struct buffer line = BUFFER_INIT;
        key_effect_add_line(&line, &x->items[i]);
        html_text(&p->out, "<li>", buffer_text(&line), "\n");
        buffer_free(&line);
    }
    buffer_add_text(&p->out, "</ol>\n");
}

static void add_plot(struct html_page *p, const struct key_effects *x)
{
    add_ranked(p, x);
    buffer_add_text(&p->out, HTML_CHART("effects-plot") "{}" HTML_CHART_END);
    buffer_printf(&p->out,
                  "<p class=note>Pairs of jobs that are equal in everything else and in the global batch, the keys "
                  "that "
                  "surely change the objective most first. Thick line: "
                  "the interval of the median; thin line: the middle half of the pairs; in parentheses: the number of "
                  "pairs. With fewer than %d pairs, no conclusion is drawn.",
                  RATIOS_LEAST);
    if (x->together > 1)
        buffer_printf(&p->out,
                      " The %zu intervals hold together with 95 %%, so they are wider than those of <code>meshsweep "
                      "compare</code>, which shows one key.",
                      x->together);
    if (x->rows > ROWS_MOST)
        buffer_printf(&p->out, " The first %d of %zu are shown.", ROWS_MOST, x->rows);
    buffer_add_text(&p->out, "</p>\n");
    add_figures(p, x);
}

/* Pairs of which one side fails. */
static void add_one_sided(struct html_page *p, const struct key_effects *x)
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
    struct key_effects x = {0};
    if (!p->data->objective) {
        html_add_none(&p->out, "The sweep declares no objective.");
        return 0;
    }
    int rc = key_effects_read(p->db, p->data, &x, e);
    if (rc == 0 && x.rows)
        add_plot(p, &x);
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
    key_effects_free(&x);
    return rc;
}

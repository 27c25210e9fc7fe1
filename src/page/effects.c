/* The effect of each key on the objective: ratios of matched pairs with their intervals. */
#include <string.h>

#include "compare/effects.h"
#include "page/sections.h"
#include "report/effect_words.h"

#define ROWS_MOST 80

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
            key_effect_add_words(&words, c, s);
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

/* Lists the keys, the one that matters most first. */
static void add_ranked(struct html_page *p, const struct key_effects *x)
{
    buffer_add_text(&p->out, "<ol class=ranked>\n");
    for (size_t i = 0; i < x->count; i++) {
        OWNED_BUFFER line = BUFFER_INIT;
        key_effect_add_line(&line, &x->items[i]);
        html_text(&p->out, "<li>", buffer_text(&line), "\n");
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
    const char *keys[EFFECTS_KEYS_MOST];
    if (!p->data->objective) {
        html_add_none(&p->out, "The sweep declares no objective.");
        return 0;
    }
    const size_t count = html_effect_keys(p->data, keys, EFFECTS_KEYS_MOST);
    int rc = key_effects_read(p->db, p->data->objective, keys, count, &x, e);
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

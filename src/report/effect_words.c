#include "report/effect_words.h"

#include <math.h>

#include "compare/effects.h"
#include "report/text.h"

void key_effect_add_words(struct buffer *out, const struct comparison *c, const struct ratio_summary *s)
{
    if (s->verdict == RATIO_TOO_FEW)
        buffer_printf(out, "too few pairs: %zu of %d", s->count, RATIOS_LEAST);
    else if (s->verdict == RATIO_SAME)
        buffer_printf(out, "not told apart (%zu)", s->count);
    else {
        buffer_printf(out, "%s by ", (s->verdict == RATIO_HIGHER) == c->maximise ? "better" : "worse");
        text_add_figure(out, 3, fabs(s->median - 1) * 100);
        buffer_printf(out, " %% (%zu)", s->count);
    }
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
    key_effect_add_words(out, c, &p->summary);
    if (p->summary.interval != RATIO_INTERVAL_NONE)
        buffer_printf(out, ", 95 %% interval of the ratio %.4g to %.4g", p->summary.low, p->summary.high);
}

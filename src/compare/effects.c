#include "compare/effects.h"

#include <math.h>
#include <stdlib.h>

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

int key_effects_read(struct db *db, const char *objective, const char *const *keys, size_t count,
                     struct key_effects *out, struct error *e)
{
    struct key_effects x = {0};
    int rc = count ? compared_jobs_read(db, objective, &x.jobs, e) : 0;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = read_effect(db, keys[i], &x, e);
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

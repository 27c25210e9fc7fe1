#include "models/filter.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "util/memory.h"

#define ANY_KIND (-1)

static int check_stack(const struct model_space_table *space, size_t key, const char *filter, struct error *e)
{
    if (key >= space->key_count || !model_key_is_stack(&space->keys[key]))
        return error_set(e, ERROR_USAGE, "%s: the model space has no layers to look at", filter);
    return 0;
}

static int accepts_layers(const struct model_filter *f, const struct model_candidate *c, struct error *e)
{
    (void)e;
    return c->parts[f->key].stack.layers == (uint64_t)f->low;
}

int model_filter_fixed_layers(const struct model_space_table *space, size_t stack_key, unsigned layers,
                              struct model_filter *out, struct error *e)
{
    static const char name[] = "fixed layers";
    if (check_stack(space, stack_key, name, e))
        return -1;
    *out =
        (struct model_filter){.name = name, .accepts = accepts_layers, .key = stack_key, .low = layers, .high = layers};
    return 0;
}

static bool similar(int64_t a, int64_t b, double tolerance)
{
    return fabs((double)a - (double)b) / (double)(a > b ? a : b) <= tolerance;
}

/* From `base`, which is similar to itself, the farthest number towards `end`, which is not, that still is.
 * Similarity only falls on the way, so halving finds it, with the very rounding of `similar`. */
static int64_t farthest_similar(int64_t base, int64_t end, double tolerance)
{
    int64_t inside = base, outside = end;
    while (inside - outside > 1 || outside - inside > 1) {
        int64_t middle = inside + (outside - inside) / 2;
        if (similar(middle, base, tolerance))
            inside = middle;
        else
            outside = middle;
    }
    return inside;
}

static int accepts_parameters(const struct model_filter *f, const struct model_candidate *c, struct error *e)
{
    (void)e;
    return c->parameters >= f->low && c->parameters <= f->high;
}

int model_filter_similar_parameters(const struct model_space_table *space, int64_t base, double tolerance,
                                    struct model_filter *out, struct error *e)
{
    static const char name[] = "similar parameter count";
    if (!space->dhen)
        return error_set(e, ERROR_USAGE, "%s: the parameters of these models cannot be counted", name);
    if (base < 1)
        return error_set(e, ERROR_USAGE, "%s: %" PRId64 " parameters to compare with", name, base);
    if (!(tolerance >= 0 && tolerance < 1))
        return error_set(e, ERROR_USAGE, "%s: the tolerance is %g, but must be at least 0 and less than 1", name,
                         tolerance);
    *out = (struct model_filter){
        .name = name,
        .accepts = accepts_parameters,
        .low = farthest_similar(base, 0, tolerance),
        .high = similar(INT64_MAX, base, tolerance) ? INT64_MAX : farthest_similar(base, INT64_MAX, tolerance),
    };
    return 0;
}

/* The kind of the first element; every layer has one. */
static unsigned first_kind(const struct layer_state *st)
{
    unsigned kind = 0;
    while (st->counts[kind] == 0)
        kind++;
    return kind;
}

static int accepts_uniform(const struct model_filter *f, const struct model_candidate *c, struct error *e)
{
    (void)e;
    const struct layer_state *st = &c->parts[f->key].stack;
    const size_t kinds = c->space->keys[f->key].kinds.count;
    unsigned kind = f->low == ANY_KIND ? first_kind(st) : (unsigned)f->low;
    for (unsigned layer = 0; layer < st->layers; layer++)
        if (st->counts[layer * kinds + kind] != st->sizes[layer])
            return 0;
    return 1;
}

int model_filter_uniform_mixer(const struct model_space_table *space, size_t stack_key, const char *kind,
                               struct model_filter *out, struct error *e)
{
    static const char name[] = "uniform mixer";
    if (check_stack(space, stack_key, name, e))
        return -1;
    const struct string_list *kinds = &space->keys[stack_key].kinds;
    const size_t k = kind ? FIRST(i, kinds->count, strcmp(kinds->items[i], kind) == 0) : 0;
    if (k == kinds->count)
        return error_set(e, ERROR_USAGE, "%s: the model space has no %s", name, kind);
    int64_t number = kind ? (int64_t)k : ANY_KIND;
    *out = (struct model_filter){.name = name,
                                 .accepts = accepts_uniform,
                                 .key = stack_key,
                                 .low = number,
                                 .high = number};
    return 0;
}

int model_filters_accept(struct model_filter *filters, size_t count, const struct model_candidate *c, struct error *e)
{
    for (size_t i = 0; i < count; i++) {
        int rc = filters[i].accepts(&filters[i], c, e);
        if (rc == 0)
            filters[i].removed++;
        if (rc <= 0)
            return rc;
    }
    return 1;
}

int model_filters_next(struct model_filter *filters, size_t count, struct model_cursor *cursor,
                       const struct model_candidate **out, struct error *e)
{
    const struct model_candidate *c;
    while ((c = model_cursor_next(cursor)) != NULL) {
        int rc = model_filters_accept(filters, count, c, e);
        if (rc > 0)
            *out = c;
        if (rc != 0)
            return rc;
    }
    return 0;
}

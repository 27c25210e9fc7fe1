#include "models/layer_stack.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

/* --- multisets --- */

static uint64_t *cell(const struct multiset_table *t, unsigned kinds, unsigned size)
{
    return &t->counts[(size_t)kinds * (t->size_max + 1) + size];
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

struct multiset_table multiset_table_make(unsigned kinds, unsigned size_max)
{
    struct multiset_table t = {kinds, size_max, xcalloc((size_t)(kinds + 1) * (size_max + 1), sizeof *t.counts)};
    *cell(&t, 0, 0) = 1;
    for (unsigned k = 1; k <= kinds; k++) {
        *cell(&t, k, 0) = 1;
        /* Either kind k does not occur, or one of it is taken away. */
        for (unsigned n = 1; n <= size_max; n++)
            *cell(&t, k, n) = add_saturating(*cell(&t, k - 1, n), *cell(&t, k, n - 1));
    }
    return t;
}

void multiset_table_free(struct multiset_table *t)
{
    free(t->counts);
    *t = (struct multiset_table){0};
}

uint64_t multiset_count(const struct multiset_table *t, unsigned kinds, unsigned size)
{
    assert(kinds <= t->kinds && size <= t->size_max);
    return *cell(t, kinds, size);
}

void multiset_first(uint16_t *counts, unsigned kinds, unsigned size)
{
    memset(counts, 0, kinds * sizeof *counts);
    counts[0] = (uint16_t)size;
}

bool multiset_next(uint16_t *counts, unsigned kinds)
{
    unsigned last = kinds - 1, k = last;
    while (k > 0 && counts[k - 1] == 0)
        k--;
    if (k == 0)
        return false;
    uint16_t tail = counts[last];
    counts[last] = 0;
    counts[k - 1]--;
    counts[k] = (uint16_t)(tail + 1);
    return true;
}

/* Counts the multisets of `left` elements over k kinds before a first count of left - d: all that have at most d - 1
 * elements outside the first kind, as many as there are multisets of d - 1 elements of k kinds. */
static uint64_t before(const struct multiset_table *t, unsigned kinds, unsigned d)
{
    return d > 0 ? multiset_count(t, kinds, d - 1) : 0;
}

uint64_t multiset_rank(const struct multiset_table *t, const uint16_t *counts, unsigned size)
{
    uint64_t rank = 0;
    unsigned left = size;
    for (unsigned k = 0; k + 1 < t->kinds; k++) {
        left -= counts[k];
        rank += before(t, t->kinds - k, left);
    }
    return rank;
}

void multiset_unrank(const struct multiset_table *t, uint64_t rank, unsigned size, uint16_t *counts)
{
    unsigned left = size;
    for (unsigned k = 0; k + 1 < t->kinds; k++) {
        unsigned rest = 0;
        while (rest < left && before(t, t->kinds - k, rest + 1) <= rank)
            rest++;
        rank -= before(t, t->kinds - k, rest);
        counts[k] = (uint16_t)(left - rest);
        left = rest;
    }
    counts[t->kinds - 1] = (uint16_t)left;
}

BY_NUMBER(compare_unsigned, unsigned, [0])

/* Sorted, the caller's; NULL with `e` filled when a value is above the limit. */
static unsigned *sorted_values(const struct number_list *set, const char *what, unsigned limit, struct error *e)
{
    unsigned *values = xreallocarray(NULL, set->count + 1, sizeof *values);
    if (set->count > 0)
        memcpy(values, set->values, set->count * sizeof *values);
    array_sort(values, set->count, compare_unsigned);
    const size_t i = FIRST(at, set->count, values[at] > limit);
    if (i == set->count)
        return values;
    error_set(e, ERROR_USAGE, "%s: %u is out of bounds (1 to %u are allowed)", what, values[i], limit);
    free(values);
    return NULL;
}

/* Without limits of its own a layer has any size that the largest total leaves room for. */
static int take_sizes(struct layer_stack *s, const struct number_list *sizes, unsigned largest, struct error *e)
{
    s->sizes = sorted_values(sizes, "elements in a layer", LAYER_SIZE_MAX, e);
    if (!s->sizes)
        return -1;
    s->sizes_count = sizes->count;
    if (s->sizes_count > 0)
        return 0;
    s->sizes_count = largest < LAYER_SIZE_MAX ? largest : LAYER_SIZE_MAX;
    s->sizes = xreallocarray(s->sizes, s->sizes_count, sizeof *s->sizes);
    for (unsigned i = 0; i < s->sizes_count; i++)
        s->sizes[i] = i + 1;
    return 0;
}

static unsigned size_max(const struct layer_stack *s)
{
    return s->sizes[s->sizes_count - 1];
}

static uint64_t *ways_at(const struct layer_stack *s, unsigned layers_left, unsigned used)
{
    return &s->ways[(size_t)layers_left * (s->total_max + 1) + used];
}

/* No layers left: one way where the total is allowed. */
static void mark_totals(struct layer_stack *s, const struct number_list *totals)
{
    for (size_t i = 0; i < totals->count; i++)
        if (totals->values[i] <= s->total_max)
            *ways_at(s, 0, totals->values[i]) = 1;
    for (unsigned used = 1; totals->count == 0 && used <= s->total_max; used++)
        *ways_at(s, 0, used) = 1;
}

static uint64_t multiply_saturating(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Stacks that take `size` elements for the next layer. */
static uint64_t ways_with(const struct layer_stack *s, unsigned layers_left, unsigned used, unsigned size)
{
    if (used + size > s->total_max)
        return 0;
    uint64_t rest = *ways_at(s, layers_left - 1, used + size);
    return rest ? multiply_saturating(multiset_count(&s->table, s->kinds, size), rest) : 0;
}

static uint64_t count_ways(const struct layer_stack *s, unsigned layers_left, unsigned used)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->sizes_count; i++)
        if (__builtin_add_overflow(sum, ways_with(s, layers_left, used, s->sizes[i]), &sum))
            return UINT64_MAX;
    return sum;
}

static int count_stacks(struct layer_stack *s, struct error *e)
{
    for (unsigned left = 1; left <= s->layers_max; left++)
        for (unsigned used = 0; used <= s->total_max; used++)
            *ways_at(s, left, used) = count_ways(s, left, used);
    for (size_t i = 0; i < s->layers_count; i++) {
        s->counts[i] = *ways_at(s, s->layers[i], 0);
        if (s->counts[i] == UINT64_MAX || __builtin_add_overflow(s->count, s->counts[i], &s->count))
            return error_set(e, ERROR_USAGE, "more stacks of %u layers than 64 bits can count", s->layers[i]);
    }
    return 0;
}

static int build(struct layer_stack *s, const struct space_key *key, const struct number_list *layers, struct error *e)
{
    unsigned *totals = sorted_values(&key->totals, "elements in all layers", LAYER_TOTAL_MAX, e);
    unsigned largest = totals && key->totals.count > 0 ? totals[key->totals.count - 1] : 0;
    free(totals);
    if (!totals)
        return -1;
    s->layers = sorted_values(layers, "layers", LAYER_COUNT_MAX, e);
    if (!s->layers || take_sizes(s, &key->sizes, largest, e))
        return -1;
    s->layers_count = layers->count;
    s->layers_max = s->layers[s->layers_count - 1];
    s->total_max = largest ? largest : s->layers_max * size_max(s);
    if (s->total_max > LAYER_TOTAL_MAX)
        return error_set(e, ERROR_USAGE, "%u layers of up to %u elements (at most %d in all are allowed)",
                         s->layers_max, size_max(s), LAYER_TOTAL_MAX);
    s->table = multiset_table_make(s->kinds, size_max(s));
    s->counts = xcalloc(s->layers_count, sizeof *s->counts);
    s->ways = xcalloc((size_t)(s->layers_max + 1) * (s->total_max + 1), sizeof *s->ways);
    mark_totals(s, &key->totals);
    return count_stacks(s, e);
}

int layer_stack_make(const struct space_key *key, const struct number_list *layers, struct layer_stack *out,
                     struct error *e)
{
    struct layer_stack s = {.kinds = (unsigned)key->kinds.count};
    if (key->kinds.count > LAYER_KINDS_MAX)
        return error_set(e, ERROR_USAGE, "%zu kinds (1 to %d are allowed)", key->kinds.count, LAYER_KINDS_MAX);
    if (build(&s, key, layers, e)) {
        layer_stack_free(&s);
        return -1;
    }
    *out = s;
    return 0;
}

void layer_stack_free(struct layer_stack *s)
{
    free_all(s->layers, s->counts, s->sizes, s->ways);
    multiset_table_free(&s->table);
    *s = (struct layer_stack){0};
}

uint64_t layer_stack_count_layers(const struct layer_stack *s, unsigned layers)
{
    for (size_t i = 0; i < s->layers_count; i++)
        if (s->layers[i] == layers)
            return s->counts[i];
    return 0;
}

struct layer_state layer_state_make(const struct layer_stack *s)
{
    return (struct layer_state){
        .sizes = xcalloc(s->layers_max, sizeof(uint16_t)),
        .counts = xcalloc((size_t)s->layers_max * s->kinds, sizeof(uint16_t)),
        .used = xcalloc(s->layers_max + 1, sizeof(uint16_t)),
        .picks = xcalloc(s->layers_max, sizeof(uint16_t)),
    };
}

void layer_state_free(struct layer_state *st)
{
    free_all(st->sizes, st->counts, st->used, st->picks);
    *st = (struct layer_state){0};
}

static uint16_t *row(const struct layer_stack *s, const struct layer_state *st, unsigned layer)
{
    return &st->counts[(size_t)layer * s->kinds];
}

static void set_size(const struct layer_stack *s, struct layer_state *st, unsigned layer, size_t pick)
{
    st->picks[layer] = (uint16_t)pick;
    st->sizes[layer] = (uint16_t)s->sizes[pick];
    st->used[layer + 1] = (uint16_t)(st->used[layer] + s->sizes[pick]);
}

/* The layer's first multiset of the first size from `pick` on that the layers after it can complete. */
static bool start_layer(const struct layer_stack *s, struct layer_state *st, unsigned layer, size_t pick)
{
    while (pick < s->sizes_count && ways_with(s, st->layers - layer, st->used[layer], s->sizes[pick]) == 0)
        pick++;
    if (pick == s->sizes_count)
        return false;
    set_size(s, st, layer, pick);
    multiset_first(row(s, st, layer), s->kinds, st->sizes[layer]);
    return true;
}

static void start_layers_from(const struct layer_stack *s, struct layer_state *st, unsigned layer)
{
    st->changed = layer;
    for (; layer < st->layers; layer++) {
        bool found = start_layer(s, st, layer, 0);
        assert(found);
        (void)found;
    }
}

/* The first stack with the first number of layers from `choice` on that has any. */
static bool start_stack(const struct layer_stack *s, struct layer_state *st, size_t choice)
{
    while (choice < s->layers_count && s->counts[choice] == 0)
        choice++;
    if (choice == s->layers_count)
        return false;
    st->choice = choice;
    st->layers = s->layers[choice];
    start_layers_from(s, st, 0);
    return true;
}

bool layer_stack_next(const struct layer_stack *s, struct layer_state *st)
{
    for (unsigned layer = st->layers; layer-- > 0;) {
        if (multiset_next(row(s, st, layer), s->kinds) || start_layer(s, st, layer, st->picks[layer] + 1u)) {
            start_layers_from(s, st, layer + 1);
            st->changed = layer;
            return true;
        }
    }
    return start_stack(s, st, st->choice + 1);
}

/* Stacks whose layer is smaller than this one's, all layers before it equal. */
static uint64_t smaller_layers(const struct layer_stack *s, const struct layer_state *st, unsigned layer)
{
    uint64_t sum = 0;
    for (size_t pick = 0; pick < st->picks[layer]; pick++)
        sum += ways_with(s, st->layers - layer, st->used[layer], s->sizes[pick]);
    return sum;
}

uint64_t layer_stack_rank(const struct layer_stack *s, const struct layer_state *st)
{
    uint64_t rank = 0;
    for (size_t i = 0; i < s->layers_count && s->layers[i] < st->layers; i++)
        rank += s->counts[i];
    for (unsigned layer = 0; layer < st->layers; layer++) {
        uint64_t rest = *ways_at(s, st->layers - layer - 1, st->used[layer + 1]);
        rank += smaller_layers(s, st, layer);
        rank += multiset_rank(&s->table, row(s, st, layer), st->sizes[layer]) * rest;
    }
    return rank;
}

/* Sets one layer and returns the position among the stacks that share it. */
static uint64_t unrank_layer(const struct layer_stack *s, uint64_t rank, struct layer_state *st, unsigned layer)
{
    size_t pick = 0;
    uint64_t ways;
    while ((ways = ways_with(s, st->layers - layer, st->used[layer], s->sizes[pick])) <= rank) {
        rank -= ways;
        pick++;
    }
    set_size(s, st, layer, pick);
    uint64_t rest = *ways_at(s, st->layers - layer - 1, st->used[layer + 1]);
    multiset_unrank(&s->table, rank / rest, st->sizes[layer], row(s, st, layer));
    return rank % rest;
}

void layer_stack_unrank(const struct layer_stack *s, uint64_t rank, struct layer_state *st)
{
    assert(rank < s->count);
    size_t choice = 0;
    for (; rank >= s->counts[choice]; choice++)
        rank -= s->counts[choice];
    st->choice = choice;
    st->layers = s->layers[choice];
    st->changed = 0;
    for (unsigned layer = 0; layer < st->layers; layer++)
        rank = unrank_layer(s, rank, st, layer);
}

/* Sets one layer; false when no layer may have so many elements. */
static bool set_layer(const struct layer_stack *s, const uint16_t *counts, struct layer_state *st, unsigned layer)
{
    size_t size = 0, pick = 0;
    for (unsigned k = 0; k < s->kinds; k++)
        size += counts[k];
    while (pick < s->sizes_count && s->sizes[pick] != size)
        pick++;
    if (pick == s->sizes_count || st->used[layer] + size > s->total_max)
        return false;
    set_size(s, st, layer, pick);
    memcpy(row(s, st, layer), counts, s->kinds * sizeof *counts);
    return true;
}

bool layer_stack_find(const struct layer_stack *s, unsigned layers, const uint16_t *counts, struct layer_state *st)
{
    size_t choice = FIRST(k, s->layers_count, s->layers[k] == layers);
    if (choice == s->layers_count)
        return false;
    st->choice = choice;
    st->layers = layers;
    st->changed = 0;
    for (unsigned layer = 0; layer < layers; layer++)
        if (!set_layer(s, &counts[(size_t)layer * s->kinds], st, layer))
            return false;
    return *ways_at(s, 0, st->used[layers]) > 0;
}

/* The keys of a configuration other than stage and batch, for "staged". A neighbour differs in a minimal set of keys:
 * no other family differs in only a subset of them.
 *
 * Memory: if the best's largest micro-batch is also its best, and twice as much would gain, neighbours that differ in
 * keys that save memory (saves_memory) are searched one after the other for larger micro-batches. Any that is better
 * becomes the best.
 *
 * Speed: all other neighbours of the best are tried at its micro-batch, all at once; the fastest of them becomes the
 * best, with its own largest micro-batch. A change of keys that was no better is not tried again in combination with
 * others. */
#include <stdlib.h>
#include <string.h>

#include "search/staged_flow.h"
#include "util/memory.h"
#include "util/rng.h"

#define WORTH_MEMORY 0.05 /* least gain from twice the micro-batch */
#define SAVER_FAILURES 2  /* failures after which a neighbour that never ran is given up */
#define MASK_BITS 64

/* Neighbours of one family. */
struct neighbours {
    uint64_t *differing; /* by family: bit mask of keys by index modulo MASK_BITS; 0: itself, or another stage or group
                          */
    uint64_t of_memory;
};

static uint64_t bit_of(size_t key)
{
    return UINT64_C(1) << key % MASK_BITS;
}

static bool differs(const struct staged_flow *f, size_t key, const struct candidate *a, const struct candidate *b)
{
    return !f->d->of_batch[key] && a->values[key] != b->values[key] &&
           !(isnan(a->values[key]) && isnan(b->values[key]));
}

static uint64_t differing_keys(const struct staged_flow *f, size_t base, size_t family)
{
    const struct candidate *a = staged_member(f, base, 0), *b = staged_member(f, family, 0);
    uint64_t mask = 0;
    if (a->group != b->group || staged_stage(f, base) != staged_stage(f, family))
        return 0;
    for (size_t k = 0; k < f->s->space->key_count; k++)
        mask |= differs(f, k, a, b) ? bit_of(k) : 0;
    return mask;
}

static struct neighbours neighbours_of(const struct staged_flow *f, size_t base)
{
    struct neighbours n = {xcalloc(f->d->families.count + 1, sizeof *n.differing), 0};
    for (size_t i = 0; i < f->d->families.count; i++)
        n.differing[i] = differing_keys(f, base, i);
    for (size_t k = 0; f->s->space->saves_memory && k < f->s->space->key_count; k++)
        n.of_memory |= f->s->space->saves_memory[k] ? bit_of(k) : 0;
    return n;
}

static bool is_neighbour(const struct staged_flow *f, const struct neighbours *n, size_t family)
{
    uint64_t own = n->differing[family];
    for (size_t i = 0; own && i < f->d->families.count; i++)
        if (n->differing[i] && n->differing[i] != own && (n->differing[i] & ~own) == 0)
            return false;
    return own != 0;
}

/* Whether predictions say nothing about how their memory differs. */
static bool is_blind(const struct staged_flow *f, size_t base, size_t family)
{
    double own = staged_member(f, family, 0)->bytes, of_base = staged_member(f, base, 0)->bytes;
    return isnan(own) || isnan(of_base) || own == of_base;
}

/* Whether it differs in keys that save memory and needs less: by prediction, or else by declared order. */
static bool saves(const struct staged_flow *f, const struct neighbours *n, size_t base, size_t family)
{
    bool less = is_blind(f, base, family) ? family > base
                                          : staged_member(f, family, 0)->bytes < staged_member(f, base, 0)->bytes;
    return (n->differing[family] & n->of_memory) != 0 && less;
}

static bool is_known(const struct staged_flow *f, size_t family)
{
    bool known = false;
    for (size_t i = 0; i < staged_size(f, family); i++)
        known |= staged_trial(f, family, i)->state != TRIAL_NONE;
    return known;
}

static bool is_better(const struct staged_flow *f, size_t family, size_t than)
{
    return search_better(f->s->space, staged_objective(f, family), staged_objective(f, than));
}

/* --- memory --- */

static double largest_of(const struct staged_flow *f, size_t family)
{
    return staged_member(f, family, staged_largest_run(f, family))->micro_batch;
}

/* Whether micro-batches larger than those that fit are likely to be faster. */
static bool wants_memory(const struct staged_flow *f, size_t base)
{
    size_t most = staged_largest_run(f, base);
    return most == staged_best_at(f, base) && most + 1 < staged_size(f, base) &&
           staged_gain(f, base, largest_of(f, base), 2 * largest_of(f, base)) >= WORTH_MEMORY;
}

static size_t next_saver(const struct staged_flow *f, size_t base, const bool *done)
{
    struct neighbours n = neighbours_of(f, base);
    bool wants = wants_memory(f, base);
    size_t found = NONE;
    for (size_t i = 0; found == NONE && i < f->d->families.count; i++)
        if (!done[i] && saves(f, &n, base, i) && (wants || is_known(f, i)) && is_neighbour(f, &n, i))
            found = i;
    free(n.differing);
    return found;
}

static bool save_memory(struct staged_flow *f, size_t *base)
{
    bool *done = xcalloc(f->d->families.count + 1, sizeof *done), known = true;
    for (size_t next; known && (next = next_saver(f, *base, done)) != NONE;) {
        done[next] = true;
        const struct staged_purpose p = {.reach = largest_of(f, *base),
                                         .rival = staged_objective(f, *base),
                                         .patience = SAVER_FAILURES,
                                         .blind = is_blind(f, *base, next)};
        known = staged_find_largest(f, next, p);
        if (known && is_better(f, next, *base))
            *base = next;
    }
    free(done);
    return known;
}

/* --- speed --- */

/* Changes of keys that were no better. */
struct lost_changes {
    uint64_t *items;
    size_t count;
};

/* Hash of the keys in which it differs from the base, with their values. */
static uint64_t change_of(const struct staged_flow *f, size_t base, size_t family)
{
    const struct candidate *a = staged_member(f, base, 0), *b = staged_member(f, family, 0);
    uint64_t change = 0;
    for (size_t k = 0; k < f->s->space->key_count; k++) {
        uint64_t bits;
        memcpy(&bits, &b->values[k], sizeof bits);
        change ^= differs(f, k, a, b) ? rng_at(rng_at(1, k), bits) : 0;
    }
    return change;
}

static bool is_lost(const struct lost_changes *l, uint64_t change)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->items[i] == change)
            return true;
    return false;
}

static uint64_t place_in_order(const struct staged_flow *f, size_t family)
{
    return f->s->options.order == SEARCH_ORDER_SHUFFLED
               ? search_draw(f->s, staged_member(f, family, 0)->identity, 0, UINT64_MAX)
               : family;
}

/* Declared order, or a drawn one. */
static void put_in_order(const struct staged_flow *f, size_t *families, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && place_in_order(f, families[k]) < place_in_order(f, families[k - 1]); k--) {
            size_t other = families[k];
            families[k] = families[k - 1];
            families[k - 1] = other;
        }
}

/* The caller frees it. */
static size_t *to_be_tried(const struct staged_flow *f, size_t base, const struct lost_changes *lost, size_t *count)
{
    struct neighbours n = neighbours_of(f, base);
    size_t *families = xcalloc(f->d->families.count + 1, sizeof *families);
    *count = 0;
    for (size_t i = 0; i < f->d->families.count; i++)
        if (!saves(f, &n, base, i) && is_neighbour(f, &n, i) && !is_lost(lost, change_of(f, base, i)))
            families[(*count)++] = i;
    put_in_order(f, families, *count);
    free(n.differing);
    return families;
}

/* Tries it at that micro-batch, or at the largest below it that is expected to fit. */
static bool try_at(struct staged_flow *f, size_t family, double micro_batch)
{
    size_t at = families_at_most(&f->d->families, f->s, family, micro_batch), fitting = staged_count_fitting(f, family);
    at = at == NONE ? 0 : at;
    at = fitting != NONE && fitting <= at ? (fitting ? fitting - 1 : 0) : at;
    return is_known(f, family) || staged_result(f, family, at, "one key away from the best");
}

/* The best among the base and the tried families. Those no better than the base are added to `lost`. */
static size_t best_of(const struct staged_flow *f, size_t base, const size_t *tried, size_t count,
                      struct lost_changes *lost)
{
    size_t best = base;
    for (size_t i = 0; i < count; i++) {
        if (is_better(f, tried[i], best))
            best = tried[i];
        if (is_better(f, tried[i], base))
            continue;
        lost->items = array_grow(lost->items, lost->count, sizeof *lost->items);
        lost->items[lost->count++] = change_of(f, base, tried[i]);
    }
    return best;
}

static bool speed_up(struct staged_flow *f, size_t base)
{
    struct lost_changes lost = {NULL, 0};
    bool known = true;
    for (bool better = true; known && better;) {
        size_t count, *tried = to_be_tried(f, base, &lost, &count);
        double micro_batch = staged_member(f, base, staged_best_at(f, base))->micro_batch;
        for (size_t i = 0; i < count; i++)
            known &= try_at(f, tried[i], micro_batch);
        size_t best = known ? best_of(f, base, tried, count, &lost) : base;
        better = best != base;
        base = best;
        free(tried);
    }
    free(lost.items);
    return known;
}

bool staged_descend(struct staged_flow *f, size_t base)
{
    return save_memory(f, &base) && speed_up(f, base);
}

/* --- where to begin --- */

size_t staged_least_saving(const struct staged_flow *f, size_t family)
{
    struct neighbours n = neighbours_of(f, family);
    size_t most = family;
    for (size_t i = 0; i < f->d->families.count; i++)
        if (n.differing[i] && (n.differing[i] & ~n.of_memory) == 0 &&
            staged_member(f, i, 0)->bytes > staged_member(f, most, 0)->bytes)
            most = i;
    free(n.differing);
    return most;
}

/* --- where nothing runs --- */

/* Whether it differs from the first family of its stage only in keys that save memory. */
static bool saves_alone(const struct staged_flow *f, size_t family)
{
    size_t first = 0;
    while (!staged_is_of_group(f, first) || staged_stage(f, first) != staged_stage(f, family))
        first++;
    struct neighbours n = neighbours_of(f, first);
    uint64_t own = n.differing[family];
    free(n.differing);
    return own != 0 && (own & ~n.of_memory) == 0;
}

bool staged_rescue(struct staged_flow *f, size_t *found)
{
    *found = NONE;
    for (int all = 0; all <= 1; all++)
        for (size_t i = 0; *found == NONE && i < f->d->families.count; i++) {
            if (!staged_is_of_group(f, i) || (!all && !saves_alone(f, i)))
                continue;
            if (!staged_find_largest(f, i, (struct staged_purpose){.rival = NAN}))
                return false;
            if (staged_largest_run(f, i) != NONE)
                *found = i;
        }
    return true;
}

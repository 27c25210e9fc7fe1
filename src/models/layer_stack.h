/* All stacks of layers, each layer a non-empty multiset of kinds, under limits on the number of layers, on
 * the elements in a layer and on the elements in all: counted exactly without listing them, listed in order
 * without holding them, and found by position.
 *
 * Order: fewer layers first; then by the first layer, the second, …, the last one fastest. Smaller sizes of one layer
 * come first, and equal sizes in the order of multisets. Two stacks are the same only when every layer holds
 * the same multiset, so none appears twice. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/model_space.h"
#include "util/error.h"

/* Multisets: `size` elements of `kinds` kinds, order irrelevant, kept as one count per kind. They are ordered
 * by their counts, largest first: (n,0,0), (n-1,1,0), (n-1,0,1), (n-2,2,0), …, (0,0,n). Pure. */

/* How many there are of each size up to `size_max`, of the first 0 … `kinds` kinds. */
struct multiset_table {
    unsigned kinds, size_max;
    uint64_t *counts; /* (kinds + 1) rows of size_max + 1; UINT64_MAX: that many or more */
};

/* Owns memory: released with multiset_table_free. */
struct multiset_table multiset_table_make(unsigned kinds, unsigned size_max);
void multiset_table_free(struct multiset_table *t);

/* C(size + kinds - 1, size); UINT64_MAX when it is that or more. Both within the table's bounds. */
uint64_t multiset_count(const struct multiset_table *t, unsigned kinds, unsigned size);

/* All elements of the first kind. */
void multiset_first(uint16_t *counts, unsigned kinds, unsigned size);

/* Steps to the next of the same size; false, with `counts` unchanged, after the last. */
bool multiset_next(uint16_t *counts, unsigned kinds);

/* Position from 0 among those of the table's kinds and this size, and back. The count must not be UINT64_MAX.
 */
uint64_t multiset_rank(const struct multiset_table *t, const uint16_t *counts, unsigned size);
void multiset_unrank(const struct multiset_table *t, uint64_t rank, unsigned size, uint16_t *counts);

#define LAYER_KINDS_MAX 64
#define LAYER_COUNT_MAX 64
#define LAYER_SIZE_MAX 256
#define LAYER_TOTAL_MAX 2048

struct layer_stack {
    unsigned kinds;
    unsigned *layers; /* ascending */
    uint64_t *counts; /* stacks with layers[i] layers */
    size_t layers_count;
    unsigned *sizes; /* ascending */
    size_t sizes_count;
    unsigned layers_max, total_max;
    uint64_t *ways; /* [layers left][elements used]: completions; saturated where no stack of these rules gets */
    struct multiset_table table;
    uint64_t count; /* all stacks; may be 0 */
};

/* One stack, and where the next search continues. */
struct layer_state {
    unsigned layers;  /* layers in this stack */
    unsigned changed; /* the first layer that differs from the stack before; 0 when not reached by a step */
    uint16_t *sizes;  /* elements in each layer */
    uint16_t *counts; /* row i: layer i's elements per kind */
    size_t choice;    /* layers == stack->layers[choice] */
    uint16_t *used;   /* elements before layer i */
    uint16_t *picks;  /* sizes[i] == stack->sizes[picks[i]] */
};

/* The stacks of a multiset's elements, with so many layers: at most LAYER_KINDS_MAX kinds, 1 … LAYER_COUNT_MAX layers,
 * 1 … LAYER_SIZE_MAX elements in a layer (`sizes`; none: any) and 1 … LAYER_TOTAL_MAX in all (`totals`; none: any, then
 * `sizes` is needed), each number once. Fails (ERROR_USAGE) above those bounds, and when there are more stacks than 64
 * bits count. No stack at all is not an error. `*out` owns memory: layer_stack_free. */
int layer_stack_make(const struct space_key *key, const struct number_list *layers, struct layer_stack *out,
                     struct error *e);
void layer_stack_free(struct layer_stack *s);

/* Stacks with this many layers. */
uint64_t layer_stack_count_layers(const struct layer_stack *s, unsigned layers);

/* Room for any stack of `s`, holding none yet. Owns memory: layer_state_free. */
struct layer_state layer_state_make(const struct layer_stack *s);
void layer_state_free(struct layer_state *st);

/* To the next stack; false, with the state unusable until set again, after the last. */
bool layer_stack_next(const struct layer_stack *s, struct layer_state *st);

/* Position from 0. The state may come from rules that differ in `layers` only. */
uint64_t layer_stack_rank(const struct layer_stack *s, const struct layer_state *st);

/* To the stack of `layers` layers in which layer i has the elements that row i of `counts` tells per kind; false, with
 * the state unusable until set again, when that is none of `s`. */
bool layer_stack_find(const struct layer_stack *s, unsigned layers, const uint16_t *counts, struct layer_state *st);

/* To the stack at `rank`, which is below the count. */
void layer_stack_unrank(const struct layer_stack *s, uint64_t rank, struct layer_state *st);

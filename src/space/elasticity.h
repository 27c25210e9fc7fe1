/* DeepSpeed's elasticity: the global batch that it settles on, and the numbers of data-parallel ranks that it then
 * allows.
 *
 * Version 0.1. With micro-batches m_1 … m_k and a batch of at most B: each m_i, and their least common multiple where
 * it is no more than B, times the largest highly composite number that keeps it within B, is a candidate. A candidate b
 * allows n ranks, n from the least to the most devices, where b is a multiple of m_i·n for some i. The candidate that
 * allows the most numbers is taken; among equals the largest batch (prefer_larger_batch), or the smallest.
 *
 * Version 0.2, with g devices a node and model parallelism of degree t, has g/t data-parallel ranks a node. It settles
 * as above on the batch of such a rank and on numbers of nodes, with B·t/g, and least and most devices per g; allowed
 * are (g/t) times those. Other numbers are allowed without model parallelism where some micro-batch (without
 * prefer_larger_batch every one) on each rank is within B. DeepSpeed hands the number of data-parallel ranks over as if
 * it were that of devices, so that with t > 1 both it and its t-th part must be allowed.
 *
 * Source: DeepSpeed 0.19, elasticity/elasticity.py (the common multiple is held to B since 0.19.6) and
 * runtime/config.py, DeepSpeedConfig; defaults in elasticity/constants.py. Pure but for elasticity_add_function. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "database/db.h"
#include "util/error.h"

#define ELASTICITY_BATCH_MOST 1000000000 /* of max_batch: larger ones are not looked at */
#define ELASTICITY_MICRO_BATCHES_MOST 64

struct elasticity {
    int64_t max_batch; /* 1 to ELASTICITY_BATCH_MOST */
    int64_t micro_batches[ELASTICITY_MICRO_BATCHES_MOST];
    size_t micro_batch_count;
    int64_t min_devices, max_devices;
    bool prefer_larger;
    bool by_nodes;                            /* version 0.2 */
    int64_t devices_per_node, model_parallel; /* of version 0.2 */
};

/* DeepSpeed's defaults; max_batch and micro_batches have none. */
struct elasticity elasticity_default(void);

/* Returns the batch that version 0.1 settles on, and in `*allowed` how many numbers of ranks that allows; 0 where a
 * micro-batch is 0 or less, or above max_batch, or there is none. */
int64_t elasticity_batch(const struct elasticity *x, size_t *allowed);

bool elasticity_allows(const struct elasticity *x, int64_t ranks);

/* Makes the SQL function
 *   elastic_allows(ranks, max_train_batch_size, micro_batch_sizes, min_gpus, max_gpus, prefer_larger_batch, version,
 *                  num_gpus_per_node, model_parallel_size)
 * known to `db`: 1 or 0. micro_batch_sizes is a list as JSON text; NULL after it means the default. NULL where the
 * first three are not known, the batch is above ELASTICITY_BATCH_MOST or a number is none. */
int elasticity_add_function(struct db *db, struct error *e);

/* --- Pipeline layouts (predict/layout.h) in rules and derived keys --- */

/* Makes SQL functions of a layout's text known to `db`:
 *   layout_layers(text)    its transformer layers
 *   layout_mtp(text)       its multi-token-prediction layers
 *   layout_parts(text)     its parts, p·v of them
 *   layout_is_whole(text)  1 where the embedding comes first, the head last, and each of them once, else 0
 * -1 for what is not a layout, NULL for NULL. */
int layouts_add_functions(struct db *db, struct error *e);

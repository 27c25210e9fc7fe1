/* The tuners of DeepSpeed's autotuning, over a list of experiments. Pure. */
#ifndef MESHSWEEP_SEARCH_DEEPSPEED_TUNER_H
#define MESHSWEEP_SEARCH_DEEPSPEED_TUNER_H

#include "search/state.h"

enum deepspeed_tuner { TUNER_GRID = 1, TUNER_RANDOM, TUNER_MODEL };

/* Sorts the candidates into the order in which the tuner would try them, as far as that is known. Grid and random each
 * have a fixed order, from draws of their own. (DeepSpeed keeps the grid's list in a set, ordered by hash.) */
void tuner_order(const struct search *s, enum deepspeed_tuner tuner, size_t *candidates, size_t count);

/* TUNER_MODEL: moves the untried candidate that a model of candidates[0 … tried - 1] ranks first to candidates[tried].
 * The model boosts least-squares stumps over all keys; it is fitted to objectives as shares of the best, failures as 0.
 * (DeepSpeed fits XGBoost's pairwise ranking to the same data.) The first two are drawn. */
void tuner_rank(const struct search *s, size_t *candidates, size_t count, size_t tried);

#endif

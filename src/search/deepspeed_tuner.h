/* The tuners of DeepSpeed's autotuning, over a list of experiments. Pure. */
#ifndef MESHSWEEP_SEARCH_DEEPSPEED_TUNER_H
#define MESHSWEEP_SEARCH_DEEPSPEED_TUNER_H

#include "search/state.h"

enum deepspeed_tuner { TUNER_GRID = 1, TUNER_RANDOM, TUNER_MODEL };

/* Puts the candidates in the order in which the tuner would try them, as far as that is known: grid (whose list is a
 * set in DeepSpeed, in the order of its hashes) and random once and for all, each by draws of its own. */
void tuner_order(const struct search *s, enum deepspeed_tuner tuner, size_t *candidates, size_t count);

/* TUNER_MODEL: of candidates[tried …] the one that a model of those tried ranks first is moved to candidates[tried].
 * The model is least-squares boosting of stumps over all keys on objectives as shares of the best, failures as 0
 * (DeepSpeed fits XGBoost's pairwise ranking to the same); the first two are drawn. */
void tuner_rank(const struct search *s, size_t *candidates, size_t count, size_t tried);

#endif

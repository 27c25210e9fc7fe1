/* Words of specs that predictions are to understand: devices, precisions, schedules, kinds of recompute, … */
#ifndef MESHSWEEP_SPACE_VOCABULARY_H
#define MESHSWEEP_SPACE_VOCABULARY_H

#include "space/space.h"

/* For a sweep whose predictions are asked for: every text of a key that an input is read from, and that the input does
 * not know, is a problem at its key, with the nearest of the words that there are. A device may be unknown where
 * [predict] states what it can do. So are a layout of stages and a pattern of layers that cannot be read, adapters
 * without modules or rank, and, where no model of the sweep is free of contradictions, or of up to 4,096 combinations
 * none can be predicted, what is wrong with them. Where the sweep has [import] the first is returned instead (the
 * caller's); else NULL. */
char *vocabulary_check(const struct space *space, struct problems *problems);

#endif

/* What is predicted of a combination, in words. */
#ifndef MESHSWEEP_CLI_MATCH_WORDS_H
#define MESHSWEEP_CLI_MATCH_WORDS_H

#include "space/match.h"
#include "util/buffer.h"

/* Appends "  predicted 18.2 MiB reserved, rank 0 (may not fit), 0.12 s a step"; nothing where nothing is predicted. */
void match_add_prediction(const struct match *m, struct buffer *out);

#endif

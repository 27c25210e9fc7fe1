/* The effect of a key on the objective (compare/effects.h), as plain text. */
#pragma once

#include "compare/comparison.h"
#include "util/buffer.h"

/* "better by 11 % (8)", "not told apart (8)", "too few pairs: 2 of 6". */
void key_effect_add_words(struct buffer *out, const struct comparison *c, const struct ratio_summary *s);

/* "zero_stage: 1 against 0 is better by 11 % (8), 95 % interval of the ratio 1.1 to 1.12" */
void key_effect_add_line(struct buffer *out, const struct comparison *c);

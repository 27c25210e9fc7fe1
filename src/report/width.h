/* How many terminal columns a character takes. Independent of the locale, unlike wcwidth(). */
#pragma once

#include <stdint.h>

/* 0, 1 or 2 for a code point that is not a control character. Sequences that a terminal may join into one picture
 * (emoji with U+200D) count as the sum of their parts. */
unsigned width_of(uint32_t codepoint);

/* Numbers as decimal text, exactly and fast. Pure, independent of the locale for ordinary magnitudes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DECIMAL_BYTES 40

/* The fewest of 15, 16 or 17 significant digits that read back equal, trailing zeros dropped, with a '.' or an 'e' in
 * it so that it stays a float in every reader: "0.1", "2.0", "1e+300". "NaN", "Infinity" and "-Infinity" for the rest.
 * NUL-terminated; returns the length. */
size_t decimal_from_double(double value, char out[DECIMAL_BYTES]);

/* NUL-terminated; returns the length. */
size_t decimal_from_int64(int64_t value, char out[DECIMAL_BYTES]);

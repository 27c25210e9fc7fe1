/* Units as programs print them after numbers. Pure. */
#pragma once

#include <stdbool.h>

/* `value` in `from`, expressed in `to`. Understands seconds, bytes, FLOPS, MACs, rates ("it/s", also as its reciprocal
 * "s/it") and bare counts ("1.3 B", "2K"), each with decimal (n u m k K M G B T P) or binary (Ki Mi Gi Ti) prefixes,
 * and words for them ("msec", "minutes", "bytes"). A bare "K" to "P" multiplies whatever `to` is. A unit that is
 * neither of these nor the same text as `to`, or none at all, leaves the value as it is. False, with *out untouched,
 * when the two are known to measure different things. */
bool unit_convert(double value, const char *from, const char *to, double *out);

/* Returns whether it is of bytes or of seconds, which exclude each other; nothing is known of other units. */
bool unit_is_known(const char *unit);

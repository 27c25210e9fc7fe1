/* The only place that reads a clock. */
#ifndef MESHSWEEP_UTIL_CLOCK_H
#define MESHSWEEP_UTIL_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Milliseconds that only go forward and stand still while the machine is suspended: for deadlines and durations. */
int64_t clock_monotonic_ms(void);

/* Microseconds of processor time that this process has used: what other work on the machine does not stretch. */
int64_t clock_processor_us(void);

/* Nanoseconds since the machine started, suspensions included: what the kernel dates processes by. Safe between vfork
 * and execve. */
int64_t clock_boot_ns(void);

/* Milliseconds since 1970-01-01 UTC: for people; may jump either way. */
int64_t clock_wall_ms(void);

/* Writes "2026-01-31T09:05:00.123Z" (24 characters) into `out`. Returns `out`. */
char *clock_format_utc(int64_t wall_ms, char out[32]);

#endif

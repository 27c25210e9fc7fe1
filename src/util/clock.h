/* The only place that reads a clock. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Times that only go forward and stand still while the machine is suspended, and this process with
 * clock_watch_stillness: for deadlines and durations. */
int64_t clock_monotonic_ms(void);
int64_t clock_monotonic_us(void);

/* The moment so long from now, as pthread_cond_timedwait wants it of a condition on CLOCK_MONOTONIC. */
struct timespec clock_moment_in(int64_t ms);

/* From now on a thread looks ten times a second whether the process continues. Where it did not for a second (it was
 * stopped, its container frozen, its machine paused) the clock above stood still as well: nobody can be expected to
 * have done anything in that time. What a busy or waiting thread misses is none of it. Counts its calls; ended by as
 * many of the other, and by a fork in the child. */
void clock_watch_stillness(void);
void clock_unwatch_stillness(void);

/* Microseconds that it stood still in all. */
int64_t clock_still_us(void);

/* Microseconds of processor time that this process has used: what other work on the machine does not stretch. */
int64_t clock_processor_us(void);

/* Nanoseconds since the machine started, suspensions included: what the kernel dates processes by. Safe between vfork
 * and execve. */
int64_t clock_boot_ns(void);

/* Milliseconds since 1970-01-01 UTC: for people; may jump either way. */
int64_t clock_wall_ms(void);

/* Writes "2026-01-31T09:05:00.123Z" (24 characters) into `out`. Returns `out`. */
char *clock_format_utc(int64_t wall_ms, char out[32]);

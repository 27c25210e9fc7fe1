/* Keeping a log's head and tail when it grows past a bound, also while a job still appends to it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LOG_CAP_TEMPORARY ".cut" /* after the name of a log, while it is cut */

enum { LOG_CAP_DEFAULT_BYTES = 64 << 20 };

/* Gives the disk space of the middle back: what lies beyond the first half of `cap_bytes` and before the last half, and
 * within the first `read_bytes`. The size stays, so processes that append are not disturbed. File systems that cannot
 * do this keep the whole. `fd` is open for writing. */
void log_cap_release_middle(int fd, int64_t size_bytes, int64_t cap_bytes, int64_t read_bytes);

/* Replaces a finished log larger than `cap_bytes` by its head, a line "[… N bytes cut by meshsweep …]" and its tail,
 * cut at line ends where there are any nearby. Returns 0, or -1 with the file as it was (errno tells why). */
int log_cap_compact(const char *path, int64_t size_bytes, int64_t cap_bytes);

/* Returns whether the log has that line. */
bool log_cap_is_marked(const char *path);

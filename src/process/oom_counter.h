/* The kernel's own count of processes that its out-of-memory killer ended, in our memory cgroup where it tells
 * (memory.events of v2, memory.oom_control of v1), else on the machine (/proc/vmstat). Field "oom_kill" in each. */
#pragma once

#include <stdint.h>

/* A descriptor to read the count from, the caller's to close; -1 when the kernel does not tell. */
int oom_counter_open(void);

/* The count so far; 0 when `fd` is -1. */
int64_t oom_counter_read(int fd);

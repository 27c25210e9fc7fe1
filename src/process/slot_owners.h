/* The owners of the slots' logs, on disk, for the next runner if this one dies. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A file in the scratch directory says whose the slots' logs are: the attempt ids of the slots in order, 64 bits each.
 * Returns a descriptor to write it with, the caller's; -1 when it cannot be made (then nothing can be saved later). */
int slot_owners_open(const char *scratch_dir);

/* Notes that the slot's log is this attempt's. Survives a kill; costs a microsecond. `fd` may be -1. */
void slot_owner_set(int fd, size_t slot, int64_t attempt);

/* The slot whose log is the attempt's, -1 when none is. For after a death, before the file is begun anew. */
int slot_of_attempt(const char *scratch_dir, int64_t attempt);

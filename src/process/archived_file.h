/* Files that meshsweep wrote in the directory of an attempt and compressed after its end: NAME.gz in place of NAME, as
 * gzip(1) makes it. job_file_open and its like read the one or the other (process/job_file.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

#define ARCHIVED_SUFFIX ".gz"
#define ARCHIVED_TEMPORARY ".meshsweep-tmp" /* after NAME, while it is compressed or brought back */

/* Names of what may be compressed, NULL-terminated. */
extern const char *const archived_names[];
bool archived_is_name(const char *name);

/* Opens for reading what the compressed file `packed` (which is taken; -1: errno as it is) holds: in memory, so that
 * nothing is left behind. -1 with errno: EBADMSG for a damaged one, EFBIG for one that holds too much. */
int archived_file_read(int packed);

/* How many bytes it holds, by what it says itself; takes it, too. -1: none. */
int64_t archived_file_size(int packed);

/* A file's change: it had `from` bytes and has `to` now. */
struct archived_change {
    int64_t from, to;
};

enum archived_way { ARCHIVED_PACK, ARCHIVED_UNPACK };

/* Compresses `name` in the open directory, or brings it back. Returns 1 when that is done (or, with `dry`, could be:
 * then only `from` is told), 0 when there is nothing to do: there is no such file, or compressing it would save
 * nothing. -1 with errno, and the file as it was: EBUSY when somebody wrote to it meanwhile, EEXIST when something else
 * has the other name. Whoever dies at any instant leaves the file, or what it became, or both alike, which the next one
 * mends. To be called with the lock. */
int archived_file_turn(int directory, const char *name, enum archived_way way, bool dry, struct archived_change *out);

/* Keeps others that compress or remove files out of a directory of job files. The descriptor, to be closed, or -1 where
 * there is no such directory, in `*lock`; an error when another has it. */
int archived_lock(const char *directory, int *lock, struct error *e);

/* Distinct hashes, numbered from 0 in the order in which they come. Open addressing. */
#ifndef MESHSWEEP_SEARCH_NUMBERING_H
#define MESHSWEEP_SEARCH_NUMBERING_H

#include <stddef.h>
#include <stdint.h>

struct numbering {
    uint64_t *hashes;
    size_t *numbers; /* SIZE_MAX: free */
    size_t room, count;
};

/* For at most `most` distinct hashes. */
void numbering_open(struct numbering *n, size_t most);
void numbering_close(struct numbering *n);

/* The hash's number, which is a new one where it has none. */
size_t numbering_find(struct numbering *n, uint64_t hash);

#endif

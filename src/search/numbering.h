/* Numbers distinct hashes from 0 in order of first appearance. Open addressing. */
#ifndef MESHSWEEP_SEARCH_NUMBERING_H
#define MESHSWEEP_SEARCH_NUMBERING_H

#include <stddef.h>
#include <stdint.h>

struct numbering {
    uint64_t *hashes;
    size_t *numbers; /* SIZE_MAX: free */
    size_t room, count;
};

/* Room for at most `most` distinct hashes. */
void numbering_open(struct numbering *n, size_t most);
void numbering_close(struct numbering *n);

/* Returns the hash's number; a new hash gets the next one. */
size_t numbering_find(struct numbering *n, uint64_t hash);

#endif

/* Distinct texts, numbered from 0 in the order in which they were added. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct texts {
    char **items; /* indexed by number */
    size_t count;
    uint32_t *places; /* open addressing: number + 1; 0: free */
    size_t room;      /* a power of two, or 0 */
};

#define TEXTS_INIT ((struct texts){NULL, 0, NULL, 0})

/* The number of a text. A new text is copied. */
uint32_t texts_number(struct texts *t, const char *text);
void texts_free(struct texts *t);

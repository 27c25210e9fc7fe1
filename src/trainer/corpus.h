/* The training text, and how samples are drawn from it. Host memory, read by all ranks. */
#ifndef TRAINER_CORPUS_H
#define TRAINER_CORPUS_H

#include <stddef.h>
#include <stdint.h>

#include "trainer/error.h"

struct corpus {
    unsigned char *bytes;
    size_t length;
};

/*
 * Generates text in an invented language of some hundred words, each with a few possible successors, so that
 * a small model has something to learn. Depends on the seed alone. 0, or -1 with *e.
 */
int corpus_generate(struct corpus *corpus, uint64_t seed, struct error *e);

/* Reads a file, which must have at least `least` bytes (else STATUS_USAGE). 0, or -1 with *e. */
int corpus_read(struct corpus *corpus, const char *path, size_t least, struct error *e);

void corpus_free(struct corpus *corpus);

/* The first of a sample's seq + 1 bytes; depends on seed and number alone. corpus->length must exceed seq. */
const unsigned char *corpus_sample(const struct corpus *corpus, uint64_t seed, uint64_t number, size_t seq);

#endif

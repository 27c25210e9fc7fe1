/*
 * The device memory of one rank: an allocator that counts every tensor and enforces a capacity.
 *
 * Parameters, gradients, Adam moments, activations and communication buffers of a rank all come from its
 * device, so that the peak is what the same program would need on an accelerator, and a configuration that
 * is too large fails in the same way. Host bookkeeping (options, training text, pointers) is not counted.
 * A block counts its size rounded up to DEVICE_ALIGNMENT.
 */
#ifndef TRAINER_DEVICE_H
#define TRAINER_DEVICE_H

#include <stddef.h>

#include "trainer/error.h"

enum { DEVICE_ALIGNMENT = 64 };

/* What a block is used for. For each use, its size at the moment of the highest total is recorded. */
enum device_use {
    DEVICE_PARAMETERS,
    DEVICE_GRADIENTS,
    DEVICE_OPTIMIZER,
    DEVICE_ACTIVATIONS,
    DEVICE_BUFFERS,
    DEVICE_USES,
};

struct device {
    int rank;
    size_t capacity_bytes; /* 0: without limit */
    size_t used_bytes;
    size_t peak_bytes;
    size_t used_by[DEVICE_USES];
    size_t peak_by[DEVICE_USES]; /* used_by when used_bytes was peak_bytes; adds up to it */
};

/* An empty device; needs no closing. */
void device_open(struct device *device, int rank, size_t capacity_bytes);

/* The counted size of a block of `bytes`: the next multiple of DEVICE_ALIGNMENT. */
size_t device_rounded(size_t bytes);

/*
 * Returns a zeroed block, to be freed with device_free(), or NULL with *e set if the block would exceed the
 * capacity (the message names rank, size, capacity, used and free) or the host has no memory.
 */
void *device_alloc(struct device *device, enum device_use use, size_t bytes, struct error *e);

/* Frees a block; NULL is allowed. */
void device_free(struct device *device, void *block);

/* Counts memory that lies elsewhere (a window shared between ranks) against the capacity. 0, or -1 and *e. */
int device_reserve(struct device *device, enum device_use use, size_t bytes, struct error *e);

/* The name of a use in reports: "parameter", "gradient", "optimizer", "activation", "buffer". */
const char *device_use_name(enum device_use use);

#endif

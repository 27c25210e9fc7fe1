/*
 * ZeRO: which rank holds which part of the model's state, and when the whole is gathered.
 *
 * The model is a list of units (embedding, each layer, head), the granularity of gathering. With N ranks a
 * unit of p parameters is padded to N · ceil(p / N), and rank r's part of it is the r-th ceil(p / N). What a
 * rank holds permanently, in elements, where P is the sum of padded units and P/N that of parts:
 *
 *     stage   parameters   gradients   Adam moments
 *       0         P            P           2 P
 *       1         P            P           2 P/N
 *       2         P            P/N         2 P/N
 *       3         P/N          P/N         2 P/N
 *
 * An element is a 32-bit float: a parameter takes 4 bytes, its gradient 4, its two moments 8. In addition,
 * while a unit is processed:
 *   - its gradients on this rank, 4 · padded(unit) bytes (counted as gradients), from zero_bucket() to zero_reduce();
 *   - at stage 3 its gathered parameters, 4 · padded(unit) bytes (counted as parameters), from zero_gather()
 *     to zero_release(). One unit at a time.
 * A group of two or more ranks also holds a communication window of 256 KiB per rank (collective.h).
 *
 * At every stage gradients are reduced after every micro-batch, in rank order, into the running sum. The
 * global batch is thus summed in the same order whatever the stage and the number of ranks, and training
 * gives the same bits.
 */
#ifndef TRAINER_ZERO_H
#define TRAINER_ZERO_H

#include <stddef.h>

#include "trainer/adam.h"
#include "trainer/collective.h"
#include "trainer/device.h"

enum { ZERO_LAST_STAGE = 3 };

/* One unit: its parameters, the length of a part, and the offset of its part in an array of parts. */
struct zero_unit {
    size_t parameters;
    size_t part;
    size_t part_at;
};

/* Device and collective are borrowed until zero_close(). */
struct zero_setup {
    int stage;
    const size_t *unit_parameters;
    int unit_count;
    struct device *device;
    struct collective *collective;
};

struct zero {
    struct device *device;
    struct collective *collective;
    int stage;
    int unit_count;
    struct zero_unit *units;
    size_t part_elements; /* P/N; P is the number of ranks times this */
    real *parameters;
    real *gradients;
    struct adam_moments moments;
    real *gathered;
    real *bucket;
};

/* Partitions the units and allocates the permanent state, all zero, on the device. 0, or -1 with *e, and *z
 * is closed. */
int zero_open(struct zero *z, const struct zero_setup *setup, struct error *e);

/* Frees everything on the device. *z may be closed already, or zeroed. */
void zero_close(struct zero *z);

/* The padded length of a unit: that of its gathered parameters and of its gradients. */
size_t zero_padded(const struct zero *z, int unit);

/* Sets a unit's parameters: every rank passes the same zero_padded() values and keeps its part. */
void zero_load(struct zero *z, int unit, const real *values);

/*
 * The full parameters of a unit, valid until zero_release(). Every rank calls it for the same unit; at
 * stage 3 it allocates and gathers. NULL with *e if the device is full.
 */
const real *zero_gather(struct zero *z, int unit, struct error *e);
void zero_release(struct zero *z);

/* A zeroed array for a unit's gradients on this rank, valid until zero_reduce(). NULL with *e if the device
 * is full. */
real *zero_bucket(struct zero *z, int unit, struct error *e);

/* Adds the buckets of all ranks to the gradients that the ranks hold, and frees the bucket. */
void zero_reduce(struct zero *z, int unit);

/* Frees the gathered parameters and the bucket, unreduced, after a pass that failed. */
void zero_abandon(struct zero *z);

/* Updates the parameters from the gradients summed so far and clears these; step counts from 1. */
void zero_step(struct zero *z, const struct adam *adam, int step);

#endif

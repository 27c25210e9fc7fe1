/*
 * Collectives between rank processes over shared memory.
 *
 * A group is one anonymous shared mapping, created before the ranks are forked: a control block and one
 * window per rank. Data passes through the windows in pieces. A window has two halves used in turn, so that
 * one barrier per piece is enough: before a half is written again, every rank has passed the barrier after
 * its last read.
 *
 * Every rank calls the same collectives with the same counts in the same order. Sums are taken element by
 * element in rank order on any rank, so every rank and every way to partition gets the same bits.
 *
 * A collective waits forever for a missing rank. When a rank dies, the launcher ends the others (launch.h).
 */
#ifndef TRAINER_COLLECTIVE_H
#define TRAINER_COLLECTIVE_H

#include <stddef.h>
#include <stdint.h>

#include "trainer/error.h"
#include "trainer/matmul.h"

enum {
    COLLECTIVE_MAX_RANKS = 64,
    COLLECTIVE_WINDOW_BYTES = 256 * 1024, /* of each rank, both halves; a group of one has none */
};

struct collective_group;

/* One rank's handle. Plain value; the group must outlive it. */
struct collective {
    struct collective_group *group;
    int rank;
    int ranks;
    unsigned half;
};

/* Creates a group of 1 to COLLECTIVE_MAX_RANKS ranks. 0, with *group owned by the caller, or -1 with *e. */
int collective_group_create(struct collective_group **group, int ranks, struct error *e);

/* Unmaps the group in this process; NULL is allowed. */
void collective_group_destroy(struct collective_group *group);

/* Called once by each rank, in its own process. */
void collective_join(struct collective *c, struct collective_group *group, int rank);

/* The shared memory that a rank owns: COLLECTIVE_WINDOW_BYTES, or 0 in a group of one. */
size_t collective_window_bytes(int ranks);

/* Returns when every rank has called it. Earlier writes to shared memory are then visible to all. */
void collective_barrier(struct collective *c);

/* Copies data[count] of rank `root` to every rank. */
void collective_broadcast(struct collective *c, real *data, size_t count, int root);

/* Sets full[ranks × count] on every rank to the part[count] of all ranks in rank order. part may be its own
 * place in full. */
void collective_all_gather(struct collective *c, real *full, const real *part, size_t count);

/* sum[count] += in[count] of rank 0, then of rank 1, ... on every rank. */
void collective_all_reduce_add(struct collective *c, real *sum, const real *in, size_t count);

/* The same for this rank's part: sum[count] += in[rank × count ...] of every rank; in has ranks × count elements. */
void collective_reduce_scatter_add(struct collective *c, real *sum, const real *in, size_t count);

/* The maximum of all ranks' values. */
uint64_t collective_max(struct collective *c, uint64_t value);

#endif

/* Ranks: processes that share one training step, what they exchange, and what each holds in the memory of its device.
 *
 * The ranks share one anonymous mapping, created before they are forked: a control block and one window per rank.
 * Data passes through the windows in pieces. A window has two halves used in turn, so that one barrier per piece is
 * enough: before a half is written again, every rank has passed the barrier after its last read.
 *
 * Every rank takes part in the same exchanges with the same counts in the same order, and waits forever for a missing
 * rank. Sums are taken element by element in rank order on any rank, so every rank and every way to partition gets the
 * same bits. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The element type of every tensor. The program computes in float; the gradient checks build the same sources with
 * TRAINER_DOUBLE, because finite differences in float drown in rounding errors. */
#ifdef TRAINER_DOUBLE
typedef double real;
#else
typedef float real;
#endif

enum exit_status { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* Says why on standard error, in one sentence, and ends this process. */
_Noreturn void die(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

enum {
    RANKS_MAX = 64,
    RANKS_WINDOW_BYTES = 256 * 1024, /* of each rank, both halves; a single rank has none */
};

/* The handle of the launcher, who sets the count, from 1 to RANKS_MAX, and with its own number that of each rank. */
struct ranks {
    int count, rank;
    struct shared *shared;
    unsigned half;
};

/* Runs rank_main in a process for each rank, as rank `r->rank`, and waits for all of them. When one fails or is killed,
 * the others are killed, because they would wait for it forever, and this process dies with its status, or 128 + n if
 * signal n killed it. When this process is killed, the kernel kills the ranks. */
void ranks_run(struct ranks *r, void (*rank_main)(struct ranks *r, void *context), void *context);

/* Returns when every rank has called it. Earlier writes to shared memory are then visible to all. */
void ranks_barrier(struct ranks *r);

enum exchange {
    ALL_GATHER,         /* out[ranks × count] = the in[count] of all ranks, in rank order */
    ALL_REDUCE_ADD,     /* out[count] += in[count] of rank 0, then of rank 1, ... */
    REDUCE_SCATTER_ADD, /* out[count] += this rank's part, in[rank × count ...], of rank 0, then of rank 1, ... */
};

/* One of these on every rank. Gathering copies any bits; what is gathered may be in its own place in `out`. */
void ranks_exchange(struct ranks *r, enum exchange what, real *out, const real *in, size_t count);

/* out += in */
void add_to(real *out, const real *in, size_t count);

/* A block counts its size rounded up to a multiple of it. */
enum { DEVICE_ALIGNMENT = 64 };

/* The use of a block. */
enum device_use { USE_TOTAL, USE_PARAMETERS, USE_GRADIENTS, USE_OPTIMIZER, USE_ACTIVATIONS, USE_BUFFERS, USES };

/* A rank's device: an allocator that counts every tensor and enforces a capacity.
 *
 * Parameters, gradients, Adam moments, activations and communication buffers of a rank all come from its device, so
 * that the peak is what the same program would need on an accelerator, and a configuration that is too large fails in
 * the same way. Host bookkeeping (options, training text, pointers) is not counted. */
struct device {
    int rank;
    size_t capacity; /* in bytes, as all of this; 0: without limit */
    size_t used[USES];
    size_t peak[USES]; /* what was used when the total was highest */
};

/* The counted size of a block. */
size_t device_rounded(size_t bytes);

/* A zeroed block. Dies if it would exceed the capacity; the message names rank, size, capacity, used and free. */
void *device_alloc(struct device *device, enum device_use use, size_t bytes);
void device_free(struct device *device, void *block);

/* Counts memory that lies elsewhere (a window shared between ranks) as a block. */
void device_reserve(struct device *device, enum device_use use, size_t bytes);

enum { ZERO_LAST_STAGE = 3 };

enum zero_array { ZERO_PARAMETERS, ZERO_GRADIENTS, ZERO_FIRST_MOMENTS, ZERO_SECOND_MOMENTS, ZERO_ARRAYS };

/* A rank's share of the model's state, as ZeRO partitions it.
 *
 * The model is a list of units, an embedding, layers of one size and a head: the granularity of gathering. With N ranks
 * a unit of p parameters is padded to N · ceil(p / N), and rank r's part of it is the r-th ceil(p / N). What a rank
 * holds permanently, in elements, where P is the sum of padded units and P/N that of parts:
 *
 *     stage   parameters   gradients   Adam moments
 *       0         P            P           2 P
 *       1         P            P           2 P/N
 *       2         P            P/N         2 P/N
 *       3         P/N          P/N         2 P/N
 *
 * An element is a 32-bit float: a parameter takes 4 bytes, its gradient 4, its two moments 8. In addition, while a unit
 * is worked on, its gradients on this rank take 4 · padded(unit) bytes, and at stage 3 so do its gathered parameters.
 *
 * At every stage gradients are reduced after every micro-batch, in rank order, into the running sum. The global batch
 * is thus summed in the same order whatever the stage and the number of ranks, and training gives the same bits. */
struct zero {
    struct device *device; /* borrowed, as the ranks are; set before zero_open(), as the stage is */
    struct ranks *ranks;
    int stage, layers;
    size_t part[3]; /* of the embedding, of a layer and of the head */
    real *array[ZERO_ARRAYS];
    int unit; /* the one worked on: 0, layers from 1 on, layers + 1 */
    const real *parameters;
    real *gradients;
};

/* Partitions units of so many parameters and allocates the permanent state, all zero, on the device, for good. */
void zero_open(struct zero *z, const size_t unit_parameters[3], int layers);

/* The padded length of a unit: that of its gathered parameters and of its gradients. */
size_t zero_padded(const struct zero *z, int unit);

/* Adds the zero_padded() values of every rank to what the ranks hold of a unit, its parameters or gradients. */
void zero_add(struct zero *z, enum zero_array array, int unit, const real *values);

/* Every rank works on one unit at a time: in between, z->parameters has all of its parameters, and z->gradients is an
 * array of zeros for its gradients on this rank, which are then added to what the ranks hold. */
enum zero_need { NEED_PARAMETERS = 1, NEED_GRADIENTS = 2 };
void zero_begin(struct zero *z, int unit, int needs);
void zero_end(struct zero *z);

/* Updates the parameters from the gradients summed so far and clears these; step counts from 1. By Adam (Kingma and Ba
 * 2015) without weight decay, beta1 0.9, beta2 0.95, epsilon 1e-8: the usual choice for language models. */
void zero_step(struct zero *z, double learning_rate, int step);

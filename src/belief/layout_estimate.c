#include "belief/layout_estimate.h"

#include <math.h>

/* A model of 7 billion parameters, for keys that are not known. */
#define LAYERS 32
#define HIDDEN 4096
#define VOCAB 50257
#define SEQUENCE 2048
#define DEVICES_PER_HOST 8

/* Floating-point operations per byte, roughly to a power of two: an H100's 990e12 bf16 per second at 50 %, over 3.35e12
 * for memory, 450e9 for NVLink, 50e9 for a 400 Gb/s port; an A100's 312e12 over 2e12, 300e9, 25e9. */
#define BALANCE_MEMORY 150
#define BALANCE_LINK 1000
#define BALANCE_NETWORK 10000

/* Latency of a collective and of a kernel launch, in operations at 500e12 per second. */
#define LATENCY_LINK 5e9     /* 10 µs */
#define LATENCY_NETWORK 25e9 /* 50 µs */
#define LAUNCH 2.5e9         /* 5 µs */
#define KERNELS 30           /* per layer, forward and backward */
#define COLLECTIVES 4        /* per layer in its tensor-parallel group, forward and backward (Megatron-LM, 2019) */

static double known(double value, double otherwise)
{
    return value > 0 ? value : otherwise;
}

/* Replaces unknown numbers by defaults. */
static struct layout complete(const struct layout *l)
{
    struct layout c = *l;
    c.layers = known(l->layers, LAYERS);
    c.hidden = known(l->hidden, HIDDEN);
    c.vocab = known(l->vocab, VOCAB);
    c.seq = known(l->seq, SEQUENCE);
    c.devices = known(l->devices, 1);
    c.devices_per_host = known(l->devices_per_host, fmin(c.devices, DEVICES_PER_HOST));
    c.tp = known(l->tp, 1);
    c.cp = known(l->cp, 1);
    c.pp = known(l->pp, 1);
    c.virtual_stages = known(l->virtual_stages, 1);
    c.dp = known(l->dp, fmax(1, c.devices / (c.tp * c.cp * c.pp)));
    c.micro_batch = known(l->micro_batch, fmax(1, known(l->global_batch, c.dp) / (c.dp * known(l->micro_batches, 1))));
    c.micro_batches = known(l->micro_batches, fmax(1, known(l->global_batch, 0) / (c.dp * c.micro_batch)));
    c.global_batch = known(l->global_batch, c.dp * c.micro_batch * c.micro_batches);
    c.zero_stage = known(l->zero_stage, 0);
    c.recomputed = known(l->recomputed, 0);
    return c;
}

static double parameters(const struct layout *l)
{
    return 12 * l->layers * l->hidden * l->hidden + l->vocab * l->hidden;
}

/* Operations of a layer per micro-batch, forward and backward, on one device. */
static double operations(const struct layout *l, double tokens)
{
    return 72 * tokens * l->hidden * l->hidden / l->tp * (1 + l->seq / (6 * l->hidden)) * (1 + l->recomputed / 3);
}

/* All other costs of a layer per micro-batch. */
static double overheads(const struct layout *l, double tokens)
{
    double weights = 12 * l->hidden * l->hidden / l->tp, group = l->tp * l->cp,
           shards = l->dp > 1 && l->zero_stage >= 3;
    double latency = group > l->devices_per_host ? LATENCY_NETWORK : LATENCY_LINK;
    double collective = 2 * tokens * 2 * l->hidden * (l->tp - 1) / l->tp * BALANCE_LINK + 2 * latency * log2(l->tp);
    double gathered = l->devices > l->devices_per_host ? BALANCE_NETWORK : BALANCE_LINK;
    return KERNELS * LAUNCH + 3 * 2 * weights * BALANCE_MEMORY + COLLECTIVES * collective * (l->tp > 1) +
           2 * 2 * weights * gathered * shards;
}

double layout_seconds(const struct layout *given)
{
    const struct layout l = complete(given);
    double tokens = l.micro_batch * l.seq / l.cp, layers = l.layers / l.pp;
    double network = l.devices > l.devices_per_host ? BALANCE_NETWORK : BALANCE_LINK;
    double head = 6 * tokens * l.hidden * l.vocab / l.tp;
    double micro_batch = layers * (operations(&l, tokens) + overheads(&l, tokens)) + head;
    double bubble = 1 + (l.pp - 1) / (l.virtual_stages * l.micro_batches);
    double gradients = 2 * 2 * parameters(&l) / (l.tp * l.pp) * (l.dp - 1) / l.dp * network;
    return l.micro_batches * micro_batch * bubble + gradients;
}

double layout_bytes(const struct layout *given)
{
    const struct layout l = complete(given);
    double tokens = l.micro_batch * l.seq / l.cp, flight = fmin(l.pp, l.micro_batches);
    double states = l.zero_stage >= 3   ? 16 / l.dp
                    : l.zero_stage >= 2 ? 2 + 14 / l.dp
                    : l.zero_stage >= 1 ? 4 + 12 / l.dp
                                        : 16;
    double activations = 34 - 32 * l.recomputed;
    return states * parameters(&l) / (l.tp * l.pp) +
           activations * tokens * l.hidden * l.layers / (l.tp * l.pp) * flight + 10 * tokens * l.vocab / l.tp;
}

double layout_samples(const struct layout *given)
{
    const struct layout l = complete(given);
    return l.dp * l.micro_batch * l.micro_batches;
}

double layout_sequence(const struct layout *l)
{
    return known(l->seq, SEQUENCE);
}

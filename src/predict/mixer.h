/* Layers that mix tokens by a recurrence over a state in place of attention: Mamba-2, Mamba, the gated delta rule and
 * gated linear attention ("lightning"); and the patterns that say which layer of a stack is what.
 *
 *   n   heads (of values)     p   width of a head      N   state size (of a key)     g   groups (heads of keys)
 *   k   taps of the convolution before the recurrence       Q   tokens of a chunk     R   rank of Mamba's step size
 *   u   n·p, all heads        x   u + 2·g·N, what is convolved
 *
 *   parameters    projections in and out             others                                                 source
 *   mamba2        h·(u + x + n) + u·h                x·(k + 1) + 3·n, and u of its gated norm               [1] [2]
 *   mamba         2·h·u + u·(R + 2·N) + R·u + u·h    u·(k + 1) + u of the step, u·N + u;                    [3] [4]
 *                                                    mixer_norms: R + 2·N (Jamba)
 *   gated-delta   h·(x + u + 2·n) + u·h              x·k + 2·n + p of its gated norm                        [5] [2]
 *   lightning     h·(x + u) + u·h                    u of its norm                                          [6]
 *   mixer_bias    of mamba2, mamba: widths of the projections in and out                                    [4]
 *
 *   FLOPs per token, forward, beside those of the projections                                               source
 *   convolution   2·k·x, of mamba 2·k·u
 *   mamba2        2·Q·(g·N + u) within a chunk, 4·N·u into and out of the states of chunks                  [1] 6.3
 *   mamba         7·u·N                                                                                     [7]
 *   gated-delta   n·(6·Q·N + 4·Q·p + Q² + 6·N·p)                                                            [5] 3.3
 *   lightning     n·(2·Q·(N + p) + 4·N·p)                                                                   [6]
 *
 *   bytes kept per token, in 16 bits                                                                        source
 *   mamba2        2·(u + x + n) of the projection, 2·u before and 2·u behind the gated norm: the fused      [8]
 *                 kernel computes convolution and states again
 *   mamba         4·u of the projection, 2·u convolved, 2·(R + 2·N), 2·u of step sizes, 2·u before and 2·u  [8]
 *                 behind the gate
 *   gated-delta   2·(x + u + 2·n), 4·x before and behind the convolution, 4·n·N of normed queries and       [9]
 *                 keys, (2·Q + 6)·n of the chunk's matrix and decays, 2·u and 2·u around the gated norm
 *   lightning     2·(x + u), twice 2·u around the norm
 *   in passing    of mamba2 2·x convolved, 8·u·N/Q of chunks' states and their gradients in 32 bits,        [8] [9]
 *                 4·g·Q of scores; of gated-delta 4·u·N/Q, 4·(n·N + u)
 *
 * Sources: [1] Transformers are SSMs, arXiv 2405.21060 · [2] Megatron-LM megatron/core/ssm · [3] arXiv 2312.00752 ·
 * [4] transformers, models/mamba and models/jamba · [5] Gated Delta Networks, arXiv 2412.06464; transformers,
 * models/qwen3_next · [6] Lightning Attention, arXiv 2401.04658; MiniMax-01, arXiv 2501.08313 · [7] Megatron-LM
 * megatron/training/training.py, mamba_layer_flops, which counts the same for mamba2 · [8] state-spaces/mamba
 * mamba_ssm/ops · [9] fla-org/flash-linear-attention fla/ops/gated_delta_rule. What is kept was compared with few runs
 * (docs/predictions.md). Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "predict/architecture.h"
#include "util/error.h"

/* Fills in the numbers of the mixer that are 0: Megatron-LM's defaults (mamba2: 2·h / 64 heads of 64, state 128, 8
 * groups, chunks of 128; gated-delta: 32 heads of 128, 16 groups, state 128, chunks of 64), Mamba's (u = 2·h, state 16,
 * rank h/16), a convolution of 4. */
void mixer_fill(struct architecture *a);

/* -1 (ERROR_USAGE) with a line per fault. */
int mixer_check(const struct architecture *a, struct error *e);

/* Per layer: all parameters, those in matrices, forward FLOPs per token without the matrices, bytes per token. */
double mixer_parameters(const struct architecture *a);
double mixer_matrices(const struct architecture *a);
double mixer_scan_flops(const struct architecture *a);
double mixer_kept_bytes(const struct architecture *a);
double mixer_passing_bytes(const struct architecture *a);

/* Number of layers of each kind in a pattern (hybrid_pattern): M and G mixers, * attention, - MLPs, E experts. A |
 * between stages counts nothing; after each / comes one multi-token-prediction layer, all of which must be equal. */
struct hybrid_layers {
    int64_t layers, mixers, attention, mlps, experts;
    int64_t depths; /* of multi-token prediction */
    bool is_delta;  /* G */
};

/* Reads the layers of the stack, or with `mtp` of one depth after it. False: another letter, both M and G in one
 * pattern, or depths that differ. */
bool hybrid_read(const char *pattern, bool mtp, struct hybrid_layers *out);

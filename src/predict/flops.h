/* Floating-point operations of a training step, and model FLOPs utilisation.
 *
 * A multiplication of m×n by n×k counts 2·m·n·k, the backward pass twice the forward one. Per token, forward:
 *
 *   matrices   2 · (parameters of a layer's matrices that a token passes)
 *   attention  4·s·a·d per attention block (FULL: PaLM, nanotron, torchtitan, MosaicML),
 *              2·s·a·d (CAUSAL: current Megatron-LM, which halves what a causal mask leaves)
 *              latent: 2·s·a·(d + r + w), and half of it
 *              in a layer with a window of w tokens times ω·(2 - ω), ω = min(1, w/s): what a causal mask and the window
 *              leave over what the mask alone leaves; in one of chunks the sum of their squares over s²
 *   scan       of layers with a mixer: mixer.h
 *   MTP        each a layer on average (of a hybrid stack the layers that its pattern says), 4·h² and a head
 *   head       2·h·V (BERT: and its transform 2·h²; ViT, and BERT without mlm_head: 2·h·classes per sequence)
 *
 * Frozen weights want no gradient: their matrices count 2 forward passes instead of 3 under adapters (which count 6 per
 * parameter that a token passes), and layers that are frozen with all before them one.
 *
 * The two conventions differ by 6 % of an 8B model's MFU at s = 4096, so a number without its convention says
 * little. BERT, ViT and the encoder of T5 see all tokens: they count FULL under either. Looking up an
 * embedding costs nothing. Sources: arXiv 2204.02311 appendix B; Megatron-LM megatron/training/training.py
 * num_floating_point_operations; nanotron models/llama.py get_flops. Pure. */
#pragma once

#include "predict/architecture.h"
#include "predict/plan.h"
#include "util/error.h"

/* SQUARE: FULL regardless of windows, for kernels that compute and store all scores. */
enum attention_convention { ATTENTION_FULL = 0, ATTENTION_CAUSAL, ATTENTION_SQUARE };

/* Forward pass, per token. */
struct token_flops {
    double matrices;  /* over all layers */
    double routed;    /* of `matrices`, those of the routed experts */
    double attention; /* over all layers */
    double scan;      /* of all mixers, without their matrices */
    double head;
};

void flops_per_token(const struct architecture *a, const struct training_plan *plan,
                     enum attention_convention convention, struct token_flops *out);

/* The part that a recomputed layer computes again: with full recompute everything but the head; with selective
 * recompute the attention, or, of recompute_modules, the FLOPs of core_attn, mla_up_proj, mlp, moe and shared_experts.
 */
void flops_recomputed(const struct architecture *a, const struct training_plan *plan,
                      enum attention_convention convention, struct token_flops *out);

/* Forward and backward: what MFU counts (ATTENTION_FULL). */
double flops_per_step(const struct architecture *a, const struct training_plan *plan);

/* Seconds of a step at the devices' peak: model FLOPs (ATTENTION_FULL) / (W · peak). Divided by an MFU, this is the
 * baseline's prediction (calibration.h). */
double flops_peak_seconds(const struct architecture *a, const struct training_plan *plan, double peak_flops);

/* Muon's step of a layer, on average over the layers of a rank: five Newton-Schulz iterations of each matrix, whose two
 * sides are m <= n, of 4·n·m² + 2·m³ (kellerjordan.github.io/posts/muon). Latent attention and mixers count as square
 * matrices of the hidden width; tensor parallelism divides it all, as Megatron-LM's blockwise mode does at most. */
double flops_orthogonalised(const struct architecture *a, const struct training_plan *plan);

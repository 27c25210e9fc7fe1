#include "predict/flops.h"

#include <math.h>

/* Weights of a layer's matrices that one token passes; norms and biases are no matrices. */
static double matrix_weights(const struct architecture *a)
{
    double h = (double)a->hidden, mlp_matrices = a->gated_mlp ? 3 : 2;
    double q = (double)a->heads * (double)a->head_dim, kv = (double)a->kv_heads * (double)a->head_dim;
    double layers = architecture_layers(a), attention = 2 * h * q + 2 * h * kv;
    double sparse_layers = a->experts > 0 ? layers - (double)a->dense_layers : 0;
    double sparse =
        mlp_matrices * h * ((double)a->experts_per_token * (double)a->expert_ffn + (double)a->shared_ffn) +
        h * (double)a->experts;
    return (layers + (double)a->decoder_layers) * attention +
           (layers - sparse_layers) * mlp_matrices * h * (double)a->ffn + sparse_layers * sparse;
}

/* Attention blocks, those behind a causal mask counting half where the convention has it so. */
static double counted_blocks(const struct architecture *a, enum attention_convention convention)
{
    double masked = convention == ATTENTION_CAUSAL ? 0.5 : 1;
    switch (a->family) {
    case ARCHITECTURE_T5: /* an encoder block; a masked and a cross block in the decoder */
        return (double)a->layers + (double)a->decoder_layers * (masked + 1);
    case ARCHITECTURE_BERT:
    case ARCHITECTURE_VIT:
        return (double)a->layers;
    default:
        return (double)a->layers * masked;
    }
}

static double head_flops(const struct architecture *a, const struct training_plan *plan)
{
    double h = (double)a->hidden;
    if (a->family == ARCHITECTURE_VIT)
        return 2 * h * (double)a->classes / (double)plan->sequence;
    double transform = a->family == ARCHITECTURE_BERT && a->mlm_head ? 2 * h * h : 0;
    return 2 * h * architecture_padded_vocab(a, plan->tensor) + transform;
}

void flops_per_token(const struct architecture *a, const struct training_plan *plan,
                     enum attention_convention convention, struct token_flops *out)
{
    double q = (double)a->heads * (double)a->head_dim;
    *out = (struct token_flops){
        .matrices = 2 * matrix_weights(a),
        .attention = 4 * (double)plan->sequence * q * counted_blocks(a, convention),
        .head = head_flops(a, plan),
    };
}

void flops_per_step(const struct architecture *a, const struct training_plan *plan,
                    enum attention_convention convention, struct step_flops *out)
{
    struct token_flops token;
    flops_per_token(a, plan, convention, &token);
    double tokens = plan_global_batch(plan) * (double)plan->sequence;
    double again = plan->recompute == RECOMPUTE_FULL        ? token.matrices + token.attention
                   : plan->recompute == RECOMPUTE_SELECTIVE ? token.attention
                                                            : 0;
    out->tokens = tokens;
    out->model = 3 * tokens * (token.matrices + token.attention + token.head);
    out->recompute = tokens * again;
    out->hardware = out->model + out->recompute;
}

int flops_utilisation(double flops, double seconds, double devices, double peak_flops, double *out,
                      struct error *e)
{
    double utilisation = flops / seconds / devices / peak_flops;
    if (!(flops > 0 && seconds > 0 && devices > 0 && peak_flops > 0) || !isfinite(utilisation) ||
        !isfinite(flops * seconds * devices * peak_flops))
        return error_set(e, ERROR_USAGE,
                         "no utilisation follows from %g FLOPs in %g s on %g devices of %g FLOP/s", flops,
                         seconds, devices, peak_flops);
    *out = utilisation;
    return 0;
}

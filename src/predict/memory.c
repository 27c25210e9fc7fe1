#include "predict/memory.h"

#include <math.h>

#include "predict/mixer.h"
#include "predict/tuning.h"

#define BYTES_MOST 1e15
#define FP32_BYTES 4.0
#define INTERVAL_90 1.6448536269514722 /* of a normal distribution */

/* Bytes per parameter, before anything is sharded or on the host. */
struct state_bytes {
    double parameter, gradient, master, moments;
};

/* What a prediction works out once for all its stages. */
struct plan_memory {
    const struct architecture *a;
    const struct training_plan *plan;
    const struct memory_coefficients *c;
    struct architecture_parameters whole;
    double vocab_weights; /* V·h */
    double layer_kept, layer_set;
    double layer_whole;        /* what a layer keeps that does not recompute; 0: all recompute, or none */
    struct state_bytes states; /* of what is trained */
    double frozen, quantised;  /* bytes per weight that is not; of a layer's matrices */
    struct layer_adapters adapters;
    double replicas, expert_replicas;
    int64_t head_stage;
};

/* Bytes per parameter. */
static const double moment_bytes[OPTIMIZER_END] = {
    [OPTIMIZER_ADAM] = 8, [OPTIMIZER_ADAM_8BIT] = 2,    [OPTIMIZER_LION] = 4,
    [OPTIMIZER_MUON] = 4, [OPTIMIZER_SGD_MOMENTUM] = 4, [OPTIMIZER_SGD] = 0,
};

/* Degree that divides what lies between the matrices. */
static double outer_degree(const struct training_plan *plan)
{
    return plan->sequence_parallel ? (double)plan->tensor : 1;
}

static double score_bytes(const struct architecture *a, const struct training_plan *plan)
{
    double share = plan_decoder_share(plan), decoder = share * (share + 1) * (double)a->decoder_layers;
    double heads =
        (double)a->heads * ((double)(a->attention_layers - a->decoder_layers) + decoder) / architecture_layers(a);
    return (a->dropout ? 5 : 2) * heads * (double)plan->sequence / (double)plan->tensor;
}

static bool drops(const struct training_plan *plan, enum recompute_module module)
{
    return plan->recompute == RECOMPUTE_SELECTIVE && (plan->modules & (unsigned)module) != 0;
}

/* Scores are dropped by selective recompute where nothing else is named. */
static bool drops_scores(const struct training_plan *plan)
{
    return plan->recompute == RECOMPUTE_SELECTIVE && (plan->modules == 0 || drops(plan, MODULE_CORE_ATTN));
}

static bool is_narrow(const struct training_plan *plan)
{
    return plan->precision == PRECISION_FP8 || plan->precision == PRECISION_FP4;
}

/* Kept of an MLP of width 1: its output before and after the activation, in 16 bits; the latter, which is what a matrix
 * product reads, in 8 where these are computed so. */
static double mlp_unit(const struct architecture *a, const struct training_plan *plan,
                       const struct memory_coefficients *c)
{
    double unit = a->gated_mlp ? c->gated_mlp_bytes : 4;
    return is_narrow(plan) ? unit - 1 : unit;
}

/* Per token, of a layer's MLP or experts, on average over the layers. */
static double mlp_bytes(const struct architecture *a, const struct training_plan *plan,
                        const struct memory_coefficients *c)
{
    double unit = mlp_unit(a, plan, c), t = (double)plan->tensor, h = (double)a->hidden;
    double o = outer_degree(plan), et = (double)plan->expert_tensor;
    double dense = drops(plan, MODULE_MLP) ? 0 : unit * (double)a->ffn / t;
    if (a->experts == 0)
        return architecture_mlp_share(a) * dense;
    double latent = architecture_expert_input(a), sparse = architecture_sparse_share(a);
    double k = (double)a->experts_per_token * c->expert_imbalance, f = (double)a->expert_ffn;
    double activation = drops(plan, MODULE_MOE_ACT) ? 2 * k * f : 0;
    double input = is_narrow(plan) ? 1 : 2; /* what the first product of an expert reads */
    double routed = k * (input * latent * et + unit * f) + 2 * latent * (double)a->experts_per_token - activation +
                    4 * (double)a->expert_latent;
    double shared = drops(plan, MODULE_SHARED_EXPERTS) ? 0 : unit * (double)a->shared_ffn / t;
    double experts = drops(plan, MODULE_MOE) ? 2 * h / o : routed / o + shared;
    return architecture_mlp_share(a) * dense + sparse * experts;
}

/* Per token, of latent attention: compressed queries, keys and values, then those of all heads and the output. */
static double latent_bytes(const struct architecture *a, const struct training_plan *plan)
{
    double t = (double)plan->tensor, queries = architecture_query_width(a), values = architecture_value_width(a);
    double ranks = 4 * (double)(a->q_lora_rank + a->kv_lora_rank) + 2 * (double)a->qk_rope_dim;
    double heads = 4 * queries + 4 * values - (drops(plan, MODULE_MLA_UP_PROJ) ? 4 * queries + 2 * values : 0);
    return ranks / outer_degree(plan) + heads / t;
}

static double attention_bytes(const struct architecture *a, const struct training_plan *plan)
{
    double t = (double)plan->tensor, output = architecture_value_width(a) / t;
    double narrow = is_narrow(plan) ? output : 0; /* in 8 bits, next to that of the attention kernel */
    if (architecture_is_latent(a))
        return latent_bytes(a, plan) + narrow;
    double unit = a->qk_norm == QK_NORM_NONE ? 4 : 6;
    double gate = a->attention_gate ? 4 * output : 0; /* before and behind it */
    return gate + unit * (double)(a->heads + a->kv_heads) * (double)a->head_dim / t + narrow;
}

/* Per token, of a layer's mixer on average over the layers. */
static double mixer_bytes(const struct architecture *a, const struct training_plan *plan,
                          double (*bytes)(const struct architecture *a))
{
    return a->mixer_layers > 0 ? architecture_mixer_share(a) * bytes(a) / (double)plan->tensor : 0;
}

/* Per token, of a layer without its scores. */
static double layer_bytes(const struct architecture *a, const struct training_plan *plan,
                          const struct memory_coefficients *c)
{
    double h = (double)a->hidden, mask = a->dropout ? 1 : 0;
    double layers = plan_layer_share(plan, a), blocks = plan_attention_blocks(plan, a);
    double third = plan_decoder_share(plan) * (double)a->decoder_layers / architecture_layers(a);
    double blocks_read = a->parallel_blocks || a->norms_per_layer < 2 ? 1 : 2;
    double read = a->parallel_blocks ? 1 : blocks_read * layers + third; /* norms whose output a matrix product reads */
    double norms = 4 - (is_narrow(plan) ? 1 : 0) - (drops(plan, MODULE_LAYERNORM) ? 2 : 0);
    double further = 2 * ((double)a->norms_per_layer - blocks_read);
    further += a->rms_norm && plan->norms != NORMS_FUSED ? c->norm_bytes : 0;
    return (read * (norms + mask) + layers * further) * h / outer_degree(plan) + blocks * attention_bytes(a, plan) +
           layers * mlp_bytes(a, plan, c) + mixer_bytes(a, plan, mixer_kept_bytes);
}

static double activation_scale(const struct training_plan *plan)
{
    return plan_tokens(plan) * (plan->precision == PRECISION_FP32 ? 2 : 1);
}

double memory_layer_set(const struct architecture *a, const struct training_plan *plan,
                        const struct memory_coefficients *coefficients)
{
    double scores = plan->flash_attention ? 0 : score_bytes(a, plan);
    scores += mixer_bytes(a, plan, mixer_passing_bytes);
    if (plan->modules == 0 && !is_narrow(plan))
        return activation_scale(plan) * (layer_bytes(a, plan, coefficients) + scores);
    struct training_plan whole = *plan;
    whole.modules = 0;
    if (is_narrow(plan))
        whole.precision = PRECISION_BF16; /* the 16-bit values are there while the layer is computed */
    return activation_scale(plan) * (layer_bytes(a, &whole, coefficients) + scores);
}

/* Of torch's selective checkpointing by operations: inputs of the layer and its norms, and every second product. */
static double operation_bytes(const struct architecture *a, const struct training_plan *plan)
{
    double kv = (double)a->kv_heads * (double)a->head_dim, t = (double)plan->tensor;
    return 8 * (double)a->hidden / outer_degree(plan) + (2 * kv + 2 * (double)a->ffn) / t;
}

double memory_kept_per_layer(const struct architecture *a, const struct training_plan *plan,
                             const struct memory_coefficients *coefficients)
{
    if (plan->recompute == RECOMPUTE_FULL)
        return activation_scale(plan) * plan_layer_share(plan, a) * 2 * (double)a->hidden / outer_degree(plan);
    if (plan->recompute == RECOMPUTE_OPERATIONS)
        return activation_scale(plan) * plan_layer_share(plan, a) * operation_bytes(a, plan);
    double scores = plan->flash_attention || drops_scores(plan) ? 0 : score_bytes(a, plan);
    return activation_scale(plan) * (layer_bytes(a, plan, coefficients) + scores);
}

/* Parameters of a rank of a stage, experts apart. */
static double dense_parameters(const struct plan_memory *m, int64_t stage, double layers)
{
    double t = (double)m->plan->tensor;
    bool has_head = stage == m->head_stage;
    double sum =
        layers * ((m->whole.layer.attention + m->whole.layer.mlp) / t + m->whole.layer.norms + m->whole.layer.router);
    if (stage == 0)
        sum += m->vocab_weights / t + (m->whole.embedding - m->vocab_weights);
    if (has_head) {
        double matrix = m->a->tied_embeddings ? 0 : m->vocab_weights;
        sum += m->whole.head - matrix; /* poolers and classes, replicated */
        if (m->vocab_weights > 0 && (stage > 0 || !m->a->tied_embeddings))
            sum += m->vocab_weights / t;
        sum += m->whole.norms - architecture_layers(m->a) * m->whole.layer.norms;
    }
    return sum;
}

static struct state_bytes bytes_of_states(const struct training_plan *plan, const struct memory_coefficients *c)
{
    int64_t zero = plan->zero_stage;
    struct state_bytes s = {c->parameter, c->gradient + c->accumulation[zero], c->master,
                            moment_bytes[plan->optimizer] * c->moment / FP32_BYTES};
    if (plan->gradient_bytes > 0)
        s.gradient = (double)plan->gradient_bytes;
    if (plan->moment_bytes > 0)
        s.moments = (double)plan->moment_bytes;
    if (plan->precision == PRECISION_FP32 && c->parameter < FP32_BYTES) {
        s.parameter = FP32_BYTES;
        s.master = zero > 0 ? c->fp32_master : 0;
    }
    if (plan->precision == PRECISION_FP32 && c->gradient < FP32_BYTES)
        s.gradient = FP32_BYTES;
    return s;
}

/* Adds `bytes` of weights that are not trained, copies of which are on `replicas` ranks. */
static void add_frozen(const struct plan_memory *m, double bytes, double replicas, double *terms)
{
    if (m->plan->zero_stage < 3)
        terms[MEMORY_UNSHARDED] += bytes;
    else if (m->plan->offload != OFFLOAD_PARAMETERS)
        terms[MEMORY_SHARDED] += bytes / plan_shards(m->plan, replicas);
}

/* Adds the states of `parameters`, copies of which are on `replicas` ranks. */
static void add_states(const struct plan_memory *m, double parameters, double replicas, double *terms)
{
    const struct state_bytes s = m->states;
    int64_t zero = m->plan->zero_stage;
    double shards = plan_shards(m->plan, replicas);
    double gradient = s.gradient;
    double parameter = m->plan->offload == OFFLOAD_PARAMETERS && zero == 3 ? 0 : s.parameter;
    double optimizer = m->plan->offload == OFFLOAD_NONE ? s.master + s.moments : 0;
    double partition = zero == 1 && m->plan->precision != PRECISION_FP32 ? m->c->partition / shards : 0;
    double sharded = (zero >= 1 ? optimizer : 0) + (zero >= 2 ? gradient : 0) + (zero >= 3 ? parameter : 0);
    terms[MEMORY_UNSHARDED] += parameters * (optimizer + gradient + parameter - sharded);
    terms[MEMORY_SHARDED] += parameters * (sharded / shards + partition);
}

/* Optimizer's temporaries of parameters that `replicas` ranks hold; gradients that are narrower than the master copy
 * are widened first. */
static double step_bytes(const struct plan_memory *m, double parameters, double replicas)
{
    double widened = m->plan->gradient_bytes == 2 && m->c->master > 0 ? FP32_BYTES : 0;
    double shards = m->plan->zero_stage > 0 ? plan_shards(m->plan, replicas) : 1;
    return m->plan->offload == OFFLOAD_NONE ? (m->c->step + widened) * parameters / shards : 0;
}

/* Two units of layers as they are stored, and the root's, which holds what is outside of layers. */
static double frozen_buffers(const struct plan_memory *m)
{
    double t = (double)m->plan->tensor, units = m->a->tied_embeddings ? 1 : 2;
    double layer = (m->whole.layer.attention + m->whole.layer.mlp) / t +
                   m->whole.layer.experts / ((double)m->plan->expert_tensor * (double)m->plan->expert);
    return m->c->gathered_layers * m->quantised * layer + units * m->frozen * m->vocab_weights / t;
}

static double buffer_bytes(const struct plan_memory *m, double parameters)
{
    const struct memory_coefficients *c = m->c;
    double t = (double)m->plan->tensor;
    if (m->plan->zero_stage == 0 || plan_replicas(m->plan) <= 1)
        return 0;
    if (m->plan->zero_stage < 3)
        return 2 * fmin(c->reduce_elements, parameters);
    if (m->plan->tuning != TUNING_FULL)
        return frozen_buffers(m);
    double layer = (m->whole.layer.attention + m->whole.layer.mlp) / t +
                   m->whole.layer.experts / ((double)m->plan->expert_tensor * (double)m->plan->expert);
    double largest = fmax(layer, m->vocab_weights / t);
    return 2 * fmin(parameters, c->prefetch_elements + c->gathered_layers * layer) + 2 * largest;
}

/* Per token and entry. */
static double loss_bytes(const struct plan_memory *m)
{
    const double bytes[LOSS_END] =
        {[LOSS_EAGER] = m->c->logit_bytes, [LOSS_FUSED] = m->c->fused_logit_bytes, [LOSS_TE] = m->c->te_logit_bytes};
    return bytes[m->plan->loss];
}

static double logit_bytes(const struct plan_memory *m)
{
    double tokens = plan_tokens(m->plan) * plan_decoder_share(m->plan), h = (double)m->a->hidden;
    double entries = m->a->family == ARCHITECTURE_VIT
                         ? (double)m->a->classes / (double)m->plan->sequence
                         : architecture_padded_vocab(m->a, m->plan->tensor) / (double)m->plan->tensor;
    bool widens = m->plan->tuning != TUNING_FULL && m->a->rms_norm && m->c->norm_bytes > 0 &&
                  m->plan->norms != NORMS_FUSED; /* the last norm's input is there in fp32, too */
    return tokens * (loss_bytes(m) * entries + (widens ? 6 : 2) * h);
}

/* Of one micro-batch on the first stage. */
static double input_bytes(const struct plan_memory *m)
{
    double per_unit = (m->a->dropout ? 1 : 0) + (m->a->embedding_norm ? 2 : 0);
    return plan_tokens(m->plan) * (8 + per_unit * (double)m->a->hidden / outer_degree(m->plan));
}

/* The sum of the weighted terms; `kept`: activations before fragmentation. */
static void weigh(const struct memory_coefficients *c, double kept, struct memory_stage *out)
{
    for (int i = 0; i < MEMORY_TERM_COUNT; i++)
        out->bytes += c->weights[i] * out->terms[i];
    out->allocated_bytes = out->bytes - c->weights[MEMORY_ACTIVATIONS] * (c->fragmentation - 1) * kept;
}

/* Multi-token-prediction layers of the stage with the head, each with its copy of the embedding where that is
 * elsewhere: parameters and what they keep of a micro-batch. */
static void add_mtp(const struct plan_memory *m, int64_t stage, double *dense, double *experts, double *kept)
{
    struct layer_parameters layer;
    double n = (double)m->a->mtp_layers, t = (double)m->plan->tensor;
    if (n == 0 || stage != m->head_stage)
        return;
    double projection = architecture_mtp_layer(m->a, &layer);
    double copy = m->plan->pipeline > 1 ? m->vocab_weights / t : 0;
    struct architecture stack;
    architecture_mtp_stack(m->a, &stack);
    double layers = architecture_is_hybrid(m->a) ? (double)stack.layers : 1;
    *dense += n * ((layer.attention + layer.mlp + projection) / t + layer.norms + layer.router + copy);
    *experts += n * layer.experts / ((double)m->plan->expert_tensor * (double)m->plan->expert);
    *kept +=
        n * (layers * m->layer_kept + FP32_BYTES * plan_tokens(m->plan) * m->vocab_weights / (double)m->a->hidden / t);
}

static double gradients_of(const struct plan_memory *m, double parameters, double replicas)
{
    double shards = m->plan->zero_stage >= 2 ? plan_shards(m->plan, replicas) : 1;
    return m->states.gradient * parameters / shards;
}

/* Where a framework's phases are known, the peak is in one of them: the logits, with the gradients of earlier
 * micro-batches where there are any; a layer's backward pass; the optimizer's step, without activations. */
static void choose_phase(const struct plan_memory *m, double dense, double experts, double *terms)
{
    if (m->c->phases == 0)
        return;
    double step = step_bytes(m, dense, m->replicas) + step_bytes(m, experts, m->expert_replicas);
    double gradients = gradients_of(m, dense, m->replicas) + gradients_of(m, experts, m->expert_replicas);
    bool is_first = m->c->frees_gradients != 0 && m->plan->micro_batches == 1 && m->plan->tuning == TUNING_FULL;
    double kept = terms[MEMORY_ACTIVATIONS], buffers = terms[MEMORY_BUFFERS], missing = is_first ? gradients : 0;
    double logits = kept + buffers + terms[MEMORY_LOGITS] - missing;
    double working = kept * (is_first ? 0 : 1) + buffers + terms[MEMORY_WORKING];
    if (step > fmax(logits, working)) {
        terms[MEMORY_ACTIVATIONS] = terms[MEMORY_WORKING] = terms[MEMORY_LOGITS] = 0;
        terms[MEMORY_BUFFERS] = step;
    } else if (working > logits) {
        terms[MEMORY_ACTIVATIONS] = working - buffers - terms[MEMORY_WORKING];
        terms[MEMORY_LOGITS] = 0;
    } else {
        terms[MEMORY_WORKING] = 0;
        terms[MEMORY_UNSHARDED] -= m->plan->zero_stage >= 2 ? 0 : missing;
        terms[MEMORY_SHARDED] -= m->plan->zero_stage >= 2 ? missing : 0;
    }
}

/* Of the stage's layers, those that come before `frozen_layers`. */
static double frozen_of_stage(const struct plan_memory *m, int64_t stage, double layers)
{
    double before = 0;
    if (m->plan->frozen_layers == 0)
        return 0;
    for (int64_t k = 0; k < stage; k++)
        before += plan_stage_layers(m->plan, m->a, k);
    return fmax(0, fmin(layers, (double)m->plan->frozen_layers - before));
}

/* What a rank of a stage holds. */
struct stage_load {
    double layers, frozen_layers;
    double dense, experts;                 /* parameters */
    double trained_dense, trained_experts; /* of these, or of adapters */
};

static void add_adapted(const struct plan_memory *m, struct stage_load *load, bool has_head, double *terms)
{
    double matrices = load->layers * (m->whole.layer.attention + m->whole.layer.mlp) / (double)m->plan->tensor;
    add_frozen(m, m->quantised * matrices + m->frozen * (load->dense - matrices), m->replicas, terms);
    add_frozen(m, m->quantised * load->experts, m->expert_replicas, terms);
    load->trained_dense = load->layers * m->adapters.dense + (has_head ? tuning_head_adapter(m->a, m->plan) : 0);
    load->trained_experts = load->layers * m->adapters.experts;
}

static void add_all_states(const struct plan_memory *m, int64_t stage, struct stage_load *load, double *terms)
{
    load->trained_dense = load->dense;
    load->trained_experts = load->experts;
    if (m->plan->tuning != TUNING_FULL) {
        add_adapted(m, load, stage == m->head_stage, terms);
    } else if (m->plan->frozen_layers > 0) {
        double share = load->layers > 0 ? load->frozen_layers / load->layers : 0;
        double layer = (m->whole.layer.attention + m->whole.layer.mlp) / (double)m->plan->tensor +
                       m->whole.layer.norms + m->whole.layer.router;
        double frozen = load->frozen_layers * layer + (stage == 0 ? m->vocab_weights / (double)m->plan->tensor : 0);
        add_frozen(m, m->states.parameter * frozen, m->replicas, terms);
        add_frozen(m, m->states.parameter * share * load->experts, m->expert_replicas, terms);
        load->trained_dense -= frozen;
        load->trained_experts -= share * load->experts;
    }
    add_states(m, load->trained_dense, m->replicas, terms);
    add_states(m, load->trained_experts, m->expert_replicas, terms);
}

/* Gradients of hidden states that the backward pass of frozen, sharded, checkpointed layers holds. */
static double frozen_gradients(const struct plan_memory *m, double layers)
{
    bool held = m->plan->tuning != TUNING_FULL && m->plan->zero_stage == 3 && m->replicas > 1 &&
                m->plan->recompute == RECOMPUTE_FULL;
    double tokens = plan_tokens(m->plan) * plan_layer_share(m->plan, m->a);
    return held ? 2 * tokens * fmax(0, layers - 2) * (double)m->a->hidden : 0;
}

/* On average over the stage. */
static double kept_of_layer(const struct plan_memory *m, double layers)
{
    if (m->layer_whole == 0)
        return m->layer_kept;
    double share = plan_recompute_share(m->plan, layers);
    return share * m->layer_kept + (1 - share) * m->layer_whole;
}

static void fill_stage(const struct plan_memory *m, int64_t stage, struct memory_stage *out)
{
    double layers = plan_stage_layers(m->plan, m->a, stage), in_flight = plan_in_flight(m->plan, stage);
    double frozen = frozen_of_stage(m, stage, layers);
    struct stage_load load = {.layers = layers, .frozen_layers = frozen, .dense = dense_parameters(m, stage, layers)};
    load.experts = layers * m->whole.layer.experts / ((double)m->plan->expert_tensor * (double)m->plan->expert);
    double on_device = fmax(0, layers - frozen - (double)m->plan->offload_layers);
    double once = on_device * kept_of_layer(m, layers) + (stage == 0 ? input_bytes(m) : 0);
    add_mtp(m, stage, &load.dense, &load.experts, &once);
    double kept = in_flight * once;
    *out = (struct memory_stage){.stage = stage, .parameters = load.dense + load.experts};
    double *terms = out->terms;
    add_all_states(m, stage, &load, terms);
    terms[MEMORY_BASE] = m->c->base_bytes;
    terms[MEMORY_ACTIVATIONS] = m->c->fragmentation * kept;
    terms[MEMORY_WORKING] =
        m->layer_set + m->c->hidden_bytes * plan_tokens(m->plan) * (double)m->a->hidden + frozen_gradients(m, layers);
    terms[MEMORY_LOGITS] = stage == m->head_stage ? logit_bytes(m) : 0;
    terms[MEMORY_BUFFERS] = buffer_bytes(m, out->parameters);
    choose_phase(m, load.trained_dense, load.trained_experts, terms);
    weigh(m->c, terms[MEMORY_ACTIVATIONS] > 0 ? kept : 0, out);
}

static double reserve_bytes(const struct training_plan *plan, const struct memory_coefficients *c)
{
    double groups =
        (plan->tensor > 1) + (plan->pipeline > 1) + (plan->data > 1) + (plan->context > 1) + 3 * (plan->expert > 1);
    return c->context_bytes + c->communicator_bytes * groups;
}

static double host_bytes(const struct training_plan *plan, const struct cluster *cluster, double parameters)
{
    const double parameter = plan->precision == PRECISION_FP32 ? FP32_BYTES : 2;
    const double per_parameter[] =
        {[OFFLOAD_NONE] = 0, [OFFLOAD_OPTIMIZER] = 16, [OFFLOAD_PARAMETERS] = 16 + parameter};
    double nodes = fmax(1, plan_world(plan) / (double)cluster->devices_per_node);
    return 1.5 * per_parameter[plan->offload] * parameters / nodes;
}

static bool recomputes_some(const struct training_plan *plan)
{
    return plan->recompute_every > 1 || plan->recompute_layers > 0;
}

/* Where not every layer recomputes, or groups of layers do. */
static void set_some_layers(struct plan_memory *m)
{
    struct training_plan none = *m->plan;
    none.recompute = RECOMPUTE_NONE;
    if (m->plan->recompute_layers > 0 && m->plan->recompute_method == RECOMPUTE_UNIFORM) {
        m->layer_kept /= (double)m->plan->recompute_layers;
        m->layer_set *= (double)m->plan->recompute_layers;
    } else if (m->plan->tuning == TUNING_FULL) {
        m->layer_whole = memory_kept_per_layer(m->a, &none, m->c);
    } else {
        double scores = m->plan->flash_attention ? 0 : score_bytes(m->a, m->plan);
        m->layer_whole = activation_scale(m->plan) * (tuning_kept(m->a, m->plan, m->c) + scores);
    }
}

/* A layer of frozen weights with adapters: tuning.h. */
static void set_adapted_layer(struct plan_memory *m)
{
    const struct training_plan *plan = m->plan;
    double scale = activation_scale(plan), scores = plan->flash_attention ? 0 : score_bytes(m->a, plan);
    double kept = scale * tuning_kept(m->a, plan, m->c);
    double checkpoint = plan_layer_share(plan, m->a) * (plan->kbit_preparation ? FP32_BYTES : 2);
    double whole = kept + scale * scores, dropped = drops_scores(plan) ? kept : whole;
    bool full = plan->recompute == RECOMPUTE_FULL;
    m->layer_kept = full ? scale * checkpoint * (double)m->a->hidden / outer_degree(plan) : dropped;
    m->layer_set =
        (full ? whole : whole - dropped) + scale * tuning_passing(m->a, plan) + tuning_dense_matrices(m->a, plan);
}

static void set_adapters(struct plan_memory *m)
{
    double stored = tuning_weight_bytes(m->plan);
    m->frozen = m->plan->kbit_preparation ? FP32_BYTES : m->states.parameter;
    m->quantised = stored > 0 ? stored : m->states.parameter;
    m->states.parameter = m->states.gradient = m->c->adapter;
    m->states.master = 0;
    m->states.moments = moment_bytes[m->plan->optimizer] * m->c->adapter / FP32_BYTES;
    tuning_adapters(m->a, m->plan, &m->adapters);
    set_adapted_layer(m);
}

/* Under a uniform split the first stage has the most layers and micro-batches in flight, so that only it and
 * the one with the head can be the most loaded. */
static int64_t next_candidate(const struct plan_memory *m, int64_t stage)
{
    bool is_even = m->plan->split == SPLIT_UNIFORM && !m->plan->is_uneven;
    return is_even && stage < m->head_stage ? m->head_stage : stage + 1;
}

static int conclude(struct memory_prediction *p, const struct training_plan *plan, const struct memory_coefficients *c,
                    struct memory_prediction *out, struct error *e)
{
    if (!(p->most.bytes > 0 && p->most.bytes <= BYTES_MOST))
        return error_set(e, ERROR_USAGE, "%.3g bytes on one device cannot be meant", p->most.bytes);
    double factor = exp(INTERVAL_90 * p->sigma);
    p->low_bytes = p->most.bytes / factor;
    p->high_bytes = p->most.bytes * factor;
    p->reserve_bytes = reserve_bytes(plan, c);
    *out = *p;
    return 0;
}

int memory_predict(const struct architecture *a, const struct training_plan *plan, const struct cluster *cluster,
                   const struct memory_coefficients *coefficients, struct memory_prediction *out, struct error *e)
{
    struct plan_memory m = {.a = a, .plan = plan, .c = coefficients};
    struct memory_prediction p = {.sigma = coefficients->sigma};
    if (architecture_count(a, plan->tensor, &m.whole, e))
        return -1;
    m.vocab_weights = architecture_padded_vocab(a, plan->tensor) * (double)a->hidden;
    m.layer_set = memory_layer_set(a, plan, coefficients);
    bool keeps_set = plan->recompute == RECOMPUTE_NONE && !is_narrow(plan) && a->mixer_layers == 0;
    m.layer_kept = keeps_set ? m.layer_set : memory_kept_per_layer(a, plan, coefficients);
    m.states = bytes_of_states(plan, coefficients);
    if (plan->tuning != TUNING_FULL)
        set_adapters(&m);
    if (recomputes_some(plan))
        set_some_layers(&m);
    if (plan->dispatcher == DISPATCH_ALL_GATHER)
        m.layer_set += 2 * plan_tokens(plan) * (double)a->hidden * (double)(plan->expert - 1);
    m.replicas = plan_replicas(plan);
    m.expert_replicas = plan_expert_replicas(plan);
    m.head_stage = plan_head_stage(plan, a);
    fill_stage(&m, 0, &p.first);
    p.most = p.last = p.first;
    for (int64_t k = next_candidate(&m, 0); k < plan->pipeline; k = next_candidate(&m, k)) {
        struct memory_stage stage;
        fill_stage(&m, k, &stage);
        if (k + 1 == plan->pipeline)
            p.last = stage;
        if (stage.bytes > p.most.bytes)
            p.most = stage;
    }
    p.parameters = m.whole.total;
    p.trainable = p.parameters;
    if (plan->tuning != TUNING_FULL || plan->frozen_layers > 0)
        p.trainable = tuning_trainable(a, plan, p.parameters);
    p.host_bytes = host_bytes(plan, cluster, m.whole.total);
    return conclude(&p, plan, coefficients, out, e);
}

int memory_predict_measured(const struct measured_model *model, const struct training_plan *plan,
                            const struct cluster *cluster, const struct memory_coefficients *coefficients,
                            struct memory_prediction *out, struct error *e)
{
    const struct plan_memory m = {.plan = plan, .c = coefficients, .states = bytes_of_states(plan, coefficients)};
    struct memory_prediction p = {.sigma = coefficients->sigma};
    double t = (double)plan->tensor, pp = (double)plan->pipeline;
    if (plan->tuning != TUNING_FULL || plan->frozen_layers > 0)
        return error_set(e, ERROR_USAGE, "fine-tuning wants the architecture in place of params");
    double kept = plan_in_flight(plan, 0) * (double)plan->micro_batch * model->activation_bytes /
                  (t * pp * (double)plan->context);
    p.first.parameters = model->parameters / (t * pp);
    double *terms = p.first.terms;
    add_states(&m, p.first.parameters, plan_replicas(plan), terms);
    terms[MEMORY_BASE] = coefficients->base_bytes;
    terms[MEMORY_ACTIVATIONS] = coefficients->fragmentation * kept;
    if (plan->zero_stage > 0 && plan_replicas(plan) > 1)
        terms[MEMORY_BUFFERS] = 2 * fmin(p.first.parameters, plan->zero_stage < 3 ? coefficients->reduce_elements
                                                                                  : coefficients->prefetch_elements);
    weigh(coefficients, kept, &p.first);
    p.most = p.last = p.first;
    p.parameters = p.trainable = model->parameters;
    p.host_bytes = host_bytes(plan, cluster, model->parameters);
    return conclude(&p, plan, coefficients, out, e);
}

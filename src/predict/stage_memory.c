#include "predict/stage_memory.h"

#include <math.h>

#include "predict/layer_memory.h"
#include "util/memory.h"

#define FP32_BYTES 4.0

double stage_moment_bytes(enum optimizer optimizer, double width)
{
    static const double numbers[OPTIMIZER_END] =
        {[OPTIMIZER_ADAM] = 2, [OPTIMIZER_LION] = 1, [OPTIMIZER_MUON] = 1, [OPTIMIZER_SGD_MOMENTUM] = 1};
    static const double quantised[OPTIMIZER_END] =
        {[OPTIMIZER_ADAM_8BIT] = 2, [OPTIMIZER_ADAM_TORCH_8BIT] = 2, [OPTIMIZER_ADAM_TORCH_4BIT] = 1};
    return numbers[optimizer] * width + quantised[optimizer];
}

/* Parameters of a stage on a rank, without experts. */
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

struct state_bytes stage_state_bytes(const struct training_plan *plan, const struct memory_coefficients *c)
{
    int64_t zero = plan->zero_stage;
    double width = layer_weight_bytes(plan, c), moment = width == c->parameter || c->master > 0 ? c->moment : width;
    double gradient = width == c->parameter || c->master > 0 ? c->gradient : width;
    struct state_bytes s = {c->parameter, gradient + c->accumulation[zero], c->master,
                            stage_moment_bytes(plan->optimizer, moment)};
    if (plan->gradient_bytes > 0)
        s.gradient = (double)plan->gradient_bytes;
    if (plan->moment_bytes > 0)
        s.moments = (double)plan->moment_bytes;
    s.parameter = width;
    if (plan_is_fp32(plan) && c->parameter < FP32_BYTES)
        s.master = zero > 0 ? c->fp32_master : 0;
    if (plan_is_fp32(plan) && c->gradient < FP32_BYTES)
        s.gradient = FP32_BYTES;
    return s;
}

/* FSDP's stage 2 shards parameters as stage 3 does, but keeps all of them gathered until the end of a pass. */
static bool gathers_all(const struct plan_memory *m)
{
    return m->plan->zero_stage == 2 && m->c->sharded_at_rest != 0;
}

bool stage_accumulates_whole(const struct training_plan *plan, const struct memory_coefficients *c)
{
    bool at_last =
        c->whole_gradients != 0 ? !plan->syncs_each_batch : c->sharded_at_rest != 0 && plan->syncs_last_batch;
    bool holds_stage = c->whole_stages != 0 && plan->pipeline > 1;
    return at_last && !holds_stage && plan->zero_stage >= 2 && plan->micro_batches > 1;
}

static bool is_fsdp2(const struct plan_memory *m)
{
    return m->c->sharded_at_rest != 0 && m->c->holds_gradients == 0;
}

/* FSDP2's whole gradients have the type in which they are reduced, whatever the weights have (torch
 * fsdp/_fully_shard/_fsdp_param.py, to_accumulated_grad_if_needed). */
static double whole_gradient(const struct plan_memory *m)
{
    bool widens = plan_replicas(m->plan) > 1 && m->plan->gradient_bytes == 0 && m->c->holds_gradients == 0;
    return widens ? fmax(m->states.gradient, m->c->gradient) : m->states.gradient;
}

static bool shards_gradients(const struct plan_memory *m)
{
    return m->plan->zero_stage >= 2 && !stage_accumulates_whole(m->plan, m->c);
}

/* Adds `bytes` of frozen weights that `replicas` ranks have copies of. */
static void add_frozen(const struct plan_memory *m, double bytes, double replicas, double *terms)
{
    if (m->plan->zero_stage < 3 && !gathers_all(m))
        terms[MEMORY_UNSHARDED] += bytes;
    else if (m->plan->offload != OFFLOAD_PARAMETERS)
        terms[MEMORY_SHARDED] += bytes / plan_shards(m->plan, replicas);
}

/* Bytes per parameter on the device. Sharded gradients of an offloaded optimizer go to the host. */
static double gradient_bytes(const struct plan_memory *m)
{
    bool leaves = m->plan->zero_stage >= 2 && m->plan->offload != OFFLOAD_NONE && m->c->holds_gradients == 0;
    double gradient = stage_accumulates_whole(m->plan, m->c) ? whole_gradient(m) : m->states.gradient;
    return leaves ? 0 : gradient;
}

/* Of a parameter of a rank's own partition, while it is stepped. */
static double partition_bytes(const struct plan_memory *m)
{
    return m->plan->zero_stage == 1 && !plan_is_fp32(m->plan) ? m->c->partition : 0;
}

void stage_add_states(const struct plan_memory *m, double parameters, double replicas, double *terms)
{
    const struct state_bytes s = m->states;
    int64_t zero = m->plan->zero_stage;
    double shards = plan_shards(m->plan, replicas);
    double gradient = gradient_bytes(m);
    double parameter = m->plan->offload == OFFLOAD_PARAMETERS && zero == 3 ? 0 : s.parameter;
    double optimizer = m->plan->offload == OFFLOAD_NONE ? s.master + s.moments : 0;
    double sharded = (zero >= 1 ? optimizer : 0) + (shards_gradients(m) ? gradient : 0) +
                     (zero >= 3 || gathers_all(m) ? parameter : 0);
    terms[MEMORY_UNSHARDED] += parameters * (optimizer + gradient + parameter - sharded);
    terms[MEMORY_SHARDED] += parameters * (sharded + partition_bytes(m)) / shards;
}

/* Parameters for which a rank's optimizer step makes temporaries. */
static double stepped(const struct plan_memory *m, double parameters, double replicas)
{
    double shards = m->plan->zero_stage > 0 ? plan_shards(m->plan, replicas) : 1;
    return m->plan->offload == OFFLOAD_NONE ? parameters / shards : 0;
}

double stage_step_bytes(const struct training_plan *plan, const struct memory_coefficients *c)
{
    bool is_fused = plan->optimizer_kernel == OPTIMIZER_KERNEL_FRAMEWORK
                        ? c->fuses_step != 0
                        : plan->optimizer_kernel == OPTIMIZER_KERNEL_FUSED;
    double width = plan->tuning == TUNING_FULL ? layer_weight_bytes(plan, c) / c->parameter : 1;
    return is_fused ? 0 : c->step * width;
}

/* Gradients in 16 bits are stepped from a copy in fp32, but not by an optimizer that takes masters and moments of any
 * width, whose bytes are then given: Megatron-LM's use_precision_aware_optimizer (core/optimizer/distrib_optimizer.py,
 * decoupled_grad). */
static double step_bytes(const struct plan_memory *m)
{
    bool widens = m->plan->gradient_bytes == 2 && m->c->master > 0 && m->plan->moment_bytes == 0;
    return stage_step_bytes(m->plan, m->c) + (widens ? FP32_BYTES : 0);
}

/* What torch's operations make of quantised moments on the way, for one tensor after the other. */
static double widened_moments(const struct plan_memory *m)
{
    static const double bytes[OPTIMIZER_END] = {[OPTIMIZER_ADAM_TORCH_8BIT] = 8, [OPTIMIZER_ADAM_TORCH_4BIT] = 24};
    double largest = fmax(m->vocab_weights, (double)m->a->hidden * (double)m->a->ffn) / (double)m->plan->tensor;
    double shards = m->plan->zero_stage >= 1 ? plan_shards(m->plan, m->replicas) : 1;
    return m->plan->tuning == TUNING_FULL ? bytes[m->plan->optimizer] * largest / shards : 0;
}

static double flat_step_bytes(const struct plan_memory *m)
{
    return m->plan->zero_stage < 3 ? m->c->flat_step : 0;
}

static double layer_parameters(const struct plan_memory *m)
{
    return (m->whole.layer.attention + m->whole.layer.mlp) / (double)m->plan->tensor +
           m->whole.layer.experts / ((double)m->plan->expert_tensor * (double)m->plan->expert);
}

/* Units of size_based_auto_wrap_policy: from the smallest module up, each whose parameters outside of units are
 * unit_parameters or more is one. */
struct wrapped {
    double least, largest; /* of a unit: allowed, and found so far */
};

/* What `left` of a module's parameters leaves to the module around it. */
static double wrap(struct wrapped *w, double left)
{
    w->largest = left >= w->least ? fmax(w->largest, left) : w->largest;
    return left >= w->least ? 0 : left;
}

/* The same of a module that has modules: none of those is looked at if all of it is less than a unit. */
static double wrap_block(struct wrapped *w, const double *matrices, size_t count)
{
    double all = 0, left = 0;
    for (size_t i = 0; i < count; i++)
        all += matrices[i];
    for (size_t i = 0; i < count && all >= w->least; i++)
        left += wrap(w, matrices[i]);
    return all >= w->least ? wrap(w, left) : all;
}

/* Sets the largest unit, and returns what a layer leaves to the unit around all layers. */
static double wrap_layer(const struct plan_memory *m, struct wrapped *w)
{
    double h = (double)m->a->hidden, t = (double)m->plan->tensor, q = h * (double)m->a->heads * (double)m->a->head_dim;
    double kv = h * (double)m->a->kv_heads * (double)m->a->head_dim, matrix = h * (double)m->a->ffn / t;
    bool is_fused = m->a->family != ARCHITECTURE_LLAMA;
    const double attention[] = {(is_fused ? q + 2 * kv : q) / t, is_fused ? 0 : kv / t, is_fused ? 0 : kv / t, q / t};
    const double mlp[] = {matrix, matrix, m->a->gated_mlp ? matrix : 0};
    double all = layer_parameters(m), left = all - (q * 2 + kv * 2) / t - matrix * (m->a->gated_mlp ? 3 : 2);
    if (all < w->least)
        return all;
    return wrap(w, fmax(0, left) + wrap_block(w, attention, LENGTH(attention)) + wrap_block(w, mlp, LENGTH(mlp)));
}

/* Parameters of FSDP's root unit, which is all outside layers: with one stage, both embedding and head. */
static double root_unit(const struct plan_memory *m)
{
    double matrices = m->a->tied_embeddings || m->plan->pipeline > 1 || m->plan->vocab_units ? 1 : 2;
    double matrix = m->vocab_weights / (double)m->plan->tensor;
    struct wrapped w = {(double)m->plan->unit_parameters, 0};
    if (m->plan->unit_parameters == 0)
        return matrices * matrix;
    return matrices * wrap(&w, matrix) + architecture_layers(m->a) / (double)m->plan->pipeline * wrap_layer(m, &w);
}

/* Of a layer, or the largest unit that is not around all layers. */
static double layer_unit(const struct plan_memory *m)
{
    struct wrapped w = {(double)m->plan->unit_parameters, 0};
    if (m->plan->unit_parameters == 0)
        return layer_parameters(m);
    wrap_layer(m, &w);
    wrap(&w, m->vocab_weights / (double)m->plan->tensor);
    return w.largest;
}

/* Parameters of layers that are gathered at once. DeepSpeed keeps no more than live_elements. */
static double gathered(const struct plan_memory *m)
{
    double layers = m->c->prefetch_elements + m->c->gathered_layers * layer_unit(m);
    if (m->plan->unlimited_gathers)
        return architecture_layers(m->a) / (double)m->plan->pipeline * layer_parameters(m);
    return m->c->live_elements > 0 ? fmin(layers, m->c->live_elements) : layers;
}

static double bucket_elements(const struct plan_memory *m)
{
    return m->plan->bucket_elements > 0 ? (double)m->plan->bucket_elements : m->c->reduce_elements;
}

/* The gathered layers, as stored, and the root unit; or all of a stage's `parameters`. Weights in fp32 are gathered in
 * the 16 bits of products. */
static double frozen_buffers(const struct plan_memory *m, double parameters)
{
    double root = root_unit(m), layers = gathers_all(m) ? fmax(0, parameters - root) : gathered(m);
    bool narrows = layer_weight_bytes(m->plan, m->c) == FP32_BYTES && !plan_is_fp32(m->plan);
    double most = narrows ? 2 : FP32_BYTES;
    return fmin(m->quantised, most) * layers + fmin(m->frozen, most) * root;
}

/* Each by itself, as DeepSpeed does. */
static bool gathers_modules(const struct plan_memory *m)
{
    return m->c->prefetch_elements > 0;
}

/* One rank gathers only what is not on its device. */
static bool gathers_alone(const struct plan_memory *m)
{
    return m->plan->zero_stage == 3 && m->plan->offload == OFFLOAD_PARAMETERS && gathers_modules(m);
}

static double buffer_bytes(const struct plan_memory *m, double parameters)
{
    const struct memory_coefficients *c = m->c;
    double t = (double)m->plan->tensor;
    bool alone = plan_replicas(m->plan) <= 1;
    if (m->plan->zero_stage == 0 || (alone && m->plan->zero_stage < 2))
        return 0;
    if (m->plan->zero_stage < 3 && !gathers_all(m))
        return (m->plan->overlap_gradients ? 4 : 2) * bucket_elements(m);
    double bucket = m->plan->zero_stage == 3 ? 2 * bucket_elements(m) : 0;
    if (alone && !gathers_alone(m) && !(is_fsdp2(m) && m->plan->pipeline == 1))
        return bucket;
    if (m->plan->tuning != TUNING_FULL)
        return frozen_buffers(m, parameters) + bucket;
    if (c->whole_stages != 0 && m->plan->pipeline > 1)
        return (2 + whole_gradient(m)) * parameters;
    if (gathers_all(m))
        return (plan_is_fp32(m->plan) ? FP32_BYTES : 2) * parameters;
    double largest = fmax(layer_unit(m), gathers_modules(m) ? m->vocab_weights / t : root_unit(m));
    return 2 * fmin(parameters, gathered(m)) + 2 * largest + bucket;
}

/* Gathered layers that the host has freed and the device still reads. The allocator counts them as free, and waits for
 * them before memory runs out (c10/cuda/CUDACachingAllocator.cpp: free, synchronize_and_free_events). */
static double freed_buffers(const struct plan_memory *m, double parameters)
{
    struct training_plan limited = *m->plan;
    struct plan_memory of_limited = *m;
    limited.unlimited_gathers = false;
    of_limited.plan = &limited;
    return !m->plan->unlimited_gathers ? 0 : buffer_bytes(m, parameters) - buffer_bytes(&of_limited, parameters);
}

/* Besides reduced gradients, FSDP2 has what the layer before is reduced from, and until the pass ends the head's, which
 * the root unit reduces. */
static double unreduced_gradients(const struct plan_memory *m)
{
    bool holds_stage = m->c->whole_stages != 0 && m->plan->pipeline > 1;
    double product = plan_is_fp32(m->plan) ? FP32_BYTES : 2, reduced = fmax(product, m->states.gradient);
    bool waits = !m->plan->vocab_units && !stage_accumulates_whole(m->plan, m->c);
    double head = waits ? product * m->vocab_weights / (double)m->plan->tensor : 0;
    if (!is_fsdp2(m) || m->plan->zero_stage < 2 || holds_stage || m->plan->tuning != TUNING_FULL)
        return 0;
    return reduced * layer_unit(m) + head;
}

/* A GPT with one key-value head is transformers' GPTBigCode if the framework uses it. */
static bool is_gpt_bigcode(const struct plan_memory *m)
{
    return m->c->gpt_bigcode != 0 && m->a->family == ARCHITECTURE_GPT && !m->a->parallel_blocks &&
           m->a->kv_heads == 1 && m->a->heads > 1;
}

/* GPTBigCode's layers return keys and values for a cache even when they recompute. These are a view of a tensor that
 * has the queries, too, and live until the loss is computed. Without recompute the tensor is kept anyway. */
static double cache_bytes(const struct plan_memory *m, double layers)
{
    double queries = (double)m->a->heads * (double)m->a->head_dim, kv = 2 * (double)m->a->head_dim;
    if (!is_gpt_bigcode(m) || m->plan->recompute != RECOMPUTE_FULL)
        return 0;
    return (tuning_is_wide(m->a, m->plan, m->c) ? FP32_BYTES : 2) * plan_recompute_share(m->plan, layers) * layers *
           layer_activation_scale(m->plan) * (queries + kv) / (double)m->plan->tensor;
}

#define COMPILED_PARTS 2.25 /* of each part of a loss its logits, of one in eight their gradient, too */

/* Per token and vocabulary entry. GPTBigCode's loss is not in fp32, nor one that reads logits as they are, except under
 * autocast or where hidden states are in fp32. One in the graph of a compiled model has its logits and their gradient
 * in the type of products (torch _inductor: what is widened or reduced is computed where it is read). */
static double loss_bytes(const struct plan_memory *m)
{
    const double bytes[LOSS_END] = {[LOSS_EAGER] = m->c->logit_bytes,
                                    [LOSS_FUSED] = m->c->fused_logit_bytes,
                                    [LOSS_TE] = m->c->te_logit_bytes,
                                    [LOSS_LINEAR] = m->plan->compiled ? fmin(COMPILED_PARTS, m->c->part_logit_bytes)
                                                                      : m->c->part_logit_bytes};
    if (m->plan->loss == LOSS_COMPILED)
        return plan_is_fp32(m->plan) ? 2 * FP32_BYTES : 4;
    bool is_eager = m->plan->loss == LOSS_EAGER && !plan_is_fp32(m->plan);
    bool is_narrow = is_gpt_bigcode(m) || (m->plan->narrow_loss && is_eager);
    return bytes[m->plan->loss] / (is_narrow && !tuning_is_wide(m->a, m->plan, m->c) ? 2 : 1);
}

/* Logits of a micro-batch on a rank. */
static double logit_count(const struct plan_memory *m)
{
    double tokens = plan_tokens(m->plan) * plan_decoder_share(m->plan);
    double shares = m->c->gathered_logits != 0 || m->plan->gathers_logits ? 1 : (double)m->plan->tensor;
    return tokens * (!architecture_predicts_words(m->a) ? (double)m->a->classes / (double)m->plan->sequence
                                                        : architecture_padded_vocab(m->a, m->plan->tensor) / shares);
}

/* What a loop holds of a pass's output, in its backward pass, or, at_loss, in the next forward pass. */
static double held_bytes(const struct plan_memory *m, double layers, bool at_loss)
{
    double kv = (double)m->a->kv_heads * (double)m->a->head_dim / (double)m->plan->tensor;
    double cache = m->plan->held == HELD_CACHE ? 4 * layers * layer_activation_scale(m->plan) * kv : 0;
    double further = m->plan->recompute == RECOMPUTE_FULL ? plan_recompute_share(m->plan, layers) : 0;
    if (m->plan->held == HELD_NONE || m->plan->pipeline > 1)
        return 0;
    bool is_narrow = m->plan->narrow_loss || (m->plan->loss == LOSS_COMPILED && !plan_is_fp32(m->plan));
    double logit = m->plan->loss == LOSS_LINEAR ? 0 : is_narrow ? 2 : FP32_BYTES;
    return logit * logit_count(m) + (further + at_loss) * cache;
}

static double logit_slack(const struct plan_memory *m)
{
    return m->plan->loss == LOSS_EAGER ? m->c->logit_slack * logit_count(m) : 0;
}

static double logit_bytes(const struct plan_memory *m)
{
    double tokens = plan_tokens(m->plan) * plan_decoder_share(m->plan), h = (double)m->a->hidden;
    struct training_plan last = *m->plan; /* whose norm is not compiled, as layers are */
    last.compiled = false;
    bool eager_norm = layer_norm_bytes(m->a, &last, m->c) > 0;
    bool is_cast = layer_autocasts(m->plan, m->c), is_full = m->plan->tuning == TUNING_FULL;
    /* The last norm's input or output also exists in fp32. */
    bool widens = is_full ? is_cast || eager_norm : m->a->rms_norm ? eager_norm : tuning_is_wide(m->a, m->plan, m->c);
    double head = is_cast && architecture_predicts_words(m->a) ? 2 * m->vocab_weights / (double)m->plan->tensor : 0;
    return loss_bytes(m) * logit_count(m) + logit_slack(m) + tokens * (widens ? 6 : 2) * h + head;
}

/* Per micro-batch, on the first stage. */
static double input_bytes(const struct plan_memory *m)
{
    double per_unit = (m->a->dropout ? 1 : 0) + (m->a->embedding_norm ? 2 : 0);
    return plan_tokens(m->plan) * (8 + per_unit * (double)m->a->hidden / layer_outer_degree(m->plan));
}

double stage_unusable(const struct training_plan *plan, const struct memory_coefficients *c)
{
    bool is_sharded = plan->zero_stage == 3 && plan_replicas(plan) > 1;
    return plan->expandable_segments ? 0 : is_sharded ? fmax(c->unusable, c->unusable_sharded) : c->unusable;
}

/* What the allocator holds of batches of other lengths. A batch longer than all before it finds no free block for its
 * logits, so that it takes new ones (c10/cuda/CUDACachingAllocator.cpp: best fit, no block grows, and none goes back
 * before memory runs out). The three in fp32 that are alive at once (12 bytes a logit) stay for each such record. Of n
 * batches in random order, ln(n) + 0.6 are records; other tensors fit into the pieces of shorter ones. That allocator,
 * replayed over a thousand batches of models from 1B to 34B with uniform and lognormal lengths, holds 4.3 times the
 * longest batch's logits in the median, and 2.4 to 8 in nine of ten; where logits are few, half of all activations.
 * With equal lengths, it holds what measured runs on H100 do. */
#define PIECES_OF_ACTIVATIONS 0.5

static double length_pieces(const struct plan_memory *m, const double *terms)
{
    double logits = terms[MEMORY_LOGITS] > 0 ? loss_bytes(m) * logit_count(m) : 0;
    if (m->plan->lengths != LENGTHS_VARY || m->c->length_pieces == 0)
        return 0;
    return fmax(m->c->length_pieces * logits,
                PIECES_OF_ACTIVATIONS * (terms[MEMORY_ACTIVATIONS] + terms[MEMORY_WORKING] + logits));
}

void stage_weigh(const struct memory_coefficients *c, double kept, double unusable, double held,
                 struct memory_stage *out)
{
    double nominal = 0, fragments = (c->fragmentation - 1) * kept;
    for (int i = 0; i < MEMORY_TERM_COUNT; i++) {
        out->bytes += c->weights[i] * out->terms[i];
        nominal += c->nominal[i] * out->terms[i];
    }
    out->allocated_bytes = out->bytes - out->slack - c->weights[MEMORY_ACTIVATIONS] * fragments;
    double allocated = nominal - out->slack - c->nominal[MEMORY_ACTIVATIONS] * fragments;
    double pieces = fmax(0, fmax(allocated / (1 - unusable), allocated + held) - nominal);
    out->terms[MEMORY_BASE] += pieces;
    out->bytes += c->weights[MEMORY_BASE] * pieces;
    out->slack += c->weights[MEMORY_BASE] * pieces;
}

/* Adds the parameters of the multi-token-prediction layers, and what they keep of a micro-batch, on the stage with the
 * head. Each has a copy of the embedding if there are several stages. */
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
    double shards = shards_gradients(m) ? plan_shards(m->plan, replicas) : 1;
    return gradient_bytes(m) * parameters / shards;
}

/* If the framework's phases are known, one of them has the peak. */
enum phase {
    PHASE_LOGITS,     /* the loss and the gradient of the logits */
    PHASE_LAST_LAYER, /* the first backward pass of the last layer, before there are gradients */
    PHASE_BACKWARD,   /* a layer's backward pass; if gradients do not exist before, the last one */
    PHASE_STEP,       /* the optimizer's step */
    PHASES
};

struct phase_load {
    double kept;            /* activations, without fragmentation */
    double held;            /* what batches of other lengths left */
    double gradients;       /* those that exist only from the first backward pass on */
    double last;            /* of these, what the last layer to go backward has not yet given */
    double step, flat_step; /* temporaries of the step, and the part of them in one block */
    double freed;           /* of buffers, while there are any */
};

static void take_phase(const struct plan_memory *m, const struct memory_stage *all, enum phase phase,
                       const struct phase_load *l, struct memory_stage *out)
{
    const double buffers = m->c->weights[MEMORY_BUFFERS];
    const double slack[PHASES] = {[PHASE_LOGITS] = all->slack + buffers * l->freed,
                                  [PHASE_LAST_LAYER] = buffers * l->freed,
                                  [PHASE_BACKWARD] = buffers * l->freed,
                                  [PHASE_STEP] = buffers * l->flat_step};
    bool is_early = phase == PHASE_LOGITS || phase == PHASE_LAST_LAYER;
    double kept = is_early || (phase == PHASE_BACKWARD && l->gradients == 0) ? l->kept : 0;
    *out = *all;
    out->slack = slack[phase];
    double missing = is_early ? l->gradients : phase == PHASE_BACKWARD ? l->last : 0;
    out->terms[shards_gradients(m) ? MEMORY_SHARDED : MEMORY_UNSHARDED] -= missing;
    out->terms[MEMORY_ACTIVATIONS] = m->c->fragmentation * kept;
    out->terms[MEMORY_LOGITS] = phase == PHASE_LOGITS ? all->terms[MEMORY_LOGITS] : 0;
    out->terms[MEMORY_WORKING] = phase == PHASE_LOGITS || phase == PHASE_STEP ? 0 : all->terms[MEMORY_WORKING];
    out->terms[MEMORY_BUFFERS] = phase == PHASE_STEP ? l->step : all->terms[MEMORY_BUFFERS];
    out->terms[MEMORY_BUFFERS] += phase == PHASE_LAST_LAYER || phase == PHASE_BACKWARD ? unreduced_gradients(m) : 0;
    stage_weigh(m->c, kept, stage_unusable(m->plan, m->c), l->held, out);
}

static struct phase_load phase_load_of(const struct plan_memory *m, double dense, double experts, double kept,
                                       double held)
{
    double parameters = stepped(m, dense, m->replicas) + stepped(m, experts, m->expert_replicas);
    double flat = flat_step_bytes(m) * parameters, step = step_bytes(m) * parameters + flat;
    step += widened_moments(m);
    bool sums = m->a->tied_embeddings && m->plan->pipeline == 1 && m->plan->tuning == TUNING_FULL;
    step = fmax(step, sums ? m->c->tied_sum * m->vocab_weights / (double)m->plan->tensor : 0);
    bool is_first = m->c->frees_gradients != 0 && m->plan->micro_batches == 1 && m->plan->tuning == TUNING_FULL;
    double gradients = gradients_of(m, dense, m->replicas) + gradients_of(m, experts, m->expert_replicas);
    double last = m->plan->recompute == RECOMPUTE_FULL ? gradients_of(m, layer_parameters(m), m->replicas) : 0;
    return (struct phase_load){kept, held, is_first ? gradients : 0, is_first ? last : 0, step, flat, 0};
}

/* Weights of a rank as they are before stage 3 divides them. */
static double whole_bytes(const struct plan_memory *m, double parameters)
{
    double width = m->plan->tuning == TUNING_FULL ? m->states.parameter : m->frozen;
    return m->plan->loaded_whole && m->plan->zero_stage == 3 ? width * parameters : 0;
}

/* Gathered weights that torch's own linear saves for the backward pass, in a view that nobody empties: DeepSpeed's is
 * there only where a model is built under zero.Init. */
static double saved_weights(const struct plan_memory *m, double layers)
{
    double recomputed = m->plan->recompute == RECOMPUTE_FULL ? plan_recompute_share(m->plan, layers) : 0;
    bool gathers = gathers_modules(m) && (plan_replicas(m->plan) > 1 || gathers_alone(m));
    bool is_plain = m->plan->quantization == QUANTIZATION_NONE;
    return gathers && is_plain ? whole_bytes(m, (1 - recomputed) * layers * layer_parameters(m)) : 0;
}

/* What the allocator keeps of the blocks of whole weights that went to the host, in which smaller tensors find room. */
static double emptied_blocks(const struct plan_memory *m, const struct memory_stage *s)
{
    double smaller = s->terms[MEMORY_ACTIVATIONS] + s->terms[MEMORY_WORKING];
    return m->plan->offload == OFFLOAD_PARAMETERS ? fmax(0, whole_bytes(m, s->parameters) - smaller) : 0;
}

/* Adds what is missing to the whole weights, where these need more than a step. */
static void load_whole(const struct plan_memory *m, struct memory_stage *out)
{
    double whole = whole_bytes(m, out->parameters), more = fmax(0, whole - out->bytes);
    out->terms[MEMORY_BASE] += more;
    out->bytes += more;
    out->allocated_bytes = fmax(out->allocated_bytes, whole);
    out->slack = fmin(out->slack, out->bytes - whole);
}

/* Weighs the terms of the phase that needs most, or of all together if phases are not known. */
static void weigh_peak(const struct plan_memory *m, const struct phase_load *l, struct memory_stage *out)
{
    out->slack = out->terms[MEMORY_LOGITS] > 0 ? m->c->weights[MEMORY_LOGITS] * logit_slack(m) : 0;
    const struct memory_stage all = *out;
    if (m->c->phases == 0) {
        out->slack += m->c->weights[MEMORY_BUFFERS] * l->freed;
        stage_weigh(m->c, l->kept, stage_unusable(m->plan, m->c), l->held, out);
        return;
    }
    for (int phase = 0; phase < PHASES; phase++) {
        struct memory_stage at;
        take_phase(m, &all, (enum phase)phase, l, &at);
        if (at.bytes > out->bytes)
            *out = at;
    }
}

/* How many of the stage's layers are among the model's leading `frozen_layers`. */
static double frozen_of_stage(const struct plan_memory *m, int64_t stage, double layers)
{
    double before = 0;
    if (m->plan->frozen_layers == 0)
        return 0;
    for (int64_t k = 0; k < stage; k++)
        before += plan_stage_layers(m->plan, m->a, k);
    return fmax(0, fmin(layers, (double)m->plan->frozen_layers - before));
}

/* The memory of a rank of a stage. */
struct stage_load {
    double layers, frozen_layers;
    double dense, experts;                 /* parameters */
    double trained_dense, trained_experts; /* of these or of adapters */
};

static void add_adapted(const struct plan_memory *m, struct stage_load *load, bool has_head, double *terms)
{
    double matrices = load->layers * (m->whole.layer.attention + m->whole.layer.mlp) / (double)m->plan->tensor;
    add_frozen(m, m->quantised * matrices + m->frozen * (load->dense - matrices), m->replicas, terms);
    add_frozen(m, m->quantised * load->experts, m->expert_replicas, terms);
    load->trained_dense = load->layers * m->adapters.dense + (has_head ? tuning_head_adapter(m->a, m->plan) : 0);
    load->trained_experts = load->layers * m->adapters.experts;
}

/* The trained copies of embedding and head. */
static void add_saved(const struct plan_memory *m, int64_t stage, double *terms)
{
    struct plan_memory copy = *m;
    copy.states = m->saved;
    stage_add_states(&copy, tuning_saved(m->a, m->plan, stage == 0, stage == m->head_stage), m->replicas, terms);
}

/* Copies of weights in 8 or 4 bits that are kept from one micro-batch to the next: what products read, by rows and by
 * columns. Weights that are in 8 bits themselves take as much with them as those in 16 without. */
static double narrow_weights(const struct plan_memory *m, const struct stage_load *load)
{
    double bytes = m->plan->precision == PRECISION_FP4 ? 0.5 : 1, t = (double)m->plan->tensor;
    double matrices = load->layers * (m->whole.layer.attention + m->whole.layer.mlp) / t + load->experts;
    return layer_is_narrow(m->plan) && !m->plan->narrow_weights
               ? m->c->narrow_copies * bytes * (1 - layer_share_in_bf16(m->a, m->plan)) * matrices
               : 0;
}

static void add_all_states(const struct plan_memory *m, int64_t stage, struct stage_load *load, double *terms)
{
    load->trained_dense = load->dense;
    load->trained_experts = load->experts;
    if (m->plan->tuning != TUNING_FULL) {
        add_adapted(m, load, stage == m->head_stage, terms);
        add_saved(m, stage, terms);
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
    stage_add_states(m, load->trained_dense, m->replicas, terms);
    stage_add_states(m, load->trained_experts, m->expert_replicas, terms);
}

/* DDP's buckets exist throughout; ZeroRedundancyOptimizer (stage 1) also runs under DDP. */
static double bucket_bytes(const struct plan_memory *m, const struct stage_load *load)
{
    bool copies = m->replicas > 1 && m->plan->zero_stage < 2 && !m->plan->unbucketed;
    return copies ? m->c->bucket_copy * m->states.gradient * (load->trained_dense + load->trained_experts) : 0;
}

/* Gradients of hidden states that the backward pass of frozen, sharded, checkpointed layers holds. */
static double frozen_gradients(const struct plan_memory *m, double layers)
{
    bool held = m->c->holds_gradients != 0 && m->plan->tuning != TUNING_FULL && m->plan->zero_stage == 3 &&
                m->replicas > 1 && m->plan->recompute == RECOMPUTE_FULL;
    double tokens = plan_tokens(m->plan) * plan_layer_share(m->plan, m->a);
    return held ? 2 * tokens * fmax(0, layers - 2) * (double)m->a->hidden : 0;
}

/* Kept by a layer, on average over the stage. */
static double kept_of_layer(const struct plan_memory *m, double layers)
{
    if (m->layer_whole == 0)
        return m->layer_kept;
    double share = plan_recompute_share(m->plan, layers);
    return share * m->layer_kept + (1 - share) * m->layer_whole;
}

/* What DeepSpeed allocates only after the passes, when they have freed as much in blocks that are too small: the
 * gradients of a rank's partition in fp32, under stage 1 flat as well, and there with a pipeline the bucket. */
static double late_bytes(const struct plan_memory *m, const struct stage_load *load, const double *terms)
{
    const struct memory_coefficients *c = m->c;
    int64_t zero = m->plan->zero_stage;
    double parameters =
        stepped(m, load->trained_dense, m->replicas) + stepped(m, load->trained_experts, m->expert_replicas);
    bool is_first = partition_bytes(m) > 0, widens = c->partition > 0 && zero >= 2 && m->plan->gradient_bytes == 0;
    double each = is_first ? partition_bytes(m) : widens && !plan_is_fp32(m->plan) ? c->accumulation[zero] : 0;
    double bucket = is_first && m->plan->pipeline > 1 ? terms[MEMORY_BUFFERS] : 0;
    double gathered = zero == 3 ? terms[MEMORY_BUFFERS] - 2 * bucket_elements(m) : 0;
    double passes = terms[MEMORY_ACTIVATIONS] + terms[MEMORY_WORKING] + terms[MEMORY_LOGITS];
    return fmin(each * parameters + bucket, passes + fmax(0, gathered));
}

void stage_memory_fill(const struct plan_memory *m, int64_t stage, struct memory_stage *out)
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
    terms[MEMORY_UNSHARDED] += bucket_bytes(m, &load) + narrow_weights(m, &load);
    terms[MEMORY_BASE] = m->c->base_bytes;
    terms[MEMORY_ACTIVATIONS] = m->c->fragmentation * kept;
    terms[MEMORY_WORKING] =
        m->layer_set + m->c->hidden_bytes * plan_tokens(m->plan) * (double)m->a->hidden + frozen_gradients(m, layers);
    terms[MEMORY_WORKING] += m->c->phases != 0 ? held_bytes(m, layers, false) : 0;
    terms[MEMORY_LOGITS] =
        stage == m->head_stage ? logit_bytes(m) + cache_bytes(m, layers) + held_bytes(m, layers, true) : 0;
    terms[MEMORY_BUFFERS] = buffer_bytes(m, out->parameters) + saved_weights(m, layers);
    struct phase_load phases = phase_load_of(m, load.trained_dense, load.trained_experts, kept,
                                             length_pieces(m, terms) + emptied_blocks(m, out));
    phases.freed = freed_buffers(m, out->parameters);
    weigh_peak(m, &phases, out);
    out->allocated_bytes -= late_bytes(m, &load, out->terms);
    load_whole(m, out);
}

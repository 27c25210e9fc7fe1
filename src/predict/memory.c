#include "predict/memory.h"

#include <math.h>

#include "predict/layer_memory.h"
#include "predict/tuning.h"

#define BYTES_MOST 1e15
#define FP32_BYTES 4.0
#define INTERVAL_90 1.6448536269514722 /* of a normal distribution */

static double reserve_bytes(const struct training_plan *plan, const struct memory_coefficients *c)
{
    double groups =
        (plan->tensor > 1) + (plan->pipeline > 1) + (plan->data > 1) + (plan->context > 1) + 3 * (plan->expert > 1);
    groups += plan->tensor * plan->pipeline > 1 ? c->communicators : 0;
    return c->context_bytes + c->communicator_bytes * groups;
}

static double host_bytes(const struct training_plan *plan, const struct cluster *cluster, double parameters)
{
    const double parameter = plan_is_fp32(plan) ? FP32_BYTES : 2;
    const double per_parameter[] =
        {[OFFLOAD_NONE] = 0, [OFFLOAD_OPTIMIZER] = 16, [OFFLOAD_PARAMETERS] = 16 + parameter};
    double nodes = fmax(1, plan_world(plan) / (double)cluster->devices_per_node);
    return 1.5 * per_parameter[plan->offload] * parameters / nodes;
}

static bool recomputes_some(const struct training_plan *plan)
{
    return plan->recompute_every > 1 || plan->recompute_layers > 0;
}

/* For plans in which not every layer recomputes, or groups do: the others keep all but the modules that are named. */
static void set_some_layers(struct plan_memory *m)
{
    struct training_plan others = *m->plan;
    others.recompute = m->plan->modules ? RECOMPUTE_SELECTIVE : RECOMPUTE_NONE;
    if (m->plan->recompute_layers > 0 && m->plan->recompute_method == RECOMPUTE_UNIFORM) {
        m->layer_kept /= (double)m->plan->recompute_layers;
        m->layer_set *= (double)m->plan->recompute_layers;
    } else if (m->plan->tuning == TUNING_FULL) {
        m->layer_whole = layer_memory_kept(m->a, &others, m->c);
    } else {
        double scores = m->plan->flash_attention ? 0 : layer_score_bytes(m->a, m->plan);
        m->layer_whole = layer_activation_scale(m->plan) * (tuning_kept(m->a, m->plan, m->c) + scores);
    }
}

/* A layer with frozen weights and adapters: tuning.h. */
static void set_adapted_layer(struct plan_memory *m)
{
    const struct training_plan *plan = m->plan;
    double scale = layer_activation_scale(plan), scores = plan->flash_attention ? 0 : layer_score_bytes(m->a, plan);
    double kept = scale * tuning_kept(m->a, plan, m->c);
    double checkpoint = plan_layer_share(plan, m->a) * (tuning_is_wide(m->a, plan, m->c) ? FP32_BYTES : 2);
    double whole = kept + scale * scores, dropped = layer_drops_scores(plan) ? kept : whole;
    bool full = plan->recompute == RECOMPUTE_FULL;
    m->layer_kept = full ? scale * checkpoint * (double)m->a->hidden / layer_checkpoint_degree(plan) : dropped;
    bool unpacked = tuning_unpacked(plan, m->c) > 0;
    double backward = scale * tuning_passing(m->a, plan, m->c) + tuning_dense_matrices(m->a, plan, unpacked);
    m->layer_set = (full ? whole : whole - dropped) + fmax(backward, unpacked ? tuning_unpacking(m->a, plan) : 0);
}

static void set_adapters(struct plan_memory *m)
{
    double stored = tuning_weight_bytes(m->plan);
    m->saved = m->states; /* copies are made after the preparation */
    if (m->plan->kbit_preparation)
        m->saved = (struct state_bytes){FP32_BYTES, FP32_BYTES, 0, stage_moment_bytes(m->plan->optimizer, FP32_BYTES)};
    m->frozen = m->plan->kbit_preparation ? FP32_BYTES : m->states.parameter;
    m->quantised = stored > 0 ? stored : m->states.parameter;
    m->states.parameter = m->states.gradient = m->c->adapter;
    bool has_master = m->c->master > 0 && m->c->adapter < FP32_BYTES;
    m->states.master = has_master ? m->c->master : 0;
    m->states.moments = stage_moment_bytes(m->plan->optimizer, has_master ? FP32_BYTES : m->c->adapter);
    tuning_adapters(m->a, m->plan, &m->adapters);
    set_adapted_layer(m);
}

/* Adds a layer's matrices, cast or unpacked for its products, which are there until its backward pass: layer_memory.h,
 * tuning.h. */
static void add_cast_weights(struct plan_memory *m)
{
    bool casts = layer_autocasts(m->plan, m->c) && m->plan->quantization == QUANTIZATION_NONE;
    double each = casts ? 2 : tuning_unpacked(m->plan, m->c);
    double cast = each * (m->whole.layer.attention + m->whole.layer.mlp) / (double)m->plan->tensor;
    cast += each * m->whole.layer.experts / ((double)m->plan->expert_tensor * (double)m->plan->expert);
    *(m->plan->recompute == RECOMPUTE_FULL ? &m->layer_set : &m->layer_kept) += cast;
}

/* Adds what unfused scores take beyond layer_score_bytes where their softmax is in fp32: layer_memory.h. */
static void add_wide_scores(struct plan_memory *m)
{
    const struct training_plan *plan = m->plan;
    bool is_wide = m->a->family == ARCHITECTURE_LLAMA || layer_autocasts(plan, m->c); /* torch.amp: softmax */
    if (plan->flash_attention || m->c->wide_scores == 0 || !is_wide || plan_is_fp32(plan))
        return;
    double scores = plan_tokens(plan) * layer_score_bytes(m->a, plan) / (m->a->dropout ? 5 : 2);
    double kept = (m->a->dropout ? 2 : 4) * scores;
    m->layer_set += kept + 6 * scores;
    if (plan->recompute != RECOMPUTE_FULL && !layer_drops_scores(plan))
        m->layer_kept += kept;
    m->layer_whole += m->layer_whole > 0 ? kept : 0;
}

/* Under a uniform split the first stage has the most layers and micro-batches in flight, so that only it and
 * the one with the head can be the most loaded. */
static int64_t next_candidate(const struct plan_memory *m, int64_t stage)
{
    bool is_even = m->plan->split == SPLIT_UNIFORM && !m->plan->is_uneven;
    return is_even && stage < m->head_stage ? m->head_stage : stage + 1;
}

static bool conclude(struct memory_prediction *p, const struct training_plan *plan, const struct memory_coefficients *c,
                     struct memory_prediction *out)
{
    if (!(p->most.bytes > 0 && p->most.bytes <= BYTES_MOST))
        return false;
    double factor = exp(INTERVAL_90 * p->sigma);
    p->low_bytes = p->most.bytes / factor;
    p->high_bytes = p->most.bytes * factor;
    p->reserve_bytes = reserve_bytes(plan, c);
    *out = *p;
    return true;
}

bool memory_predict(const struct architecture *a, const struct training_plan *plan, const struct cluster *cluster,
                    const struct memory_coefficients *coefficients, struct memory_prediction *out)
{
    struct plan_memory m = {.a = a, .plan = plan, .c = coefficients};
    struct memory_prediction p = {.sigma = coefficients->sigma, .least = 1, .other = 1};
    if (!architecture_count(a, plan->tensor, &m.whole))
        return false;
    m.vocab_weights = architecture_padded_vocab(a, plan->tensor) * (double)a->hidden;
    m.layer_set = layer_memory_set(a, plan, coefficients);
    bool keeps_set = plan->recompute == RECOMPUTE_NONE && !layer_is_narrow(plan) && a->mixer_layers == 0;
    m.layer_kept = keeps_set ? m.layer_set : layer_memory_kept(a, plan, coefficients);
    m.states = stage_state_bytes(plan, coefficients);
    if (plan->tuning != TUNING_FULL)
        set_adapters(&m);
    add_cast_weights(&m);
    if (recomputes_some(plan))
        set_some_layers(&m);
    add_wide_scores(&m);
    if (plan->recompute == RECOMPUTE_FULL && plan->tuning == TUNING_FULL)
        m.layer_set += layer_memory_passing(a, plan, coefficients);
    if (plan->dispatcher == DISPATCH_ALL_GATHER)
        m.layer_set += 2 * plan_tokens(plan) * (double)a->hidden * (double)(plan->expert - 1);
    m.replicas = plan_replicas(plan);
    m.expert_replicas = plan_expert_replicas(plan);
    m.head_stage = plan_head_stage(plan, a);
    stage_memory_fill(&m, 0, &p.first);
    p.most = p.last = p.first;
    for (int64_t k = next_candidate(&m, 0); k < plan->pipeline; k = next_candidate(&m, k)) {
        struct memory_stage stage;
        stage_memory_fill(&m, k, &stage);
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
    return conclude(&p, plan, coefficients, out);
}

bool memory_predict_measured(const struct measured_model *model, const struct training_plan *plan,
                             const struct cluster *cluster, const struct memory_coefficients *coefficients,
                             struct memory_prediction *out)
{
    const struct plan_memory m = {.plan = plan, .c = coefficients, .states = stage_state_bytes(plan, coefficients)};
    struct memory_prediction p = {.sigma = coefficients->sigma, .least = 1, .other = 1};
    double t = (double)plan->tensor, pp = (double)plan->pipeline;
    if (plan->tuning != TUNING_FULL || plan->frozen_layers > 0)
        return false;
    double kept = plan_in_flight(plan, 0) * (double)plan->micro_batch * model->activation_bytes /
                  (t * pp * (double)plan->context);
    p.first.parameters = model->parameters / (t * pp);
    double *terms = p.first.terms;
    stage_add_states(&m, p.first.parameters, plan_replicas(plan), terms);
    terms[MEMORY_BASE] = coefficients->base_bytes;
    terms[MEMORY_ACTIVATIONS] = coefficients->fragmentation * kept;
    if (plan->zero_stage > 0 && plan_replicas(plan) > 1)
        terms[MEMORY_BUFFERS] = 2 * fmin(p.first.parameters, plan->zero_stage < 3 ? coefficients->reduce_elements
                                                                                  : coefficients->prefetch_elements);
    stage_weigh(coefficients, kept, stage_unusable(plan, coefficients), 0, &p.first);
    p.most = p.last = p.first;
    p.parameters = p.trainable = model->parameters;
    p.host_bytes = host_bytes(plan, cluster, model->parameters);
    return conclude(&p, plan, coefficients, out);
}

#include "predict/memory.h"

#include <math.h>

#define BYTES_MOST 1e15
#define FP32_BYTES 4.0
#define INTERVAL_90 1.6448536269514722 /* of a normal distribution */

/* What a prediction works out once for all its stages. */
struct plan_memory {
    const struct architecture *a;
    const struct training_plan *plan;
    const struct memory_coefficients *c;
    struct layer_parameters layer;
    struct architecture_parameters whole;
    double vocab_weights; /* V·h */
    double layer_kept, layer_set;
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
    double heads =
        (double)a->heads * (architecture_layers(a) + (double)a->decoder_layers) / architecture_layers(a);
    return (a->dropout ? 5 : 2) * heads * (double)plan->sequence / (double)plan->tensor;
}

/* Per token, of a layer's MLP or experts, on average over the layers. */
static double mlp_bytes(const struct architecture *a, const struct training_plan *plan,
                        const struct memory_coefficients *c)
{
    double unit = a->gated_mlp ? c->gated_mlp_bytes : 4, t = (double)plan->tensor, h = (double)a->hidden;
    double dense = unit * (double)a->ffn / t;
    if (a->experts == 0)
        return dense;
    double sparse = 1 - (double)a->dense_layers / architecture_layers(a), k = (double)a->experts_per_token;
    double dispatched = k * c->expert_imbalance * (2 * h + unit * (double)a->expert_ffn);
    double experts =
        unit * (double)a->shared_ffn / t + dispatched / (double)plan->expert_tensor + 2 * h * k + 4 * h;
    return (1 - sparse) * dense + sparse * experts;
}

/* Per token, of a layer without its scores. */
static double layer_bytes(const struct architecture *a, const struct training_plan *plan,
                          const struct memory_coefficients *c)
{
    double h = (double)a->hidden, t = (double)plan->tensor, mask = a->dropout ? 1 : 0;
    double blocks = (architecture_layers(a) + (double)a->decoder_layers) / architecture_layers(a);
    double attention = 4 * (double)(a->heads + a->kv_heads) * (double)a->head_dim / t;
    return (1 + blocks) * (4 + mask) * h / outer_degree(plan) + blocks * attention + mlp_bytes(a, plan, c);
}

static double activation_scale(const struct training_plan *plan)
{
    return plan_tokens(plan) * (plan->precision == PRECISION_FP32 ? 2 : 1);
}

double memory_layer_set(const struct architecture *a, const struct training_plan *plan,
                        const struct memory_coefficients *coefficients)
{
    double scores = plan->flash_attention ? 0 : score_bytes(a, plan);
    return activation_scale(plan) * (layer_bytes(a, plan, coefficients) + scores);
}

double memory_kept_per_layer(const struct architecture *a, const struct training_plan *plan,
                             const struct memory_coefficients *coefficients)
{
    if (plan->recompute == RECOMPUTE_FULL)
        return activation_scale(plan) * 2 * (double)a->hidden / outer_degree(plan);
    if (plan->recompute == RECOMPUTE_SELECTIVE)
        return activation_scale(plan) * layer_bytes(a, plan, coefficients);
    return memory_layer_set(a, plan, coefficients);
}

/* Parameters of a rank of a stage, experts apart. */
static double dense_parameters(const struct plan_memory *m, int64_t stage)
{
    double t = (double)m->plan->tensor, layers = plan_stage_layers(m->plan, m->a, stage);
    bool has_head = stage == m->head_stage;
    double sum = layers * ((m->layer.attention + m->layer.mlp) / t + m->layer.norms + m->layer.router);
    if (stage == 0)
        sum += m->vocab_weights / t + (m->whole.embedding - m->vocab_weights);
    if (has_head) {
        double matrix = m->a->tied_embeddings ? 0 : m->vocab_weights;
        sum += m->whole.head - matrix; /* poolers and classes, replicated */
        if (m->vocab_weights > 0 && (stage > 0 || !m->a->tied_embeddings))
            sum += m->vocab_weights / t;
        sum += m->whole.norms - architecture_layers(m->a) * m->layer.norms;
    }
    return sum;
}

/* Bytes per parameter, before anything is sharded or on the host. */
struct state_bytes {
    double parameter, gradient, master;
};

static struct state_bytes bytes_of_states(const struct training_plan *plan, const struct memory_coefficients *c)
{
    int64_t zero = plan->zero_stage;
    struct state_bytes s = {c->parameter, c->gradient + c->accumulation[zero], c->master};
    if (plan->precision == PRECISION_FP32 && c->parameter < FP32_BYTES) {
        s.parameter = FP32_BYTES;
        s.master = zero > 0 ? c->fp32_master : 0;
    }
    if (plan->precision == PRECISION_FP32 && c->gradient < FP32_BYTES)
        s.gradient = FP32_BYTES;
    return s;
}

/* Adds the states of `parameters`, copies of which are on `replicas` ranks. */
static void add_states(const struct plan_memory *m, double parameters, double replicas, double *terms)
{
    const struct state_bytes s = bytes_of_states(m->plan, m->c);
    int64_t zero = m->plan->zero_stage;
    double shards = plan_shards(m->plan, replicas);
    double gradient = s.gradient;
    double parameter = m->plan->offload == OFFLOAD_PARAMETERS && zero == 3 ? 0 : s.parameter;
    double optimizer = m->plan->offload == OFFLOAD_NONE ? s.master + moment_bytes[m->plan->optimizer] : 0;
    double sharded = (zero >= 1 ? optimizer : 0) + (zero >= 2 ? gradient : 0) + (zero >= 3 ? parameter : 0);
    terms[MEMORY_UNSHARDED] += parameters * (optimizer + gradient + parameter - sharded);
    terms[MEMORY_SHARDED] += parameters * sharded / shards;
}

static double buffer_bytes(const struct plan_memory *m, double parameters)
{
    const struct memory_coefficients *c = m->c;
    double t = (double)m->plan->tensor;
    if (m->plan->zero_stage == 0 || plan_replicas(m->plan) <= 1)
        return 0;
    if (m->plan->zero_stage < 3)
        return 2 * fmin(c->reduce_elements, parameters);
    double layer = (m->layer.attention + m->layer.mlp) / t +
                   m->layer.experts / ((double)m->plan->expert_tensor * (double)m->plan->expert);
    double largest = fmax(layer, m->vocab_weights / t);
    return 2 * fmin(parameters, c->prefetch_elements + c->gathered_layers * layer) + 2 * largest;
}

static double logit_bytes(const struct plan_memory *m)
{
    double tokens = plan_tokens(m->plan), h = (double)m->a->hidden;
    double entries = m->a->family == ARCHITECTURE_VIT
                         ? (double)m->a->classes / (double)m->plan->sequence
                         : architecture_padded_vocab(m->a, m->plan->tensor) / (double)m->plan->tensor;
    return tokens * (m->c->logit_bytes * entries + 2 * h);
}

/* Of one micro-batch on the first stage. */
static double input_bytes(const struct plan_memory *m)
{
    double mask = m->a->dropout ? (double)m->a->hidden / outer_degree(m->plan) : 0;
    return plan_tokens(m->plan) * (8 + mask);
}

/* The sum of the weighted terms; `kept`: activations before fragmentation. */
static void weigh(const struct memory_coefficients *c, double kept, struct memory_stage *out)
{
    for (int i = 0; i < MEMORY_TERM_COUNT; i++)
        out->bytes += c->weights[i] * out->terms[i];
    out->allocated_bytes = out->bytes - c->weights[MEMORY_ACTIVATIONS] * (c->fragmentation - 1) * kept;
}

static void fill_stage(const struct plan_memory *m, int64_t stage, struct memory_stage *out)
{
    double layers = plan_stage_layers(m->plan, m->a, stage), in_flight = plan_in_flight(m->plan, stage);
    double experts = layers * m->layer.experts / ((double)m->plan->expert_tensor * (double)m->plan->expert);
    double dense = dense_parameters(m, stage);
    double kept = in_flight * (layers * m->layer_kept + (stage == 0 ? input_bytes(m) : 0));
    *out = (struct memory_stage){.stage = stage, .parameters = dense + experts};
    double *terms = out->terms;
    add_states(m, dense, plan_replicas(m->plan), terms);
    add_states(m, experts, plan_expert_replicas(m->plan), terms);
    terms[MEMORY_BASE] = m->c->base_bytes;
    terms[MEMORY_ACTIVATIONS] = m->c->fragmentation * kept;
    terms[MEMORY_WORKING] = m->layer_set + m->c->hidden_bytes * plan_tokens(m->plan) * (double)m->a->hidden;
    terms[MEMORY_LOGITS] = stage == m->head_stage ? logit_bytes(m) : 0;
    terms[MEMORY_BUFFERS] = buffer_bytes(m, out->parameters);
    weigh(m->c, kept, out);
}

static double reserve_bytes(const struct training_plan *plan, const struct memory_coefficients *c)
{
    double groups = (plan->tensor > 1) + (plan->pipeline > 1) + (plan->data > 1) + (plan->context > 1) +
                    3 * (plan->expert > 1);
    return c->context_bytes + c->communicator_bytes * groups;
}

static double host_bytes(const struct training_plan *plan, const struct cluster *cluster, double parameters)
{
    const double parameter = plan->precision == PRECISION_FP32 ? FP32_BYTES : 2;
    const double per_parameter[] = {
        [OFFLOAD_NONE] = 0, [OFFLOAD_OPTIMIZER] = 16, [OFFLOAD_PARAMETERS] = 16 + parameter};
    double nodes = fmax(1, plan_world(plan) / (double)cluster->devices_per_node);
    return 1.5 * per_parameter[plan->offload] * parameters / nodes;
}

/* Under a uniform split the first stage has the most layers and micro-batches in flight, so that only it and
 * the one with the head can be the most loaded. */
static int64_t next_candidate(const struct plan_memory *m, int64_t stage)
{
    return m->plan->split == SPLIT_UNIFORM && stage < m->head_stage ? m->head_stage : stage + 1;
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

int memory_predict(const struct architecture *a, const struct training_plan *plan,
                   const struct cluster *cluster, const struct memory_coefficients *coefficients,
                   struct memory_prediction *out, struct error *e)
{
    struct plan_memory m = {.a = a, .plan = plan, .c = coefficients};
    struct memory_prediction p = {.sigma = coefficients->sigma};
    if (architecture_count(a, plan->tensor, &m.whole, e))
        return -1;
    architecture_layer(a, &m.layer);
    m.vocab_weights = architecture_padded_vocab(a, plan->tensor) * (double)a->hidden;
    m.layer_kept = memory_kept_per_layer(a, plan, coefficients);
    m.layer_set = memory_layer_set(a, plan, coefficients);
    m.head_stage = plan_head_stage(plan, a);
    fill_stage(&m, 0, &p.first);
    p.most = p.first;
    for (int64_t k = next_candidate(&m, 0); k < plan->pipeline; k = next_candidate(&m, k)) {
        struct memory_stage stage;
        fill_stage(&m, k, &stage);
        if (stage.bytes > p.most.bytes)
            p.most = stage;
    }
    p.host_bytes = host_bytes(plan, cluster, m.whole.total);
    return conclude(&p, plan, coefficients, out, e);
}

int memory_predict_measured(const struct measured_model *model, const struct training_plan *plan,
                            const struct cluster *cluster, const struct memory_coefficients *coefficients,
                            struct memory_prediction *out, struct error *e)
{
    const struct plan_memory m = {.plan = plan, .c = coefficients};
    struct memory_prediction p = {.sigma = coefficients->sigma};
    double t = (double)plan->tensor, pp = (double)plan->pipeline;
    double kept = plan_in_flight(plan, 0) * (double)plan->micro_batch * model->activation_bytes / (t * pp * (double)plan->context);
    p.first.parameters = model->parameters / (t * pp);
    double *terms = p.first.terms;
    add_states(&m, p.first.parameters, plan_replicas(plan), terms);
    terms[MEMORY_BASE] = coefficients->base_bytes;
    terms[MEMORY_ACTIVATIONS] = coefficients->fragmentation * kept;
    if (plan->zero_stage > 0 && plan_replicas(plan) > 1)
        terms[MEMORY_BUFFERS] = 2 * fmin(p.first.parameters, plan->zero_stage < 3 ? coefficients->reduce_elements
                                                                                   : coefficients->prefetch_elements);
    weigh(coefficients, kept, &p.first);
    p.most = p.first;
    p.host_bytes = host_bytes(plan, cluster, model->parameters);
    return conclude(&p, plan, coefficients, out, e);
}

/* predict: what can only cost more, and what can only save. Plans are drawn at random, and each is predicted again with
 * one thing changed, for every framework. */
#include "frameworks.h"
#include "predict/memory.h"
#include "predict/step_time.h"
#include "predict_fixture.h"
#include "util/rng.h"

#define PLANS 300
#define ROUNDING 1e-9

struct drawn {
    struct architecture a;
    struct training_plan plan;
    struct cluster cluster;
};

struct needs {
    double bytes, seconds;
};

static int64_t one_of(struct rng *r, const int64_t *values, size_t count)
{
    return values[rng_below(r, count)];
}
#define ONE_OF(r, ...)                                                                                                 \
    one_of(r, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static struct architecture draw_architecture(struct rng *r)
{
    bool is_gpt = ONE_OF(r, 0, 1) != 0;
    struct architecture a = architecture_of(is_gpt ? ARCHITECTURE_GPT : ARCHITECTURE_LLAMA);
    a.layers = ONE_OF(r, 8, 16, 32, 64);
    a.hidden = ONE_OF(r, 1024, 2048, 4096, 8192);
    a.heads = a.hidden / 128;
    a.kv_heads = is_gpt ? 0 : a.heads / ONE_OF(r, 1, 2, 4, 8);
    a.vocab = ONE_OF(r, 32000, 50304, 128256);
    a.experts = ONE_OF(r, 0, 0, 0, 8, 32);
    if (a.experts > 0) {
        a.experts_per_token = ONE_OF(r, 1, 2, 4);
        a.expert_ffn = a.hidden * ONE_OF(r, 1, 2);
    }
    return a;
}

/* Parts of the models of 2024 and later. */
static void draw_parts(struct rng *r, struct architecture *a)
{
    switch (ONE_OF(r, 0, 0, 1, 2, 3)) {
    case 1: /* latent attention */
        a->kv_lora_rank = 512;
        a->q_lora_rank = ONE_OF(r, 0, 1536);
        a->qk_rope_dim = 64;
        a->kv_heads = 0;
        break;
    case 2: /* most layers mix tokens without attention */
        a->mixer = (enum mixer)ONE_OF(r, MIXER_MAMBA2, MIXER_MAMBA, MIXER_GATED_DELTA, MIXER_LIGHTNING);
        a->mixer_layers = a->layers * 3 / 4;
        break;
    case 3: /* windows */
        a->window = 1024;
        a->window_layers = a->layers / 2;
        break;
    default:
        break;
    }
    a->mtp_layers = ONE_OF(r, 0, 0, 0, 1);
    if (a->experts > 0) {
        a->dense_layers = ONE_OF(r, 0, 1);
        a->shared_ffn = ONE_OF(r, 0, 2048);
    }
}

static struct training_plan draw_plan(struct rng *r, const struct architecture *a)
{
    PLAN(p, .tensor = ONE_OF(r, 1, 1, 2, 4, 8), .pipeline = ONE_OF(r, 1, 1, 2, 4), .data = ONE_OF(r, 1, 2, 8, 32),
         .context = ONE_OF(r, 1, 1, 1, 2), .zero_stage = ONE_OF(r, 0, 1, 2, 3), .micro_batch = ONE_OF(r, 1, 2, 8),
         .micro_batches = ONE_OF(r, 1, 4, 16), .sequence = ONE_OF(r, 512, 2048, 8192),
         .recompute = (enum recompute)ONE_OF(r, RECOMPUTE_NONE, RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL),
         .flash_attention = ONE_OF(r, 0, 1, 1) != 0, .overlap_gradients = ONE_OF(r, 0, 1) != 0,
         .overlap_parameters = ONE_OF(r, 0, 1) != 0, );
    p.sequence_parallel = p.tensor > 1 && ONE_OF(r, 0, 1) != 0;
    if (a->experts > 0 && p.data * p.context * p.tensor % 2 == 0)
        p.expert = ONE_OF(r, 1, 2);
    return p;
}

static struct drawn draw(struct rng *r)
{
    static const char *const devices[] = {"A100-80GB", "H100", "B200", "V100-32GB"};
    struct drawn d = {.a = draw_architecture(r)};
    draw_parts(r, &d.a);
    d.plan = draw_plan(r, &d.a);
    d.cluster.device = device_find(NULL, devices[ONE_OF(r, 0, 1, 2, 3)]);
    d.cluster.inter_bytes_per_s = (double)ONE_OF(r, 6, 25, 50) * 1e9;
    return d;
}

/* False: refused, such as a stage without layers. */
static bool needs_of(const struct drawn *d, const struct framework *f, struct needs *out)
{
    struct architecture a = d->a;
    struct training_plan plan = d->plan;
    struct cluster cluster = d->cluster;
    struct memory_prediction m;
    struct step_prediction s;
    struct error e = ERROR_INIT;
    if (architecture_complete(&a, &e) || plan_complete(&plan, &a, &e) || cluster_complete(&cluster, &e) ||
        !memory_predict(&a, &plan, &cluster, &f->memory, &m) || !step_predict(&a, &plan, &cluster, f, &s))
        return false;
    *out = (struct needs){m.most.bytes, s.seconds};
    return true;
}

enum direction { DOWN = -1, EITHER = 0, UP = 1 };

/* Changes, and directions in which bytes and seconds must not go the opposite way; what the name of a framework begins
 * with that it does not hold for; where there is something to change, and how. */
#define CHANGES(X)                                                                                                     \
    X("a larger micro-batch", UP, UP, NULL, true, plan->micro_batch *= 2)                                              \
    X("more micro-batches", UP, UP, NULL, true, plan->micro_batches *= 2)                                              \
    X("a longer sequence", UP, UP, NULL, true, plan->sequence *= 2)                                                    \
    X("more layers", UP, UP, NULL, true, (a->layers *= 2, a->mixer_layers *= 2, a->window_layers *= 2))                \
    X("wider layers", UP, UP, NULL, true, (a->hidden *= 2, a->heads *= 2, a->kv_heads *= 2, a->expert_ffn *= 2))       \
    X("a larger vocabulary", UP, UP, NULL, true, a->vocab *= 2)                                                        \
    X("more experts", UP, UP, NULL, a->experts > 0, a->experts *= 2)                                                   \
    X("more experts per token", UP, UP, NULL, a->experts > 0, a->experts_per_token *= 2)                               \
    X("selective recompute", DOWN, UP, NULL, true,                                                                     \
      plan->recompute = plan->recompute == RECOMPUTE_NONE ? RECOMPUTE_SELECTIVE : plan->recompute)                     \
    /* autocast keeps a copy of the weights for the backward pass, or has one of a layer that is computed again */     \
    X("full recompute", DOWN, UP, "torch-ddp", true, plan->recompute = RECOMPUTE_FULL)                                 \
    X("recompute of half the layers", UP, DOWN, NULL, plan->recompute == RECOMPUTE_FULL,                               \
      (plan->recompute_layers = a->layers / plan->pipeline / 2, plan->recompute_method = RECOMPUTE_BLOCK))             \
    X("more tensor parallelism", DOWN, EITHER, NULL, true, plan->tensor *= 2)                                          \
    X("a higher ZeRO stage", DOWN, EITHER, NULL,                                                                       \
      plan->zero_stage<2 && plan->data >= 8 && plan->pipeline == 1 && plan->micro_batches> 1, plan->zero_stage++)      \
    X("more replicas", EITHER, UP, NULL, plan->zero_stage == 0 && plan->data > 1, plan->data *= 2)                     \
    X("more shards", DOWN, EITHER, NULL, plan->data > 1, plan->data *= 2)                                              \
    X("more context parallelism", DOWN, EITHER, NULL, plan->data > 1, plan->context *= 2)                              \
    /* by what is written for the device; TransformerEngine's modules launch longer */                                 \
    X("fused attention", DOWN, DOWN, "megatron", !plan->flash_attention,                                               \
      (plan->flash_attention = true, plan->attention_kernel = ATTENTION_KERNEL_LATEST))                                \
    X("a compiler", EITHER, DOWN, NULL, true, plan->compiled = true)                                                   \
    X("sequence parallelism", DOWN, EITHER, NULL, plan->tensor > 1, plan->sequence_parallel = true)                    \
    X("gradients reduced behind computing", EITHER, DOWN, NULL, true, plan->overlap_gradients = true)                  \
    X("parameters gathered behind computing", EITHER, DOWN, NULL, true, plan->overlap_parameters = true)               \
    X("tensor parallelism behind computing", EITHER, DOWN, NULL, plan->tensor > 1, plan->overlap_tensor = true)        \
    X("expert parallelism behind computing", EITHER, DOWN, NULL, plan->expert > 1, plan->overlap_expert = true)        \
    X("the optimizer on the host", DOWN, EITHER, NULL, true, plan->offload = OFFLOAD_OPTIMIZER)                        \
    X("frozen layers", DOWN, DOWN, NULL, true, plan->frozen_layers = a->layers / 2)                                    \
    X("a loss without logits", DOWN, EITHER, NULL, true, plan->loss = LOSS_LINEAR)                                     \
    X("moments in 8 bits", DOWN, EITHER, NULL, true, plan->optimizer = OPTIMIZER_ADAM_8BIT)                            \
    X("no moments", DOWN, EITHER, NULL, true, plan->optimizer = OPTIMIZER_SGD)                                         \
    X("a fused step", DOWN, EITHER, NULL, true, plan->optimizer_kernel = OPTIMIZER_KERNEL_FUSED)                       \
    X("interleaved stages", UP, DOWN, NULL, plan->pipeline > 1 && plan->micro_batches % plan->pipeline == 0,           \
      (plan->virtual_stages = 2, plan->schedule = SCHEDULE_INTERLEAVED))                                               \
    /* below there may be casts */                                                                                     \
    X("fp32", EITHER, UP, NULL, plan->zero_stage >= 2, plan->precision = PRECISION_FP32)                               \
    X("fp8", EITHER, DOWN, NULL, d->cluster.device->fp8_factor > 1, plan->precision = PRECISION_FP8)                   \
    X("a faster network", EITHER, DOWN, NULL, true, d->cluster.inter_bytes_per_s *= 2)                                 \
    X("slower messages", EITHER, UP, NULL, true, d->cluster.inter_latency_s = 50e-6)                                   \
    X("the next generation of devices", EITHER, DOWN, NULL, next_device(d->cluster.device),                            \
      d->cluster.device = next_device(d->cluster.device))                                                              \
    X("memory of fused attention", DOWN, EITHER, NULL, !plan->flash_attention,                                         \
      (plan->flash_attention = true, plan->attention_kernel = ATTENTION_KERNEL_LATEST))

#define ROW(name, bytes, seconds, unless, applies, statement) {name, bytes, seconds, unless},
#define CASE(name, bytes, seconds, unless, applies, statement)                                                         \
    if (c-- == 0)                                                                                                      \
        return (applies) && (statement, true);

static const struct {
    const char *name;
    enum direction bytes, seconds;
    const char *unless;
} changes[] = {CHANGES(ROW)};

static const struct device *next_device(const struct device *d)
{
    static const char *const by_age[] = {"V100-32GB", "A100-80GB", "H100", "B200"};
    for (size_t i = 0; i + 1 < LENGTH(by_age); i++)
        if (strcmp(d->name, by_age[i]) == 0)
            return device_find(NULL, by_age[i + 1]);
    return NULL;
}

/* False where there is nothing to change. */
static bool change(size_t c, struct drawn *d)
{
    struct architecture *a = &d->a;
    struct training_plan *plan = &d->plan;
    CHANGES(CASE)
    return false;
}

static bool goes_against(enum direction direction, double before, double after)
{
    return (double)direction * log(after / before) < -ROUNDING;
}

static void check_change(size_t c, const struct framework *f)
{
    struct rng r = rng_stream(2026, c);
    size_t tried = 0;
    for (size_t i = 0; i < PLANS; i++) {
        struct drawn d = draw(&r), other = d;
        struct needs before, after;
        if (!change(c, &other) || !needs_of(&d, f, &before) || !needs_of(&other, f, &after))
            continue;
        tried++;
        if (goes_against(changes[c].bytes, before.bytes, after.bytes) ||
            goes_against(changes[c].seconds, before.seconds, after.seconds))
            fail_msg("%s, %s, plan %zu (tp %d, pp %d, dp %d, stage %d): %.4g to %.4g GB, %.4g to %.4g s", f->name,
                     changes[c].name, i, (int)d.plan.tensor, (int)d.plan.pipeline, (int)d.plan.data,
                     (int)d.plan.zero_stage, before.bytes / 1e9, after.bytes / 1e9, before.seconds, after.seconds);
    }
    assert_true(tried > 10);
}

TEST(predict__one_thing_changed__never_the_wrong_way)
{
    const struct framework_set *set = frameworks();
    for (size_t f = 0; f < set->count; f++)
        for (size_t c = 0; c < LENGTH(changes); c++)
            if (!changes[c].unless || strncmp(changes[c].unless, set->items[f].name, strlen(changes[c].unless)) != 0)
                check_change(c, &set->items[f]);
}

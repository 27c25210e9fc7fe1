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
        memory_predict(&a, &plan, &cluster, &f->memory, &m, &e) || step_predict(&a, &plan, &cluster, f, &s, &e))
        return false;
    *out = (struct needs){m.most.bytes, s.seconds};
    return true;
}

/* --- changes: each returns false where there is nothing to change --- */

#define CHANGE(name, condition, statement)                                                                             \
    static bool name(struct drawn *d)                                                                                  \
    {                                                                                                                  \
        bool applies = condition;                                                                                      \
        if (applies)                                                                                                   \
            statement;                                                                                                 \
        return applies;                                                                                                \
    }
CHANGE(larger_micro_batch, true, d->plan.micro_batch *= 2)
CHANGE(more_micro_batches, true, d->plan.micro_batches *= 2)
CHANGE(longer_sequence, true, d->plan.sequence *= 2)
CHANGE(larger_vocabulary, true, d->a.vocab *= 2)
CHANGE(more_experts, d->a.experts > 0, d->a.experts *= 2)
CHANGE(more_experts_per_token, d->a.experts > 0, d->a.experts_per_token *= 2)
CHANGE(more_tensor, true, d->plan.tensor *= 2)
CHANGE(higher_stage, d->plan.zero_stage<2 && d->plan.data >= 8 && d->plan.pipeline == 1 && d->plan.micro_batches> 1,
       d->plan.zero_stage++)
CHANGE(more_replicas, d->plan.zero_stage == 0 && d->plan.data > 1, d->plan.data *= 2)
CHANGE(more_shards, d->plan.data > 1, d->plan.data *= 2)
CHANGE(more_context, d->plan.data > 1, d->plan.context *= 2)
CHANGE(fused_attention, !d->plan.flash_attention, /* by what is written for the device */
       (d->plan.flash_attention = true, d->plan.attention_kernel = ATTENTION_KERNEL_LATEST))
CHANGE(fused_by_compiler, true, d->plan.compiled = true)
CHANGE(split_sequence, d->plan.tensor > 1, d->plan.sequence_parallel = true)
CHANGE(hidden_gradients, true, d->plan.overlap_gradients = true)
CHANGE(hidden_parameters, true, d->plan.overlap_parameters = true)
CHANGE(hidden_tensor_traffic, d->plan.tensor > 1, d->plan.overlap_tensor = true)
CHANGE(hidden_expert_traffic, d->plan.expert > 1, d->plan.overlap_expert = true)
CHANGE(optimizer_on_host, true, d->plan.offload = OFFLOAD_OPTIMIZER)
CHANGE(frozen_half, true, d->plan.frozen_layers = d->a.layers / 2)
CHANGE(no_logits, true, d->plan.loss = LOSS_LINEAR)
CHANGE(narrow_moments, true, d->plan.optimizer = OPTIMIZER_ADAM_8BIT)
CHANGE(no_moments, true, d->plan.optimizer = OPTIMIZER_SGD)
CHANGE(fused_step, true, d->plan.optimizer_kernel = OPTIMIZER_KERNEL_FUSED)
CHANGE(in_fp32, d->plan.zero_stage >= 2, d->plan.precision = PRECISION_FP32) /* below there may be casts */
CHANGE(in_fp8, d->cluster.device->fp8_factor > 1, d->plan.precision = PRECISION_FP8)
CHANGE(faster_network, true, d->cluster.inter_bytes_per_s *= 2)
CHANGE(slower_messages, true, d->cluster.inter_latency_s = 50e-6)

static bool recompute_some(struct drawn *d)
{
    d->plan.recompute = d->plan.recompute == RECOMPUTE_NONE ? RECOMPUTE_SELECTIVE : d->plan.recompute;
    return true;
}

static bool recompute_all(struct drawn *d)
{
    d->plan.recompute = RECOMPUTE_FULL;
    return true;
}

static bool recompute_half(struct drawn *d)
{
    d->plan.recompute_layers = d->a.layers / d->plan.pipeline / 2;
    d->plan.recompute_method = RECOMPUTE_BLOCK;
    return d->plan.recompute == RECOMPUTE_FULL;
}

static bool more_layers(struct drawn *d)
{
    d->a.layers *= 2;
    d->a.mixer_layers *= 2;
    d->a.window_layers *= 2;
    return true;
}

static bool wider(struct drawn *d)
{
    d->a.hidden *= 2;
    d->a.heads *= 2;
    d->a.kv_heads *= 2;
    d->a.expert_ffn *= 2;
    return true;
}

static bool interleaved(struct drawn *d)
{
    d->plan.virtual_stages = 2;
    d->plan.schedule = SCHEDULE_INTERLEAVED;
    return d->plan.pipeline > 1 && d->plan.micro_batches % d->plan.pipeline == 0;
}

static bool next_device(struct drawn *d)
{
    static const char *const by_age[] = {"V100-32GB", "A100-80GB", "H100", "B200"};
    for (size_t i = 0; i + 1 < LENGTH(by_age); i++)
        if (strcmp(d->cluster.device->name, by_age[i]) == 0) {
            d->cluster.device = device_find(NULL, by_age[i + 1]);
            return true;
        }
    return false;
}

enum direction { DOWN = -1, EITHER = 0, UP = 1 };

/* Changes, and directions in which bytes and seconds must not go the opposite way. */
static const struct {
    const char *name;
    bool (*change)(struct drawn *d);
    enum direction bytes, seconds;
    const char *unless; /* what the name of a framework begins with that it does not hold for */
} changes[] = {
    {"a larger micro-batch", larger_micro_batch, UP, UP, NULL},
    {"more micro-batches", more_micro_batches, UP, UP, NULL},
    {"a longer sequence", longer_sequence, UP, UP, NULL},
    {"more layers", more_layers, UP, UP, NULL},
    {"wider layers", wider, UP, UP, NULL},
    {"a larger vocabulary", larger_vocabulary, UP, UP, NULL},
    {"more experts", more_experts, UP, UP, NULL},
    {"more experts per token", more_experts_per_token, UP, UP, NULL},
    {"selective recompute", recompute_some, DOWN, UP, NULL},
    /* autocast keeps a copy of the weights for the backward pass, or has one of a layer that is computed again */
    {"full recompute", recompute_all, DOWN, UP, "torch-ddp"},
    {"recompute of half the layers", recompute_half, UP, DOWN, NULL},
    {"more tensor parallelism", more_tensor, DOWN, EITHER, NULL},
    {"a higher ZeRO stage", higher_stage, DOWN, EITHER, NULL},
    {"more replicas", more_replicas, EITHER, UP, NULL},
    {"more shards", more_shards, DOWN, EITHER, NULL},
    {"more context parallelism", more_context, DOWN, EITHER, NULL},
    {"fused attention", fused_attention, DOWN, DOWN, "megatron"}, /* TransformerEngine's modules launch longer */
    {"a compiler", fused_by_compiler, EITHER, DOWN, NULL},
    {"sequence parallelism", split_sequence, DOWN, EITHER, NULL},
    {"gradients reduced behind computing", hidden_gradients, EITHER, DOWN, NULL},
    {"parameters gathered behind computing", hidden_parameters, EITHER, DOWN, NULL},
    {"tensor parallelism behind computing", hidden_tensor_traffic, EITHER, DOWN, NULL},
    {"expert parallelism behind computing", hidden_expert_traffic, EITHER, DOWN, NULL},
    {"the optimizer on the host", optimizer_on_host, DOWN, EITHER, NULL},
    {"frozen layers", frozen_half, DOWN, DOWN, NULL},
    {"a loss without logits", no_logits, DOWN, EITHER, NULL},
    {"moments in 8 bits", narrow_moments, DOWN, EITHER, NULL},
    {"no moments", no_moments, DOWN, EITHER, NULL},
    {"a fused step", fused_step, DOWN, EITHER, NULL},
    {"interleaved stages", interleaved, UP, DOWN, NULL},
    {"fp32", in_fp32, EITHER, UP, NULL},
    {"fp8", in_fp8, EITHER, DOWN, NULL},
    {"a faster network", faster_network, EITHER, DOWN, NULL},
    {"slower messages", slower_messages, EITHER, UP, NULL},
    {"the next generation of devices", next_device, EITHER, DOWN, NULL},
    {"memory of fused attention", fused_attention, DOWN, EITHER, NULL},
};

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
        if (!changes[c].change(&other) || !needs_of(&d, f, &before) || !needs_of(&other, f, &after))
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

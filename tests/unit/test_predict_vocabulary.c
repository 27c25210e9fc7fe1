/* predict: no key is accepted and then ignored. Each input, set to other values in plans of several kinds, changes a
 * prediction or is refused somewhere. */
#include "input_fixture.h"
#include "util/buffer.h"

#define WORDS_MOST 96
#define DECODER                                                                                                        \
    "layers=8 hidden=1024 heads=16 ffn=4096 vocab=32000 seq=2048 micro_batch=2 gradient_accumulation=8 nodes=4 "       \
    "devices_per_node=8 zero_stage=1 flash_attention=1 "

/* Plans in which one input or another has a meaning. */
static const struct plan {
    const char *framework, *settings;
} plans[] = {
    {"megatron", DECODER "tp=2 pp=2 vpp=2 sequence_parallel=1"},
    {"megatron", DECODER "pp=4 cp=2 family=llama recompute=full recompute_layers=1"},
    {"megatron", DECODER "family=llama experts=8 experts_per_token=2 expert_ffn=1024 shared_ffn=512 ep=8 tp=2 "
                         "recompute=selective"},
    {"megatron", DECODER "kv_lora_rank=128 qk_rope_dim=32 family=llama"},
    {"megatron", DECODER "family=t5"},
    {"megatron", DECODER "family=bert"},
    {"megatron", DECODER "hybrid_pattern=M-M-M*M* mixer_heads=32 mixer_state=64"},
    {"megatron", DECODER "mixer_layers=4 mixer=mamba mixer_heads=32 mixer_state=16"},
    {"megatron", "family=vit layers=8 hidden=1024 heads=16 image=224 patch=16 classes=10 micro_batch=8"},
    {"hf-trainer", DECODER "family=llama peft=lora lora_rank=8 lora_targets=attention quantization=nf4 "
                           "kbit_preparation=1 recompute=full autocast=0"},
    {"hf-trainer", DECODER "family=llama peft=qlora lora_rank=8 lora_targets=attention kbit_preparation=1 "
                           "wide_products=1"},
    {"hf-trainer", DECODER "zero_stage=0 seq=128 precision=fp32 recompute=full loss_kernel=fused"},
    {"hf-trainer", DECODER "peft=lora lora_rank=8 lora_targets=attention quantization=gptq"},
    {"hf-trainer", DECODER "zero_stage=3 gradient_accumulation=4"},
    {"hf-trainer", DECODER "padding_free=1 mean_tokens=512"},
    {"fsdp2", DECODER "zero_stage=3 nodes=4 tied_embeddings=0"},
    {"megatron", DECODER "precision=fp8"},
    {"megatron", DECODER "tp=2 recompute=full"},
    {"deepspeed", DECODER "zero_stage=3 steps=100"},
    {"deepspeed", DECODER "zero_stage=3 layers=64 seq=128 recompute=full offload=parameters"},
    {"deepspeed", "params=1e9 activation_memory=1e9 fwd_flops=1e12 micro_batch=2 nodes=1 devices_per_node=8"},
};

static const double numbers[] = {0, 0.25, 1, 2, 3, 4, 8, 16, 64, 1000, 5e10};

/* All that is said of a plan: a reason where nothing is predicted. */
static char *told(struct predictor *predictor, const struct input_value *values)
{
    const struct prediction *p;
    struct error e = ERROR_INIT;
    struct buffer b = BUFFER_INIT;
    if (predictor_predict(predictor, values, &p, &e) < 0)
        buffer_add_text(&b, e.text);
    else
        buffer_printf(&b, "%.12g %.12g %.12g %.12g %.12g %.12g %.12g %s %s", p->memory.most.bytes,
                      p->memory.first.bytes, p->memory.host_bytes, p->memory.parameters, p->seconds, p->flops,
                      p->usable_bytes + p->steps, p->where.cluster, p->where.device);
    return buffer_take(&b);
}

static bool changes(struct predictor *predictor, const struct plan *plan, size_t input)
{
    struct input_value values[INPUT_COUNT];
    const char *words[WORDS_MOST];
    size_t count = input_words(input, words, WORDS_MOST);
    static const char *const texts[] = {"H100", "V100-16GB", "fsdp2", "here", "Et*4|t*4L", "M-M-M-M*"};
    bool changed = false;
    memset(values, 0, sizeof values);
    input_values_set(values, plan->settings);
    OWNED char *before = told(predictor, values);
    for (size_t k = 0; !changed && k < count + LENGTH(texts) + LENGTH(numbers); k++) {
        const char *text = k < count ? words[k] : k < count + LENGTH(texts) ? texts[k - count] : NULL;
        double number = text ? 0 : numbers[k - count - LENGTH(texts)];
        values[input] = (struct input_value){text ? INPUT_TEXT : INPUT_NUMBER, number, text};
        OWNED char *after = told(predictor, values);
        changed = strcmp(before, after) != 0 && !strstr(after, INPUT_NOT_KNOWN);
    }
    return changed;
}

TEST(inputs__another_value_in_some_plan__another_prediction)
{
    size_t ignored = 0;
    for (size_t i = round_first(); i < INPUT_COUNT; i += round_step()) {
        bool changed = false;
        for (size_t k = 0; !changed && k < LENGTH(plans); k++) {
            const struct predictor_options options = {.framework = plans[k].framework, .device = "H100"};
            HELD_AT(predictor) *predictor = NULL;
            FAIL_IF(predictor_create(&options, &predictor, &e));
            changed = changes(predictor, &plans[k], i);
        }
        if (!changed)
            print_message("%s changes nothing\n", inputs[i].name);
        ignored += !changed;
    }
    assert_int_equal(ignored, 0);
}

/* predict: no key is accepted and then ignored. Each input, set to other values in plans of several kinds, changes a
 * prediction or is refused somewhere. */
#include "predict/inputs.h"
#include "predict/predictor.h"
#include "unit_test.h"
#include "util/buffer.h"

#define WORDS_MOST 96

struct vocabulary_case {
    const char *input, *text; /* NULL: the number */
    double number;
};

#define DECODER                                                                                                        \
    {"layers", NULL, 8}, {"hidden", NULL, 1024}, {"heads", NULL, 16}, {"ffn", NULL, 4096}, {"vocab", NULL, 32000},     \
        {"seq", NULL, 2048}, {"micro_batch", NULL, 2}, {"gradient_accumulation", NULL, 8}, {"nodes", NULL, 4},         \
        {"devices_per_node", NULL, 8}, {"zero_stage", NULL, 1},                                                        \
    {                                                                                                                  \
        "flash_attention", NULL, 1                                                                                     \
    }

/* Plans in which one input or another has a meaning. */
static const struct plan {
    const char *framework;
    struct vocabulary_case settings[32];
} plans[] = {
    {"megatron", {DECODER, {"tp", NULL, 2}, {"pp", NULL, 2}, {"vpp", NULL, 2}, {"sequence_parallel", NULL, 1}}},
    {"megatron",
     {DECODER,
      {"pp", NULL, 4},
      {"cp", NULL, 2},
      {"family", "llama", 0},
      {"recompute", "full", 0},
      {"recompute_layers", NULL, 1}}},
    {"megatron",
     {DECODER,
      {"family", "llama", 0},
      {"experts", NULL, 8},
      {"experts_per_token", NULL, 2},
      {"expert_ffn", NULL, 1024},
      {"shared_ffn", NULL, 512},
      {"ep", NULL, 8},
      {"tp", NULL, 2},
      {"recompute", "selective", 0}}},
    {"megatron", {DECODER, {"kv_lora_rank", NULL, 128}, {"qk_rope_dim", NULL, 32}, {"family", "llama", 0}}},
    {"megatron", {DECODER, {"family", "t5", 0}}},
    {"megatron", {DECODER, {"family", "bert", 0}}},
    {"megatron", {DECODER, {"hybrid_pattern", "M-M-M*M*", 0}, {"mixer_heads", NULL, 32}, {"mixer_state", NULL, 64}}},
    {"megatron",
     {DECODER, {"mixer_layers", NULL, 4}, {"mixer", "mamba", 0}, {"mixer_heads", NULL, 32}, {"mixer_state", NULL, 16}}},
    {"megatron",
     {{"family", "vit", 0},
      {"layers", NULL, 8},
      {"hidden", NULL, 1024},
      {"heads", NULL, 16},
      {"image", NULL, 224},
      {"patch", NULL, 16},
      {"classes", NULL, 10},
      {"micro_batch", NULL, 8}}},
    {"hf-trainer",
     {DECODER,
      {"family", "llama", 0},
      {"peft", "lora", 0},
      {"lora_rank", NULL, 8},
      {"lora_targets", "attention", 0},
      {"quantization", "nf4", 0},
      {"kbit_preparation", NULL, 1},
      {"recompute", "full", 0}}},
    {"hf-trainer",
     {DECODER,
      {"zero_stage", NULL, 0},
      {"seq", NULL, 128},
      {"precision", "fp32", 0},
      {"recompute", "full", 0},
      {"loss_kernel", "fused", 0}}},
    {"hf-trainer",
     {DECODER,
      {"peft", "lora", 0},
      {"lora_rank", NULL, 8},
      {"lora_targets", "attention", 0},
      {"quantization", "gptq", 0}}},
    {"hf-trainer", {DECODER, {"zero_stage", NULL, 3}, {"gradient_accumulation", NULL, 4}}},
    {"hf-trainer", {DECODER, {"padding_free", NULL, 1}, {"mean_tokens", NULL, 512}}},
    {"fsdp2", {DECODER, {"zero_stage", NULL, 3}, {"nodes", NULL, 4}, {"tied_embeddings", NULL, 0}}},
    {"megatron", {DECODER, {"precision", "fp8", 0}}},
    {"megatron", {DECODER, {"tp", NULL, 2}, {"recompute", "full", 0}}},
    {"deepspeed", {DECODER, {"zero_stage", NULL, 3}, {"steps", NULL, 100}}},
    {"deepspeed",
     {DECODER,
      {"zero_stage", NULL, 3},
      {"layers", NULL, 64},
      {"seq", NULL, 128},
      {"recompute", "full", 0},
      {"offload", "parameters", 0}}},
    {"deepspeed",
     {{"params", NULL, 1e9},
      {"activation_memory", NULL, 1e9},
      {"fwd_flops", NULL, 1e12},
      {"micro_batch", NULL, 2},
      {"nodes", NULL, 1},
      {"devices_per_node", NULL, 8}}},
};

static const double numbers[] = {0, 0.25, 1, 2, 3, 4, 8, 16, 64, 1000, 5e10};

static void fill(const struct plan *p, struct input_value *values)
{
    memset(values, 0, INPUT_COUNT * sizeof *values);
    for (const struct vocabulary_case *s = p->settings; s->input; s++) {
        size_t i = input_find(s->input);
        FAIL_WHERE(i == INPUT_COUNT, "no input %s", s->input);
        values[i] = (struct input_value){s->text ? INPUT_TEXT : INPUT_NUMBER, s->number, s->text};
    }
}

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
    fill(plan, values);
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
    for (size_t i = 0; i < INPUT_COUNT; i++) {
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

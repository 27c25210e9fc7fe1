#include "predict/inputs.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "util/memory.h"

#define WHOLE_MOST 9e15

void inputs_add_missing(const bool *present, struct buffer *out)
{
    static const size_t needed[] = {AT_LAYERS, AT_HIDDEN, AT_HEADS, AT_VOCAB, AT_SEQ};
    static const size_t image[] = {AT_LAYERS, AT_HIDDEN, AT_HEADS, AT_IMAGE, AT_PATCH};
    const size_t *list = present[AT_IMAGE] ? image : needed;
    size_t before = out->length;
    bool is_measured = present[AT_PARAMS] && present[AT_ACTIVATION_MEMORY];
    for (size_t i = 0; !is_measured && i < LENGTH(needed); i++)
        if (!present[list[i]])
            buffer_printf(out, "%s%s", out->length > before ? ", " : "", inputs[list[i]].name);
    if (!present[AT_MICRO_BATCH] && !present[AT_GLOBAL_BATCH])
        buffer_printf(out, "%smicro_batch", out->length > before ? ", " : "");
}

static int refuse(size_t i, const struct input_value *v, struct error *e)
{
    if (v->kind == INPUT_TEXT)
        return error_set(e, ERROR_USAGE, INPUT_NOT_KNOWN "%s = '%s'", inputs[i].name, v->text);
    return error_set(e, ERROR_USAGE, INPUT_NOT_KNOWN "%s = %g", inputs[i].name, v->number);
}

static bool is_whole(const struct input_value *v)
{
    return v->kind == INPUT_NUMBER && v->number == floor(v->number) && fabs(v->number) < WHOLE_MOST;
}

/* For recompute, true and "true" mean the strongest word; for other inputs, the plain one. */
static int enumerator_of(size_t i, const struct input_value *v)
{
    if (v->kind == INPUT_TEXT)
        return input_word_value(inputs[i].place.words, v->text);
    if (v->number == 0)
        return 0;
    return v->number == 1 ? (i == AT_RECOMPUTE ? (int)RECOMPUTE_FULL : 1) : -1;
}

static int set_input(size_t i, const struct input_value *v, struct subject *s, struct error *e)
{
    const struct input_place *p = &inputs[i].place;
    char *bases[] =
        {[TO_ARCHITECTURE] = (char *)&s->architecture, [TO_PLAN] = (char *)&s->plan, [TO_SUBJECT] = (char *)s};
    if (p->member == MEMBER_OWN)
        return 0;
    char *at = bases[p->target] + p->offset;
    int enumerator = p->member == MEMBER_WORD ? enumerator_of(i, v) : 0;
    bool wrong = (p->member == MEMBER_WHOLE && !is_whole(v)) || enumerator < 0 ||
                 (p->member == MEMBER_TEXT) != (v->kind == INPUT_TEXT && p->member != MEMBER_WORD) ||
                 (p->member == MEMBER_REAL && !(v->number > 0 && isfinite(v->number)));
    if (wrong)
        return refuse(i, v, e);
    int64_t whole = p->member == MEMBER_WHOLE ? (int64_t)v->number : 0;
    bool flag = v->number != 0;
    const struct {
        const void *from;
        size_t size;
    } values[] = {[MEMBER_WHOLE] = {&whole, sizeof whole},
                  [MEMBER_FLAG] = {&flag, sizeof flag},
                  [MEMBER_WORD] = {&enumerator, sizeof enumerator},
                  [MEMBER_REAL] = {&v->number, sizeof v->number},
                  [MEMBER_TEXT] = {&v->text, sizeof v->text}};
    memcpy(at, values[p->member].from, values[p->member].size);
    return 0;
}

static enum architecture_family family_of(const struct input_value *values)
{
    const struct input_value *v = &values[AT_FAMILY];
    int family = v->kind == INPUT_TEXT ? input_family(v->text) : 0;
    if (family)
        return family < 0 ? ARCHITECTURE_NONE : (enum architecture_family)family;
    if (values[AT_IMAGE].kind)
        return ARCHITECTURE_VIT;
    bool llama = values[AT_KV_HEADS].kind || (values[AT_GATED_MLP].kind && values[AT_GATED_MLP].number != 0) ||
                 (values[AT_RMS_NORM].kind && values[AT_RMS_NORM].number != 0);
    return llama ? ARCHITECTURE_LLAMA : ARCHITECTURE_GPT;
}

/* "hybrid" says that there are mixers, but not in which layers. */
static int check_hybrid(const struct input_value *values, const struct subject *s, struct error *e)
{
    const struct input_value *v = &values[AT_FAMILY];
    bool says = v->kind == INPUT_TEXT && strcasecmp(v->text, "hybrid") == 0;
    if (says && !architecture_is_hybrid(&s->architecture))
        return error_set(e, ERROR_USAGE, "family = 'hybrid' needs hybrid_pattern or mixer_layers");
    return 0;
}

static bool is_on(const struct input_value *v)
{
    if (v->kind == INPUT_TEXT)
        return strcasecmp(v->text, "none") != 0 && strcasecmp(v->text, "false") != 0;
    return v->kind == INPUT_NUMBER && v->number != 0;
}

/* Reads "core_attn mlp" as bits. */
static int set_names(const struct input_value *values, size_t input, unsigned *out, struct error *e)
{
    const struct input_value *v = &values[input];
    const char *at = v->kind == INPUT_TEXT ? v->text : "";
    char name[INPUT_NAME_MOST];
    while (input_next_name(&at, name)) {
        int bits = input_word_value(inputs[input].place.words, name);
        if (bits < 0)
            return refuse(input, v, e);
        *out |= (unsigned)bits;
    }
    return 0;
}

/* Returns whether peft's preparation leaves it as it is (peft utils/other.py, prepare_model_for_kbit_training). */
static bool is_left_alone(enum quantization quantization)
{
    return quantization == QUANTIZATION_GPTQ || quantization >= QUANTIZATION_AQLM;
}

/* QLoRA is LoRA over nf4 weights, unless another quantization is given. IA3 has vectors and no rank. */
static int set_adapters(const struct input_value *values, struct subject *s, struct error *e)
{
    const struct input_value *peft = &values[AT_PEFT];
    if (peft->kind == INPUT_TEXT && strcasecmp(peft->text, "qlora") == 0 && !values[AT_QUANTIZATION].kind)
        s->plan.quantization = QUANTIZATION_NF4;
    s->plan.kbit_preparation &= !is_left_alone(s->plan.quantization);
    /* bitsandbytes nn/modules.py, Linear4bit.set_compute_type; since 0.47 it leaves a type that was given. */
    bool in_4_bits = s->plan.quantization == QUANTIZATION_NF4 || s->plan.quantization == QUANTIZATION_NF4_DOUBLE;
    s->plan.wide_products &=
        in_4_bits && s->plan.kbit_preparation && values[AT_AUTOCAST].kind && !is_on(&values[AT_AUTOCAST]);
    if (s->plan.tuning == TUNING_IA3 && s->plan.lora_rank == 0)
        s->plan.lora_rank = 1;
    if (set_names(values, AT_LORA_TARGETS, &s->plan.lora_targets, e) < 0)
        return -1;
    return set_names(values, AT_MODULES_TO_SAVE, &s->plan.saved_modules, e);
}

/* Inputs that different names express in different ways. */
static int set_own(const struct input_value *values, struct subject *s, struct error *e)
{
    const struct input_value *flash = &values[AT_FLASH_ATTENTION];
    int attention = flash->kind == INPUT_TEXT ? enumerator_of(AT_FLASH_ATTENTION, flash) : ATTENTION_KERNEL_FRAMEWORK;
    if (attention < 0)
        return refuse(AT_FLASH_ATTENTION, flash, e);
    bool stores = attention == ATTENTION_KERNEL_NONE || attention == ATTENTION_KERNEL_EAGER;
    s->plan.flash_attention = flash->kind == INPUT_NUMBER ? flash->number != 0 : !stores;
    s->plan.attention_kernel = (enum attention_kernel)attention;
    if (set_names(values, AT_RECOMPUTE_MODULES, &s->plan.modules, e) < 0 || set_adapters(values, s, e) < 0)
        return -1;
    if (is_on(&values[AT_OFFLOAD_OPTIMIZER]))
        s->plan.offload = OFFLOAD_OPTIMIZER;
    if (is_on(&values[AT_OFFLOAD_PARAMETERS]))
        s->plan.offload = OFFLOAD_PARAMETERS;
    bool says_half = values[AT_BF16].kind || values[AT_FP16].kind;
    bool is_half = is_on(&values[AT_BF16]) || is_on(&values[AT_FP16]);
    /* Without autocast, products have the type of the weights. */
    bool as_weights = s->plan.weights == WEIGHTS_FP32 || (says_half && s->plan.weights == WEIGHTS_FRAMEWORK);
    s->plan.autocasts = values[AT_AUTOCAST].kind ? is_on(&values[AT_AUTOCAST]) : is_half;
    if (!values[AT_PRECISION].kind && !is_half && as_weights)
        s->plan.precision = PRECISION_FP32;
    if (is_on(&values[AT_FP32]))
        s->plan.precision = PRECISION_FP32;
    if (s->plan.precision == PRECISION_FP32 && is_on(&values[AT_TF32]))
        s->plan.precision = PRECISION_TF32;
    if (is_on(&values[AT_FP8]))
        s->plan.precision = PRECISION_FP8;
    const struct input_value *precision = &values[AT_PRECISION];
    s->plan.is_bfloat = is_on(&values[AT_BF16]) || (precision->kind == INPUT_TEXT && strcasestr(precision->text, "bf"));
    s->plan.keeps_gathered = values[AT_RECOMPUTE_ALLGATHER].kind && !is_on(&values[AT_RECOMPUTE_ALLGATHER]);
    s->plan.syncs_last_batch = values[AT_SYNC_EACH_BATCH].kind && !s->plan.syncs_each_batch;
    const struct input_value *prefetch = &values[AT_BACKWARD_PREFETCH];
    s->plan.gathers_in_turn =
        prefetch->kind &&
        (!is_on(prefetch) || (prefetch->kind == INPUT_TEXT && strcasecmp(prefetch->text, "no_prefetch") == 0));
    bool is_mean = s->plan.padding_free && s->plan.mean_tokens >= s->plan.sequence;
    if (values[AT_PACKING].kind || s->plan.padding_free)
        s->plan.lengths = is_mean || is_on(&values[AT_PACKING]) ? LENGTHS_EQUAL : LENGTHS_VARY;
    if (is_on(&values[AT_CHUNKED_LOSS]))
        s->plan.loss = LOSS_LINEAR;
    if (is_on(&values[AT_USE_DISTRIBUTED_OPTIMIZER]) && s->plan.zero_stage == 0)
        s->plan.zero_stage = 1;
    if (s->plan.pipeline <= 1 && s->plan.virtual_stages <= 1)
        s->plan.schedule = SCHEDULE_1F1B; /* files name a schedule in case stages are added */
    if (s->plan.virtual_stages > 1 && s->plan.schedule == SCHEDULE_1F1B)
        s->plan.schedule = SCHEDULE_INTERLEAVED;
    return 0;
}

static double at_least_one(int64_t n)
{
    return n > 0 ? (double)n : 1;
}

/* `all` and `by` are the names in messages. */
static int divide(double dividend, const char *all, double divisor, const char *by, int64_t *out, struct error *e)
{
    if (!(dividend >= divisor && fmod(dividend, divisor) == 0 && dividend / divisor < WHOLE_MOST))
        return error_set(e, ERROR_USAGE, "%s = %g is not a multiple of %s = %g", all, dividend, by, divisor);
    *out = (int64_t)(dividend / divisor);
    return 0;
}

static int set_batch(const struct input_value *values, struct subject *s, struct error *e)
{
    struct training_plan *p = &s->plan;
    double model = at_least_one(p->tensor) * at_least_one(p->pipeline) * at_least_one(p->context);
    if (!values[AT_DP].kind &&
        divide(s->nodes * s->devices_per_node, "dp: nodes x devices_per_node", model, "tp x pp x cp", &p->data, e) < 0)
        return -1;
    const struct input_value *global = &values[AT_GLOBAL_BATCH];
    if (!global->kind)
        return 0;
    if (!is_whole(global))
        return refuse(AT_GLOBAL_BATCH, global, e);
    double data = at_least_one(p->data);
    if (!p->micro_batches && p->micro_batch)
        return divide(global->number, "global_batch", (double)p->micro_batch * data, "micro_batch x dp",
                      &p->micro_batches, e);
    if (!p->micro_batch)
        return divide(global->number, "global_batch", data * at_least_one(p->micro_batches),
                      "dp x gradient_accumulation", &p->micro_batch, e);
    return 0;
}

static bool has_architecture(const bool *present)
{
    bool is_image = present[AT_IMAGE] && present[AT_PATCH];
    return present[AT_LAYERS] && present[AT_HIDDEN] && present[AT_HEADS] &&
           (is_image || (present[AT_VOCAB] && present[AT_SEQ]));
}

/* The smallest architecture that can be split into the plan's stages. */
static void stand_in(struct subject *s)
{
    int64_t stages = s->plan.pipeline > 1 ? s->plan.pipeline : 1;
    s->architecture = architecture_of(ARCHITECTURE_GPT);
    s->architecture.layers = stages * (s->plan.virtual_stages > 1 ? s->plan.virtual_stages : 1);
    s->architecture.hidden = s->architecture.heads = s->architecture.vocab = 1;
    s->plan.sequence = 1;
}

static bool is_kind(size_t i, const struct input_value *v)
{
    return i == AT_DEVICE && v->kind == INPUT_TEXT && device_is_kind(v->text);
}

int inputs_decode(const struct input_value *values, struct subject *out, struct error *e)
{
    struct subject s;
    struct buffer missing = BUFFER_INIT;
    memset(&s, 0, sizeof s);
    s.nodes = s.devices_per_node = 1;
    for (size_t i = 0; i < INPUT_COUNT; i++)
        s.says[i] = values[i].kind != INPUT_ABSENT;
    inputs_add_missing(s.says, &missing);
    int rc = missing.length ? error_set(e, ERROR_USAGE, "missing: %s", buffer_text(&missing)) : 0;
    buffer_free(&missing);
    if (rc < 0)
        return -1;
    s.architecture = architecture_of(family_of(values));
    if (s.architecture.family == ARCHITECTURE_NONE)
        return refuse(AT_FAMILY, &values[AT_FAMILY], e);
    s.is_measured = !has_architecture(s.says);
    for (size_t i = 0; i < (s.is_measured ? INPUT_COUNT : AT_PARAMS); i++)
        if (s.says[i] && !is_kind(i, &values[i]) && set_input(i, &values[i], &s, e) < 0)
            return -1;
    if (s.server_share >= 1)
        return error_set(e, ERROR_USAGE, "server_memory = %g leaves nothing: it is a share of the device's memory",
                         s.server_share);
    if (s.is_measured)
        stand_in(&s);
    if (check_hybrid(values, &s, e) < 0 || set_own(values, &s, e) < 0 || set_batch(values, &s, e) < 0 ||
        architecture_complete(&s.architecture, e) < 0 || plan_complete(&s.plan, &s.architecture, e) < 0)
        return -1;
    *out = s;
    return 0;
}

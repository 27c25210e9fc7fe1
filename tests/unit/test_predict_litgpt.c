/* Predicted memory of fine-tuning with LitGPT, of which no row was used, against its published table. */
#include "published_tables.h"
#include "unit_test.h"
#include "util/quantile.h"

/* Fine-tuning of Llamas with LitGPT on one device: what its table leaves out is in config_hub/finetune/NAME/lora.yaml
 * and the models' files. Its head is a matrix of its own. */
static const char given[] = "family:llama peft=method lora_rank:32 lora_dropout:0.05 seq=max_seq_len micro_batch=mbs "
                            "lora_targets:q_proj+v_proj lora_targets:all-linear+lm_head@model=tiny-llama "
                            "layers:32;hidden:4096;heads:32;kv_heads:32;ffn:11008;vocab:32000@model=llama-2-7b "
                            "layers:32;hidden:4096;heads:32;kv_heads:8;ffn:14336;vocab:128256@model=llama-3-8b "
                            "layers:32;hidden:4096;heads:32;kv_heads:8;ffn:14336;vocab:128256@model=llama-3.1-8b "
                            "layers:16;hidden:2048;heads:32;kv_heads:8;ffn:8192;vocab:128256@model=llama-3.2-1b "
                            "layers:28;hidden:3072;heads:24;kv_heads:8;ffn:8192;vocab:128256@model=llama-3.2-3b "
                            "layers:32;hidden:4096;heads:32;kv_heads:8;ffn:14336;vocab:32000@model=mistral-7b "
                            "layers:32;hidden:4096;heads:32;kv_heads:8;ffn:14336;vocab:32000@model=mistral-7b-v0.2 "
                            "layers:22;hidden:2048;heads:32;kv_heads:4;ffn:5632;vocab:32000@model=tiny-llama ";
static const struct table litgpt = {.given = given, .ran = "status", .ran_value = "ok"};

/* Adapters in bf16; the loss in pieces, in bf16: litgpt/utils.py, chunked_cross_entropy. pyproject.toml had
 * bitsandbytes 0.42, which keeps what 4-bit products read, from March to December 2024. */
static struct predictor *litgpt_predictor(void)
{
    struct predictor *p = NULL;
    const struct predictor_options options = {.framework = "hf-trainer",
                                              .evidence_without = "litgpt-finetune.csv",
                                              .counter = COUNTS_ALLOCATED};
    FAIL_IF(predictor_create(&options, &p, &e) < 0);
    FAIL_IF(predictor_set(p, "adapter", false, 2, &e));
    FAIL_IF(predictor_set(p, "logit_bytes", false, 6, &e));
    FAIL_IF(predictor_set(p, "quantised_inputs", false, 2, &e));
    return p;
}

struct mean_error {
    size_t rows, inside; /* of the 90 % interval */
    double sum;
};

static void tell(const char *name, const struct mean_error *m)
{
    print_message("%s: %zu rows, error of memory %.1f %%, %zu inside\n", name, m->rows, 100 * m->sum / (double)m->rows,
                  m->inside);
}

/* As a row of src/predict/evidence.toml. */
static void tell_evidence(const char *feature, double *residuals, size_t count)
{
    sort_doubles(residuals, count);
    print_message("compared { table = \"litgpt-finetune.csv\", framework = \"hf-trainer\", quantity = \"memory\", "
                  "feature = \"%s\", runs = %zu, within = %.3f },\n",
                  feature, count, quantile(residuals, count, 0.9));
}

TEST(predictions__litgpt__figures)
{
    HELD(shared_table) t;
    struct mean_error lora = {.rows = 0}, qlora = {.rows = 0};
    double residuals[64], quantised[64];
    size_t count = 0;
    NEEDS(shared_table_load("litgpt-finetune.csv", &t));
    HELD_AT(predictor) *p = litgpt_predictor();
    for (size_t row = 0; row < t.row_count; row++) {
        struct input_value values[INPUT_COUNT];
        const struct prediction *found;
        published_values(&t, row, &litgpt, values);
        if (published_left_out(&t, row, &litgpt) || values[input_find("layers")].kind == INPUT_ABSENT ||
            strcmp(shared_text(&t, row, "method"), "full") == 0)
            continue;
        FAIL_IF(predictor_predict(p, values, &found, &e) < 0);
        struct mean_error *of = strcmp(shared_text(&t, row, "method"), "lora") == 0 ? &lora : &qlora;
        const struct memory_prediction *memory = &found->memory;
        double bytes = memory->most.allocated_bytes, measured = shared_number(&t, row, "peak_mem_gb") * 1e9;
        double low = memory->low_bytes / memory->most.bytes, high = memory->high_bytes / memory->most.bytes;
        if (getenv("MESHSWEEP_EACH_ROW"))
            print_message("row %zu: %.2f of %.2f GB\n", row + 2, bytes / 1e9, measured / 1e9);
        assert_true(count < LENGTH(residuals));
        residuals[count++] = fabs(log(measured / bytes));
        if (of == &qlora)
            quantised[qlora.rows] = residuals[count - 1];
        of->inside += measured >= low * bytes && measured <= high * bytes;
        of->sum += fabs(bytes / measured - 1);
        of->rows++;
    }
    tell("LoRA", &lora);
    tell("QLoRA in nf4", &qlora);
    tell_evidence("adapters", residuals, count);
    tell_evidence("quantization", quantised, qlora.rows);
    tell_evidence("kept", residuals, count);
    assert_true(lora.rows > 0 && lora.sum <= 0.08 * (double)lora.rows);
}

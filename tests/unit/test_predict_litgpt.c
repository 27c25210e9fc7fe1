/* Predicted memory of fine-tuning with LitGPT, of which no row was used, against its published table. */
#include "predict/predictor.h"
#include "shared_data.h"
#include "unit_test.h"
#include "util/quantile.h"

/* Fine-tuning of Llamas with LitGPT on one device: what its table leaves out is in config_hub/finetune/NAME/lora.yaml
 * and the models' files. Its head is a matrix of its own. */
struct litgpt_model {
    const char *name, *targets;
    double layers, hidden, heads, kv_heads, ffn, vocab;
};

static const struct litgpt_model litgpt_models[] = {
    {"llama-2-7b", "q_proj v_proj", 32, 4096, 32, 32, 11008, 32000},
    {"llama-3-8b", "q_proj v_proj", 32, 4096, 32, 8, 14336, 128256},
    {"llama-3.1-8b", "q_proj v_proj", 32, 4096, 32, 8, 14336, 128256},
    {"llama-3.2-1b", "q_proj v_proj", 16, 2048, 32, 8, 8192, 128256},
    {"llama-3.2-3b", "q_proj v_proj", 28, 3072, 24, 8, 8192, 128256},
    {"mistral-7b", "q_proj v_proj", 32, 4096, 32, 8, 14336, 32000},
    {"mistral-7b-v0.2", "q_proj v_proj", 32, 4096, 32, 8, 14336, 32000},
    {"tiny-llama", "all-linear lm_head", 22, 2048, 32, 4, 5632, 32000},
};

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

static void litgpt_values(const struct litgpt_model *m, const struct shared_table *t, size_t row,
                          struct input_value *values)
{
    const struct {
        const char *input;
        double number;
    } numbers[] = {{"layers", m->layers},
                   {"hidden", m->hidden},
                   {"heads", m->heads},
                   {"kv_heads", m->kv_heads},
                   {"ffn", m->ffn},
                   {"vocab", m->vocab},
                   {"lora_rank", 32},
                   {"lora_dropout", 0.05},
                   {"seq", shared_number(t, row, "max_seq_len")},
                   {"micro_batch", shared_number(t, row, "mbs")}};
    memset(values, 0, INPUT_COUNT * sizeof *values);
    for (size_t i = 0; i < LENGTH(numbers); i++)
        values[input_find(numbers[i].input)] = (struct input_value){INPUT_NUMBER, numbers[i].number, NULL};
    values[input_find("family")] = (struct input_value){INPUT_TEXT, 0, "llama"};
    values[input_find("peft")] = (struct input_value){INPUT_TEXT, 0, shared_text(t, row, "method")};
    values[input_find("lora_targets")] = (struct input_value){INPUT_TEXT, 0, m->targets};
}

static const struct litgpt_model *litgpt_model_of(const struct shared_table *t, size_t row)
{
    const char *method = shared_text(t, row, "method");
    for (size_t i = 0; i < LENGTH(litgpt_models); i++)
        if (strcmp(litgpt_models[i].name, shared_text(t, row, "model")) == 0 && strcmp(method, "full") != 0 &&
            strcmp(shared_text(t, row, "status"), "ok") == 0)
            return &litgpt_models[i];
    return NULL;
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

/* As a row of src/predict/evidence_rows.c. */
static void tell_evidence(const char *feature, double *residuals, size_t count)
{
    sort_doubles(residuals, count);
    print_message("    {\"litgpt-finetune.csv\", \"hf-trainer\", QUANTITY_OF_MEMORY, FEATURE_%s, %zu, %.3f},\n",
                  feature, count, quantile(residuals, count, 0.9));
}

TEST(predictions__litgpt__figures)
{
    HELD(shared_table) t;
    struct mean_error lora = {.rows = 0}, qlora = {.rows = 0};
    double residuals[64], quantised[64];
    size_t count = 0;
    if (!shared_table_load("litgpt-finetune.csv", &t))
        skip();
    HELD_AT(predictor) *p = litgpt_predictor();
    for (size_t row = 0; row < t.row_count; row++) {
        const struct litgpt_model *m = litgpt_model_of(&t, row);
        struct input_value values[INPUT_COUNT];
        const struct prediction *found;
        struct error e = ERROR_INIT;
        if (!m)
            continue;
        litgpt_values(m, &t, row, values);
        if (predictor_predict(p, values, &found, &e) < 0)
            fail_msg("%s", e.text);
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
    tell_evidence("ADAPTERS", residuals, count);
    tell_evidence("QUANTIZATION", quantised, qlora.rows);
    tell_evidence("KEPT", residuals, count);
    assert_true(lora.rows > 0 && lora.sum <= 0.08 * (double)lora.rows);
}

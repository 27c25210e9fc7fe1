#include "ultrascale.h"

#include "unit_test.h"

static int64_t whole(const struct shared_table *t, size_t row, const char *column)
{
    return (int64_t)shared_number(t, row, column);
}

void ultrascale_read(const struct shared_table *t, size_t row, struct ultrascale_run *out)
{
    struct error e = ERROR_INIT;
    const char *label = shared_text(t, row, "oom_label");
    *out = (struct ultrascale_run){
        .architecture = architecture_of(ARCHITECTURE_LLAMA),
        .plan = {.tensor = whole(t, row, "tp"),
                 .pipeline = whole(t, row, "pp"),
                 .data = whole(t, row, "dp"),
                 .zero_stage = whole(t, row, "zero"),
                 .micro_batch = whole(t, row, "mbs"),
                 .micro_batches = whole(t, row, "grad_acc"),
                 .sequence = whole(t, row, "seq_len"),
                 .split = SPLIT_BY_COST,
                 .sequence_parallel = true,
                 .flash_attention = true},
        .fits = strcmp(label, "fits") == 0,
        .out_of_memory = strcmp(label, "likely_oom") == 0,
        .memory_bytes = shared_number(t, row, "gpu_mem_gb") * 1073741824.0,
        .tokens_per_s = shared_number(t, row, "tok_s"),
    };
    struct architecture *a = &out->architecture;
    a->layers = whole(t, row, "n_layers");
    a->hidden = whole(t, row, "hidden");
    a->heads = whole(t, row, "n_heads");
    a->kv_heads = whole(t, row, "n_kv_heads");
    a->ffn = whole(t, row, "ffn");
    a->vocab = whole(t, row, "vocab");
    a->tied_embeddings = shared_number(t, row, "tied_emb") != 0;
    if (architecture_complete(a, &e))
        fail_msg("row %zu: %s", row, e.text);
    /* A few failed with more stages than layers: no plan, so neither label counts. */
    if (plan_complete(&out->plan, a, &e))
        out->fits = out->out_of_memory = false;
}

struct memory_prediction ultrascale_predict(const struct ultrascale_run *run, const struct memory_coefficients *c)
{
    struct cluster cluster = {.device = device_find(NULL, "H100")};
    struct memory_prediction m = {0};
    FAIL_IF(cluster_complete(&cluster, &e) || memory_predict(&run->architecture, &run->plan, &cluster, c, &m, &e));
    return m;
}

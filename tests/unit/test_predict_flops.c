/* predict: FLOPs per step and MFU, against formulas and utilisations that were published. */
#include "predict/flops.h"
#include "predict_fixture.h"
#include "published_tables.h"

static struct architecture sized(double layers, double hidden, double heads, double vocab)
{
    return shaped(ARCHITECTURE_GPT, (int64_t)layers, (int64_t)hidden, (int64_t)heads, (int64_t)vocab);
}

static struct token_flops token_of(struct architecture a, struct training_plan plan, enum attention_convention counted)
{
    struct token_flops f;
    completed(&a, &plan);
    flops_per_token(&a, &plan, counted, &f);
    return f;
}

static double step_of(struct architecture a, struct training_plan plan)
{
    completed(&a, &plan);
    return flops_per_step(&a, &plan);
}

static double again_of(struct architecture a, struct training_plan plan, enum attention_convention counted)
{
    struct token_flops f;
    completed(&a, &plan);
    flops_recomputed(&a, &plan, counted, &f);
    return plan_global_batch(&plan) * (double)plan.sequence * (f.matrices + f.attention + f.scan);
}

/* arXiv 2104.04473: 96·B·s·L·h²·(1 + s/(6h) + V/(16·L·h)) with full recompute, 72 and 12 in place of 96 and
 * 16 without. */
TEST(flops_per_step__gpt__megatron_closed_form)
{
    const double B = 3072, s = 2048, L = 128, h = 25600, V = 51200;
    const struct architecture a = sized(L, h, 160, V);
    PLAN(plan, .data = 6, .micro_batches = 512, .sequence = (int64_t)s);
    const double model = step_of(a, plan);
    assert_close(model, 72 * B * s * L * h * h * (1 + s / (6 * h) + V / (12 * L * h)), 1e-12);
    assert_true(again_of(a, plan, ATTENTION_FULL) == 0);
    assert_close(model + again_of(a, BUT(plan, it.recompute = RECOMPUTE_FULL), ATTENTION_FULL),
                 96 * B * s * L * h * h * (1 + s / (6 * h) + V / (16 * L * h)), 1e-12);
    assert_close(again_of(a, BUT(plan, it.recompute = RECOMPUTE_SELECTIVE), ATTENTION_FULL), B * s * L * 4 * s * h,
                 1e-12);
}

/* arXiv 2205.05198, table 5: seconds per iteration on A100 with selective recompute, and the utilisations.
 * The paper charges a whole second attention, forward and backward, to the hardware; its forward pass alone
 * is less. */
TEST_ROWS(flops_per_step__selective_activation_paper__its_mfu,
          (double layers, hidden, heads, batch, devices, seconds, mfu, hfu), {48, 6144, 64, 4, 8, 1.10, 0.415, 0.437},
          {96, 12288, 96, 64, 64, 13.75, 0.514, 0.528}, {105, 20480, 128, 280, 280, 37.83, 0.560, 0.570},
          {128, 25600, 160, 512, 512, 71.49, 0.563, 0.570})
{
    struct architecture a = sized(row->layers, row->hidden, row->heads, 51200);
    PLAN(plan, .micro_batches = (int64_t)row->batch, .sequence = 2048, .recompute = RECOMPUTE_SELECTIVE);
    const double peak = row->seconds * row->devices * 312e12;
    const double mfu = step_of(a, plan) / peak, hfu = mfu + again_of(a, plan, ATTENTION_FULL) / peak;
    assert_close(mfu, row->mfu, 0.005);
    assert_true(hfu > mfu && hfu < row->hfu);
}

/* arXiv 2204.02311: PaLM 540B, 238.3 thousand tokens/s on 6144 TPU v4 (275 TFLOP/s): MFU 46.2 %. */
TEST(flops_per_step__palm__its_mfu)
{
    struct architecture a = shaped(ARCHITECTURE_LLAMA, 118, 18432, 48, 256000);
    a.kv_heads = 1;
    a.head_dim = 256;
    a.ffn = 4 * 18432;
    assert_close(step_of(a, PLANNED(.sequence = 2048)) / 2048 * 238.3e3 / (6144 * 275e12), 0.462, 0.005);
}

/* A classifier reads one token of each sequence; no logits of the vocabulary are computed. */
TEST(flops_per_token__encoder_with_classes__no_vocabulary)
{
    struct architecture a = shaped(ARCHITECTURE_BERT, 2, 64, 4, 100);
    a.classes = 2;
    a.mlm_head = false;
    assert_close(token_of(a, PLANNED(.sequence = 128), ATTENTION_FULL).head, 2.0 * 64 * 2 / 128, 1e-12);
}

/* Selective recompute computes again what its modules have, not always the attention. */
TEST(flops_per_step__recompute_modules__what_they_have)
{
    const double h = 256, s = 1024, f = 1024, F = 128, S = 64, K = 2, E = 8, q = 96, c = 64, width = 32, rope = 16;
    struct architecture a = sized(4, h, 8, 1000);
    const double up = 2 * 4 * (q * 8 * (width + rope) + c * 8 * (width + width)),
                 scores = 4 * 2 * s * 8 * (width + rope / 2);
    const struct {
        unsigned modules;
        double expected;
    } cases[] = {
        {0, scores},
        {MODULE_CORE_ATTN, scores},
        {MODULE_LAYERNORM | MODULE_MLP_ACT | MODULE_MOE_ACT, 0},
        {MODULE_MLA_UP_PROJ, up},
        {MODULE_MLP, 2 * 1 * 2 * h * f},
        {MODULE_SHARED_EXPERTS, 2 * 3 * 2 * h * S},
        {MODULE_MOE, 2 * 3 * (2 * h * S + K * 2 * h * F + h * E)},
        {MODULE_MOE | MODULE_SHARED_EXPERTS | MODULE_CORE_ATTN, scores + 2 * 3 * (2 * h * S + K * 2 * h * F + h * E)},
    };
    a.ffn = (int64_t)f;
    set_experts(&a, (int64_t)E, (int64_t)K, (int64_t)F);
    a.shared_ffn = (int64_t)S;
    a.dense_layers = 1;
    a.q_lora_rank = (int64_t)q;
    a.kv_lora_rank = (int64_t)c;
    a.head_dim = (int64_t)width;
    a.v_head_dim = (int64_t)width;
    a.qk_rope_dim = (int64_t)rope;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        PLAN(plan, .sequence = (int64_t)s, .modules = cases[i].modules, .recompute = RECOMPUTE_SELECTIVE);
        assert_close(again_of(a, plan, ATTENTION_CAUSAL), s * cases[i].expected, 1e-12);
    }
}

TEST(flops_per_token__other_mixers__by_hand)
{
    struct architecture delta = sized(2, 256, 4, 1000), mamba = delta;
    const double Q = 64, d = 128;
    delta.hybrid_pattern = "G-";
    delta.mixer_heads = 4;
    delta.mixer_groups = 2;
    struct token_flops t = token_of(delta, PLANNED(.sequence = 1024), ATTENTION_FULL);
    assert_close(t.scan, 4 * (10 * Q * d + Q * Q + 6 * d * d) + 8 * 8 * d, 1e-12);
    assert_close(t.matrices, 2 * (256 * (12 * d + 8) + 4 * d * 256 + 8 * 256 * 256), 1e-12);
    mamba.mixer = MIXER_MAMBA;
    mamba.mixer_layers = 2;
    t = token_of(mamba, PLANNED(.sequence = 1024), ATTENTION_FULL);
    assert_close(t.scan, 2 * (7 * 512 * 16 + 8 * 512), 1e-12);
    assert_true(t.attention == 0);
}

/* A decoder of a quarter of the encoder's tokens: its own blocks and its head cost a quarter, keys and values of the
 * encoder are projected in full, scores are those of its tokens with its own and with the encoder's. */
TEST(flops_per_token__t5_with_a_short_decoder__by_hand)
{
    struct architecture a = shaped(ARCHITECTURE_T5, 2, 64, 4, 128);
    a.ffn = 256;
    const struct token_flops f = token_of(a, PLANNED(.sequence = 128, .decoder_sequence = 32), ATTENTION_FULL);
    const struct token_flops whole = token_of(a, PLANNED(.sequence = 128), ATTENTION_FULL);
    double once = 4 * 64 * 64, mlp = 2 * 64 * 256;
    assert_close(f.matrices, 2 * (2 * (once + mlp) + 2 * (once / 4 + once / 2 / 4 + once / 2 + mlp / 4)), 1e-12);
    assert_close(f.attention, 2 * 128 * 128 * (2 + 2 * 0.25 * 1.25), 1e-12);
    assert_close(f.head / whole.head, 0.25, 1e-12);
    assert_close(whole.attention, 2 * 128 * 128 * (2 + 2 * 2), 1e-12);
}

/* A window of half the sequence leaves three quarters of what a causal mask leaves, in the layers that have it. */
TEST(flops_per_token__sliding_window__what_tokens_see)
{
    static const enum attention_convention seen[] = {ATTENTION_FULL, ATTENTION_CAUSAL};
    const struct architecture plain = sized(12, 768, 12, 50257);
    struct architecture windowed = plain;
    PLAN(plan, .micro_batch = 1, .sequence = 2048);
    windowed.window = 1024;
    windowed.window_layers = 3;
    for (size_t i = 0; i < 2; i++) {
        struct token_flops all = token_of(plain, plan, seen[i]), some = token_of(windowed, plan, seen[i]);
        assert_close(some.attention / all.attention, (9 + 3 * 0.75) / 12, 1e-12);
        assert_close(some.matrices, all.matrices, 0);
    }
    assert_close(token_of(windowed, plan, ATTENTION_SQUARE).attention, token_of(plain, plan, ATTENTION_FULL).attention,
                 0);
}

/* Whole chunks and what is left over; a sequence no longer than a chunk sees all that it saw. */
TEST(flops_per_token__attention_chunk__squares_of_chunks)
{
    const struct architecture plain = sized(12, 768, 12, 50257);
    struct architecture chunked = plain;
    chunked.chunk = 1024;
    chunked.window_layers = 9;
#define SHARE(tokens)                                                                                                  \
    (token_of(chunked, PLANNED(.sequence = tokens), ATTENTION_CAUSAL).attention /                                      \
     token_of(plain, PLANNED(.sequence = tokens), ATTENTION_CAUSAL).attention)
    assert_close(SHARE(2560), (3 + 9 * (4 + 4 + 1) / 25.0) / 12, 1e-12);
    assert_close(SHARE(1024), 1, 0);
}

/* A token sees a sixteenth of a sequence into which 16 documents are packed; what a framework counts is as without. */
TEST(flops_per_token__packed_documents__see_themselves)
{
    const struct architecture a = sized(8, 1024, 8, 32000);
    PLAN(plan, .sequence = 4096, .flash_attention = true);
    const struct training_plan packed = BUT(plan, it.packed_tokens = 256);
    const struct token_flops whole = token_of(a, plan, ATTENTION_CAUSAL), parts = token_of(a, packed, ATTENTION_CAUSAL);
    assert_close(parts.attention, whole.attention / 16, 1e-12);
    assert_close(parts.matrices, whole.matrices, 1e-12);
    assert_close(token_of(a, packed, ATTENTION_FULL).attention, token_of(a, plan, ATTENTION_FULL).attention, 1e-12);
}

static double utilisation_of_row(const struct shared_table *t, size_t row, const struct published_run *run)
{
    const double peak = strncmp(shared_text(t, row, "gpu"), "h100", 4) == 0 ? 989.5e12 : 312e12;
    const double tokens = plan_global_batch(&run->plan) * (double)run->plan.sequence;
    return flops_per_step(&run->architecture, &run->plan) / tokens * shared_number(t, row, "tok_s_gpu") / peak;
}

/* Square matrices take 5 · 6·n³ each, those of the MLP 5 · (4·n·m² + 2·m³). */
TEST(flops_orthogonalised__gpt__by_hand)
{
    const double h = 512, f = 2048, kv = 128;
    struct architecture a = sized(3, h, 4, 1000);
    struct training_plan plan = {.sequence = 64};
    a.biases = false;
    completed(&a, &plan);
    double square = 5 * 6 * h * h * h, mlp = 5 * (4 * f * h * h + 2 * h * h * h);
    assert_close(flops_orthogonalised(&a, &plan), 4 * square + 2 * mlp, 1e-12);
    plan.tensor = 2;
    assert_close(flops_orthogonalised(&a, &plan), (4 * square + 2 * mlp) / 2, 1e-12);
    plan.tensor = 1;
    a.kv_heads = 1;
    double narrow = 5 * (4 * h * kv * kv + 2 * kv * kv * kv);
    assert_close(flops_orthogonalised(&a, &plan), 2 * square + 2 * narrow + 2 * mlp, 1e-12);
}

/* MosaicML counts 6 per parameter and full attention, and reports MFU in percent. Two parts of the table are
 * against the peak of fp8, twice that of bf16. Slow rows, whose speed has two digits, would test the
 * rounding. */
TEST(flops_per_step__mpt_table__its_mfu)
{
    HELD(shared_table) t;
    size_t compared = 0;
    double worst = 0;
    NEEDS(shared_table_load("llm-foundry-mpt.csv", &t));
    for (size_t i = 0; i < MPT_CLUSTERS * t.row_count; i++) {
        size_t row = i / MPT_CLUSTERS;
        struct published_run run;
        bool fp8_peak = strcmp(shared_text(&t, row, "precision"), "amp_fp8") == 0 ||
                        strncmp(shared_text(&t, row, "source"), "h100.csv@", 9) == 0;
        if (shared_number(&t, row, "tok_s_gpu") < 200 ||
            !published_read(&t, row, published_table(mpt_clusters[i % MPT_CLUSTERS]), &run))
            continue;
        double mfu = 100 * utilisation_of_row(&t, row, &run) / (fp8_peak ? 2 : 1);
        /* Their count includes position embeddings and biases. */
        const struct architecture *a = &run.architecture;
        double positions = shared_number(&t, row, "seq_len") / (double)(12 * a->layers * a->hidden + 50368);
        assert_close(mfu, shared_number(&t, row, "mfu_pct"), 0.006 + positions);
        worst = fmax(worst, fabs(mfu / shared_number(&t, row, "mfu_pct") - 1));
        compared++;
    }
    print_message("MFU within %.1f %% in %zu rows\n", 100 * worst, compared);
    assert_true(compared > 440);
}

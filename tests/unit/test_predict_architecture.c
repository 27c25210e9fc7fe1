/* predict: parameter counts by hand, and against published ones; test_hf_config has more of these. */
#include "predict/architecture.h"
#include "predict_fixture.h"

static struct architecture_parameters count(struct architecture a, int64_t tensor)
{
    struct architecture_parameters p = {0};
    FAIL_IF(architecture_complete(&a, &e) || !architecture_count(&a, tensor, &p));
    return p;
}

/* Counts once `change` has been made to `a`, which is `of` before. */
#define ASSERT_TOTAL(name, of, change, published)                                                                      \
    do {                                                                                                               \
        struct architecture a = of;                                                                                    \
        change;                                                                                                        \
        double counted = count(a, 1).total;                                                                            \
        FAIL_WHERE(counted != (published), "%s: counted %.0f, published %.0f", name, counted, (double)(published));    \
    } while (0)

static struct architecture gpt_of(int64_t layers, int64_t hidden, int64_t heads, int64_t vocab, int64_t positions)
{
    struct architecture a = shaped(ARCHITECTURE_GPT, layers, hidden, heads, vocab);
    a.positions = positions;
    return a;
}

struct llama_shape {
    const char *name;
    int64_t layers, hidden, heads, kv_heads, ffn, vocab;
    bool tied;
    double total;
};

static struct architecture llama(const struct llama_shape *s)
{
    struct architecture a = shaped(ARCHITECTURE_LLAMA, s->layers, s->hidden, s->heads, s->vocab);
    a.kv_heads = s->kv_heads;
    a.ffn = s->ffn;
    a.tied_embeddings = s->tied;
    return a;
}

TEST(architecture_complete__latent_keys_without_a_rank__refused)
{
    struct architecture a = gpt_of(2, 128, 4, 1000, 0);
    a.q_lora_rank = 16;
    FAILS_WITH_PART(architecture_complete(&a, &e), "need kv_lora_rank");
}

TEST(architecture_count__encoders__published_totals)
{
    struct architecture bert = shaped(ARCHITECTURE_BERT, 12, 768, 12, 30522);
    struct architecture vit = shaped(ARCHITECTURE_VIT, 12, 768, 12, 0);
    bert.positions = 512;
    vit.image = 224;
    vit.patch = 16;
    vit.classes = 1000;
#define LARGE (a.layers = 24, a.hidden = 1024, a.heads = 16)
    ASSERT_TOTAL("bert-base with both heads", bert, a.classes = 2, 110106428);
    ASSERT_TOTAL("bert-base", bert, a.mlm_head = false, 109482240);
    ASSERT_TOTAL("bert-large", bert, (a.mlm_head = false, LARGE), 335141888);
    ASSERT_TOTAL("vit-b/16", vit, (void)0, 86567656);
    ASSERT_TOTAL("vit-l/16", vit, LARGE, 304326632);
    assert_true(architecture_image_tokens(&vit) == 197);
}

/* Megatron pads to a multiple of 128 per tensor rank: 131073 to 131584 over 4. */
TEST_ROWS(architecture_padded_vocab__multiple_of_128_per_rank__rounded_up, (int64_t vocab, multiple, tensor, padded),
          {131073, 128, 4, 131584}, {131072, 128, 4, 131072}, {50257, 0, 8, 50257})
{
    struct architecture a = gpt_of(1, 64, 1, row->vocab, 0);
    a.vocab_multiple = row->multiple;
    assert_true(architecture_padded_vocab(&a, row->tensor) == (double)row->padded);
}

/* The four geometries of the ultra-scale playbook bear their sizes as names. */
TEST_ROWS(architecture_count__playbook_geometries__their_names, (struct llama_shape shape),
          {{"1.34B", 16, 2048, 32, 0, 8192, 131072, true, 1.34e9}},
          {{"3.57B", 28, 3072, 32, 0, 8192, 131072, true, 3.57e9}},
          {{"8.86B", 32, 4096, 32, 0, 14336, 131072, false, 8.86e9}},
          {{"80B", 80, 8192, 64, 0, 28672, 131072, false, 79.99e9}})
{
    assert_true(fabs(count(llama(&row->shape), 1).total / row->shape.total - 1) < 3e-3);
}

static void refused(struct architecture a, const char *expected)
{
    struct error e = ERROR_INIT;
    struct architecture before = a;
    assert_int_equal(architecture_complete(&a, &e), -1);
    assert_memory_equal(&a, &before, sizeof a);
    assert_int_equal(e.kind, ERROR_USAGE);
    if (!strstr(e.text, expected))
        fail_msg("expected \"%s\" in \"%s\"", expected, e.text);
}

/* Refused once `change` has been made to `a`, which is `good` before. */
#define REFUSED(good, change, expected)                                                                                \
    do {                                                                                                               \
        struct architecture a = good;                                                                                  \
        change;                                                                                                        \
        refused(a, expected);                                                                                          \
    } while (0)

TEST(architecture_complete__absurd_numbers__refused_untouched)
{
    const struct architecture good = gpt_of(2, 64, 4, 100, 16), image = shaped(ARCHITECTURE_VIT, 1, 8, 1, 0);
    REFUSED(good, a.hidden = 1000000000000, "hidden");
    REFUSED(good, a.layers = 0, "layers");
    REFUSED(good, a.vocab = -1, "vocab");
    REFUSED(good, a.vocab = 0, "vocab");
    REFUSED(good, a.heads = 5, "heads = 5 does not divide hidden = 64");
    REFUSED(good, a.kv_heads = 3, "kv_heads");
    REFUSED(good, (a.experts = 2, a.experts_per_token = 3), "experts_per_token");
    REFUSED(good, a.window_layers = 1, "window_layers needs sliding_window or attention_chunk");
    REFUSED(good, (a.window = 8, a.window_layers = 3), "window_layers = 3 is more than the 2 layers");
    REFUSED(good, a.window = a.chunk = 8, "sliding_window and attention_chunk");
    REFUSED(good, a.router_bias = true, "router_bias needs experts");
    REFUSED(good, a.shared_gate = true, "shared_gate needs shared_ffn");
    REFUSED(good, (a.layers = INT64_MAX, a.ffn = INT64_MIN), "layers");
    REFUSED(good, (a.layers = INT64_MAX, a.ffn = INT64_MIN), "ffn");
    REFUSED(image, (a.image = 224, a.patch = 15), "patch");
}

TEST(architecture_complete__pattern_and_mixers__faults_named)
{
    struct architecture good = gpt_of(4, 64, 4, 100, 0);
    REFUSED(good, a.hybrid_pattern = "M*-E", "hybrid_pattern must have an E");
    REFUSED(good, a.hybrid_pattern = "M*-X", "hybrid_pattern = 'M*-X' is not a pattern");
    REFUSED(good, a.hybrid_pattern = "MG*-", "is not a pattern");
    REFUSED(good, a.hybrid_pattern = "M*-", "hybrid_pattern has 3 layers, not 4");
    REFUSED(good, a.hybrid_pattern = "M*-M/M-/M*", "is not a pattern");
    REFUSED(good, (a.hybrid_pattern = "M*-M", a.mixer_layers = 3), "hybrid_pattern has mixer_layers = 2, not 3");
    REFUSED(good, a.mixer_layers = 5, "mixer_layers = 5 is more than layers = 4");
    REFUSED(good, a.mixer_state = 16, "need mixer_layers");
    good.mixer_layers = 2;
    REFUSED(good, (a.mixer_heads = 6, a.mixer_groups = 4), "mixer_groups = 4 does not divide mixer_heads = 6");
    good.mixer_layers = 0;
    REFUSED(good, a.expert_latent = 16, "expert_latent needs experts");
}

/* Megatron-LM's defaults: two heads of 64 for a hidden size of 64, state 128, 8 groups would not divide them. */
TEST(architecture_count__mamba2_and_a_depth_behind__by_hand)
{
    struct architecture a = gpt_of(6, 64, 4, 100, 0);
    struct architecture_parameters p;
    a.family = ARCHITECTURE_LLAMA;
    a.gated_mlp = a.biases = a.tied_embeddings = false;
    a.rms_norm = true;
    a.hybrid_pattern = "MM|*-ME/*E/*E";
    a.mixer_groups = 1;
    a.mixer_state = 16;
    set_experts(&a, 4, 2, 32);
    a.expert_latent = 16;
    FAIL_IF(architecture_complete(&a, &e) || !architecture_count(&a, 1, &p));
    const double h = 64, u = 128, x = u + 2 * 16, n = 2;
    double mixer = h * (u + x + n) + 5 * x + 3 * n + u + u * h, attention = 4 * h * h;
    double experts = 4 * 2 * 16 * 32, around = 4 * h + 2 * h * 16;
    assert_true(a.mtp_layers == 2 && a.norms_per_layer == 1);
    assert_true(p.attention == 3 * mixer + attention);
    assert_true(p.experts == experts && p.mlp + p.router == 2 * h * 4 * h + around);
    assert_true(p.mtp == 2 * (attention + experts + around + 2 * h * h + 5 * h));
}

TEST(architecture_count__more_than_a_quadrillion__refused)
{
    struct architecture a = gpt_of(100000, 10000000, 1000, 100, 0);
    struct architecture_parameters p = {.total = 42};
    FAIL_IF(architecture_complete(&a, &e));
    assert_false(architecture_count(&a, 1, &p));
    assert_true(p.total == 42);
}

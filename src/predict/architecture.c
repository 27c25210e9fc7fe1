#include "predict/architecture.h"

#include <math.h>
#include <stddef.h>

#include "predict/input_table.h"
#include "predict/mixer.h"
#include "util/memory.h"

#define TOTAL_MOST 1e15
#define T5_BUCKETS 32
#define IMAGE_CHANNELS 3

static const struct architecture families[ARCHITECTURE_FAMILY_END] = {
    [ARCHITECTURE_GPT] = {.tied_embeddings = true, .biases = true, .dropout = true},
    [ARCHITECTURE_LLAMA] = {.rms_norm = true, .gated_mlp = true},
    [ARCHITECTURE_BERT] = {.tied_embeddings = true, .biases = true, .dropout = true, .mlm_head = true},
    [ARCHITECTURE_T5] = {.tied_embeddings = true, .rms_norm = true, .dropout = true},
    [ARCHITECTURE_VIT] = {.biases = true, .dropout = true},
};

struct architecture architecture_of(enum architecture_family family)
{
    struct architecture a = families[family];
    a.family = family;
    return a;
}

/* Counts layers by kind, unless a pattern has done so already. */
static void fill_layers(struct architecture *a)
{
    int64_t all = a->layers + a->decoder_layers;
    if (a->hybrid_pattern)
        return;
    fill_integer(&a->attention_layers, all - a->mixer_layers);
    fill_integer(&a->mlp_layers, a->experts > 0 ? a->dense_layers : all);
}

/* Counts a pattern's letters. Counts that are also given must agree. */
static int take_pattern(struct architecture *a, struct error *e)
{
    struct hybrid_layers stack;
    if (!a->hybrid_pattern)
        return 0;
    if (!hybrid_read(a->hybrid_pattern, false, &stack))
        return error_set(e, ERROR_USAGE, "hybrid_pattern = '%.80s' is not a pattern of M or G, *, - and E",
                         a->hybrid_pattern);
    int64_t *const fields[] = {&a->mixer_layers, &a->attention_layers, &a->mlp_layers, &a->dense_layers,
                               &a->mtp_layers};
    const int64_t counts[] = {stack.mixers, stack.attention, stack.mlps, stack.layers - stack.experts, stack.depths};
    static const char *const names[] = {"mixer_layers", "attention_layers", "mlp_layers", "dense_layers", "mtp_layers"};
    if (a->layers != stack.layers)
        return error_set(e, ERROR_USAGE, "hybrid_pattern has %lld layers, not %lld", (long long)stack.layers,
                         (long long)a->layers);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (*fields[i] != 0 && *fields[i] != counts[i] && counts[i] != 0)
            return error_set(e, ERROR_USAGE, "hybrid_pattern has %s = %lld, not %lld", names[i], (long long)counts[i],
                             (long long)*fields[i]);
        fill_integer(fields[i], counts[i]);
    }
    if (stack.is_delta)
        a->mixer = MIXER_GATED_DELTA;
    if ((stack.experts > 0) != (a->experts > 0))
        return error_set(e, ERROR_USAGE, "hybrid_pattern must have an E if experts is given, and only then");
    return 0;
}

static void fill_defaults(struct architecture *a)
{
    if (a->family == ARCHITECTURE_T5)
        fill_integer(&a->decoder_layers, a->layers);
    fill_integer(&a->kv_heads, a->heads);
    if (a->heads > 0 && a->hidden % a->heads == 0)
        fill_integer(&a->head_dim, a->hidden / a->heads);
    fill_integer(&a->ffn, 4 * a->hidden);
    fill_integer(&a->norms_per_layer, a->parallel_blocks || a->hybrid_pattern ? 1 : 2);
    fill_layers(a);
    mixer_fill(a);
    if (a->window > 0 || a->chunk > 0)
        fill_integer(&a->window_layers, a->attention_layers);
    if (a->kv_lora_rank > 0)
        fill_integer(&a->v_head_dim, a->head_dim);
    if (a->experts > 0) {
        fill_integer(&a->experts_per_token, 1);
        fill_integer(&a->expert_ffn, a->ffn);
    }
}

static int check_image(const struct architecture *a, struct error *e)
{
    if (a->image <= 0 || a->patch <= 0 || a->image % a->patch != 0)
        return error_add_line(e, ERROR_USAGE, "image = %lld is not a multiple of patch = %lld", (long long)a->image,
                              (long long)a->patch);
    return 0;
}

/* Refuses keys that would have no effect without another. */
static int check_parts(const struct architecture *a, struct error *e)
{
    int rc = mixer_check(a, e);
    if (a->kv_lora_rank == 0 && (a->q_lora_rank > 0 || a->qk_rope_dim > 0 || a->v_head_dim > 0))
        rc = error_add_line(e, ERROR_USAGE, "q_lora_rank, qk_rope_dim and v_head_dim need kv_lora_rank");
    if (a->window_layers > 0 && a->window == 0 && a->chunk == 0)
        rc = error_add_line(e, ERROR_USAGE, "window_layers needs sliding_window or attention_chunk");
    if (a->window > 0 && a->chunk > 0)
        rc = error_add_line(e, ERROR_USAGE, "sliding_window and attention_chunk cannot be combined");
    if (a->window_layers > a->attention_layers)
        rc = error_add_line(e, ERROR_USAGE, "window_layers = %lld is more than the %lld layers with attention",
                            (long long)a->window_layers, (long long)a->attention_layers);
    if (a->router_bias && a->experts == 0)
        rc = error_add_line(e, ERROR_USAGE, "router_bias needs experts");
    if (a->expert_latent > 0 && a->experts == 0)
        rc = error_add_line(e, ERROR_USAGE, "expert_latent needs experts");
    if (a->shared_gate && a->shared_ffn == 0)
        rc = error_add_line(e, ERROR_USAGE, "shared_gate needs shared_ffn");
    return rc;
}

static int check_fit(const struct architecture *a, struct error *e)
{
    int rc = check_parts(a, e);
    if (a->head_dim == 0)
        rc = error_add_line(e, ERROR_USAGE, "heads = %lld does not divide hidden = %lld; give head_dim",
                            (long long)a->heads, (long long)a->hidden);
    if (a->kv_heads > a->heads || a->heads % a->kv_heads != 0)
        rc = error_add_line(e, ERROR_USAGE, "kv_heads = %lld does not divide heads = %lld", (long long)a->kv_heads,
                            (long long)a->heads);
    if (a->experts_per_token > a->experts)
        rc = error_add_line(e, ERROR_USAGE, "experts_per_token = %lld is more than experts = %lld",
                            (long long)a->experts_per_token, (long long)a->experts);
    if (a->dense_layers > a->layers)
        rc = error_add_line(e, ERROR_USAGE, "dense_layers = %lld is more than layers = %lld",
                            (long long)a->dense_layers, (long long)a->layers);
    if (a->decoder_layers > 0 && a->family != ARCHITECTURE_T5)
        rc = error_add_line(e, ERROR_USAGE, "decoder_layers is only for t5");
    if (a->family == ARCHITECTURE_VIT)
        rc |= check_image(a, e);
    else if (a->vocab == 0)
        rc = error_add_line(e, ERROR_USAGE, "vocab is missing");
    return rc;
}

int architecture_complete(struct architecture *a, struct error *e)
{
    struct architecture filled = *a;
    if (inputs_check(TO_ARCHITECTURE, a, e))
        return -1;
    if (take_pattern(&filled, e))
        return -1;
    fill_defaults(&filled);
    if (check_fit(&filled, e))
        return -1;
    *a = filled;
    return 0;
}

bool architecture_predicts_words(const struct architecture *a)
{
    return a->family == ARCHITECTURE_BERT ? a->mlm_head : a->family != ARCHITECTURE_VIT;
}

double architecture_padded_vocab(const struct architecture *a, int64_t tensor)
{
    double multiple = (double)a->vocab_multiple * (double)tensor;
    return multiple > 0 ? ceil((double)a->vocab / multiple) * multiple : (double)a->vocab;
}

double architecture_image_tokens(const struct architecture *a)
{
    double side = (double)a->image / (double)a->patch;
    return side * side + 1;
}

static double norm_size(const struct architecture *a, double width)
{
    return a->nonparametric_norms ? 0 : a->rms_norm ? width : 2 * width;
}

static double latent_size(const struct architecture *a)
{
    double h = (double)a->hidden, q = (double)a->q_lora_rank, c = (double)a->kv_lora_rank;
    double queries = architecture_query_width(a), values = architecture_value_width(a);
    double query = q > 0 ? q * (h + 1) + q * queries : h * queries;
    double bias = a->biases || a->attention_bias ? q + c + (double)a->qk_rope_dim + h : 0;
    return bias + query + h * (c + (double)a->qk_rope_dim) + c + c * ((double)a->heads * (double)a->head_dim + values) +
           values * h;
}

static double attention_size(const struct architecture *a)
{
    if (architecture_is_latent(a))
        return latent_size(a);
    double h = (double)a->hidden, q = (double)a->heads * (double)a->head_dim;
    double kv = (double)a->kv_heads * (double)a->head_dim;
    double bias = a->biases || a->attention_bias ? q + 2 * kv + h : a->qkv_bias ? q + 2 * kv : 0;
    double norms = a->qk_norm == QK_NORM_HEAD ? 2 * (double)a->head_dim : a->qk_norm == QK_NORM_FULL ? q + kv : 0;
    return (a->attention_gate ? 3 : 2) * h * q + 2 * h * kv + bias + norms +
           (a->attention_sinks ? (double)a->heads : 0);
}

/* Counts the parameters of an MLP that reads and writes `h`. */
static double mlp_size(const struct architecture *a, double h, double width)
{
    double matrices = a->gated_mlp ? 2 : 1;
    if (width == 0)
        return 0;
    return (matrices + 1) * h * width + (a->biases || a->mlp_bias ? matrices * width + h : 0);
}

void architecture_layer(const struct architecture *a, struct layer_parameters *out)
{
    double layers = architecture_layers(a), decoders = (double)a->decoder_layers, h = (double)a->hidden;
    double sparse = architecture_sparse_share(a), dense = architecture_mlp_share(a);
    double shared = mlp_size(a, h, (double)a->shared_ffn) + (a->shared_gate ? h : 0) + 2 * h * (double)a->expert_latent;
    *out = (struct layer_parameters){
        .expert_layers = sparse,
        .mlp_layers = dense,
        .attention_blocks = architecture_attention_share(a) + decoders / layers,
        .mixer_layers = architecture_mixer_share(a),
        .mlp = dense * mlp_size(a, h, (double)a->ffn) + sparse * shared,
        .experts = sparse * (double)a->experts * mlp_size(a, architecture_expert_input(a), (double)a->expert_ffn),
        .router = sparse * (h + (a->router_bias ? 1 : 0)) * (double)a->experts,
        .norms = ((double)a->norms_per_layer * layers + decoders) / layers * norm_size(a, h),
    };
    out->attention = out->attention_blocks * attention_size(a);
    if (a->mixer_layers > 0)
        out->attention += out->mixer_layers * mixer_parameters(a);
}

static double embedding_size(const struct architecture *a, double vocab)
{
    double h = (double)a->hidden;
    double size = vocab * h + (double)a->positions * h + (a->embedding_norm ? norm_size(a, h) : 0);
    if (a->family == ARCHITECTURE_BERT)
        size += 2 * h + norm_size(a, h);
    if (a->family == ARCHITECTURE_T5)
        size += 2 * T5_BUCKETS * (double)a->heads;
    if (a->family == ARCHITECTURE_VIT)
        size += (IMAGE_CHANNELS * (double)a->patch * (double)a->patch + 1) * h + h + architecture_image_tokens(a) * h;
    return size;
}

static double head_size(const struct architecture *a, double vocab)
{
    double h = (double)a->hidden, classes = (double)a->classes;
    double size = (a->tied_embeddings ? 0 : vocab * h) + (a->head_bias ? vocab : 0);
    if (a->family == ARCHITECTURE_BERT)
        size += h * h + h + (a->mlm_head ? h * h + h + norm_size(a, h) + vocab : 0);
    return size + classes * (h + 1);
}

static double last_norms_size(const struct architecture *a)
{
    static const int count[ARCHITECTURE_FAMILY_END] =
        {[ARCHITECTURE_GPT] = 1, [ARCHITECTURE_LLAMA] = 1, [ARCHITECTURE_T5] = 2, [ARCHITECTURE_VIT] = 1};
    return count[a->family] * norm_size(a, (double)a->hidden);
}

/* The layers' averages come from whole numbers, so that rounding gives those back. */
static double whole(double layers, double average)
{
    return round(layers * average);
}

void architecture_mtp_stack(const struct architecture *a, struct architecture *out)
{
    struct hybrid_layers depth;
    *out = *a;
    out->mtp_layers = 0;
    out->dense_layers = out->mixer_layers = 0;
    if (a->hybrid_pattern && hybrid_read(a->hybrid_pattern, true, &depth) && depth.layers > 0) {
        out->layers = depth.layers;
        out->dense_layers = depth.layers - depth.experts;
        out->mixer_layers = depth.mixers;
        out->attention_layers = depth.attention;
        out->mlp_layers = depth.mlps;
    } else if (architecture_is_hybrid(a)) {
        out->layers = out->attention_layers = 1;
        out->mlp_layers = a->experts == 0;
        out->norms_per_layer = 2;
    } else if (a->experts > 0) {
        out->mlp_layers = 0;
    }
    out->hybrid_pattern = NULL;
}

double architecture_mtp_layer(const struct architecture *a, struct layer_parameters *out)
{
    struct architecture stack;
    double h = (double)a->hidden;
    architecture_mtp_stack(a, &stack);
    architecture_layer(&stack, out);
    if (architecture_is_hybrid(a)) {
        double *const sums[] = {&out->attention, &out->mlp, &out->experts, &out->router, &out->norms};
        for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
            *sums[i] *= (double)stack.layers;
    }
    out->norms += 3 * norm_size(a, h);
    return 2 * h * h;
}

static double mtp_size(const struct architecture *a)
{
    struct layer_parameters layer;
    if (a->mtp_layers == 0)
        return 0;
    double projection = architecture_mtp_layer(a, &layer);
    return (double)a->mtp_layers *
           (layer.attention + layer.mlp + layer.experts + layer.router + layer.norms + projection);
}

bool architecture_count(const struct architecture *a, int64_t tensor, struct architecture_parameters *out)
{
    double layers = architecture_layers(a), vocab = architecture_padded_vocab(a, tensor);
    struct layer_parameters layer;
    architecture_layer(a, &layer);
    struct architecture_parameters p = {
        .layer = layer,
        .attention = whole(layers, layer.attention),
        .mlp = whole(layers, layer.mlp),
        .experts = whole(layers, layer.experts),
        .router = whole(layers, layer.router),
        .norms = whole(layers, layer.norms) + last_norms_size(a),
        .embedding = embedding_size(a, vocab),
        .head = head_size(a, vocab),
        .mtp = mtp_size(a),
    };
    p.total = p.attention + p.mlp + p.router + p.norms + p.embedding + p.head + p.experts;
    if (!(p.total <= TOTAL_MOST))
        return false;
    *out = p;
    return true;
}

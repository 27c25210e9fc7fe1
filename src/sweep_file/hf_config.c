#include "sweep_file/hf_config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/suggest.h"

#define WHOLE_MOST 1e9 /* largest number in an architecture */
#define GEMMA_PATTERN 6
#define LAYERS_MOST 1024 /* of a stack of mixers only */

/* A file being read. */
struct hf_reading {
    const char *name;
    const cJSON *root;
    const struct hf_type_table *own, *carried;
    const struct hf_type *type;
    struct hf_keys keys;
    bool failed; /* `e` says why */
    struct error *e;
};

/* --- types --- */

static const struct hf_type *find_in(const struct hf_type_table *table, const char *name)
{
    for (size_t i = 0; table && i < table->count; i++)
        if (strcmp(table->items[i].name, name) == 0)
            return &table->items[i];
    return NULL;
}

const struct hf_type *hf_type_find(const struct hf_type_table *own, const struct hf_type_table *carried,
                                   const char *name)
{
    const struct hf_type *found = find_in(own, name);
    return found ? found : find_in(carried, name);
}

/* --- fields --- */

/* NULL if it is absent or null; transformers writes null for what is not set. */
static const cJSON *field_of(const cJSON *table, const char *field)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(table, field);
    return cJSON_IsNull(item) ? NULL : item;
}

/* The first that is present. */
static const cJSON *first_of(const struct hf_reading *r, const struct hf_field *f)
{
    const cJSON *found = NULL;
    for (const char *at = f->fields, *end = at + f->length; !found && at < end;) {
        char field[HF_FIELD_LONGEST] = "";
        size_t length = strcspn(at, HF_BETWEEN);
        memcpy(field, at, length < sizeof field ? length : sizeof field - 1);
        char *dot = strchr(field, '.');
        if (dot)
            *dot++ = '\0';
        found = field_of(r->root, field);
        if (dot)
            found = field_of(found, dot);
        at += length;
        at += strspn(at, HF_BETWEEN);
    }
    return found;
}

static int refuse(const struct hf_reading *r, const cJSON *item, const char *wanted)
{
    char *text = cJSON_PrintUnformatted(item);
    error_set(r->e, ERROR_USAGE, "%s: \"%s\" is %.60s, but must be %s", r->name, item->string, text ? text : "?",
              wanted);
    cJSON_free(text);
    return -1;
}

/* A whole number of at least 0; true is 1. */
static int read_whole(const struct hf_reading *r, const cJSON *item, int64_t *out)
{
    if (cJSON_IsBool(item)) {
        *out = cJSON_IsTrue(item);
        return 0;
    }
    double value = item->valuedouble;
    if (!cJSON_IsNumber(item) || !(value >= 0 && value <= WHOLE_MOST && value == floor(value)))
        return refuse(r, item, "a whole number");
    *out = (int64_t)value;
    return 0;
}

/* A field's whole number of at least 0 (true is 1); `absent` if the field is. -1 if it is another value. */
static int whole(const struct hf_reading *r, const char *field, int64_t absent, int64_t *out)
{
    const cJSON *item = field_of(r->root, field);
    *out = absent;
    return item ? read_whole(r, item, out) : 0;
}

/* --- keys --- */

/* Replaces one of that name. */
static void set_key(struct hf_reading *r, const char *name, struct value value)
{
    struct hf_keys *k = &r->keys;
    size_t i = 0;
    while (i < k->count && strcmp(k->items[i].name, name) != 0)
        i++;
    if (i == k->count)
        k->items = array_grow(k->items, k->count++, sizeof *k->items);
    k->items[i] = (struct hf_key){name, value};
}

static void set_text(struct hf_reading *r, const char *name, const char *text)
{
    set_key(r, name, (struct value){.kind = VALUE_STRING, .text = xstrdup(text)});
}

static void set_whole(struct hf_reading *r, const char *name, int64_t value)
{
    set_key(r, name, (struct value){.kind = VALUE_INT, .integer = value});
}

/* Value of a whole-number key; 0 if it is not set. */
static int64_t key_value(const struct hf_reading *r, const char *name)
{
    for (size_t i = 0; i < r->keys.count; i++)
        if (strcmp(r->keys.items[i].name, name) == 0)
            return r->keys.items[i].value.integer;
    return 0;
}

/* Dropout rates are not whole numbers; any rate above 0 keeps a mask. */
static int read_field(struct hf_reading *r, const struct hf_field *f)
{
    const cJSON *item = first_of(r, f);
    int64_t value = f->absent;
    if (!item && f->absent == HF_NEEDED)
        return error_set(r->e, ERROR_USAGE, "%s lacks \"%.*s\", which model_type %s needs", r->name,
                         (int)strcspn(f->fields, HF_BETWEEN), f->fields, r->type->name);
    if (!item && f->absent == HF_UNSET)
        return 0;
    if (item && strcmp(f->key, "dropout") == 0 && cJSON_IsNumber(item))
        value = item->valuedouble != 0;
    else if (item && read_whole(r, item, &value) < 0)
        return -1;
    set_whole(r, f->key, value);
    return 0;
}

static int read_fields(struct hf_reading *r)
{
    for (size_t i = 0; i < r->type->field_count; i++)
        if (read_field(r, &r->type->fields[i]) < 0)
            return -1;
    return 0;
}

static int check_demands(const struct hf_reading *r)
{
    int64_t value;
    for (size_t i = 0; i < r->type->only.count; i++) {
        const struct hf_constant *d = &r->type->only.items[i];
        if (whole(r, d->key, d->value, &value) < 0)
            return -1;
        if (value != d->value)
            return error_set(r->e, ERROR_USAGE,
                             "%s: \"%s\" is %lld, but for model_type %s only %lld is known; give layers, hidden, "
                             "heads, "
                             "ffn and vocab as keys instead of hf_config",
                             r->name, d->key, (long long)value, r->type->name, (long long)d->value);
    }
    return 0;
}

static bool reads(const struct hf_type *type, const char *field)
{
    size_t length = strlen(field);
    for (const struct hf_field *f = type->fields; f < type->fields + type->field_count; f++)
        for (const char *at = strstr(f->fields, field); at; at = strstr(at + 1, field))
            if ((at == f->fields || strchr(HF_BETWEEN, at[-1])) && strchr(HF_BETWEEN, at[length]))
                return true;
    return false;
}

/* Refuses parts that this type is not known to have; ignoring them would count the model too small. */
static int check_foreign(const struct hf_reading *r)
{
    static const struct {
        const char *field;
        int64_t most; /* largest value that means none */
    } parts[] = {{"num_experts", 1},     {"num_local_experts", 1}, {"n_routed_experts", 1},
                 {"moe_num_experts", 1}, {"kv_lora_rank", 0},      {"num_nextn_predict_layers", 0}};
    for (size_t i = 0; i < LENGTH(parts); i++) {
        const cJSON *item = field_of(r->root, parts[i].field);
        if (cJSON_IsNumber(item) && item->valuedouble > (double)parts[i].most && !reads(r->type, parts[i].field))
            return error_set(r->e, ERROR_USAGE,
                             "%s: \"%s\" is %g, but no %s is known to have any: its own model_type, or layers, hidden, "
                             "heads, ffn and vocab as keys in place of hf_config, would be needed",
                             r->name, parts[i].field, item->valuedouble, r->type->name);
    }
    return 0;
}

/* --- what no field gives --- */

/* A field's whole number, as `whole` has it. After a failure, which `r->failed` keeps, `absent`. */
static int64_t number(struct hf_reading *r, const char *field, int64_t absent)
{
    int64_t value = absent;
    r->failed = r->failed || whole(r, field, absent, &value) < 0;
    return r->failed ? absent : value;
}

static void finish_falcon(struct hf_reading *r)
{
    const int64_t heads = key_value(r, "heads"), is_new = number(r, "new_decoder_architecture", 0);
    const int64_t one_head = number(r, "multi_query", 1), kv_heads = number(r, "num_kv_heads", heads);
    const int64_t norms = number(r, "num_ln_in_parallel_attn", 2);
    set_whole(r, "kv_heads", is_new ? kv_heads : one_head ? 1 : heads);
    if (is_new) {
        set_whole(r, "parallel_blocks", 1);
        set_whole(r, "norms_per_layer", norms);
    }
}

static void finish_bigcode(struct hf_reading *r)
{
    set_whole(r, "kv_heads", number(r, "multi_query", 1) ? 1 : key_value(r, "heads"));
}

/* Positions start after the padding token's, so the table has two more. */
static void finish_opt(struct hf_reading *r)
{
    const int64_t hidden = key_value(r, "hidden"), embedding = number(r, "word_embed_proj_dim", hidden);
    if (!r->failed && embedding != hidden)
        r->failed = error_set(r->e, ERROR_USAGE,
                              "%s: \"word_embed_proj_dim\" is %lld, but \"hidden_size\" is %lld; embeddings of another "
                              "width are not supported",
                              r->name, (long long)embedding, (long long)hidden);
    set_whole(r, "positions", key_value(r, "positions") + 2);
}

static void finish_deepseek(struct hf_reading *r)
{
    const int64_t shared = number(r, "n_shared_experts", 0);
    if (key_value(r, "experts") == 0)
        set_whole(r, "dense_layers", 0);
    else if (shared > 0)
        set_whole(r, "shared_ffn", shared * key_value(r, "expert_ffn"));
}

/* Layers without experts: mlp_only_layers, and all but every decoder_sparse_step-th. */
static void finish_qwen_moe(struct hf_reading *r)
{
    const int64_t step = number(r, "decoder_sparse_step", 1), layers = key_value(r, "layers");
    int64_t sparse = 0;
    const cJSON *only = field_of(r->root, "mlp_only_layers"), *item;
    for (int64_t i = 0; i < layers; i++) {
        bool listed = false;
        cJSON_ArrayForEach(item, only) listed |= cJSON_IsNumber(item) && item->valuedouble == (double)i;
        sparse += !listed && step > 0 && (i + 1) % step == 0;
    }
    set_whole(r, "dense_layers", layers - sparse);
}

/* Experts in moe_layers, or in every interleave_moe_layer_step-th layer, each with a shared expert. Attention within
 * chunks in layers with rotary positions: those that no_rope_layers marks (with a 1), or all but every
 * no_rope_layer_interval-th (transformers configuration_llama4.py). */
static void finish_llama4(struct hf_reading *r)
{
    const int64_t step = number(r, "interleave_moe_layer_step", 1), chunk = number(r, "attention_chunk_size", 8192);
    const int64_t every = number(r, "no_rope_layer_interval", 4), layers = key_value(r, "layers");
    const cJSON *experts = field_of(r->root, "moe_layers"), *rotary = field_of(r->root, "no_rope_layers"), *item;
    const int64_t sparse = cJSON_IsArray(experts) ? cJSON_GetArraySize(experts) : step > 0 ? layers / step : 0;
    int64_t count = 0;
    set_whole(r, "dense_layers", sparse < layers ? layers - sparse : 0);
    set_whole(r, "shared_ffn", key_value(r, "expert_ffn"));
    cJSON_ArrayForEach(item, rotary) count += cJSON_IsNumber(item) && item->valuedouble != 0;
    if (cJSON_GetArraySize(rotary) == 0)
        count = every > 0 ? layers - layers / every : layers;
    if (chunk > 0 && count > 0) {
        set_whole(r, "attention_chunk", chunk);
        set_whole(r, "window_layers", count);
    }
}

/* Experts in every moe_layer_interval-th layer from moe_layer_start_index to moe_layer_end_index (-1: the last). */
static void finish_ernie_moe(struct hf_reading *r)
{
    const cJSON *end = field_of(r->root, "moe_layer_end_index");
    const bool is_last = cJSON_IsNumber(end) && end->valuedouble == -1;
    const int64_t first = number(r, "moe_layer_start_index", 1), every = number(r, "moe_layer_interval", 1);
    const int64_t shared = number(r, "moe_num_shared_experts", 2), layers = key_value(r, "layers");
    const int64_t last = is_last ? layers - 1 : number(r, "moe_layer_end_index", layers - 1);
    int64_t sparse = 0;
    for (int64_t i = first; i < layers && i <= last; i++)
        sparse += every > 0 && (i + 1) % every == 0;
    set_whole(r, "dense_layers", layers - sparse);
    set_whole(r, "shared_ffn", shared * key_value(r, "expert_ffn"));
}

static void finish_minicpm3(struct hf_reading *r)
{
    const int64_t heads = key_value(r, "heads");
    if (key_value(r, "v_head_dim") == 0 && heads > 0)
        set_whole(r, "v_head_dim", key_value(r, "hidden") / heads);
}

/* The MLP is expansion_ratio times as wide as the layer. */
static void finish_mpt(struct hf_reading *r)
{
    set_whole(r, "ffn", number(r, "expansion_ratio", 4) * key_value(r, "hidden"));
}

/* "relu" or "gated-gelu". */
static void finish_t5(struct hf_reading *r)
{
    const cJSON *projection = field_of(r->root, "feed_forward_proj");
    if (cJSON_IsString(projection) && strncmp(projection->valuestring, "gated-", strlen("gated-")) == 0)
        set_whole(r, "gated_mlp", 1);
}

/* --- hybrid stacks --- */

/* Number of layers that a list calls `word`; -1 if there is no list with a text per layer. */
static int64_t listed(const struct hf_reading *r, const char *field, const char *word)
{
    const cJSON *list = field_of(r->root, field), *item;
    int64_t count = 0;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != (int)key_value(r, "layers"))
        return -1;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item))
            return -1;
        count += strcmp(item->valuestring, word) == 0;
    }
    return count;
}

/* Layers first, first + every, … */
static int64_t every_so_many(int64_t layers, int64_t first, int64_t every)
{
    return every > 0 && first < layers ? (layers - 1 - first) / every + 1 : 0;
}

static void need_list(struct hf_reading *r, const char *field)
{
    r->failed = error_set(r->e, ERROR_USAGE,
                          "%s lacks \"%s\", a list of one string for each of %lld layers, which model_type %s needs",
                          r->name, field, (long long)key_value(r, "layers"), r->type->name);
}

static void clear(struct hf_reading *r, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        set_whole(r, names[i], 0);
}

/* Without mixers, their widths are 0, too. */
static void set_mixers(struct hf_reading *r, int64_t mixers)
{
    static const char *const widths[] = {"mixer_heads", "mixer_head_dim", "mixer_groups", "mixer_state", "mixer_conv",
                                         "mixer_chunk", "mixer_rank",     "mixer_bias",   "mixer_norms", "mixer_plain"};
    set_whole(r, "mixer_layers", mixers);
    clear(r, widths, mixers == 0 ? LENGTH(widths) : 0);
}

static void finish_mamba(struct hf_reading *r)
{
    OWNED_BUFFER pattern = BUFFER_INIT;
    for (int64_t i = 0; i < key_value(r, "layers") && i < LAYERS_MOST; i++)
        buffer_add_text(&pattern, "M");
    set_text(r, "hybrid_pattern", buffer_text(&pattern));
}

/* There are experts only if the pattern has them. */
static void finish_nemotron_h(struct hf_reading *r)
{
    static const char *const of_experts[] = {"experts", "experts_per_token", "expert_ffn", "shared_ffn",
                                             "expert_latent"};
    const cJSON *pattern = field_of(r->root, "hybrid_override_pattern");
    if (!cJSON_IsString(pattern)) {
        r->failed = error_set(r->e, ERROR_USAGE, "%s lacks \"hybrid_override_pattern\", which model_type %s needs",
                              r->name, r->type->name);
        return;
    }
    clear(r, of_experts, strchr(pattern->valuestring, 'E') ? 0 : LENGTH(of_experts));
    set_text(r, "hybrid_pattern", pattern->valuestring);
}

static void finish_jamba(struct hf_reading *r)
{
    static const char *const of_experts[] = {"experts", "experts_per_token"};
    const int64_t first = number(r, "attn_layer_offset", 4), every = number(r, "attn_layer_period", 8);
    const int64_t sparse_first = number(r, "expert_layer_offset", 1), sparse = number(r, "expert_layer_period", 2);
    const int64_t expand = number(r, "mamba_expand", 2), layers = key_value(r, "layers");
    set_mixers(r, layers - every_so_many(layers, first, every));
    set_whole(r, "mixer_heads", expand * key_value(r, "hidden"));
    if (key_value(r, "experts") > 1)
        set_whole(r, "dense_layers", layers - every_so_many(layers, sparse_first, sparse));
    else
        clear(r, of_experts, LENGTH(of_experts));
}

static void finish_bamba(struct hf_reading *r)
{
    const cJSON *list = field_of(r->root, "attn_layer_indices");
    set_mixers(r, key_value(r, "layers") - (cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0));
}

/* Without experts, the shared expert is the MLP. */
static void finish_granite(struct hf_reading *r)
{
    static const char *const of_experts[] = {"shared_ffn", "experts_per_token"};
    const int64_t mixers = listed(r, "layer_types", "mamba");
    if (mixers < 0) {
        need_list(r, "layer_types");
        return;
    }
    set_mixers(r, mixers);
    if (key_value(r, "experts") == 0) {
        set_whole(r, "ffn", key_value(r, "shared_ffn"));
        clear(r, of_experts, LENGTH(of_experts));
    }
}

/* Each layer has both a mixer and attention. */
static void finish_falcon_h1(struct hf_reading *r)
{
    set_mixers(r, key_value(r, "layers"));
    set_whole(r, "attention_layers", key_value(r, "layers"));
}

static void finish_qwen3_next(struct hf_reading *r)
{
    const int64_t layers = key_value(r, "layers"), linear = listed(r, "layer_types", "linear_attention");
    const int64_t every = number(r, "full_attention_interval", 4);
    set_mixers(r, linear >= 0 ? linear : layers - (every > 0 ? layers / every : 0));
    if (key_value(r, "experts") > 0)
        finish_qwen_moe(r);
}

/* A list of 0 and 1 (attention), or of names, says which layers have attention. */
static void finish_minimax(struct hf_reading *r)
{
    const cJSON *list = field_of(r->root, "attn_type_list"), *item;
    const int64_t head_dim = key_value(r, "head_dim"), heads = key_value(r, "heads");
    int64_t linear = listed(r, "layer_types", "linear_attention");
    if (linear < 0 && cJSON_GetArraySize(list) != (int)key_value(r, "layers")) {
        need_list(r, "layer_types");
        return;
    }
    if (linear < 0) {
        linear = 0;
        cJSON_ArrayForEach(item, list) linear += cJSON_IsNumber(item) && item->valuedouble == 0;
    }
    set_mixers(r, linear);
    if (linear > 0)
        set_whole(r, "mixer_head_dim", head_dim > 0 || heads == 0 ? head_dim : key_value(r, "hidden") / heads);
}

hf_finisher *hf_finisher_of(const char *name)
{
    static const struct {
        const char *type;
        hf_finisher *finish;
    } types[] = {{"falcon", finish_falcon},
                 {"gpt_bigcode", finish_bigcode},
                 {"opt", finish_opt},
                 {"deepseek_v3", finish_deepseek},
                 {"glm4_moe", finish_deepseek},
                 {"glm4_moe_lite", finish_deepseek},
                 {"dots1", finish_deepseek},
                 {"llama4_text", finish_llama4},
                 {"ernie4_5_moe", finish_ernie_moe},
                 {"minicpm3", finish_minicpm3},
                 {"mpt", finish_mpt},
                 {"t5", finish_t5},
                 {"qwen2_moe", finish_qwen_moe},
                 {"qwen3_moe", finish_qwen_moe},
                 {"mamba", finish_mamba},
                 {"mamba2", finish_mamba},
                 {"nemotron_h", finish_nemotron_h},
                 {"jamba", finish_jamba},
                 {"bamba", finish_bamba},
                 {"granitemoehybrid", finish_granite},
                 {"falcon_h1", finish_falcon_h1},
                 {"qwen3_next", finish_qwen3_next},
                 {"qwen3_5_text", finish_qwen3_next},
                 {"qwen3_5_moe_text", finish_qwen3_next},
                 {"minimax", finish_minimax}};
    for (size_t i = 0; i < LENGTH(types); i++)
        if (strcmp(types[i].type, name) == 0)
            return types[i].finish;
    return NULL;
}

/* --- windows --- */

/* Layers that layer_types calls sliding. */
static int64_t listed_windows(const cJSON *list)
{
    const cJSON *item;
    int64_t count = 0;
    cJSON_ArrayForEach(item, list) count += cJSON_IsString(item) && strcmp(item->valuestring, "sliding_attention") == 0;
    return count;
}

/* "LLLG", repeated: L is a layer with a window; the last layer has none (transformers configuration_exaone4.py). */
static int64_t lettered_windows(const char *letters, int64_t layers)
{
    int64_t count = 0, length = (int64_t)strlen(letters);
    for (int64_t i = 0; length > 0 && i < layers - 1; i++)
        count += letters[i % length] == 'L';
    return count;
}

static int patterned_windows(const struct hf_reading *r, int64_t layers, int64_t *out)
{
    int64_t every, first, asked;
    const cJSON *letters = field_of(r->root, "sliding_window_pattern");
    if (cJSON_IsString(letters) && r->type->windows == HF_WINDOWS_OF_FOUR) {
        *out = lettered_windows(letters->valuestring, layers);
        return 0;
    }
    if (whole(r, "sliding_window_pattern", r->type->windows == HF_WINDOWS_OF_FOUR ? 4 : GEMMA_PATTERN, &every) < 0 ||
        whole(r, "max_window_layers", layers, &first) < 0 || whole(r, "use_sliding_window", 0, &asked) < 0)
        return -1;
    const int64_t counts[] = {[HF_WINDOWS_NONE] = 0,
                              [HF_WINDOWS_ALL] = layers,
                              [HF_WINDOWS_WHERE_ASKED] = asked && first < layers ? layers - first : 0,
                              [HF_WINDOWS_PATTERN] = every > 0 ? layers - layers / every : 0,
                              [HF_WINDOWS_OF_FOUR] = every > 0 ? layers - layers / every : 0,
                              [HF_WINDOWS_HALF] = (layers + 1) / 2};
    *out = counts[r->type->windows];
    return 0;
}

static int read_windows(struct hf_reading *r)
{
    int64_t window, layers = key_value(r, "layers"), count;
    const cJSON *list = field_of(r->root, "layer_types"), *item;
    if (r->type->windows == HF_WINDOWS_MIXED)
        return 0;
    if (whole(r, "sliding_window", 0, &window) < 0)
        return -1;
    cJSON_ArrayForEach(item,
                       list) if (!cJSON_IsString(item) || !strstr(item->valuestring, "_attention") ||
                                 strstr(item->valuestring,
                                        "linear")) return refuse(r, list,
                                                                 "a list of full_attention and sliding_attention");
    if (cJSON_IsArray(list))
        count = listed_windows(list);
    else if (patterned_windows(r, layers, &count) < 0)
        return -1;
    if (window > 0 && count > 0) {
        set_whole(r, "sliding_window", window);
        set_whole(r, "window_layers", count);
    }
    return 0;
}

/* --- the whole --- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The caller's; each once, in alphabetical order. */
static const char **type_names(const struct hf_reading *r, size_t *count)
{
    const struct hf_type_table *const tables[] = {r->own, r->carried};
    const char **names = xcalloc((r->own ? r->own->count : 0) + r->carried->count, sizeof *names);
    *count = 0;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; tables[t] && i < tables[t]->count; i++) {
            const struct hf_type *type = &tables[t]->items[i];
            if (type->family && !type->refused && hf_type_find(r->own, r->carried, type->name) == type)
                names[(*count)++] = type->name;
        }
    qsort(names, *count, sizeof *names, compare_names);
    return names;
}

static int unknown_type(const struct hf_reading *r, const char *type)
{
    size_t count;
    OWNED_BUFFER known = BUFFER_INIT;
    if (field_of(r->root, "text_config"))
        return error_set(r->e, ERROR_USAGE,
                         "%s: model_type \"%s\" is not known; its language model is in text_config; save that as a "
                         "separate file",
                         r->name, type);
    if (r->type && r->type->refused)
        return error_set(r->e, ERROR_USAGE, "%s: the parameters of model_type \"%s\" cannot be counted: %s", r->name,
                         type, r->type->refused);
    const char **names = type_names(r, &count);
    for (size_t i = 0; i < count; i++)
        buffer_printf(&known, "%s%s", i ? ", " : "", names[i]);
    OWNED char *hint = suggest_hint(type, names, count);
    error_set(r->e, ERROR_USAGE,
              "%s: model_type \"%s\" is not known%s (known: %s); give layers, hidden, heads, ffn and vocab as keys "
              "instead of hf_config",
              r->name, type, hint, buffer_text(&known));
    free(names);
    return -1;
}

static void set_constants(struct hf_reading *r)
{
    for (const struct hf_constant *c = r->type->always.items; c < r->type->always.items + r->type->always.count; c++)
        if (c->text)
            set_text(r, c->key, c->text);
        else
            set_whole(r, c->key, c->value);
}

/* gemma3's fields are in its text_config. */
static int check_towers(struct hf_reading *r)
{
    static const char *const towers[] = {"vision_config", "audio_config"};
    for (size_t i = 0; i < LENGTH(towers); i++)
        if (field_of(r->root, towers[i]))
            return error_set(r->e, ERROR_USAGE,
                             "%s: \"%s\" is an encoder tower, which is not counted; save text_config as a separate "
                             "file",
                             r->name, towers[i]);
    return 0;
}

static int read_root(struct hf_reading *r)
{
    if (!cJSON_IsObject(r->root))
        return error_set(r->e, ERROR_USAGE, "%s is not a JSON object, as a model's config.json must be", r->name);
    if (check_towers(r) < 0)
        return -1;
    const cJSON *type = field_of(r->root, "model_type");
    if (!cJSON_IsString(type))
        return error_set(r->e, ERROR_USAGE, "%s lacks \"model_type\", which says what the other fields mean", r->name);
    r->type = hf_type_find(r->own, r->carried, type->valuestring);
    if (!r->type || !r->type->family || r->type->refused)
        return unknown_type(r, type->valuestring);
    set_text(r, "family", r->type->family);
    set_constants(r);
    if (check_demands(r) < 0 || check_foreign(r) < 0 || read_fields(r) < 0)
        return -1;
    if (r->type->finish)
        r->type->finish(r);
    return r->failed ? -1 : read_windows(r);
}

int hf_config_read(const char *name, const char *text, const struct hf_type_table *own,
                   const struct hf_type_table *carried, struct hf_keys *out, struct error *e)
{
    OWNED_JSON *root = json_has_nul(text) ? NULL : cJSON_ParseWithOpts(text, NULL, true);
    struct hf_reading r = {.name = name, .root = root, .own = own, .carried = carried, .e = e};
    int rc = read_root(&r);
    if (rc < 0)
        hf_keys_free(&r.keys);
    else
        *out = r.keys;
    return rc;
}

void hf_keys_free(struct hf_keys *k)
{
    for (size_t i = 0; i < k->count; i++)
        value_free(&k->items[i].value);
    free(k->items);
    *k = HF_KEYS_INIT;
}

/* sweep_file, predict: models by their config.json, counted to the last parameter. */
#include "predict/inputs.h"
#include "sweep_file/hf_config.h"
#include "unit_test.h"
#include "util/file.h"

/* Architectures of the config.json files (tests/hf_configs), and the numbers of elements that the checkpoints have: the
 * README.md there says which are published, and where. Each matrix once where the head is tied. Without
 * the MTP layers of DeepSeek-V3, GLM-4.5, Qwen3-Next and later ones, and the routers' correction biases of these, of
 * Kimi-K2 and of Nemotron-3, which transformers counts as buffers. */
static const char models[] =
    "gpt2=124439808 gpt2-xl=1557611200 Llama-2-7b=6738415616 Llama-2-70b=68976648192 Meta-Llama-3-8B=8030261248 "
    "Meta-Llama-3-70B=70553706496 Llama-3.1-405B=405853388800 Llama-3.2-1B=1235814400 Mistral-7B-v0.1=7241732096 "
    "Mixtral-8x7B-v0.1=46702792704 Qwen2-7B=7615616512 Qwen2.5-0.5B=494032768 Qwen2.5-72B=72706203648 "
    "Qwen1.5-MoE-A2.7B=14315784192 Qwen3-8B=8190735360 Qwen3-32B=32762123264 Qwen3-30B-A3B=30532122624 "
    "Qwen3-235B-A22B=235093634560 DeepSeek-V2=235741434880 DeepSeek-V2-Lite=15706484224 DeepSeek-V3=671026404352 "
    "Kimi-K2=1026408209408 gemma-2b=2506172416 gemma-7b=8537680896 gemma-2-9b=9241705984 gemma-2-27b=27227128320 "
    "gemma-3-1b-pt=999885952 phi-2=2779683840 Phi-3-mini-4k-instruct=3821079552 falcon-7b=6921720704 "
    "falcon-40b=41303293952 bloom=176247271424 bloom-560m=559214592 opt-125m=125239296 opt-6.7b=6658473984 "
    "pythia-6.9b=6857302016 gpt-neox-20b=20554567680 gpt-j-6b=6050882784 gpt-oss-20b=20914757184 "
    "gpt-oss-120b=116829156672 OLMo-7B-hf=6888095744 OLMo-2-1124-7B=7298617344 OLMoE-1B-7B=6919161856 "
    "starcoder=15517456384 starcoder2-7b=7173923840 stablelm-3b-4e1t=2795443200 c4ai-command-r-v01=34980831232 "
    "granite-3.0-8b-base=8170848256 Nemotron-H-8B-Base-8K=8100852736 Nemotron-3-Nano-30B-A3B=31577937344 "
    "mamba2-2.7b=2702599680 Mamba-Codestral-7B-v0.1=7285403648 mamba-2.8b=2768345600 falcon-mamba-7b=7272665088 "
    "Jamba-v0.1=51570323328 Bamba-9B=9780235392 granite-4.0-h-tiny=6939037248 granite-4.0-h-small=32207337984 "
    "Falcon-H1-0.5B-Base=521411104 Qwen3-Next-80B-A3B=79674391296 MiniMax-Text-01=456089655296 "
    "SmolLM3-3B=3075098624 GLM-4.5-Air=106852245504 ERNIE-4.5-0.3B=360748032 Seed-OSS-36B=36151104512 "
    "phi-4=14659507200 gemma-3-270m=268098176 gemma-3-4b-pt-text_config=3880263168 "
    "gemma-3-12b-pt-text_config=11766034176 gemma-3-27b-pt-text_config=27009346304 "
    "Llama-4-Scout-17B-16E-text_config=107769861120 Llama-4-Maverick-17B-128E-text_config=400711848960 "
    "ERNIE-4.5-21B-A3B=21825436160 Qwen3-VL-8B-text_config=8190735360 Olmo-3-7B=7298011136 Olmo-3-32B=32233522176 "
    "glm-4-9b-chat-hf=9399951360 GLM-4-9B-0414=9400094720 MiniCPM3-4B=4073875968 dbrx-base=131596523520 "
    "internlm2-7b=7737708544 internlm2-20b=19861149696 internlm3-8b-instruct=8804241408 "
    "Baichuan2-7B-Base=7505973248 Baichuan2-13B-Base=13896668160 c4ai-command-r7b-12-2024=8028033024 "
    "EXAONE-4.0-1.2B=1279391488 EXAONE-4.0-32B=32003216384 Minitron-4B-Base=4190509056 "
    "Ministral-8B-Instruct-2410=8019808256 Ministral-3-3B-text_config=3429006336 mpt-7b=6649286656 "
    "mpt-30b=29957200896 bert-base-uncased=110106428 bert-large-uncased=336226108 t5-small=60506624 "
    "t5-3b=2851598336 flan-t5-base=247577856 flan-t5-xxl=11135332352 MiniMax-M2=228689748992 "
    "Hunyuan-7B=7504568320 GLM-4.7-Flash=29943390976 dots.llm1=142774373888 "
    "Qwen3.5-35B-A3B-text_config=34660610688 Qwen3.5-4B-text_config=4205751296";

static struct arena arena; /* of all keys */

static struct hf_keys read_text(const char *name, const char *text)
{
    struct hf_keys keys;
    FAIL_IF(hf_config_read(&arena, name, text, NULL, &keys, &e) < 0);
    return keys;
}

static struct hf_keys read_model(const char *name)
{
    const char *source = getenv("srcdir");
    OWNED char *path = xasprintf("%s/tests/hf_configs/%s.json", source ? source : ".", name);
    OWNED_BUFFER text = BUFFER_INIT;
    FAIL_IF(file_read(path, 1 << 20, &text, &e) < 0);
    struct hf_keys keys = read_text(name, buffer_text(&text));
    return keys;
}

/* The keys as a combination of them would be given to the predictor. */
static struct architecture architecture_of_keys(const struct hf_keys *keys)
{
    struct input_value values[INPUT_COUNT] = {0};
    struct subject s;
    for (size_t i = 0; i < keys->count; i++) {
        size_t at = input_find(keys->items[i].name);
        FAIL_WHERE(at == INPUT_COUNT, "no input %s", keys->items[i].name);
        const struct value *v = &keys->items[i].value;
        values[at] = v->kind == VALUE_STRING ? (struct input_value){INPUT_TEXT, 0, v->text}
                                             : (struct input_value){INPUT_NUMBER, (double)v->integer, NULL};
    }
    values[AT_SEQ] = values[AT_MICRO_BATCH] = (struct input_value){INPUT_NUMBER, 1, NULL};
    FAIL_IF(inputs_decode(values, &s, &e) < 0);
    return s.architecture;
}

TEST(hf_config_read__published_models__their_totals)
{
    size_t wrong = 0, count = 0;
    char name[64];
    double total;
    int length;
    for (const char *m = models; sscanf(m, "%63[^=]=%lf %n", name, &total, &length) == 2; m += length, count++) {
        struct hf_keys keys = read_model(name);
        struct architecture a = architecture_of_keys(&keys);
        struct architecture_parameters p;
        assert_true(architecture_count(&a, 1, &p));
        if (p.total != total)
            print_error("%s: counted %.0f, expected %.0f\n", name, p.total, total);
        wrong += p.total != total;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(count, 105);
    print_message("%zu models counted to the last parameter\n", count);
}

#define SHAPE                                                                                                          \
    "\"num_hidden_layers\": 2, \"hidden_size\": 64, \"num_attention_heads\": 4, \"intermediate_size\": 128, "          \
    "\"vocab_size\": 100"

/* Layers with attention, with a mixer, with experts and with a window. */
static const char stacks[] =
    "Nemotron-H-8B-Base-8K=4,24,0,0 Nemotron-3-Nano-30B-A3B=6,23,23,0 Jamba-v0.1=4,28,16,0 Bamba-9B=3,29,0,0 "
    "granite-4.0-h-small=4,36,40,0 Falcon-H1-0.5B-Base=36,36,0,0 Qwen3-Next-80B-A3B=12,36,48,0 "
    "MiniMax-Text-01=10,70,80,0 Qwen3.5-35B-A3B-text_config=10,30,40,0 Qwen3.5-4B-text_config=8,24,0,0 "
    "mamba2-2.7b=0,64,0,0 Llama-4-Scout-17B-16E-text_config=48,0,48,36 "
    "Llama-4-Maverick-17B-128E-text_config=48,0,24,36 "
    "ERNIE-4.5-21B-A3B=28,0,27,0 dbrx-base=40,0,40,0 Mistral-7B-v0.1=32,0,0,32 Mixtral-8x7B-v0.1=32,0,32,0 "
    "Qwen2-7B=28,0,0,0 gemma-2-9b=42,0,0,21 gemma-3-1b-pt=26,0,0,22 gemma-3-27b-pt-text_config=62,0,0,52 "
    "Olmo-3-7B=32,0,0,24 gpt-oss-20b=24,0,24,12 EXAONE-4.0-32B=64,0,0,48 EXAONE-4.0-1.2B=30,0,0,0 "
    "c4ai-command-r7b-12-2024=32,0,0,24 Ministral-8B-Instruct-2410=36,0,0,36 Ministral-3-3B-text_config=26,0,0,0";

TEST(hf_config_read__stacks_and_windows__what_each_layer_is)
{
    char name[64];
    int attention, mixers, experts, windows, length, count = 0;
    for (const char *m = stacks;
         sscanf(m, "%63[^=]=%d,%d,%d,%d %n", name, &attention, &mixers, &experts, &windows, &length) == 5;
         m += length, count++) {
        struct hf_keys keys = read_model(name);
        struct architecture a = architecture_of_keys(&keys);
        print_message("%s\n", name);
        assert_int_equal(a.attention_layers, attention);
        assert_int_equal(a.mixer_layers, mixers);
        assert_int_equal(a.experts > 0 ? a.layers - a.dense_layers : 0, experts);
        assert_int_equal(a.window_layers, windows);
    }
    assert_int_equal(count, 28);
}

TEST(hf_config_read__no_mixer_in_a_hybrid_type__attention_throughout)
{
    struct hf_keys keys = read_text("c", "{\"model_type\": \"granitemoehybrid\", \"num_local_experts\": 0,"
                                         "\"shared_intermediate_size\": 96, \"mamba_n_heads\": 2, \"mamba_d_head\": 64,"
                                         "\"layer_types\": [\"attention\", \"attention\"], " SHAPE "}");
    struct architecture a = architecture_of_keys(&keys);
    assert_int_equal(a.attention_layers, 2);
    assert_int_equal(a.mixer_layers, 0);
    assert_int_equal(a.ffn, 96);
}

TEST(hf_config_read__experts_in_some_layers__others_dense)
{
    struct hf_keys keys =
        read_text("c", "{\"model_type\": \"qwen3_moe\", \"num_hidden_layers\": 8, \"hidden_size\": 64,"
                       "\"num_attention_heads\": 4, \"num_key_value_heads\": 4, \"intermediate_size\": 128,"
                       "\"vocab_size\": 100, \"num_experts\": 4,"
                       "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32, \"decoder_sparse_step\": 2,"
                       "\"mlp_only_layers\": [1, 2]}");
    assert_int_equal(architecture_of_keys(&keys).dense_layers, 5);
}

/* modeling_gpt_neox.py: attention_bias is of query_key_value and dense, and the MLP has its own whatever it says. */
TEST(hf_config_read__gpt_neox_without_attention_bias__has_that_of_the_mlp)
{
    struct hf_keys with = read_text("c.json", "{\"model_type\": \"gpt_neox\", " SHAPE "}");
    struct hf_keys without =
        read_text("c.json", "{\"model_type\": \"gpt_neox\", " SHAPE ", \"attention_bias\": false}");
    struct architecture a = architecture_of_keys(&with), b = architecture_of_keys(&without);
    struct architecture_parameters p, q;
    assert_true(architecture_count(&a, 1, &p));
    assert_true(architecture_count(&b, 1, &q));
    assert_float_equal(p.total - q.total, (double)(a.layers * (3 * a.hidden + a.hidden)), 0);
}

TEST_ROWS(
    hf_config_read__bad_file__one_sentence_with_file_and_field, (const char *text, *message),
    {"[1]", "c.json is not a JSON object, as a model's config.json must be"},
    {"{\"model_type\": ", "c.json is not a JSON object, as a model's config.json must be"},
    {"{" SHAPE "}", "c.json lacks \"model_type\", which says what the other fields mean"},
    {"{\"model_type\": \"llama\", \"num_hidden_layers\": 2}",
     "c.json lacks \"hidden_size\", which model_type llama needs"},
    /* not as many as heads: 8, 128 and 256 */
    {"{\"model_type\": \"mistral\", " SHAPE "}",
     "c.json lacks \"num_key_value_heads\", which model_type mistral needs"},
    {"{\"model_type\": \"qwen3\", " SHAPE ", \"num_key_value_heads\": 2}",
     "c.json lacks \"head_dim\", which model_type qwen3 needs"},
    {"{\"model_type\": \"gemma\", " SHAPE ", \"num_key_value_heads\": 1}",
     "c.json lacks \"head_dim\", which model_type gemma needs"},
    {"{\"model_type\": \"llama\", " SHAPE ", \"num_key_value_heads\": \"two\"}",
     "c.json: \"num_key_value_heads\" is \"two\", but must be a whole number"},
    {"{\"model_type\": \"llama\", " SHAPE ", \"head_dim\": 2.5}",
     "c.json: \"head_dim\" is 2.5, but must be a whole number"},
    {"{\"model_type\": \"gemma3\", \"vision_config\": {}, " SHAPE "}",
     "c.json: \"vision_config\" is an encoder tower, which is not counted; save text_config as a separate file"},
    {"{\"model_type\": \"kosmos9\", \"text_config\": {" SHAPE "}}",
     "c.json: model_type \"kosmos9\" is not known; its language model is in text_config; save that as a separate file"},
    {"{\"model_type\": \"deepseek_v32\", " SHAPE "}",
     "c.json: the parameters of model_type \"deepseek_v32\" cannot be counted: no key describes the parameters of "
     "its indexer, which chooses the tokens that attention sees"},
    {"{\"model_type\": \"lfm2\", " SHAPE "}", "c.json: the parameters of model_type \"lfm2\" cannot be counted: no "
                                              "key describes the parameters of its short convolutions"},
    {"{\"model_type\": \"minimax_m2\", \"use_qk_norm\": false, " SHAPE "}",
     "c.json: \"use_qk_norm\" is 0, but for model_type minimax_m2 only 1 is known; give layers, hidden, heads, ffn "
     "and vocab as keys instead of hf_config"},
    {"{\"model_type\": \"internlm3\", \"bias\": true, " SHAPE "}",
     "c.json: \"bias\" is 1, but for model_type internlm3 only 0 is known; give layers, hidden, heads, ffn and "
     "vocab as keys instead of hf_config"},
    {"{\"model_type\": \"qwen3_vl_text\", " SHAPE "}",
     "c.json lacks \"tie_word_embeddings\", which model_type qwen3_vl_text needs"},
    {"{\"model_type\": \"dbrx\", \"n_layers\": 2, \"d_model\": 64, \"n_heads\": 4, \"attn_config\": {}}",
     "c.json lacks \"attn_config.kv_n_heads\", which model_type dbrx needs"},
    {"{\"model_type\": \"phi\", \"qk_layernorm\": true, " SHAPE "}",
     "c.json: \"qk_layernorm\" is 1, but for model_type phi only 0 is known; give layers, hidden, heads, ffn and "
     "vocab as keys instead of hf_config"},
    {"{\"model_type\": \"opt\", \"num_hidden_layers\": 2, \"hidden_size\": 64, \"num_attention_heads\": 4,"
     "\"ffn_dim\": 128, \"vocab_size\": 100, \"max_position_embeddings\": 32, \"word_embed_proj_dim\": 32}",
     "c.json: \"word_embed_proj_dim\" is 32, but \"hidden_size\" is 64; embeddings of another width are not supported"},
    {"{\"model_type\": \"nemotron_h\", \"mamba_num_heads\": 2, \"mamba_head_dim\": 64, \"n_groups\": 1,"
     "\"ssm_state_size\": 16, " SHAPE "}",
     "c.json lacks \"hybrid_override_pattern\", which model_type nemotron_h needs"},
    {"{\"model_type\": \"granitemoehybrid\", \"num_local_experts\": 0, \"shared_intermediate_size\": 64,"
     "\"mamba_n_heads\": 2, \"mamba_d_head\": 64, \"layer_types\": [\"mamba\"], " SHAPE "}",
     "c.json lacks \"layer_types\", a list of one string for each of 2 layers, which model_type granitemoehybrid "
     "needs"},
    {"{\"model_type\": \"bamba\", \"mamba_n_heads\": 2, \"mamba_d_head\": \"auto\", " SHAPE "}",
     "c.json: \"mamba_d_head\" is \"auto\", but must be a whole number"},
    {"{\"model_type\": \"jamba\", \"mamba_conv_bias\": false, \"mamba_dt_rank\": 4, " SHAPE "}",
     "c.json: \"mamba_conv_bias\" is 0, but for model_type jamba only 1 is known; give layers, hidden, heads, ffn "
     "and vocab as keys instead of hf_config"},
    {"{\"model_type\": \"llama\", \"num_local_experts\": 8, " SHAPE "}",
     "c.json: \"num_local_experts\" is 8, but no llama is known to have any: its own model_type, or layers, hidden, "
     "heads, ffn and vocab as keys in place of hf_config, would be needed"},
    {"{\"model_type\": \"qwen3\", \"num_key_value_heads\": 2, \"head_dim\": 16, " SHAPE
     ", \"layer_types\": [\"linear_attention\"]}",
     "c.json: \"layer_types\" is [\"linear_attention\"], but must be a list of full_attention and "
     "sliding_attention"})
{
    struct hf_keys keys = {NULL, 0};
    struct error e = ERROR_INIT;
    assert_int_equal(hf_config_read(&arena, "c.json", row->text, NULL, &keys, &e), -1);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_string_equal(e.text, row->message);
}

TEST(hf_config_read__unknown_type__what_would_be_needed)
{
    struct hf_keys keys = {NULL, 0};
    struct error e = ERROR_INIT;
    assert_int_equal(hf_config_read(&arena, "c.json", "{\"model_type\": \"lama\"}", NULL, &keys, &e), -1);
    assert_non_null(
        strstr(e.text, "c.json: model_type \"lama\" is not known; did you mean \"llama\"? (known: baichuan,"));
    assert_non_null(strstr(e.text, "; give layers, hidden, heads, ffn and vocab as keys instead of hf_config"));
}

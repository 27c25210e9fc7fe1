/* Throughput that frameworks publish with the configuration that it was measured with, of which nothing was used. */
#include <math.h>

#include "unit_test.h"
#include "util/memory.h"
#include "value_fixture.h"

struct published {
    const char *profile, *device, *keys;
    int devices_per_host, hosts, copies; /* of the hosts, each with a slice of its own */
    double tflops;                       /* of a device; 0: published without */
};

#define V4_22B                                                                                                         \
    "base_emb_dim = 6144\nbase_num_kv_heads = 24\nbase_num_query_heads = 24\nbase_mlp_dim = 24576\n"                   \
    "base_num_decoder_layers = 48\nper_device_batch_size = 13\nremat_policy = \"full\"\nnum_vocab_tiling = 8\n"        \
    "ici_fsdp_parallelism = 64\n"
#define SCALED(scale, batch, remat, tensor)                                                                            \
    "global_parameter_scale = " scale "\nper_device_batch_size = " batch "\nremat_policy = \"" remat "\"\n"            \
    "max_target_length = 2048\nici_fsdp_parallelism = -1\nici_tensor_parallelism = " tensor "\n"
#define GEMMA_27B                                                                                                      \
    "base_emb_dim = 4608\nbase_num_query_heads = 32\nbase_num_kv_heads = 16\nbase_mlp_dim = 36864\n"                   \
    "base_num_decoder_layers = 23\nhead_dim = 128\nvocab_size = 256128\ndecoder_block = \"gemma2\"\n"                  \
    "logits_via_embedding = true\nsliding_window_size = 4096\nuse_post_attn_norm = true\nuse_post_ffw_norm = true\n"   \
    "per_device_batch_size = 2\nremat_policy = \"full\"\nmax_target_length = 8192\nici_fsdp_parallelism = -1\n"        \
    "ici_fsdp_transpose_parallelism = 256\n"
#define LLAMA_7B                                                                                                       \
    "base_emb_dim = 4096\nbase_num_query_heads = 32\nbase_num_kv_heads = 32\nbase_mlp_dim = 11008\n"                   \
    "base_num_decoder_layers = 32\nvocab_size = 32000\nmax_target_length = 4096\nper_device_batch_size = 4\n"          \
    "remat_policy = \"minimal_with_context\"\nattention = \"cudnn_flash_te\"\nici_fsdp_parallelism = 8\n"

/* MaxText, src/maxtext/configs/tpu/v4, v5e, v5p, v6e and gpu/a3/llama_2_7b: README.md, the scripts beside it. A chip of
 * v5p is two cores, by which slices are named. */
static const struct published published[] = {
    {"maxtext", "TPU v4", V4_22B, 4, 16, 1, 156},
    {"maxtext", "TPU v4", V4_22B, 4, 16, 8, 146},
    {"maxtext", "TPU v5e", SCALED("16", "6", "full", "1"), 4, 64, 1, 120},
    {"maxtext", "TPU v5e", SCALED("16", "6", "full", "1"), 4, 64, 32, 108},
    {"maxtext", "TPU v5e", SCALED("32", "4", "full", "1"), 4, 64, 1, 132},
    {"maxtext", "TPU v5e", SCALED("32", "4", "full", "1"), 4, 64, 32, 119},
    {"maxtext", "TPU v5e", SCALED("128", "1", "qkv_proj_offloaded", "16"), 4, 64, 1, 110},
    {"maxtext", "TPU v5e", SCALED("128", "1", "qkv_proj_offloaded", "16"), 4, 64, 32, 91},
    {"maxtext", "TPU v5p", SCALED("64", "3", "minimal", "4"), 4, 16, 1, 323},
    {"maxtext", "TPU v5p", SCALED("64", "3", "minimal", "4"), 4, 16, 2, 309},
    {"maxtext", "TPU v5p", SCALED("128", "1", "minimal", "8"), 4, 32, 1, 315},
    {"maxtext", "TPU v5p", SCALED("128", "1", "minimal", "8"), 4, 32, 2, 305},
    {"maxtext", "TPU v5p", SCALED("512", "2", "full", "8"), 4, 128, 1, 294},
    {"maxtext", "TPU v5p", SCALED("1024", "2", "full", "16"), 4, 256, 2, 237},
    {"maxtext", "TPU v5p", SCALED("1024", "2", "full", "16"), 4, 512, 2, 279},
    {"maxtext", "H100", LLAMA_7B, 8, 1, 1, 492},
    {"maxtext", "H100", LLAMA_7B "dcn_data_parallelism = 16\n", 8, 1, 16, 375},
    {"maxtext", "TPU v6e", GEMMA_27B, 4, 64, 1, 0},
};

/* Reached: 13.3 % on average, at most 36 %: fewer slices are faster, which is not predicted. */
TEST(throughput__as_published__is_near_and_fits)
{
    size_t count = sizeof published / sizeof *published;
    double error = 0, compared = 0;
    for (size_t i = 0; i < count; i++) {
        const struct published *row = &published[i];
        char *text = xasprintf("profile = \"%s\"\n[predict]\ndevice = \"%s\"\n[[cluster_spec]]\nnum_hosts = %d\n"
                               "num_devices_per_host = %d\n[[parallel_spec]]\nnum_slices = %d\n%s",
                               row->profile, row->device, row->hosts * row->copies, row->devices_per_host, row->copies,
                               row->keys);
        struct built b = build_text(text);
        double predicted =
            value_of(&b, "predicted_flops") / value_of(&b, "predicted_time") / value_of(&b, "gpus") / 1e12;
        if (value_of(&b, "predicted_risk") > 2)
            fail_msg("what ran is predicted not to fit: %s", row->keys);
        if (row->tflops > 0) {
            print_message("%s, %d hosts: %.0f TFLOP/s of %.0f\n", row->device, row->hosts * row->copies, predicted,
                          row->tflops);
            assert_true(fabs(predicted / row->tflops - 1) < 0.4);
            error += fabs(predicted / row->tflops - 1);
            compared++;
        }
        built_free(&b);
        free(text);
    }
    print_message("published throughput: mean error %.1f %%\n", 100 * error / compared);
    assert_true(error / compared <= 0.16);
}

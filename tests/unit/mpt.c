#include "mpt.h"

#include "unit_test.h"

const char *const mpt_cluster_names[MPT_CLUSTERS] = {"a100_40gb", "a100_80gb", "h100_80gb"};

static const char *const devices[MPT_CLUSTERS] = {"A100-40GB", "A100-80GB", "H100"};

/* Published: 1600 Gb/s between nodes of eight A100, 3200 Gb/s of eight H100. */
static const double inter_bytes_per_s[MPT_CLUSTERS] = {25e9, 25e9, 50e9};

static const struct {
    const char *name;
    int64_t layers, hidden, heads;
} sizes[] = {{"125m", 12, 768, 12}, {"350m", 24, 1024, 16}, {"760m", 24, 1536, 12},
             {"1b", 24, 2048, 16},  {"3b", 32, 2560, 20},   {"7b", 32, 4096, 32},
             {"13b", 40, 5120, 40}, {"30b", 48, 7168, 56},  {"70b", 80, 8192, 64}};

static size_t index_of(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    fail_msg("%s is not known", name);
    return 0;
}

static struct architecture read_architecture(const char *name)
{
    struct architecture a = architecture_of(ARCHITECTURE_GPT);
    size_t i = 0;
    while (strcmp(sizes[i].name, name) != 0)
        i++;
    a.layers = sizes[i].layers;
    a.hidden = sizes[i].hidden;
    a.heads = sizes[i].heads;
    a.vocab = 50368;
    a.biases = a.dropout = false;
    return a;
}

static struct training_plan read_plan(const struct shared_table *t, size_t row)
{
    bool full = strcmp(shared_text(t, row, "sharding"), "FULL_SHARD") == 0;
    bool recompute = strcmp(shared_text(t, row, "act_ckpt"), "True") == 0;
    bool fp8 = strcmp(shared_text(t, row, "precision"), "amp_fp8") == 0;
    return (struct training_plan){
        .data = (int64_t)shared_number(t, row, "gpus"),
        .micro_batch = (int64_t)shared_number(t, row, "mbs"),
        .micro_batches = (int64_t)shared_number(t, row, "grad_acc"),
        .sequence = (int64_t)shared_number(t, row, "seq_len"),
        .zero_stage = full ? 3 : 2,
        .recompute = recompute ? RECOMPUTE_FULL : RECOMPUTE_NONE,
        .precision = fp8 ? PRECISION_FP8 : PRECISION_BF16,
        .flash_attention = true,
        .attention_kernel = ATTENTION_KERNEL_TRITON,
        .loss = LOSS_FUSED,
        .gradient_bytes = strcmp(shared_text(t, row, "mp_mode"), "DEFAULT") == 0 ? 4 : 0,
    };
}

bool mpt_read(const struct shared_table *t, size_t row, struct mpt_run *out)
{
    struct error e = ERROR_INIT;
    double tokens_per_s = shared_number(t, row, "tok_s");
    if (shared_number(t, row, "suspect") != 0 || tokens_per_s <= 0)
        return false;
    *out = (struct mpt_run){.architecture = read_architecture(shared_text(t, row, "model")),
                            .plan = read_plan(t, row),
                            .step_s = shared_number(t, row, "gbs_tokens") / tokens_per_s};
    out->on = (enum mpt_cluster)index_of(mpt_cluster_names, MPT_CLUSTERS, shared_text(t, row, "gpu"));
    out->cluster.device = device_find(NULL, devices[out->on]);
    out->cluster.inter_bytes_per_s = inter_bytes_per_s[out->on];
    if (architecture_complete(&out->architecture, &e) || plan_complete(&out->plan, &out->architecture, &e) ||
        cluster_complete(&out->cluster, &e))
        fail_msg("row %zu: %s", row, e.text);
    return true;
}

struct step_prediction mpt_predict(const struct mpt_run *run, const struct framework *framework)
{
    struct step_prediction s;
    FAIL_IF(step_predict(&run->architecture, &run->plan, &run->cluster, framework, &s, &e));
    return s;
}

struct observation mpt_observe(const struct mpt_run *run, const struct framework *framework)
{
    struct step_prediction s = mpt_predict(run, framework);
    struct observation o = {.y = run->step_s, .kind = OBSERVATION_MEASURED};
    memcpy(o.terms, s.terms, sizeof s.terms);
    return o;
}

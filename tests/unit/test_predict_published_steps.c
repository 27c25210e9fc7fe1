/* predict: step time, against published iterations, and the rank of measured ones. */
#include <time.h>

#include "predict/memory.h"
#include "published_tables.h"
#include "statistics.h"
#include "step_fixture.h"

/* arXiv 2205.05198, table 5: seconds per iteration on A100, full recompute and sequence-parallel selective,
 * which Calculon, built for these, meets within 3.7 % on average (8.9 % at most). No weight is from these
 * rows. Reached: mean 5.5 %, at most 11 %. */
TEST(step_predict__selective_recompute_paper__its_iterations)
{
    ROWS(rows, int64_t layers, hidden, heads, pipeline, virtual_stages, micro_batch, micro_batches;
         double full_s, selective_s) = {
        {48, 6144, 64, 1, 1, 4, 1, 1.42, 1.10},
        {96, 12288, 96, 8, 3, 1, 64, 18.13, 13.75},
        {105, 20480, 128, 35, 3, 1, 280, 49.05, 37.83},
        {128, 25600, 160, 64, 1, 1, 512, 94.42, 71.49},
    };
    double error = 0;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        PLAN(plan, .tensor = 8, .pipeline = rows[i].pipeline, .virtual_stages = rows[i].virtual_stages,
             .micro_batch = rows[i].micro_batch, .micro_batches = rows[i].micro_batches, .sequence = 2048,
             .recompute = RECOMPUTE_FULL);
        plan.schedule = plan.virtual_stages > 1 ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B;
        struct architecture a = gpt(rows[i].layers, rows[i].hidden, rows[i].heads);
        double full = predict(a, plan, *a100(), "megatron").seconds;
        plan.recompute = RECOMPUTE_SELECTIVE;
        plan.sequence_parallel = true;
        double selective = predict(a, plan, *a100(), "megatron").seconds;
        print_message("%.1f s of %.1f, %.1f of %.1f\n", full, rows[i].full_s, selective, rows[i].selective_s);
        assert_close(full, rows[i].full_s, 0.15);
        assert_close(selective, rows[i].selective_s, 0.15);
        error += fabs(full / rows[i].full_s - 1) + fabs(selective / rows[i].selective_s - 1);
    }
    print_message("iterations of the paper: mean error %.1f %%\n", 100 * error / 8);
    assert_true(error / 8 <= 0.08);
}

struct vtrain_run {
    char group[64]; /* one model, number of devices and global batch: what may be ranked */
    double predicted_s, measured_s;
};

static void vtrain_read(const struct shared_table *t, size_t row, const struct framework *framework,
                        struct vtrain_run *out)
{
    struct published_run run;
    struct step_prediction s;
    assert_true(published_read(t, row, published_table("vTrain"), &run));
    assert_true(step_predict(&run.architecture, &run.plan, &run.cluster, framework, &s));
    snprintf(out->group, sizeof out->group, "%s/%s/%s/%s", shared_text(t, row, "n_layers"),
             shared_text(t, row, "hidden"), shared_text(t, row, "gpus"), shared_text(t, row, "gbs"));
    out->predicted_s = s.seconds;
    out->measured_s = run.step_s;
}

static int compare_groups(const void *a, const void *b)
{
    return strcmp(((const struct vtrain_run *)a)->group, ((const struct vtrain_run *)b)->group);
}

enum { VTRAIN_GROUPS = 48 };

struct vtrain_ranks {
    char group[VTRAIN_GROUPS][64]; /* in order */
    double rho[VTRAIN_GROUPS];
    size_t groups;
    double error; /* mean, of the seconds */
};

static void rank_group(const struct vtrain_run *runs, size_t count, struct vtrain_ranks *out)
{
    enum { MOST = 32 };
    double predicted[MOST], measured[MOST];
    assert_true(count <= MOST && out->groups < VTRAIN_GROUPS);
    for (size_t i = 0; i < count; i++) {
        predicted[i] = runs[i].predicted_s;
        measured[i] = runs[i].measured_s;
        out->error += fabs(predicted[i] / measured[i] - 1);
    }
    memcpy(out->group[out->groups], runs->group, sizeof runs->group);
    out->rho[out->groups++] = rank_correlation(predicted, measured, count);
}

static void vtrain_rank(const struct shared_table *t, const struct framework *framework, struct vtrain_ranks *out)
{
    OWNED struct vtrain_run *runs = xcalloc(t->row_count, sizeof *runs);
    *out = (struct vtrain_ranks){.groups = 0};
    for (size_t row = 0; row < t->row_count; row++)
        vtrain_read(t, row, framework, &runs[row]);
    qsort(runs, t->row_count, sizeof *runs, compare_groups);
    for (size_t begin = 0, end; begin < t->row_count; begin = end) {
        for (end = begin; end < t->row_count && compare_groups(&runs[end], &runs[begin]) == 0;)
            end++;
        rank_group(runs + begin, end - begin, out);
    }
    out->error /= (double)t->row_count;
}

static double lowest(const double *values, size_t count)
{
    double least = values[0];
    for (size_t i = 1; i < count; i++)
        least = fmin(least, values[i]);
    return least;
}

static double mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

/* 736 measured iterations of GPT on 2 to 8 A100 in 48 groups; the weights are those that hold for anybody, none from
 * this table. Attention is not fused. Reached: rank correlation within a group 0.950 on average, lowest 0.899 (mean
 * error of the seconds 10.8 %). With launches that hide behind the device's time by the root of squares: 0.963 and
 * 0.909 (12.7 %). The link is NVLink's published 300 GB/s; at the 150 GB/s that come with the table, which is what was
 * measured of it, the weight of the tensor term would count the loss twice. */
TEST(step_predict__vtrain_runs__ranked_within_their_groups)
{
    HELD(shared_table) t;
    struct vtrain_ranks r;
    NEEDS(shared_table_load("vtrain-single-node.csv", &t));
    vtrain_rank(&t, framework_find("megatron"), &r);
    print_message("vTrain: %zu runs in %zu groups, mean rank correlation %.3f, lowest %.3f, mean error %.1f %%\n",
                  t.row_count, r.groups, mean(r.rho, r.groups), lowest(r.rho, r.groups), 100 * r.error);
    assert_true(r.groups == VTRAIN_GROUPS);
    assert_true(mean(r.rho, r.groups) >= 0.945 && lowest(r.rho, r.groups) >= 0.89);
}

static bool is_same_model(const char *a, const char *b)
{
    size_t length = strcspn(a, "/") + 1;
    length += strcspn(a + length, "/") + 1;
    return strncmp(a, b, length) == 0;
}

enum { LAUNCHES = 6 };

/* The launch under which the groups of the other models have the highest mean correlation. */
static size_t launch_of_the_others(const struct vtrain_ranks *ranks, const char *group)
{
    size_t best = 0;
    double best_mean = -1;
    for (size_t l = 0; l < LAUNCHES; l++) {
        double others[VTRAIN_GROUPS] = {0};
        size_t count = 0;
        for (size_t g = 0; g < ranks[l].groups; g++)
            if (!is_same_model(ranks[l].group[g], group))
                others[count++] = ranks[l].rho[g];
        if (mean(others, count) > best_mean) {
            best_mean = mean(others, count);
            best = l;
        }
    }
    return best;
}

/* Were the weight of launches chosen by the table, each of the eight models by the seven others. Reached: 0.950 and
 * 0.900, with 2.0 to 2.5 ms; 0.953 and 0.906 with the profile's 2.0. */
TEST(step_predict__vtrain_launch_of_the_other_models__as_good)
{
    static const double launches[LAUNCHES] = {0.5e-3, 1e-3, 1.5e-3, 2e-3, 2.5e-3, 3e-3};
    HELD(shared_table) t;
    struct vtrain_ranks ranks[LAUNCHES];
    double held_out[VTRAIN_GROUPS] = {0}, least = 1, most = 0;
    NEEDS(shared_table_load("vtrain-single-node.csv", &t));
    for (size_t l = 0; l < LAUNCHES; l++) {
        struct framework f = *framework_find("megatron");
        f.time.weights[TIME_LAUNCH] = f.time.nominal[TIME_LAUNCH] = launches[l];
        vtrain_rank(&t, &f, &ranks[l]);
        print_message("  launches of %.1f ms: mean rank correlation %.3f, lowest %.3f\n", 1e3 * launches[l],
                      mean(ranks[l].rho, ranks[l].groups), lowest(ranks[l].rho, ranks[l].groups));
    }
    for (size_t g = 0; g < ranks[0].groups; g++) {
        size_t l = launch_of_the_others(ranks, ranks[0].group[g]);
        held_out[g] = ranks[l].rho[g];
        least = fmin(least, launches[l]);
        most = fmax(most, launches[l]);
    }
    print_message("vTrain, launches by the other models, %.1f to %.1f ms: mean rank correlation %.3f, lowest %.3f\n",
                  1e3 * least, 1e3 * most, mean(held_out, ranks[0].groups), lowest(held_out, ranks[0].groups));
    assert_true(mean(held_out, ranks[0].groups) >= 0.945 && lowest(held_out, ranks[0].groups) >= 0.9);
}

static const char *node_group(const struct shared_table *t, size_t row, char out[64])
{
    snprintf(out, 64, "%s/%s", shared_text(t, row, "model"), shared_text(t, row, "nodes"));
    return out;
}

enum { GROUP_MOST = 64 };

struct timed_group {
    double predicted_s[GROUP_MOST], measured_s[GROUP_MOST];
    size_t count;
};

/* The runs of one model on one number of nodes, without a pipeline and with tp <= 8; marks their rows. */
static void ultrascale_group(const struct shared_table *t, size_t first, bool *seen, struct timed_group *out)
{
    const struct cluster cluster = {.device = device_find(NULL, "H100"), .inter_bytes_per_s = 50e9};
    char group[64], other[64];
    out->count = 0;
    node_group(t, first, group);
    for (size_t row = first; row < t->row_count; row++) {
        struct published_run run;
        if (strcmp(node_group(t, row, other), group) != 0)
            continue;
        seen[row] = true;
        if (!published_read(t, row, published_table("nanotron, ultra-scale, no pipeline"), &run) || run.plan.tensor > 8)
            continue;
        assert_true(out->count < GROUP_MOST);
        out->predicted_s[out->count] = predict(run.architecture, run.plan, cluster, "nanotron").seconds;
        out->measured_s[out->count++] = run.step_s;
    }
}

/* nanotron's runs without a pipeline (with one, half of them are slow for reasons apart), weights that hold
 * for anybody, adapters of 400 Gb/s. Reached, 187 runs: mean error 14 %, mostly too fast; within the groups
 * of one model and up to 8 nodes rank correlation 0.927 on average, and the run predicted fastest is the
 * fastest or within 4 %. From 16 nodes on the network decides, which the weights of a cluster must tell: 0.06
 * to 0.78. */
TEST(step_predict__ultrascale_runs__ranked_on_few_nodes)
{
    HELD(shared_table) t;
    double error = 0, runs = 0, rho = 0, groups = 0;
    NEEDS(shared_table_load("ultrascale-1B-8B.csv", &t));
    OWNED bool *seen = xcalloc(t.row_count, sizeof *seen);
    for (size_t first = 0; first < t.row_count; first++) {
        struct timed_group g;
        if (seen[first])
            continue;
        ultrascale_group(&t, first, seen, &g);
        for (size_t i = 0; i < g.count; i++)
            error += fabs(g.predicted_s[i] / g.measured_s[i] - 1);
        runs += (double)g.count;
        if (shared_number(&t, first, "nodes") > 8)
            continue;
        rho += rank_correlation(g.predicted_s, g.measured_s, g.count);
        groups++;
    }
    print_message("ultrascale without pipeline: %.0f runs, mean error %.1f %%; %.0f groups on up to 8 nodes, mean rank "
                  "correlation %.3f\n",
                  runs, 100 * error / runs, groups, rho / groups);
    assert_true(runs == 187 && groups == 8);
    assert_true(error / runs <= 0.3 && rho / groups >= 0.9);
}

/* Processor time is printed, not asserted: machines differ, and sanitizers are slow. */
TEST(predict__many_plans__predictions_per_second)
{
    enum { ROUNDS = 100000 };
    struct architecture a = gpt(32, 4096, 32);
    struct training_plan plan = {.tensor = 4, .pipeline = 4, .data = 4, .micro_batches = 16, .sequence = 4096};
    struct cluster cluster = *a100();
    const struct framework *framework = framework_find("megatron");
    struct memory_prediction m = {.sigma = 0};
    struct step_prediction s = {.seconds = 0};
    double sum = 0;
    bool good = true;
    all_completed(&a, &plan, &cluster);
    clock_t began = clock();
    for (int i = 0; i < ROUNDS; i++) {
        plan.micro_batch = 1 + i % 16;
        good &= memory_predict(&a, &plan, &cluster, &framework->memory, &m) &&
                step_predict(&a, &plan, &cluster, framework, &s);
        sum += m.most.bytes + s.seconds;
    }
    assert_true(good);
    double seconds = (double)(clock() - began + 1) / CLOCKS_PER_SEC;
    print_message("%.2f million plans per second, memory and time (%.0f)\n", ROUNDS / seconds / 1e6, sum / sum);
}

/* Llama 8B with 4,096 tokens on one GH200 (tests/data/unseen/large-scale-ai-teams.csv): 0.513 s in bf16, 0.855 in
 * torchao's fp8 without a compiler and 0.385 with one. */
TEST(step_predict__fp8_by_torch_operations__slower_than_bf16_unless_compiled)
{
    struct architecture a = shaped(ARCHITECTURE_LLAMA, 32, 4096, 32, 131072);
    struct training_plan plan = {.sequence = 4096, .flash_attention = true, .weights = WEIGHTS_16};
    a.kv_heads = 8;
    a.ffn = 14336;
    double bf16 = predict(a, plan, on("GH200"), "torch-ddp").seconds;
    plan.precision = PRECISION_FP8;
    double fused = predict(a, plan, on("GH200"), "torch-ddp").seconds;
    plan.casts = CASTS_EAGER;
    assert_close(predict(a, plan, on("GH200"), "torch-ddp").seconds, bf16 * 0.855 / 0.513, 0.15);
    plan.compiled = true;
    double compiled = predict(a, plan, on("GH200"), "torch-ddp").seconds;
    assert_true(compiled < bf16 && compiled <= fused);
}

/* Qwen2.5 7B with 1,024 tokens on two H100 of 64 GB by Transformers' tp_plan, whose DTensors the host dispatches:
 * 0.221 s (tests/data/unseen/qat-precision-bench.csv). */
TEST(step_predict__tensor_parallelism_by_dtensors__waits_for_the_host)
{
    struct architecture a = shaped(ARCHITECTURE_LLAMA, 28, 3584, 28, 152064);
    PLAN(plan, .tensor = 2, .sequence = 1024, .flash_attention = true, .weights = WEIGHTS_16);
    a.kv_heads = 4;
    a.ffn = 18944;
    double eager = predict(a, plan, on("H100-64GB"), "hf-trainer").seconds;
    assert_close(eager, 0.221, 0.2);
    assert_true(predict(a, BUT(plan, it.compiled = true), on("H100-64GB"), "hf-trainer").seconds < 0.7 * eager);
}

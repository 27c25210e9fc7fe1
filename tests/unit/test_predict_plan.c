/* predict: stages, activations in flight, devices. */
#include "predict/architecture.h"
#include "predict/device.h"
#include "predict/plan.h"
#include "predict_fixture.h"

static struct architecture playbook(int64_t layers, int64_t hidden, int64_t ffn, bool tied)
{
    struct architecture a = shaped(ARCHITECTURE_LLAMA, layers, hidden, 32, 131072);
    a.ffn = ffn;
    a.tied_embeddings = tied;
    FAIL_IF(architecture_complete(&a, &e));
    return a;
}

static struct training_plan complete(struct training_plan plan, const struct architecture *a)
{
    FAIL_IF(plan_complete(&plan, a, &e));
    return plan;
}

static double sum_of_layers(const struct training_plan *plan, const struct architecture *a)
{
    double sum = 0;
    for (int64_t k = 0; k < plan->pipeline; k++)
        sum += plan_stage_layers(plan, a, k);
    return sum;
}

/* 16 layers and a head worth 4: 20 over 8 stages is 2.5, cut where the running sum passes a multiple of it.
 */
TEST(plan_stage_layers__cut_by_cost__last_stages_hold_fewer)
{
    static const double expected[] = {3, 2, 3, 2, 3, 2, 1, 0};
    const struct architecture a = playbook(16, 2048, 8192, true);
    const struct training_plan plan =
        complete((struct training_plan){.pipeline = 8, .sequence = 4096, .split = SPLIT_BY_COST}, &a);
    for (int64_t k = 0; k < 8; k++)
        assert_true(plan_stage_layers(&plan, &a, k) == expected[k]);
    assert_true(sum_of_layers(&plan, &a) == 16);
    assert_int_equal(plan_head_stage(&plan, &a), 6);
}

TEST(plan_stage_layers__even_cut__the_stage_ends_there)
{
    const struct architecture a = playbook(16, 2048, 8192, true);
    const struct training_plan plan =
        complete((struct training_plan){.pipeline = 2, .sequence = 4096, .split = SPLIT_BY_COST}, &a);
    assert_true(plan_stage_layers(&plan, &a, 0) == 10);
    assert_true(plan_stage_layers(&plan, &a, 1) == 6);
    assert_int_equal(plan_head_stage(&plan, &a), 1);
}

TEST(plan_stage_layers__any_split__all_layers_once)
{
    const struct architecture a = playbook(32, 4096, 14336, false);
    for (int64_t p = 1; p <= 32; p++)
        for (int split = SPLIT_UNIFORM; split <= SPLIT_BY_COST; split++) {
            struct training_plan plan = {.pipeline = p, .sequence = 4096, .split = (enum stage_split)split};
            plan = complete(plan, &a);
            assert_true(sum_of_layers(&plan, &a) == 32);
            assert_in_range(plan_head_stage(&plan, &a), 0, p - 1);
        }
}

/* Layers of the first, second and last stage. */
static void check_stages(struct training_plan plan, int64_t layers, double first, double second, double last)
{
    const struct architecture a = playbook(layers, 2048, 8192, false);
    plan.sequence = 128;
    plan = complete(plan, &a);
    assert_true(plan_stage_layers(&plan, &a, 0) == first);
    assert_true(plan_stage_layers(&plan, &a, 1) == second);
    assert_true(plan_stage_layers(&plan, &a, plan.pipeline - 1) == last);
    assert_true(sum_of_layers(&plan, &a) == (double)layers);
}

TEST(plan_stage_layers__uneven__as_the_keys_say)
{
    check_stages((struct training_plan){.pipeline = 8, .first_layers = 7, .last_layers = 7}, 62, 7, 8, 7);
    check_stages((struct training_plan){.pipeline = 4, .last_layers = 3}, 18, 5, 5, 3);
    check_stages((struct training_plan){.pipeline = 16, .count_embedding = true, .count_head = true}, 94, 5, 6, 5);
    check_stages((struct training_plan){.pipeline = 4,
                                        .layout = "Et*2|(tt|)*5t|tmL",
                                        .virtual_stages = 2,
                                        .schedule = SCHEDULE_INTERLEAVED},
                 14, 4, 4, 3);
}

TEST_ROWS(plan_complete__layouts_that_do_not_add_up__refused, (const char *text), {"Et|t|t|tL|"}, {"Et|t|t|L"},
          {"Et|t|t|(tL"}, {"Et|t|t|x"}, {"E(((((((((t)))))))))|t|t|tL"},
          {"E((((((()*4096)*4096)*4096)*4096)*4096)*4096)|tt|t|tL"}, {"Et*0|tt|t|tL"}, {"*4"})
{
    const struct architecture a = playbook(4, 2048, 8192, false);
    struct training_plan plan = {.pipeline = 4, .sequence = 64, .layout = row->text};
    FAILS_WITH_PART(plan_complete(&plan, &a, &e), "pipeline_layout");
}

/* The papers' figures for a pipeline of four: micro-batches held, and the share of 1F1B's waiting. */
TEST_ROWS(plan_in_flight__zero_bubble__of_the_papers, (enum pipeline_schedule schedule; double first, last, waiting),
          {SCHEDULE_1F1B, 4, 1, 1}, {SCHEDULE_ZB_H1, 4, 1, 1.0 / 3}, {SCHEDULE_ZB_V, 4, 4, 0},
          {SCHEDULE_DUALPIPE_V, 4.5, 4.5, 1.0 / 3})
{
    const struct architecture a = playbook(16, 2048, 8192, false);
    struct training_plan plan = {.pipeline = 4, .micro_batches = 8, .sequence = 64, .schedule = row->schedule};
    plan = complete(plan, &a);
    assert_true(plan_in_flight(&plan, 0) == row->first && plan_in_flight(&plan, 3) == row->last);
    assert_true(plan_waiting_share(&plan) == row->waiting);
}

TEST(plan_in_flight__each_schedule__as_scheduled)
{
    const struct architecture a = playbook(32, 4096, 14336, false);
    struct training_plan plan = {.pipeline = 4, .micro_batches = 8, .sequence = 4096};
    plan = complete(plan, &a);
    assert_true(plan_in_flight(&plan, 0) == 4);
    assert_true(plan_in_flight(&plan, 3) == 1);
    plan.micro_batches = 2;
    assert_true(plan_in_flight(&plan, 0) == 2);
    plan.schedule = SCHEDULE_GPIPE;
    plan.micro_batches = 8;
    assert_true(plan_in_flight(&plan, 3) == 8);
}

/* arXiv 2205.05198: interleaving multiplies the first stage's activations by 1 + (p - 1)/(p·v). */
TEST(plan_in_flight__interleaved__penalty_of_the_paper)
{
    const struct architecture a = playbook(32, 4096, 14336, false);
    PLAN(plan, .pipeline = 4, .virtual_stages = 8, .micro_batches = 64, .sequence = 4096,
         .schedule = SCHEDULE_INTERLEAVED);
    plan = complete(plan, &a);
    assert_true(fabs(plan_in_flight(&plan, 0) - 4 * (1 + 3.0 / 32)) < 1e-12);
    plan.micro_batches = 4;
    assert_true(plan_in_flight(&plan, 0) == 4);
}

TEST(plan_complete__experts__group_of_the_rest)
{
    struct architecture a = playbook(32, 4096, 14336, false);
    set_experts(&a, 8, 2, 0);
    const struct training_plan plan =
        complete((struct training_plan){.tensor = 2, .data = 8, .expert = 4, .sequence = 64}, &a);
    assert_int_equal(plan.expert_tensor, 2);
    assert_true(plan_expert_replicas(&plan) == 2);
}

static void refused(struct training_plan plan, const char *expected)
{
    const struct architecture a = playbook(16, 2048, 8192, true);
    const struct training_plan before = plan;
    struct error e = ERROR_INIT;
    assert_int_equal(plan_complete(&plan, &a, &e), -1);
    assert_memory_equal(&plan, &before, sizeof plan);
    if (!strstr(e.text, expected))
        fail_msg("expected \"%s\" in \"%s\"", expected, e.text);
}

TEST(plan_complete__absurd_plans__refused_untouched)
{
    refused((struct training_plan){.sequence = 0}, "sequence");
    refused((struct training_plan){.sequence = 64, .decoder_sequence = 32}, "decoder_seq is only for t5");
    refused((struct training_plan){.sequence = 64, .decoder_sequence = -1}, "decoder_sequence");
    refused((struct training_plan){.sequence = 64, .tensor = -1}, "tensor");
    refused((struct training_plan){.sequence = 1000000000000}, "sequence");
    refused((struct training_plan){.sequence = 64, .zero_stage = 4}, "zero_stage");
    refused((struct training_plan){.sequence = 64, .pipeline = 17}, "exceed the 16 layers");
    refused((struct training_plan){.sequence = 64, .tensor = 100000, .data = 10000000}, "world size");
    refused((struct training_plan){.sequence = 64, .expert = 2}, "experts");
    refused((struct training_plan){.sequence = 64, .pipeline = 2, .virtual_stages = 2}, "schedule");
}

TEST(device_find__any_case__found)
{
    const struct device *d = device_find(NULL, "h100");
    assert_non_null(d);
    assert_true(d->peak_flops == 989.5e12);
    assert_null(device_find(NULL, "H1000"));
    const struct device_table *set = devices_carried();
    assert_true(set->count >= 48);
    for (size_t i = 0; i < set->count; i++) {
        const struct device *row = &set->items[i];
        assert_ptr_equal(device_find(NULL, row->name), row);
        assert_false(device_is_kind(row->name));
        assert_true(row->attention_flops < row->peak_flops);
        assert_true(row->latest_attention_flops < row->peak_flops);
        assert_true(row->source && row->fp4_factor >= row->fp8_factor && row->fp8_factor >= 1);
        assert_true(row->usable_bytes > 1e10 && row->link_bytes_per_s < row->memory_bytes_per_s);
    }
}

/* In fp32 without matrix units; those of HGX boards are of eight. */
TEST(devices_carried__datasheets__fp32_outside_tensor_cores)
{
    ROWS(want, const char *name; double tera) = {{"T4", 8.1}, {"A40", 37.4}, {"L40S", 91.6},        {"RTX-4090", 82.6},
                                                 {"H20", 44}, {"B200", 75},  {"RTX-PRO-6000", 125}, {"MI300X", 163.4}};
    for (size_t i = 0; i < LENGTH(want); i++)
        assert_float_equal(device_find(NULL, want[i].name)->vector_flops / 1e12, want[i].tera, 1e-9);
    const struct device_table *set = devices_carried();
    for (size_t i = 0; i < set->count; i++)
        assert_true(set->items[i].vector_flops < set->items[i].peak_flops);
}

/* Dense peaks of NVIDIA's datasheets and whitepapers (HGX and DGX B300: of eight and 72 devices), AMD's, and
 * cloud.google.com/tpu/docs; links are one way. */
TEST_ROWS(devices_carried__datasheets__their_figures, (const char *name; double peak, fp8, fp4, fp32, memory, link),
          {"A40", 149.7, 149.7, 149.7, 74.8, 696, 25}, {"A30", 165, 165, 165, 82.5, 933, 25},
          {"A10G", 70, 70, 70, 35, 600, 25}, {"L40", 181.05, 362, 362, 90.5, 864, 25},
          {"L40S", 362.05, 733, 733, 183, 864, 25}, {"RTX-5090", 209.5, 419, 1676, 104.8, 1792, 50},
          {"H20", 148, 296, 296, 74, 4000, 450}, {"B300", 36e3 / 16, 72e3 / 16, 108e3 / 8, 1125, 7700, 900},
          {"GB300", 2500, 360e3 / 72, 1080e3 / 72, 1250, 8000, 900},
          {"MI250", 362.1 / 2, 362.1 / 2, 362.1 / 2, 90.5 / 2, 1638, 3 * 50},
          {"MI250X", 383.0 / 2, 383.0 / 2, 383.0 / 2, 95.7 / 2, 1638, 3 * 50},
          {"MI300X", 1307.4, 2614.9, 2614.9, 653.7, 5300, 7 * 64},
          {"MI325X", 1307.4, 2614.9, 2614.9, 653.7, 6000, 7 * 64}, {"MI355X", 2516, 5033, 10066, 157.3, 8000, 7 * 76.8},
          {"TPU-v4", 275, 275, 275, 137.5, 1200, 300}, {"TPU-v5e", 197, 197, 197, 98.5, 819, 200},
          {"TPU-v5p", 459, 459, 459, 229.5, 2765, 600}, {"TPU-v6e", 918, 918, 918, 459, 1638, 400},
          {"TPU7x", 2307, 4614, 4614, 1153.5, 7380, 600}, {"Trn1", 190, 190, 190, 47.5, 820, 192},
          {"Trainium2", 667, 1299, 1299, 181, 2900, 640}, {"Trainium3", 671, 2517, 2517, 183, 4900, 1280},
          {"Gaudi 2", 432, 865, 865, 108, 2460, 21 * 12.5}, {"Intel Gaudi 3", 1835, 1835, 1835, 459, 3670, 21 * 25},
          {"MI450X", 10e3, 20e3, 40e3, 625, 23300, 1800},
          {"Rubin", 288e3 / 72, 1260e3 / 72, 2520e3 / 72, 2000, 22000, 1800})
{
    const struct device *d = device_find(NULL, row->name);
    const double ours[] = {d->peak_flops, d->fp8_factor * d->peak_flops, d->fp4_factor * d->peak_flops,
                           d->fp32_factor * d->peak_flops};
    const double theirs[] = {row->peak, row->fp8, row->fp4, row->fp32};
    for (size_t k = 0; k < LENGTH(ours); k++)
        if (fabs(ours[k] / (theirs[k] * 1e12) - 1) > 0.02)
            fail_msg("%s: %g, and not %g TFLOP/s", row->name, ours[k] / 1e12, theirs[k]);
    assert_float_equal(d->memory_bytes_per_s / 1e9, row->memory, 0.01 * row->memory);
    assert_float_equal(d->link_bytes_per_s / 1e9, row->link, 0.01 * row->link);
}

TEST_ROWS(device_suggest_for__of_another_maker__none, (const char *word, *near;), {"K100", ""}, {"M4", ""},
          {"Z100", ""}, {"R300", ""}, {"AMD MI4", ""}, {"v4", ""}, {"H1000", "H100"}, {"NVIDIA H10", "H100"},
          {"MI35OX", "MI350X"}, {"Guadi-3", "Gaudi-3"})
{
    const char *const names[] = {"H100", "A100-80GB", "T4", "TPU-v5e", "MI350X", "B200", "Gaudi-3", "Trainium3"};
    struct suggestion meant = device_suggest_for(row->word);
    for (size_t i = 0; i < LENGTH(names); i++)
        device_suggest_try(&meant, names[i]);
    assert_string_equal(suggest_between(&meant, "", ""), row->near);
}

/* The rates that a pod of 256 sends into the data centre, and a host of four chips. */
TEST_ROWS(devices_carried__tpus__their_part_of_the_network, (const char *name; double gigabits), {"TPU-v4", 200.0 / 4},
          {"TPU-v5e", 6.4e3 / 256}, {"TPU-v5p", 200.0 / 4}, {"TPU-v6e", 25.6e3 / 256})
{
    assert_float_equal(device_find(NULL, row->name)->adapter_bytes_per_s, row->gigabits * 1e9 / 8, 1);
}

TEST(cluster_complete__given_and_not__kept_and_filled)
{
    struct cluster c = {.device = device_find(NULL, "A100-80GB"), .intra_bytes_per_s = 150e9};
    FAIL_IF(cluster_complete(&c, &e));
    assert_int_equal(c.devices_per_node, 8);
    assert_true(c.intra_bytes_per_s == 150e9 && c.inter_bytes_per_s == 25e9);
    assert_true(c.usable_bytes == c.device->usable_bytes);
}

TEST_ROWS(device_find__other_names__found, (const char *said, *name), {"a100-SXM4-80GB", "A100-80GB"},
          {"trn2", "Trainium2"}, {"RTX 6000 Blackwell", "RTX-PRO-6000"}, {"NVIDIA H100 80GB HBM3", "H100"},
          {"NVIDIA A100-SXM4-80GB", "A100-80GB"}, {"a100_80gb", "A100-80GB"},
          {"NVIDIA A100 80GB PCIe", "A100-PCIe-80GB"}, {"NVIDIA A100-PCIE-40GB", "A100-PCIe-40GB"},
          {"h100_80gb", "H100"}, {"NVIDIA H100 NVL", "H100-NVL"}, {"NVIDIA H100 PCIe", "H100-PCIe"},
          {"NVIDIA GH200 480GB", "GH200"}, {"Tesla V100-SXM2-32GB", "V100-32GB"}, {"Tesla T4", "T4"},
          {"NVIDIA L4", "L4"}, {"NVIDIA GeForce RTX 4090", "RTX-4090"},
          {"NVIDIA RTX 6000 Ada Generation", "RTX-6000-Ada"},
          {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000"}, {"AMD Instinct MI300X", "MI300X"},
          {"TPU v4", "TPU-v4"})
{
    assert_ptr_equal(device_find(NULL, row->said), device_find(NULL, row->name));
}

TEST_ROWS(device_find__part_or_list_of_names__none, (const char *said), {"NVIDIA"}, {" - "}, {"RTX"},
          {"RTX 6000 Blackwell|RTX-6000-Blackwell"}, {""})
{
    assert_null(device_find(NULL, row->said));
}

/* The devices of a host do not bound the links of a rack. */
TEST(cluster_complete__link_domain__of_the_device_or_the_host)
{
    struct cluster rack = {.device = device_find(NULL, "GB200"), .devices_per_node = 4};
    struct cluster stated = {.device = device_find(NULL, "GB200"), .devices_per_node = 4, .link_domain = 8};
    struct cluster host = {.device = device_find(NULL, "H100"), .devices_per_node = 4};
    FAIL_IF(cluster_complete(&rack, &e));
    FAIL_IF(cluster_complete(&stated, &e));
    FAIL_IF(cluster_complete(&host, &e));
    assert_int_equal(rack.link_domain, 72);
    assert_int_equal(stated.link_domain, 8);
    assert_int_equal(host.link_domain, 4);
}

TEST_ROWS(cluster_complete__slot__of_the_generation, (const char *device; double slot), {"V100-16GB", 12.5e9},
          {"T4", 12.5e9}, {"A100-80GB", 25e9}, {"RTX-4090", 25e9}, {"A40", 25e9}, {"H100", 50e9}, {"RTX-5090", 50e9},
          {"B300", 50e9}, {"GH200", 450e9}, {"GB200", 225e9})
{
    struct cluster c = {.device = device_find(NULL, row->device)};
    FAIL_IF(cluster_complete(&c, &e));
    assert_true(c.pcie_bytes_per_s == row->slot);
}

/* Each device of Grace has its own memory of the host, those of a host elsewhere have one together. */
TEST(cluster_complete__host_memory__of_each_device_or_of_the_host)
{
    struct cluster grace = {.device = device_find(NULL, "GH200"), .devices_per_node = 4};
    struct cluster other = {.device = device_find(NULL, "H100"), .devices_per_node = 4};
    FAIL_IF(cluster_complete(&grace, &e));
    FAIL_IF(cluster_complete(&other, &e));
    assert_true(grace.host_bytes_per_s == 4 * 384e9 && other.host_bytes_per_s == 75e9);
}

TEST(cluster_complete__not_a_number__refused)
{
    struct cluster c = {.device = device_find(NULL, "H100"), .inter_bytes_per_s = NAN};
    FAILS(cluster_complete(&c, &e));
    c.inter_bytes_per_s = INFINITY;
    FAILS(cluster_complete(&c, &e));
    c.inter_bytes_per_s = -1;
    FAILS(cluster_complete(&c, &e));
}

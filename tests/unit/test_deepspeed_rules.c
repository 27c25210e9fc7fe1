/* sql/deepspeed_rules.sql and configs/profiles/deepspeed.toml: what is excluded, what counts as the same job. */
#include "space_fixture.h"

#include "util/embedded.h"

#define EIGHT "[cluster_spec]\nnum_hosts = 1\nnum_devices_per_host = 8\n"

static struct built build_plan(const char *sets, const char *plan)
{
    char *text =
        xasprintf("profile = \"deepspeed\"\n[sweep]\nrule_sets = [%s]\n" EIGHT "[[parallel_spec]]\n%s\n", sets, plan);
    struct built b = build_text(text);
    free(text);
    return b;
}

/* How many of the plan's combinations the rule refuses, whatever the other rules say. */
static int64_t refused(const char *rule, const char *plan)
{
    HELD(built) b = build_plan(strncmp(rule, "strict-", 7) == 0 ? "\"determined-strict\"" : "", plan);
    HELD(plan) p = plan_of(&b);
    int64_t count = -1;
    for (size_t i = 0; i < b.space->rule_count; i++)
        if (strcmp(b.space->rules[i].name, rule) == 0)
            count = p.match.rules[i].alone;
    return count;
}

#define ELASTIC(most, sizes)                                                                                           \
    "elasticity.enabled = true\nelasticity.max_train_batch_size = " most "\nelasticity.micro_batch_sizes = " sizes "\n"

/* 8 ranks share 24 samples by threes. */
#define SHARED ELASTIC("30", "[3, 2]")

/* Each rule refuses the bad one of these two plans, both of which say what `both` does; where there is none, `good` is
 * two plans, the second of them bad. */
ROWS(cases, const char *rule, *both, *good, *bad) = {
    {"batch-positive", "", "train_batch_size = 8\nmicro_batch = 1", "train_batch_size = 0\nmicro_batch = 0"},
    {"batch-positive", "", "gradient_accumulation = 1", "gradient_accumulation = 0"},
    {"zero-stage-range", "", "zero_stage = 3", "zero_stage = 4"},
    {"optimizer-known", "", "\"optimizer.type\" = \"adamw\"", "\"optimizer.type\" = \"AdamX\""},
    {"optimizer-known", "", "optimizer_type = \"SGD\"", "optimizer_type = \"sgd\""},
    {"scheduler-known", "", "\"scheduler.type\" = \"WarmupLR\"", "\"scheduler.type\" = \"warmuplr\""},
    {"bucket-sizes", "", "reduce_bucket_size = 5e8", "reduce_bucket_size = 0"},
    {"bucket-sizes", "", "allgather_bucket_size = 2", "allgather_bucket_size = -2"},
    {"steps-per-print", "", "steps_per_print = 1", "steps_per_print = 0"},
    {"communication-dtype", "", "communication_data_type = \"bf16\"", "communication_data_type = \"bfp16\""},
    {"zero-legacy-stage-1", "", "\"zero_optimization.legacy_stage1\" = false",
     "\"zero_optimization.legacy_stage1\" = true"},
    {"pipeline-zero-stage", "pp = 2", "zero_stage = 1", "zero_stage = 2"},
    {"pipeline-zero-stage", "pipeline.stages = 2", "zero_stage = 1", "zero_stage = 2"},
    {"pipeline-zero-stage", "\"zero_optimization.stage\" = 3", "pp = 1", "pp = 4"},
    {"no-sync-zero-stage", "no_sync = true", "zero_stage = 1", "zero_stage = 2"},
    {"offload-device", "", "offload_param = \"nvme\"", "offload_param = \"disk\""},
    {"offload-param-stage", "offload_param = \"cpu\"", "zero_stage = 3", "zero_stage = 2"},
    {"offload-param-stage", "zero_stage = 1", "offload_param = \"none\"", "offload_param = \"nvme\""},
    {"offload-optimizer-stage", "offload_optimizer = \"cpu\"", "zero_stage = 1", "zero_stage = 0"},
    {"cpu-offload-stage", "cpu_offload = true", "zero_stage = 2", "zero_stage = 0"},
    {"offload-nvme-stage", "offload_optimizer = \"nvme\"", "zero_stage = 3", "zero_stage = 2"},
    {"offload-ratio-range", "", "offload_ratio = 0.5", "offload_ratio = 1.5"},
    {"offload-ratio-stage", "offload_ratio = 0.5", "zero_stage = 3", "zero_stage = 2"},
    {"super-offload-stage", "super_offload = true", "zero_stage = 3", "zero_stage = 2"},
    {"offload-client-optimizer", "offload_optimizer = \"cpu\"", "client_optimizer = \"DeepSpeedCPUAdam\"",
     "client_optimizer = \"AdamW\""},
    {"offload-client-optimizer", "offload_optimizer = \"cpu\"\nclient_optimizer = \"AdamW\"",
     "zero_force_ds_cpu_optimizer = false", "zero_force_ds_cpu_optimizer = true"},
    {"offload-client-optimizer", "cpu_offload = true", "client_optimizer = \"CPULion\"", "client_optimizer = \"Lion\""},
    {"offload-optimizer-section", "", "cpu_offload = false", "cpu_offload = true"},
    {"bf16-optimizer-memory", "zero_stage = 1\nbf16 = true\ngrad_accum_dtype = \"fp32\"", "cpu_offload = true",
     "cpu_offload = false"},
    {"fp16-master-optimizer", "fp16_master_weights = true", "optimizer_type = \"AdamW\"",
     "optimizer_type = \"Adagrad\""},
    {"offload-optimizer-section", "offload_optimizer = \"cpu\"", "optimizer.type = \"AdamW\"", ""},
    {"fp16-or-bf16", "fp16 = true", "bf16 = false", "bf16 = true"},
    {"fp16-or-bf16", "\"fp16.enabled\" = true", "\"bf16.enabled\" = false", "\"bf16.enabled\" = true"},
    {"amp-zero", "amp = true", "zero_stage = 0", "zero_stage = 1"},
    {"amp-precision", "amp = true", "fp16 = false", "fp16 = true"},
    {"fp16-master-stage", "fp16_master_weights = true", "zero_stage = 2", "zero_stage = 0"},
    {"fp16-master-offload", "fp16_master_weights = true", "offload_optimizer = \"cpu\"",
     "offload_optimizer = \"none\""},
    {"bf16-master-stage", "bf16_master_weights = true", "zero_stage = 2", "zero_stage = 0"},
    {"bf16-master-offload", "bf16_master_weights = true", "bf16_optimizer_states = true",
     "bf16_optimizer_states = false"},
    {"master-weights-once", "fp16_master_weights = true", "bf16_master_weights = false", "bf16_master_weights = true"},
    {"bf16-states-need-master", "bf16_optimizer_states = true", "bf16_master_weights = true", ""},
    {"accumulation-dtype-stage-0", "zero_stage = 0\nbf16 = true", "grad_accum_dtype = \"bf16\"",
     "grad_accum_dtype = \"fp32\""},
    {"bf16-optimizer-memory", "bf16 = true\ngrad_accum_dtype = \"fp32\"", "zero_stage = 2", "zero_stage = 1"},
    {"zero-tested-optimizer", "zero_stage = 1", "optimizer.type = \"AdamW\"", "optimizer.type = \"SGD\""},
    {"zero-tested-optimizer", "zero_stage = 1\noptimizer.type = \"SGD\"", "zero_allow_untested_optimizer = true",
     "zero_allow_untested_optimizer = false"},
    {"one-bit-optimizer-stage", "", "zero_stage = 0\noptimizer_type = \"OneBitAdam\"",
     "zero_stage = 1\noptimizer_type = \"ZeroOneAdam\""},
    {"lamb-loss-scale", "fp16 = true", "optimizer_type = \"Lamb\"\nfp16_scale = 1\n\"fp16.loss_scale\" = 0",
     "optimizer_type = \"OneBitLamb\"\n\"fp16.loss_scale\" = 128"},
    {"muon-offload", "optimizer_type = \"Muon\"\nzero_stage = 2", "offload_optimizer = \"none\"",
     "offload_optimizer = \"cpu\""},
    {"muon-stage-3", "optimizer_type = \"Muon\"\nzero_stage = 3", "reduce_scatter = false", "reduce_scatter = true"},
    {"dynamic-loss-scale", "fp16 = true", "loss_scale = 1\nmin_loss_scale = 0", "\"fp16.loss_scale_window\" = 0"},
    {"dynamic-loss-scale", "", "fp16 = false\nloss_scale_window = 0",
     "fp16 = true\nloss_scale = 0\nmin_loss_scale = -1"},
    {"max-grad-norm", "", "zero_stage = 1\n[[parallel_spec]]\nzero_stage = 2\noptimizer.params.max_grad_norm = 1.0",
     NULL},
    {"max-grad-norm", "optimizer.params.max_grad_norm = 1.0", "client_optimizer = \"FusedAdam\"", ""},
    {"allreduce-sum-stage-3", "gradient_allreduce_op = \"sum\"", "zero_stage = 2", "zero_stage = 3"},
    {"allreduce-sum-compile", "compile.deepcompile = true", "gradient_allreduce_op = \"mean\"",
     "gradient_allreduce_op = \"sum\""},
    {"reduce-scatter-predivide", "zero_stage = 2", "gradient_predivide_factor = 1.0",
     "gradient_predivide_factor = 2.0"},
    {"reduce-scatter-prescale", "zero_stage = 3\nprescale_gradients = true", "reduce_scatter = false",
     "reduce_scatter = true"},
    {"even-allgather-bucket", "zero_stage = 1", "allgather_bucket_size = 5e8", "allgather_bucket_size = 500000001"},
    {"own-accumulation-pipeline", "managed_gradient_accumulation = false", "pp = 1", "pp = 2"},
    {"own-accumulation-modes", "managed_gradient_accumulation = false", "amp = false", "amp = true"},
    {"own-accumulation-overlap", "managed_gradient_accumulation = false\noverlap_comm = true", "zero_stage = [2, 3]",
     "zero_stage = 1"},
    {"moe-stage-3", "moe = true", "zero_stage = 2", "zero_stage = 3"},
    {"moe-contiguous-gradients", "moe = true\nzero_stage = 2", "contiguous_gradients = true",
     "contiguous_gradients = false"},
    {"moe-reduce-scatter", "moe = true\nzero_stage = 1", "reduce_scatter = true", "reduce_scatter = false"},
    {"autoep-stage-3", "autoep = true\nzero_stage = 3", "hpz_partition_size = 1", "hpz_partition_size = 2"},
    {"autoep-stage-3", "expert_parallel.enabled = true\nzero_stage = 3",
     "expert_parallel.expert_tensor_parallel_size = 1", "expert_parallel.expert_tensor_parallel_size = 2"},
    {"autoep-stage-3", "expert_parallel.enabled = true\nzero_stage = 3", "tensor_parallel.autotp_size = 1",
     "tensor_parallel.autotp_size = 2"},
    {"autoep-divides-devices", "expert_parallel.enabled = true\npp = 2", "expert_parallel.autoep_size = 4",
     "expert_parallel.autoep_size = 8"},
    {"autotp-size", "tensor_parallel.autotp_size = 4", "tensor_parallel.tp.tp_size = 4",
     "tensor_parallel.tp.tp_size = 2"},
    {"autotp-size", "tp_size = 2", "autotp_size = 0", "autotp_size = 4"},
    {"autotp-pipeline", "autotp_size = 2", "pp = 1", "pp = 2"},
    {"degrees-divide-devices", "tp = 2", "sequence_parallel_size = 4", "sequence_parallel_size = 3"},
    {"degrees-divide-devices", "", "autotp_size = 0\nsequence_parallel_size = 4", "autotp_size = 3"},
    {"world-size", "dp = 8", "autotp_size = 0", "autotp_size = 4"},
    {"hpz-divides-devices", "", "hpz_partition_size = [0, 1, 16]", "hpz_partition_size = 3"},
    {"hpz-within-devices", "", "hpz_partition_size = [0, 1, 8]", "hpz_partition_size = 16"},
    {"mics-divides-devices", "pp = 2", "mics_shard_size = 4", "mics_shard_size = 8"},
    {"mics-offload", "mics_shard_size = 4", "offload_param = \"none\"", "offload_param = \"cpu\""},
    {"elasticity-batch", "elasticity.enabled = true\nmicro_batch = 4",
     "elasticity.ignore_non_elastic_batch_info = true", "elasticity.ignore_non_elastic_batch_info = false"},
    {"elasticity-version", "elasticity.enabled = true", "elasticity.version = [0.1, 0.2]", "elasticity.version = 0.3"},
    {"elasticity-devices", "elasticity.enabled = true\nelasticity.version = 0.1", "elasticity.max_gpus = 8",
     "elasticity.max_gpus = 4"},
    {"elasticity-devices", "", SHARED "elasticity.version = 0.1\npp = [1, 2]",
     SHARED "elasticity.version = 0.1\nelasticity.max_gpus = 4"},
    {"elasticity-devices", "", SHARED "elasticity.version = 0.1\nsequence_parallel_size = 2\nelasticity.max_gpus = 4",
     SHARED "elasticity.version = 0.1\nelasticity.min_gpus = 9"},
    {"elasticity-devices", "", SHARED "elasticity.version = 0.1", ELASTIC("30", "[5, 3]") "elasticity.version = 0.1"},
    {"elasticity-devices", "", SHARED "elasticity.max_gpus = 4", ELASTIC("15", "[2]")},
    {"elasticity-model-parallel", "elasticity.enabled = true\nelasticity.model_parallel_size = 2",
     "elasticity.version = 0.2", "elasticity.version = 0.1"},
    {"elasticity-node", "elasticity.enabled = true\nelasticity.num_gpus_per_node = 8",
     "elasticity.model_parallel_size = 4", "elasticity.model_parallel_size = 3"},
    {"elasticity-node", "elasticity.enabled = true", "elasticity.model_parallel_size = 1",
     "elasticity.model_parallel_size = 2"},
    {"deepcompile-stage", "deepcompile = true", "zero_stage = 1", "zero_stage = 0"},
    {"deepcompile-stage", "compile.deepcompile = true\nzero_stage = 0", "compile.passes = [\"autotp\"]",
     "compile.passes = [\"z1\"]"},
    {"deepcompile-stage", "compile.deepcompile = true\ncompile.passes = [\"autosp\"]", "zero_stage = 0",
     "zero_stage = 2"},
    {"deepcompile-autotp", "compile.deepcompile = true", "compile.passes = [\"autotp\"]",
     "compile.passes = [\"z1\", \"autotp\"]"},
    {"strict-pipeline-stage", "pp = 2", "zero_stage = 1", "zero_stage = 0"},
    {"strict-offload-param", "offload_param = \"cpu\"", "zero_stage = 3", "zero_stage = 2"},
    {"strict-offload-optimizer", "offload_optimizer = \"cpu\"", "zero_stage = 2", "zero_stage = 1"},
};
#define CASES LENGTH(cases)

TEST(rules__one_good_and_one_bad_plan__only_the_bad_one_refused)
{
    for (size_t i = 0; i < CASES; i++) {
        OWNED char *good = xasprintf("%s\n%s", cases[i].both, cases[i].good);
        OWNED char *bad = cases[i].bad ? xasprintf("%s\n%s", cases[i].both, cases[i].bad) : NULL;
        OWNED char *plans = bad ? xasprintf("%s\n[[parallel_spec]]\n%s", good, bad) : xstrdup(good);
        int64_t count = refused(cases[i].rule, plans);
        FAIL_WHERE(count != 1, "case %zu: %s refuses %lld of the two, not one", i, cases[i].rule, (long long)count);
        if (bad && refused(cases[i].rule, good) != 0)
            fail_msg("case %zu: %s refuses what it should accept", i, cases[i].rule);
    }
}

/* Calls `each` with the name of every rule of sql/deepspeed_rules.sql. */
static void for_each_rule(void (*each)(const char *name))
{
    size_t count = 0;
    const char *text = embedded_text("sql/deepspeed_rules.sql");
    for (const char *p = strstr(text, "\n(1"); p; p = strstr(p + 1, "\n(1")) {
        const char *set = strchr(p, '\''), *name = strstr(set, "', '") + 4;
        char *copy = xstrndup(name, strcspn(name, "'"));
        each(copy);
        free(copy);
        count++;
    }
    assert_in_range(count, 50, 200);
}

static void has_case(const char *name)
{
    for (size_t i = 0; i < CASES; i++)
        if (strcmp(cases[i].rule, name) == 0)
            return;
    if (strstr(name, "-0.")) /* of older releases: tests/cli/test_deepspeed_releases.sh */
        return;
    fail_msg("rule %s has no test", name);
}

TEST(rules__all_of_them__have_a_case)
{
    for_each_rule(has_case);
}

TEST(rules__zeros_nulls_and_auto__never_abort_and_auto_is_never_refused)
{
    static const char keys[] =
        "zero_stage = %s\nlegacy_stage1 = %s\npp = %s\nno_sync = %s\noffload_optimizer = %s\noffload_param = %s\n"
        "offload_ratio = %s\ncpu_offload = %s\nfp16 = %s\nbf16 = %s\namp = %s\nmics_shard_size = %s\n"
        "hpz_partition_size = %s\ntp = %s\nsequence_parallel_size = %s\nautotp_size = %s\ntp_size = %s\n"
        "allgather_bucket_size = %s\nelasticity = %s\nmodel_parallel_size = %s\nmicro_batch = %s\nglobal_batch = %s\n"
        "gradient_accumulation = %s\n";
    for (int round = 0; round < 2; round++) {
        OWNED_BUFFER plan = BUFFER_INIT;
        for (const char *p = keys; *p; p++) {
            if (*p == '%')
                buffer_add_text(&plan, round ? "\"auto\"" : "0"), p++;
            else
                buffer_add_char(&plan, *p);
        }
        char *text =
            xasprintf("profile = \"deepspeed\"\n" EIGHT "[[parallel_spec]]\n%s\n[[parallel_spec]]\nother = 1\n",
                      buffer_text(&plan));
        HELD(built) b = build_text(text);
        HELD(plan) p = plan_of(&b);
        assert_int_equal(p.match.combinations, 2);
        if (round)
            assert_int_equal(p.match.matched, 2);
        free(text);
    }
}

TEST(rule_sets__without_profile_and_unknown__not_in_force_and_refused)
{
    struct built b = build_text(EIGHT "[parallel_spec]\ndp = 4\npp = 2\nzero_stage = 3\n");
    struct plan p = plan_of(&b);
    assert_int_equal(p.jobs, 1);
    plan_free(&p);
    built_free(&b);
    struct error e = build_error("[sweep]\nrule_sets = [\"deepsped\"]\n[parallel_spec]\npp = 1\n");
    assert_non_null(strstr(e.text, "rule_sets: there is no rule set `deepsped` (did you mean `deepspeed`?)"));
}

TEST(synonyms__two_names_of_one_key__refused)
{
    struct error e = build_error("profile = \"deepspeed\"\n[parallel_spec]\nzero_stage = 1\n"
                                 "\"zero_optimization.stage\" = 2\n");
    assert_non_null(strstr(e.text, "`zero_optimization.stage` and `zero_stage` are names of the same key"));
}

TEST(synonyms__placeholder_and_rule__read_the_other_key)
{
    HELD(built) b = build_text("[job]\ncommand = [\"x\", \"{stage}\"]\n[synonym]\nstage = [\"a.b\", \"zero.stage\"]\n"
                               "[parallel_spec]\nzero.stage = [1, 2]\n"
                               "[[rule]]\nname = \"r\"\nrequire = \"stage < 2\"\n");
    HELD(plan) p = plan_of(&b);
    assert_int_equal(p.jobs, 1);
    assert_int_equal(excluded_by(&b, &p, "r"), 1);
}

/* --- inert keys --- */

#define KNOBS                                                                                                          \
    "zero_optimization.overlap_comm = [true, false]\nzero_optimization.reduce_scatter = [false, true]\n"               \
    "zero_optimization.reduce_bucket_size = [5e7, 5e8, 1e9]\n"                                                         \
    "zero_optimization.allgather_bucket_size = [5e7, 5e8, 1e9]\n"                                                      \
    "zero_optimization.contiguous_gradients = [false, true]\n"                                                         \
    "zero_optimization.allgather_partitions = [true, false]\n"

TEST_ROWS(inert__plans__as_many_jobs_as_differ, (const char *plan; int64_t matched, jobs),
          {"zero_optimization.stage = 3\n" KNOBS, 144, 24}, {"zero_optimization.stage = 0\n" KNOBS, 144, 1},
          {"zero_optimization.stage = 2\n" KNOBS, 144, 144},
          {"zero_stage = 1\npp = [1, 2]\noverlap_comm = [true, false]\n", 4, 3}, /* off with a pipeline */
          {"zero_stage = 3\nhpz_partition_size = [0, 1, 2]\n", 3, 2},
          /* off in two ways */)
{
    HELD(built) b = build_plan("", row->plan);
    HELD(plan) p = plan_of(&b);
    assert_int_equal(p.match.matched, row->matched);
    assert_int_equal(p.jobs, row->jobs);
    assert_int_equal(p.duplicates, row->matched - row->jobs);
}

static struct hash128 only_key(const char *text)
{
    HELD(built) b = build_text(text);
    HELD_AT(match_cursor) *cursor = match_open(b.space, NULL);
    const struct match *m;
    FAIL_IF(match_next(cursor, &m, &e) != 1);
    return m->key;
}

static void assert_same_job(const char *a, const char *b, int same)
{
    struct hash128 x = only_key(a), y = only_key(b);
    assert_int_equal(memcmp(&x, &y, sizeof x) == 0, same);
}

#define COMMAND "[job]\ncommand = [\"t\", \"--overlap={overlap}\", \"--bucket={bucket}\"]\n"
#define INERT "[inert]\noverlap = \"stage = 0\"\nbucket = \"stage = 0\"\n"

TEST(inert__values__do_not_count_where_inert)
{
    assert_same_job(COMMAND INERT "[parallel_spec]\nstage = 0\noverlap = 1\nbucket = 2\n",
                    COMMAND INERT "[parallel_spec]\nbucket = 9\noverlap = 5\nstage = 0\n", 1);
    assert_same_job(COMMAND INERT "[parallel_spec]\nstage = 1\noverlap = 1\nbucket = 2\n",
                    COMMAND INERT "[parallel_spec]\nbucket = 2\noverlap = 1\nstage = 1\n", 1);
    assert_same_job(COMMAND INERT "[parallel_spec]\nstage = 1\noverlap = 1\nbucket = 2\n",
                    COMMAND INERT "[parallel_spec]\nstage = 1\noverlap = 2\nbucket = 1\n", 0);
    /* What is absent and what is inert are the same. */
    assert_same_job(INERT "[parallel_spec]\nstage = 0\noverlap = 1\nbucket = 1\n",
                    "[inert]\nstage = \"false\"\n[parallel_spec]\nstage = 0\n", 1);
    assert_same_job(INERT "[parallel_spec]\nstage = 1\noverlap = 1.50\nbucket = \"\u00e4\\\"/\"\n",
                    "[parallel_spec]\nstage = 1\noverlap = 1.5\nbucket = \"\u00e4\\\"/\"\n", 1);
    assert_same_job("[inert]\nbucket = \"stage = 0\"\n[parallel_spec]\nstage = 1\nbucket = \"1\"\n",
                    "[inert]\nbucket = \"stage = 0\"\n[parallel_spec]\nstage = 1\nbucket = 1\n", 0);
}

TEST(inert__unknown_key_or_bad_condition__refused_with_a_place)
{
    struct error e = build_error("[inert]\noverlapp = \"stage = 0\"\nstage = \"stagee = 1\"\n"
                                 "[parallel_spec]\noverlap = 1\nstage = 0\n");
    assert_non_null(strstr(e.text, "test.toml:2:1: [inert]: no spec has the key `overlapp` (did you mean `overlap`?)"));
    assert_non_null(strstr(e.text, "test.toml:3:1: inert key `stage`: unknown key `stagee`"));
}

TEST(inert__wrong_types__are_problems_of_the_file)
{
    struct error e =
        build_error("[inert]\na = 1\n[synonym]\nb = 2\n\"a b\" = \"c\"\nc = \"a b\"\n[parallel_spec]\na = 1\n");
    assert_non_null(strstr(e.text, "test.toml:2:5: a must be a string"));
    assert_non_null(strstr(e.text, "test.toml:4:5: b must be a string or a list of strings"));
    assert_non_null(strstr(e.text, "test.toml:5:1: \"a b\" cannot be a key"));
    assert_non_null(strstr(e.text, "test.toml:6:5: \"a b\" cannot be a key"));
}

/* space: predictions in expressions, and what memory.fits excludes. */
#include <time.h>

#include "value_fixture.h"

#define MODEL "[[model]]\nnum_layers = 24\nhidden_size = 2048\nheads = 16\nvocab_size = 50257\nseq = 2048\n"
#define CLUSTER "[[cluster_spec]]\nnum_hosts = 1\nnum_devices_per_host = 8\ndevice_memory = \"40GiB\"\n"
#define PLANS "[[parallel_spec]]\nmicro_batch = [1, 2, 4, 8, 16, 32, 64]\n"

TEST(predict_memory__synonyms__key_and_function_agree)
{
    HELD(built) b = build_text(MODEL CLUSTER "[[parallel_spec]]\nmicro_batch = 1\n");
    double bytes = value_of(&b, "predicted_memory");
    assert_true(bytes > 18e9 && bytes < 60e9); /* 1.3e9 parameters in fp32 with Adam and DDP's buckets: 20 bytes each */
    assert_float_equal(value_of(&b, "predict_memory( )"), bytes, 0);
    assert_true(isnan(value_of(&b, "predict_time()"))); /* no device */
    /* 6 · parameters of matrices and head · tokens, and attention. */
    assert_float_equal(value_of(&b, "predict_flops() / 1e12"), 8 * 2048 * (6 * 1.311e9 + 12 * 24 * 2048 * 2048.) / 1e12,
                       3);
    assert_true(value_of(&b, "predict_oom_probability() BETWEEN 0 AND 1") == 1);
}

TEST(predict_memory__missing_keys__null_and_a_note)
{
    HELD(built) b = build_text("[predict]\n[[model]]\nlayers = 2\nhidden = 64\n" CLUSTER);
    assert_true(isnan(value_of(&b, "predicted_memory")));
    assert_true(isnan(value_of(&b, "predict_oom_probability()")));
    assert_non_null(strstr(b.space->prediction.note, "the specs lack heads, vocab, seq, micro_batch"));
    assert_false(b.space->prediction.asked);
}

TEST(predict_memory__keys_of_the_file__mapped)
{
    struct built b = build_text("[predict.keys]\nlayers = \"2 * pairs\"\nvocab = 50257\nheads = 16\nhidden = 2048\n"
                                "seq = 2048\nmicro_batch = 1\n[[model]]\npairs = 12\n" CLUSTER);
    struct built same = build_text(MODEL CLUSTER "[[parallel_spec]]\nmicro_batch = 1\n");
    assert_float_equal(value_of(&b, "predicted_memory"), value_of(&same, "predicted_memory"), 0);
    built_free(&b);
    built_free(&same);
    struct error e = build_error("[predict.keys]\nlayer = 2\n[[model]]\na = 1\n");
    assert_non_null(strstr(e.text, "test.toml:2:1: [predict.keys] has no input `layer`"));
}

static double memory_under(const char *predict)
{
    OWNED char *text = xasprintf("%s%s%s[[parallel_spec]]\nmicro_batch = 1\n", predict, MODEL, CLUSTER);
    HELD(built) b = build_text(text);
    double bytes = value_of(&b, "predicted_memory");
    return bytes;
}

TEST(framework__of_the_profile_or_the_file__found)
{
    double megatron = memory_under("[predict]\nframework = \"megatron\"\n");
    assert_float_equal(memory_under("profile = [\"torch\", \"megatron\"]\n[predict]\n"), megatron, 0);
    assert_true(memory_under("[predict]\n") != megatron); /* torch-ddp */
    /* One of the file's own: fp32 as nothing else is said, half a byte more of each of 1.3e9 parameters. */
    double own = memory_under("[predict]\nframework = \"mine\"\n[predict.memory]\nparameter = 4\n");
    assert_float_equal(memory_under("[predict]\nframework = \"mine\"\n[predict.memory]\nparameter = 4.5\n") - own,
                       0.5 * 1.3153e9, 3e6);
    struct error e = build_error("[predict]\nframework = \"megatorn\"\n[predict.memory]\nbase_bytes = 1\n");
    assert_non_null(strstr(e.text, "unknown framework \"megatorn\"; did you mean \"megatron\"?"));
}

TEST(memory_fits__not_asked__not_in_force)
{
    HELD(built) b = build_text(MODEL CLUSTER PLANS);
    HELD(plan) p = plan_of(&b);
    assert_int_equal(excluded_by(&b, &p, "memory.fits"), -1);
    assert_int_equal(p.jobs, 7);
}

static int64_t jobs_with(const char *predict, int64_t *excluded, int64_t *risky)
{
    OWNED char *text = NULL;
    struct buffer t = BUFFER_INIT;
    buffer_printf(&t, "%s" MODEL CLUSTER PLANS, predict);
    text = buffer_take(&t);
    HELD(built) b = build_text(text);
    HELD(plan) p = plan_of(&b);
    int64_t jobs = p.jobs;
    *excluded = excluded_by(&b, &p, "memory.fits");
    *risky = p.risks[OOM_RISK];
    assert_int_equal(p.match.combinations, p.jobs + (*excluded > 0 ? *excluded : 0));
    return jobs;
}

TEST(memory_fits__prune__certain_risky_off)
{
    int64_t excluded, risky, more, none;
    jobs_with("[predict]\nframework = \"megatron\"\naudit = 0\n", &excluded, &risky);
    assert_true(excluded > 0 && excluded < 7);
    assert_int_equal(jobs_with("[predict]\nframework = \"megatron\"\naudit = 0\nprune = \"off\"\n", &more, &none), 7);
    assert_int_equal(more, -1);
    jobs_with("[predict]\nframework = \"megatron\"\naudit = 0\nprune = \"risky\"\n", &more, &none);
    assert_int_equal(more, excluded + risky);
    assert_int_equal(none, 0);
    /* A third of the memory counts as certain: more is excluded. */
    jobs_with("[predict]\nframework = \"megatron\"\naudit = 0\ncertain = 0.34\nrisky = 0.3\n", &more, &none);
    assert_true(more > excluded);
}

TEST(memory_fits__audit_of_all__nothing_excluded_but_reported)
{
    HELD(built) b = build_text("[predict]\nframework = \"megatron\"\naudit = 1\n" MODEL CLUSTER PLANS);
    HELD(plan) p = plan_of(&b);
    assert_int_equal(p.jobs, 7);
    assert_true(p.audits > 0);
    assert_int_equal(p.audits, p.risks[OOM_CERTAIN]);
}

TEST(memory_fits__disabled_by_name__not_applied)
{
    HELD(built) b = build_text(
        "[sweep]\ndisable_rules = [\"memory.fits\"]\n[predict]\nframework = \"megatron\"\n" MODEL CLUSTER PLANS);
    HELD(plan) p = plan_of(&b);
    assert_int_equal(p.jobs, 7);
}

TEST(predict_table__wrong__with_its_place)
{
    struct error e = build_error("[predict]\nframework = \"deepsped\"\n" MODEL);
    assert_non_null(strstr(e.text, "test.toml:2:13: unknown framework \"deepsped\"; did you mean \"deepspeed\"?"));
    e = build_error("[predict]\naudit = 2\nprune = \"maybe\"\nmemory.sigma = -1\n" MODEL);
    assert_non_null(strstr(e.text, "test.toml:2:9: audit must be between 0 and 1"));
    assert_non_null(strstr(e.text, "test.toml:3:9: "));
    assert_non_null(strstr(e.text, "test.toml:4:16: sigma must be a number, at least 0"));
    e = build_error("[predict.memory]\nbase_byte = 1\n" MODEL);
    assert_non_null(strstr(e.text, "did you mean \"base_bytes\"?"));
}

/* Processor time, with what it takes to join the specs and to pass their values, is printed, not asserted: machines
 * differ. */
TEST(predict__in_sql__predictions_per_second)
{
    HELD(built) b =
        build_text("[predict]\nframework = \"megatron\"\ndevice = \"H100\"\n[[model]]\nlayers = [8, 16, 24, 32]\n"
                   "hidden = [2048, 4096, 8192]\nheads = 32\nvocab = 50257\nseq = [1024, 2048, 4096]\n"
                   "[[cluster_spec]]\nnum_hosts = [4, 8]\nnum_devices_per_host = 8\n"
                   "[[parallel_spec]]\ntp = [1, 2, 4, 8]\npp = [1, 2, 4]\nzero_stage = [0, 1]\n"
                   "micro_batch = [1, 2, 4, 8]\ngradient_accumulation = [8, 16]\n");
    clock_t began = clock();
    double count =
        ask(&b, "sum(", "predict_memory() > 0 AND predict_time() > 0 AND predict_oom_probability() >= 0", ")");
    double seconds = (double)(clock() - began + 1) / CLOCKS_PER_SEC;
    print_message("%.2f million predictions per second in SQL (%.0f)\n", count / seconds / 1e6, count);
    assert_true(count == 4 * 3 * 3 * 2 * 4 * 3 * 2 * 4 * 2);
}

/* config, plan: a sweep on another number of hosts, and what becomes of its plans. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/scaling.h"
#include "plan/scaled_plans.h"
#include "sweep_file/reader.h"
#include "unit_test.h"

static struct sweep *sweep_of(const char *specs)
{
    struct sweep *s = NULL;
    OWNED char *text = xasprintf("[sweep]\nname = \"s\"\n[job]\ncommand = [\"true\"]\n%s", specs);
    FAIL_IF(sweep_parse("sweep.toml", text, strlen(text), &s, &e));
    return s;
}

static void assert_values(const struct sweep *s, enum section_kind section, size_t axis, const char *expected)
{
    const struct axis *a = &s->sections[section].blocks[0].axes[axis];
    OWNED_BUFFER b = BUFFER_INIT;
    for (size_t v = 0; v < a->value_count * a->key_count; v++) {
        buffer_add_text(&b, v ? " " : "");
        value_add_json(&a->values[v], &b);
    }
    assert_string_equal(buffer_text(&b), expected);
}

static struct scaling hosts_to(int64_t value)
{
    return (struct scaling){.key = {SECTION_CLUSTER, xstrdup("num_hosts")}, .value = value};
}

static void follow(struct scaling *x, enum section_kind section, const char *name, bool falls)
{
    x->followers = array_grow(x->followers, x->follower_count, sizeof *x->followers);
    x->followers[x->follower_count++] = (struct scaled_follower){{section, xstrdup(name)}, falls};
}

TEST(sweep_scale__independent_axes__every_ratio_that_is_whole)
{
    struct sweep *s = sweep_of("[[cluster_spec]]\nnum_hosts = [2, 6]\n"
                               "[[parallel_spec]]\ndp = [1, 4, 16]\nacc = [1, 4]\ntp = [1, 2]\n");
    struct scaling x = hosts_to(8);
    follow(&x, SECTION_PARALLEL, "dp", false);
    follow(&x, SECTION_PARALLEL, "acc", true);
    sweep_scale(s, &x);
    assert_values(s, SECTION_CLUSTER, 0, "8");
    assert_values(s, SECTION_PARALLEL, 0, "4 16 64"); /* by 4; by 4/3 none is whole */
    assert_values(s, SECTION_PARALLEL, 1, "1 3");     /* 4 / 4, 4 / (4/3) */
    assert_values(s, SECTION_PARALLEL, 2, "1 2");
    scaling_free(&x);
    sweep_free(s);
}

TEST(sweep_scale__tied_keys__each_by_its_own_ratio)
{
    struct sweep *s = sweep_of("[[cluster_spec]]\n\"(num_hosts, world)\" = [[1, 8], [2, 16], [4, 24]]\n");
    struct scaling x = hosts_to(4);
    follow(&x, SECTION_CLUSTER, "world", false);
    sweep_scale(s, &x);
    assert_values(s, SECTION_CLUSTER, 0, "4 32 4 24");
    scaling_free(&x);
    sweep_free(s);
}

TEST(sweep_scale__nothing_whole__axis_stays)
{
    struct sweep *s =
        sweep_of("[[cluster_spec]]\nnum_hosts = 4\n[[parallel_spec]]\ndp = [1, 3]\nmode = [\"a\", \"b\"]\n");
    struct scaling x = hosts_to(1);
    follow(&x, SECTION_PARALLEL, "dp", false);
    follow(&x, SECTION_PARALLEL, "mode", false);
    sweep_scale(s, &x);
    assert_values(s, SECTION_PARALLEL, 0, "1 3");
    assert_values(s, SECTION_PARALLEL, 1, "\"a\" \"b\"");
    scaling_free(&x);
    sweep_free(s);
}

TEST(scaling_let_batch_grow__once__batch_in_place_of_accumulation)
{
    struct scaling x = hosts_to(4);
    follow(&x, SECTION_PARALLEL, "acc", true);
    assert_false(scaling_let_batch_grow(&x));
    x.batch = (struct scaled_key){SECTION_TRAINING, xstrdup("global_batch")};
    assert_true(scaling_let_batch_grow(&x));
    assert_null(scaling_follower(&x, SECTION_PARALLEL, "acc"));
    assert_false(scaling_follower(&x, SECTION_TRAINING, "global_batch")->falls);
    assert_false(scaling_let_batch_grow(&x));
    scaling_free(&x);
}

/* --- plans --- */

static struct prediction predicted(double devices, double seconds)
{
    struct prediction p = {.has_memory = true,
                           .has_time = true,
                           .has_probability = true,
                           .verdict = OOM_FITS,
                           .devices = devices,
                           .samples = 512,
                           .tokens = 512 * 1024,
                           .flops = 1e15,
                           .seconds = seconds,
                           .low_s = seconds / 1.1,
                           .high_s = seconds * 1.1,
                           .where = {"megatron", "H100", ""}};
    p.memory.most.bytes = 10e9;
    p.memory.low_bytes = 9e9;
    p.memory.high_bytes = 11e9;
    return p;
}

static struct plan_seen seen(const char *words, const struct prediction *p, bool is_measured)
{
    return (struct plan_seen){.words = words, .prediction = p, .memory_of = "", .is_measured = is_measured};
}

TEST(scaled_plans__other_plan_wins_there__places_and_efficiency)
{
    const struct prediction a8 = predicted(8, 10), a32 = predicted(32, 3), a64 = predicted(64, 3),
                            b32 = predicted(32, 4), b64 = predicted(64, 2);
    struct prediction large = predicted(64, 1);
    struct scaled_plans p = {.count = 0};
    large.verdict = OOM_CERTAIN;
    const struct plan_seen here[] = {seen("a", &a8, true), seen("a", &a32, false), seen("b", &b32, true)};
    const struct plan_seen there[] = {seen("b", &b64, false), seen("a", &a64, false), seen("large", &large, false),
                                      seen("none", NULL, false)};
    for (size_t i = 0; i < 3; i++)
        scaled_plans_add_here(&p, &here[i]);
    for (size_t i = 0; i < 4; i++)
        scaled_plans_add_there(&p, &there[i]);
    scaled_plans_rank(&p);
    assert_int_equal(p.count, 3);
    assert_int_equal(p.without, 1);
    const struct scaled_plan *a = scaled_plans_find(&p, "a"), *b = scaled_plans_find(&p, "b");
    assert_ptr_equal(p.ranked[0], b);
    assert_true(b->there.place == 1 && b->here.place == 2 && a->there.place == 2 && a->here.place == 1);
    assert_true(a->here.devices == 32);
    assert_true(fabs(b->efficiency.value - 1) < 1e-12 && fabs(a->efficiency.value - 0.5) < 1e-12);
    assert_true(a->efficiency.low < 0.5 && a->efficiency.high > 0.5);
    const struct scaled_plan *none = scaled_plans_find(&p, "large");
    assert_true(none->there.place == 0 && !none->here.found && isnan(none->efficiency.value));
    assert_null(scaled_plans_find(&p, "other"));
    assert_true(scaled_plans_faster(b, a) > 0.8 && scaled_plans_faster(b, a) < 1);
    assert_true(fabs(scaled_plans_faster(a, b) + scaled_plans_faster(b, a) - 1) < 1e-12);
    assert_true(fabs(scaled_plans_faster(a, a) - 0.5) < 1e-12);
    /* Measured on 32: on 64 wider than predicted, on 32 not. */
    assert_true(p.measured_devices == 32);
    double width = evidence_scaling_width("megatron", QUANTITY_OF_TIME, 64, 1);
    assert_true(width > 0.01 && fabs(log(a->there.seconds.high / 3) - hypot(log(1.1), width)) < 1e-9);
    assert_true(fabs(log(a->here.seconds.high / 3) - log(1.1)) < 1e-9);
    scaled_plans_free(&p);
}

TEST(scaled_plans__same_number_in_the_sweep__smaller_one_counts_as_here)
{
    const struct prediction p16 = predicted(16, 4), p64 = predicted(64, 2);
    struct scaled_plans p = {.count = 0};
    const struct plan_seen small = seen("a", &p16, false), large = seen("a", &p64, false);
    scaled_plans_add_here(&p, &large);
    scaled_plans_add_here(&p, &small);
    scaled_plans_add_there(&p, &large);
    scaled_plans_rank(&p);
    assert_true(p.items[0].here.devices == 16);
    /* Nothing was measured: as wide as the prediction says. */
    assert_true(fabs(p.items[0].there.seconds.high - 2.2) < 1e-9);
    scaled_plans_free(&p);
}

TEST(evidence_scaling_width__doublings__grows_with_their_root)
{
    double once = evidence_scaling_width("megatron", QUANTITY_OF_TIME, 64, 1);
    assert_true(once > 0.05 && once < 0.6);
    assert_true(evidence_scaling_width("megatron", QUANTITY_OF_TIME, 64, 0) == 0);
    assert_true(fabs(evidence_scaling_width("megatron", QUANTITY_OF_TIME, 64, 4) - 2 * once) < 1e-12);
    /* Runs on 512 devices were slow for reasons that those on fewer had not. */
    double few = evidence_scaling_width("nanotron", QUANTITY_OF_TIME, 256, 1);
    assert_true(evidence_scaling_width("nanotron", QUANTITY_OF_TIME, 512, 1) > 3 * few);
    assert_true(evidence_scaling_width("unheard of", QUANTITY_OF_TIME, 64, 1) > 0);
}

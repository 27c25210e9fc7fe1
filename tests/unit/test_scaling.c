/* config, answers: a sweep on another number of hosts, and what becomes of its plans. */
#include "answers/prediction_report.h"
#include "config/scaling.h"
#include "sweep_fixture.h"

static struct sweep *sweep_with(const char *specs)
{
    OWNED char *text = xasprintf("[sweep]\nname = \"s\"\n[job]\ncommand = [\"true\"]\n%s", specs);
    return sweep_of(text);
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
    HELD_AT(sweep) *s = sweep_with("[[cluster_spec]]\nnum_hosts = [2, 6]\n"
                                   "[[parallel_spec]]\ndp = [1, 4, 16]\nacc = [1, 4]\ntp = [1, 2]\n");
    HELD(scaling) x = hosts_to(8);
    follow(&x, SECTION_PARALLEL, "dp", false);
    follow(&x, SECTION_PARALLEL, "acc", true);
    sweep_scale(s, &x);
    assert_values(s, SECTION_CLUSTER, 0, "8");
    assert_values(s, SECTION_PARALLEL, 0, "4 16 64"); /* by 4; by 4/3 none is whole */
    assert_values(s, SECTION_PARALLEL, 1, "1 3");     /* 4 / 4, 4 / (4/3) */
    assert_values(s, SECTION_PARALLEL, 2, "1 2");
}

TEST(sweep_scale__tied_keys__each_by_its_own_ratio)
{
    HELD_AT(sweep) *s = sweep_with("[[cluster_spec]]\n\"(num_hosts, world)\" = [[1, 8], [2, 16], [4, 24]]\n");
    HELD(scaling) x = hosts_to(4);
    follow(&x, SECTION_CLUSTER, "world", false);
    sweep_scale(s, &x);
    assert_values(s, SECTION_CLUSTER, 0, "4 32 4 24");
}

TEST(sweep_scale__nothing_whole__axis_stays)
{
    HELD_AT(sweep) *s =
        sweep_with("[[cluster_spec]]\nnum_hosts = 4\n[[parallel_spec]]\ndp = [1, 3]\nmode = [\"a\", \"b\"]\n");
    HELD(scaling) x = hosts_to(1);
    follow(&x, SECTION_PARALLEL, "dp", false);
    follow(&x, SECTION_PARALLEL, "mode", false);
    sweep_scale(s, &x);
    assert_values(s, SECTION_PARALLEL, 0, "1 3");
    assert_values(s, SECTION_PARALLEL, 1, "\"a\" \"b\"");
}

TEST(scaling_let_batch_grow__once__batch_in_place_of_accumulation)
{
    HELD(scaling) x = hosts_to(4);
    follow(&x, SECTION_PARALLEL, "acc", true);
    assert_false(scaling_let_batch_grow(&x));
    x.batch = (struct scaled_key){SECTION_TRAINING, xstrdup("global_batch")};
    assert_true(scaling_let_batch_grow(&x));
    assert_null(scaling_follower(&x, SECTION_PARALLEL, "acc"));
    assert_false(scaling_follower(&x, SECTION_TRAINING, "global_batch")->falls);
    assert_false(scaling_let_batch_grow(&x));
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

static struct prediction_report *no_plans(void)
{
    static const struct report_request request = {.most = 10, .memory_words = ""};
    struct prediction_report *r = NULL;
    FAIL_IF(prediction_report_create(&request, &r, &e));
    return r;
}

static void see(struct prediction_report *r, const char *words, const struct prediction *p, bool is_there, double took)
{
    const struct predicted_row row = {.words = words,
                                      .prediction = p,
                                      .predicted_memory_of = "",
                                      .measured_s = took,
                                      .measured_bytes = NAN};
    FAIL_IF(prediction_report_add_plan(r, &row, is_there, &e));
}

static double ranked(struct prediction_report *r, const char *sql)
{
    OWNED_STMT *s = NULL;
    FAIL_IF(db_next(prediction_report_db(r), sql, NO_VALUES, &s, &e) < 0);
    const double value = stmt_double_or_nan(s, 0);
    return value;
}

TEST(scaled_plans__other_plan_wins_there__places_and_efficiency)
{
    const struct prediction a8 = predicted(8, 10), a32 = predicted(32, 3), a64 = predicted(64, 3),
                            b32 = predicted(32, 4), b64 = predicted(64, 2);
    struct prediction large = predicted(64, 1);
    HELD_AT(prediction_report) *r = no_plans();
    OWNED_BUFFER said = BUFFER_INIT;
    large.verdict = OOM_CERTAIN;
    see(r, "a", &a8, false, 9);
    see(r, "a", &a32, false, NAN);
    see(r, "b", &b32, false, 4);
    see(r, "b", &b64, true, NAN);
    see(r, "a", &a64, true, NAN);
    see(r, "large", &large, true, NAN);
    see(r, "none", NULL, true, NAN);
    FAIL_IF(prediction_report_rank(r, &e));
    assert_true(ranked(r, "SELECT count(*) FROM scaled") == 3);
    assert_true(ranked(r, "SELECT n FROM scaled WHERE words = 'b' AND place = 1 AND place_here = 2") == 1);
    assert_true(ranked(r, "SELECT devices_here FROM scaled WHERE words = 'a' AND place = 2 AND place_here = 1") == 32);
    assert_true(fabs(ranked(r, "SELECT efficiency FROM scaled WHERE words = 'b'") - 1) < 1e-12);
    assert_true(fabs(ranked(r, "SELECT efficiency FROM scaled WHERE words = 'a'") - 0.5) < 1e-12);
    assert_true(ranked(r, "SELECT efficiency_low < 0.5 AND efficiency_high > 0.5 FROM scaled WHERE words = 'a'") == 1);
    assert_true(ranked(r, "SELECT count(*) FROM scaled WHERE words = 'large' AND coalesce(place, devices_here, "
                          "efficiency) IS NULL") == 1);
    /* Measured on 32: on 64 wider than predicted. */
    const double width = evidence_scaling_width("megatron", QUANTITY_OF_TIME, 64, 1);
    const double high = ranked(r, "SELECT time_high FROM scaled WHERE words = 'a'");
    assert_true(width > 0.01 && fabs(log(high / 3) - hypot(log(1.1), width)) < 1e-9);
    const struct scaling x = {.key = {SECTION_CLUSTER, (char *)"num_hosts"}, .value = 8};
    FAIL_IF(prediction_report_scaled(r, &x, &said, &e));
    assert_non_null(strstr(buffer_text(&said), "1st  b on 64 devices; here 2nd, on 32\n"));
    assert_non_null(strstr(buffer_text(&said), "no place  large on 64 devices; not possible here\n"));
    assert_non_null(strstr(buffer_text(&said), "b is the best there, and 2nd here; a is the best here, and 2nd there; "
                                               "the first is faster than the second with a probability of 100 %\n"));
    assert_non_null(strstr(buffer_text(&said),
                           "2 plans both here and there, 1 only there, 0 only here; 1 are predicted "
                           "not to fit there\nnothing can be predicted for 1 combinations there\n"
                           "measured on at most 32 devices; 64 are 2 times as many"));
}

TEST(scaled_plans__same_number_in_the_sweep__smaller_one_counts_as_here)
{
    const struct prediction p16 = predicted(16, 4), p64 = predicted(64, 2);
    HELD_AT(prediction_report) *r = no_plans();
    see(r, "a", &p64, false, NAN);
    see(r, "a", &p16, false, NAN);
    see(r, "a", &p64, true, NAN);
    FAIL_IF(prediction_report_rank(r, &e));
    assert_true(ranked(r, "SELECT devices_here FROM scaled") == 16);
    /* Nothing was measured: as wide as the prediction says. */
    assert_true(fabs(ranked(r, "SELECT time_high FROM scaled") - 2.2) < 1e-9);
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

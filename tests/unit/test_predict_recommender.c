/* predict: recommendation models, against the benchmark model and sums by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/recommender.h"

#define TABLES 26

/* MLPerf training's DLRM: Criteo's terabyte of clicks, indices folded to 40 million. */
static const int64_t criteo_rows[TABLES] = {39884406, 39043,    17289,    7420,     20263,  3,     7120, 1543, 63,
                                            38532951, 2953546,  403346,   10,       2208,   11938, 155,  4,    976,
                                            14,       39979771, 25641295, 39664984, 585935, 12972, 108,  36};
static const int64_t criteo_bottom[] = {13, 512, 256, 128};
static const int64_t criteo_top[] = {1024, 1024, 512, 256, 1};

static struct recommender criteo(struct embedding_table tables[TABLES])
{
    for (size_t i = 0; i < TABLES; i++)
        tables[i] = (struct embedding_table){criteo_rows[i], 128, 1};
    return (struct recommender){.tables = tables,
                                .table_count = TABLES,
                                .bottom = criteo_bottom,
                                .bottom_count = 4,
                                .top = criteo_top,
                                .top_count = 5};
}

static void recommender_measure__mlperf_dlrm__its_sizes(void **state)
{
    (void)state;
    struct embedding_table tables[TABLES];
    const struct recommender r = criteo(tables);
    struct recommender_size s;
    struct error e = ERROR_INIT;
    assert_int_equal(recommender_measure(&r, &s, &e), 0);
    assert_true(s.sparse == 187767399.0 * 128);
    assert_true(s.interaction_width == 479);
    assert_true(s.dense == 171392 + 2197505);
    assert_true(s.flops_per_sample == 6 * s.dense + 3 * 27 * 27 * 128);
    assert_true(s.lookup_bytes_per_sample == 4 * TABLES * 128 && s.exchanged_per_sample == TABLES * 128);
}

/* DCN-v2 on 3 vectors of 4: layers of 12² + 12, or 2·12·2 + 12. */
static void recommender_measure__cross_layers__full_and_low_rank(void **state)
{
    (void)state;
    const struct embedding_table tables[] = {{10, 4, 1}, {20, 4, 2}};
    const int64_t bottom[] = {3, 4}, top[] = {1};
    struct recommender r = {.tables = tables,
                            .table_count = 2,
                            .bottom = bottom,
                            .bottom_count = 2,
                            .top = top,
                            .top_count = 1,
                            .interaction = INTERACTION_CROSS,
                            .cross_layers = 3};
    struct recommender_size s;
    struct error e = ERROR_INIT;
    assert_int_equal(recommender_measure(&r, &s, &e), 0);
    assert_true(s.dense == 3 * 4 + 4 + 3 * (144 + 12) + 12 + 1);
    r.cross_rank = 2;
    assert_int_equal(recommender_measure(&r, &s, &e), 0);
    assert_true(s.dense == 3 * 4 + 4 + 3 * (48 + 12) + 12 + 1);
    r.interaction = INTERACTION_CONCAT;
    assert_int_equal(recommender_measure(&r, &s, &e), 0);
    assert_true(s.dense == 3 * 4 + 4 + 12 + 1 && s.sparse == 120 && s.lookup_bytes_per_sample == 4 * 12);
}

static struct recommender_memory memory(const struct recommender *r, struct recommender_plan plan)
{
    struct recommender_memory m = {0};
    struct error e = ERROR_INIT;
    if (recommender_memory(r, &plan, &m, &e))
        fail_msg("%s", e.text);
    return m;
}

/* The five large tables on eight ranks: the fullest has the largest of them. */
static void recommender_memory__table_wise__the_fullest_rank(void **state)
{
    (void)state;
    struct embedding_table tables[TABLES];
    const struct recommender r = criteo(tables);
    const struct recommender_plan plan = {.ranks = 8, .samples_per_rank = 1, .element_bytes = 4, .cached_fraction = 1};
    struct recommender_memory m = memory(&r, plan);
    assert_true(m.tables == 39979771.0 * 128 * 4 && m.optimizer == 39979771.0 * 4);
    assert_true(m.dense == 16 * 2368897.0);
}

static void recommender_memory__each_sharding__share_of_the_tables(void **state)
{
    (void)state;
    struct embedding_table tables[TABLES];
    const struct recommender r = criteo(tables);
    struct recommender_plan plan = {.ranks = 8,
                                    .samples_per_rank = 1,
                                    .element_bytes = 2,
                                    .cached_fraction = 1,
                                    .optimizer = EMBEDDING_ADAM};
    const double all = 187767399.0 * 128;
    plan.sharding = EMBEDDING_ROW_WISE;
    assert_true(memory(&r, plan).tables == all * 2 / 8 && memory(&r, plan).optimizer == all * 8 / 8);
    plan.sharding = EMBEDDING_REPLICATED;
    assert_true(memory(&r, plan).tables == all * 2);
    plan.cached_fraction = 0.25;
    assert_true(memory(&r, plan).tables == all / 2);
    plan.sharding = EMBEDDING_TABLE_WISE;
    plan.ranks = 1;
    assert_true(memory(&r, plan).tables == all / 2);
}

static void recommender_memory__activations__grow_with_samples_and_exchange(void **state)
{
    (void)state;
    struct embedding_table tables[TABLES];
    const struct recommender r = criteo(tables);
    struct recommender_plan plan = {.ranks = 8, .samples_per_rank = 1, .element_bytes = 4, .cached_fraction = 1};
    const double pooled = 2 * 4 * TABLES * 128, rest = 8 * TABLES + 4 * (896 + 2817) + 4 * 27 * 27;
    assert_true(memory(&r, plan).activations == 3 * pooled + rest);
    plan.samples_per_rank = 1000;
    assert_true(memory(&r, plan).activations == 1000 * (3 * pooled + rest));
    plan.sharding = EMBEDDING_REPLICATED;
    assert_true(memory(&r, plan).activations == 1000 * (pooled + rest));
}

static void recommender_measure__senseless__refused_untouched(void **state)
{
    (void)state;
    struct embedding_table tables[TABLES];
    const struct recommender good = criteo(tables);
    struct recommender bad[] = {good, good, good, good};
    const int64_t negative[] = {13, -1, 128};
    struct recommender_size s = {.sparse = 42};
    struct recommender_memory m = {.total = 42};
    struct error e = ERROR_INIT;
    bad[0].table_count = 0;
    bad[1].bottom = negative;
    bad[1].bottom_count = 3;
    bad[2].bottom_count = 3; /* ends at 256, tables have 128 */
    bad[3].cross_layers = -1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(recommender_measure(&bad[i], &s, &e), -1);
    const struct recommender_plan plans[] = {{.ranks = 0, .samples_per_rank = 1, .element_bytes = 4},
                                             {.ranks = 1, .samples_per_rank = 1, .element_bytes = NAN},
                                             {.ranks = 1, .samples_per_rank = 1, .element_bytes = 4, .sharding = 9}};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        assert_int_equal(recommender_memory(&good, &plans[i], &m, &e), -1);
    tables[3].rows = 1000000000000;
    tables[3].pooling = INFINITY;
    assert_int_equal(recommender_measure(&good, &s, &e), -1);
    tables[3].pooling = 1;
    for (size_t i = 0; i < TABLES; i++)
        tables[i].rows = 1000000000000;
    assert_int_equal(recommender_measure(&good, &s, &e), -1);
    assert_true(s.sparse == 42 && m.total == 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recommender_measure__mlperf_dlrm__its_sizes),
        cmocka_unit_test(recommender_measure__cross_layers__full_and_low_rank),
        cmocka_unit_test(recommender_memory__table_wise__the_fullest_rank),
        cmocka_unit_test(recommender_memory__each_sharding__share_of_the_tables),
        cmocka_unit_test(recommender_memory__activations__grow_with_samples_and_exchange),
        cmocka_unit_test(recommender_measure__senseless__refused_untouched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

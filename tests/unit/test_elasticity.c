/* space/elasticity: the numbers of data-parallel ranks that DeepSpeed's elasticity allows, with the figures of its own
 * tests (tests/unit/elasticity/test_elastic.py) and by trying each number. */

#include "space/elasticity.h"
#include "unit_test.h"
#include "util/buffer.h"

/* Ends with a 0. */
static struct elasticity elastic(bool by_nodes, int64_t max_batch, const int64_t *micro_batches)
{
    struct elasticity x = elasticity_default();
    x.by_nodes = by_nodes;
    x.max_batch = max_batch;
    for (; micro_batches[x.micro_batch_count]; x.micro_batch_count++)
        x.micro_batches[x.micro_batch_count] = micro_batches[x.micro_batch_count];
    return x;
}

/* The configuration of DeepSpeed's tests. */
static struct elasticity ten_thousand(bool by_nodes)
{
    struct elasticity x = elastic(by_nodes, 10000, (int64_t[]){8, 12, 16, 17, 0});
    x.min_devices = 32;
    x.max_devices = 1500;
    return x;
}

static size_t count_by_trial(const struct elasticity *x, int64_t batch)
{
    size_t count = 0;
    for (int64_t n = x->min_devices; n <= x->max_devices; n++) {
        size_t i = 0;
        while (i < x->micro_batch_count && batch % (x->micro_batches[i] * n) != 0)
            i++;
        count += i < x->micro_batch_count;
        assert_int_equal(elasticity_allows(x, n), i < x->micro_batch_count);
    }
    return count;
}

TEST(elasticity_batch__test_basic_10k__9792_for_23_numbers)
{
    struct elasticity x = ten_thousand(false);
    size_t allowed;
    assert_int_equal(elasticity_batch(&x, &allowed), 9792);
    assert_int_equal(allowed, 23);
    assert_int_equal(count_by_trial(&x, 9792), 23);
    assert_true(elasticity_allows(&x, 64));   /* test_valid_world_size */
    assert_false(elasticity_allows(&x, 128)); /* test_invalid_world_size */
    assert_false(elasticity_allows(&x, 24));  /* fewer than min_gpus */
    assert_false(elasticity_allows(&x, 9792));
    assert_false(elasticity_allows(&x, 0));
}

/* test_proper_mbsz and test_batch_size_within_max: the common multiples 42 and 120 are more than the batch may be. */
TEST(elasticity_batch__common_multiple_above_the_most__left_out)
{
    struct elasticity x = elastic(false, 32, (int64_t[]){1, 2, 3, 7, 0});
    size_t allowed;
    assert_int_equal(elasticity_batch(&x, &allowed), 24);
    assert_int_equal(count_by_trial(&x, 24), allowed);
    assert_true(elasticity_allows(&x, 4));
    assert_false(elasticity_allows(&x, 7));
    x = elastic(false, 100, (int64_t[]){8, 10, 12, 0});
    assert_in_range(elasticity_batch(&x, &allowed), 1, 100);
    x.max_batch = 120;
    assert_int_equal(elasticity_batch(&x, &allowed), 120);
}

TEST(elasticity_batch__of_equals__the_larger_or_the_smaller)
{
    /* 5·12 and 7·12 allow 1, 2, 3, 4, 6 and 12; 35·2 allows 1, 2, 5, 7, 10 and 14, and lies between. */
    struct elasticity x = elastic(false, 89, (int64_t[]){5, 7, 0});
    size_t allowed;
    assert_int_equal(elasticity_batch(&x, &allowed), 84);
    assert_int_equal(allowed, 6);
    x.prefer_larger = false;
    assert_int_equal(elasticity_batch(&x, &allowed), 60);
    assert_int_equal(allowed, 6);
}

TEST(elasticity_batch__many_limits__counted_as_by_trial)
{
    static const int64_t lists[][5] = {{2, 4, 6}, {1}, {7, 11, 13}, {16, 24}, {5, 10, 15, 20}, {3, 6, 9}};
    for (size_t i = 0; i < LENGTH(lists); i++)
        for (int64_t most = 30; most < 3000; most = most * 3 / 2) {
            struct elasticity x = elastic(false, most, lists[i]);
            size_t allowed;
            x.min_devices = 1 + most % 3;
            x.max_devices = most / 2;
            int64_t batch = elasticity_batch(&x, &allowed);
            assert_in_range(batch, 1, most);
            assert_int_equal(count_by_trial(&x, batch), allowed);
        }
}

TEST_ROWS(elasticity_batch__no_micro_batch_that_fits__none, (int64_t list[3]), {{0}}, {{200, 2}}, {{2, -4}})
{
    struct elasticity x = elastic(false, 100, row->list);
    size_t allowed = 7;
    assert_int_equal(elasticity_batch(&x, &allowed), 0);
    assert_int_equal(allowed, 0);
    assert_false(elasticity_allows(&x, 1));
    x.by_nodes = true;
    assert_false(elasticity_allows(&x, 1));
}

/* test_model_parallel_v2_microbatch_is_per_dp_rank: 16 devices, 8 a node, a batch of 64. */
TEST(elasticity_allows__whole_nodes__by_nodes)
{
    struct elasticity x = elastic(true, 64, (int64_t[]){4, 8, 0});
    x.devices_per_node = 8;
    x.min_devices = x.max_devices = 16;
    assert_true(elasticity_allows(&x, 16));
    /* Other numbers have a batch of their own, as long as a micro-batch on each rank is no more than 64. */
    assert_true(elasticity_allows(&x, 12));
    assert_false(elasticity_allows(&x, 17));
    x.prefer_larger = false;
    assert_false(elasticity_allows(&x, 12));
    assert_true(elasticity_allows(&x, 7));
}

/* Four ranks a node: 10000 / 4 is the most for one rank of each node. */
TEST(elasticity_allows__model_parallel__number_and_its_part_in_the_list)
{
    struct elasticity x = ten_thousand(true), ranks;
    x.devices_per_node = 8;
    x.model_parallel = 2;
    x.min_devices = 1;
    size_t allowed;
    ranks = x;
    ranks.max_batch = 2500;
    ranks.max_devices = 1500 / 8;
    int64_t batch = elasticity_batch(&ranks, &allowed);
    for (int64_t n = 1; n <= 400; n++) {
        bool part = false, whole = false;
        for (size_t i = 0; i < x.micro_batch_count; i++) {
            whole = whole || (n % 4 == 0 && n / 4 <= 187 && batch % (x.micro_batches[i] * (n / 4)) == 0);
            part = part || (n / 2 % 4 == 0 && n / 8 > 0 && batch % (x.micro_batches[i] * (n / 8)) == 0);
        }
        assert_int_equal(elasticity_allows(&x, n), whole && part);
    }
    assert_true(elasticity_allows(&x, 8));
    assert_false(elasticity_allows(&x, 4));
}

TEST(elasticity_allows__nodes_that_do_not_divide__refused)
{
    struct elasticity x = ten_thousand(true);
    x.devices_per_node = 8;
    x.model_parallel = 16; /* test_model_parallel_v2_invalid */
    assert_false(elasticity_allows(&x, 16));
    x.model_parallel = 0;
    assert_false(elasticity_allows(&x, 16));
    x = ten_thousand(true);
    x.devices_per_node = 0;
    assert_false(elasticity_allows(&x, 64));
    x = ten_thousand(false);
    x.min_devices = -1;
    assert_false(elasticity_allows(&x, 64));
    x.min_devices = 1501;
    assert_false(elasticity_allows(&x, 64));
}

/* --- in SQL --- */

static void check_sql(const char *arguments, int64_t expected)
{
    HELD_AT(db) *db = NULL;
    OWNED_BUFFER sql = BUFFER_INIT;
    int64_t got = 0;
    buffer_printf(&sql, "SELECT coalesce(elastic_allows(%s), -1)", arguments);
    FAIL_IF(db_open(NULL, DB_TEMPORARY, &db, &e) < 0 || elasticity_add_function(db, &e) < 0 ||
            db_query_int(db, buffer_text(&sql), NO_VALUES, -7, &got, &e) < 0);
    FAIL_WHERE(got != expected, "elastic_allows(%s) is %lld, not %lld", arguments, (long long)got, (long long)expected);
}

TEST_ROWS(
    elastic_allows__known_or_not__one_zero_or_null, (const char *arguments; int64_t expected),
    {"64, 10000, '[8, 12, 16, 17]', 32, 1500, NULL, 0.1, NULL, NULL", 1},
    {"128, 1e4, '[8,12,16,17]', 32, 1500, true, '0.1', NULL, NULL", 0},
    {"16, 64, '[ 4, 8 ]', 16, 16, NULL, NULL, 8, 1", 1}, {"17, 64, '[4, 8]', 16, 16, NULL, 0.2, 8, 1", 0},
    {"12, 64, '[4, 8]', 16, 16, false, 0.2, 8, 1", 0}, {"16, 10000, '[8, 12, 16, 17]', 32, 1500, NULL, 0.2, 8, 16", 0},
    /* test_invalid_config_values */
    {"64, 10000, '[1, 4, -1, 2, -10]', 32, 1500, NULL, 0.1, NULL, NULL", 0},
    {"64, 10000, 5, 32, 1500, NULL, 0.1, NULL, NULL", 0},
    {"64, 10000, '[\"a\", null, 0.5]', 32, 1500, NULL, 0.1, NULL, NULL", 0},
    {"64, 10000, '[2, 0.5, 4]', 32, 1500, NULL, 0.1, NULL, NULL", 0},
    {"64, 10000, '[]', 32, 1500, NULL, 0.1, NULL, NULL", 0}, {"64, 10000, '[8', 32, 1500, NULL, 0.1, NULL, NULL", 0},
    {"64, 10000, '[8]', -1, 1500, NULL, 0.1, NULL, NULL", 0},
    /* What is not known is NULL. */
    {"NULL, 10000, '[8]', 1, 1500, NULL, 0.1, NULL, NULL", -1}, {"64, NULL, '[8]', 1, 1500, NULL, 0.1, NULL, NULL", -1},
    {"64, 10000, NULL, 1, 1500, NULL, 0.1, NULL, NULL", -1}, {"64, 'many', '[8]', 1, 1500, NULL, 0.1, NULL, NULL", -1},
    {"64, 10000.5, '[8]', 1, 1500, NULL, 0.1, NULL, NULL", -1},
    {"64, 1000000001, '[8]', 1, 1500, NULL, 0.1, NULL, NULL", -1},
    {"64, 10000, '[8]', 1, 1500, NULL, 0.3, NULL, NULL", -1}, {"64, 10000, '[8]', 1, 1500, NULL, 0.1", -1})
{
    check_sql(row->arguments, row->expected);
}

TEST(elastic_allows__too_many_micro_batches__null)
{
    OWNED_BUFFER list = BUFFER_INIT;
    buffer_add_text(&list, "64, 10000, '[8");
    for (int i = 1; i <= ELASTICITY_MICRO_BATCHES_MOST; i++)
        buffer_add_text(&list, ", 8");
    buffer_add_text(&list, "]', 1, 1500, NULL, 0.1, NULL, NULL");
    check_sql(buffer_text(&list), -1);
}

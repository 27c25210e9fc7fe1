/* util/hash_set: members, growth, the all-zero hash. */

#include "unit_test.h"
#include "util/hash.h"

TEST(add__thousands__each_once)
{
    HELD(hash_set) set = HASH_SET_INIT;
    for (int pass = 0; pass < 2; pass++) {
        for (uint64_t i = 0; i < 5000; i++) {
            struct hash128 hash = hash_bytes(&i, sizeof i);
            assert_int_equal(hash_set_has(&set, &hash), pass);
            assert_int_equal(hash_set_add(&set, &hash), !pass);
        }
    }
    assert_int_equal(set.count, 5000);
}

TEST(has__empty_set_or_zero_hash__only_what_was_added)
{
    HELD(hash_set) set = HASH_SET_INIT;
    const struct hash128 zero = {{0}}, other = {{0, 1}};
    assert_false(hash_set_has(&set, &zero));
    assert_false(hash_set_has(&set, &other));
    assert_true(hash_set_add(&set, &zero));
    assert_false(hash_set_add(&set, &zero));
    assert_true(hash_set_has(&set, &zero));
    assert_false(hash_set_has(&set, &other));
    assert_true(hash_set_add(&set, &other));
    assert_true(hash_set_has(&set, &other));
    assert_int_equal(set.count, 2);
}

TEST(hash_index__twice__each_its_number)
{
    HELD(hash_index) x = HASH_INDEX_INIT;
    const struct hash128 zero = {{0}};
    bool is_new;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < 1000; i++) {
            const struct hash128 hash = hash_bytes(&i, sizeof i);
            assert_int_equal(hash_index_add(&x, &hash, &is_new), i);
            assert_int_equal(is_new, round == 0);
        }
    assert_int_equal(hash_index_add(&x, &zero, &is_new), 1000);
    assert_true(is_new);
}

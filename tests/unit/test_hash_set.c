/* util/hash: members and their numbers, growth, a map that is full. */

#include "unit_test.h"
#include "util/hash.h"

TEST(hash_index__thousands_twice__each_once_with_its_number)
{
    HELD(hash_index) x = HASH_INDEX_INIT;
    const struct hash128 zero = {{0}};
    bool is_new;
    assert_false(hash_index_has(&x, &zero));
    assert_true(hash_index_takes(&x, &zero));
    assert_false(hash_index_takes(&x, &zero));
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 1; i < 5000; i++) {
            const struct hash128 hash = hash_bytes(&i, sizeof i);
            assert_int_equal(hash_index_has(&x, &hash), pass);
            assert_int_equal(hash_index_add(&x, &hash, &is_new), i);
            assert_int_equal(is_new, pass == 0);
        }
    assert_true(hash_index_has(&x, &zero));
    assert_int_equal(x.count, 5000);
}

TEST(hash_map__beyond_its_bound__what_it_has_is_right)
{
    HELD(hash_map) m = HASH_MAP_INIT;
    int64_t number, found = 0;
    for (int64_t i = 0; i < HASH_MAP_MOST + 100; i++) {
        const struct hash128 hash = hash_bytes(&i, sizeof i);
        hash_map_put(&m, &hash, -i);
        hash_map_put(&m, &hash, i);
    }
    for (int64_t i = 0; i < HASH_MAP_MOST + 100; i++) {
        const struct hash128 hash = hash_bytes(&i, sizeof i);
        const bool is_known = hash_map_get(&m, &hash, &number);
        assert_true(!is_known || number == i);
        found += is_known;
    }
    assert_in_range(found, 100, HASH_MAP_MOST);
}

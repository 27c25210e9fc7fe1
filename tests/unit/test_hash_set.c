/* util/hash_set: members, growth, the all-zero hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/hash_set.h"

static void add__thousands__each_once(void **state)
{
    (void)state;
    struct hash_set set = HASH_SET_INIT;
    for (int pass = 0; pass < 2; pass++) {
        for (uint64_t i = 0; i < 5000; i++) {
            struct hash128 hash = hash_bytes(&i, sizeof i);
            assert_int_equal(hash_set_has(&set, &hash), pass);
            assert_int_equal(hash_set_add(&set, &hash), !pass);
        }
    }
    assert_int_equal(set.count, 5000);
    hash_set_free(&set);
}

static void has__empty_set_or_zero_hash__only_what_was_added(void **state)
{
    (void)state;
    struct hash_set set = HASH_SET_INIT;
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
    hash_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add__thousands__each_once),
        cmocka_unit_test(has__empty_set_or_zero_hash__only_what_was_added),
    };
    return cmocka_run_group_tests_name("hash_set", tests, NULL, NULL);
}

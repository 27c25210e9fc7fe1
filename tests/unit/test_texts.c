/* compare/texts: numbers in order, one per text, however many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "compare/texts.h"

static void number__thousands_twice__one_each_in_their_order(void **state)
{
    (void)state;
    struct texts texts = TEXTS_INIT;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < 5000; i++) {
            char text[16];
            snprintf(text, sizeof text, "%u", (unsigned)i * 7);
            assert_int_equal(texts_number(&texts, text), i);
        }
    }
    assert_int_equal(texts.count, 5000);
    assert_string_equal(texts.items[3], "21");
    texts_free(&texts);
    assert_int_equal(texts.count, 0);
}

static void number__empty_text__has_one(void **state)
{
    (void)state;
    struct texts texts = TEXTS_INIT;
    assert_int_equal(texts_number(&texts, ""), 0);
    assert_int_equal(texts_number(&texts, "a"), 1);
    assert_int_equal(texts_number(&texts, ""), 0);
    texts_free(&texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number__thousands_twice__one_each_in_their_order),
        cmocka_unit_test(number__empty_text__has_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

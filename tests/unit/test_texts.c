/* compare/texts: numbers in order, one per text, however many. */
#include "results/compared_jobs.h"
#include "unit_test.h"

TEST(number__thousands_twice__one_each_in_their_order)
{
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

TEST(number__empty_text__has_one)
{
    HELD(texts) texts = TEXTS_INIT;
    assert_int_equal(texts_number(&texts, ""), 0);
    assert_int_equal(texts_number(&texts, "a"), 1);
    assert_int_equal(texts_number(&texts, ""), 0);
}

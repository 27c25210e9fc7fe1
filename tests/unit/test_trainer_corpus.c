/* trainer: the generated text and its samples. */
#include <string.h>

#include "trainer/corpus.h"
#include "unit_test.h"

TEST(corpus_generate__seed__same_text_else_other)
{
    struct corpus a, b, c;
    struct error e;

    assert_int_equal(corpus_generate(&a, 1, &e), 0);
    assert_int_equal(corpus_generate(&b, 1, &e), 0);
    assert_int_equal(corpus_generate(&c, 2, &e), 0);
    assert_memory_equal(a.bytes, b.bytes, a.length);
    assert_true(memcmp(a.bytes, c.bytes, a.length) != 0);
    corpus_free(&a);
    corpus_free(&b);
    corpus_free(&c);
}

TEST(corpus_sample__shortest_text__stays_inside)
{
    unsigned char bytes[5];
    struct corpus corpus = {bytes, sizeof bytes};

    for (uint64_t i = 0; i < 100; i++)
        assert_ptr_equal(corpus_sample(&corpus, 1, i, 4), bytes);
    for (uint64_t i = 0; i < 100; i++)
        assert_true(corpus_sample(&corpus, 1, i, 3) <= bytes + 1);
}

TEST(corpus_sample__numbers__differ)
{
    unsigned char bytes[1000];
    struct corpus corpus = {bytes, sizeof bytes};
    int same = 0;

    for (uint64_t i = 0; i < 100; i++)
        same += corpus_sample(&corpus, 1, i, 9) == corpus_sample(&corpus, 1, i + 1, 9);
    assert_true(same < 5);
}

/* space: the partial order of device memory, and what a witness says about others. */
#include "measures/knowledge.h"
#include "space_fixture.h"

/* "id id …" of the combinations (numbered from 1 by rank) that need no less than the witness. */
static void expect_dependents(const char *toml, int64_t witness, const char *expected)
{
    HELD(built) b = build_text(toml);
    struct knowledge *k;
    struct stmt *rows;
    struct error why = ERROR_INIT;
    OWNED_BUFFER got = BUFFER_INIT;
    FAIL_IF(knowledge_create(b.space, &k, &e) < 0);
    for (int64_t rank = 0; rank < space_combinations(b.space); rank++)
        FAIL_IF(knowledge_add(k, rank + 1, rank, rank + 1 == witness, &e));
    for (rows = knowledge_dependents(k, witness); stmt_next(rows, &why) > 0;) {
        assert_int_equal(stmt_int(rows, 1), witness);
        buffer_printf(&got, "%s%d", got.length ? " " : "", (int)stmt_int(rows, 0));
    }
    assert_string_equal(why.text, "");
    assert_string_equal(buffer_text(&got), expected);
    knowledge_free(k);
}

#define TWO_DEVICES "[predict]\n[[cluster_spec]]\nnum_devices_per_host = 2\n"
#define EIGHT_DEVICES "[predict]\n[[cluster_spec]]\nnum_devices_per_host = 8\n"

TEST(order__micro_batch_and_stage__both_at_once)
{
    const char *text = TWO_DEVICES "[[parallel_spec]]\nmicro_batch = [1, 2, 4]\nzero_stage = [0, 1, 2]\n";
    expect_dependents(text, 5, "4 7 8"); /* 2 at stage 1 */
    expect_dependents(text, 1, "4 7");
    expect_dependents(text, 9, "7 8");
    expect_dependents(text, 7, "");
}

TEST(order__stage_on_one_device__not_compared)
{
    expect_dependents("[predict]\n[[parallel_spec]]\nmicro_batch = [1, 2]\nzero_stage = [0, 1]\n", 2, "4");
    expect_dependents(EIGHT_DEVICES "[[parallel_spec]]\ntp = 8\nzero_stage = [0, 1]\n", 2, "");
    expect_dependents(EIGHT_DEVICES "[[parallel_spec]]\ntp = 4\nzero_stage = [0, 1]\n", 2, "1");
}

TEST(order__tensor_for_pipeline__at_an_equal_product_alone)
{
    const char *degrees = "[[parallel_spec]]\n\"(tp, pp)\" = [[4, 1], [2, 2], [1, 4], [1, 2], [2, 1]]\n";
    OWNED char *text = xasprintf(EIGHT_DEVICES "%s", degrees);
    expect_dependents(text, 1, "2 3");
    expect_dependents(text, 4, "");
    expect_dependents(text, 5, "4");
    free(text);
    /* Two micro-batches do not fill four stages: less of the model in each is less then. */
    text = xasprintf(EIGHT_DEVICES "[training_spec]\ngradient_accumulation = 2\n%s", degrees);
    expect_dependents(text, 1, "2");
}

TEST(order__listed_values__in_their_order)
{
    const char *text = TWO_DEVICES "[[parallel_spec]]\nrecompute = [\"none\", \"full\", \"selective\"]\n";
    expect_dependents(text, 2, "1 3");
    expect_dependents(text, 3, "1");
    expect_dependents(TWO_DEVICES "[[parallel_spec]]\nrecompute = [true, false]\n", 1, "2");
    expect_dependents(TWO_DEVICES "[[parallel_spec]]\nrecompute = [true, false]\n", 2, "");
}

TEST(order__key_of_nobody__must_be_equal)
{
    expect_dependents(TWO_DEVICES "[[parallel_spec]]\nmicro_batch = [1, 2]\nkernel = [\"a\", \"b\"]\n", 1, "3");
    /* Neither an absent value nor a text is more or less than a number. */
    expect_dependents(TWO_DEVICES
                      "[[parallel_spec]]\nmicro_batch = [1, 2]\n[[parallel_spec]]\nmicro_batch = [\"auto\", 4]\n"
                      "[[parallel_spec]]\nkernel = 1\n",
                      1, "2 4");
}

TEST(order__of_the_file__adds_and_replaces)
{
    const char *keys = "[[parallel_spec]]\nmicro_batch = [1, 2]\nkernel = [\"a\", \"b\"]\n";
    OWNED char *text = xasprintf("[predict.order]\nkernel = [\"b\", \"a\"]\nmicro_batch = \"equal\"\n%s", keys);
    expect_dependents(text, 2, "1");
    free(text);
    text = xasprintf("[predict.order]\nkernel = \"any\"\n%s", keys);
    expect_dependents(text, 2, "1 3 4");
}

TEST(order__labels__differ_but_where_the_command_says_them)
{
    const char *specs = "[predict]\n[[model]]\nname = \"a\"\nh = 1\n[[model]]\nname = \"b\"\nh = 1\n"
                        "[[parallel_spec]]\nmicro_batch = [1, 2]\n";
    expect_dependents(specs, 1, "2 3 4");
    OWNED char *text = xasprintf("[job]\ncommand = [\"run\", \"{name}\"]\n%s", specs);
    expect_dependents(text, 1, "2");
}

TEST(order__nothing_asked_or_off__none)
{
    struct built b = build_text("[[parallel_spec]]\nmicro_batch = [1, 2]\n");
    assert_null(b.space->order);
    built_free(&b);
    b = build_text("[predict]\nprune = \"off\"\n[[parallel_spec]]\nmicro_batch = [1, 2]\n");
    assert_null(b.space->order);
    built_free(&b);
    b = build_text("[predict]\n[[parallel_spec]]\nkernel = [1, 2]\n");
    assert_null(b.space->order);
    built_free(&b);
}

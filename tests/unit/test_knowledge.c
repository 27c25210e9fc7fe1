/* space: the partial order of device memory, and what a witness says about others. */
#include "measures/knowledge.h"
#include "space_fixture.h"

#define TWO_DEVICES "[predict]\n[[cluster_spec]]\nnum_devices_per_host = 2\n"
#define EIGHT_DEVICES "[predict]\n[[cluster_spec]]\nnum_devices_per_host = 8\n"

#define STAGES TWO_DEVICES "[[parallel_spec]]\nmicro_batch = [1, 2, 4]\nzero_stage = [0, 1, 2]\n"
#define DEGREES "[[parallel_spec]]\n\"(tp, pp)\" = [[4, 1], [2, 2], [1, 4], [1, 2], [2, 1]]\n"
#define RECOMPUTE TWO_DEVICES "[[parallel_spec]]\nrecompute = [\"none\", \"full\", \"selective\"]\n"
#define KERNELS "[[parallel_spec]]\nmicro_batch = [1, 2]\nkernel = [\"a\", \"b\"]\n"
#define NAMED                                                                                                          \
    "[predict]\n[[model]]\nname = \"a\"\nh = 1\n[[model]]\nname = \"b\"\nh = 1\n"                                      \
    "[[parallel_spec]]\nmicro_batch = [1, 2]\n"

/* "id id …" of the combinations (numbered from 1 by rank) that need no less than the witness. */
TEST_ROWS(order__witness__who_needs_no_less, (const char *toml; int64_t witness; const char *expected),
          /* Micro-batch and stage count both at once. */
          {STAGES, 5, "4 7 8"}, /* 2 at stage 1 */
          {STAGES, 1, "4 7"}, {STAGES, 9, "7 8"}, {STAGES, 7, ""},
          /* Stages are not compared on one device. */
          {"[predict]\n[[parallel_spec]]\nmicro_batch = [1, 2]\nzero_stage = [0, 1]\n", 2, "4"},
          {EIGHT_DEVICES "[[parallel_spec]]\ntp = 8\nzero_stage = [0, 1]\n", 2, ""},
          {EIGHT_DEVICES "[[parallel_spec]]\ntp = 4\nzero_stage = [0, 1]\n", 2, "1"},
          /* Tensor degrees count for those of a pipeline at an equal product alone. */
          {EIGHT_DEVICES DEGREES, 1, "2 3"}, {EIGHT_DEVICES DEGREES, 4, ""}, {EIGHT_DEVICES DEGREES, 5, "4"},
          /* Two micro-batches do not fill four stages: less of the model in each is less then. */
          {EIGHT_DEVICES "[training_spec]\ngradient_accumulation = 2\n" DEGREES, 1, "2"},
          /* Listed values have their order. */
          {RECOMPUTE, 2, "1 3"}, {RECOMPUTE, 3, "1"},
          {TWO_DEVICES "[[parallel_spec]]\nrecompute = [true, false]\n", 1, "2"},
          {TWO_DEVICES "[[parallel_spec]]\nrecompute = [true, false]\n", 2, ""},
          /* A key of nobody must be equal. */
          {TWO_DEVICES KERNELS, 1, "3"},
          /* Neither an absent value nor a text is more or less than a number. */
          {TWO_DEVICES "[[parallel_spec]]\nmicro_batch = [1, 2]\n[[parallel_spec]]\nmicro_batch = [\"auto\", 4]\n"
                       "[[parallel_spec]]\nkernel = 1\n",
           1, "2 4"},
          /* An order of the file adds and replaces. */
          {"[predict.order]\nkernel = [\"b\", \"a\"]\nmicro_batch = \"equal\"\n" KERNELS, 2, "1"},
          {"[predict.order]\nkernel = \"any\"\n" KERNELS, 2, "1 3 4"},
          /* Labels may differ, but where the command says them. */
          {NAMED, 1, "2 3 4"}, {"[job]\ncommand = [\"run\", \"{name}\"]\n" NAMED, 1, "2"})
{
    HELD(built) b = build_text(row->toml);
    struct knowledge *k;
    struct stmt *rows;
    struct error why = ERROR_INIT;
    OWNED_BUFFER got = BUFFER_INIT;
    FAIL_IF(knowledge_create(b.space, &k, &e) < 0);
    for (int64_t rank = 0; rank < space_combinations(b.space); rank++)
        FAIL_IF(knowledge_add(k, rank + 1, rank, rank + 1 == row->witness, &e));
    for (rows = knowledge_dependents(k, row->witness); stmt_next(rows, &why) > 0;) {
        assert_int_equal(stmt_int(rows, 1), row->witness);
        buffer_printf(&got, "%s%d", got.length ? " " : "", (int)stmt_int(rows, 0));
    }
    assert_string_equal(why.text, "");
    assert_string_equal(buffer_text(&got), row->expected);
    knowledge_free(k);
}

TEST_ROWS(order__nothing_asked_or_off__none, (const char *toml), {"[[parallel_spec]]\nmicro_batch = [1, 2]\n"},
          {"[predict]\nprune = \"off\"\n[[parallel_spec]]\nmicro_batch = [1, 2]\n"},
          {"[predict]\n[[parallel_spec]]\nkernel = [1, 2]\n"})
{
    HELD(built) b = build_text(row->toml);
    assert_null(b.space->order);
}

/* config: what a metric measures, by its key, its name or its whole unit, and never by a part of them. */
#include "config/meaning.h"
#include "sweep_fixture.h"

static const char text[] = "[job.metrics.tok]\nmeans = \"tokens/s/device\"\n"
                           "[job.metrics.step_time]\nmeans = \"other\"\n"
                           "[job.metrics.a]\nunit = \"tokens/s\"\n"
                           "[job.metrics.b]\nunit = \"reward/step\"\n"
                           "[job.metrics.timeouts]\nunit = \"s\"\n"
                           "[job.metrics.token_type_errors]\nunit = \"1/s\"\n"
                           "[job.metrics.peak]\nmeans = \"reserved-memory\"\nrank = 0\n"
                           "[job.metrics.throughput]\nunit = \"it/s\"\n"
                           "[job.metrics.c]\nunit = \"Samples/Sec\"\n"
                           "[job.metrics.d]\nunit = \"tokens/second/GPU\"\n"
                           "[job.metrics.e]\nunit = \"img/s\"\n"
                           "[job.metrics.f]\nunit = \"iter/sec\"\n"
                           "[job.metrics.g]\nunit = \"FLOPS\"\n"
                           "[job.metrics.h]\nunit = \"samples/section\"\n"
                           "[job.metrics.i]\nunit = \"/sec\"\n"
                           "[[model]]\nlayers = 2\n";

TEST_ROWS(meaning__key_name_or_whole_unit__nothing_else,
          (const char *metric; enum metric_quantity quantity; enum metric_work work; bool per_device),
          {"tok", QUANTITY_RATE, WORK_TOKENS, true}, {"step_time", QUANTITY_NONE, WORK_NONE, false},
          {"a", QUANTITY_RATE, WORK_TOKENS, false}, {"b", QUANTITY_NONE, WORK_NONE, false},
          {"timeouts", QUANTITY_NONE, WORK_NONE, false}, {"token_type_errors", QUANTITY_NONE, WORK_NONE, false},
          {"c", QUANTITY_RATE, WORK_SAMPLES, false}, {"d", QUANTITY_RATE, WORK_TOKENS, true},
          {"e", QUANTITY_RATE, WORK_SAMPLES, false}, {"f", QUANTITY_RATE, WORK_STEPS, false},
          {"g", QUANTITY_RATE, WORK_FLOPS, false}, {"h", QUANTITY_NONE, WORK_NONE, false},
          {"i", QUANTITY_NONE, WORK_NONE, false}, {"throughput", QUANTITY_RATE, WORK_STEPS, false},
          {"latency", QUANTITY_STEP_TIME, WORK_NONE, false}, {"mfu", QUANTITY_RATE, WORK_FLOPS, true},
          {"mfu_errors", QUANTITY_NONE, WORK_NONE, false}, {"device_memory_peak", QUANTITY_MEMORY, WORK_NONE, true})
{
    HELD_AT(sweep) *s = sweep_of(text);
    const struct metric_meaning *m = metric_meaning(s, row->metric);
    if (m->quantity != row->quantity || m->work != row->work || m->per_device != row->per_device)
        fail_msg("%s", row->metric);
}

TEST(memory_words__counter_and_rank__where_known)
{
    HELD_AT(sweep) *s = sweep_of(text);
    const char *const want[][2] = {{"peak", "reserved, rank 0"}, {"device_memory_peak", "device"}, {"peak_memory", ""}};
    for (size_t i = 0; i < LENGTH(want); i++) {
        OWNED char *words = metric_memory_words(s, want[i][0]);
        assert_string_equal(words, want[i][1]);
    }
}

/* predict: layers that mix tokens by a recurrence. */
#include "predict/layer_memory.h"
#include "predict/mixer.h"
#include "step_fixture.h"

static struct architecture stack(const char *pattern)
{
    struct architecture a = shaped(ARCHITECTURE_LLAMA, (int64_t)strlen(pattern), 1024, 8, 1000);
    a.hybrid_pattern = pattern;
    return a;
}

/* The states of chunks are there in passing, and not kept. */
TEST(layer_memory_set__mamba2__states_of_chunks_in_passing)
{
    const struct framework *f = framework_find("megatron");
    struct training_plan plan = {.sequence = 512, .flash_attention = true};
    struct architecture a = stack("MM");
    completed(&a, &plan);
    double passing = (layer_memory_set(&a, &plan, &f->memory) - layer_memory_kept(&a, &plan, &f->memory)) / 512;
    assert_close(passing, 2 * 4096 + 8 * 2048 + 4 * 8 * 128, 1e-12);
}

TEST(mixer_bytes__other_mixers__by_hand)
{
    const double u = 32 * 128, x = u + 2 * 16 * 128, n = 32;
    const struct {
        const char *pattern;
        enum mixer mixer;
        double bytes;
    } cases[] = {{"GG", MIXER_GATED_DELTA, 2 * (x + u + 2 * n) + 4 * x + 4 * u + (128 + 6) * n + 4 * u},
                 {"MM", MIXER_MAMBA, 12 * 2048 + 2 * (64 + 32)},
                 {"MM", MIXER_LIGHTNING, 2 * (3 * 1024 + 1024) + 4 * 1024}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        PLAN(plan, .sequence = 512);
        struct architecture a = stack(cases[i].pattern);
        a.mixer = cases[i].mixer;
        completed(&a, &plan);
        assert_close(mixer_kept_bytes(&a), cases[i].bytes, 1e-12);
        assert_true(a.mixer != MIXER_LIGHTNING || mixer_passing_bytes(&a) == 0);
    }
}

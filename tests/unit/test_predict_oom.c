/* predict: what running out of memory is predicted to be, against runs that did and did not. */
#include "frameworks.h"
#include "predict/evidence.h"
#include "predict_fixture.h"
#include "published_tables.h"

TEST(oom_probability__at_capacity__a_half_and_rising)
{
    assert_close(oom_probability(79e9, 0.12, 80e9, 1e9), 0.5, 1e-12);
    assert_close(oom_probability(79e9 * exp(0.12), 0.12, 80e9, 1e9), 0.8413447460685429, 1e-9);
    assert_true(oom_probability(1, 0.12, 80e9, 1e9) < 1e-12);
}

TEST(oom_probability__senseless__refused)
{
    static const double cases[][4] = {{0, 0.1, 1, 0},   {1, 0, 1, 0},          {1, 0.1, 1, 1},
                                      {NAN, 0.1, 1, 0}, {1, 0.1, INFINITY, 0}, {1, 0.1, 1, -1}};
    for (size_t i = 0; i < LENGTH(cases); i++)
        assert_true(isnan(oom_probability(cases[i][0], cases[i][1], cases[i][2], cases[i][3])));
}

/* --- what excluding by a prediction avoids and loses --- */

struct judged_run {
    double share; /* predicted over usable */
    bool out_of_memory;
    size_t group; /* model and number of devices */
};

struct judged_runs {
    struct judged_run items[2000];
    size_t count, groups;
    bool loaded;
};

struct trade {
    double avoided, failures, lost, good;
};

/* The rows that fitted or failed for want of memory (oom_label likely_oom), tp <= `tensor_most`, on 79.1 GiB. */
static void judge_runs(int64_t tensor_most, struct judged_runs *out)
{
    const struct memory_coefficients *c = &framework_find("nanotron")->memory;
    struct shared_table t;
    double keys[64];
    out->count = out->groups = 0;
    out->loaded = shared_table_load("ultrascale-1B-8B.csv", &t);
    for (size_t row = 0; out->loaded && row < t.row_count; row++) {
        struct published_run run;
        if (!ultrascale_read(&t, row, tensor_most, &run))
            continue;
        double key =
            (double)run.architecture.hidden * 1e6 + (double)(run.plan.tensor * run.plan.pipeline * run.plan.data);
        size_t group = 0;
        while (group < out->groups && keys[group] != key)
            group++;
        keys[group] = key;
        out->groups += group == out->groups;
        out->items[out->count++] =
            (struct judged_run){published_memory(&run, c).most.bytes / device_find(NULL, "H100")->usable_bytes,
                                run.failed, group};
    }
    if (out->loaded)
        shared_table_free(&t);
}

/* Returns the trade of one group (SIZE_MAX: of none), or with `others` of all but that one. */
static struct trade trade_at(const struct judged_runs *r, double share, size_t group, bool others)
{
    struct trade t = {0, 0, 0, 0};
    for (size_t i = 0; i < r->count; i++) {
        const struct judged_run *run = &r->items[i];
        if ((run->group == group) == others)
            continue;
        t.failures += run->out_of_memory;
        t.good += !run->out_of_memory;
        t.avoided += run->out_of_memory && run->share > share;
        t.lost += !run->out_of_memory && run->share > share;
    }
    return t;
}

/* The share of the others' good runs: a quarter less than the 1 % that may be lost, for what they do not show. */
#define LOST_BY_OTHERS 0.0075

/* The lowest share, in hundredths, above which no more than LOST_BY_OTHERS of the good runs lie, outside of a group. */
static double share_without(const struct judged_runs *r, size_t group)
{
    double share = 1.30;
    for (int hundredths = 130; hundredths >= 60; hundredths--) {
        struct trade t = trade_at(r, hundredths / 100., group, true);
        if (t.lost > LOST_BY_OTHERS * t.good)
            break;
        share = hundredths / 100.;
    }
    return share;
}

static void print_trade(const char *what, const struct trade *t)
{
    print_message("%s: %.1f %% of %.0f avoided, %.1f %% of %.0f lost\n", what, 100 * t->avoided / t->failures,
                  t->failures, 100 * t->lost / t->good, t->good);
}

TEST(oom_verdict__ultrascale_runs__avoids_failures_and_keeps_runs)
{
    static struct judged_runs runs;
    judge_runs(8, &runs);
    NEEDS(runs.loaded);
    struct trade t = trade_at(&runs, OOM_CERTAIN_SHARE, SIZE_MAX, true);
    print_trade("out of memory, tp <= 8", &t);
    assert_true(t.avoided >= 0.89 * t.failures && t.lost <= 0.01 * t.good);
    for (int hundredths = 80; hundredths <= 120; hundredths += 5) {
        struct trade at = trade_at(&runs, hundredths / 100., SIZE_MAX, true);
        char what[64];
        snprintf(what, sizeof what, "above %d %%", hundredths);
        print_trade(what, &at);
    }
    judge_runs(64, &runs);
    t = trade_at(&runs, OOM_CERTAIN_SHARE, SIZE_MAX, true);
    print_trade("out of memory, all", &t);
}

/* OOM_CERTAIN_SHARE is no fit to the rows it is measured on: each group (model, devices) is judged by the share that
 * the other groups alone lead to. */
TEST(oom_verdict__share_of_the_other_groups__as_good)
{
    static struct judged_runs runs;
    struct trade sum = {0, 0, 0, 0};
    double least = 9, most = 0;
    judge_runs(8, &runs);
    NEEDS(runs.loaded);
    for (size_t group = 0; group < runs.groups; group++) {
        double share = share_without(&runs, group);
        struct trade t = trade_at(&runs, share, group, false);
        least = fmin(least, share);
        most = fmax(most, share);
        sum.avoided += t.avoided;
        sum.failures += t.failures;
        sum.lost += t.lost;
        sum.good += t.good;
    }
    print_message("shares that the other groups lead to: %.2f to %.2f\n", least, most);
    print_trade("out of memory, each group by the others' share", &sum);
    assert_true(sum.avoided >= 0.88 * sum.failures && sum.lost <= 0.015 * sum.good);
    assert_true(least <= OOM_CERTAIN_SHARE && OOM_CERTAIN_SHARE <= most);
}

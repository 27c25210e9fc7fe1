/* search/candidates: jobs of a sweep as candidates, grouped. */
#include "database/open.h"
#include "search/candidates.h"
#include "search_fixture.h"
#include "space/enumerate.h"
#include "space_fixture.h"

#define HEAD "[sweep]\nobjective = \"max:throughput\"\n[predict]\nframework = \"megatron\"\ndevice = \"A100-80GB\"\n"
#define HEAD_OF_LOSS "[sweep]\nobjective = \"min:loss\"\n"
#define MODEL                                                                                                          \
    "[[model]]\nlayers = 8\nhidden = 512\nheads = 8\nvocab = 50257\nseq = [512, 1024]\n[[cluster_spec]]\nnum_hosts = " \
    "1\n"                                                                                                              \
    "num_devices_per_host = 8\n[training_spec]\nglobal_batch = [64, 128]\n"
#define PLANS "[[parallel_spec]]\nzero_stage = [0, 1]\nbucket = [\"small\", \"large\"]\nmicro_batch = [1, 2, 4]\n"

struct loaded {
    struct built built;
    struct db *db;
    struct candidate_set set;
};

static struct loaded load(const char *text, bool equal_batch)
{
    struct loaded l = {.built = build_text(text)};
    struct enumeration n;
    char *notice = NULL;
    FAIL_IF(store_open("results.db", NULL, &l.db, &notice, &e) < 0 ||
            enumerate_into(l.built.space, l.db, NULL, &n, &e) < 0);
    free(notice);
    const struct candidate_request request = {.space = l.built.space,
                                              .db = l.db,
                                              .sweep_id = n.sweep_id,
                                              .equal_batch = equal_batch};
    FAIL_IF(candidates_load(&request, &l.set, &e) < 0);
    return l;
}

static void loaded_free(struct loaded *l)
{
    candidates_free(&l->set);
    store_close(l->db);
    built_free(&l->built);
}

TEST_APART(load__predicted_sweep__groups_configurations_classes)
{
    HELD(loaded) l = load(HEAD MODEL PLANS, true);
    const struct search_space *s = &l.set.space;
    assert_int_equal(s->count, 48);
    assert_int_equal(s->group_count, 4);          /* sequence × global batch */
    assert_int_equal(s->configuration_count, 16); /* those × stages × buckets */
    assert_int_equal(s->memory_class_count, 4);   /* sequence × stages: predictions read no bucket of that name */
    assert_int_equal(s->relation, SEARCH_RATE);
    assert_true(s->maximise);
    assert_null(l.set.unknown);
    for (size_t i = 0; i < s->count; i++) {
        const struct candidate *c = &s->candidates[i];
        assert_true(c->bytes > 0 && c->bytes < c->usable_bytes);
        assert_true(c->seconds > 0);
        assert_true(c->work == 64 || c->work == 128);
        assert_float_equal(c->devices, 8, 0);
        assert_true(c->micro_batch == 1 || c->micro_batch == 2 || c->micro_batch == 4);
        assert_true(l.set.job_ids[i] > 0);
    }
}

/* Rates and optimizers of a script without plans compete; `group_by` says what does, as for `best`, an empty one that
 * nothing sets jobs apart. */
TEST_ROWS_APART(
    load__each_sweep__groups_that_compete, (const char *sweep; bool equal_batch; size_t count, groups),
    {HEAD MODEL PLANS, false, 48, 2},
    {HEAD_OF_LOSS "[[training_spec]]\nlr = [1, 2, 3]\noptimizer = [\"a\", \"b\"]\n", false, 6, 1},
    {HEAD_OF_LOSS "[[training_spec]]\nlr = [1, 2, 3]\nglobal_batch = [64, 128]\n", true, 6, 2},
    {HEAD_OF_LOSS "[[training_spec]]\nlr = [1, 2, 3]\n[[parallel_spec]]\nmicro_batch = [1, 2]\n", false, 6, 3},
    {HEAD_OF_LOSS "group_by = [\"bucket\", \"layers\"]\n[[model]]\nlayers = [8, 16]\nseq = [512, 1024]\n" PLANS, false,
     48, 4},
    {HEAD_OF_LOSS "group_by = [\"lr\"]\n[[training_spec]]\nlr = [1, 2, 3]\n", false, 3, 3},
    {HEAD_OF_LOSS "group_by = []\n[[training_spec]]\nlr = [1, 2, 3]\n[[parallel_spec]]\nmicro_batch = [1, 2]\n", false,
     6, 1},
    {HEAD_OF_LOSS "group_by = []\n[[training_spec]]\nlr = [1, 2, 3]\nglobal_batch = [64, 128]\n", true, 6, 1})
{
    HELD(loaded) l = load(row->sweep, row->equal_batch);
    OWNED char *said = candidate_set_groups(&l.set);
    assert_int_equal(l.set.space.count, row->count);
    assert_int_equal(l.set.space.group_count, row->groups);
    assert_int_equal(said == NULL, row->groups == 1);
    for (size_t i = 0; i < row->count; i++)
        assert_true(l.set.space.candidates[i].group < row->groups);
}

static void expect_groups(const char *sweep, bool equal_batch, const char *expected)
{
    HELD(loaded) l = load(sweep, equal_batch);
    OWNED char *groups = candidate_set_groups(&l.set);
    assert_string_equal(groups, expected);
}

TEST(groups__that_compete_apart__said_with_what_would_join_them)
{
    expect_groups(HEAD_OF_LOSS "[[training_spec]]\nlr = [1, 2, 3]\n[[parallel_spec]]\nmicro_batch = [1, 2]\n", false,
                  "3 groups of 2 jobs compete separately, by training_spec.lr; with [sweep] group_by = [] all jobs "
                  "compete with each other");
    expect_groups(HEAD_OF_LOSS "[[model]]\nlayers = [8, 16]\n[[training_spec]]\nlr = [1, 2, 3]\n"
                               "[[parallel_spec]]\nmicro_batch = [1, 2]\n",
                  false,
                  "6 groups of 2 jobs compete separately, by model.layers, training_spec.lr; with [sweep] group_by = "
                  "[\"model.layers\"] they are separated only by model, cluster and global batch");
    expect_groups(HEAD_OF_LOSS "[[training_spec]]\nlr = [1, 2, 3]\nglobal_batch = [64, 128]\n", true,
                  "2 groups of 3 jobs compete separately, by training_spec.global_batch; with [sweep] group_by = [] "
                  "all jobs "
                  "compete with each other");
}

TEST_APART(load__nothing_predicted__unknown_and_classes_are_configurations)
{
    HELD(loaded) l = load("[sweep]\nobjective = \"max:throughput\"\n" PLANS, true);
    const struct search_space *s = &l.set.space;
    assert_int_equal(s->count, 12);
    assert_int_equal(s->group_count, 1);
    assert_int_equal(s->configuration_count, 4);
    assert_int_equal(s->memory_class_count, 4);
    assert_string_equal(l.set.unknown, "no step time is predicted for any candidate");
    assert_true(isnan(s->candidates[0].seconds));
    size_t bucket = 0, small = 0;
    while (strcmp(s->keys[bucket], "bucket") != 0)
        bucket++;
    for (size_t i = 0; i < s->count; i++)
        small += s->candidates[i].values[bucket] == s->candidates[0].values[bucket];
    assert_int_equal(small, 6);
}

TEST_APART(load__search__runs_over_it)
{
    HELD(loaded) l = load(HEAD MODEL PLANS, true);
    struct search_options o = search_options_none();
    o.strategy = "model";
    HELD_AT(search) *s = NULL;
    FAIL_IF(search_create(&l.set.space, &o, &s, &e) < 0);
    struct decision d;
    size_t trials = 0;
    while (search_ask(s, &d) == SEARCH_RUN) {
        fixture_tell(s, d.candidate, outcome_of(OUTCOME_OK, 1 / l.set.space.candidates[d.candidate].seconds, NAN));
        trials++;
    }
    assert_true(trials >= 4 && trials < 40);
}

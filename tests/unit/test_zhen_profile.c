/* configs/profiles/zhen.toml: its rules and limits over the matched space. */
#include "space/build.h"
#include "space/match.h"
#include "sweep_fixture.h"

static struct space *build(const struct sweep *s)
{
    struct space *space = NULL;
    const struct space_options options = {0};
    FAIL_IF(space_build(s, &options, &space, &e) < 0);
    return space;
}

static struct match_counts count(struct space *space)
{
    struct match_counts counts;
    FAIL_IF(match_count(space, NULL, &counts, &e) < 0);
    return counts;
}

/* How many combinations `rule` is the first to exclude when a file has these two sections. */
static int64_t excluded(const char *cluster, const char *plan, const char *rule)
{
    OWNED char *text = xasprintf("[training_spec]\navg_batch_size_per_device = 64\n[cluster_spec]\n%s\n"
                                 "[parallel_spec]\nnum_micro_batches = 1\nnum_auto_layers = 4\n%s\n",
                                 cluster, plan);
    HELD_AT(sweep) *s = sweep_of(text);
    HELD_AT(space) *space = build(s);
    struct match_counts counts = count(space);
    int64_t found = -1;
    for (size_t i = 0; i < space->rule_count; i++)
        if (strcmp(space->rules[i].name, rule) == 0)
            found = counts.rules[i].excluded;
    free(counts.rules);
    return found;
}

#define HOST_OF_8 "num_hosts = 1\nnum_devices_per_host = 8\ntransport = \"NVLink\""

TEST_ROWS(zhen_rules__each__excludes_what_it_is_for, (const char *cluster, *plan, *rule; int64_t excluded),
          {HOST_OF_8, "\"(pp, dp, op)\" = [1, 8, 1]", "world-size", 0},
          {HOST_OF_8, "\"(pp, dp, op)\" = [1, 4, 1]", "world-size", 1},
          {HOST_OF_8, "\"(pp, dp, op)\" = [2, 4, 1]", "layers-per-stage", 0},
          {HOST_OF_8, "\"(pp, dp, op)\" = [8, 1, 1]", "layers-per-stage", 1},
          {HOST_OF_8, "\"(pp, dp, op)\" = [[1, 8, 1]]", "micro-batch-per-device", 0},
          {"num_hosts = 2\nnum_devices_per_host = 4\ntransport = \"NVLink\"", "\"(pp, dp, op)\" = [1, 8, 1]",
           "nvlink-one-host", 1},
          {"num_hosts = 1\nnum_devices_per_host = 8\ntransport = \"EFAx4\"", "\"(pp, dp, op)\" = [1, 8, 1]",
           "efa-several-hosts", 1},
          {"num_hosts = [1, 2]\nnum_devices_per_host = 8\ntransport = \"TCPx4\"", "\"(pp, dp, op)\" = [1, 8, 1]",
           "efa-several-hosts", 0},
          {HOST_OF_8, "\"(pp, dp, op)\" = [2, 4, 1]\nhost_ids = [[0], [0]]\ndevice_ids = [[0, 1], [2, 3]]",
           "device-ids-per-stage", 0},
          {HOST_OF_8, "\"(pp, dp, op)\" = [2, 4, 1]\nhost_ids = [[0]]", "host-ids-per-stage", 1},
          {HOST_OF_8, "\"(pp, dp, op)\" = [2, 4, 1]\ndevice_ids = [[0], [1], [2]]", "device-ids-per-stage", 1})
{
    int64_t got = excluded(row->cluster, row->plan, row->rule);
    if (got != row->excluded)
        fail_msg("%s excluded %lld, not %lld", row->rule, (long long)got, (long long)row->excluded);
}

TEST(zhen_micro_batches__more_than_devices__excluded_without_host_ids)
{
    HELD_AT(sweep) *s = sweep_of("[training_spec]\navg_batch_size_per_device = 64\n"
                                 "[cluster_spec]\nnum_hosts = 1\nnum_devices_per_host = 8\ntransport = \"NVLink\"\n"
                                 "[[parallel_spec]]\nnum_auto_layers = 4\nnum_micro_batches = [1, 2, 4, 8]\n"
                                 "\"(pp, dp, op)\" = [2, 4, 1]\n"
                                 "[[parallel_spec]]\nnum_auto_layers = 4\nnum_micro_batches = [1, 2, 4, 8]\n"
                                 "\"(pp, dp, op)\" = [2, 4, 1]\nhost_ids = [[0], [0]]\n"
                                 "[[parallel_spec]]\nnum_auto_layers = 4\nnum_micro_batches = [16, 32]\n");
    HELD_AT(space) *space = build(s);
    struct match_counts counts = count(space);
    assert_int_equal(counts.combinations, 10);
    assert_int_equal(counts.matched, 2 + 4 + 2);
    free(counts.rules);
}

TEST(zhen_timeout__by_hand_and_automatic__as_the_toolkit_had_it)
{
    HELD_AT(sweep) *s = sweep_of("[cluster_spec]\ntransport = \"TCPx4\"\nnum_hosts = 1\n"
                                 "num_devices_per_host = [4, 8, 16, 32, 64]\n"
                                 "[[parallel_spec]]\ndescription = \"Auto search\"\n"
                                 "[[parallel_spec]]\n\"(pp, dp, op)\" = [1, 64, 1]\n");
    static const int64_t seconds[] = {1000, 1500, 2000, 3000, 6000, 600};
    HELD_AT(space) *space = build(s);
    struct error e = ERROR_INIT;
    HELD_AT(match_cursor) *cursor = NULL;
    const struct match *m;
    size_t i = 0;
    int rc;
    cursor = match_open(space, NULL);
    while ((rc = match_next(cursor, &m, &e)) > 0) {
        assert_true(i < LENGTH(seconds));
        assert_int_equal(m->limit_ms[LIMIT_TOTAL], seconds[i++] * 1000);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(i, LENGTH(seconds));
}

/* The toolkit's own files, where they are at hand, with the numbers of jobs that the toolkit itself made of them. */
TEST_ROWS(zhen_files__as_published__same_jobs, (const char *name; int64_t combinations, matched),
          {"config.toml", 112, 46}, {"uniform_model.toml", 148, 74}, {"10_models_rand.toml", 40, 20})
{
    const char *directory = getenv("MESHSWEEP_SHARED_DATA");
    struct error e = ERROR_INIT;
    HELD_AT(sweep) *s = NULL;
    char *path = xasprintf("%s/zhen/%s", directory ? directory : "../shared/data", row->name);
    bool there = access(path, R_OK) == 0;
    int rc = there ? sweep_load(path, &s, &e) : 0;
    free(path);
    if (!there)
        skip();
    if (rc < 0)
        fail_msg("%s", e.text);
    HELD_AT(space) *space = build(s);
    struct match_counts counts = count(space);
    assert_int_equal(counts.combinations, row->combinations);
    assert_int_equal(counts.matched, row->matched);
    free(counts.rules);
}

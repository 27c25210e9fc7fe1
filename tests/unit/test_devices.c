/* device/devices: what there is, and who gets it. */
#include <sys/stat.h>

#include "device/condition.h"
#include "device/devices.h"
#include "device/usage.h"
#include "unit_test.h"
#include "util/file.h"
#include "util/rng.h"

static void assert_names(const struct device_list *l, const char *expected)
{
    struct device_set all = {.count = l->count};
    for (size_t i = 0; i < l->count; i++)
        all.items[i] = (uint16_t)i;
    OWNED char *names = device_set_names(&all, l);
    assert_string_equal(names, expected);
}

TEST_ROWS(device_list__as_cuda_reads_them__up_to_the_first_wrong_one, (const char *text, *names), {"0,2", "0,2"},
          {"3", "3"}, {"", ""}, {"-1", ""}, {"0,-1,2", "0"}, {"NoDevFiles", ""}, {"GPU-5f,MIG-7", "GPU-5f,MIG-7"},
          {"1, 0", "1,0"}, {"0,0,1,0", "0,1"})
{
    HELD(device_list) l = DEVICE_LIST_INIT;
    device_list_add_names(&l, row->text);
    assert_names(&l, row->names);
}

TEST(device_list__nvidia_smi__instances_in_place_of_their_device)
{
    struct device_list l = DEVICE_LIST_INIT;
    device_list_add_smi(&l, "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5f)\n"
                            "  MIG 3g.20gb     Device  0: (UUID: MIG-6d31)\n"
                            "  MIG 1g.5gb      Device  1: (UUID: MIG-6d32)\r\n"
                            "GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-60)\n");
    assert_int_equal(l.count, 3);
    assert_string_equal(l.names[0], "MIG-6d31");
    assert_string_equal(l.names[1], "MIG-6d32");
    assert_string_equal(l.names[2], "1");
    assert_int_equal(device_list_most(&l), 1);
    device_list_free(&l);
    device_list_add_smi(&l, "No devices were found\n");
    assert_int_equal(l.count, 0);
    assert_int_equal(device_list_most(&l), 0);
    device_list_add_names(&l, "MIG-6d31,MIG-6d32");
    assert_int_equal(device_list_most(&l), 1);
    device_list_free(&l);
}

/* The directory stands for the root of a machine, where PATH finds `smi` as nvidia-smi. */
static char *environment[3];

static void put_smi(const char *smi)
{
    put("bin/nvidia-smi", smi);
    assert_int_equal(chmod("bin/nvidia-smi", 0755), 0);
}

static int enter(void **state)
{
    const int rc = unit_test_enter(state);
    OWNED char *here = path_absolute(".");
    environment[0] = xasprintf("PATH=%s/bin", here);
    environment[1] = NULL;
    return rc;
}

static int leave(void **state)
{
    free(environment[0]);
    return unit_test_leave(state);
}

static void assert_discovered(const char *names, const char *source)
{
    HELD(device_list) l;
    devices_discover(environment, ".", &l);
    assert_names(&l, names);
    assert_string_equal(l.source, source);
}

TEST_WITHIN(devices_discover__each_source__in_order, enter, leave)
{
    assert_discovered("", "nothing");
    put("sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 8\nsimd_count 0\n");
    put("sys/class/kfd/kfd/topology/nodes/1/properties", "cpu_cores_count 0\nsimd_count 304\n");
    assert_discovered("0", "ROCm");
    put("proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: x\n");
    put("proc/driver/nvidia/gpus/0000:02:00.0/information", "Model: x\n");
    assert_discovered("0,1", "/proc/driver/nvidia");
    put_smi("#!/bin/sh\necho 'GPU 0: x'; echo 'GPU 1: x'; echo 'GPU 2: x'\n");
    assert_discovered("0,1,2", "nvidia-smi");
    environment[1] = (char *)"CUDA_VISIBLE_DEVICES=2,1";
    assert_discovered("2,1", "CUDA_VISIBLE_DEVICES");
    environment[1] = (char *)"CUDA_VISIBLE_DEVICES=";
    assert_discovered("", "CUDA_VISIBLE_DEVICES");
}

TEST_WITHIN(devices_discover__driver_that_fails__files, enter, leave)
{
    put_smi("#!/bin/sh\necho 'NVIDIA-SMI has failed'; exit 9\n");
    put("proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: x\n");
    assert_discovered("0", "/proc/driver/nvidia");
}

TEST(device_usage_parse__nvidia_smi__by_number_or_name)
{
    HELD(device_list) l = DEVICE_LIST_INIT;
    struct device_usage use[3];
    device_list_add_names(&l, "1,GPU-a,7");
    device_usage_parse("0, GPU-abc, 12\n1, GPU-b, 0\nnonsense\n2, GPU-c, [N/A]\n", &l, use);
    assert_int_equal(use[0].bytes, 0);
    assert_int_equal(use[1].bytes, 12 << 20);
    assert_int_equal(use[2].bytes, -1);
    assert_int_equal(use[0].processes, -1);
}

TEST_WITHIN(device_usage_read__amd__cards_with_memory, enter, leave)
{
    HELD(device_list) l = DEVICE_LIST_INIT;
    struct device_usage use[2];
    put_smi("#!/bin/sh\nexit 9\n");
    const struct device_witness w = {NULL, environment, "."};
    device_list_add_count(&l, 2);
    assert_int_equal(device_usage_read(&w, &l, use), -1);
    put("sys/class/drm/renderD128/device/vendor", "0x1234\n");
    put("sys/class/drm/renderD129/device/mem_info_vram_used", "4096\n");
    put("sys/class/drm/renderD130/device/mem_info_vram_used", "34359738368\n");
    assert_int_equal(device_usage_read(&w, &l, use), 0);
    assert_int_equal(use[0].bytes, 4096);
    assert_true(use[1].bytes == INT64_C(34359738368));
}

/* --- the pool --- */

static struct device_pool pool_of(size_t count, size_t bound, const uint16_t *nodes)
{
    struct device_pool p;
    device_pool_init(&p, count, bound, nodes);
    return p;
}

static struct device_gang here(size_t devices)
{
    return (struct device_gang){1, devices, 0};
}

static struct device_set assert_gang(struct device_pool *p, struct device_gang wanted, const struct device_set *avoid,
                                     const char *expected)
{
    HELD(device_list) names = DEVICE_LIST_INIT;
    struct device_set set = {.count = 0};
    device_list_add_count(&names, (int64_t)p->count);
    assert_true(device_pool_take(p, wanted, avoid, &set));
    OWNED char *text = device_set_names(&set, &names);
    assert_string_equal(text, expected);
    return set;
}

TEST(device_pool__all_or_none__neighbours_in_the_smallest_gap)
{
    const struct device_set middle = {.count = 2, .items = {2, 3}};
    struct device_pool p = pool_of(8, 0, NULL);
    assert_gang(&p, here(2), NULL, "0,1");
    assert_gang(&p, here(2), NULL, "2,3");
    assert_gang(&p, here(2), NULL, "4,5");
    device_pool_give(&p, &middle);
    assert_gang(&p, here(1), NULL, "2");
    struct device_set set;
    assert_false(device_pool_take(&p, here(4), NULL, &set));
    assert_int_equal(p.used, 5);
    assert_gang(&p, here(3), NULL, "3,6,7");
    assert_false(device_pool_fits(&p, here(1)));
}

TEST(device_pool__avoided__only_when_there_is_no_other)
{
    const struct device_set bad = {.count = 2, .items = {0, 1}};
    struct device_pool p = pool_of(4, 0, NULL);
    assert_gang(&p, here(1), &bad, "2");
    assert_gang(&p, here(2), &bad, "0,3");
}

TEST(device_pool__bound_and_skipped__not_given)
{
    struct device_pool p = pool_of(8, 3, NULL);
    assert_false(device_pool_can_ever(&p, here(4)));
    assert_gang(&p, here(2), NULL, "0,1");
    assert_false(device_pool_fits(&p, here(2)));
    assert_true(device_pool_fits(&p, here(1)));
    device_pool_init(&p, 2, 0, NULL);
    device_pool_skip(&p, 0);
    assert_false(device_pool_can_ever(&p, here(2)));
    assert_gang(&p, here(1), NULL, "1");
    device_pool_restore(&p, 0);
    assert_gang(&p, here(1), NULL, "0");
}

/* Nodes of 4, 2 and 4 devices. */
TEST(device_pool__nodes__gangs_on_different_ones)
{
    static const uint16_t nodes[] = {0, 0, 0, 0, 1, 1, 2, 2, 2, 2};
    const struct device_set bad = {.count = 3, .items = {0, 1, 2}};
    struct device_pool p = pool_of(10, 0, nodes);
    assert_true(device_pool_can_ever(&p, (struct device_gang){3, 2, 0}));
    assert_false(device_pool_can_ever(&p, (struct device_gang){3, 3, 0}));
    assert_false(device_pool_can_ever(&p, (struct device_gang){1, 5, 0}));
    struct device_set two = assert_gang(&p, (struct device_gang){2, 2, 0}, NULL, "0,1,4,5");
    assert_gang(&p, here(4), NULL, "6,7,8,9");
    assert_false(device_pool_fits(&p, here(3)));
    device_pool_give(&p, &two);
    assert_gang(&p, here(1), NULL, "4"); /* the smallest node: others stay whole */
    device_pool_init(&p, 10, 0, nodes);
    assert_gang(&p, (struct device_gang){2, 2, 0}, &bad, "4,5,6,7");
    assert_gang(&p, (struct device_gang){2, 2, 0}, &bad, "0,3,8,9");
}

/* Nodes of 2, 3 and 3 devices; a job of several has all of its nodes, and none that another uses. */
TEST(device_pool__whole_nodes__given_to_gangs_of_several)
{
    static const uint16_t nodes[] = {0, 0, 1, 1, 1, 2, 2, 2};
    struct device_pool p = pool_of(8, 0, nodes);
    p.gives_whole = true;
    struct device_set two = assert_gang(&p, (struct device_gang){2, 1, 0}, NULL, "0,1,2,3,4");
    assert_gang(&p, here(1), NULL, "5");
    device_pool_give(&p, &two);
    assert_true(device_pool_can_ever(&p, (struct device_gang){3, 1, 0}));
    assert_false(device_pool_fits(&p, (struct device_gang){3, 1, 0}));
    assert_false(device_pool_fits(&p, (struct device_gang){2, 3, 0}));
    assert_gang(&p, (struct device_gang){2, 2, 0}, NULL, "0,1,2,3,4");
}

static struct device_gang part_of_one(double share)
{
    return (struct device_gang){1, 1, device_parts(share)};
}

TEST(device_pool__shares__fill_one_device_before_the_next)
{
    struct device_set thirds[3], rest;
    struct device_pool p = pool_of(2, 0, NULL);
    for (int i = 0; i < 3; i++)
        thirds[i] = assert_gang(&p, part_of_one(1.0 / 3), NULL, "0");
    assert_int_equal(p.used, 1);
    assert_false(device_pool_fits(&p, here(2)));
    rest = assert_gang(&p, part_of_one(0.7), NULL, "1");
    assert_false(device_pool_fits(&p, part_of_one(0.31)));
    struct device_set last = assert_gang(&p, part_of_one(0.3), NULL, "1");
    assert_int_equal(p.used, 2);
    device_pool_give(&p, &last);
    device_pool_give(&p, &rest);
    assert_gang(&p, here(1), NULL, "1");
    for (int i = 0; i < 3; i++)
        device_pool_give(&p, &thirds[i]);
    assert_int_equal(p.used, 1);
    assert_gang(&p, here(1), NULL, "0");
}

TEST(device_pool__shared_and_skipped__as_a_whole_until_it_is_restored)
{
    struct device_pool p = pool_of(1, 0, NULL);
    struct device_set quarter = assert_gang(&p, part_of_one(0.25), NULL, "0");
    assert_true(device_pool_skip(&p, 0));
    assert_false(device_pool_skip(&p, 0));
    assert_false(device_pool_fits(&p, part_of_one(0.25)));
    assert_false(device_pool_can_ever(&p, part_of_one(0.25)));
    device_pool_give(&p, &quarter);
    assert_int_equal(p.state[0], DEVICE_SKIPPED);
    device_pool_restore(&p, 0);
    quarter = assert_gang(&p, part_of_one(0.25), NULL, "0");
    device_pool_skip(&p, 0);
    device_pool_restore(&p, 0);
    assert_gang(&p, part_of_one(0.75), NULL, "0");
}

TEST(devices_choose__shares__the_largest_that_fits)
{
    const struct device_wish wishes[] = {{part_of_one(0.25), 0}, {part_of_one(0.5), 0}, {here(1), 0}};
    struct device_pool p = pool_of(1, 0, NULL);
    assert_int_equal(devices_choose(&p, wishes, 3, 16), 2);
    struct device_set set = assert_gang(&p, part_of_one(0.5), NULL, "0");
    assert_int_equal(devices_choose(&p, wishes, 3, 16), 1);
    assert_gang(&p, part_of_one(0.4), NULL, "0");
    assert_int_equal(devices_choose(&p, wishes, 3, 16), -1);
    device_pool_give(&p, &set);
}

TEST(devices_choose__largest_that_fits__until_patience_ends)
{
    struct device_set set;
    struct device_pool p = pool_of(8, 0, NULL);
    struct device_wish wishes[] = {{{1, 1, 0}, 0}, {{1, 4, 0}, 0}, {{1, 2, 0}, 0}, {{1, 4, 0}, 0}};
    assert_int_equal(devices_choose(&p, wishes, 4, 3), 1);
    assert_true(device_pool_take(&p, here(6), NULL, &set));
    assert_int_equal(devices_choose(&p, wishes, 4, 3), 2);
    wishes[0] = (struct device_wish){{1, 8, 0}, 3};
    assert_int_equal(devices_choose(&p, wishes, 4, 3), -1);
    wishes[0].devices.each = 9; /* can never start: it holds up nobody */
    assert_int_equal(devices_choose(&p, wishes, 4, 3), 2);
    assert_int_equal(devices_choose(&p, wishes, 0, 3), -1);
}

/* --- packing, simulated --- */

enum { JOBS = 1000, DEVICES = 8, WINDOW = 48, PATIENCE = 16 };

struct running_job {
    double ends;
    struct device_set set;
};

static void pack(const size_t *sizes, const double *durations, double *makespan, size_t *longest_wait)
{
    struct device_pool pool;
    struct device_wish wishes[WINDOW];
    size_t ids[WINDOW], waiting = 0, next = 0, running = 0, started = 0;
    struct running_job run[DEVICES];
    double now = 0;
    device_pool_init(&pool, DEVICES, 0, NULL);
    *longest_wait = 0;
    while (next < JOBS || waiting > 0 || running > 0) {
        for (; waiting < WINDOW && next < JOBS; next++, waiting++) {
            wishes[waiting] = (struct device_wish){{1, sizes[next], 0}, 0};
            ids[waiting] = next;
        }
        int64_t chosen = devices_choose(&pool, wishes, waiting, PATIENCE);
        if (chosen >= 0) {
            size_t c = (size_t)chosen;
            size_t late = started > ids[c] ? started - ids[c] : 0;
            *longest_wait = late > *longest_wait ? late : *longest_wait;
            assert_true(device_pool_take(&pool, wishes[c].devices, NULL, &run[running].set));
            run[running++].ends = now + durations[ids[c]];
            started++;
            for (size_t i = 0; i < c; i++)
                wishes[i].passed_over++;
            waiting--;
            memmove(wishes + c, wishes + c + 1, (waiting - c) * sizeof *wishes);
            memmove(ids + c, ids + c + 1, (waiting - c) * sizeof *ids);
            continue;
        }
        size_t first = 0;
        for (size_t i = 1; i < running; i++)
            first = run[i].ends < run[first].ends ? i : first;
        assert_true(running > 0);
        now = run[first].ends;
        device_pool_give(&pool, &run[first].set);
        run[first] = run[--running];
    }
    *makespan = now;
}

TEST(devices_choose__thousand_jobs_on_eight_devices__within_five_percent)
{
    static const size_t kinds[] = {1, 1, 2, 2, 4, 8};
    for (uint64_t seed = 1; seed <= 5; seed++) {
        size_t sizes[JOBS], wait;
        double durations[JOBS], work = 0, makespan;
        struct rng rng = rng_stream(seed, 0);
        for (size_t i = 0; i < JOBS; i++) {
            sizes[i] = kinds[rng_below(&rng, LENGTH(kinds))];
            durations[i] = 1 + (double)rng_below(&rng, 1000) / 100;
            work += (double)sizes[i] * durations[i];
        }
        pack(sizes, durations, &makespan, &wait);
        assert_true(makespan <= 1.05 * work / DEVICES);
        assert_true(wait <= WINDOW + 2 * PATIENCE);
    }
}

/* --- their condition --- */

static struct device_reading reading_of(double clock, double energy)
{
    struct device_reading r = {.model = "H100"};
    for (int q = 0; q < DEVICE_QUANTITY_COUNT; q++) {
        r.values[q] = NAN;
        r.why[q] = "not supported";
    }
    r.values[DEVICE_CLOCK] = r.values[DEVICE_CLOCK_LEAST] = clock;
    r.values[DEVICE_ENERGY] = energy;
    return r;
}

TEST(device_condition__of_two_devices__over_time_and_devices)
{
    struct device_condition all[2] = {0};
    const struct device_reading readings[2][2] = {{reading_of(1000, 5), reading_of(2000, 15)},
                                                  {reading_of(1500, 7), reading_of(1500, 8)}};
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < 2; i++)
            device_condition_note(&all[d], &readings[d][i]);
    assert_float_equal(device_conditions_value(all, 2, DEVICE_CLOCK), 1500, 1e-9);
    assert_float_equal(device_conditions_value(all, 2, DEVICE_CLOCK_LEAST), 1000, 1e-9);
    assert_float_equal(device_conditions_value(all, 2, DEVICE_ENERGY), 11, 1e-9);
    assert_true(isnan(device_conditions_value(all, 2, DEVICE_POWER)));
    assert_true(isnan(device_conditions_value(all, 0, DEVICE_CLOCK)));
    char *json = device_conditions_json(all, "0,GPU-5f", 2, (struct device_sharing){0, 0});
    assert_non_null(strstr(json, "{\"0\":{\"model\":\"H100\",\"clock\":1500,"));
    assert_non_null(strstr(json, ",\"GPU-5f\":{"));
    assert_non_null(strstr(json, "\"why\":{\"temperature\":\"not supported\",\"power\":\"not supported\""));
    free(json);
    /* A counter that began anew. */
    const struct device_reading anew = reading_of(1500, 1);
    device_condition_note(&all[0], &anew);
    assert_true(isnan(device_conditions_value(all, 2, DEVICE_ENERGY)));
}

TEST(device_condition__of_a_shared_device__power_is_nobodys)
{
    const struct device_sharing quarter = {0.25, 3};
    struct device_condition c = {0};
    struct device_reading reading = {.values = {[DEVICE_POWER] = 300, [DEVICE_ENERGY] = 5}, .model = "H100"};
    device_condition_note(&c, &reading);
    device_condition_share(&c);
    assert_true(isnan(device_conditions_value(&c, 1, DEVICE_POWER)));
    OWNED char *json = device_conditions_json(&c, "0", 1, quarter);
    assert_non_null(strstr(json, "\"power\":\"of all jobs on the device\""));
    assert_non_null(strstr(json, "},\"share\":0.25,\"shared_with\":3}"));
    free(json);
    const struct device_condition none = {0};
    json = device_conditions_json(&none, "0", 1, quarter);
    assert_string_equal(json, "{\"share\":0.25,\"shared_with\":3}");
}

TEST_ROWS(device_condition__against_peers__beyond_their_noise,
          (double clock, throttled, spread; size_t count; bool is_unlike), {900, 0, 1, 8, true},
          {1700, 0.5, 1, 8, true},
          /* Too few, faster, within 3 %, or no more than they differ themselves. */
          {900, 0.5, 1, 3, false}, {1900, 0, 1, 8, false}, {1660, 0.04, 1, 8, false}, {900, 0, 200, 8, false},
          {NAN, NAN, 1, 8, false})
{
    double clocks[16], shares[16] = {0};
    for (size_t i = 0; i < row->count; i++)
        clocks[i] = 1700 + row->spread * ((double)i - (double)(row->count - 1) / 2);
    struct device_peers peers = {clocks, shares, row->count};
    OWNED char *note = device_condition_unlike(row->clock, row->throttled, &peers);
    assert_int_equal(note != NULL, row->is_unlike);
}

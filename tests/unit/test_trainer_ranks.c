/* trainer: rank processes, their collectives, and the exact partition of ZeRO's state. */
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trainer/collective.h"
#include "trainer/launch.h"
#include "trainer/zero.h"
#include "unit_test.h"

enum {
    WINDOW_ELEMENTS = COLLECTIVE_WINDOW_BYTES / sizeof(real),
    TEST_LIMIT_SECONDS = 60,
};

/* Runs a check in each rank; the check returns 0, or the line that failed. */
typedef int (*rank_check)(struct collective *c);

struct checked_group {
    struct collective_group *group;
    rank_check check;
};

static int run_check(int rank, void *context)
{
    struct checked_group *g = context;
    struct collective c;

    collective_join(&c, g->group, rank);
    int line = g->check(&c);
    if (line)
        fprintf(stderr, "rank %d of %d: check on line %d failed\n", rank, c.ranks, line);
    return line ? 1 : 0;
}

static void check_in_ranks(int ranks, rank_check check)
{
    struct checked_group g = {.check = check};
    struct error e;

    assert_int_equal(collective_group_create(&g.group, ranks, &e), 0);
    if (launch_ranks(ranks, run_check, &g, &e) < 0)
        fail_msg("%s", e.text);
    collective_group_destroy(g.group);
}

static void check_in_1_to_4_ranks(rank_check check)
{
    for (int ranks = 1; ranks <= 4; ranks++)
        check_in_ranks(ranks, check);
}

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return __LINE__;                                                                                           \
    } while (0)

static const size_t counts[] = {1, 1000, WINDOW_ELEMENTS / 2, WINDOW_ELEMENTS / 2 + 7, 2 * WINDOW_ELEMENTS + 3};
enum { COUNTS = sizeof counts / sizeof *counts, COUNT_MAX = 2 * WINDOW_ELEMENTS + 3 };

/* Small whole numbers, whose sums are exact: element i of what a rank contributes. */
static real value_of(int rank, size_t i)
{
    return (real)((size_t)(rank + 1) * 1000 + i % 97);
}

static real sum_of(int ranks, size_t i)
{
    real sum = 0;
    for (int r = 0; r < ranks; r++)
        sum += value_of(r, i);
    return sum;
}

static real *filled(int rank, size_t count)
{
    real *values = malloc(count * sizeof *values);
    for (size_t i = 0; values && i < count; i++)
        values[i] = value_of(rank, i);
    return values;
}

static int check_broadcast(struct collective *c)
{
    for (int root = 0; root < c->ranks; root++)
        for (int n = 0; n < COUNTS; n++) {
            real *data = filled(c->rank, counts[n]);
            collective_broadcast(c, data, counts[n], root);
            for (size_t i = 0; i < counts[n]; i++)
                REQUIRE(data[i] == value_of(root, i));
            free(data);
        }
    return 0;
}

TEST(collective_broadcast__every_root_and_size__root_s_values)
{
    check_in_1_to_4_ranks(check_broadcast);
}

static int check_all_gather(struct collective *c)
{
    for (int n = 0; n < COUNTS; n++) {
        real *part = filled(c->rank, counts[n]), *full = calloc(counts[n] * (size_t)c->ranks, sizeof *full);
        collective_all_gather(c, full, part, counts[n]);
        for (int r = 0; r < c->ranks; r++)
            for (size_t i = 0; i < counts[n]; i++)
                REQUIRE(full[(size_t)r * counts[n] + i] == value_of(r, i));
        free(part);
        free(full);
    }
    return 0;
}

TEST(collective_all_gather__every_size__parts_in_rank_order)
{
    check_in_1_to_4_ranks(check_all_gather);
}

static int check_all_reduce(struct collective *c)
{
    for (int n = 0; n < COUNTS; n++) {
        real *in = filled(c->rank, counts[n]), *sum = calloc(counts[n], sizeof *sum);
        for (size_t i = 0; i < counts[n]; i++)
            sum[i] = 5;
        collective_all_reduce_add(c, sum, in, counts[n]);
        for (size_t i = 0; i < counts[n]; i++)
            REQUIRE(sum[i] == 5 + sum_of(c->ranks, i));
        free(in);
        free(sum);
    }
    return 0;
}

TEST(collective_all_reduce_add__every_size__added_to_what_was_there)
{
    check_in_1_to_4_ranks(check_all_reduce);
}

static int check_reduce_scatter(struct collective *c)
{
    for (int n = 0; n < COUNTS; n++) {
        size_t offset = (size_t)c->rank * counts[n];
        real *in = filled(c->rank, counts[n] * (size_t)c->ranks), *sum = calloc(counts[n], sizeof *sum);
        for (size_t i = 0; i < counts[n]; i++)
            sum[i] = 5;
        collective_reduce_scatter_add(c, sum, in, counts[n]);
        for (size_t i = 0; i < counts[n]; i++)
            REQUIRE(sum[i] == 5 + sum_of(c->ranks, offset + i));
        free(in);
        free(sum);
    }
    return 0;
}

TEST(collective_reduce_scatter_add__every_size__own_part_of_the_sum)
{
    check_in_1_to_4_ranks(check_reduce_scatter);
}

/* In float 1e8 + 1 is 1e8: only when the first two meet first do these add up to 1, and else to 0. */
static int check_order(struct collective *c)
{
    static const real parts[] = {1e8F, -1e8F, 1};
    real in[3] = {parts[c->rank], parts[c->rank], parts[c->rank]}, sum[3] = {0}, own = 0;

    collective_all_reduce_add(c, sum, in, 3);
    collective_reduce_scatter_add(c, &own, in, 1);
    REQUIRE(sum[0] == 1 && sum[1] == 1 && sum[2] == 1 && own == 1);
    return 0;
}

TEST(collective_sums__order_matters__taken_in_rank_order)
{
    check_in_ranks(3, check_order);
}

static int check_barrier(struct collective *c)
{
    for (uint64_t i = 1; i <= 2000; i++) {
        uint64_t mine = c->rank == (int)(i % (uint64_t)c->ranks) ? i : 0;
        REQUIRE(collective_max(c, mine) == i);
    }
    return 0;
}

TEST(collective_max__many_times__highest_of_this_time)
{
    check_in_1_to_4_ranks(check_barrier);
}

/* ---- launcher ---- */

static int wait_for_rank_1(int rank, void *context)
{
    struct checked_group *g = context;
    struct collective c;

    collective_join(&c, g->group, rank);
    if (rank == 1)
        g->check(&c);
    collective_barrier(&c);
    return 0;
}

static int kill_myself(struct collective *c)
{
    (void)c;
    raise(SIGKILL);
    return 0;
}

static int exit_with_7(struct collective *c)
{
    (void)c;
    _exit(7);
}

static void check_failing_rank(rank_check how, int status, const char *text)
{
    struct checked_group g = {.check = how};
    struct error e = {0};

    assert_int_equal(collective_group_create(&g.group, 3, &e), 0);
    assert_int_equal(launch_ranks(3, wait_for_rank_1, &g, &e), -1);
    assert_int_equal(e.status, status);
    assert_string_equal(e.text, text);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    collective_group_destroy(g.group);
}

TEST(launch_ranks__killed_rank__others_end_and_signal_is_told)
{
    check_failing_rank(kill_myself, 128 + SIGKILL, "rank 1 was killed by signal 9 (Killed)");
}

TEST(launch_ranks__failing_rank__others_end_and_status_is_told)
{
    check_failing_rank(exit_with_7, 7, "rank 1 ended with status 7");
}

static int say_ready_and_wait(int rank, void *context)
{
    int *pipe_end = context;

    (void)rank;
    if (write(pipe_end[1], "r", 1) != 1)
        return 1;
    pause();
    return 0;
}

/* The ranks hold the pipe's writing end: it reads as ended once they are all gone. */
static bool pipe_ends(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    char byte;

    return poll(&poll_fd, 1, 20 * 1000) == 1 && read(fd, &byte, 1) == 0;
}

TEST(launch_ranks__launcher_killed__ranks_end)
{
    int pipe_end[2];
    struct error e;
    char ready[2];

    assert_int_equal(pipe(pipe_end), 0);
    pid_t launcher = fork();
    if (launcher == 0)
        _exit(launch_ranks(2, say_ready_and_wait, pipe_end, &e) < 0);
    close(pipe_end[1]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(read(pipe_end[0], &ready[i], 1), 1);
    kill(launcher, SIGKILL);
    assert_int_equal(waitpid(launcher, NULL, 0), launcher);
    assert_true(pipe_ends(pipe_end[0]));
    close(pipe_end[0]);
}

/* ---- ZeRO ---- */

enum { ZERO_RANKS = 4, UNITS = 3 };
static const size_t unit_parameters[UNITS] = {10, 7, 64};
/* ceil(10 / 4) + ceil(7 / 4) + ceil(64 / 4) */
enum { PART_ELEMENTS = 3 + 2 + 16, FULL_ELEMENTS = ZERO_RANKS * PART_ELEMENTS };

static size_t counted(size_t elements)
{
    return device_rounded(elements * sizeof(real));
}

static int check_partition(struct collective *c)
{
    for (int stage = 0; stage <= ZERO_LAST_STAGE; stage++) {
        struct device device;
        struct zero z;
        struct error e;
        struct zero_setup setup = {stage, unit_parameters, UNITS, &device, c};
        device_open(&device, c->rank, 0);
        REQUIRE(zero_open(&z, &setup, &e) == 0);
        REQUIRE(device.used_by[DEVICE_PARAMETERS] == counted(stage < 3 ? FULL_ELEMENTS : PART_ELEMENTS));
        REQUIRE(device.used_by[DEVICE_GRADIENTS] == counted(stage < 2 ? FULL_ELEMENTS : PART_ELEMENTS));
        REQUIRE(device.used_by[DEVICE_OPTIMIZER] == 2 * counted(stage < 1 ? FULL_ELEMENTS : PART_ELEMENTS));
        REQUIRE(zero_padded(&z, 0) == 12 && zero_padded(&z, 1) == 8 && zero_padded(&z, 2) == 64);
        zero_close(&z);
        REQUIRE(device.used_bytes == 0);
    }
    return 0;
}

TEST(zero_open__four_ranks__holds_exactly_its_parts)
{
    check_in_ranks(ZERO_RANKS, check_partition);
}

static int load_and_bucket(struct zero *z, struct collective *c, struct error *e)
{
    real values[64 + ZERO_RANKS];

    for (int unit = 0; unit < UNITS; unit++) {
        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
            values[i] = i < unit_parameters[unit] ? value_of(unit, i) : 0;
        zero_load(z, unit, values);
        real *bucket = zero_bucket(z, unit, e);
        REQUIRE(bucket);
        for (size_t i = 0; i < unit_parameters[unit]; i++)
            bucket[i] = i % 2 ? value_of(c->rank, i) : -value_of(c->rank, i);
        zero_reduce(z, unit);
    }
    return 0;
}

/* Adam's first step moves every parameter by the learning rate against its gradient's sign. */
static int check_stepped(struct zero *z, struct error *e)
{
    for (int unit = 0; unit < UNITS; unit++) {
        const real *parameters = zero_gather(z, unit, e);
        REQUIRE(parameters);
        for (size_t i = 0; i < zero_padded(z, unit); i++) {
            bool padding = i >= unit_parameters[unit];
            real want = padding ? 0 : value_of(unit, i) + (i % 2 ? -1 : 1);
            REQUIRE(parameters[i] > want - 0.001F && parameters[i] < want + 0.001F);
        }
        zero_release(z);
    }
    return 0;
}

static int check_step(struct collective *c)
{
    for (int stage = 0; stage <= ZERO_LAST_STAGE; stage++) {
        struct device device;
        struct zero z;
        struct error e;
        struct zero_setup setup = {stage, unit_parameters, UNITS, &device, c};
        struct adam adam = adam_defaults(1);
        device_open(&device, c->rank, 0);
        REQUIRE(zero_open(&z, &setup, &e) == 0);
        int line = load_and_bucket(&z, c, &e);
        REQUIRE(line == 0);
        zero_step(&z, &adam, 1);
        for (size_t i = 0; i < (stage < 2 ? z.part_elements * (size_t)c->ranks : z.part_elements); i++)
            REQUIRE(z.gradients[i] == 0);
        line = check_stepped(&z, &e);
        REQUIRE(line == 0);
        zero_close(&z);
    }
    return 0;
}

TEST(zero_step__every_stage__every_parameter_moves_once)
{
    check_in_1_to_4_ranks(check_step);
}

/* Each rank puts something of its own into the bucket: stages 2 and 3 must hold the sum of their part alone.
 */
static int check_gradient_part(struct collective *c)
{
    struct device device;
    struct zero z;
    struct error e;
    struct zero_setup setup = {2, unit_parameters, UNITS, &device, c};

    device_open(&device, c->rank, 0);
    REQUIRE(zero_open(&z, &setup, &e) == 0);
    real *bucket = zero_bucket(&z, 2, &e);
    REQUIRE(bucket);
    for (size_t i = 0; i < 64; i++)
        bucket[i] = value_of(c->rank, i);
    zero_reduce(&z, 2);
    size_t part = 64 / (size_t)c->ranks, at = z.units[2].part_at;
    for (size_t i = 0; i < part; i++)
        REQUIRE(z.gradients[at + i] == sum_of(c->ranks, (size_t)c->rank * part + i));
    REQUIRE(at == 0 || z.gradients[at - 1] == 0);
    zero_close(&z);
    return 0;
}

TEST(zero_reduce__stage_2__sum_of_the_own_part)
{
    check_in_ranks(2, check_gradient_part);
    check_in_ranks(4, check_gradient_part);
}

TEST(zero_open__device_too_small__error_and_nothing_left)
{
    struct device device;
    struct zero z;
    struct error e;
    struct collective_group *group;
    struct collective c;
    struct zero_setup setup = {0, unit_parameters, UNITS, &device, &c};

    assert_int_equal(collective_group_create(&group, 1, &e), 0);
    collective_join(&c, group, 0);
    device_open(&device, 0, 3 * counted(10 + 7 + 64));
    assert_int_equal(zero_open(&z, &setup, &e), -1);
    assert_int_equal(device.used_bytes, 0);
    collective_group_destroy(group);
}

int main(int argc, char **argv)
{
    alarm(TEST_LIMIT_SECONDS); /* a collective that waits for ever is a failure, not a hang */
    return unit_test_run(argc, argv);
}

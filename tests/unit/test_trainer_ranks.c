/* trainer: rank processes, their collectives, and the exact partition of ZeRO's state. */
#include <poll.h>

#include "trainer/ranks.c"
#include "unit_test.h"

enum {
    WINDOW_ELEMENTS = RANKS_WINDOW_BYTES / sizeof(real),
    TEST_LIMIT_SECONDS = 60,
};

/* Runs `act` in a process of its own; returns its status and what it and its ranks said until all of them ended. */
static int status_of(void (*act)(void), char said[1024])
{
    int pipe_end[2], wait_status;
    size_t length = 0;
    ssize_t got;

    assert_int_equal(pipe(pipe_end), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipe_end[1], STDERR_FILENO);
        close(pipe_end[1]);
        act();
        _exit(STATUS_OK);
    }
    close(pipe_end[1]);
    assert_int_equal(waitpid(child, &wait_status, 0), child);
    assert_true(WIFEXITED(wait_status));
    while ((got = read(pipe_end[0], said + length, 1023 - length)) > 0)
        length += (size_t)got;
    said[length] = '\0';
    close(pipe_end[0]);
    return WEXITSTATUS(wait_status);
}

/* Runs a check in each rank; the check returns 0, or the line that failed. */
typedef int (*rank_check)(struct ranks *r);
static rank_check checked;
static int checked_ranks;

static void run_check(struct ranks *r, void *context)
{
    (void)context;
    int line = checked(r);
    if (line)
        die(STATUS_FAILED, "rank %d of %d: check on line %d failed", r->rank, r->count, line);
}

static void run_checks(void)
{
    struct ranks r = {.count = checked_ranks};

    ranks_run(&r, run_check, NULL);
}

static void check_in_ranks(int ranks, rank_check check)
{
    char said[1024];

    checked = check;
    checked_ranks = ranks;
    if (status_of(run_checks, said) != STATUS_OK)
        fail_msg("%s", said);
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

static int check_all_gather(struct ranks *c)
{
    for (int n = 0; n < COUNTS; n++) {
        real *part = filled(c->rank, counts[n]), *full = calloc(counts[n] * (size_t)c->count, sizeof *full);
        ranks_exchange(c, ALL_GATHER, full, part, counts[n]);
        for (int r = 0; r < c->count; r++)
            for (size_t i = 0; i < counts[n]; i++)
                REQUIRE(full[(size_t)r * counts[n] + i] == value_of(r, i));
        free(part);
        free(full);
    }
    return 0;
}

TEST(ranks_exchange__all_gather_of_every_size__parts_in_rank_order)
{
    check_in_1_to_4_ranks(check_all_gather);
}

static int check_all_reduce(struct ranks *c)
{
    for (int n = 0; n < COUNTS; n++) {
        real *in = filled(c->rank, counts[n]), *sum = calloc(counts[n], sizeof *sum);
        for (size_t i = 0; i < counts[n]; i++)
            sum[i] = 5;
        ranks_exchange(c, ALL_REDUCE_ADD, sum, in, counts[n]);
        for (size_t i = 0; i < counts[n]; i++)
            REQUIRE(sum[i] == 5 + sum_of(c->count, i));
        free(in);
        free(sum);
    }
    return 0;
}

TEST(ranks_exchange__all_reduce_of_every_size__added_to_what_was_there)
{
    check_in_1_to_4_ranks(check_all_reduce);
}

static int check_reduce_scatter(struct ranks *c)
{
    for (int n = 0; n < COUNTS; n++) {
        size_t offset = (size_t)c->rank * counts[n];
        real *in = filled(c->rank, counts[n] * (size_t)c->count), *sum = calloc(counts[n], sizeof *sum);
        for (size_t i = 0; i < counts[n]; i++)
            sum[i] = 5;
        ranks_exchange(c, REDUCE_SCATTER_ADD, sum, in, counts[n]);
        for (size_t i = 0; i < counts[n]; i++)
            REQUIRE(sum[i] == 5 + sum_of(c->count, offset + i));
        free(in);
        free(sum);
    }
    return 0;
}

TEST(ranks_exchange__reduce_scatter_of_every_size__own_part_of_the_sum)
{
    check_in_1_to_4_ranks(check_reduce_scatter);
}

/* In float 1e8 + 1 is 1e8: only when the first two meet first do these add up to 1, and else to 0. */
static int check_order(struct ranks *c)
{
    static const real parts[] = {1e8F, -1e8F, 1};
    real in[3] = {parts[c->rank], parts[c->rank], parts[c->rank]}, sum[3] = {0}, own = 0;

    ranks_exchange(c, ALL_REDUCE_ADD, sum, in, 3);
    ranks_exchange(c, REDUCE_SCATTER_ADD, &own, in, 1);
    REQUIRE(sum[0] == 1 && sum[1] == 1 && sum[2] == 1 && own == 1);
    return 0;
}

TEST(ranks_exchange__order_matters__taken_in_rank_order)
{
    check_in_ranks(3, check_order);
}

static int check_barrier(struct ranks *c)
{
    for (int i = 1; i <= 2000; i++) {
        real mine = value_of(c->rank, (size_t)i), all[4];
        ranks_exchange(c, ALL_GATHER, all, &mine, 1);
        for (int r = 0; r < c->count; r++)
            REQUIRE(all[r] == value_of(r, (size_t)i));
    }
    return 0;
}

TEST(ranks_exchange__many_times__values_of_this_time)
{
    check_in_1_to_4_ranks(check_barrier);
}

/* ---- launcher ---- */

static int kill_rank_1(struct ranks *c)
{
    if (c->rank == 1)
        raise(SIGKILL);
    ranks_barrier(c);
    return 0;
}

static int exit_rank_1_with_7(struct ranks *c)
{
    if (c->rank == 1)
        _exit(7);
    ranks_barrier(c);
    return 0;
}

/* That the others ended is what status_of() has waited for. */
static void check_failing_rank(rank_check how, int status, const char *text)
{
    char said[1024];

    checked = how;
    checked_ranks = 3;
    assert_int_equal(status_of(run_checks, said), status);
    assert_string_equal(said, text);
}

TEST(ranks_run__killed_rank__others_end_and_signal_is_told)
{
    check_failing_rank(kill_rank_1, 128 + SIGKILL, "meshsweep-trainer: rank 1 was killed by signal 9 (Killed)\n");
}

TEST(ranks_run__failing_rank__others_end_and_status_is_told)
{
    check_failing_rank(exit_rank_1_with_7, 7, "meshsweep-trainer: rank 1 ended with status 7\n");
}

static void say_ready_and_wait(struct ranks *r, void *context)
{
    int *pipe_end = context;

    (void)r;
    if (write(pipe_end[1], "r", 1) == 1)
        pause();
}

/* The ranks hold the pipe's writing end: it reads as ended once they are all gone. */
static bool pipe_ends(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    char byte;

    return poll(&poll_fd, 1, 20 * 1000) == 1 && read(fd, &byte, 1) == 0;
}

TEST(ranks_run__launcher_killed__ranks_end)
{
    int pipe_end[2];
    struct ranks r = {.count = 2};
    char ready[2];

    assert_int_equal(pipe(pipe_end), 0);
    pid_t launcher = fork();
    if (launcher == 0) {
        ranks_run(&r, say_ready_and_wait, pipe_end);
        _exit(STATUS_OK);
    }
    close(pipe_end[1]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(read(pipe_end[0], &ready[i], 1), 1);
    kill(launcher, SIGKILL);
    assert_int_equal(waitpid(launcher, NULL, 0), launcher);
    assert_true(pipe_ends(pipe_end[0]));
    close(pipe_end[0]);
}

/* ---- device ---- */

TEST(device_alloc__blocks_of_any_size__counted_in_whole_units_and_zeroed)
{
    struct device d = {0};
    char *one = device_alloc(&d, USE_PARAMETERS, 1), *more = device_alloc(&d, USE_BUFFERS, 65);

    assert_int_equal(d.used[USE_TOTAL], 64 + 128);
    assert_int_equal(d.used[USE_PARAMETERS], 64);
    assert_int_equal(d.used[USE_BUFFERS], 128);
    assert_int_equal((uintptr_t)one % DEVICE_ALIGNMENT, 0);
    for (int i = 0; i < 65; i++)
        assert_int_equal(more[i], 0);
    device_free(&d, one);
    device_free(&d, more);
    assert_int_equal(d.used[USE_TOTAL], 0);
    assert_int_equal(d.used[USE_BUFFERS], 0);
}

TEST(device_alloc__peak__highest_total_and_what_it_was_made_of)
{
    struct device d = {0};
    void *parameters = device_alloc(&d, USE_PARAMETERS, 1024);

    device_free(&d, device_alloc(&d, USE_ACTIVATIONS, 4096));
    void *gradients = device_alloc(&d, USE_GRADIENTS, 2048);
    assert_int_equal(d.peak[USE_TOTAL], 1024 + 4096);
    assert_int_equal(d.peak[USE_ACTIVATIONS], 4096);
    assert_int_equal(d.peak[USE_GRADIENTS], 0);
    device_free(&d, parameters);
    device_free(&d, gradients);
}

static void exceed_the_capacity(void)
{
    struct device d = {.rank = 1, .capacity = 24 * MIB};

    device_reserve(&d, USE_BUFFERS, 22 * MIB + 3 * MIB / 4);
    device_alloc(&d, USE_ACTIVATIONS, 5 * MIB / 2);
}

TEST(device_alloc__past_the_capacity__refused_with_the_numbers)
{
    char said[1024];

    assert_int_equal(status_of(exceed_the_capacity, said), STATUS_FAILED);
    assert_string_equal(said, "meshsweep-trainer: out of memory: rank 1 tried to allocate 2.50 MiB (device capacity "
                              "24.00 MiB; 22.75 MiB already allocated; 1.25 MiB free)\n");
}

static void fill_twice(void)
{
    struct device d = {.capacity = 128};

    device_free(&d, device_alloc(&d, USE_PARAMETERS, 128));
    free(device_alloc(&d, USE_PARAMETERS, 128) - DEVICE_ALIGNMENT);
}

static void fill_and_exceed(void)
{
    struct device d = {.capacity = 128};
    static void *volatile held; /* to the end of the process, so that it is not lost */

    held = device_alloc(&d, USE_PARAMETERS, 128);
    assert_non_null(held);
    device_alloc(&d, USE_PARAMETERS, 1);
}

TEST(device_alloc__exactly_the_capacity__granted_then_nothing_more)
{
    char said[1024];

    assert_int_equal(status_of(fill_twice, said), STATUS_OK);
    assert_int_equal(status_of(fill_and_exceed, said), STATUS_FAILED);
    assert_non_null(strstr(said, "tried to allocate 0.00 MiB"));
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

/* A rank keeps its state until it ends; a test does not. */
static inline void free_state(struct zero *z)
{
    for (int i = 0; i < ZERO_ARRAYS; i++)
        device_free(z->device, z->array[i]);
}

static int check_partition(struct ranks *c)
{
    for (int stage = 0; stage <= ZERO_LAST_STAGE; stage++) {
        struct device device = {0};
        struct zero z = {.device = &device, .ranks = c, .stage = stage};
        zero_open(&z, unit_parameters, 1);
        REQUIRE(device.used[USE_PARAMETERS] == counted(stage < 3 ? FULL_ELEMENTS : PART_ELEMENTS));
        REQUIRE(device.used[USE_GRADIENTS] == counted(stage < 2 ? FULL_ELEMENTS : PART_ELEMENTS));
        REQUIRE(device.used[USE_OPTIMIZER] == 2 * counted(stage < 1 ? FULL_ELEMENTS : PART_ELEMENTS));
        REQUIRE(zero_padded(&z, 0) == 12 && zero_padded(&z, 1) == 8 && zero_padded(&z, 2) == 64);
        free_state(&z);
        REQUIRE(device.used[USE_TOTAL] == 0);
    }
    return 0;
}

TEST(zero_open__four_ranks__holds_exactly_its_parts)
{
    check_in_ranks(ZERO_RANKS, check_partition);
}

static void add_and_reduce(struct zero *z)
{
    real values[64 + ZERO_RANKS] = {0};

    for (int unit = 0; unit < UNITS; unit++) {
        for (size_t i = 0; i < unit_parameters[unit] && z->ranks->rank == 0; i++)
            values[i] = value_of(unit, i);
        zero_add(z, ZERO_PARAMETERS, unit, values);
        zero_begin(z, unit, NEED_GRADIENTS);
        for (size_t i = 0; i < unit_parameters[unit]; i++)
            z->gradients[i] = i % 2 ? value_of(z->ranks->rank, i) : -value_of(z->ranks->rank, i);
        zero_end(z);
        memset(values, 0, sizeof values);
    }
}

/* Adam's first step moves every parameter by the learning rate against its gradient's sign. */
static int check_stepped(struct zero *z)
{
    for (int unit = 0; unit < UNITS; unit++) {
        zero_begin(z, unit, NEED_PARAMETERS);
        for (size_t i = 0; i < zero_padded(z, unit); i++) {
            bool padding = i >= unit_parameters[unit];
            real want = padding ? 0 : value_of(unit, i) + (i % 2 ? -1 : 1);
            REQUIRE(z->parameters[i] > want - 0.001F && z->parameters[i] < want + 0.001F);
        }
        zero_end(z);
    }
    return 0;
}

static int check_step(struct ranks *c)
{
    for (int stage = 0; stage <= ZERO_LAST_STAGE; stage++) {
        struct device device = {0};
        struct zero z = {.device = &device, .ranks = c, .stage = stage};
        zero_open(&z, unit_parameters, 1);
        add_and_reduce(&z);
        zero_step(&z, 1, 1);
        for (size_t i = 0; i < elements_held(&z, ZERO_GRADIENTS); i++)
            REQUIRE(z.array[ZERO_GRADIENTS][i] == 0);
        int line = check_stepped(&z);
        REQUIRE(line == 0);
        free_state(&z);
        REQUIRE(device.used[USE_TOTAL] == 0);
    }
    return 0;
}

TEST(zero_step__every_stage__every_parameter_moves_once)
{
    check_in_1_to_4_ranks(check_step);
}

/* Each rank puts something of its own into the bucket: stages 2 and 3 must hold the sum of their part alone.
 */
static int check_gradient_part(struct ranks *c)
{
    struct device device = {0};
    struct zero z = {.device = &device, .ranks = c, .stage = 2};

    zero_open(&z, unit_parameters, 1);
    zero_begin(&z, 2, NEED_GRADIENTS);
    for (size_t i = 0; i < 64; i++)
        z.gradients[i] = value_of(c->rank, i);
    zero_end(&z);
    size_t part = 64 / (size_t)c->count, at = z.part[0] + z.part[1];
    for (size_t i = 0; i < part; i++)
        REQUIRE(z.array[ZERO_GRADIENTS][at + i] == sum_of(c->count, (size_t)c->rank * part + i));
    REQUIRE(z.array[ZERO_GRADIENTS][at - 1] == 0);
    free_state(&z);
    return 0;
}

TEST(zero_end__stage_2__sum_of_the_own_part)
{
    check_in_ranks(2, check_gradient_part);
    check_in_ranks(4, check_gradient_part);
}

static int open_on_small_device(struct ranks *c)
{
    struct device device = {.capacity = 3 * counted(10 + 7 + 64)};
    struct zero z = {.device = &device, .ranks = c};

    zero_open(&z, unit_parameters, 1);
    return 0;
}

TEST(zero_open__device_too_small__fails)
{
    char said[1024];

    checked = open_on_small_device;
    checked_ranks = 1;
    assert_int_equal(status_of(run_checks, said), STATUS_FAILED);
    assert_non_null(strstr(said, "meshsweep-trainer: out of memory: rank 0 tried to allocate 0.00 MiB"));
    assert_non_null(strstr(said, "meshsweep-trainer: rank 0 ended with status 1\n"));
}

int main(int argc, char **argv)
{
    alarm(TEST_LIMIT_SECONDS); /* a collective that waits for ever is a failure, not a hang */
    return unit_test_run(argc, argv);
}

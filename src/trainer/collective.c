#include "trainer/collective.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trainer/ops.h"

enum {
    HALF_ELEMENTS = COLLECTIVE_WINDOW_BYTES / 2 / sizeof(real),
    CONTROL_BYTES = 4096,
    /* Ranks with a core each arrive within microseconds; sleeping and waking takes tens of them. */
    SPINS_BEFORE_SLEEP = 5000,
};

struct collective_group {
    uint64_t value[COLLECTIVE_MAX_RANKS];
    int ranks;
    _Atomic uint32_t arrived;
    _Atomic uint32_t generation;
};
_Static_assert(sizeof(struct collective_group) <= CONTROL_BYTES, "the windows begin after the control block");

size_t collective_window_bytes(int ranks)
{
    return ranks > 1 ? COLLECTIVE_WINDOW_BYTES : 0;
}

static size_t group_bytes(int ranks)
{
    return CONTROL_BYTES + (size_t)ranks * collective_window_bytes(ranks);
}

int collective_group_create(struct collective_group **group, int ranks, struct error *e)
{
    assert(ranks >= 1 && ranks <= COLLECTIVE_MAX_RANKS);
    void *map = mmap(NULL, group_bytes(ranks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (map == MAP_FAILED)
        return error_set(e, STATUS_FAILED, "cannot map shared memory for %d ranks: %s", ranks, strerror(errno));
    *group = map;
    (*group)->ranks = ranks;
    return 0;
}

void collective_group_destroy(struct collective_group *group)
{
    if (group)
        munmap(group, group_bytes(group->ranks));
}

void collective_join(struct collective *c, struct collective_group *group, int rank)
{
    *c = (struct collective){.group = group, .rank = rank, .ranks = group->ranks};
}

static void futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
    syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static void wait_for_generation_after(struct collective_group *group, uint32_t generation)
{
    for (int i = 0; i < SPINS_BEFORE_SLEEP; i++)
        if (atomic_load_explicit(&group->generation, memory_order_acquire) != generation)
            return;
    while (atomic_load_explicit(&group->generation, memory_order_acquire) == generation)
        futex(&group->generation, FUTEX_WAIT, generation);
}

void collective_barrier(struct collective *c)
{
    struct collective_group *group = c->group;
    uint32_t generation = atomic_load(&group->generation);

    if (atomic_fetch_add(&group->arrived, 1) + 1 < (uint32_t)c->ranks) {
        wait_for_generation_after(group, generation);
        return;
    }
    atomic_store(&group->arrived, 0);
    atomic_fetch_add(&group->generation, 1);
    futex(&group->generation, FUTEX_WAKE, INT_MAX);
}

static real *window(const struct collective *c, int rank)
{
    char *windows = (char *)c->group + CONTROL_BYTES;

    return (real *)(windows + (size_t)rank * COLLECTIVE_WINDOW_BYTES) + (size_t)c->half * HALF_ELEMENTS;
}

static size_t piece_length(size_t done, size_t count, size_t limit)
{
    return count - done < limit ? count - done : limit;
}

void collective_broadcast(struct collective *c, real *data, size_t count, int root)
{
    size_t length;

    for (size_t done = 0; c->ranks > 1 && done < count; done += length) {
        length = piece_length(done, count, HALF_ELEMENTS);
        if (c->rank == root)
            memcpy(window(c, root), data + done, length * sizeof *data);
        collective_barrier(c);
        if (c->rank != root)
            memcpy(data + done, window(c, root), length * sizeof *data);
        c->half ^= 1;
    }
}

void collective_all_gather(struct collective *c, real *full, const real *part, size_t count)
{
    size_t length;

    if (c->ranks == 1)
        memmove(full, part, count * sizeof *full);
    for (size_t done = 0; c->ranks > 1 && done < count; done += length) {
        length = piece_length(done, count, HALF_ELEMENTS);
        memcpy(window(c, c->rank), part + done, length * sizeof *part);
        collective_barrier(c);
        for (int r = 0; r < c->ranks; r++)
            memcpy(full + (size_t)r * count + done, window(c, r), length * sizeof *full);
        c->half ^= 1;
    }
}

void collective_all_reduce_add(struct collective *c, real *sum, const real *in, size_t count)
{
    size_t length;

    if (c->ranks == 1)
        add_to(sum, in, count);
    for (size_t done = 0; c->ranks > 1 && done < count; done += length) {
        length = piece_length(done, count, HALF_ELEMENTS);
        memcpy(window(c, c->rank), in + done, length * sizeof *in);
        collective_barrier(c);
        for (int r = 0; r < c->ranks; r++)
            add_to(sum + done, window(c, r), length);
        c->half ^= 1;
    }
}

void collective_reduce_scatter_add(struct collective *c, real *sum, const real *in, size_t count)
{
    size_t limit = HALF_ELEMENTS / (size_t)c->ranks, length;

    if (c->ranks == 1)
        add_to(sum, in, count);
    for (size_t done = 0; c->ranks > 1 && done < count; done += length) {
        length = piece_length(done, count, limit);
        for (int r = 0; r < c->ranks; r++)
            memcpy(window(c, c->rank) + (size_t)r * limit, in + (size_t)r * count + done, length * sizeof *in);
        collective_barrier(c);
        for (int r = 0; r < c->ranks; r++)
            add_to(sum + done, window(c, r) + (size_t)c->rank * limit, length);
        c->half ^= 1;
    }
}

uint64_t collective_max(struct collective *c, uint64_t value)
{
    uint64_t highest = 0;

    c->group->value[c->rank] = value;
    collective_barrier(c);
    for (int r = 0; r < c->ranks; r++)
        highest = c->group->value[r] > highest ? c->group->value[r] : highest;
    collective_barrier(c);
    return highest;
}

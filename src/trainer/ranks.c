#include "trainer/ranks.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tgmath.h>
#include <unistd.h>

enum {
    HALF_ELEMENTS = RANKS_WINDOW_BYTES / 2 / sizeof(real),
    CONTROL_BYTES = 4096,
    /* Ranks with a core each arrive within microseconds; sleeping and waking takes tens of them. */
    SPINS_BEFORE_SLEEP = 5000,
};

struct shared {
    _Atomic uint32_t arrived;
    _Atomic uint32_t generation;
};
_Static_assert(sizeof(struct shared) <= CONTROL_BYTES, "the windows begin after the control block");

void die(int status, const char *format, ...)
{
    char text[1024], line[sizeof text + 32];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /* One write, so that the lines of several ranks do not mix. */
    snprintf(line, sizeof line, "meshsweep-trainer: %s\n", text);
    fputs(line, stderr);
    exit(status);
}

/* Waits for any rank, whose pid is then 0; children inherited through exec are not ranks. */
static int wait_for_one(pid_t *pid, int count, int *wait_status)
{
    for (;;) {
        pid_t ended = waitpid(-1, wait_status, 0);
        assert(ended > 0 || errno == EINTR);
        for (int i = 0; i < count; i++)
            if (ended > 0 && pid[i] == ended) {
                pid[i] = 0;
                return i;
            }
    }
}

void ranks_run(struct ranks *r, void (*rank_main)(struct ranks *r, void *context), void *context)
{
    size_t bytes = CONTROL_BYTES + (size_t)r->count * RANKS_WINDOW_BYTES;
    pid_t launcher = getpid(), pid[RANKS_MAX];
    r->shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r->shared == MAP_FAILED)
        die(STATUS_FAILED, "cannot map shared memory for %d ranks: %s", r->count, strerror(errno));
    /* An ignored SIGCHLD is inherited from the parent, and children then cannot be waited for. */
    signal(SIGCHLD, SIG_DFL);
    /* Otherwise each rank would write what is still in the buffers. */
    fflush(NULL);
    for (r->rank = 0; r->rank < r->count; r->rank++) {
        if ((pid[r->rank] = fork()) < 0)
            die(STATUS_FAILED, "rank %d cannot be started: %s", r->rank, strerror(errno));
        if (pid[r->rank] > 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* The launcher may have died before the line above took effect. */
        if (getppid() != launcher)
            _exit(STATUS_FAILED);
        rank_main(r, context);
        exit(STATUS_OK);
    }
    int failed = -1, failed_status = 0;
    for (int alive = r->count; alive > 0; alive--) {
        int status, rank = wait_for_one(pid, r->count, &status);
        if (status == 0 || failed >= 0)
            continue;
        failed = rank;
        failed_status = status;
        for (int i = 0; i < r->count; i++)
            if (pid[i] > 0)
                kill(pid[i], SIGKILL);
    }
    int number = WTERMSIG(failed_status);
    if (failed >= 0 && WIFSIGNALED(failed_status))
        die(128 + number, "rank %d was killed by signal %d (%s)", failed, number, strsignal(number));
    if (failed >= 0)
        die(WEXITSTATUS(failed_status), "rank %d ended with status %d", failed, WEXITSTATUS(failed_status));
}

void ranks_barrier(struct ranks *r)
{
    struct shared *shared = r->shared;
    uint32_t generation = atomic_load(&shared->generation);
    if (atomic_fetch_add(&shared->arrived, 1) + 1 == (uint32_t)r->count) {
        atomic_store(&shared->arrived, 0);
        atomic_fetch_add(&shared->generation, 1);
        syscall(SYS_futex, &shared->generation, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
        return;
    }
    for (int i = 0; atomic_load_explicit(&shared->generation, memory_order_acquire) == generation; i++)
        if (i >= SPINS_BEFORE_SLEEP)
            syscall(SYS_futex, &shared->generation, FUTEX_WAIT, generation, NULL, NULL, 0);
}

static real *window(const struct ranks *r, int rank)
{
    char *windows = (char *)r->shared + CONTROL_BYTES;
    return (real *)(windows + (size_t)rank * RANKS_WINDOW_BYTES) + (size_t)r->half * HALF_ELEMENTS;
}

void ranks_exchange(struct ranks *r, enum exchange what, real *out, const real *in, size_t count)
{
    bool adds = what == ALL_REDUCE_ADD || what == REDUCE_SCATTER_ADD;
    size_t slices = what == REDUCE_SCATTER_ADD ? (size_t)r->count : 1;
    size_t piece = HALF_ELEMENTS / slices, length;
    if (r->count == 1 && adds)
        add_to(out, in, count);
    else if (r->count == 1)
        memmove(out, in, count * sizeof *out);
    for (size_t done = 0; r->count > 1 && done < count; done += length) {
        length = count - done < piece ? count - done : piece;
        for (size_t i = 0; i < slices; i++)
            memcpy(window(r, r->rank) + i * piece, in + i * count + done, length * sizeof *in);
        ranks_barrier(r);
        for (int i = 0; i < r->count; i++) {
            const real *from = window(r, i) + (slices > 1 ? (size_t)r->rank * piece : 0);
            if (adds)
                add_to(out + done, from, length);
            else
                memcpy(out + (size_t)i * count + done, from, length * sizeof *out);
        }
        r->half ^= 1;
    }
}

void add_to(real *restrict out, const real *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] += in[i];
}

static const double MIB = 1024 * 1024;

/* Lies in front of every block, one alignment unit long, and is not counted. */
struct block_header {
    size_t counted_bytes;
    enum device_use use;
};

size_t device_rounded(size_t bytes)
{
    return (bytes + DEVICE_ALIGNMENT - 1) / DEVICE_ALIGNMENT * DEVICE_ALIGNMENT;
}

void device_reserve(struct device *device, enum device_use use, size_t bytes)
{
    size_t counted = device_rounded(bytes), total = device->used[USE_TOTAL], left = device->capacity - total;
    if (device->capacity && counted > left)
        die(STATUS_FAILED,
            "out of memory: rank %d tried to allocate %.2f MiB (device capacity %.2f MiB; %.2f MiB already allocated; "
            "%.2f MiB free)",
            device->rank, (double)bytes / MIB, (double)device->capacity / MIB, (double)total / MIB, (double)left / MIB);
    device->used[USE_TOTAL] += counted;
    device->used[use] += counted;
    if (device->used[USE_TOTAL] > device->peak[USE_TOTAL])
        memcpy(device->peak, device->used, sizeof device->peak);
}

void *device_alloc(struct device *device, enum device_use use, size_t bytes)
{
    device_reserve(device, use, bytes);
    size_t counted = device_rounded(bytes);
    char *start = aligned_alloc(DEVICE_ALIGNMENT, DEVICE_ALIGNMENT + counted);
    if (!start)
        die(STATUS_FAILED, "rank %d: the host has no %.2f MiB for the device's memory", device->rank,
            (double)bytes / MIB);
    *(struct block_header *)start = (struct block_header){counted, use};
    return memset(start + DEVICE_ALIGNMENT, 0, counted);
}

void device_free(struct device *device, void *block)
{
    struct block_header *header = (struct block_header *)((char *)block - DEVICE_ALIGNMENT);
    device->used[USE_TOTAL] -= header->counted_bytes;
    device->used[header->use] -= header->counted_bytes;
    free(header);
}

static const struct {
    enum device_use use;
    int partitioned_from; /* the first such stage */
} arrays[ZERO_ARRAYS] = {
    [ZERO_PARAMETERS] = {USE_PARAMETERS, 3},
    [ZERO_GRADIENTS] = {USE_GRADIENTS, 2},
    [ZERO_FIRST_MOMENTS] = {USE_OPTIMIZER, 1},
    [ZERO_SECOND_MOMENTS] = {USE_OPTIMIZER, 1},
};

static bool is_partitioned(const struct zero *z, enum zero_array array)
{
    return z->stage >= arrays[array].partitioned_from;
}

/* How many parts of each unit this rank has in the array: its own, or all. */
static size_t parts_held(const struct zero *z, enum zero_array array)
{
    return is_partitioned(z, array) ? 1 : (size_t)z->ranks->count;
}

static size_t part_of(const struct zero *z, int unit)
{
    return z->part[unit == 0 ? 0 : unit <= z->layers ? 1 : 2];
}

/* The sum of the units' parts before that of a unit. */
static size_t parts_before(const struct zero *z, int unit)
{
    return unit == 0 ? 0 : z->part[0] + (size_t)(unit - 1) * z->part[1];
}

/* Returns how many elements of the array this rank holds, of all units; below, where those of one are, and its own
 * part in that. */
static size_t elements_held(const struct zero *z, enum zero_array array)
{
    return (parts_before(z, z->layers + 1) + z->part[2]) * parts_held(z, array);
}

static real *held(const struct zero *z, enum zero_array array, int unit)
{
    return z->array[array] + parts_before(z, unit) * parts_held(z, array);
}

static real *own_part(const struct zero *z, enum zero_array array, int unit)
{
    return held(z, array, unit) + (is_partitioned(z, array) ? 0 : part_of(z, unit) * (size_t)z->ranks->rank);
}

size_t zero_padded(const struct zero *z, int unit)
{
    return part_of(z, unit) * (size_t)z->ranks->count;
}

void zero_open(struct zero *z, const size_t unit_parameters[3], int layers)
{
    size_t ranks = (size_t)z->ranks->count;
    z->layers = layers;
    for (int i = 0; i < 3; i++)
        z->part[i] = (unit_parameters[i] + ranks - 1) / ranks;
    for (int i = 0; i < ZERO_ARRAYS; i++)
        z->array[i] =
            device_alloc(z->device, arrays[i].use, elements_held(z, (enum zero_array)i) * sizeof *z->array[i]);
}

void zero_add(struct zero *z, enum zero_array array, int unit, const real *values)
{
    ranks_exchange(z->ranks, is_partitioned(z, array) ? REDUCE_SCATTER_ADD : ALL_REDUCE_ADD, held(z, array, unit),
                   values, part_of(z, unit) * parts_held(z, array));
}

void zero_begin(struct zero *z, int unit, int needs)
{
    size_t bytes = zero_padded(z, unit) * sizeof(real);
    real *parameters = held(z, ZERO_PARAMETERS, unit);
    if ((needs & NEED_PARAMETERS) && is_partitioned(z, ZERO_PARAMETERS)) {
        parameters = device_alloc(z->device, USE_PARAMETERS, bytes);
        ranks_exchange(z->ranks, ALL_GATHER, parameters, held(z, ZERO_PARAMETERS, unit), part_of(z, unit));
    }
    z->unit = unit;
    z->parameters = parameters;
    z->gradients = needs & NEED_GRADIENTS ? device_alloc(z->device, USE_GRADIENTS, bytes) : NULL;
}

void zero_end(struct zero *z)
{
    if (z->parameters != held(z, ZERO_PARAMETERS, z->unit))
        device_free(z->device, (real *)z->parameters);
    if (!z->gradients)
        return;
    zero_add(z, ZERO_GRADIENTS, z->unit, z->gradients);
    device_free(z->device, z->gradients);
}

/* Adam works element by element, so that any part of an array can be updated separately with the same result. */
static void adam(real *restrict parameter, const real *restrict gradient, real *restrict first, real *restrict second,
                 size_t count, const real factor[6])
{
    for (size_t i = 0; i < count; i++) {
        real g = gradient[i];
        first[i] = factor[0] * first[i] + factor[1] * g;
        second[i] = factor[2] * second[i] + factor[3] * g * g;
        parameter[i] -= factor[4] * first[i] / (sqrt(second[i]) + factor[5]);
    }
}

/* If moments are not partitioned, every rank updates everything and needs nothing from the others. */
void zero_step(struct zero *z, double learning_rate, int step)
{
    const double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
    /* Both bias corrections are in the step size: lr · √(1-β₂ᵗ) / (1-β₁ᵗ), with epsilon scaled alike. */
    double root = sqrt(1 - pow(beta2, step)), rate = learning_rate * root / (1 - pow(beta1, step));
    const real factor[] = {(real)beta1,       (real)(1 - beta1), (real)beta2,
                           (real)(1 - beta2), (real)rate,        (real)(epsilon * root)};
    bool own_only = is_partitioned(z, ZERO_FIRST_MOMENTS);
    real *(*updated)(const struct zero *, enum zero_array, int) = own_only ? own_part : held;
    for (int i = 0; i <= z->layers + 1; i++) {
        real *parameter = updated(z, ZERO_PARAMETERS, i);
        adam(parameter, updated(z, ZERO_GRADIENTS, i), held(z, ZERO_FIRST_MOMENTS, i), held(z, ZERO_SECOND_MOMENTS, i),
             part_of(z, i) * parts_held(z, ZERO_FIRST_MOMENTS), factor);
        if (own_only && !is_partitioned(z, ZERO_PARAMETERS))
            ranks_exchange(z->ranks, ALL_GATHER, held(z, ZERO_PARAMETERS, i), parameter, part_of(z, i));
    }
    memset(z->array[ZERO_GRADIENTS], 0, elements_held(z, ZERO_GRADIENTS) * sizeof(real));
}

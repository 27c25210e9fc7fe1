#include "trainer/zero.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The first stage at which each part of the state is partitioned. */
enum { PARTITIONS_MOMENTS = 1, PARTITIONS_GRADIENTS = 2, PARTITIONS_PARAMETERS = 3 };

static size_t rank_count(const struct zero *z)
{
    return (size_t)z->collective->ranks;
}

size_t zero_padded(const struct zero *z, int unit)
{
    return z->units[unit].part * rank_count(z);
}

static real *alloc_state(struct zero *z, enum device_use use, int partitioned_from, struct error *e)
{
    size_t elements = z->stage >= partitioned_from ? z->part_elements : z->part_elements * rank_count(z);

    return device_alloc(z->device, use, elements * sizeof(real), e);
}

static int alloc_states(struct zero *z, struct error *e)
{
    if (!(z->parameters = alloc_state(z, DEVICE_PARAMETERS, PARTITIONS_PARAMETERS, e)))
        return -1;
    if (!(z->gradients = alloc_state(z, DEVICE_GRADIENTS, PARTITIONS_GRADIENTS, e)))
        return -1;
    if (!(z->moments.first = alloc_state(z, DEVICE_OPTIMIZER, PARTITIONS_MOMENTS, e)))
        return -1;
    if (!(z->moments.second = alloc_state(z, DEVICE_OPTIMIZER, PARTITIONS_MOMENTS, e)))
        return -1;
    return 0;
}

static int partition(struct zero *z, const size_t *unit_parameters, struct error *e)
{
    z->units = calloc((size_t)z->unit_count, sizeof *z->units);
    if (!z->units)
        return error_set(e, STATUS_FAILED, "no host memory for %d units", z->unit_count);
    for (int i = 0; i < z->unit_count; i++) {
        size_t part = (unit_parameters[i] + rank_count(z) - 1) / rank_count(z);
        z->units[i] = (struct zero_unit){unit_parameters[i], part, z->part_elements};
        z->part_elements += part;
    }
    return 0;
}

int zero_open(struct zero *z, const struct zero_setup *setup, struct error *e)
{
    assert(setup->stage >= 0 && setup->stage <= ZERO_LAST_STAGE);
    *z = (struct zero){.device = setup->device,
                       .collective = setup->collective,
                       .stage = setup->stage,
                       .unit_count = setup->unit_count};
    if (partition(z, setup->unit_parameters, e) == 0 && alloc_states(z, e) == 0)
        return 0;
    zero_close(z);
    return -1;
}

void zero_close(struct zero *z)
{
    if (!z->device)
        return;
    zero_abandon(z);
    device_free(z->device, z->moments.second);
    device_free(z->device, z->moments.first);
    device_free(z->device, z->gradients);
    device_free(z->device, z->parameters);
    free(z->units);
    *z = (struct zero){0};
}

/* A whole unit in an array that is not partitioned. */
static real *whole_in(const struct zero *z, real *array, int unit)
{
    return array + z->units[unit].part_at * rank_count(z);
}

/* This rank's part of a unit in an array that is partitioned from a stage on. */
static real *part_in(const struct zero *z, real *array, int partitioned_from, int unit)
{
    if (z->stage >= partitioned_from)
        return array + z->units[unit].part_at;
    return whole_in(z, array, unit) + z->units[unit].part * (size_t)z->collective->rank;
}

void zero_load(struct zero *z, int unit, const real *values)
{
    size_t part = z->units[unit].part;

    if (z->stage < PARTITIONS_PARAMETERS)
        memcpy(whole_in(z, z->parameters, unit), values, zero_padded(z, unit) * sizeof *values);
    else
        memcpy(part_in(z, z->parameters, PARTITIONS_PARAMETERS, unit), values + part * (size_t)z->collective->rank,
               part * sizeof *values);
}

const real *zero_gather(struct zero *z, int unit, struct error *e)
{
    if (z->stage < PARTITIONS_PARAMETERS)
        return whole_in(z, z->parameters, unit);
    assert(!z->gathered);
    z->gathered = device_alloc(z->device, DEVICE_PARAMETERS, zero_padded(z, unit) * sizeof(real), e);
    if (!z->gathered)
        return NULL;
    collective_all_gather(z->collective, z->gathered, part_in(z, z->parameters, PARTITIONS_PARAMETERS, unit),
                          z->units[unit].part);
    return z->gathered;
}

void zero_release(struct zero *z)
{
    device_free(z->device, z->gathered);
    z->gathered = NULL;
}

real *zero_bucket(struct zero *z, int unit, struct error *e)
{
    assert(!z->bucket);
    z->bucket = device_alloc(z->device, DEVICE_GRADIENTS, zero_padded(z, unit) * sizeof(real), e);
    return z->bucket;
}

void zero_reduce(struct zero *z, int unit)
{
    if (z->stage < PARTITIONS_GRADIENTS)
        collective_all_reduce_add(z->collective, whole_in(z, z->gradients, unit), z->bucket, zero_padded(z, unit));
    else
        collective_reduce_scatter_add(z->collective, part_in(z, z->gradients, PARTITIONS_GRADIENTS, unit), z->bucket,
                                      z->units[unit].part);
    device_free(z->device, z->bucket);
    z->bucket = NULL;
}

void zero_abandon(struct zero *z)
{
    zero_release(z);
    device_free(z->device, z->bucket);
    z->bucket = NULL;
}

/* If moments are not partitioned, every rank updates everything and needs nothing from the others. */
static void step_everything(struct zero *z, const struct adam *adam, int step)
{
    adam_step(adam, z->parameters, z->gradients, z->moments, z->part_elements * rank_count(z), step);
}

static void step_own_part(struct zero *z, const struct adam *adam, int step)
{
    for (int i = 0; i < z->unit_count; i++) {
        struct adam_moments moments = {
            part_in(z, z->moments.first, PARTITIONS_MOMENTS, i),
            part_in(z, z->moments.second, PARTITIONS_MOMENTS, i),
        };
        real *parameter = part_in(z, z->parameters, PARTITIONS_PARAMETERS, i);
        adam_step(adam, parameter, part_in(z, z->gradients, PARTITIONS_GRADIENTS, i), moments, z->units[i].part, step);
        if (z->stage < PARTITIONS_PARAMETERS)
            collective_all_gather(z->collective, whole_in(z, z->parameters, i), parameter, z->units[i].part);
    }
}

void zero_step(struct zero *z, const struct adam *adam, int step)
{
    size_t gradients = z->stage < PARTITIONS_GRADIENTS ? z->part_elements * rank_count(z) : z->part_elements;

    if (z->stage < PARTITIONS_MOMENTS)
        step_everything(z, adam, step);
    else
        step_own_part(z, adam, step);
    memset(z->gradients, 0, gradients * sizeof *z->gradients);
}

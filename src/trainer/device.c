#include "trainer/device.h"

#include <stdlib.h>
#include <string.h>

/* Lies in front of every block, one alignment unit long, and is not counted. */
struct block_header {
    size_t counted_bytes;
    enum device_use use;
};

static const char *const use_names[DEVICE_USES] = {
    [DEVICE_PARAMETERS] = "parameter",   [DEVICE_GRADIENTS] = "gradient", [DEVICE_OPTIMIZER] = "optimizer",
    [DEVICE_ACTIVATIONS] = "activation", [DEVICE_BUFFERS] = "buffer",
};

const char *device_use_name(enum device_use use)
{
    return use_names[use];
}

void device_open(struct device *device, int rank, size_t capacity_bytes)
{
    *device = (struct device){.rank = rank, .capacity_bytes = capacity_bytes};
}

size_t device_rounded(size_t bytes)
{
    return (bytes + DEVICE_ALIGNMENT - 1) / DEVICE_ALIGNMENT * DEVICE_ALIGNMENT;
}

static double mebibytes(size_t bytes)
{
    return (double)bytes / (1024.0 * 1024.0);
}

static int out_of_memory(const struct device *device, size_t bytes, struct error *e)
{
    double capacity = mebibytes(device->capacity_bytes);
    double used = mebibytes(device->used_bytes);

    return error_set(e, STATUS_FAILED,
                     "out of memory: rank %d tried to allocate %.2f MiB (device capacity %.2f MiB; "
                     "%.2f MiB already allocated; %.2f MiB free)",
                     device->rank, mebibytes(bytes), capacity, used, capacity - used);
}

int device_reserve(struct device *device, enum device_use use, size_t bytes, struct error *e)
{
    size_t counted = device_rounded(bytes);

    if (device->capacity_bytes && counted > device->capacity_bytes - device->used_bytes)
        return out_of_memory(device, bytes, e);
    device->used_bytes += counted;
    device->used_by[use] += counted;
    if (device->used_bytes > device->peak_bytes) {
        device->peak_bytes = device->used_bytes;
        memcpy(device->peak_by, device->used_by, sizeof device->peak_by);
    }
    return 0;
}

/* Undoes device_reserve(). */
static void device_unreserve(struct device *device, enum device_use use, size_t bytes)
{
    device->used_bytes -= device_rounded(bytes);
    device->used_by[use] -= device_rounded(bytes);
}

void *device_alloc(struct device *device, enum device_use use, size_t bytes, struct error *e)
{
    if (device_reserve(device, use, bytes, e) < 0)
        return NULL;
    size_t counted = device_rounded(bytes);
    char *start = aligned_alloc(DEVICE_ALIGNMENT, DEVICE_ALIGNMENT + counted);
    if (!start) {
        device_unreserve(device, use, bytes);
        error_set(e, STATUS_FAILED, "rank %d: the host has no %.2f MiB for the device's memory", device->rank,
                  mebibytes(bytes));
        return NULL;
    }
    *(struct block_header *)start = (struct block_header){counted, use};
    return memset(start + DEVICE_ALIGNMENT, 0, counted);
}

void device_free(struct device *device, void *block)
{
    if (!block)
        return;
    char *start = (char *)block - DEVICE_ALIGNMENT;
    struct block_header *header = (struct block_header *)start;
    device_unreserve(device, header->use, header->counted_bytes);
    free(start);
}

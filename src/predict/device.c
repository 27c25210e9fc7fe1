#include "predict/device.h"

#include <stddef.h>
#include <strings.h>

#include "predict/bounds.h"

#define GIB 1073741824.0
#define UNMEASURED_ATTENTION 0.35

static const struct device devices[] = {
    {"V100-16GB", 125e12, 1, 0.125, UNMEASURED_ATTENTION * 125e12, 900e9, 15.78 * GIB, 150e9},
    {"V100-32GB", 125e12, 1, 0.125, UNMEASURED_ATTENTION * 125e12, 900e9, 31.74 * GIB, 150e9},
    {"A10G", 70e12, 1, 0.5, UNMEASURED_ATTENTION * 70e12, 600e9, 22.2 * GIB, 25e9},
    {"A100-40GB", 312e12, 1, 0.5, 225e12, 1555e9, 39.4 * GIB, 300e9},
    {"A100-80GB", 312e12, 1, 0.5, 225e12, 2039e9, 79.1 * GIB, 300e9},
    {"L40S", 362e12, 2, 0.5, UNMEASURED_ATTENTION * 362e12, 864e9, 44.5 * GIB, 25e9},
    {"H100-PCIe", 756e12, 2, 0.5, 335e12 * 756 / 989.5, 2000e9, 79.1 * GIB, 50e9},
    {"H100", 989.5e12, 2, 0.5, 335e12, 3350e9, 79.1 * GIB, 450e9},
    {"H800", 989.5e12, 2, 0.5, 335e12, 3350e9, 79.1 * GIB, 200e9},
    {"H200", 989.5e12, 2, 0.5, 335e12, 4800e9, 139.0 * GIB, 450e9},
    {"B200", 2250e12, 2, 0.5, UNMEASURED_ATTENTION * 2250e12, 8000e9, 178.0 * GIB, 900e9},
    {"MI300X", 1307e12, 2, 0.5, UNMEASURED_ATTENTION * 1307e12, 5300e9, 191.5 * GIB, 448e9},
};

#define FIELD(name, least, most)                                                                             \
    {                                                                                                        \
#name, offsetof(struct cluster, name), least, most                                                   \
    }
static const struct bound integer_bounds[] = {FIELD(devices_per_node, 0, 1e5)};
static const struct bound double_bounds[] = {
    FIELD(intra_bytes_per_s, 0, 1e15), FIELD(inter_bytes_per_s, 0, 1e15), FIELD(usable_bytes, 0, 1e15),
    FIELD(pcie_bytes_per_s, 0, 1e15),  FIELD(host_bytes_per_s, 0, 1e15),
};
#undef FIELD

const struct device *device_table(int64_t *count)
{
    *count = sizeof devices / sizeof *devices;
    return devices;
}

const struct device *device_find(const char *name)
{
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (strcasecmp(name, devices[i].name) == 0)
            return &devices[i];
    return NULL;
}

static void fill(double *field, double value)
{
    if (*field == 0)
        *field = value;
}

int cluster_complete(struct cluster *c, struct error *e)
{
    if (!c->device)
        return error_set(e, ERROR_USAGE, "the device of the cluster is not known");
    if (bounds_check_integers(c, integer_bounds, 1, e) ||
        bounds_check_doubles(c, double_bounds, sizeof double_bounds / sizeof *double_bounds, e))
        return -1;
    if (c->devices_per_node == 0)
        c->devices_per_node = 8;
    fill(&c->intra_bytes_per_s, c->device->link_bytes_per_s);
    fill(&c->inter_bytes_per_s, 25e9);
    fill(&c->usable_bytes, c->device->usable_bytes);
    fill(&c->pcie_bytes_per_s, 20e9);
    fill(&c->host_bytes_per_s, 150e9);
    return 0;
}

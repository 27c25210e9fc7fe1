/* NVIDIA's management library, when the driver has brought one: loaded at run time, so that nothing depends on it
 * (https://docs.nvidia.com/deploy/nvml-api/). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "device/condition.h"

struct nvml;

/* Loads libnvidia-ml.so.1 and starts it. NULL: there is none, it lacks a function, or it has no driver. */
struct nvml *nvml_open(void);
void nvml_close(struct nvml *n);

/* How many devices it sees. */
size_t nvml_device_count(const struct nvml *n);

/* One of them. Memory in use in bytes, and processes that compute on it; -1: not known. */
struct nvml_device {
    char uuid[96]; /* "GPU-…" */
    int64_t used_bytes, processes;
};
struct nvml_device nvml_device_read(const struct nvml *n, size_t index);

/* Its condition: a quantity that the driver or the device does not have says so. */
struct device_reading nvml_device_condition(const struct nvml *n, size_t index);

/* The present use of each device: by NVML where the driver has brought it, else by nvidia-smi, else by what the driver
 * of AMD's shows below /sys. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "device/condition.h"
#include "device/devices.h"

/* NVIDIA's management library, when the driver has brought one: loaded at run time, so that nothing depends on it
 * (https://docs.nvidia.com/deploy/nvml-api/). */
struct nvml;

/* Loads libnvidia-ml.so.1 and starts it. NULL: there is none, it lacks a function, or it has no driver. */
struct nvml *nvml_open(void);
void nvml_close(struct nvml *n);

/* Its condition: a quantity that the driver or the device does not have says so. */
struct device_reading nvml_device_condition(const struct nvml *n, size_t index);

struct device_usage {
    int64_t bytes;     /* of its memory in use; -1: not known */
    int64_t processes; /* that compute on it; -1: not known */
};

/* Reads "0, GPU-5ff6…, 1234" (index, uuid, MiB) per line, as `nvidia-smi --query-gpu=index,uuid,memory.used
 * --format=csv,noheader,nounits` prints it: of the i-th name of `names`. Pure. */
void device_usage_parse(const char *text, const struct device_list *names, struct device_usage *out);

/* Whom to ask. All borrowed. */
struct device_witness {
    const struct nvml *nvml;  /* NULL: none */
    char *const *environment; /* for nvidia-smi */
    const char *root;         /* "" but in tests */
};

/* Asks. -1: there is no answer. */
int device_usage_read(const struct device_witness *witness, const struct device_list *names, struct device_usage *out);

/* The library's number of each device, -1: it does not know it. */
void device_nvml_numbers(const struct nvml *nvml, const struct device_list *names, int64_t *out);

/* How much memory each has in all, by nvidia-smi; -1: it does not say. */
int device_total_read(char *const *environment, const struct device_list *names, struct device_usage *out);

/* How much memory is in use on each device, by nvidia-smi. */
#ifndef MESHSWEEP_RUN_DEVICE_USAGE_H
#define MESHSWEEP_RUN_DEVICE_USAGE_H

#include <stddef.h>
#include <stdint.h>

#include "run/devices.h"

/* Reads "0, GPU-5ff6…, 1234" (index, uuid, MiB) per line, as `nvidia-smi --query-gpu=index,uuid,memory.used
 * --format=csv,noheader,nounits` prints it: bytes[i] for the i-th name of `names`; -1 where it is not told. Pure. */
void device_usage_parse(const char *text, const struct device_list *names, int64_t *bytes);

/* Asks. -1: there is no answer. */
int device_usage_read(char *const *environment, const struct device_list *names, int64_t *bytes);

#endif

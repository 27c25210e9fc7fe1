/* The NVIDIA devices of the machine, from what the driver shows as files: nothing is loaded or started. */
#pragma once

/* {"driver":"550.54.15","models":["NVIDIA H200",…]}, or "null" where `directory` (/proc/driver/nvidia) is missing.
 * Models in the order of their bus addresses. The caller's. */
char *gpu_models_json(const char *directory);

/* Stands in for the driver's management library in black-box tests: libnvidia-ml.so.1 in LD_LIBRARY_PATH. Device N of
 * those in the directory NVML_DEVICES is the file N, "BYTES PROCESSES CLOCK TEMPERATURE MILLIWATTS MILLIJOULES REASONS
 * ERRORS MILLIWATTS": of what is negative, or missing, it says that the device does not support it. The last are those
 * that it is held to. The declarations are those of nvml.h, but for a handle's type. */
#include <stdio.h>
#include <stdlib.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7 };
enum { CLOCK = 2, TEMPERATURE, MILLIWATTS, MILLIJOULES, REASONS, ERRORS, LIMIT, FIELDS };

struct memory {
    unsigned long long total, free, used;
};

static int started;

/* Returns an error, or puts the device's fields into `out`: -1 where the file has none. */
static int read_fields(unsigned int index, long long out[FIELDS])
{
    const char *directory = getenv("NVML_DEVICES");
    char path[4096];
    int n = 0;
    if (!started)
        return UNINITIALIZED;
    snprintf(path, sizeof path, "%s/%u", directory ? directory : ".", index);
    FILE *f = fopen(path, "re");
    if (!f)
        return INVALID_ARGUMENT;
    while (n < FIELDS && fscanf(f, "%lld", &out[n]) == 1)
        n++;
    fclose(f);
    if (n < CLOCK)
        return INVALID_ARGUMENT;
    while (n < FIELDS)
        out[n++] = -1;
    return SUCCESS;
}

static int read_device(unsigned int index, unsigned long long *bytes, unsigned int *processes)
{
    long long fields[FIELDS];
    int rc = read_fields(index, fields);
    if (rc == SUCCESS) {
        *bytes = (unsigned long long)fields[0];
        *processes = (unsigned int)fields[1];
    }
    return rc;
}

static int read_wide(size_t handle, int field, unsigned long long *out)
{
    long long fields[FIELDS];
    int rc = read_fields((unsigned int)handle - 1, fields);
    if (rc != SUCCESS || fields[field] < 0)
        return rc != SUCCESS ? rc : NOT_SUPPORTED;
    *out = (unsigned long long)fields[field];
    return SUCCESS;
}

static int read_narrow(size_t handle, int field, unsigned int *out)
{
    unsigned long long wide;
    int rc = read_wide(handle, field, &wide);
    if (rc == SUCCESS)
        *out = (unsigned int)wide;
    return rc;
}

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    started = getenv("NVML_DEVICES") != NULL;
    return started ? SUCCESS : 9; /* no driver */
}

int nvmlShutdown(void);
int nvmlShutdown(void)
{
    started = 0;
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned int *count);
int nvmlDeviceGetCount_v2(unsigned int *count)
{
    unsigned long long bytes;
    unsigned int processes;
    for (*count = 0; read_device(*count, &bytes, &processes) == SUCCESS;)
        ++*count;
    return SUCCESS;
}

/* A handle is the index and one. */
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, size_t *handle);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, size_t *handle)
{
    unsigned long long bytes;
    unsigned int processes;
    *handle = index + (size_t)1;
    return read_device(index, &bytes, &processes);
}

int nvmlDeviceGetUUID(size_t handle, char *uuid, unsigned int length);
int nvmlDeviceGetUUID(size_t handle, char *uuid, unsigned int length)
{
    return snprintf(uuid, length, "GPU-%c", (char)('a' + handle - 1)) > 0 ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetMemoryInfo(size_t handle, struct memory *memory);
int nvmlDeviceGetMemoryInfo(size_t handle, struct memory *memory)
{
    unsigned int processes;
    memory->total = 80ULL << 30;
    memory->free = 0;
    return read_device((unsigned int)handle - 1, &memory->used, &processes);
}

int nvmlDeviceGetComputeRunningProcesses_v2(size_t handle, unsigned int *count, void *processes);
int nvmlDeviceGetComputeRunningProcesses_v2(size_t handle, unsigned int *count, void *processes)
{
    unsigned long long bytes;
    unsigned int room = *count;
    (void)processes;
    int rc = read_device((unsigned int)handle - 1, &bytes, count);
    return rc != SUCCESS ? rc : *count > room ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlDeviceGetName(size_t handle, char *name, unsigned int length);
int nvmlDeviceGetName(size_t handle, char *name, unsigned int length)
{
    return handle > 0 && snprintf(name, length, "NVIDIA Stand-in") > 0 ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetClockInfo(size_t handle, int type, unsigned int *megahertz);
int nvmlDeviceGetClockInfo(size_t handle, int type, unsigned int *megahertz)
{
    return type == 1 ? read_narrow(handle, CLOCK, megahertz) : INVALID_ARGUMENT; /* NVML_CLOCK_SM */
}

int nvmlDeviceGetTemperature(size_t handle, int sensor, unsigned int *degrees);
int nvmlDeviceGetTemperature(size_t handle, int sensor, unsigned int *degrees)
{
    return sensor == 0 ? read_narrow(handle, TEMPERATURE, degrees) : INVALID_ARGUMENT; /* NVML_TEMPERATURE_GPU */
}

int nvmlDeviceGetPowerUsage(size_t handle, unsigned int *milliwatts);
int nvmlDeviceGetPowerUsage(size_t handle, unsigned int *milliwatts)
{
    return read_narrow(handle, MILLIWATTS, milliwatts);
}

int nvmlDeviceGetEnforcedPowerLimit(size_t handle, unsigned int *milliwatts);
int nvmlDeviceGetEnforcedPowerLimit(size_t handle, unsigned int *milliwatts)
{
    return read_narrow(handle, LIMIT, milliwatts);
}

int nvmlDeviceGetTotalEnergyConsumption(size_t handle, unsigned long long *millijoules);
int nvmlDeviceGetTotalEnergyConsumption(size_t handle, unsigned long long *millijoules)
{
    return read_wide(handle, MILLIJOULES, millijoules);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(size_t handle, unsigned long long *reasons);
int nvmlDeviceGetCurrentClocksThrottleReasons(size_t handle, unsigned long long *reasons)
{
    return read_wide(handle, REASONS, reasons);
}

/* Tells the errors that could not be corrected, since the driver was loaded. */
int nvmlDeviceGetTotalEccErrors(size_t handle, int type, int counter, unsigned long long *errors);
int nvmlDeviceGetTotalEccErrors(size_t handle, int type, int counter, unsigned long long *errors)
{
    return type == 1 && counter == 0 ? read_wide(handle, ERRORS, errors) : INVALID_ARGUMENT;
}

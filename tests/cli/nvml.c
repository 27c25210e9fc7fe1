/* Stands in for the driver's management library in black-box tests: libnvidia-ml.so.1 in LD_LIBRARY_PATH. Device N of
 * those in the directory NVML_DEVICES is the file N, "BYTES PROCESSES". */
#include <stdio.h>
#include <stdlib.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, INSUFFICIENT_SIZE = 7 };

struct memory {
    unsigned long long total, free, used;
};

static int started;

static int read_device(unsigned int index, unsigned long long *bytes, unsigned int *processes)
{
    const char *directory = getenv("NVML_DEVICES");
    char path[4096];
    if (!started)
        return UNINITIALIZED;
    snprintf(path, sizeof path, "%s/%u", directory ? directory : ".", index);
    FILE *f = fopen(path, "re");
    if (!f)
        return INVALID_ARGUMENT;
    int fields = fscanf(f, "%llu %u", bytes, processes);
    fclose(f);
    return fields == 2 ? SUCCESS : INVALID_ARGUMENT;
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

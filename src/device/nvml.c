#include "device/nvml.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

/* Of nvml.h. */
enum { SUCCESS = 0, INSUFFICIENT_SIZE = 7 };
typedef void *device_handle;
struct memory {
    unsigned long long total, free, used;
};

enum nvml_function { INIT, SHUTDOWN, COUNT, HANDLE, UUID, MEMORY, PROCESSES, FUNCTION_COUNT };

/* The newest name first. That of the processes is called for their number alone, which all have in common. */
static const struct {
    const char *names[3];
} functions[FUNCTION_COUNT] = {
    [INIT] = {{"nvmlInit_v2"}},
    [SHUTDOWN] = {{"nvmlShutdown"}},
    [COUNT] = {{"nvmlDeviceGetCount_v2"}},
    [HANDLE] = {{"nvmlDeviceGetHandleByIndex_v2"}},
    [UUID] = {{"nvmlDeviceGetUUID"}},
    [MEMORY] = {{"nvmlDeviceGetMemoryInfo"}},
    [PROCESSES] = {{"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
                    "nvmlDeviceGetComputeRunningProcesses"}},
};

struct nvml {
    void *library;
    union {
        void *address;
        int (*plain)(void);
        int (*count)(unsigned int *);
        int (*handle)(unsigned int, device_handle *);
        int (*uuid)(device_handle, char *, unsigned int);
        int (*memory)(device_handle, struct memory *);
        int (*processes)(device_handle, unsigned int *, void *);
    } call[FUNCTION_COUNT];
};

static int find_functions(struct nvml *n)
{
    for (int f = 0; f < FUNCTION_COUNT; f++) {
        for (size_t i = 0; i < 3 && functions[f].names[i] && !n->call[f].address; i++)
            n->call[f].address = dlsym(n->library, functions[f].names[i]);
        if (!n->call[f].address)
            return -1;
    }
    return 0;
}

struct nvml *nvml_open(void)
{
    struct nvml *n = xcalloc(1, sizeof *n);
    n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (n->library && find_functions(n) == 0 && n->call[INIT].plain() == SUCCESS)
        return n;
    if (n->library)
        dlclose(n->library);
    free(n);
    return NULL;
}

void nvml_close(struct nvml *n)
{
    if (!n)
        return;
    n->call[SHUTDOWN].plain();
    dlclose(n->library);
    free(n);
}

size_t nvml_device_count(const struct nvml *n)
{
    unsigned int count = 0;
    return n->call[COUNT].count(&count) == SUCCESS ? count : 0;
}

struct nvml_device nvml_device_read(const struct nvml *n, size_t index)
{
    struct nvml_device d = {"", -1, -1};
    struct memory memory;
    device_handle handle;
    unsigned int count = 0;
    if (n->call[HANDLE].handle((unsigned int)index, &handle) != SUCCESS)
        return d;
    if (n->call[UUID].uuid(handle, d.uuid, sizeof d.uuid) != SUCCESS)
        d.uuid[0] = '\0';
    if (n->call[MEMORY].memory(handle, &memory) == SUCCESS)
        d.used_bytes = (int64_t)memory.used;
    /* Without room for any it tells how many there are. */
    int rc = n->call[PROCESSES].processes(handle, &count, NULL);
    if (rc == SUCCESS || rc == INSUFFICIENT_SIZE)
        d.processes = count;
    return d;
}

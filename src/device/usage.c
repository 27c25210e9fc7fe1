#include "device/usage.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/external_command.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"

/* --- NVML --- */

/* Copied from nvml.h. */
enum { SUCCESS = 0, INSUFFICIENT_SIZE = 7 };
typedef void *device_handle;
struct memory {
    unsigned long long total, free, used;
};

enum nvml_function { INIT, SHUTDOWN, COUNT, HANDLE, UUID, MEMORY, PROCESSES, FUNCTION_COUNT };

/* How a quantity is asked for; not all drivers have all. */
enum answer_kind { PLAIN_32 = 1, PLAIN_64, TYPED_32, TYPED_64 };
#define SLOWDOWNS 0xE8 /* of the reasons why a clock is lowered: the board, heat by two accounts, a power supply */
static const struct {
    const char *names[2];
    enum answer_kind kind;
    int type, counter; /* further arguments */
    double scale;
} questions[DEVICE_QUANTITY_COUNT] = {
    [DEVICE_CLOCK] = {{"nvmlDeviceGetClockInfo"}, TYPED_32, 1 /* NVML_CLOCK_SM */, 0, 1},
    [DEVICE_TEMPERATURE] = {{"nvmlDeviceGetTemperature"}, TYPED_32, 0 /* NVML_TEMPERATURE_GPU */, 0, 1},
    [DEVICE_POWER] = {{"nvmlDeviceGetPowerUsage"}, PLAIN_32, 0, 0, 0.001},
    [DEVICE_ENERGY] = {{"nvmlDeviceGetTotalEnergyConsumption"}, PLAIN_64, 0, 0, 0.001},
    [DEVICE_THROTTLED] =
        {{"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}, PLAIN_64, 0, 0, 1},
    [DEVICE_ECC] = {{"nvmlDeviceGetTotalEccErrors"}, TYPED_64, 1 /* uncorrected */, 0 /* since the driver began */, 1},
    [DEVICE_POWER_LIMIT] = {{"nvmlDeviceGetEnforcedPowerLimit"}, PLAIN_32, 0, 0, 0.001},
};

/* Codes of nvmlReturn_t. */
static const struct {
    int code;
    const char *why;
} refusals[] = {{3, "not supported"}, {4, "no permission"}, {15, "the device is lost"}};

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
        int (*name)(device_handle, char *, unsigned int);
        int (*plain_32)(device_handle, unsigned int *);
        int (*plain_64)(device_handle, unsigned long long *);
        int (*typed_32)(device_handle, int, unsigned int *);
        int (*typed_64)(device_handle, int, int, unsigned long long *);
    } call[FUNCTION_COUNT], ask[DEVICE_QUANTITY_COUNT], name;
};

static int find_functions(struct nvml *n)
{
    for (int f = 0; f < FUNCTION_COUNT; f++) {
        for (size_t i = 0; i < 3 && functions[f].names[i] && !n->call[f].address; i++)
            n->call[f].address = dlsym(n->library, functions[f].names[i]);
        if (!n->call[f].address)
            return -1;
    }
    for (int q = 0; q < DEVICE_QUANTITY_COUNT; q++)
        for (size_t i = 0; i < 2 && questions[q].names[i] && !n->ask[q].address; i++)
            n->ask[q].address = dlsym(n->library, questions[q].names[i]);
    n->name.address = dlsym(n->library, "nvmlDeviceGetName");
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

/* How many devices it sees. */
static size_t nvml_device_count(const struct nvml *n)
{
    unsigned int count = 0;
    return n->call[COUNT].count(&count) == SUCCESS ? count : 0;
}

/* One of them. Memory in use in bytes, and processes that compute on it; -1: not known. */
struct nvml_device {
    char uuid[96]; /* "GPU-…" */
    int64_t used_bytes, processes;
};

static struct nvml_device nvml_device_read(const struct nvml *n, size_t index)
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

/* NAN, and why. */
static double ask_quantity(const struct nvml *n, device_handle handle, enum device_quantity q, const char **why)
{
    unsigned int narrow = 0;
    unsigned long long wide = 0;
    int rc = SUCCESS;
    *why = "not in this driver";
    if (!n->ask[q].address)
        return NAN;
    switch (questions[q].kind) {
    case PLAIN_32:
        rc = n->ask[q].plain_32(handle, &narrow);
        break;
    case TYPED_32:
        rc = n->ask[q].typed_32(handle, questions[q].type, &narrow);
        break;
    case PLAIN_64:
        rc = n->ask[q].plain_64(handle, &wide);
        break;
    case TYPED_64:
        rc = n->ask[q].typed_64(handle, questions[q].type, questions[q].counter, &wide);
        break;
    }
    *why = "NVML failed";
    for (size_t i = 0; i < LENGTH(refusals); i++)
        if (refusals[i].code == rc)
            *why = refusals[i].why;
    return rc == SUCCESS ? (double)(wide + narrow) * questions[q].scale : NAN;
}

struct device_reading nvml_device_condition(const struct nvml *n, size_t index)
{
    struct device_reading r = {.model = "unknown"};
    device_handle handle;
    bool there = n->call[HANDLE].handle((unsigned int)index, &handle) == SUCCESS;
    for (int q = 0; q < DEVICE_QUANTITY_COUNT; q++) {
        r.why[q] = "the device is lost";
        r.values[q] = there ? ask_quantity(n, handle, (enum device_quantity)q, &r.why[q]) : NAN;
    }
    if (!there)
        return r;
    r.values[DEVICE_CLOCK_LEAST] = r.values[DEVICE_CLOCK];
    r.why[DEVICE_CLOCK_LEAST] = r.why[DEVICE_CLOCK];
    if (!isnan(r.values[DEVICE_THROTTLED])) {
        r.reasons = (uint64_t)r.values[DEVICE_THROTTLED];
        r.values[DEVICE_THROTTLED] = (r.reasons & SLOWDOWNS) != 0;
    }
    if (!n->name.address || n->name.name(handle, r.model, sizeof r.model) != SUCCESS)
        strcpy(r.model, "unknown");
    return r;
}

/* --- use --- */

#define ANSWER_MS 20000

/* The next field of a line, without blanks around it. */
static char *field(char **rest)
{
    char *text = strsep(rest, ",");
    if (!text)
        return NULL;
    text += strspn(text, " \t");
    for (size_t n = strlen(text); n > 0 && strchr(" \t\r", text[n - 1]); n--)
        text[n - 1] = '\0';
    return text;
}

/* Returns whether the name, as CUDA_VISIBLE_DEVICES takes it, is that device. */
static bool is_named(const char *name, const char *index, const char *uuid)
{
    return strcmp(name, index) == 0 || (strncmp(name, "GPU-", 4) == 0 && strncmp(uuid, name, strlen(name)) == 0);
}

static void forget(const struct device_list *names, struct device_usage *out)
{
    for (size_t i = 0; i < names->count; i++)
        out[i] = (struct device_usage){-1, -1};
}

void device_usage_parse(const char *text, const struct device_list *names, struct device_usage *out)
{
    char *copy = xstrdup(text), *lines = copy;
    forget(names, out);
    for (char *line; (line = strsep(&lines, "\n"));) {
        const char *index = field(&line), *uuid = field(&line), *used = field(&line);
        int64_t mebibytes;
        if (!used || !parse_int64(used, &mebibytes) || mebibytes < 0 || mebibytes > INT64_MAX >> 20)
            continue;
        for (size_t i = 0; i < names->count; i++)
            if (is_named(names->names[i], index, uuid))
                out[i].bytes = mebibytes << 20;
    }
    free(copy);
}

void device_nvml_numbers(const struct nvml *nvml, const struct device_list *names, int64_t *out)
{
    for (size_t i = 0; i < names->count; i++)
        out[i] = -1;
    for (size_t n = 0; nvml && n < nvml_device_count(nvml); n++) {
        const struct nvml_device d = nvml_device_read(nvml, n);
        char index[24];
        snprintf(index, sizeof index, "%zu", n);
        for (size_t i = 0; i < names->count; i++)
            if (is_named(names->names[i], index, d.uuid))
                out[i] = (int64_t)n;
    }
}

static bool by_nvml(const struct nvml *nvml, const struct device_list *names, struct device_usage *out)
{
    OWNED int64_t *numbers = xcalloc(names->count + 1, sizeof *numbers);
    device_nvml_numbers(nvml, names, numbers);
    forget(names, out);
    for (size_t i = 0; i < names->count; i++)
        if (numbers[i] >= 0) {
            const struct nvml_device d = nvml_device_read(nvml, (size_t)numbers[i]);
            out[i] = (struct device_usage){d.used_bytes, d.processes};
        }
    return ANY(i, names->count, out[i].bytes >= 0);
}

static bool ask_smi(const char *what, char *const *environment, const struct device_list *names,
                    struct device_usage *out)
{
    char *argv[] = {(char *)"nvidia-smi", (char *)what, (char *)"--format=csv,noheader,nounits", NULL};
    const struct external_command question = {argv, environment, NULL, ANSWER_MS, 1 << 16, NULL};
    OWNED_RESULT answer = EXTERNAL_COMMAND_RESULT_INIT;
    struct error none = ERROR_INIT;
    bool known = external_command_run(&question, &answer, &none) == 0 && answer.exit_code == 0;
    if (known)
        device_usage_parse(answer.output, names, out);
    return known;
}

static bool read_number(const char *path, int64_t *out)
{
    OWNED_BUFFER text = BUFFER_INIT;
    bool ok = file_read(path, 64, &text, NULL) == 0;
    if (ok) {
        OWNED char *number = buffer_take(&text);
        number[strcspn(number, "\n")] = '\0';
        ok = parse_int64(number, out);
    }
    return ok;
}

/* The i-th name by number is the i-th card that has memory of its own: the order of the topology's nodes. */
static bool by_amdgpu(const char *root, const struct device_list *names, struct device_usage *out)
{
    enum { MINOR_FIRST = 128, MINORS = 128 };
    int64_t bytes;
    size_t n = 0;
    forget(names, out);
    for (int minor = MINOR_FIRST; minor < MINOR_FIRST + MINORS; minor++) {
        char *path = xasprintf("%s/sys/class/drm/renderD%d/device/mem_info_vram_used", root, minor), index[24];
        bool there = read_number(path, &bytes);
        free(path);
        if (!there)
            continue;
        snprintf(index, sizeof index, "%zu", n++);
        for (size_t i = 0; i < names->count; i++)
            if (strcmp(names->names[i], index) == 0)
                out[i].bytes = bytes;
    }
    return n > 0;
}

int device_usage_read(const struct device_witness *w, const struct device_list *names, struct device_usage *out)
{
    bool known = (w->nvml && by_nvml(w->nvml, names, out)) ||
                 ask_smi("--query-gpu=index,uuid,memory.used", w->environment, names, out) ||
                 by_amdgpu(w->root, names, out);
    return known ? 0 : -1;
}

int device_total_read(char *const *environment, const struct device_list *names, struct device_usage *out)
{
    return ask_smi("--query-gpu=index,uuid,memory.total", environment, names, out) ? 0 : -1;
}

#include "device/usage.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/external_command.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"

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

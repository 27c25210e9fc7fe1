#include "device/provenance.h"

#include <sched.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "device/models.h"
#include "process/environment.h"
#include "process/external_command.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/line_reader.h"
#include "util/memory.h"
#include "util/utf8.h"

enum {
    GIT_MS = 3000, /* a repository on a slow file system must not hold up a sweep */
    ANSWER_BYTES = 4096
};

/* Returns git's answer, the caller's; NULL when there is none, it fails or takes too long. */
static char *ask_git(const char *directory, char *const *environment, const char *const *question)
{
    /* Asking must not change anything, nor run what a repository's configuration names. */
    const char *argv[12] = {"git", "--no-optional-locks", "-c", "core.fsmonitor=false"};
    size_t n = 4;
    while (*question)
        argv[n++] = *question++;
    struct external_command command = {(char *const *)argv, environment, directory, GIT_MS, ANSWER_BYTES, NULL};
    struct external_command_result answer = EXTERNAL_COMMAND_RESULT_INIT;
    char *text = NULL;
    if (external_command_run(&command, &answer, NULL) == 0 && answer.exit_code == 0)
        text = xstrdup(answer.output);
    external_command_result_free(&answer);
    return text;
}

static void add_string(struct buffer *b, const char *name, const char *value)
{
    buffer_printf(b, "%s\"%s\":", b->length ? "," : "{", name);
    if (value && *value)
        buffer_add_json_string(b, value, strlen(value));
    else
        buffer_add_text(b, "null");
}

/* Nothing where it is text: as hexadecimal digits otherwise, which JSON can hold. */
static void add_bytes(struct buffer *b, const char *name, const char *value)
{
    const size_t length = strlen(value);
    if (utf8_first_invalid(value, length) == length)
        return;
    buffer_printf(b, ",\"%s\":\"", name);
    for (size_t i = 0; i < length; i++)
        buffer_printf(b, "%02x", (unsigned char)value[i]);
    buffer_add_char(b, '"');
}

static void add_git(struct buffer *b, const char *directory, char *const *environment)
{
    static const char *const head[] = {"rev-parse", "HEAD", NULL};
    static const char *const status[] = {"status", "--porcelain", "--untracked-files=no", NULL};
    OWNED char *commit = ask_git(directory, environment, head);
    OWNED char *changes = commit ? ask_git(directory, environment, status) : NULL;
    buffer_add_text(b, ",\"git\":");
    if (commit) {
        buffer_add_text(b, "{\"commit\":");
        buffer_add_json_string(b, commit, strcspn(commit, "\n"));
        buffer_printf(b, ",\"dirty\":%s}", !changes ? "null" : changes[0] ? "true" : "false");
    } else {
        buffer_add_text(b, "null");
    }
}

static int usable_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

static char *cpu_model(void)
{
    struct line_reader *r = line_reader_open("/proc/cpuinfo", 0);
    char *line, *model = NULL;
    while (r && !model && (line = line_reader_next(r)))
        if (strncmp(line, "model name", 10) == 0 && strstr(line, ": "))
            model = xstrdup(strstr(line, ": ") + 2);
    line_reader_close(r);
    return model;
}

char *provenance_json(const char *directory, char *const *runner, char *const *pass, char *const *secrets,
                      const char *versions)
{
    struct buffer b = BUFFER_INIT;
    struct utsname machine;
    struct sysinfo memory;
    OWNED char *model = cpu_model(), *context = environment_context_json(runner, pass, secrets);
    OWNED char *gpus = gpu_models_json("/proc/driver/nvidia"), *here = path_absolute(directory ? directory : ".");
    uname(&machine);
    add_string(&b, "host", machine.nodename);
    add_string(&b, "kernel", machine.release);
    add_string(&b, "machine", machine.machine);
    add_string(&b, "cpu", model);
    buffer_printf(&b, ",\"cpus\":%ld", sysconf(_SC_NPROCESSORS_ONLN));
    buffer_printf(&b, ",\"cpus_usable\":%d", usable_cpus());
    if (sysinfo(&memory) == 0)
        buffer_printf(&b, ",\"memory_bytes\":%llu", (unsigned long long)memory.totalram * memory.mem_unit);
    buffer_printf(&b, ",\"gpus\":%s", gpus);
    add_string(&b, "tool", "meshsweep " MESHSWEEP_VERSION);
    add_string(&b, "directory", here);
    add_bytes(&b, "directory_bytes", here);
    add_git(&b, directory, runner);
    buffer_printf(&b, ",\"versions\":%s,\"environment\":%s}", versions ? versions : "null", context);
    return buffer_take(&b);
}

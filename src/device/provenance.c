#include "device/provenance.h"

#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "process/environment.h"
#include "process/external_command.h"
#include "secrets/secrets.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/line_reader.h"
#include "util/memory.h"
#include "util/utf8.h"

/* --- devices --- */

/* The first line of the file that begins with `word`, without it and the blanks after it; NULL when there is none. */
static char *find_line(const char *path, const char *word)
{
    struct line_reader *r = line_reader_open(path, 0);
    char *found = NULL;
    for (const char *line; r && !found && (line = line_reader_next(r));) {
        if (strncmp(line, word, strlen(word)) != 0)
            continue;
        line += strlen(word);
        found = xstrdup(line + strspn(line, " \t"));
    }
    line_reader_close(r);
    return found;
}

/* "NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar 5 …": the first word that is made of digits and dots. */
static void add_driver(struct buffer *b, const char *directory)
{
    OWNED char *path = xasprintf("%s/version", directory);
    OWNED char *line = find_line(path, "NVRM version:");
    const char *version = line;
    size_t length = 0;
    while (version && *version) {
        length = strspn(version, "0123456789.");
        if (length > 0 && (version[length] == ' ' || version[length] == '\0'))
            break;
        version += strcspn(version, " ");
        version += strspn(version, " ");
        length = 0;
    }
    if (length > 0)
        buffer_add_json_string(b, version, length);
    else
        buffer_add_text(b, "null");
}

static int visible(const struct dirent *d)
{
    return isxdigit((unsigned char)d->d_name[0]);
}

static void add_models(struct buffer *b, const char *directory)
{
    OWNED char *path = xasprintf("%s/gpus", directory);
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, visible, alphasort);
    for (int i = 0; i < count; i++) {
        OWNED char *file = xasprintf("%s/%s/information", path, entries[i]->d_name);
        OWNED char *model = find_line(file, "Model:");
        if (i > 0)
            buffer_add_char(b, ',');
        buffer_add_json_string(b, model ? model : "", model ? strlen(model) : 0);
        free(entries[i]);
    }
    free(entries);
}

char *gpu_models_json(const char *directory)
{
    struct buffer b = BUFFER_INIT;
    DIR *there = opendir(directory);
    if (!there)
        return xstrdup("null");
    closedir(there);
    buffer_add_text(&b, "{\"driver\":");
    add_driver(&b, directory);
    buffer_add_text(&b, ",\"models\":[");
    add_models(&b, directory);
    buffer_add_text(&b, "]}");
    return buffer_take(&b);
}

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
    OWNED_RESULT answer = EXTERNAL_COMMAND_RESULT_INIT;
    char *text = NULL;
    if (external_command_run(&command, &answer, NULL) == 0 && answer.exit_code == 0)
        text = xstrdup(answer.output);
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
    OWNED char *line = find_line("/proc/cpuinfo", "model name");
    const char *model = line ? strstr(line, ": ") : NULL;
    return model ? xstrdup(model + 2) : NULL;
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

/* --- versions that a sweep declares --- */

enum { VERSION_MS = 60000 };

static void add_answer(const char *line, char **environment, struct buffer *out)
{
    const char *argv[] = {"/bin/sh", "-c", line, NULL};
    const struct external_command command = {(char *const *)argv, environment, NULL, VERSION_MS, ANSWER_BYTES, NULL};
    OWNED_RESULT answer = EXTERNAL_COMMAND_RESULT_INIT;
    bool ran = external_command_run(&command, &answer, NULL) == 0 && answer.exit_code == 0;
    size_t length = ran ? strcspn(answer.output, "\r\n") : 0;
    if (length > 0)
        buffer_add_json_string(out, answer.output, length);
    else
        buffer_add_text(out, "null");
}

/* A command that prints what it was given must not have that recorded. */
static char *without_secrets(const struct job_config *job, char *const *runner_environment, char *json)
{
    struct secrets secrets = {.names = job->secrets};
    secrets_add_settings(&secrets, runner_environment, job->secrets);
    for (size_t i = 0; i < job->version_count; i++)
        secrets_add_command(&secrets, (char *const[]){job->versions[i].value, NULL});
    char *public = secrets_redact(&secrets, json);
    secrets_free(&secrets);
    free(json);
    return public;
}

char *versions_json(const struct job_config *job, char *const *runner_environment)
{
    struct buffer out = BUFFER_INIT;
    if (job->version_count == 0)
        return NULL;
    OWNED_STRINGS environment = environment_base(runner_environment, job_passing(job));
    for (size_t i = 0; i < job->version_count; i++) {
        buffer_add_char(&out, i ? ',' : '{');
        buffer_add_json_string(&out, job->versions[i].name, strlen(job->versions[i].name));
        buffer_add_char(&out, ':');
        add_answer(job->versions[i].value, environment, &out);
    }
    buffer_add_char(&out, '}');
    return without_secrets(job, runner_environment, buffer_take(&out));
}

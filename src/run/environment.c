#include "run/environment.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/secrets.h"
#include "util/buffer.h"
#include "util/memory.h"

static const char *const passed_on[] = {
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR", "TERM", "LD_LIBRARY_PATH", "PYTHONPATH",
    "VIRTUAL_ENV", "CONDA_PREFIX", "XDG_RUNTIME_DIR", "CUDA_*", "NCCL_*",
};

static const char *const recorded[] = {
    "PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_*", "NCCL_*", "NVIDIA_*", "HIP_*",
    "ROCR_*", "OMP_*", "MKL_*", "PYTORCH_*", "TORCH_*", "XLA_*", "GLOO_*", "MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID",
};

static size_t name_length(const char *setting)
{
    return strcspn(setting, "=");
}

static bool matches(const char *setting, const char *const *patterns, size_t count)
{
    char *name = xstrndup(setting, name_length(setting));
    bool found = false;
    for (size_t i = 0; !found && i < count; i++)
        found = fnmatch(patterns[i], name, 0) == 0;
    free(name);
    return found;
}

static bool is_listed(const char *setting, char *const *names)
{
    size_t n = name_length(setting);
    for (; names && *names; names++)
        if (strlen(*names) == n && strncmp(*names, setting, n) == 0)
            return true;
    return false;
}

struct list {
    char **items;
    size_t count;
};

static void put(struct list *l, const char *setting)
{
    size_t n = name_length(setting);
    if (n == 0 || setting[n] != '=')
        return; /* no setting: execve would pass it on, and nobody could read it */
    for (size_t i = 0; i < l->count; i++) {
        if (strncmp(l->items[i], setting, n) == 0 && l->items[i][n] == '=') {
            free(l->items[i]);
            l->items[i] = xstrdup(setting);
            return;
        }
    }
    l->items = array_grow(l->items, l->count, sizeof *l->items);
    l->items[l->count++] = xstrdup(setting);
}

static char **terminated(struct list *l)
{
    l->items = array_grow(l->items, l->count, sizeof *l->items);
    l->items[l->count] = NULL;
    return l->items;
}

char **environment_base(char *const *runner, char *const *pass)
{
    struct list l = {NULL, 0};
    for (; runner && *runner; runner++)
        if (matches(*runner, passed_on, sizeof passed_on / sizeof *passed_on) || is_listed(*runner, pass))
            put(&l, *runner);
    return terminated(&l);
}

char **environment_with(char *const *base, char *const *declared, char *const *own)
{
    struct list l = {NULL, 0};
    char *const *const parts[] = {base, declared, own};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (char *const *p = parts[i]; p && *p; p++)
            put(&l, *p);
    return terminated(&l);
}

void environment_free(char **environment)
{
    for (char **p = environment; p && *p; p++)
        free(*p);
    free(environment);
}

static void add_member(struct buffer *b, const char *setting, char *const *secrets)
{
    size_t n = name_length(setting);
    const char *value = setting[n] ? setting + n + 1 : "";
    if (secrets_match_name(setting, secrets))
        value = "[redacted]";
    buffer_add_char(b, b->length ? ',' : '{');
    buffer_add_json_string(b, setting, n);
    buffer_add_char(b, ':');
    buffer_add_json_string(b, value, strlen(value));
}

char *environment_declared_json(char *const *settings, char *const *secrets)
{
    struct buffer b = BUFFER_INIT;
    for (; settings && *settings; settings++)
        add_member(&b, *settings, secrets);
    if (b.length == 0)
        return NULL;
    buffer_add_char(&b, '}');
    return buffer_take(&b);
}

char *environment_context_json(char *const *runner, char *const *secrets)
{
    struct buffer b = BUFFER_INIT;
    for (; runner && *runner; runner++)
        if (matches(*runner, recorded, sizeof recorded / sizeof *recorded))
            add_member(&b, *runner, secrets);
    buffer_add_text(&b, b.length ? "}" : "{}");
    return buffer_take(&b);
}

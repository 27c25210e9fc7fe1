#include "process/environment.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "secrets/secrets.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/string_list.h"

static const char *const passed_on[] = {
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_*",
    "TZ",
    "TMPDIR",
    "TERM",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "XDG_RUNTIME_DIR",
    "CUDA_*",
    "NCCL_*",
};

static const char *const recorded[] = {
    "PATH",     "LD_LIBRARY_PATH", "PYTHONPATH",  "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_*",    "NCCL_*",
    "NVIDIA_*", "HIP_*",           "ROCR_*",      "OMP_*",       "MKL_*",        "PYTORCH_*", "TORCH_*",
    "XLA_*",    "GLOO_*",          "MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID",
};

/* Of a terminal, a session or one shell: no job does anything else for these. */
static const char *const of_sessions[] = {
    "_",         "SHLVL",     "PWD",           "OLDPWD",         "COLUMNS",     "LINES",    "TERM*",
    "COLORTERM", "LS_COLORS", "SSH_*",         "XDG_*",          "DBUS_*",      "DISPLAY",  "WINDOWID",
    "TMUX*",     "STY",       "PS1",           "HIST*",          "MAIL",        "LESS*",    "EDITOR",
    "PAGER",     "SYSTEMD_*", "INVOCATION_ID", "JOURNAL_STREAM", "BASH_*",      "PROMPT_*", "VSCODE_*",
    "LOGNAME",   "USER",      "HOME",          "SHELL",          "MESHSWEEP_*", "GPG_*",    "WAYLAND_*",
    "DESKTOP_*",
};

static bool matches(const char *setting, const char *const *patterns, size_t count)
{
    char *name = xstrndup(setting, setting_name_length(setting));
    bool found = false;
    for (size_t i = 0; !found && i < count; i++)
        found = fnmatch(patterns[i], name, 0) == 0;
    free(name);
    return found;
}

static bool is_passed(const char *setting, char *const *pass)
{
    size_t count = 0;
    while (pass && pass[count])
        count++;
    return matches(setting, (const char *const *)pass, count);
}

static void put(struct string_list *l, const char *setting)
{
    size_t n = setting_name_length(setting);
    if (n == 0 || setting[n] != '=')
        return; /* no setting: execve would pass it on, and nobody could read it */
    for (size_t i = 0; i < l->count; i++) {
        if (strncmp(l->items[i], setting, n) == 0 && l->items[i][n] == '=') {
            free(l->items[i]);
            l->items[i] = xstrdup(setting);
            return;
        }
    }
    string_list_add(l, xstrdup(setting));
}

char **environment_base(char *const *runner, char *const *pass)
{
    struct string_list l = STRING_LIST_INIT;
    for (; runner && *runner; runner++)
        if (matches(*runner, passed_on, sizeof passed_on / sizeof *passed_on) || is_passed(*runner, pass))
            put(&l, *runner);
    return string_list_take(&l);
}

char **environment_with(char *const *base, char *const *declared, char *const *own)
{
    struct string_list l = STRING_LIST_INIT;
    char *const *const parts[] = {base, declared, own};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (char *const *p = parts[i]; p && *p; p++)
            put(&l, *p);
    return string_list_take(&l);
}

void environment_drop(char **settings, char *const *names)
{
    char **kept = settings;
    for (; *settings; settings++)
        if (setting_is_among(*settings, names))
            free(*settings);
        else
            *kept++ = *settings;
    *kept = NULL;
}

static void add_member(struct buffer *b, const char *setting, char *const *secrets)
{
    size_t n = setting_name_length(setting);
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

static bool is_recorded(const char *setting, char *const *pass)
{
    return matches(setting, recorded, sizeof recorded / sizeof *recorded) ||
           (is_passed(setting, pass) && !matches(setting, of_sessions, sizeof of_sessions / sizeof *of_sessions));
}

char *environment_context_json(char *const *runner, char *const *pass, char *const *secrets)
{
    struct buffer b = BUFFER_INIT;
    const struct secrets none = SECRETS_INIT;
    for (; runner && *runner; runner++) {
        if (!is_recorded(*runner, pass))
            continue;
        char *public = secrets_redact(&none, *runner);
        add_member(&b, public, secrets);
        free(public);
    }
    buffer_add_text(&b, b.length ? "}" : "{}");
    return buffer_take(&b);
}

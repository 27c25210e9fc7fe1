#include "process/environment.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "secrets/secrets.h"
#include "toml/known.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/string_list.h"

static const char passed_on[] = "PATH HOME USER LOGNAME SHELL LANG LC_* TZ TMPDIR TERM LD_LIBRARY_PATH PYTHONPATH"
                                " VIRTUAL_ENV CONDA_PREFIX XDG_RUNTIME_DIR CUDA_* NCCL_*";

static const char recorded[] = "PATH LD_LIBRARY_PATH PYTHONPATH VIRTUAL_ENV CONDA_PREFIX CUDA_* NCCL_* NVIDIA_* HIP_*"
                               " ROCR_* OMP_* MKL_* PYTORCH_* TORCH_* XLA_* GLOO_* MASTER_ADDR MASTER_PORT"
                               " SLURM_JOB_ID";

/* The variables of a terminal, a session or one shell: no job does anything else for these. */
static const char of_sessions[] =
    "_ SHLVL PWD OLDPWD COLUMNS LINES TERM* COLORTERM LS_COLORS SSH_* XDG_* DBUS_* DISPLAY WINDOWID TMUX* STY PS1 HIST*"
    " MAIL LESS* EDITOR PAGER SYSTEMD_* INVOCATION_ID JOURNAL_STREAM BASH_* PROMPT_* VSCODE_* LOGNAME USER HOME SHELL"
    " MESHSWEEP_* GPG_* WAYLAND_* DESKTOP_*";

static bool matches(const char *setting, const char *pattern)
{
    OWNED char *name = xstrndup(setting, setting_name_length(setting));
    return fnmatch(pattern, name, 0) == 0;
}

static bool matches_any(const char *setting, const char *patterns)
{
    OWNED char *words = xstrdup(patterns);
    char *rest = words, *word = strsep(&rest, " ");
    while (word && !matches(setting, word))
        word = strsep(&rest, " ");
    return word != NULL;
}

/* By its name, or by what its value looks like. */
static bool is_secret(const char *setting, char *const *secrets)
{
    const struct secrets none = SECRETS_INIT;
    OWNED char *public = secrets_redact(&none, setting);
    return secrets_match_name(setting, secrets) || strcmp(public, setting) != 0;
}

static bool is_named(const char *setting, struct environment_passing pass)
{
    for (char *const *name = pass.names; name && *name; name++)
        if (strcmp(*name, "*") != 0 && matches(setting, *name))
            return true;
    return false;
}

static bool is_passed(const char *setting, struct environment_passing pass)
{
    return is_named(setting, pass) || (strings_have(pass.names, "*") && strncmp(setting, "MESHSWEEP_", 10) != 0 &&
                                       !is_secret(setting, pass.secrets));
}

static bool is_usual(const char *setting)
{
    return matches_any(setting, passed_on);
}

static void put_setting(struct string_list *l, const char *setting)
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

char **environment_base(char *const *runner, struct environment_passing pass)
{
    struct string_list l = STRING_LIST_INIT;
    for (; runner && *runner; runner++)
        if (is_usual(*runner) || is_passed(*runner, pass))
            put_setting(&l, *runner);
    return string_list_take(&l);
}

static void add_name(struct string_list *l, const char *setting)
{
    string_list_add(l, xstrndup(setting, setting_name_length(setting)));
}

char **environment_kept_out(char *const *runner, struct environment_passing pass)
{
    struct string_list l = STRING_LIST_INIT;
    for (; strings_have(pass.names, "*") && runner && *runner; runner++)
        if (!is_usual(*runner) && !is_named(*runner, pass) && is_secret(*runner, pass.secrets))
            add_name(&l, *runner);
    return string_list_take(&l);
}

static bool names_any(const char *text, const struct toml_node *words)
{
    for (size_t i = 0; i < words->child_count; i++)
        if (strstr(text, words->children[i].text))
            return true;
    return words->child_count == 0;
}

/* `text` NULL: by anything. */
static bool is_read(const char *setting, const char *text)
{
    const struct toml_node *readers = known("environment", "readers");
    for (size_t i = 0; i < readers->child_count; i++) {
        const struct toml_node *reader = &readers->children[i], *variables = toml_child(reader, "variables");
        if (text && !names_any(text, toml_child(reader, "words")))
            continue;
        for (size_t k = 0; k < variables->child_count; k++)
            if (matches(setting, variables->children[k].text))
                return true;
    }
    return false;
}

char **environment_not_passed(char *const *runner, struct environment_passing pass, const char *text)
{
    struct string_list l = STRING_LIST_INIT;
    for (; runner && *runner; runner++)
        if (!is_usual(*runner) && !is_passed(*runner, pass) && is_read(*runner, text))
            add_name(&l, *runner);
    return string_list_take(&l);
}

char **environment_with(char *const *base, char *const *declared, char *const *own)
{
    struct string_list l = STRING_LIST_INIT;
    char *const *const parts[] = {base, declared, own};
    for (size_t i = 0; i < LENGTH(parts); i++)
        for (char *const *p = parts[i]; p && *p; p++)
            put_setting(&l, *p);
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

/* Whatever [job] secrets says of it: it is recorded without its value. */
static bool is_recorded(const char *setting, char *const *names)
{
    return matches_any(setting, recorded) ||
           (is_passed(setting, (struct environment_passing){.names = names}) && !matches_any(setting, of_sessions));
}

char *environment_context_json(char *const *runner, char *const *pass, char *const *secrets)
{
    struct buffer b = BUFFER_INIT;
    const struct secrets none = SECRETS_INIT;
    for (; runner && *runner; runner++) {
        if (!is_recorded(*runner, pass))
            continue;
        OWNED char *public = secrets_redact(&none, *runner);
        add_member(&b, public, secrets);
    }
    buffer_add_text(&b, b.length ? "}" : "{}");
    return buffer_take(&b);
}

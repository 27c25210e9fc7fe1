#include "ssh/script.h"

#include <inttypes.h>
#include <string.h>

#include "batch/frame.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/shell.h"
#include "util/string_list.h"

char *ssh_path_there(const struct host *host, const char *here, const char *path)
{
    const size_t length = strlen(here);
    const bool is_below = strncmp(path, here, length) == 0 && (path[length] == '/' || path[length] == '\0');
    return host->directory && is_below ? xasprintf("%s%s", host->directory, path + length) : xstrdup(path);
}

static void add_setting(struct buffer *b, const char *name, const char *value)
{
    buffer_printf(b, "%s=", name);
    shell_add_word(b, value);
    buffer_add_char(b, '\n');
}

/* The length of the text, the text. */
static void add_whole(struct buffer *text, const char *call, struct buffer *out)
{
    buffer_add_text(text, embedded_text("src/batch/frame.sh"));
    buffer_add_text(text, embedded_text("src/ssh/remote.sh"));
    buffer_printf(text, "%s\n", call);
    buffer_printf(out, "%zu\n", text->length);
    buffer_add(out, text->data, text->length);
    buffer_free(text);
}

static void add_place(const struct ssh_place *p, const char *cwd, struct buffer *b)
{
    OWNED char *there = ssh_path_there(p->host, p->here, cwd);
    add_setting(b, "state", p->state);
    add_setting(b, "run", p->run);
    add_setting(b, "cwd", there);
    buffer_printf(b, "grace=%" PRId64 " lease=%" PRId64 "\n", p->grace_ms / 100, p->lease_ms / 2000);
}

void ssh_host_script_add(const struct ssh_place *p, struct buffer *out)
{
    struct buffer b = BUFFER_INIT;
    OWNED char *probe = ssh_path_there(p->host, p->here, p->probe);
    add_place(p, p->here, &b);
    add_setting(&b, "probe", probe);
    add_setting(&b, "proof", p->proof);
    add_whole(&b, "serve_host", out);
}

/* --- the job's environment --- */

/* Returns whether the variable is the host's own unless the user says otherwise, or no shell can export it. */
static bool is_left_out(const char *setting, char *const *declared)
{
    static const char names[] = "HOME USER LOGNAME SHELL TERM TMPDIR XDG_RUNTIME_DIR CUDA_VISIBLE_DEVICES"
                                " HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES MASTER_ADDR MESHSWEEP_ATTEMPT"
                                " MESHSWEEP_METRICS";
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    const size_t length = setting_name_length(setting);
    if (length == 0 || strspn(setting, letters) != length || (setting[0] >= '0' && setting[0] <= '9'))
        return true;
    OWNED char *name = xstrndup(setting, length);
    return words_have(names, name) && !strings_have(declared, setting);
}

/* Adds what the host gives, then what the job was given here, so that the user has the last word. */
static void add_environment(const struct ssh_job *job, const char *here, const char *there, struct buffer *b)
{
    OWNED_STRINGS settings = strings_copy(job->launch->environment);
    strings_replace(settings, here, there);
    buffer_add_text(b, "give\n");
    for (size_t i = 0; settings[i]; i++) {
        const char *given = job->launch->environment[i];
        const size_t length = setting_name_length(settings[i]);
        OWNED char *name = xstrndup(settings[i], length);
        if (!is_left_out(given, job->launch->declared)) {
            buffer_add_text(b, "export ");
            add_setting(b, name, settings[i][length] ? settings[i] + length + 1 : "");
        }
        /* The host's programs are found behind the runner's. */
        if (strcmp(name, "PATH") == 0 && !strings_have(job->launch->declared, given)) {
            b->length--;
            buffer_add_text(b, ":\"$PATH\"\n");
        }
    }
}

/* --- its files --- */

static void add_preparation(const struct ssh_job *job, const char *there, struct buffer *b)
{
    buffer_add_text(b, "prepare() {\n");
    if (!job->shared && job->launch->make_job_dir) {
        buffer_add_text(b, "mkdir -p -- ");
        shell_add_word(b, there);
        buffer_add_text(b, " || return 1\n");
        frame_add_files(job->launch->job_dir, there, b);
    }
    buffer_add_text(b, "return 0\n}\n");
}

/* --- the whole --- */

static void add_command(char *const *argv, const char *here, const char *there, struct buffer *b)
{
    OWNED_STRINGS words = strings_copy(argv);
    strings_replace(words, here, there);
    /* A session of its own, by which all of it is found again. */
    buffer_add_text(b, "set --");
    for (char **p = words; *p; p++) {
        buffer_add_char(b, ' ');
        shell_add_word(b, *p);
    }
    buffer_add_text(b, "\n! command -v setsid >/dev/null || set -- setsid \"$@\"\nexec \"$@\" </dev/null 2>&1\n");
}

void ssh_job_script_add(const struct ssh_place *p, const struct ssh_job *job, struct buffer *out)
{
    struct buffer b = BUFFER_INIT;
    const struct launch *l = job->launch;
    OWNED char *cwd = l->directory ? path_absolute(l->directory) : xstrdup(p->here);
    OWNED char *there = ssh_path_there(p->host, p->here, l->job_dir);
    OWNED char *metrics = job->shared ? ssh_path_there(p->host, p->here, job->metrics) : xstrdup("");
    add_place(p, cwd, &b);
    buffer_printf(&b, "number=%" PRId64 "\n", l->attempt);
    buffer_add_text(&b, "token=$state/$number.\n");
    add_setting(&b, "metrics", metrics);
    add_setting(&b, "hosts", job->hosts);
    add_setting(&b, "devices", job->devices);
    add_preparation(job, there, &b);
    buffer_add_text(&b, "job() {\n");
    add_environment(job, l->job_dir, there, &b);
    add_command(l->argv, l->job_dir, there, &b);
    buffer_add_text(&b, "}\n");
    add_whole(&b, "serve_job", out);
}

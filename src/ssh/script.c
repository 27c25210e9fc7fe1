#include "ssh/script.h"

#include <fts.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "process/job_file.h"
#include "process/process.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/shell_words.h"
#include "util/string_list.h"

enum { FILE_BYTES_MOST = 16 << 20 };

char *ssh_path_there(const struct ssh_host *host, const char *here, const char *path)
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
    buffer_add_text(text, embedded_text("src/ssh/remote.sh"));
    buffer_printf(text, "%s\n", call);
    buffer_printf(out, "%zu\n", text->length);
    buffer_add(out, text->data, text->length);
    buffer_free(text);
}

static void add_place(const struct ssh_place *p, const char *cwd, struct buffer *b)
{
    char *there = ssh_path_there(p->host, p->here, cwd);
    add_setting(b, "state", p->state);
    add_setting(b, "run", p->run);
    add_setting(b, "cwd", there);
    buffer_printf(b, "grace=%" PRId64 " lease=%" PRId64 "\n", p->grace_ms / 100, p->lease_ms / 2000);
    free(there);
}

void ssh_host_script_add(const struct ssh_place *p, struct buffer *out)
{
    struct buffer b = BUFFER_INIT;
    char *probe = ssh_path_there(p->host, p->here, p->probe);
    add_place(p, p->here, &b);
    add_setting(&b, "probe", probe);
    add_setting(&b, "proof", p->proof);
    add_whole(&b, "serve_host", out);
    free(probe);
}

/* --- the job's environment --- */

/* What is the host's own unless the user says otherwise, and what no shell can export. */
static bool is_left_out(const char *setting, char *const *declared)
{
    static const char *const names[] = {"HOME",
                                        "USER",
                                        "LOGNAME",
                                        "SHELL",
                                        "TERM",
                                        "TMPDIR",
                                        "XDG_RUNTIME_DIR",
                                        "CUDA_VISIBLE_DEVICES",
                                        "HIP_VISIBLE_DEVICES",
                                        "ROCR_VISIBLE_DEVICES",
                                        "MASTER_ADDR",
                                        "MESHSWEEP_ATTEMPT",
                                        "MESHSWEEP_METRICS",
                                        NULL};
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    const size_t length = setting_name_length(setting);
    if (length == 0 || strspn(setting, letters) != length || (setting[0] >= '0' && setting[0] <= '9'))
        return true;
    return setting_is_among(setting, (char *const *)names) && !strings_have(declared, setting);
}

static bool is_declared(const struct launch *launch, const char *name)
{
    return launch->declared && environment_value(launch->declared, name);
}

static void add_export(struct buffer *b, const char *name, const char *value)
{
    buffer_add_text(b, "export ");
    add_setting(b, name, value);
}

/* "node1" of "me@node1". */
static const char *bare(const char *host, size_t length)
{
    const char *at = memchr(host, '@', length);
    return at ? at + 1 : host;
}

/* The numbers of a host's devices: "0,1" of "a:0,a:1,b:0" for a. `*count` gets how many. */
static char *numbers_of(const char *devices, const char *host, size_t length, int *count)
{
    struct buffer b = BUFFER_INIT;
    *count = 0;
    for (const char *at = devices; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, host, length) == 0 && at[length] == ':') {
            const char *number = at + length + 1;
            buffer_printf(&b, "%s%.*s", (*count)++ ? "," : "", (int)strcspn(number, ","), number);
        }
    return buffer_take(&b);
}

/* A hostfile as mpirun and DeepSpeed read it, and the devices of the first host, where the job runs. */
static void add_devices(const struct ssh_job *job, struct buffer *settings, struct buffer *exports)
{
    struct buffer lines = BUFFER_INIT;
    const char *hosts = job->hosts;
    for (const char *h = hosts; *h; h += strcspn(h, ","), h += *h == ',') {
        int count;
        const size_t length = strcspn(h, ",");
        const char *name = bare(h, length);
        char *numbers = numbers_of(job->devices, h, length, &count);
        buffer_printf(&lines, "%s%.*s slots=%d", h == hosts ? "" : "\n", (int)(h + length - name), name, count);
        if (h == hosts && !is_declared(job->launch, "CUDA_VISIBLE_DEVICES")) {
            add_export(exports, "CUDA_VISIBLE_DEVICES", numbers);
            add_export(exports, "HIP_VISIBLE_DEVICES", numbers);
        }
        free(numbers);
    }
    const char *first = bare(hosts, strcspn(hosts, ","));
    char *address = strchr(hosts, ',') ? xstrndup(first, strcspn(first, ",")) : xstrdup("127.0.0.1");
    if (!is_declared(job->launch, "MASTER_ADDR"))
        add_export(exports, "MASTER_ADDR", address);
    add_export(exports, "MESHSWEEP_HOSTS", hosts);
    add_setting(settings, "hostlist", buffer_text(&lines));
    free(address);
    buffer_free(&lines);
}

static void add_environment(const struct ssh_job *job, const char *here, const char *there, struct buffer *b)
{
    char **settings = strings_copy(job->launch->environment);
    strings_replace(settings, here, there);
    buffer_add_text(b, "export MESHSWEEP_ATTEMPT=\"$token\" MESHSWEEP_METRICS=\"$metrics\" "
                       "MESHSWEEP_HOSTFILE=\"$own/hostfile\"\n");
    for (size_t i = 0; settings[i]; i++) {
        const char *given = job->launch->environment[i];
        const size_t length = setting_name_length(settings[i]);
        char *name = xstrndup(settings[i], length);
        if (!is_left_out(given, job->launch->declared))
            add_export(b, name, settings[i][length] ? settings[i] + length + 1 : "");
        /* The host's programs are found behind the runner's. */
        if (strcmp(name, "PATH") == 0 && !strings_have(job->launch->declared, given)) {
            b->length--;
            buffer_add_text(b, ":\"$PATH\"\n");
        }
        free(name);
    }
    strings_free(settings);
}

/* --- its files --- */

static void add_files(const char *directory, const char *there, struct buffer *b)
{
    char *paths[] = {(char *)directory, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *f; tree && (f = fts_read(tree));) {
        char *path = xasprintf("%s%s", there, f->fts_path + strlen(directory));
        const bool is_own =
            f->fts_level == 1 && (strcmp(f->fts_name, "output.log") == 0 || strcmp(f->fts_name, "metrics.jsonl") == 0);
        char *text = f->fts_info == FTS_F && !is_own ? job_file_text(f->fts_path, FILE_BYTES_MOST) : NULL;
        buffer_add_text(b, f->fts_info == FTS_D ? "mkdir -p -- " : text ? "printf %s " : "");
        if (text) {
            shell_add_word(b, text);
            buffer_add_text(b, " >");
        }
        if (text || f->fts_info == FTS_D) {
            shell_add_word(b, path);
            buffer_add_text(b, " || return 1\n");
        }
        free_all(path, text);
    }
    if (tree)
        fts_close(tree);
}

static void add_preparation(const struct ssh_job *job, const char *there, struct buffer *b)
{
    buffer_add_text(b, "prepare() {\n");
    if (!job->shared && job->launch->make_job_dir) {
        buffer_add_text(b, "mkdir -p -- ");
        shell_add_word(b, there);
        buffer_add_text(b, " || return 1\n");
        add_files(job->launch->job_dir, there, b);
    }
    buffer_add_text(b, "return 0\n}\n");
}

/* --- the whole --- */

static void add_command(char *const *argv, const char *here, const char *there, struct buffer *b)
{
    char **words = strings_copy(argv);
    strings_replace(words, here, there);
    /* A session of its own, by which all of it is found again. */
    buffer_add_text(b, "set --");
    for (char **p = words; *p; p++) {
        buffer_add_char(b, ' ');
        shell_add_word(b, *p);
    }
    buffer_add_text(b, "\n! command -v setsid >/dev/null || set -- setsid \"$@\"\nexec \"$@\" </dev/null 2>&1\n");
    strings_free(words);
}

void ssh_job_script_add(const struct ssh_place *p, const struct ssh_job *job, struct buffer *out)
{
    struct buffer b = BUFFER_INIT, exports = BUFFER_INIT;
    const struct launch *l = job->launch;
    char *cwd = l->directory ? path_absolute(l->directory) : xstrdup(p->here);
    char *there = ssh_path_there(p->host, p->here, l->job_dir);
    char *metrics = job->shared ? ssh_path_there(p->host, p->here, job->metrics) : xstrdup("");
    add_place(p, cwd, &b);
    buffer_printf(&b, "number=%" PRId64 "\n", l->attempt);
    buffer_add_text(&b, "token=$state/$number.\n");
    add_setting(&b, "metrics", metrics);
    add_environment(job, l->job_dir, there, &exports);
    add_devices(job, &b, &exports);
    add_preparation(job, there, &b);
    buffer_printf(&b, "job() {\n%s", buffer_text(&exports));
    add_command(l->argv, l->job_dir, there, &b);
    buffer_add_text(&b, "}\n");
    add_whole(&b, "serve_job", out);
    buffer_free(&exports);
    free_all(cwd, there, metrics);
}

#include "deepspeed/tuning_launcher.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/external_command.h"
#include "process/process.h"
#include "toml/known.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"

/* Its row; NULL: the user's own words. */
static const struct toml_node *known_launcher(const struct tuning_launcher *l)
{
    return known("launchers", l->name);
}

bool tuning_launcher_is_deepspeed(const struct tuning_launcher *l)
{
    return strcmp(l->name, "deepspeed") == 0;
}

bool tuning_launcher_needs_ssh(const struct tuning_launcher *l)
{
    const struct toml_node *row = known_launcher(l);
    return row && toml_child(row, "node") && l->several_hosts && l->hostfile;
}

bool tuning_launcher_keeps_apart(const struct tuning_launcher *l)
{
    const struct toml_node *row = known_launcher(l);
    return !l->hostfile && !l->master_port && (!row || toml_child(row, "keeps") || l->own_devices);
}

static void add_split(struct string_list *w, const char *words)
{
    OWNED char *copy = xstrdup(words);
    char *rest = NULL;
    for (char *word = strtok_r(copy, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
        string_list_add(w, xstrdup(word));
}

static void add_all(struct string_list *w, const struct toml_node *words)
{
    for (size_t i = 0; i < words->child_count; i++)
        string_list_add(w, xstrdup(words->children[i].text));
}

static void add_port(const struct tuning_launcher *l, const char *before, struct string_list *w)
{
    string_list_add(w, l->master_port ? xasprintf("%s%lld", before, l->master_port)
                                      : xasprintf("%s{master_port}", before));
}

/* DeepSpeed's launcher takes no counts together with --include. */
static void add_hosts(const struct tuning_launcher *l, struct string_list *w)
{
    if (l->hostfile)
        string_list_add(w, xasprintf("--hostfile=%s", l->hostfile));
    if (l->own_devices) {
        string_list_add(w, xstrdup("--include=localhost:{devices}"));
    } else if (l->includes) {
        string_list_add(w, xstrdup("--include={include}"));
    } else {
        string_list_add(w, xstrdup("--num_nodes={nodes}"));
        string_list_add(w, xstrdup("--num_gpus={gpus_per_node}"));
    }
}

static void add_hosts_by_ssh(const struct tuning_launcher *l, const struct toml_node *row, struct string_list *w)
{
    string_list_add(w, xstrdup("bash"));
    string_list_add(w, xstrdup("-c"));
    string_list_add(w, xstrdup(embedded_text("src/deepspeed/each_host.sh")));
    string_list_add(w, xstrdup("each-host"));
    string_list_add(w, xstrdup("{include}"));
    add_port(l, "", w);
    string_list_add(w, xstrdup(l->master_addr ? l->master_addr : ""));
    string_list_add(w, xstrdup(toml_child(row, "node")->text));
}

static void add_meeting(const struct tuning_launcher *l, const struct toml_node *row, struct string_list *w)
{
    const struct toml_node *port = toml_child(row, "port"), *address = toml_child(row, "address");
    const bool needs_port = toml_child(row, "needs_port"), has_port = port && (l->master_port || needs_port);
    if (has_port)
        add_port(l, port->text, w);
    if (l->master_addr)
        string_list_add(w, xasprintf("%s=%s", address->text, l->master_addr));
    if (!has_port && !l->master_addr && toml_child(row, "alone"))
        add_all(w, toml_child(row, "alone"));
}

/* The command line overrides the file: a job's devices are those that it is given. */
static void add_config(const struct tuning_launcher *l, struct string_list *w)
{
    if (!l->config)
        return;
    string_list_add(w, xasprintf("--config_file=%s", l->config));
    string_list_add(w, xstrdup("--gpu_ids=all"));
    if (l->ds_config)
        string_list_add(w, xasprintf("--deepspeed_config_file=%s", l->ds_config));
}

static int check_launcher(const struct tuning_launcher *l, const struct toml_node *row, struct error *e)
{
    const bool is_deepspeed = tuning_launcher_is_deepspeed(l);
    const bool is_local = row && toml_child(row, "each_host") && l->several_hosts; /* reaches no host by itself */
    if (known_has(known("ds_config", "launchers"), l->name))
        return error_set(e, ERROR_USAGE,
                         "--launcher %s: DeepSpeed cannot restrict it to the hosts and devices of one job; use "
                         "torchrun, accelerate, srun, pdsh or your own command line, such as \"mpirun -np {gpus} "
                         "python3\"",
                         l->name);
    if (is_local && !l->hostfile && !l->within_slurm)
        return error_set(e, ERROR_USAGE,
                         "--launcher %s starts ranks only on this machine, so they would wait for the others; for "
                         "several hosts, name them in a hostfile (-H FILE; uses ssh), run inside a Slurm allocation "
                         "(uses srun), or give your own command line",
                         l->name);
    const bool by_srun = is_local && !tuning_launcher_needs_ssh(l);
    if (l->master_addr && (!row || !toml_child(row, "address") || by_srun))
        return error_set(e, ERROR_USAGE, "--master_addr: not for this launcher; meshsweep sets its address");
    if (l->config && strcmp(l->name, "accelerate") != 0)
        return error_set(e, ERROR_USAGE, "--config_file: needs --launcher accelerate");
    if (l->module && !row)
        return error_set(e, ERROR_USAGE, "--module: not for a launcher of your own; put its option into --launcher");
    if (l->bind_cores && !is_deepspeed)
        return error_set(e, ERROR_USAGE, "--bind_cores_to_rank: only for DeepSpeed's own launcher");
    if (l->forwarded && l->forwarded[0] && !is_deepspeed)
        return error_set(e, ERROR_USAGE, "%.*s: only for DeepSpeed's own launcher", (int)strcspn(l->forwarded[0], "="),
                         l->forwarded[0]);
    if (l->no_local_rank && !is_deepspeed)
        return error_set(e, ERROR_USAGE,
                         "--no_local_rank: only for DeepSpeed's own launcher, which passes --local_rank");
    return 0;
}

int tuning_launcher_add(const struct tuning_launcher *l, struct string_list *w, struct error *e)
{
    const struct toml_node *row = known_launcher(l);
    const bool is_local = row && toml_child(row, "each_host") && l->several_hosts;
    if (check_launcher(l, row, e) < 0)
        return -1;
    if (!row)
        add_split(w, l->name);
    else if (tuning_launcher_needs_ssh(l))
        add_hosts_by_ssh(l, row, w);
    else
        add_all(w, toml_child(row, is_local ? "each_host" : "words"));
    if (is_local && !tuning_launcher_needs_ssh(l))
        add_port(l, "", w);
    if (tuning_launcher_is_deepspeed(l))
        add_hosts(l, w);
    if (row && !is_local)
        add_meeting(l, row, w);
    add_config(l, w);
    /* DeepSpeed's own launcher passes them on to the program that reaches the hosts. */
    if (l->arguments && tuning_launcher_is_deepspeed(l))
        string_list_add(w, xasprintf("--launcher_args=%s", l->arguments));
    else if (l->arguments)
        add_split(w, l->arguments);
    if (l->bind_cores)
        string_list_add(w, xstrdup("--bind_cores_to_rank"));
    if (l->no_local_rank)
        string_list_add(w, xstrdup("--no_local_rank"));
    if (l->module)
        string_list_add(w, xstrdup(toml_child(row, "module")->text));
    for (size_t i = 0; l->forwarded && l->forwarded[i]; i++)
        string_list_add(w, xstrdup(l->forwarded[i]));
    return 0;
}

#define BLANK " \t"

enum { ANSWER_MS = 20000, ANSWER_BYTES = 256, SCRIPT_BYTES = 1 << 20 };

static bool is_python(const char *word)
{
    return strncmp(path_name(word), "python", strlen("python")) == 0;
}

/* The first word of the line that names a Python; NULL if there is none. The caller frees it. */
static char *python_among(const char *line)
{
    OWNED char *copy = xstrndup(line, strcspn(line, "\r\n"));
    char *rest = NULL;
    for (char *word = strtok_r(copy, BLANK, &rest); word; word = strtok_r(NULL, BLANK, &rest))
        if (is_python(word))
            return xstrdup(word);
    return NULL;
}

/* pip writes a path that is too long for the first line into the second, in quotes. */
static char *python_of_script(const char *text)
{
    static const char long_path[] = "#!/bin/sh\n'''exec' ";
    if (strncmp(text, long_path, strlen(long_path)) == 0) {
        const char *path = text + strlen(long_path);
        path += *path == '"';
        return xstrndup(path, strcspn(path, "\" \n"));
    }
    return strncmp(text, "#!", 2) == 0 ? python_among(text + 2) : NULL;
}

static char *python_of_program(const char *launcher, char *const *environment)
{
    OWNED_BUFFER text = BUFFER_INIT;
    int ignored;
    const char *first = launcher + strspn(launcher, BLANK);
    OWNED char *name = xstrndup(first, strcspn(first, BLANK));
    OWNED char *path = process_find_program(name, environment, NULL, &ignored);
    return path && file_read(path, SCRIPT_BYTES, &text, NULL) == 0 ? python_of_script(buffer_text(&text)) : NULL;
}

/* The release at the beginning of the answer; NULL if there is none. */
static char *release_in(const char *answer)
{
    int64_t ignored;
    char *release = xstrndup(answer, strspn(answer, "0123456789."));
    size_t length = strlen(release);
    while (length > 0 && release[length - 1] == '.')
        release[--length] = '\0';
    if (parse_release(release, true, &ignored))
        return release;
    free(release);
    return NULL;
}

char *installed_release(const char *launcher, char *const *environment, char **python)
{
    struct external_command_result answer = EXTERNAL_COMMAND_RESULT_INIT;
    char *release = NULL;
    *python = python_among(launcher);
    if (!*python)
        *python = python_of_program(launcher, environment);
    if (!*python)
        *python = xstrdup("python3");
    const char *argv[] = {*python, "-c", "from importlib.metadata import version; print(version('deepspeed'))", NULL};
    const struct external_command command = {(char *const *)argv, environment, NULL, ANSWER_MS, ANSWER_BYTES, NULL};
    if (external_command_run(&command, &answer, NULL) == 0 && answer.exit_code == 0)
        release = release_in(answer.output);
    external_command_result_free(&answer);
    return release;
}

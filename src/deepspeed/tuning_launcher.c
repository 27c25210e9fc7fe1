#include "deepspeed/tuning_launcher.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/external_command.h"
#include "process/process.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"

/* The first host of a Slurm step. */
#define FIRST_HOST "$(scontrol show hostnames \"$SLURM_STEP_NODELIST\" | head -n 1)"

/* Sets the ranks of a Slurm step in the variables that torch.distributed reads. */
#define SLURM_RANKS                                                                                                    \
    "export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS MASTER_ADDR=" FIRST_HOST             \
    " MASTER_PORT=${MASTER_PORT:-29500}; exec python3 \"$@\""

/* Starts a launcher on each host of a Slurm step; arguments: hosts, devices per host, port, then the launcher's own. */
#define EACH_HOST "n=$1 g=$2 p=$3 m=" FIRST_HOST "; shift 3; exec "

/* The same for hosts reached through ssh (each_host.sh): $n hosts, $g devices per host, $r this host's number, $m and
 * $p address and port of the first. `standard`: otherwise Accelerate would have DeepSpeed's launcher start on all
 * hosts, from each of them. */
#define TORCHRUN_NODE "torchrun --nnodes=$n --nproc_per_node=$g --node_rank=$r --master_addr=$m --master_port=$p"
#define ACCELERATE_NODE                                                                                                \
    "accelerate launch --num_machines=$n --num_processes=$((n * g)) --machine_rank=$r --main_process_ip=$m "           \
    "--main_process_port=$p --deepspeed_multinode_launcher=standard"

/* `port`, `address`, `module`: the options with that meaning; NULL: none. `wants_port`: it does not find a free port
 * itself. `keeps`: it respects the devices in its environment; DeepSpeed's takes 0, 1, … when it is given a count. */
static const struct launcher {
    const char *name, *words[10], *port, *address, *module;
    const char *on_each_host; /* script for several hosts of a Slurm step; NULL: it reaches them by itself */
    const char *node;         /* the command on each of several hosts reached through ssh; NULL if `on_each_host` is */
    bool wants_port, keeps;
} launchers[] = {
    {"deepspeed", {"deepspeed"}, "--master_port", "--master_addr", "--module", NULL, NULL, true, false},
    {"torchrun",
     {"torchrun", "--nnodes={nodes}", "--nproc_per_node={gpus_per_node}"},
     "--master_port",
     "--master_addr",
     "--module",
     EACH_HOST "torchrun --nnodes=$n --nproc_per_node=$g --rdzv_backend=c10d --rdzv_id=$SLURM_JOB_ID.$SLURM_STEP_ID "
               "--rdzv_endpoint=$m:$p \"$@\"",
     TORCHRUN_NODE,
     false,
     true},
    {"accelerate",
     {"accelerate", "launch", "--num_machines={nodes}", "--num_processes={gpus}"},
     "--main_process_port",
     "--main_process_ip",
     "--module",
     EACH_HOST "accelerate launch --num_machines=$n --num_processes=$((n * g)) --machine_rank=$SLURM_NODEID "
               "--main_process_ip=$m --main_process_port=$p --deepspeed_multinode_launcher=standard \"$@\"",
     ACCELERATE_NODE,
     true,
     true},
    {"srun",
     {"srun", "--nodes={nodes}", "--ntasks-per-node={gpus_per_node}", "--gpus-per-node={gpus_per_node}", "/bin/sh",
      "-c", SLURM_RANKS, "sh"},
     NULL,
     NULL,
     "-m",
     NULL,
     NULL,
     false,
     true},
};

/* NULL: the user's own words. */
static const struct launcher *known_launcher(const struct tuning_launcher *l)
{
    return FIND(i, LENGTH(launchers), strcmp(launchers[i].name, l->name) == 0, &launchers[i]);
}

bool tuning_launcher_is_deepspeed(const struct tuning_launcher *l)
{
    return strcmp(l->name, launchers[0].name) == 0;
}

bool tuning_launcher_needs_ssh(const struct tuning_launcher *l)
{
    const struct launcher *known = known_launcher(l);
    return known && known->node && l->several_hosts && l->hostfile;
}

bool tuning_launcher_keeps_apart(const struct tuning_launcher *l)
{
    const struct launcher *known = known_launcher(l);
    return !l->hostfile && !l->master_port && (!known || known->keeps || l->own_devices);
}

static void add_split(struct string_list *w, const char *words)
{
    char *copy = xstrdup(words), *rest = NULL;
    for (char *word = strtok_r(copy, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
        string_list_add(w, xstrdup(word));
    free(copy);
}

static void add_all(struct string_list *w, const char *const *words)
{
    for (; *words; words++)
        string_list_add(w, xstrdup(*words));
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

static void add_each_host(const struct tuning_launcher *l, const struct launcher *known, struct string_list *w)
{
    const char *const words[] = {"srun",
                                 "--nodes={nodes}",
                                 "--ntasks-per-node=1",
                                 "--gpus-per-node={gpus_per_node}",
                                 "/bin/sh",
                                 "-c",
                                 known->on_each_host,
                                 "sh",
                                 "{nodes}",
                                 "{gpus_per_node}",
                                 NULL};
    add_all(w, words);
    string_list_add(w, l->master_port ? xasprintf("%lld", l->master_port) : xstrdup("{master_port}"));
}

static void add_hosts_by_ssh(const struct tuning_launcher *l, const struct launcher *known, struct string_list *w)
{
    const char *const words[] = {"bash",      "-c",        embedded_text("src/deepspeed/each_host.sh"),
                                 "each-host", "{include}", NULL};
    add_all(w, words);
    string_list_add(w, l->master_port ? xasprintf("%lld", l->master_port) : xstrdup("{master_port}"));
    string_list_add(w, xstrdup(l->master_addr ? l->master_addr : ""));
    string_list_add(w, xstrdup(known->node));
}

static void add_meeting(const struct tuning_launcher *l, const struct launcher *known, struct string_list *w)
{
    if (known->port && l->master_port)
        string_list_add(w, xasprintf("%s=%lld", known->port, l->master_port));
    else if (known->wants_port)
        string_list_add(w, xasprintf("%s={master_port}", known->port));
    if (l->master_addr)
        string_list_add(w, xasprintf("%s=%s", known->address, l->master_addr));
    if (l->master_port || l->master_addr || known->wants_port || strcmp(known->name, "torchrun") != 0)
        return;
    string_list_add(w, xstrdup("--rdzv_backend=c10d"));
    string_list_add(w, xstrdup("--rdzv_endpoint=localhost:0"));
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

/* Launchers that DeepSpeed's own can hand over to; they start on all of the hostfile (launcher/multinode_runner.py). */
static const char *const of_deepspeeds[] = {"openmpi", "mpich", "impi", "mvapich", "slurm"};

static int check_name(const struct tuning_launcher *l, struct error *e)
{
    for (size_t i = 0; i < LENGTH(of_deepspeeds); i++)
        if (strcmp(l->name, of_deepspeeds[i]) == 0)
            return error_set(e, ERROR_USAGE,
                             "--launcher %s: DeepSpeed cannot restrict it to the hosts and devices of one job; use "
                             "torchrun, accelerate, srun, pdsh or your own command line, such as \"mpirun -np {gpus} "
                             "python3\"",
                             l->name);
    return 0;
}

static int check_launcher(const struct tuning_launcher *l, const struct launcher *known, struct error *e)
{
    bool is_deepspeed = tuning_launcher_is_deepspeed(l);
    if (known && known->on_each_host && l->several_hosts && !l->hostfile && !l->within_slurm)
        return error_set(e, ERROR_USAGE,
                         "--launcher %s starts ranks only on this machine, so they would wait for the others; for "
                         "several hosts, name them in a hostfile (-H FILE; uses ssh), run inside a Slurm allocation "
                         "(uses srun), or give your own command line",
                         l->name);
    const bool by_srun = known && known->on_each_host && l->several_hosts && !tuning_launcher_needs_ssh(l);
    if (l->master_addr && (!known || !known->address || by_srun))
        return error_set(e, ERROR_USAGE, "--master_addr: not for this launcher; meshsweep sets its address");
    if (l->config && (!known || strcmp(known->name, "accelerate") != 0))
        return error_set(e, ERROR_USAGE, "--config_file: needs --launcher accelerate");
    if (l->module && !known)
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
    const struct launcher *known = known_launcher(l);
    if (check_name(l, e) < 0 || check_launcher(l, known, e) < 0)
        return -1;
    if (!known)
        add_split(w, l->name);
    else if (tuning_launcher_needs_ssh(l))
        add_hosts_by_ssh(l, known, w);
    else if (known->on_each_host && l->several_hosts)
        add_each_host(l, known, w);
    else
        add_all(w, known->words);
    if (tuning_launcher_is_deepspeed(l))
        add_hosts(l, w);
    if (known && !(known->on_each_host && l->several_hosts))
        add_meeting(l, known, w);
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
        string_list_add(w, xstrdup(known->module));
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
    char *copy = xstrndup(line, strcspn(line, "\r\n")), *rest = NULL, *found = NULL;
    for (char *word = strtok_r(copy, BLANK, &rest); word && !found; word = strtok_r(NULL, BLANK, &rest))
        if (is_python(word))
            found = xstrdup(word);
    free(copy);
    return found;
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
    char *name = xstrndup(first, strcspn(first, BLANK)), *found = NULL;
    OWNED char *path = process_find_program(name, environment, NULL, &ignored);
    if (path && file_read(path, SCRIPT_BYTES, &text, NULL) == 0)
        found = python_of_script(buffer_text(&text));
    free(name);
    return found;
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

#include "commands/deepspeed_options.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "cli/run_options.h"
#include "util/memory.h"
#include "util/parse.h"

#define AT(member) offsetof(struct deepspeed_options, member)

static const char *const modes[] = {[MODE_TUNE] = "tune", [MODE_RUN] = "run", NULL};
static const char *const log_levels[] = {"debug", "info", "warning", "error", "critical", NULL};

const struct option deepspeed_option_table[] = {
    {.name = "autotuning",
     .kind = OPTION_CHOICE,
     .offset = AT(autotuning),
     .value = "tune|run",
     .help = "tune: find the best configuration; run: also launch the script with it",
     .choices = modes,
     .fallback = "tune"},
    {.name = "num_nodes",
     .kind = OPTION_INT,
     .offset = AT(num_nodes),
     .value = "N",
     .help = "number of hosts; an upper limit if the ds_config gives it too",
     .least = 1,
     .most = 65536},
    {.name = "num_gpus",
     .kind = OPTION_INT,
     .offset = AT(num_gpus),
     .value = "N",
     .help = "devices per host; an upper limit if the ds_config gives it too",
     .least = 1,
     .most = 1024},
    {.name = "num_accelerators",
     .kind = OPTION_INT,
     .offset = AT(num_gpus),
     .value = "N",
     .help = "the same as --num_gpus",
     .least = 1,
     .most = 1024,
     .rare = true},
    {.name = "hostfile",
     .letter = 'H',
     .kind = OPTION_STRING,
     .offset = AT(hostfile),
     .value = "FILE",
     .help = "file of hosts, with lines \"NAME slots=N\" (" DEFAULT_HOSTFILE ")"},
    {.name = "include",
     .letter = 'i',
     .kind = OPTION_STRING,
     .offset = AT(include),
     .value = "HOST:0,1@...",
     .help = "use only these hosts and devices of the hostfile"},
    {.name = "exclude",
     .letter = 'e',
     .kind = OPTION_STRING,
     .offset = AT(exclude),
     .value = "HOST:0,1@...",
     .help = "use all hosts and devices but these"},
    {.name = "master_port",
     .kind = OPTION_INT,
     .offset = AT(master_port),
     .value = "PORT",
     .help = "for the launcher",
     .least = 1,
     .most = 65535},
    {.name = "launcher",
     .kind = OPTION_STRING,
     .offset = AT(launcher),
     .value = "WORDS",
     .help = "torchrun, accelerate, srun or a command line of your own",
     .fallback = "deepspeed"},
    {.name = "config_file",
     .kind = OPTION_STRING,
     .offset = AT(config_file),
     .value = "FILE",
     .help = "accelerate's configuration"},
    {.name = "launcher_args",
     .kind = OPTION_STRING,
     .offset = AT(launcher_args),
     .value = "WORDS",
     .help = "further arguments for the launcher"},
    {.name = "master_addr",
     .kind = OPTION_STRING,
     .offset = AT(master_addr),
     .value = "HOST",
     .help = "for the launcher"},
    {.name = "module", .kind = OPTION_FLAG, .offset = AT(module), .help = "SCRIPT is a Python module"},
    {.name = "no_local_rank",
     .kind = OPTION_FLAG,
     .offset = AT(no_local_rank),
     .help = "the launcher gives the script no --local_rank"},
    {.name = "bind_cores_to_rank",
     .kind = OPTION_FLAG,
     .offset = AT(bind_cores),
     .help = "the launcher binds ranks to cores"},
    {.name = "bind_core_list",
     .kind = OPTION_STRING,
     .offset = AT(bind_core_list),
     .value = "CORES",
     .help = "cores that the launcher binds ranks to",
     .rare = true},
    {.name = "no_python",
     .kind = OPTION_FLAG,
     .offset = AT(no_python),
     .help = "SCRIPT is not a Python script",
     .rare = true},
    {.name = "no_ssh_check",
     .kind = OPTION_FLAG,
     .offset = AT(no_ssh_check),
     .help = "the launcher does not check ssh first",
     .rare = true},
    {.name = "force_multi",
     .kind = OPTION_FLAG,
     .offset = AT(force_multi),
     .help = "the launcher treats a single host like a remote one",
     .rare = true},
    {.name = "ssh_port",
     .kind = OPTION_INT,
     .offset = AT(ssh_port),
     .value = "PORT",
     .help = "ssh port of the hosts",
     .least = 1,
     .most = 65535,
     .rare = true},
    {.name = "venv_script",
     .kind = OPTION_STRING,
     .offset = AT(venv_script),
     .value = "FILE",
     .help = "script that the launcher sources on each host",
     .rare = true},
    {.name = "log_level",
     .kind = OPTION_STRING,
     .offset = AT(log_level),
     .value = "LEVEL",
     .help = "of the launcher",
     .choices = log_levels,
     .rare = true},
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = AT(quiet), .help = "of the launcher", .rare = true},
    {.name = "config_base64",
     .kind = OPTION_FLAG,
     .offset = AT(base64),
     .help = "pass the ds_config in the command, for hosts without a shared file system"},
    {.name = "ds_version",
     .kind = OPTION_STRING,
     .offset = AT(version),
     .value = "RELEASE",
     .help = "the release of DeepSpeed, such as \"0.14\" (default: that of the installed package)"},
    {.name = "timeout",
     .kind = OPTION_STRING,
     .offset = AT(timeout),
     .value = "DURATION",
     .help = "of each attempt",
     .fallback = "30m"},
    {.name = "db",
     .letter = 'd',
     .kind = OPTION_STRING,
     .offset = AT(db),
     .value = "FILE",
     .help = "the database; DeepSpeed's result files go beside it",
     .fallback = "results.db"},
    OPTIONS_OF_STARTS,
    {.name = "retry-failed",
     .kind = OPTION_STRING,
     .offset = AT(retry_failed),
     .value = "CLASS,...",
     .help = "also failed jobs: all, or of some classes",
     .value_optional = true},
    OPTION_PROGRESS,
    {.name = "stale", .kind = OPTION_FLAG, .offset = AT(stale), .help = "also run jobs again whose script has changed"},
    {.name = "env-clean",
     .kind = OPTION_FLAG,
     .offset = AT(env_clean),
     .help = "pass jobs only the usual environment variables, not your whole environment"},
    {.name = "print-config",
     .kind = OPTION_FLAG,
     .offset = AT(print_config),
     .help = "print the equivalent sweep file and run nothing"},
    {.name = "dry-run",
     .letter = 'D',
     .kind = OPTION_FLAG,
     .offset = AT(dry_run),
     .help = "show the plan and run nothing"},
    {.name = NULL},
};

static const struct option *find_option(const char *name)
{
    const struct option *o = deepspeed_option_table;
    while (strcmp(o->name, name) != 0)
        o++;
    return o;
}

void deepspeed_options_add_forwarded(const struct deepspeed_options *o, struct string_list *words)
{
    static const char *const forwarded[] = {"bind_core_list", "no_python",   "no_ssh_check", "force_multi",
                                            "ssh_port",       "venv_script", "log_level",    "quiet"};
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++) {
        const struct option *option = find_option(forwarded[i]);
        const void *at = (const char *)o + option->offset;
        if (option->kind == OPTION_FLAG && *(const bool *)at)
            string_list_add(words, xasprintf("--%s", option->name));
        else if (option->kind == OPTION_INT && *(const int64_t *)at)
            string_list_add(words, xasprintf("--%s=%lld", option->name, (long long)*(const int64_t *)at));
        else if (option->kind == OPTION_STRING && *(const char *const *)at)
            string_list_add(words, xasprintf("--%s=%s", option->name, *(const char *const *)at));
    }
}

int deepspeed_options_check(const struct deepspeed_options *o, struct error *e)
{
    int64_t ms, release;
    if (!o->launcher[strspn(o->launcher, " \t")])
        return error_set(e, ERROR_USAGE,
                         "--launcher: the name is empty; give torchrun, accelerate, srun or a command line of your "
                         "own");
    if (!parse_duration_ms(o->timeout, &ms))
        return error_set(e, ERROR_USAGE, "--timeout %s: must be a duration such as 90, 90s, 10m or 1h30m", o->timeout);
    if (o->version && !parse_release(o->version, true, &release))
        return error_set(e, ERROR_USAGE, "--ds_version %s: must be a release such as 0.14 or 0.14.5", o->version);
    return 0;
}

void deepspeed_options_overlay(struct deepspeed_options *o, const struct accelerate_config *a, char **own_include)
{
    const int64_t machines = a->num_machines ? a->num_machines : 1;
    o->num_nodes = o->num_nodes ? o->num_nodes : a->num_machines;
    o->num_gpus = o->num_gpus ? o->num_gpus : a->num_processes / machines;
    o->hostfile = o->hostfile ? o->hostfile : a->hostfile;
    *own_include = a->gpu_ids && machines == 1 ? xasprintf("localhost:%s", a->gpu_ids) : NULL;
    if (!o->include && !o->exclude) {
        o->include = a->include ? a->include : *own_include;
        o->exclude = a->exclude;
    }
    /* The port only matters if other hosts must reach it. */
    if (machines > 1) {
        o->master_port = o->master_port ? o->master_port : a->main_process_port;
        o->master_addr = o->master_addr ? o->master_addr : a->main_process_ip;
    }
}

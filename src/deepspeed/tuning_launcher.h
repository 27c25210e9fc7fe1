/* The words that launch a script: those of a known launcher, or the user's own. */
#pragma once

#include <stdbool.h>

#include "util/error.h"
#include "util/string_list.h"

/* Borrowed throughout. */
struct tuning_launcher {
    const char *name;       /* "deepspeed", "torchrun", "accelerate", "srun", or the user's own words */
    const char *arguments;  /* further options for it; NULL: none */
    char *const *forwarded; /* options that only DeepSpeed's own launcher understands; NULL: none */
    const char *config;     /* accelerate's configuration file, an absolute path; NULL: none */
    const char *ds_config;  /* placeholder of the ds_config, if `config` names it; NULL: the script's arguments do */
    long long master_port;  /* 0: a free port for each job */
    const char *master_addr;
    bool module, no_local_rank, bind_cores;
    const char *hostfile; /* NULL: none */
    bool includes;        /* each job names its hosts and devices ({include}) */
    bool own_devices;     /* jobs run on this machine, whose devices have numbers ({devices}) */
    bool several_hosts;   /* some job has more than one host */
    bool within_slurm;    /* this process runs in a Slurm allocation */
};

bool tuning_launcher_is_deepspeed(const struct tuning_launcher *l);

/* Returns whether it is started on each host of a job through ssh: torchrun and accelerate on several hosts of a
 * hostfile. Jobs then name their hosts and devices. */
bool tuning_launcher_needs_ssh(const struct tuning_launcher *l);

/* Returns whether jobs may run side by side: the launcher keeps to the devices in its environment and takes a port per
 * job. */
bool tuning_launcher_keeps_apart(const struct tuning_launcher *l);

/* Appends the words, with placeholders of a sweep file. torchrun and accelerate start the ranks of one machine, so on
 * several hosts ssh or srun starts a launcher on each. ERROR_USAGE: several hosts without a hostfile and outside Slurm,
 * an unsupported option, or one of DeepSpeed's launchers that cannot be restricted to a job's hosts. */
int tuning_launcher_add(const struct tuning_launcher *l, struct string_list *out, struct error *e);

/* Asks the launcher's Python, once, for the version of its package deepspeed: "0.14.5", without suffixes ("+local",
 * ".dev0"). NULL if it is not installed or there is no answer within 20 s. The Python is a word "python…" of
 * `launcher`, else that of the script that its first word names on the PATH of `environment`, else python3; `*python`
 * is set to it. The caller frees both. */
char *installed_release(const char *launcher, char *const *environment, char **python);

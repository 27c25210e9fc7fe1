/* The words that launch a script: those of a launcher that is known by its name, or a user's own. */
#ifndef MESHSWEEP_DEEPSPEED_TUNING_LAUNCHER_H
#define MESHSWEEP_DEEPSPEED_TUNING_LAUNCHER_H

#include <stdbool.h>

#include "util/error.h"
#include "util/string_list.h"

/* Borrowed throughout. */
struct tuning_launcher {
    const char *name;       /* "deepspeed", "torchrun", "accelerate", "srun", or words of one's own */
    const char *arguments;  /* further words for it; NULL: none */
    char *const *forwarded; /* options of DeepSpeed's own launcher, for which nothing else has a meaning; NULL: none */
    const char *config;     /* accelerate's own, an absolute path; NULL: none */
    const char *ds_config;  /* the placeholder of the ds_config where that names it; NULL: the script's arguments do */
    long long master_port;  /* 0: a free one for each job */
    const char *master_addr;
    bool module, no_local_rank, bind_cores;
    const char *hostfile; /* NULL: none */
    bool includes;        /* the jobs say which hosts and devices they are for ({include}) */
    bool own_devices;     /* they are for this machine, which knows its devices by numbers ({devices}) */
    bool several_hosts;   /* some job has more than one */
    bool within_slurm;    /* this process is part of a Slurm allocation */
};

bool tuning_launcher_is_deepspeed(const struct tuning_launcher *l);

/* Whether it is started on each host of a job through ssh: torchrun and accelerate over several hosts of a hostfile.
 * Then jobs say which hosts and devices they are for. */
bool tuning_launcher_needs_ssh(const struct tuning_launcher *l);

/* Whether jobs may run side by side: it keeps to the devices of its environment, and takes a port of the job's. */
bool tuning_launcher_keeps_apart(const struct tuning_launcher *l);

/* Appends the words, with placeholders of a sweep file. torchrun and accelerate start the ranks of one machine:
 * several hosts are reached through ssh or srun, a launcher on each. ERROR_USAGE: more hosts without a hostfile and
 * without Slurm, an option that the launcher has nothing for, a launcher of DeepSpeed's that cannot be kept to a
 * job's hosts. */
int tuning_launcher_add(const struct tuning_launcher *l, struct string_list *out, struct error *e);

#endif

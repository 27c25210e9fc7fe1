/* The clusters of a tuning: numbers of hosts and devices, the most available, and which of them a launcher gets. */
#pragma once

#include <stdbool.h>

#include "deepspeed/autotuning.h"
#include "device/hostfile.h"
#include "util/error.h"

/* Borrowed throughout. */
struct tuning_cluster {
    const struct host_list *hosts;            /* the hosts after include and exclude; NULL or empty: not known */
    const char *hostfile, *include, *exclude; /* `hostfile` is an absolute path; NULL: the only host is this machine */
    bool names_hosts;                         /* the command has {include}: each cluster lists its hosts and devices */
    bool here_alone;          /* the launcher reaches no other machine: more than one host is excluded */
    bool exclusive;           /* one job at a time: the launcher ignores a job's devices, or all jobs share one port */
    long long nodes, devices; /* used if the ds_config does not say */
    long long most_nodes, most_devices; /* from the command line, in addition to the ds_config; 0: no limit */
};

/* Returns whether every cluster is a single host. */
bool tuning_cluster_is_one_host(const struct tuning_cluster *c, const struct autotuning *knobs);

/* Borrowed. NULL: not given. */
struct tuning_hosts_request {
    const char *hostfile, *include, *exclude;
    bool own; /* without a hostfile, use this machine even without filters, if its devices have numbers */
};

/* The list stays empty if neither a hostfile nor this machine is requested. ERROR_USAGE: the hostfile cannot be read,
 * or the filters leave nothing, or they apply to this machine, whose devices have no numbers. The caller frees `out` in
 * any case. */
int tuning_hosts_read(const struct tuning_hosts_request *r, char *const *environment, struct host_list *out,
                      struct error *e);

/* The number of devices that every host has; 0 without hosts. */
long long tuning_hosts_least_devices(const struct host_list *l);

/* The number of devices of this machine, whether or not they have numbers. */
long long tuning_hosts_own_devices(char *const *environment);

/* Asks up to eight hosts through ssh. Returns the first that has no file at that path, or another one than this machine
 * (by inode, size and modification time); borrowed from `hosts`. NULL if none reports that; a host that cannot be
 * reached within 10 s does not count. */
const char *shared_file_lacking_host(const struct host_list *hosts, const char *path, char *const *environment);

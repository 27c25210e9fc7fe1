/* The clusters of a tuning: how many hosts and devices, what there is at most, and which of them a launcher is
 * given. */
#ifndef MESHSWEEP_DEEPSPEED_TUNING_CLUSTER_H
#define MESHSWEEP_DEEPSPEED_TUNING_CLUSTER_H

#include <stdbool.h>

#include "deepspeed/autotuning.h"
#include "device/hostfile.h"
#include "util/buffer.h"

/* Borrowed throughout. */
struct tuning_cluster {
    const struct host_list *hosts;            /* what include and exclude leave; NULL or empty: not known */
    const char *hostfile, *include, *exclude; /* `hostfile` an absolute path; NULL: the hosts are this machine */
    bool names_hosts;                         /* the command has {include}: each cluster names its hosts and devices */
    bool here_alone; /* the launcher reaches no other machine: more hosts than one are excluded */
    bool exclusive;  /* one job at a time: the launcher does not keep to a job's devices, or all have one port */
    long long nodes, devices;           /* where the ds_config does not say */
    long long most_nodes, most_devices; /* the command line's beside the ds_config's; 0: no limit */
};

/* "w0:0,1@w1:4,5": of the first `nodes` hosts that have so many devices the first `devices`, so that each rank of a job
 * is one of its own, however uneven the hosts are. "" where they do not suffice. The caller's. */
char *tuning_include(const struct host_list *hosts, long long nodes, long long devices);

/* Appends [cluster_spec], [local] and the rules about what is not there. */
void tuning_cluster_add(const struct tuning_cluster *c, const struct autotuning *knobs, struct buffer *out);

/* Appends the keys of the largest cluster that is there. */
void tuning_cluster_add_largest(const struct tuning_cluster *c, const struct autotuning *knobs, struct buffer *out);

/* How many clusters there are, and how many devices the one of that number has in all. */
size_t tuning_cluster_count(const struct autotuning *knobs);
long long tuning_cluster_devices(const struct tuning_cluster *c, const struct autotuning *knobs, size_t cluster);

/* Whether every cluster is a single host. */
bool tuning_cluster_is_one_host(const struct tuning_cluster *c, const struct autotuning *knobs);

#endif

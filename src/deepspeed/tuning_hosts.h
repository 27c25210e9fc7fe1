/* The hosts available to a tuning: those of a hostfile, or this machine with its device numbers. */
#ifndef MESHSWEEP_DEEPSPEED_TUNING_HOSTS_H
#define MESHSWEEP_DEEPSPEED_TUNING_HOSTS_H

#include <stdbool.h>

#include "device/hostfile.h"
#include "util/error.h"

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

#endif

/* The hosts that a tuning may have: those of a hostfile, or this machine by the numbers of its devices. */
#ifndef MESHSWEEP_DEEPSPEED_TUNING_HOSTS_H
#define MESHSWEEP_DEEPSPEED_TUNING_HOSTS_H

#include <stdbool.h>

#include "device/hostfile.h"
#include "util/error.h"

/* Borrowed; NULL: not given. */
struct tuning_hosts_request {
    const char *hostfile, *include, *exclude;
    bool own; /* without a hostfile this machine also without filters, as far as its devices have numbers */
};

/* No hosts where neither a hostfile nor this machine is wanted. ERROR_USAGE: a hostfile that cannot be read, filters
 * that leave nothing, or are for this machine, whose devices have no numbers. `out` is the caller's in any case. */
int tuning_hosts_read(const struct tuning_hosts_request *r, char *const *environment, struct host_list *out,
                      struct error *e);

/* Devices that every host has; 0 without hosts. */
long long tuning_hosts_least_devices(const struct host_list *l);

/* Devices of this machine, whether they have numbers or not. */
long long tuning_hosts_own_devices(char *const *environment);

#endif

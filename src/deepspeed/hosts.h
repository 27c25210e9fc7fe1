/* Hosts and their devices as DeepSpeed's launcher is told of them: hostfile, --include and --exclude
 * (DeepSpeed launcher/runner.py: fetch_hostfile, parse_resource_filter). Pure. */
#ifndef MESHSWEEP_DEEPSPEED_HOSTS_H
#define MESHSWEEP_DEEPSPEED_HOSTS_H

#include <stddef.h>

#include "util/error.h"

struct ds_host {
    char *name;
    long long *slots; /* device numbers, ascending */
    size_t slot_count;
};

struct ds_hosts {
    struct ds_host *items; /* in the order of the hostfile */
    size_t count;
};

#define DS_HOSTS_INIT {NULL, 0}
void ds_hosts_free(struct ds_hosts *h);

/* Lines "NAME slots=N", comments after "#", blank lines. ERROR_USAGE with file and line: anything else, a host given
 * twice, no host at all. */
int ds_hosts_parse(const char *file, const char *text, struct ds_hosts *out, struct error *e);

/* "NAME[:SLOT[,SLOT...]][@NAME...]": keeps only these, or leaves them out; at most one of both may be given (the other is
 * NULL). ERROR_USAGE: a host or slot that is not there, nothing left. */
int ds_hosts_filter(struct ds_hosts *h, const char *include, const char *exclude, struct error *e);

/* Devices that every host has; 0 without hosts. */
long long ds_hosts_devices(const struct ds_hosts *h);

#endif

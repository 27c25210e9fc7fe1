/* The tables [slurm], [executor], [ssh] and [local]: where jobs run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "config/position.h"

/* Texts that are not given are NULL. Those up to `memory` may also be keys of a cluster_spec, which then count. */
struct batch_config {
    char *name; /* of [executor]: NULL: not given */
    struct position name_at, memory_at;
    char **set; /* of [executor.set]: names and values in turn, NULL-terminated; NULL: none */
    char *partition, *account, *qos, *constraint, *reservation;
    char *memory;                          /* per node, as the system writes it, or SQL that knows the attempt */
    char *gpu_type;                        /* "a100" */
    char **options;                        /* verbatim, NULL-terminated; NULL: none */
    char **launcher;                       /* words before the command, NULL-terminated; NULL: none */
    int64_t tasks_per_node, cpus_per_task; /* 0: not given */
    int64_t array_size;                    /* tasks in an array at most */
    int64_t max_jobs;                      /* with the system at once, queued or running */
    int64_t poll_ms;                       /* between two questions to the queue */
    int64_t absence_ms;                    /* how long nobody may know a job before it counts as lost */
    int64_t margin_ms;                     /* added to a job's limit for the system's */
    int64_t heartbeat_ms;
    double timeout_factor; /* of a job's limit once it ran out of time; 1: as it was */
    bool gpus;             /* devices are requested; default true */
    bool shared;           /* jobs see the files of this machine; default true */
};

/* Returns whether `memory` is worked out for each attempt (space/build.c). */
static inline bool batch_memory_varies(const struct batch_config *c)
{
    return c->memory && (strstr(c->memory, "attempt") || strstr(c->memory, "last_failure"));
}

/* NULL: not given. */
struct ssh_config {
    char **hosts;     /* "NAME [slots=N] [directory=PATH]", NULL-terminated */
    char *hostfile;   /* the same, a line each, beside the sweep file */
    char **options;   /* words for ssh, NULL-terminated */
    int64_t lease_ms; /* after so long without a sign of the runner a host ends its jobs */
};

struct local_config {
    int64_t devices;          /* -1: not given, look for them */
    char *device_names;       /* "0,2,5", as given in a list; NULL: numbered from 0 */
    char *hostfile;           /* beside the sweep file; NULL: none */
    char *include, *exclude;  /* of its hosts; NULL: not given */
    bool several_hosts;       /* the command itself starts processes on a job's other hosts */
    int64_t jobs_per_device;  /* that many one-device jobs share a device; default 1 */
    bool exclusive;           /* one job at a time, whatever it leaves idle */
    bool bind_cpus;           /* each device's jobs get their share of the processors */
    int64_t clean_ms;         /* how long to wait for a device that something else uses; 0: not looked at */
    int64_t give_up_ms;       /* how long to wait when nothing can start for such devices */
    int64_t dirty_bytes;      /* memory in use from which a device is not clean */
    int64_t repeat_throttled; /* how often a job is measured again whose devices were slower than others'; default 0 */
    int64_t sample_ms;        /* between two looks at the devices' memory; 0: none */
};

/* Turns a job's row into its command: texts rendered from the specs stored in results.db. */
#pragma once

#include "config/sweep.h"
#include "space/space.h"
#include "util/hash.h"

struct job_loader;
int job_loader_create(const struct space *space, struct db *db, struct job_loader **out, struct error *e);
void job_loader_free(struct job_loader *l);

/* A job ready to be rendered. */
struct job_details {
    struct hash128 key;
    int64_t devices;
    int64_t limit_ms[LIMIT_COUNT]; /* of the attempt to be made; 0: none */
    int64_t memory_mib;            /* the same of [slurm] memory; 0: as the file says it */
    char *given;                   /* those of them that depend on the attempt, as JSON; NULL: none does */
    struct value *values;          /* one per space->placeholders */
    size_t value_count;
    char *spec_json; /* {"model":{…},…,"derived":{…}}: every key of the combination */
};
void job_details_free(struct job_details *d);

/* 1: read; 0: there is no such job (any more); -1. */
int job_loader_read(struct job_loader *l, int64_t job_id, struct job_details *out, struct error *e);

/* The texts of one attempt. `runtime` is indexed by enum runtime_name. Arrays are NULL-terminated; the caller's,
 * released with launch_texts_free. */
struct launch_texts {
    char **command;
    char **environment; /* "NAME=value" of [job] env */
    char **unset;       /* names of those that have no value: the job does not have them at all */
    char *directory;    /* NULL: none declared */
};
void launch_texts_render(const struct space *space, const struct job_details *job, const char *const *runtime,
                         struct launch_texts *out);
/* Puts [job.profile] command_prefix before the command. */
void launch_texts_profile(const struct space *space, const struct job_details *job, const char *const *runtime,
                          struct launch_texts *texts);
void launch_texts_free(struct launch_texts *t);

/* --- How large a job is, by its cluster_spec. Pure --- */

/* Nodes are num_hosts (or num_nodes, nodes) of the cluster_spec, devices per node num_devices_per_host (or
 * gpus_per_node, devices_per_node), else `devices` (0: one) shared out; tasks and processors of [slurm] where it does
 * not say, 0 where neither does. */
struct job_shape {
    int64_t nodes, devices_per_node, tasks_per_node, cpus_per_task;
    double share; /* gpus of the cluster_spec, below 1: of a device; 0: it has whole devices */
};
struct job_shape job_shape_of(const struct batch_config *config, const char *spec_json, int64_t devices);

/* Axes whose values make no difference to the jobs: nothing that a job is given is made from them. */
#pragma once

#include <cjson/cJSON.h>
#include <stdint.h>

#include "space/space.h"

enum reach {
    REACHES_JOBS = 1, /* the command, environment, directory, a file, devices or nodes, what is requested of Slurm */
    REACHES_CHOICE,   /* that, or a rule or time limit of the sweep file */
};

/* {key: how many values it has} of keys with several values that reach nothing: no word of the command, variable,
 * directory, file, number of devices or setting of a ds_config, nor, if that is `what`, a rule or limit. Not labels and
 * replicates; none where no command starts jobs, or where they read MESHSWEEP_SPEC, as far as the command and the files
 * that it names tell. The caller's. */
cJSON *unreached_keys(const struct space *space, enum reach what);

/* Returns what there is to be said of those before jobs run; NULL: nothing. The caller's. */
char *unreached_sentence(const struct space *space);

/* Returns what there is to be said of `jobs` that were given what another of them was, `different` things in all; NULL:
 * nothing. The caller's. */
char *unreached_same(const struct space *space, int64_t jobs, int64_t different);

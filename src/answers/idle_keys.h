/* Finds keys that do not affect predictions, at all or in this sweep (recompute_modules if nothing recomputes,
 * lora_targets without adapters, an expert dispatcher without experts), and axes that do not affect jobs. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "space/space.h"
#include "util/buffer.h"

/* Appends the names, separated by ", ", of keys whose value changes no prediction of memory, time or FLOPs, nor whether
 * there is one. Tests up to 64 combinations at equal distances from the first to the last. Appends nothing if none of
 * them has a predicted time. */
void idle_keys_add(const struct space *space, struct buffer *out);

/* Returns whether predictions use that key, an index into space->names; false if there are no predictions. */
bool key_is_read(const struct space *space, size_t key);

/* Appends the names of keys that no prediction of the sweep uses, except labels, names and hf_config; "and 3 more"
 * after the first 64. Appends nothing if nothing is predicted. */
void unread_keys_add(const struct space *space, struct buffer *out);

/* --- keys that reach no part of the command --- */

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

/* Experiment names that say what is tried. Pure. */
#ifndef MESHSWEEP_DEEPSPEED_EXPERIMENT_NAMES_H
#define MESHSWEEP_DEEPSPEED_EXPERIMENT_NAMES_H

#include <stddef.h>

/* Appends to equal names what their ds_configs differ in ("_offload_optimizer-cpu"). `configs` are JSON texts by index;
 * NULL: none. Names stay equal if nothing differs, or if the difference does not fit into a file's name. The caller
 * frees the names. */
void experiment_names_tell_apart(char **names, const char *const *configs, size_t count);

#endif

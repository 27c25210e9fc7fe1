/* Names of experiments that say what they try. Pure. */
#ifndef MESHSWEEP_DEEPSPEED_EXPERIMENT_NAMES_H
#define MESHSWEEP_DEEPSPEED_EXPERIMENT_NAMES_H

#include <stddef.h>

/* Adds to each name that several share what the ds_configs of these differ in, "_offload_optimizer-cpu": texts of JSON
 * by index, NULL: there is none. Those that differ in nothing, or in more than a file's name has room for, stay alike.
 * The names are the caller's. */
void experiment_names_tell_apart(char **names, const char *const *configs, size_t count);

#endif

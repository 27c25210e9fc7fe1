/* Giving this process over to another program. */
#ifndef MESHSWEEP_RUN_BECOME_H
#define MESHSWEEP_RUN_BECOME_H

#include "util/error.h"

/* Runs `command` (NULL-terminated, searched for in PATH) in place of this program, with its environment: its signals and
 * exit status are then this process's. Returns only when it could not be started: -1. */
int become(char *const *command, struct error *e);

#endif

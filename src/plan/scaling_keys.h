/* The effect of "KEY=VALUE" on a sweep's keys. */
#ifndef MESHSWEEP_PLAN_SCALING_KEYS_H
#define MESHSWEEP_PLAN_SCALING_KEYS_H

#include "config/scaling.h"
#include "space/space.h"

/* The key is one of the space's specs on which the number of devices depends; what follows it are those of its keys
 * that predictions take the data-parallel degree, the number of nodes and the batch from. ERROR_USAGE, with a hint, for
 * a key that does not exist, is derived, is in several sections or says nothing of devices, and for a value that is no
 * whole number from 1. `*out` is the caller's (scaling_free). */
int scaling_read(const struct space *space, const char *text, struct scaling *out, struct error *e);

#endif

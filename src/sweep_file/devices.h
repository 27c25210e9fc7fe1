/* Accelerators by name: those of configs/knowledge/devices.toml, which the program carries, and those of [[device]].
 * The former are read when the first is asked for. */
#pragma once

#include "config/sweep.h"
#include "util/string_list.h"
#include "util/suggest.h"

#define UNMEASURED_ATTENTION 0.35 /* of the peak */
#define UNKNOWN_LINK 25e9         /* bytes per second */

/* Static. */
const struct device_table *devices_carried(void);

/* By one of its names without regard to case ("A100-80GB", "NVIDIA H100", …), of `own` (NULL: none) before those that
 * are carried. NULL when there is none. */
const struct device *device_find(const struct device_table *own, const char *name);

/* Of devices, as util/suggest.h has it: what another maker calls its devices is no misspelling. */
struct suggestion device_suggest_for(const char *word);
void device_suggest_try(struct suggestion *s, const char *name);

/* How many devices a node has that is usual for all of `names`, where some job has more (`most`); 0: not known, or not
 * the same for all. */
int64_t device_usual_node(const struct string_list *names, double most);

/* Returns whether a text says what kind of thing computes and not which, as frameworks have it: "cuda", "cuda:0",
 * "gpu". No device that is carried is called so. */
bool device_is_kind(const char *name);

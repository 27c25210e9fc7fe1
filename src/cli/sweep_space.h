/* Builds the space of a sweep file, and reports all problems at once. */
#pragma once

#include "config/problems.h"
#include "config/sweep.h"
#include "deepspeed/ds_config.h"
#include "space/build.h"

/* Asks, where [deepspeed] names no version, the Python of the job's command which release of the package it has, whose
 * rules and keys then hold, and says so. Without a package they are those of the newest: returns a sentence for those
 * who start jobs (the caller's), else NULL. Does nothing for other sweeps. */
char *sweep_space_find_release(struct sweep *sweep);

/* Reads the base of [deepspeed] where `*ds_config` is NULL (the caller's in any case), and builds the space with it:
 * sets options->base. Problems, those of `problems` among them, are the error (ERROR_USAGE), in the order of the
 * file. */
int sweep_space_build(const struct sweep *sweep, struct space_options *options, struct problems *problems,
                      struct ds_config **ds_config, struct space **out, struct error *e);

/* Prints the warnings about the base of [deepspeed]; `ds_config` may be NULL. */
void sweep_space_warn(const struct ds_config *ds_config);

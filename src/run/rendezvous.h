/* How the processes of one job find each other: torch.distributed and its launchers use a port. */
#pragma once

#include <stdint.h>

#include "config/sweep.h"

/* The port of an attempt: that of no other that runs beside it. Below the ports that the kernel gives to clients and
 * below those that launchers take where none is named (29400, 29500). */
int rendezvous_port(int64_t attempt_id);

/* MASTER_PORT, and PET_MASTER_PORT, which is what torchrun reads: `port`, or what the user's own settings of the job
 * (`declared`) and those that were passed on (`base`) say. The list is NULL-terminated and the caller's. */
char **rendezvous_settings(int port, char *const *base, char *const *declared);

/* Why jobs that run beside each other on one machine would meet: a port that is the same for all, or a launcher that is
 * not told one and takes its own. NULL: they would not. The caller's. */
char *rendezvous_warning(const struct job_config *job);

/* Processes of this machine, in slots, under a supervisor and a guardian. They die with their runner. */
#ifndef MESHSWEEP_RUN_LOCAL_EXECUTOR_H
#define MESHSWEEP_RUN_LOCAL_EXECUTOR_H

#include "run/executor.h"

/* An executor_create. What it says of signals and threads in run/supervisor.h holds. */
int local_executor_create(const struct executor_options *options, struct executor **out, struct error *e);

#endif

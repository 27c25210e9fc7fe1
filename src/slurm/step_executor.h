/* Jobs in the nodes of the allocation that the runner is in: the local executor, whose processes are sruns
 * (slurm/steps.h). They die with their runner. */
#ifndef MESHSWEEP_SLURM_STEP_EXECUTOR_H
#define MESHSWEEP_SLURM_STEP_EXECUTOR_H

#include "run/executor.h"

/* An executor_create; the options' `allocation` must be there. -1 also where Slurm does not answer. */
int slurm_step_executor_create(const struct executor_options *options, struct executor **out, struct error *e);

#endif

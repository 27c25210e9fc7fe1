/* Jobs at a batch system, in arrays. They survive their runner: the next one takes them over by what stands in the
 * directories of their batches (batch/batches.h). Nodes and runner share the file system that holds the job files. */
#ifndef MESHSWEEP_BATCH_EXECUTOR_H
#define MESHSWEEP_BATCH_EXECUTOR_H

#include "run/executor.h"

/* An executor_create; the options' `system` must be there. Signals that ask the runner to stop are blocked
 * until it is freed. */
int batch_executor_create(const struct executor_options *options, struct executor **out, struct error *e);

#endif

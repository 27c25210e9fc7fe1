#include "store/blame.h"

#include <stddef.h>

const char *const blame_names[BLAME_COUNT] = {
    [BLAME_JOB] = NULL,    [BLAME_RUNNER] = "runner", [BLAME_NODE] = "node", [BLAME_PREEMPTION] = "preemption",
    [BLAME_HOST] = "host",
};

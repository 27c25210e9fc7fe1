/* Prepares the start of a job with [deepspeed]: its ds_config.json. */
#ifndef MESHSWEEP_DEEPSPEED_DS_PREPARATION_H
#define MESHSWEEP_DEEPSPEED_DS_PREPARATION_H

#include "deepspeed/ds_config.h"
#include "run/preparation.h"

struct ds_preparation {
    const struct sweep *sweep;      /* borrowed */
    const struct ds_config *config; /* borrowed */
    const char *db_path;            /* borrowed; with the jobs that decide whether profile_steps may be more */
};

/* Writes JOB_DIR/ds_config.json atomically, for {ds_config} and {ds_config_base64}, and maps arguments. With
 * profile_steps it also writes the one to train with (deepspeed/training_command.h). The result borrows `p`. */
struct preparation ds_preparation_of(struct ds_preparation *p);

#endif

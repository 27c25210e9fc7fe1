/* What [deepspeed] adds to the start of a job: its ds_config.json. */
#ifndef MESHSWEEP_DEEPSPEED_DS_PREPARATION_H
#define MESHSWEEP_DEEPSPEED_DS_PREPARATION_H

#include "deepspeed/ds_config.h"
#include "run/preparation.h"

struct ds_preparation {
    const struct sweep *sweep;      /* borrowed */
    const struct ds_config *config; /* borrowed */
    const char *db_path;            /* borrowed: where the jobs are, by which profile_steps may be more */
};

/* Writes JOB_DIR/ds_config.json, never a torn file, for {ds_config} and {ds_config_base64}, with profile_steps the one
 * to train with beside it (deepspeed/training_command.h), and maps arguments. `p` is
 * borrowed by what is returned. */
struct preparation ds_preparation_of(struct ds_preparation *p);

#endif

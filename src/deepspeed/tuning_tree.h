/* The files that DeepSpeed's tuner leaves, made from results.db, so that what reads them keeps working:
 *
 *   EXPS/<name>.json                          {"name", "ds_config", "num_gpus", "num_nodes"}
 *   RESULTS/<name>/cmd.txt, ds_config.json, exp.json, metrics.json (of what was measured: the engine's own, else made in
 *                  its names and units), stdout.log (both streams), stderr.log (why it failed)
 *   RESULTS/profile_model_info/model_info.json (of the model-information job)
 *   RESULTS/summary.txt, ds_config_optimal.json, cmd_optimal.txt
 *
 * Names are DeepSpeed's, z2_gas1_tmbspg8, with the job's key where several jobs would share one, and with the cluster,
 * n1g4, where there are several. */
#ifndef MESHSWEEP_DEEPSPEED_TUNING_TREE_H
#define MESHSWEEP_DEEPSPEED_TUNING_TREE_H

#include "deepspeed/json_text.h"
#include "store/db.h"

struct tuning_tree {
    const char *job_files;            /* store_directory() */
    const char *exps_dir, *results_dir;
    const struct json *base;              /* the user's ds_config: what was switched on to measure is not in the best one */
};

/* Writes them for the current sweep. Where a job is best, `*winner` is its command (NULL-terminated; the caller's, strings
 * and array), with ds_config_optimal.json for its ds_config; else it is NULL, and no such file is left from before. */
int tuning_tree_write(const struct tuning_tree *t, struct db *db, char ***winner, struct error *e);

#endif

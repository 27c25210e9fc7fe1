/* The files that DeepSpeed's tuner leaves, made from results.db, so that what reads them keeps working:
 *
 *   EXPS/<name>.json                          {"name", "ds_config", "num_gpus", "num_nodes"}
 *   RESULTS/<name>/cmd.txt, ds_config.json, exp.json, metrics.json (of what was measured: the engine's own, else made
 *                  in its names and units), stdout.log and stderr.log (of sweeps without separate_streams
 *                  both have what it wrote to both), reason.txt (why it failed)
 *   RESULTS/profile_model_info/model_info.json (of the model-information job)
 *   RESULTS/summary.txt, ds_config_optimal.json, cmd_optimal.txt
 *
 * Names are DeepSpeed's, z2_gas1_tmbspg8, with the cluster, n1g4, where there are several, what differs where several
 * jobs would share one (deepspeed/experiment_names.h), and the job's key where they still do.
 *
 * Of a tuning that was interrupted the last two and the summary say so: ds_config_best_so_far.json,
 * cmd_best_so_far.txt. */
#ifndef MESHSWEEP_DEEPSPEED_TUNING_TREE_H
#define MESHSWEEP_DEEPSPEED_TUNING_TREE_H

#include <stdbool.h>

#include "database/db.h"
#include "deepspeed/json_text.h"
#include "util/buffer.h"

struct tuning_tree {
    const char *job_files; /* store_directory() */
    const char *exps_dir, *results_dir;
    bool interrupted; /* more was to be tried */
};

/* Writes the sweep file, EXPS_DIR/sweep.toml, whose path is the caller's, for the user alone: arguments of the script
 * may be secrets. NULL with `e`. */
char *tuning_tree_write_sweep(const char *exps_dir, const struct buffer *toml, struct error *e);

/* Writes them for the current sweep. Where a job is best, `*winner` is its command (NULL-terminated; the caller's,
 * strings and array), with that file for its ds_config; else it is NULL, and no such file is left from
 * before. */
int tuning_tree_write(const struct tuning_tree *t, struct db *db, char ***winner, struct error *e);

#endif

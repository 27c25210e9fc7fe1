/* The files that DeepSpeed's tuner leaves, made from results.db, so that programs that read them keep working:
 *
 *   EXPS/<name>.json                          {"name", "ds_config", "num_gpus", "num_nodes"}
 *   RESULTS/<name>/cmd.txt, ds_config.json, exp.json, metrics.json (if it was measured: the engine's own, else built
 *                  with its names and units), stdout.log and stderr.log (without separate_streams each has the
 *                  combined output), reason.txt (why it failed)
 *   RESULTS/profile_model_info/model_info.json (from the model-information job; if nothing else has run, with the
 *                  files of an experiment)
 *   RESULTS/summary.txt, ds_config_optimal.json, cmd_optimal.txt
 *
 * Names are DeepSpeed's, z2_gas1_tmbspg8, with the cluster, n1g4, if there are several. Equal names are extended by
 * what differs (deepspeed/experiment_names.sql), and by the job's key if they are still equal.
 *
 * After an interrupted tuning the summary says so, and the last two files are ds_config_best_so_far.json and
 * cmd_best_so_far.txt. */
#pragma once

#include <stdbool.h>

#include "database/db.h"
#include "files/json_text.h"
#include "util/buffer.h"

struct tuning_tree {
    const char *job_files; /* store_directory() */
    const char *exps_dir, *results_dir;
    const char *metric; /* the tuning's objective */
    bool interrupted;   /* more configurations were to be tried */
};

/* Writes the sweep file, EXPS_DIR/sweep.toml, readable by the user alone because the script's arguments may be secrets.
 * Returns its path, which the caller frees; NULL with `e` set on failure. */
char *tuning_tree_write_sweep(const char *exps_dir, const struct buffer *toml, struct error *e);

/* Writes the tree for the current sweep. If there is a best job, `*winner` is its command with the ds_config of the
 * tree (NULL-terminated; the caller frees the array and its strings). Otherwise it is NULL, and such files of an
 * earlier call are removed. */
int tuning_tree_write(const struct tuning_tree *t, struct db *db, char ***winner, struct error *e);

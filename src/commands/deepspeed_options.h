/* The options of `meshsweep deepspeed`. */
#ifndef MESHSWEEP_COMMANDS_DEEPSPEED_OPTIONS_H
#define MESHSWEEP_COMMANDS_DEEPSPEED_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "deepspeed/accelerate_config.h"
#include "util/string_list.h"

#define DEFAULT_HOSTFILE "/job/hostfile" /* DeepSpeed launcher/runner.py: DLTS_HOSTFILE */

enum { MODE_TUNE, MODE_RUN };

/* Texts are NULL and numbers 0 if not given; all borrowed. */
struct deepspeed_options {
    int autotuning; /* MODE_TUNE or MODE_RUN */
    int64_t num_nodes, num_gpus, master_port, jobs, max_fail, pause_after;
    bool keep_going;
    const char *config_file, *hostfile, *include, *exclude, *launcher, *launcher_args, *master_addr, *version, *db,
        *timeout, *retry_failed;
    bool module, no_local_rank, bind_cores, base64;
    const char *bind_core_list, *venv_script, *log_level; /* these are forwarded */
    int64_t ssh_port;
    bool no_python, no_ssh_check, force_multi, quiet;
    bool print_config, dry_run, env_clean, stale;
    int progress;
};

/* Ends with one without a name. */
extern const struct option deepspeed_option_table[];

/* ERROR_USAGE for an invalid duration or release, or an empty launcher. */
int deepspeed_options_check(const struct deepspeed_options *o, struct error *e);

/* What Accelerate's configuration says where the command line does not. What is borrowed from `*own_include`, the
 * caller's, NULL: nothing, and from `a` must outlive `o`. */
void deepspeed_options_overlay(struct deepspeed_options *o, const struct accelerate_config *a, char **own_include);

/* Appends what is given of the options that DeepSpeed's launcher has and that mean nothing here: "--quiet",
 * "--ssh_port=22". */
void deepspeed_options_add_forwarded(const struct deepspeed_options *o, struct string_list *words);

#endif

/* The options of `meshsweep deepspeed`. */
#ifndef MESHSWEEP_COMMANDS_DEEPSPEED_OPTIONS_H
#define MESHSWEEP_COMMANDS_DEEPSPEED_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"

#define DEFAULT_HOSTFILE "/job/hostfile" /* DeepSpeed launcher/runner.py: DLTS_HOSTFILE */

enum { MODE_TUNE, MODE_RUN };

/* Texts are NULL and numbers 0 where nothing is said; borrowed. */
struct deepspeed_options {
    int autotuning; /* MODE_TUNE or MODE_RUN */
    int64_t num_nodes, num_gpus, master_port, jobs, max_fail, pause_after;
    bool keep_going;
    const char *config_file, *hostfile, *include, *exclude, *launcher, *launcher_args, *master_addr, *version, *db,
        *timeout, *retry_failed;
    bool module, no_local_rank, bind_cores, base64;
    bool print_config, dry_run, env_clean, stale;
    int progress;
};

/* Ends with one without a name. */
extern const struct option deepspeed_option_table[];

#endif

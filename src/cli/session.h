/* A loaded sweep file and its space, with which run, plan, why and others begin. */
#pragma once

#include "batch/steps.h"
#include "batch/system.h"
#include "cli/command.h"
#include "cli/run_options.h"
#include "database/open.h"
#include "deepspeed/ds_config.h"
#include "space/build.h"
#include "space/row_space.h"
#include "space/space.h"
#include "store/jobs.h"

struct session {
    struct sweep *sweep;
    struct ds_config *ds_config; /* NULL: the sweep has no [deepspeed] */
    struct space *space;
    struct row_space *rows;             /* source of the space if the jobs come from a table; else NULL */
    char *release_note;                 /* of sweep_space_find_release; NULL: none */
    const char *db_path;                /* path of the database */
    const char *only_text;              /* --only; NULL: not given */
    struct expression only;             /* compiled; sql is NULL when none was given */
    struct shard shard;                 /* --shard; of 0: none */
    char **forced;                      /* classes of --retry-failed, NULL-terminated; NULL: not requested */
    char *shell_line[4];                /* --command as words */
    bool by_ssh;                        /* they run on hosts: --executor ssh, or a hostfile of [local] */
    struct device_list devices;         /* devices of this machine or of the allocation */
    struct batch_system *system;        /* that jobs are submitted to; NULL: they run here */
    struct allocation allocation;       /* Slurm's; without a job: not requested */
    struct space_options space_options; /* as given: what the space is built with */
    bool leaves_out_hosts;              /* the rule hosts.reached excludes combinations of several hosts */
};

/* `program`: the words after "--", in place of the file's command; NULL: none. If o->config is SWEEP_FILE and does not
 * exist, the sweep recorded in the database o->db is used. To be released with session_close in any case. */
int session_open(struct session *s, const struct run_options *o, char *const *program, struct error *e);

/* The same if the file is optional: if o->config is NULL, the sweep recorded in `db` is used (cli/recorded_sweep.h), or
 * SWEEP_FILE if `db` is NULL or has no sweep. */
int session_open_recorded(struct session *s, const struct run_options *o, struct db *db, struct error *e);
void session_close(struct session *s);

/* Uses what the database knows (NULL: nothing): facts about the model, and what attempts have taught. */
int session_use_known(struct session *s, struct db *db, struct error *e);

/* Opens the database o->db for reading if it exists (`*db`, else NULL), then session_open_recorded() and
 * session_use_known(). The caller releases both in any case. */
int session_open_known(struct session *s, const struct run_options *o, struct db **db, struct error *e);

/* store_open(), with its notice on standard error. */
int session_open_store(const char *path, struct db **out, struct error *e);
int session_open_store_with(const char *path, const struct store_opening *o, struct db **out, struct error *e);

/* Reads the ds_config of the sweep unless it has been read, and builds or rebuilds the space with these facts (NULL:
 * those of the file; space/build.h). */
int session_build(struct session *s, const double *facts, struct error *e);

/* Returns whether --only or --shard narrows a run to the jobs in the table "selected", and that these are put there. */
bool session_is_narrowed(const struct session *s);
int session_narrow(const struct session *s, struct db *db, int64_t sweep_id, struct error *e);

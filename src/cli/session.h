/* A loaded sweep file and its space, with which run, plan, why and others begin. */
#pragma once

#include "batch/steps.h"
#include "batch/system.h"
#include "cli/command.h"
#include "cli/run_options.h"
#include "config/problems.h"
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

/* The same if the file is optional: if o->config is NULL, the sweep recorded in `db` is used (recorded_sweep_find), or
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

/* --- the sweep file to use if none is named: that of the database's current sweep --- */

/* The default if neither the command line nor a database names one. */
#define SWEEP_FILE "sweep.toml"

/* A relative path is tried in the working directory, in that of the last runner, and beside the database; an unchanged
 * file is preferred. Says on standard error if the file has changed. `*path` is the caller's; NULL if the database has
 * no sweep. ERROR_USAGE if the file is gone, saying how to get its text from the database `db_path`. */
int recorded_sweep_find(struct db *db, const char *db_path, char **path, struct error *e);

/* --- the space of a sweep file, with all problems reported at once --- */

/* Asks, where [deepspeed] names no version, the Python of the job's command which release of the package it has, whose
 * rules and keys then hold, and says so. Without a package they are those of the newest: returns a sentence for those
 * who start jobs (the caller's), else NULL. Does nothing for other sweeps. */
char *sweep_space_find_release(struct sweep *sweep);

/* Reads the base of [deepspeed] where `*ds_config` is NULL (the caller's in any case), and builds the space with it:
 * sets options->base. Problems, those of `problems` among them, are the error (ERROR_USAGE), in the order of the
 * file. */
int sweep_space_build(const struct sweep *sweep, struct space_options *options, struct problems *problems,
                      struct ds_config **ds_config, struct space **out, struct error *e);

/* Prints the warnings about the base of [deepspeed]; `ds_config` may be NULL. */
void sweep_space_warn(const struct ds_config *ds_config);

/* How run, plan and why begin: they load the sweep file and build its space. */
#ifndef MESHSWEEP_CLI_SESSION_H
#define MESHSWEEP_CLI_SESSION_H

#include "cli/command.h"
#include "cli/run_options.h"
#include "deepspeed/ds_config.h"
#include "slurm/allocation.h"
#include "space/build.h"
#include "space/row_space.h"
#include "space/space.h"
#include "store/jobs.h"

struct session {
    struct sweep *sweep;
    struct ds_config *ds_config; /* NULL: the sweep has no [deepspeed] */
    struct space *space;
    struct row_space *rows; /* of a sweep whose jobs come from a table: what its space is made from; NULL: of others */
    char *release_note;     /* of sweep_space_find_release; NULL: none */
    const char *db_path;    /* where these jobs are */
    const char *only_text;  /* --only; NULL: not given */
    struct expression only; /* compiled; sql is NULL when none was given */
    char **forced;          /* classes of --retry-failed, NULL-terminated; NULL: not requested */
    char *shell_line[4];    /* --command as words */
    struct device_list devices;         /* of this machine, or of the allocation */
    struct allocation allocation;       /* of Slurm; no job: not requested */
    struct space_options space_options; /* as given: what the space is built with */
};

/* `a` may carry a program after "--". Where o->config is SWEEP_FILE and there is no such file, the sweep is that of the
 * database o->db, where it has one. Released with session_close in any case. */
int session_open(struct session *s, const struct run_options *o, const struct arguments *a, struct error *e);

/* The same where no file has to be named: without one (o->config is NULL) the sweep is that of the database, and
 * without a database (`db` is NULL), or a sweep in it, that of SWEEP_FILE (cli/recorded_sweep.h). */
int session_open_recorded(struct session *s, const struct run_options *o, const struct arguments *a, struct db *db,
                          struct error *e);
void session_close(struct session *s);

/* Lets the session know what the database does (NULL: nothing): facts of the model, and what attempts have taught. */
int session_use_known(struct session *s, struct db *db, struct error *e);

/* session_open_recorded() with the database of o->db, opened for reading where there is one (`*db`, the caller's; else
 * NULL), and what that knows. Both are released in any case. */
int session_open_known(struct session *s, const struct run_options *o, const struct arguments *a, struct db **db,
                       struct error *e);

/* Opens the database for writing (database/open.h), and says on standard error what is to be known about that. */
int session_open_store(const char *path, struct db **out, struct error *e);

/* The ds_config of the sweep, where that is not read yet, and the space, in place of the one before, with these facts
 * (NULL: the file's; space/build.h). */
int session_build(struct session *s, const double *facts, struct error *e);

struct retry_policy session_policy(const struct session *s);

#endif

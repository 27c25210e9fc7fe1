/* Starts the process of a claimed attempt. */
#pragma once

#include "fixture/fixtures.h"
#include "run/executor.h"
#include "run/preparation.h"
#include "secrets/secrets.h"
#include "space/space.h"

/* Returns the directory of an attempt's files, below the directory of job files: "<key>/<number>". After rows were
 * deleted by hand numbers come again, and files of an earlier attempt must not be read as this one's: a name that is
 * taken gets "-2" (`again`; below 2: nothing) and so on. The caller's. */
char *attempt_directory_name(const char *key_hex, int64_t number, int again);

/* The parts that starting needs; the first five are borrowed and set by the caller before starter_open. */
struct starter {
    const struct space *space;
    const char *directory;                 /* job files live below it */
    char *const *runner_environment;       /* what the runner was started with */
    const struct preparation *preparation; /* NULL: none */
    const struct secrets *secrets;         /* what no record may show */
    struct executor *executor;             /* before the first start */
    struct fixtures *fixtures;             /* likewise; NULL: there are none */
    struct db *db;
    struct job_loader *loader;
    char **base_environment; /* what every job gets */
    struct scripts *scripts;
    char *config_directory;
    struct given_inputs {
        struct hash128 hash; /* of all that a job was given but for its own directory, key and numbers */
        int64_t job_id;
    } * given; /* per start */
    size_t given_count;
};

int starter_open(struct starter *s, struct db *db, struct error *e);
void starter_close(struct starter *s);

/* Reads what is to be started, for the claim of `f`; within the transaction that claimed it, so that a start needs no
 * transaction of its own. */
int starter_load(struct starter *s, struct running_attempt *f, struct error *e);

/* The same for an attempt of an earlier runner that the executor has taken over. */
int starter_resume(struct starter *s, const struct recovered_attempt *left, struct running_attempt *f, struct error *e);

/* How many jobs were started with the same inputs as another of them, and how many inputs those are. Sorts `given`. */
int64_t starter_count_same(struct starter *s, int64_t *different);

/* Starts what was loaded. A program that cannot be started is an outcome of the executor. */
void starter_start(struct starter *s, struct running_attempt *f);

/* Why jobs that run beside each other on one machine would meet: a port or devices that are the same for all, or a
 * launcher that is not told which and takes its own. NULL: they would not. The caller's. */
char *rendezvous_warning(const struct job_config *job, bool has_devices);

/* --- whether the first can start --- */

struct start_check {
    const struct space *space;
    struct db *db;
    int64_t sweep_id;
    char *const *environment; /* the runner's */
    const char *launcher;     /* the program that starts jobs on other machines ("sbatch"), which is looked for instead;
                               * NULL: they run on this one */
};

/* ERROR_USAGE where a job is due and there is no such launcher, working directory or program. A directory or program
 * that is another for each job is left to them. */
int start_check(const struct start_check *c, struct error *e);

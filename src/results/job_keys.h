/* How a job was started. */
#pragma once

#include "database/db.h"

/* How the attempt that represents a job, or else its newest one, was started. */
struct job_launch {
    char **command;           /* NULL-terminated; empty: never started */
    char **environment;       /* NAME=value as declared, NULL-terminated; secrets as "[redacted]" */
    char *working_directory;  /* NULL: not recorded */
    char *spec;               /* what MESHSWEEP_SPEC was */
    char *path;               /* the runner's PATH; NULL: not recorded */
    char *job_files;          /* store_directory() */
    char *files;              /* the attempt's directory, relative to that; NULL: none was kept */
    char **given;             /* paths of the files in it that the job was given, NULL-terminated */
    char *measured_elsewhere; /* "table.csv:12": imported, so there is no command; NULL: it was not */
};

int job_launch_read(struct db *db, int64_t job_id, struct job_launch *out, struct error *e);
void job_launch_free(struct job_launch *l);

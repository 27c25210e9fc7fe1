/* The keys of a job with their values as text. */
#pragma once

#include "database/db.h"

struct job_key {
    char *section; /* "model", …, "derived" */
    char *name;
    char *text; /* the value as text; lists as JSON */
    char *json; /* the value as in the sweep file: 1, 0.5, "text", true, [1, 2] */
};

struct job_keys {
    struct job_key *items; /* in the order of the view results */
    size_t count;
};

/* Adds those of the job to `*out`; the caller's: job_keys_free. */
int job_keys_read(struct db *db, int64_t job_id, struct job_keys *out, struct error *e);
void job_keys_free(struct job_keys *k);

/* How the attempt that represents a job, or else its newest one, was started. */
struct job_launch {
    char **command;           /* NULL-terminated; empty: never started */
    char **environment;       /* NAME=value as declared, NULL-terminated; secrets as "[redacted]" */
    char *working_directory;  /* NULL: not recorded */
    char *spec;               /* what MESHSWEEP_SPEC was */
    char *path;               /* the runner's PATH; NULL: not recorded */
    char *job_files;          /* store_directory() */
    char *files;              /* the attempt's directory, relative to that; NULL: none was kept */
    char *measured_elsewhere; /* "table.csv:12": imported, so there is no command; NULL: it was not */
};

int job_launch_read(struct db *db, int64_t job_id, struct job_launch *out, struct error *e);
void job_launch_free(struct job_launch *l);

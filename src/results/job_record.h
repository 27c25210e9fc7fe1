/* All that is recorded about one job, part by part: each part is a statement whose columns name what they hold. */
#pragma once

#include "database/db.h"

struct cJSON;

/* The job that `word` names: its number, or the beginning of its key (8 hexadecimal digits or more). A number that is
 * both is the job of that number. ERROR_USAGE for another word and for a beginning that several keys have;
 * ERROR_NOTHING when there is no such job. */
int job_named(struct db *db, const char *word, int64_t *job_id, struct error *e);

enum job_part {
    JOB_PART_JOB,      /* one row */
    JOB_PART_METRICS,  /* of the attempt that represents it */
    JOB_PART_POINTS,   /* of its curves, likewise */
    JOB_PART_ATTEMPTS, /* oldest first */
    JOB_PART_GIVEN,    /* files that they found in their directories when they started */
    JOB_PART_FIXTURES, /* starts of [[fixture]] that they used */
    JOB_PART_FILES,    /* that they left in their directories, the largest first */
    JOB_PART_CHANGES,  /* what was changed afterwards, oldest first, each with what it replaced */
    JOB_PART_NOTES,    /* likewise; what is said of it and of its attempts */
    JOB_PART_COUNT
};

extern const char *const job_part_names[JOB_PART_COUNT];

/* The first or next row of a part, as db_next has it. Columns whose values are absent are NULL. */
int job_part_next(struct db *db, enum job_part part, int64_t job_id, struct stmt **s, struct error *e);

/* The part as JSON: what is said of the job stands in `root`, metrics in an object by name, attempts in a list. */
int job_part_add_json(struct cJSON *root, struct db *db, enum job_part part, int64_t job_id, struct error *e);

/* The output of an attempt, for those who follow it. */
struct job_log {
    int64_t attempt_id, number;
    bool ended;
    int64_t slot;    /* -1: none */
    char *directory; /* relative to store_directory(); NULL: none was kept, or it is in the slot's file */
    char *tail;      /* its end as recorded; NULL: none */
};

/* Reads that of the attempt of that number, or with 0 of the newest that was started. ERROR_NOTHING when there is
 * none. */
int job_log_read(struct db *db, int64_t job_id, int64_t number, struct job_log *out, struct error *e);
void job_log_free(struct job_log *l);

/* --- how it was launched --- */

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

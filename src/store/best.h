/* The winner of the current sweep under its objective, and those close behind. */
#ifndef MESHSWEEP_STORE_BEST_H
#define MESHSWEEP_STORE_BEST_H

#include "store/db.h"

#define BEST_TOLERANCE 0.02 /* close behind: within 2 % of the winner's value */
#define BEST_LISTED 6       /* the winner and at most five others */

struct best_key {
    char *section; /* "model", …, "derived" */
    char *name;
    char *text; /* the value as text; lists as JSON */
};

struct best_job {
    int64_t job_id;
    double value;
    struct best_key *keys; /* in the order of the view results */
    size_t key_count;
};

struct best {
    char *objective, *unit, *sweep; /* unit "" for none */
    bool maximise;
    struct best_job *jobs; /* the winner first; equal values in the order of their jobs */
    size_t count;          /* 0: no job is ok with a finite objective, and nothing below is filled */
    bool more;             /* others are as close */
    char **command;        /* of the winner's attempt, NULL-terminated */
    char **environment;    /* NAME=value as declared, NULL-terminated; secrets as "[redacted]" */
    char *directory;       /* of its files, relative to store_directory(); NULL: none were kept */
    char *job_json;        /* {"job":…,"key":…,"sweep":…,"keys":{"model":{…},…},"command":[…],…} */
    char *metrics_json;    /* {"throughput":{"value":…,"unit":…,"count":…,"mean":…,…},…} */
};

/* ERROR_USAGE when the sweep declares no objective, with what to add; ERROR_NOTHING when no sweep has been recorded. */
int best_read(struct db *db, struct best *out, struct error *e);
void best_free(struct best *b);

#endif

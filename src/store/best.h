/* The winner of the current sweep under its objective, and those close behind. */
#ifndef MESHSWEEP_STORE_BEST_H
#define MESHSWEEP_STORE_BEST_H

#include "store/job_keys.h"
#include "store/pareto.h"

#define BEST_TOLERANCE 0.02 /* close behind: within 2 % of the winner's value */
#define BEST_LISTED 6       /* the winner and at most five others */

struct best_job {
    int64_t job_id;
    double value;
    struct job_keys keys;
};

/* Global batches of the jobs that could have won. Steps of different batches do different work. */
struct batch_spread {
    int64_t winner;       /* 0: not said; then nothing below */
    int64_t others;       /* how many other batches there are */
    int64_t least, most;  /* of the others */
};

struct best {
    char *objective, *unit, *sweep; /* unit "" for none */
    bool maximise;
    struct best_job *jobs; /* the winner first; equal values in the order of their jobs */
    size_t count;          /* 0: no job is ok with a finite objective, and nothing below is filled */
    bool more;             /* others are as close */
    struct pareto pareto;  /* of several objectives; the first winner among equals is in it */
    struct batch_spread batches;
    struct job_launch launch; /* of the winner's attempt */
    char *directory;       /* of its files, relative to store_directory(); NULL: none were kept */
    char *job_json;        /* {"job":…,"key":…,"sweep":…,"keys":{"model":{…},…},"command":[…],…} */
    char *metrics_json;    /* {"throughput":{"value":…,"unit":…,"count":…,"mean":…,…},…} */
};

/* ERROR_USAGE when the sweep declares no objective, with what to add; ERROR_NOTHING when no sweep has been recorded. */
int best_read(struct db *db, struct best *out, struct error *e);
void best_free(struct best *b);

#endif

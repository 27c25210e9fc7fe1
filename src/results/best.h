/* The winner of the current sweep under its objective, and the jobs close to it. */
#pragma once

#include "results/conditions.h"
#include "results/configurations.h"
#include "results/job_keys.h"
#include "results/pareto.h"

struct cJSON;

#define BEST_TOLERANCE 0.02 /* close behind: within 2 % of the winner's value */
#define BEST_LISTED 6       /* the winner and at most five others */

struct best_job {
    int64_t job_id;                            /* of replicates the one in the middle */
    double value;                              /* of replicates the mean */
    const struct configuration *configuration; /* NULL where jobs compete, not configurations. Borrowed */
    struct job_keys keys;
};

/* Global batches of the jobs that could have won. Steps of different batches do different work. */
struct batch_spread {
    int64_t winner;      /* 0: not said; then nothing below */
    int64_t others;      /* how many other batches there are */
    int64_t least, most; /* of the others */
};

struct best {
    char *objective, *unit, *sweep; /* unit "" for none */
    bool maximise;
    struct best_job *jobs;                /* the winner first; equal values in the order of their jobs */
    size_t count;                         /* 0: no job is ok with a finite objective, and nothing below is filled */
    bool more;                            /* others are as close */
    struct configurations configurations; /* all that compete, where replicate keys or groups are listed */
    size_t alike;                         /* of replicates: others that cannot be told apart from the winner */
    struct conditions conditions;         /* of [sweep] subject_to; filled also when no job is best */
    struct pareto pareto;                 /* of several objectives; the first winner among equals is in it */
    struct batch_spread batches;
    struct job_launch launch; /* of the winner's attempt */
    char *directory;          /* of its files, relative to store_directory(); NULL: none were kept */
    struct cJSON *job; /* the winner as a document: {…, "job": …, "key": …, "keys": {…}, "metrics": {…}} */
};

/* ERROR_USAGE when the sweep declares no objective, with what to add; ERROR_NOTHING when no sweep has been recorded.
 * Where there are groups it is the winner of the first one. */
int best_read(struct db *db, struct best *out, struct error *e);

/* Reads the best of the group of that text ("model.name=1B, num_hosts=1") or, where there is none, of those that have
 * it as a part ("num_hosts=1"), as if there were no others. ERROR_USAGE where there are none, with those that there
 * are. */
int best_read_group(struct db *db, const char *group, struct best *out, struct error *e);

/* How many groups have a winner; 0 without groups. */
size_t best_group_count(const struct best *b);
void best_free(struct best *b);

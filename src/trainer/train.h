/* The work of one rank: its device, its share of the model, and the training loop. */
#ifndef TRAINER_TRAIN_H
#define TRAINER_TRAIN_H

#include "trainer/collective.h"
#include "trainer/corpus.h"
#include "trainer/options.h"

/* What all ranks of a job share; borrowed. */
struct train_job {
    const struct options *options;
    const struct corpus *corpus;
    struct collective_group *group;
};

/* Trains as one rank, in its own process; rank 0 reports. 0, or -1 with *e. */
int train_rank(const struct train_job *job, int rank, struct error *e);

#endif

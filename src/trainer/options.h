/* The command line of meshsweep-trainer. One table (options.c) defines parsing, defaults, ranges and help. */
#ifndef TRAINER_OPTIONS_H
#define TRAINER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "trainer/error.h"

struct options {
    int layers;
    int hidden;
    int heads;
    int seq;
    int vocab;
    int micro_batch;
    int global_batch;
    int ranks;
    int zero_stage;
    int steps;
    int warmup_steps; /* not in the median; fewer than steps */
    double learning_rate;
    uint64_t seed;
    size_t device_memory_bytes; /* 0: without limit */
    bool checkpointing;
    const char *data_path;    /* NULL: generated text */
    const char *metrics_path; /* NULL: none */
    bool help;
};

/*
 * Fills *o from defaults and arguments; strings are borrowed from argv. --help stops parsing and sets only
 * `help`. 0, or -1 with one sentence in *e and STATUS_USAGE.
 */
int options_parse(struct options *o, int argc, char *const *argv, struct error *e);

/* Micro-batches per rank and step. */
int options_accumulation(const struct options *o);

void options_print_help(FILE *out);

#endif

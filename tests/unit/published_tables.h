/* The published tables that predictions are compared with: which of their columns are which inputs, what they measured
 * and how. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "predict/predictor.h"
#include "shared_data.h"

#define GIB 1073741824.0
#define SMI_GB (1000 * 1048576.0) /* nvidia-smi's MiB, in thousands */

enum counter { COUNTER_RESERVED, COUNTER_ALLOCATED, COUNTER_DEVICE };
enum whose { WHOSE_MOST, WHOSE_FIRST, WHOSE_LAST };

struct table {
    const char *name, *file, *framework;
    /* Inputs: "input", the column of that name; "input=column"; "input:value"; several with ";" between. Behind "@" is
     * for which rows: "column=text" and "column<text" (the cell is less), separated by commas. */
    const char *given;
    const char *memory; /* column; NULL: none */
    double unit;
    const char *ran, *ran_value; /* a row ran where this column is that; NULL: all did */
    const char *left_out;        /* column; rows where it is neither empty nor 0 are left out; NULL: none */
    enum counter counter;
    enum whose whose;
    const char *only[6]; /* rows where these columns are that, in pairs; NULL: all */
    const char *time;    /* column with the seconds of a step; NULL: none */
    double seconds;      /* in its units */
    const char *rate;    /* column with the tokens a second of a device; NULL: none */
    double network;      /* bytes a second of a device, as the source says; 0: not said */
    double latency;      /* seconds, of the network */
    double most;         /* the mean error of memory is asserted to be no more; 0: not */
    const char *failed;  /* value of `ran` where a row ran out of memory; NULL: no row is said to have */
    bool aside;          /* the same runs again, by another counter: no evidence */
};

/* The names that most tables share. */
#define SHAPE "layers hidden heads "
#define BATCHES "micro_batch=mbs gradient_accumulation=grad_acc "
#define DEGREES "tp pp dp "

extern const struct table published_tables[];
extern const size_t published_table_count;

bool published_failed(const struct shared_table *t, size_t row, const struct table *spec);

/* True for rows that neither ran nor ran out of memory, and those that the table is not about. */
bool published_left_out(const struct shared_table *t, size_t row, const struct table *spec);

/* INPUT_COUNT values, which hold until the next are read. */
void published_values(const struct shared_table *t, size_t row, const struct table *spec, struct input_value *values);

/* A row as what is predicted, completed, and what was measured. */
struct published_run {
    struct architecture architecture;
    struct training_plan plan;
    struct cluster cluster;
    bool failed;                 /* it ran out of memory */
    double memory_bytes, step_s; /* 0: not measured */
};

/* MosaicML's clusters, each of which is a table. */
#define MPT_CLUSTERS 3
extern const char *const mpt_clusters[MPT_CLUSTERS];

/* Ends the test where no table has that name. */
const struct table *published_table(const char *name);

/* False for rows that are left out or cannot be (more stages than layers). */
bool published_read(const struct shared_table *t, size_t row, const struct table *spec, struct published_run *out);

/* The same of nanotron's runs with tp of `tensor_most` at most. */
bool ultrascale_read(const struct shared_table *t, size_t row, int64_t tensor_most, struct published_run *out);
struct memory_prediction published_memory(const struct published_run *run, const struct memory_coefficients *c);

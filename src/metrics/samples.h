/* The samples that an attempt reported: by name, in bounded memory whatever the number of steps, and what they come
 * to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/sweep.h"
#include "store/attempts.h"

/* --- quantiles ---
 *
 * Quantiles of any number of values in bounded memory (Munro and Paterson 1980): sorted buffers of equal size whose
 * values stand for 1, 2, 4, … of those that came; two buffers that stand for as many become one with every second value
 * of both. */

/* The rank of the value returned for a share of n values is wrong by at most n * b / 2048, where b is the number of
 * times that n can be halved until it is below 1024: by 0.5 % of a million and 1 % of a thousand millions. In practice
 * it is a tenth of that. Exact up to 1024. */
#define QUANTILE_SKETCH_BUFFER 1024

struct quantile_sketch;
struct quantile_sketch *quantile_sketch_create(void);
struct quantile_sketch *quantile_sketch_copy(const struct quantile_sketch *q); /* of NULL: NULL */
void quantile_sketch_free(struct quantile_sketch *q);

/* Not NaN. */
void quantile_sketch_add(struct quantile_sketch *q, double value);

/* The share-quantile (0 to 1) of what was added, at least one value. */
double quantile_sketch_at(const struct quantile_sketch *q, double share);

/* --- samples --- */

#define SAMPLES_MOST 200000 /* kept of one attempt, over all names */
#define SAMPLE_NAMES_MOST 1000

struct sample {
    size_t metric; /* index into struct sample_list.names */
    int64_t step;  /* as the job stated, else counted from 0 per metric */
    double value;  /* may be NaN or infinite: kept as such */
};

/* A filter for the samples of a metric that count: those of the steps from `first_step` to `last_step` (0: no end)
 * after the first `warmup` ones. Where that leaves none, the last one counts. */
struct sample_filter {
    int64_t warmup, first_step, last_step;
};

/* The tally of all samples of a name, also those that were not kept. NaN and infinity have no part in the
 * statistics. */
struct tally {
    int64_t reported;
    int64_t counted, not_finite; /* of those that count by the filter */
    double mean, squares;        /* of the counted: squares of the distances from the mean, added up (Welford 1962) */
    double minimum, maximum;
    double last;       /* that counts; NaN: none */
    int64_t last_step; /* of all; -1: none */
};

/* How one name is kept. */
struct series {
    struct sample_filter filter;
    struct tally tally;
    int64_t stride;    /* every stride-th one is kept, from the first on */
    int64_t next_step; /* of a sample whose step the job does not state */
    struct sample last;
    struct quantile_sketch *quantiles; /* of all that count, once samples were dropped; NULL: all are kept */
};

/* Samples of one name are in the order in which they were found. */
struct sample_list {
    char **names;
    struct series *series; /* per name */
    size_t name_count;
    struct sample *samples;
    size_t count;
    int read_error;           /* errno when the machine could not read all that was there; 0: it could */
    size_t malformed_lines;   /* of $MESHSWEEP_METRICS and JSON-lines readers: torn or not an object */
    size_t malformed_metrics; /* of these, those of $MESHSWEEP_METRICS, where nothing else has a place */
    size_t nameless;          /* samples of more names than are kept */
    size_t oversized_files;   /* JSON and CSV files that are too large to be read */
    size_t oversized_lines;   /* lines of JSON that are */
    size_t irregular_files;   /* pipes, devices, directories where a file is named: not read */
    int64_t passed_bytes;     /* of other files, between their first and last half GiB */
    int64_t unread_bytes;     /* of the output: written faster than they could be read, and kept */
    size_t cut_numbers;       /* that a regular expression takes only a part of: no samples */
    char cut_example[96];     /* the first of them: "loss: 5 of 1.5e-05" */
};

#define SAMPLE_LIST_INIT ((struct sample_list){0})
void sample_list_free(struct sample_list *l);
void sample_list_copy(const struct sample_list *l, struct sample_list *out);

/* The index of a name; `name_count`: there is none. */
size_t sample_list_find(const struct sample_list *l, const char *name);

/* A new name; its index. */
size_t sample_list_add_name(struct sample_list *l, const char *name, struct sample_filter filter);

/* Adds a sample of name `metric`; `step` below 0: not stated. When SAMPLES_MOST are there, the names that have most
 * keep every second of theirs: the first always, the last by sample_list_complete. */
void sample_list_add(struct sample_list *l, size_t metric, int64_t step, double value);

/* The last sample of each name is among those that are kept. Called once, after the last sample_list_add. */
void sample_list_complete(struct sample_list *l);

/* Adds a sample that was not read but seen, as the last of its name. */
void sample_list_add_seen(struct sample_list *l, const char *name, double value);

/* The finite samples of a name that count, of those that are kept; the caller's. */
double *sample_list_counted(const struct sample_list *l, size_t metric, size_t *count);

/* Summarises all of a name's samples: the median and the 90th percentile of samples that were thinned are within the
 * error of a quantile sketch, at most 0.5 % of the ranks of a million. */
struct summary sample_list_summarise(const struct sample_list *l, size_t metric, enum take take);

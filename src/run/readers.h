/* Metrics from what an attempt left behind: pure parsing over files. */
#ifndef MESHSWEEP_RUN_READERS_H
#define MESHSWEEP_RUN_READERS_H

#include <stddef.h>
#include <stdint.h>

#include "config/sweep.h"
#include "util/error.h"

struct sample {
    size_t metric; /* index into struct sample_list.names */
    int64_t step;  /* as the job stated, else counted from 0 per metric */
    double value;  /* may be NaN or infinite: kept as such */
};

/* Samples in the order in which they were found; names are those of the readers, then what $MESHSWEEP_METRICS adds. */
struct sample_list {
    char **names;
    size_t name_count;
    struct sample *samples;
    size_t count;
    int read_error;         /* errno when the machine could not read all that was there; 0: it could */
    size_t malformed_lines; /* of $MESHSWEEP_METRICS and JSON-lines readers: torn or not an object */
    size_t malformed_metrics; /* of these, those of $MESHSWEEP_METRICS, where nothing else has a place */
};

#define SAMPLE_LIST_INIT {0}
void sample_list_free(struct sample_list *l);

/* Adds a sample that was not read but seen, as the last of its name. */
void sample_list_add(struct sample_list *l, const char *name, double value);

/* Compiled readers of one sweep; regular expressions are compiled once. `metrics` is borrowed until
 * reader_set_free. */
struct reader_set;
int reader_set_create(const struct metric *metrics, size_t count, struct reader_set **out, struct error *e);
void reader_set_free(struct reader_set *r);

/* Reads the log (NULL: none), the metrics file (NULL: none) and files in `job_dir` (NULL: none) that readers name.
 * A file that is missing, binary or torn yields fewer samples, never an error (see read_error). A metric has the samples of the first of
 * its readers (its own, then its fallbacks) that found any; what the job itself wrote to the metrics file under its name
 * goes with the first. Memory is bounded whatever the size: lines over 64 KiB are cut, at most 1,000,000 samples of
 * 1,000 names are kept, the first ones. A regular expression's group must catch a number, "nan" or "inf" and nothing
 * besides blanks and a closing ".,;:%"; "1,234.5" is one. */
void readers_read(const struct reader_set *r, const char *log_path, const char *metrics_path, const char *job_dir,
                  struct sample_list *out);

/* Whether the log (its first and last 8 MiB) holds at least one sample of any reader. */
int readers_any(const struct reader_set *r, const char *log_path);

struct summary {
    double value; /* after `take`; NaN when a counted sample is NaN, save that the last is the last */
    double mean, median, minimum, maximum, stddev, p90;
    int64_t count; /* samples counted, after warm-up; 0: no summary */
};

/* Drops `warmup` leading values (but never all: the last one stays), then summarises. `values` is reordered. */
struct summary summarise(double *values, size_t count, int64_t warmup, enum take take);

#endif

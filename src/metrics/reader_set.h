/* Internals of readers, shared by the files that read: a sweep's compiled readers and what they collect. */
#pragma once

#include "metrics/readers.h"
#include "pattern/line_pattern.h"
#include "util/hash.h"
#include "util/line_reader.h"

/* One way to read a metric: its own, or a fallback's. Samples are gathered under the reader's index, so that those of
 * fallbacks can be left out when it turns out that they are not wanted. */
struct metric_reader {
    const struct metric *source; /* how */
    const struct metric *metric; /* what */
    size_t first;                /* index of the metric's first reader */
    size_t index;
    struct line_pattern pattern; /* READER_REGEX */
    bool compiled;
};

struct reader_set {
    int64_t first_step, last_step; /* that count */
    struct metric_reader *readers;
    size_t count;
    bool has_curves; /* of some metric samples are of points */
};

/* A list that grows, and what makes that cheap. */
struct collector {
    struct sample_list list;
    const struct reader_set *set;
    double numerators[SAMPLE_NAMES_MOST]; /* of readers that have one; 0: not read */
    bool *matched;                        /* per reader: in the present line */
    size_t last;                          /* name of the last sample: jobs report the same names in the same order */
    struct hash_map by_name;              /* each name's index */
    size_t first[SAMPLE_NAMES_MOST];      /* of the metric that a name is of: its own, or that of its first reader */
    size_t own[SAMPLE_NAMES_MOST];        /* of a first reader: the name of what the job itself wrote; 0: nothing */
    bool has_ended;                       /* nothing more is written: a last line without an end is whole */
    bool any;                             /* a reader found a sample, perhaps one that cannot be reckoned with yet */
};

struct collector *collector_create(const struct reader_set *set);
struct collector *collector_copy(const struct collector *c);
void collector_free(struct collector *c);

/* `step` below 0: not stated. */
void collector_add_read(struct collector *c, const struct metric_reader *r, int64_t step, double value);
void collector_add_named(struct collector *c, const char *name, int64_t step, double value);

/* Returns what the sweep declares of that name, where it is a curve; NULL: it is none. Borrowed. */
const struct metric *collector_curve(const struct collector *c, const char *name);

/* Leaves one name of each metric, with the samples of the one source that counts. Called once, at the end. */
void collector_drop_fallbacks(struct collector *c);

/* Collects what the regular expression finds in a piece of a line, at most once in each line. */
void collector_match(struct collector *c, const struct metric_reader *r, const struct line_piece *piece);

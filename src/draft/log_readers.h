/* Writes the readers of a sweep file for the log of a script. */
#pragma once

#include "metrics/proposals.h"
#include "util/buffer.h"
#include "util/error.h"

/* How to read a log. */
struct log_readers {
    char *profile;                  /* built-in profile that reads it; NULL: none */
    char *metrics;                  /* the profile's metrics that were found, separated by commas */
    char *numbers;                  /* comments on the numbers of each, a line each */
    char *objective;                /* "max:throughput"; NULL: not known */
    struct proposal_list proposals; /* if there is no profile */
    const char *path;               /* name of the log for comments; borrowed */
};

/* Reads a log of at most 64 MiB and chooses readers: the profile that finds most metrics in it, at least two; else what
 * is known of the program that wrote it; else proposals from its lines; else a profile that finds one. Finding nothing
 * is not an error. */
int log_readers_find(const char *path, struct log_readers *out, struct error *e);
void log_readers_free(struct log_readers *l);

/* What is found, as sql/texts/log_readers.sql takes it. The caller's. */
struct cJSON *log_readers_document(const struct log_readers *l);

/* Writes the tables [job.metrics.NAME], each with a comment on how sure it is, or a line that names the profile. */
void log_readers_add_toml(const struct log_readers *l, struct buffer *out);

/* Adds what the readers of a sweep file's text find in the log, a line for each metric and one for an objective that
 * has no number. -1 where it is no sweep file. */
int log_readers_try(const char *path, const struct buffer *sweep_file, struct buffer *out, struct error *e);

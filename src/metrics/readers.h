/* Reads metrics from the files of an attempt: pure parsing. */
#pragma once

#include "config/sweep.h"
#include "metrics/samples.h"
#include "util/error.h"

/* Compiled readers of one sweep; regular expressions are compiled once. `job` says which steps
 * count; its metrics are borrowed until reader_set_free. */
struct reader_set;
int reader_set_create(const struct job_config *job, struct reader_set **out, struct error *e);
void reader_set_free(struct reader_set *r);

/* Returns whether a reader reads another file than the output. */
bool reader_set_reads_files(const struct reader_set *r);

/* Reads the log (NULL: none), the metrics file (NULL: none) and files in `job_dir` (NULL: none) that readers name. A
 * file that is missing, binary or torn yields fewer samples, never an error (see read_error). A metric has the samples
 * of one source: what the job itself wrote to the metrics file under its name, else the first of its readers (its own,
 * then its fallbacks) that found any. Memory is bounded whatever the size: evenly spaced samples of a great many steps
 * are kept (metrics/samples.h), and the first SAMPLE_NAMES_MOST names; a line of JSON over 4 MiB and a JSON file over
 * 16 MiB are left out, and counted. In a line over 64 KiB a match is found whole where it has at most 4 KiB. A regular
 * expression's group must catch a number, "nan" or "inf" and nothing besides blanks and a closing ".,;:%"; "1,234.5" is
 * one. */
void readers_read(const struct reader_set *r, const char *log_path, const char *metrics_path, const char *job_dir,
                  struct sample_list *out);

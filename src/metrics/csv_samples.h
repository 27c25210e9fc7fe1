/* Samples from CSV files as loggers of training frameworks write them: a header, then a row per step or epoch. */
#ifndef MESHSWEEP_METRICS_CSV_SAMPLES_H
#define MESHSWEEP_METRICS_CSV_SAMPLES_H

#include "metrics/reader_set.h"

/* The numbers of the reader's column, each with its row's `step` where there is a column of that name. Cells stand
 * between commas, or what the header has in their place: tabs, semicolons. A cell that is not a number is not a sample.
 * A last row without a line end counts once nothing more is written, if it has as many cells as the header. 0, or the
 * errno of what could not be read. Takes `fd`. */
int csv_samples_read(int fd, const struct metric_reader *r, struct collector *c);

#endif

/* Two runs, or two sets of them, side by side: `compare JOB JOB` and `compare SQL SQL`. */
#pragma once

#include <stdbool.h>

#include "util/error.h"

/* Returns whether the word names jobs, not a database: a job's number or the beginning of its key, or a condition in
 * SQL. */
bool compare_names_jobs(const char *word);

/* Prints it. An exit status, or -1. */
int compare_jobs(const char *db, char *const words[2], bool json, struct error *e);

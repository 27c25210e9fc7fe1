/* Writes the readers of a sweep file for the log of a script. */
#ifndef MESHSWEEP_DRAFT_LOG_READERS_H
#define MESHSWEEP_DRAFT_LOG_READERS_H

#include "metrics/proposals.h"
#include "util/buffer.h"
#include "util/error.h"

/* What a log turned out to be. */
struct log_readers {
    char *profile;                  /* that reads it, of those that the program carries; NULL: none */
    char *metrics;                  /* of the profile that it found, with commas between them */
    char *objective;                /* "max:throughput"; NULL: nothing to go by */
    struct proposal_list proposals; /* where there is no profile */
    const char *path;               /* what comments call the log; borrowed */
};

/* Reads a log of at most 64 MiB and looks for readers: the profile that finds most metrics in it, at least two; else
 * proposals of its lines; else a profile that finds one. Nothing found is no error. */
int log_readers_find(const char *path, struct log_readers *out, struct error *e);
void log_readers_free(struct log_readers *l);

/* The tables [job.metrics.NAME], each with a comment on how sure it is; or a line that names the profile. */
void log_readers_add_toml(const struct log_readers *l, struct buffer *out);

#endif

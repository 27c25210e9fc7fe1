/* Standard output and standard error of one job, separately and together in one log.
 *
 * Each is a pipe, which a thread empties into the common log and into its own file, in the order in which the
 * kernel hands them over: that within a stream is always the job's, that between them as far as the thread is awake
 * when they are written. The job no longer writes into its own log: it waits when the thread does, and is sent
 * SIGPIPE when this process has died. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define STREAMS_OUT_FILE "stdout.log"
#define STREAMS_ERR_FILE "stderr.log"

enum { STREAM_COUNT = 2, STREAMS_DESCRIPTORS = 7 /* that are open while a job runs */ };

struct streams;

/* The directory of an attempt, borrowed until streams_end. */
struct streams_place {
    int fd;
    const char *path;
};

/* Empties two new pipes into `log_fd` (taken, whatever comes of it) and into stdout.log and stderr.log at `place`, made
 * anew; each of the two keeps its head and tail where it outgrows `cap_bytes` (process/log_cap.h), which the
 * common log's owner sees to itself. `child`: the ends for standard output and standard error, the caller's.
 * -1: errno is set, and nothing is begun. */
int streams_begin(int log_fd, const struct streams_place *place, int64_t cap_bytes, int child[STREAM_COUNT],
                  struct streams **out);

/* Returns whether nobody holds an end to write to any more, and all that was written is in the files. */
bool streams_ended(const struct streams *s);

/* Ends the copying: what has been written by now is in the files, and those who still hold an end are not heard any
 * more. A file of a stream to which nothing was written is removed. NULL is none. */
void streams_end(struct streams *s);

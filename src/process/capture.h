/* The files to which a job's output and metrics go while it runs, and what is kept of them at its end.
 *
 * A slot owns one log file that job after job appends to as long as it stays empty: making a file costs as much as
 * running /bin/true. Attempts with their own directory write there from the start; where it is asked for their
 * standard output and standard error are also kept apart, beside the log that has both (process/capture.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STREAMS_OUT_FILE "stdout.log"
#define STREAMS_ERR_FILE "stderr.log"

enum { STREAM_COUNT = 2, STREAMS_DESCRIPTORS = 7 /* that are open while a job runs */ };

struct streams;

struct capture {
    char *scratch_dir; /* absolute */
    size_t slot;
    int64_t cap_bytes;
    int owners_fd;           /* see slot_owners_open; borrowed, -1: none */
    int room_fd;             /* a file beside the slots', to ask whether the disk is full; borrowed, -1: none */
    int idle_fd;             /* the slot's empty log, open for reading; -1: none yet */
    int fd;                  /* the running attempt's log, open for reading; -1: none */
    char *log_path;          /* of the running attempt */
    char *metrics_path;      /* of the running attempt */
    char *own_dir;           /* the attempt's directory, where both lie already; NULL: none */
    int directory;           /* its descriptor from its birth on; -1: none */
    bool keeps_apart;        /* stdout.log and stderr.log are asked for */
    struct streams *streams; /* of the running attempt, NULL: it writes into its log itself */
};

/* Removes what a dead runner left in the directory of slots: what was wanted lies in job directories. */
void capture_tidy(const char *scratch_dir);

/* `scratch_dir` is absolute and exists; it is copied. Cannot fail: files are made when needed. */
void capture_init(struct capture *c, const char *scratch_dir, size_t slot, int64_t cap_bytes);
void capture_free(struct capture *c);

/* Prepares for one attempt. With `own_dir` (absolute) the directory is made and the files lie in it. `child`: the
 * descriptors to hand to the child as standard output and standard error, which may be one; the caller's, for
 * capture_close_child after the start. -1 with errno set, and nothing begun. */
int capture_begin(struct capture *c, int64_t attempt, const char *own_dir, int child[STREAM_COUNT]);
void capture_close_child(int child[STREAM_COUNT]);

/* Undoes capture_begin for a child that never ran. */
void capture_abandon(struct capture *c);

/* Signs that the job is alive: they change whenever it writes. */
struct capture_activity {
    int64_t log_bytes;
    int64_t log_changed_ns, metrics_changed_ns; /* 0 when there is no such file */
    int64_t metrics_bytes;
};
struct capture_activity capture_look(const struct capture *c);

/* Tells whether any process still has the running attempt's log, or what leads there, open for writing: the kernel's
 * word, not a guess. */
enum capture_hold {
    CAPTURE_RELEASED = 1,
    CAPTURE_HELD,
    CAPTURE_UNKNOWN, /* the file system has no leases */
};
enum capture_hold capture_hold(const struct capture *c);

/* Returns whether a log of that size is to be read on, before its middle is given back to the file system. */
bool capture_outgrows(const struct capture *c, int64_t log_bytes);

/* Keeps a growing log, of which the first `read_bytes` have been read, within its bound; or, where reading is far
 * behind, within that and CAPTURE_UNREAD_MOST. */
#define CAPTURE_UNREAD_MOST (INT64_C(1) << 30)
void capture_bound(const struct capture *c, int64_t log_bytes, int64_t read_bytes);

struct captured {
    char *log_path;       /* the caller's; NULL when nothing was written */
    char *metrics_path;   /* the caller's; NULL when there is none */
    int64_t log_bytes;    /* as written */
    int64_t cap_bytes;    /* to which log_cap_compact is to cut it, once it has been read; 0: it is not that long */
    int log_error;        /* errno where what was written could not be kept; 0: it was */
    bool directory_moved; /* the attempt's own directory is not what it was: it was removed, moved or replaced */
    bool disk_full;       /* the file system has no room for more: what was written may have been cut off there */
};

/* Moves what was written to <job_dir>/output.log and metrics.jsonl (made, 0700; to the scratch directory under the
 * attempt's number should that fail). It is what the job wrote, whatever has become of the names: a log that was
 * removed, moved or replaced is written anew from the open file. The slot's file is used again only when it is
 * empty and `released`: a straggler must never write into the next attempt's log. */
struct captured capture_end(struct capture *c, int64_t attempt, const char *job_dir, bool released);

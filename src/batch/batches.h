/* Arrays of jobs on their way to a batch system, and with it. Each has its own directory as long as any of
 * its attempts is open, so that a runner that died, at whatever instant, leaves all that the next one needs:
 *
 *   tasks    which attempt each task is, and where; written before anything is submitted
 *   options  what is asked for
 *   script   what was, or is to be, submitted; its comment holds the batch's token
 *   secret   by which its frames are known; of no meaning where files are shared
 *   job      the system's id, once it is known
 *
 * A batch without `job` may have been submitted or not: its token in the queue tells. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch/state.h"
#include "batch/system.h"
#include "process/deadline.h"
#include "process/supervisor.h"
#include "util/error.h"

/* One attempt. */
struct batch_member {
    int64_t attempt;
    char *directory;                     /* relative to the root */
    int64_t limit_ms, grace_ms, minutes; /* the job's own limit, and the system's; 0: none */
    struct deadline_limits watched;      /* idle and startup limits, for the runner to watch */

    enum batch_state queue, accounting;
    enum batch_state seen_queue;  /* at the last decision */
    enum batch_state known;       /* the last that the queue had of it; BATCH_NONE: nothing yet */
    bool is_stuck;                /* it never leaves its state by itself */
    bool again;                   /* the system started it a second time */
    int exit_code, signal_number; /* as the system has them of the batch shell; 0: not asked, or none */
    enum batch_result result;
    struct batch_report report;
    char *nodes, *reason;              /* the system's words; NULL: none yet */
    int64_t since_ms;                  /* when this state and result were first seen together */
    int64_t alive_ms;                  /* when its heartbeat was last seen to beat */
    int64_t result_stamp, alive_stamp; /* of the files when they were last looked at, in ns; 0: not there */
    struct deadline_state progress;
    int64_t written_bytes, written_stamp;
    int64_t fetched_ms;  /* when its log was last looked at; 0: never */
    char *unfetched;     /* what is wrong with its log; NULL: nothing yet */
    bool is_damaged;     /* something of it cannot be taken */
    enum ending because; /* why we cancelled it; ENDING_NONE: we did not */
    int64_t limit_passed_ms;
    bool is_referred;    /* its reference was told */
    const char *waits;   /* why it has not begun, as it was told last; NULL: it has. The executor's */
    bool startup_passed; /* was over at the last look, at which the output had not been read to its end */
    bool reported;       /* its outcome was handed over */
};

enum batch_stage {
    BATCH_OPEN = 1, /* takes more attempts */
    BATCH_READY,    /* to be submitted */
    BATCH_DOUBTFUL, /* submitted or not: the queue tells */
    BATCH_SUBMITTED,
};

struct batch_array {
    char *name;    /* "<runner>-<sequence>" */
    char *options; /* lines by which it is asked for */
    char *refusal; /* the policy for which it was refused last; NULL: none */
    char *secret;  /* of its frames */
    char *exclude; /* nodes; NULL: none. Not among the options: it is dropped where nothing else is left */
    enum batch_stage stage;
    char *job; /* NULL: not known */
    int64_t begun_ms, not_before_ms, backoff_ms;
    /* BATCH_DOUBTFUL: since when the queue answers and does not have it; 0: it has not answered. */
    int64_t unseen_since_ms;
    struct batch_member *members;
    size_t count, left; /* all, and those whose outcome was not reported */
    bool emptied;       /* the queue has it, without a task: each was cancelled by itself */
    bool found;         /* while reattaching: some attempt of it is open */
};

struct batch_list {
    const struct batch_system *system;
    char *root;  /* of the job files, absolute */
    char *token; /* "<database's identity>" */
    bool framed; /* jobs see no files of this machine */
    struct batch_array *arrays;
    size_t count;
};
void batch_list_free(struct batch_list *b);

/* The batch that a further member with these options joins: an open one that has room, or a new one. `name` is taken
 * for a new one, and freed otherwise. */
struct batch_array *batch_list_open(struct batch_list *b, char *name, const char *options, const char *exclude,
                                    int64_t most);

/* Adds it; what it owns is the batch's. */
struct batch_member *batch_array_add(struct batch_array *a, struct batch_member member);

/* Returns whether it is an array to the system. */
bool batch_array_is_one(const struct batch_list *b, const struct batch_array *a);

/* How the system's commands call a member ("9_4"), and with SIZE_MAX the whole; its batch's name while that has no id.
 * The caller's. */
char *batch_reference(const struct batch_list *b, const struct batch_array *a, size_t index);

/* Reads its result file again. */
void batch_read_report(struct batch_member *m, const char *job_dir);

/* Brings what the member wrote by now into its directory where files are not shared. What is wrong with its log is in
 * `unfetched`: as long as it is not NULL, its result is not there. */
void batch_fetch_member(const struct batch_list *b, char *const *environment, struct batch_array *a, size_t index);

/* Whatever the system does with it later, it writes no more: see batch/script.h. */
void batch_close_member(const struct batch_list *b, const struct batch_member *m);

/* Splits off the second half of a batch as one of its own; `name` is taken. */
void batch_list_split(struct batch_list *b, size_t index, char *name);

/* Writes its directory, or what changed in it. `comment` follows the token. 1: its script is longer than a word of a
 * command may be, and that is how it goes there. */
int batch_array_write(const struct batch_list *b, const struct batch_array *a, const char *job_name,
                      int64_t heartbeat_ms, struct error *e);
int batch_array_write_job(const struct batch_list *b, const struct batch_array *a, struct error *e);

/* "DIRECTORY/slurm/NAME/script"; the caller's. */
char *batch_array_file(const struct batch_list *b, const struct batch_array *a, const char *file);

/* Returns what templates are filled with for the whole batch; released with batch_values_free. */
struct batch_values batch_array_values(const struct batch_list *b, const struct batch_array *a, const char *job_name);

/* Returns whether a job's comment is of this batch. */
bool batch_array_owns(const struct batch_list *b, const struct batch_array *a, const char *comment);

/* Reads the directories that are there, for a runner that comes after another; what is no batch is left out. */
void batch_list_load(struct batch_list *b);

/* Removes its directory. */
void batch_array_remove(const struct batch_list *b, const struct batch_array *a);

/* Takes the batch out of the list, and releases it. */
void batch_list_drop(struct batch_list *b, size_t index);

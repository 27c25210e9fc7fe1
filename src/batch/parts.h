/* The executor's insides, shared by its own files only. Each calls those that stand before it: batch_ends,
 * batch_submit, batch_watch, batch_executor. */
#pragma once

#include "batch/batches.h"
#include "batch/client.h"
#include "process/interrupts.h"
#include "run/executor.h"
#include "util/string_list.h"

struct batch_executor {
    struct executor base;
    struct executor_methods methods; /* with the system's name */
    struct batch_system *system;     /* borrowed */
    struct executor_options options;
    const struct batch_config *config; /* borrowed from the sweep */
    struct batch_list batches;
    char **environment; /* of the system's commands, and so of jobs */
    char *job_name;     /* "meshsweep-<sweep>" */
    char *runner;       /* "<runner>": the first part of batch names */
    char *directory;    /* where the runner was started: jobs run there unless they have their own directory */
    int64_t sequence;   /* of batch names */
    struct interrupts interrupts;
    struct outcome *ended; /* a queue: ended_first … ended_count */
    size_t ended_first, ended_count;
    size_t running;
    int64_t poll_due_ms, look_due_ms;
    struct string_list waits;      /* why jobs have not begun, each once */
    char *refused, *refusal;       /* the options of a batch that it does not take, and why; NULL: there was none */
    bool news;                     /* attempts got their reference: the wait returns, so that it is recorded */
    char *log_path, *metrics_path; /* that `files` lent */
};

/* --- batch_ends.c --- */

/* Puts an outcome of the member into the queue; the rest of it is not looked at any more. */
void batch_report(struct batch_executor *x, struct batch_array *a, size_t index, enum batch_decision decision);
/* The same for one that never came to the system, or to a batch; `note` NULL: the run was cancelled. */
void batch_report_not_started(struct batch_executor *x, int64_t attempt, const char *note, bool refused);
void batch_report_unsubmitted(struct batch_executor *x, struct batch_array *a, size_t index, const char *note,
                              bool refused);

char *batch_next_name(struct batch_executor *x);

/* --- batch_submit.c --- */

/* How many jobs a batch has at most. */
int64_t batch_array_size(const struct batch_executor *x);
/* Submits what is ready by now. */
void batch_submit_due(struct batch_executor *x, int64_t now_ms);
/* When the next one may be ready; INT64_MAX: never, as things are. */
int64_t batch_submit_due_ms(const struct batch_executor *x);
/* The system's id of a batch became known. */
void batch_note_job(struct batch_executor *x, struct batch_array *a, const char *job);

/* --- fetch.c --- */

/* Fetches of those that run, the longest not looked at first, in a fifth of the time. */
void batch_fetch_running(struct batch_executor *x);

/* --- batch_watch.c --- */

/* Has it known why the member has not begun, where that is news. */
void batch_note_wait(struct batch_executor *x, struct batch_array *a, size_t index);

/* Asks the queue about all jobs together, and accounting about those that it does not know. */
void batch_poll(struct batch_executor *x, int64_t now_ms);
/* Looks at the files of jobs, and decides about each. */
void batch_look(struct batch_executor *x, int64_t now_ms, bool every);
/* Cancels one at the system. */
void batch_cancel_member(struct batch_executor *x, struct batch_array *a, size_t index, enum ending because);

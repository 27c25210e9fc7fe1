/* Internals of the supervisor, only for its own files: slots, their states and transitions. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/capture.h"
#include "process/deadline.h"
#include "process/process_table.h"
#include "process/supervisor.h"

enum slot_state {
    SLOT_FREE = 0,
    SLOT_RUNNING,     /* the leader runs, within its limits */
    SLOT_SETTLING,    /* the leader ended; what it left may still end of itself (tee, a pipeline's tail) */
    SLOT_TERMINATING, /* TERM and CONT were sent to the whole tree; its grace runs */
    SLOT_KILLING,     /* KILL and CONT are sent until nothing is left */
    SLOT_ENDED,       /* the outcome waits to be fetched */
    SLOT_STATE_COUNT
};

enum slot_event {
    EVENT_SURVIVORS, /* looked: something of the tree is alive */
    EVENT_GONE,      /* looked: the leader is reaped and nothing else is alive */
    EVENT_STOP,      /* a limit passed, or it was cancelled */
    EVENT_HURRY,     /* it was cancelled a second time */
    EVENT_TIME,      /* the state's own time is over */
    SLOT_EVENT_COUNT
};

struct slot {
    enum slot_state state;
    pid_t pid;
    int64_t start_ticks;
    bool leader_gone; /* ended and reaped */
    bool cancelled;
    bool alone; /* nothing else was running since it started */
    int64_t grace_ms;
    struct deadline_limits limits;
    struct deadline_state progress;
    int64_t look_ms;        /* next look at its activity and limits (SLOT_RUNNING) */
    int64_t until_ms;       /* when the state's time is over */
    int64_t check_ms;       /* next look at its tree */
    int64_t check_delay_ms; /* doubles from check to check */
    int64_t oom_before;
    int64_t still_before_us, frozen_before_us; /* of this process, until it started */
    struct capture_activity seen;
    int64_t read_bytes; /* of the log as it was then; all of it where nobody need read it */
    struct capture capture;
    char *job_dir;
    struct outcome outcome;
};

enum { SCAN_INTERVAL_MS = 200 }; /* between two looks for what escaped, each at all processes */

/* A process that outlived its job unnoticed. */
struct escaped_process {
    pid_t pid;
    int64_t start_ticks;
    int64_t terminated_ms; /* when TERM was sent */
};

struct supervisor {
    struct slot *slots;
    struct tree_root *roots; /* one per slot, in step; NO_ROOT where none is running */
    size_t slot_count, running_count;
    char *scratch_dir, *token_prefix;
    uint64_t mark;                     /* of the token, process/process.h */
    struct supervisor_options options; /* without its texts */
    pid_t runner;
    int null_fd, oom_fd, owners_fd, room_fd;
    int64_t oom_count, oom_read_ms; /* last reading */
    struct process_table table;
    bool table_fresh;         /* read in this round, nothing started since */
    int64_t scan_ms;          /* when the next look for what escaped is due; INT64_MAX: nothing ended since the last */
    int64_t scan_interval_ms; /* at least SCAN_INTERVAL_MS; longer where scanning is slow */
    struct escaped_process *escaped;
    size_t escaped_count;
    struct wake wake;
    bool continued;        /* SIGCONT came since the last look at the stillness */
    int64_t still_us;      /* clock_still_us at that look */
    int64_t frozen_us;     /* of that, what no SIGCONT ended: whatever held this process may have held its jobs */
    int64_t just_still_us; /* and what is new in this round: what is reaped now may have ended at any time of it */
    sigset_t watched, old_mask, changed_signals; /* the last: process_changed_signals */
    struct sigaction old_pipe, old_child;
    int was_subreaper;
    struct rlimit open_files; /* as it was, and is for jobs */
};

/* --- supervisor.c --- */

/* Takes note of what clock_still_us has grown by, before anything is reaped or started. */
void supervisor_note_stillness(struct supervisor *s);

/* Moves a slot on, and does what the move asks for. */
void slot_handle(struct supervisor *s, size_t index, enum slot_event event, int64_t now_ms);

/* --- reaping.c --- */

/* The leader's end: its time is what has passed since its start, whether or not this process stood still. */
void supervisor_date_end(const struct supervisor *s, struct slot *slot);

/* Makes s->table fresh, with owners. */
void supervisor_scan(struct supervisor *s);

/* One round: reaps, looks at limits and trees, ends what escaped. Never blocks. */
void supervisor_advance(struct supervisor *s);

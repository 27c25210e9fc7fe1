/* The watch over whether this machine can run jobs now. A job that cannot be started, or whose output cannot be kept,
 * may be to blame itself; different jobs that fail the same way one after the other (what could not be started or
 * entered has the same name, or lies in the same directory), or a reason that is never a job's (no processes, no
 * descriptors, no memory, no room on the disk), are put down to the host. Then the run pauses: such jobs are held, and
 * one job is started now and then to see whether it works; when it does, the held ones are released.
 *
 * A job that fails the same way again though another was started since it was held is to blame itself. */
#pragma once

#include "process/supervisor.h"

/* Returns whether the disk takes another MiB in the directory of what is written while jobs run, synced. */
bool host_has_room(const char *scratch);

enum host_answer {
    HOST_BLAMES_JOB = 1,
    HOST_UNSURE,     /* the next start tells */
    HOST_BLAMES_HOST /* hold the job */
};

struct host_watch {
    const char *scratch; /* what is written while jobs run; borrowed */
    char *directory;     /* the working directory when the run began */
    int64_t give_up_ms;
    bool worked; /* some job could be started, in this run or before */
    /* The last failed start, until another succeeds. */
    int64_t suspect_job;
    int suspect_error;
    char *suspect_way; /* "exec DIRECTORY" */
    int64_t *held;     /* jobs that were held and have not been started since */
    size_t held_count;
    int64_t *ended; /* jobs, as often as they ended for want of the host */
    size_t ended_count;
    bool any_started; /* since the first of these was held */
    bool is_paused, needs_disk, needs_end, is_certain;
    char *why;
    int64_t since_ms, probe_ms, delay_ms; /* monotonic */
};

/* `worked`: jobs of this database could be started before. */
void host_watch_open(struct host_watch *w, const char *scratch, int64_t give_up_ms, bool worked);
void host_watch_close(struct host_watch *w);

/* Judges a job that could not be started (ENDING_SPAWN_FAILED). */
enum host_answer host_watch_judge(struct host_watch *w, int64_t job_id, const struct outcome *o);

/* Judges a job whose output could not be kept or read, and counts it: false when it is to blame itself, as one is that
 * ends so again and again. */
bool host_watch_is_host(struct host_watch *w, int64_t job_id);

/* The event that shows that the host can run jobs again. */
enum host_need { HOST_NEEDS_START = 1, HOST_NEEDS_DISK, HOST_NEEDS_END };

/* A job is held for `why`, a sentence: pauses. True when the pause begins with it. */
bool host_watch_hold(struct host_watch *w, int64_t job_id, const char *why, enum host_need need);

/* A job was started. True when that ends the pause. */
bool host_watch_started(struct host_watch *w, int64_t job_id);

/* One has ended, and the host was not to blame. True when that ends the pause. */
bool host_watch_ended(struct host_watch *w, int64_t job_id);

/* Returns whether a job may be started now: always, unless it pauses; then one, when that is due and what is needed is
 * there. The next is due later each time; `at_once`: now, and soon again. */
bool host_watch_may_start(struct host_watch *w, bool at_once);

/* Until the next is due; -1: it does not pause. */
int64_t host_watch_due_ms(const struct host_watch *w);

/* Returns whether it has paused for as long as it is to; at once where nothing of this sweep has ever been started and
 * the reason may well be the sweep's (no such program). */
bool host_watch_gives_up(const struct host_watch *w);

/* One child: finding its program, starting it with vfork, identifying it reliably, signalling it. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "util/error.h"

/* All borrowed for the length of process_spawn. */
struct process_start {
    const char *program;      /* path handed to execve; relative paths count from `directory` */
    char *const *argv;        /* NULL-terminated */
    char *const *environment; /* NULL-terminated NAME=value */
    const char *directory;    /* NULL: the caller's */
    int input_fd;             /* becomes descriptor 0; 3 or above */
    int output_fd, error_fd;  /* become descriptors 1 and 2; 3 or above, may be the same */
    const sigset_t
        *changed_signals; /* process_changed_signals of any time since which none was changed; NULL: of now */
    uint64_t mark;        /* inherited_mark(); 0: none */
    const struct rlimit *open_files; /* NULL: as the caller's */
};

struct process_failure {
    int error_number;
    const char *stage; /* "fork", "chdir" or "exec"; static */
};

/* The signals of this process that are not at their default: whoever starts many children need not ask for each. */
sigset_t process_changed_signals(void);

/* Starts a child in its own session, with default signal handling, nothing blocked, descriptors 0 to 2 only, and
 * SIGKILL at the death of the thread that called. Returns its pid, with `start_ticks` (as process_start_ticks tells;
 * NULL: not requested), or -1 with `failure` filled and nothing left to be reaped. Any thread may call it. */
pid_t process_spawn(const struct process_start *start, int64_t *start_ticks, struct process_failure *failure);

/* Programs are looked for here if nobody says where. */
#define PROCESS_DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* Returns where execve will find `name`: itself when it holds a slash, else the first executable file along the PATH in
 * `environment` (entries that are relative count from `directory`, as they will for the child). The caller's; NULL with
 * *error_number set (ENOENT, or EACCES when only files that may not be executed were found). */
char *process_find_program(const char *name, char *const *environment, const char *directory, int *error_number);

/* The same open file under a number of 3 or above (close-on-exec): where the standard descriptors are closed, a new one
 * could get their numbers, and dup2 would leave it close-on-exec or overwrite it. Takes `fd`; -1 stays -1. */
int descriptor_above_standard(int fd);

/* The same for both ends of a new pipe. -1 with errno set; what was made of it stands in `ends`, -1 for the rest. */
int pipe_above_standard(int ends[2]);

/* Closes *fd unless it is -1, which it is afterwards. */
void descriptor_close(int *fd);

/* Runs `command` (NULL-terminated, searched for in PATH) in place of this program, with its environment: its signals
 * and exit status are then this process's. Returns only when it could not be started: -1. */
int process_become(char *const *command, struct error *e);

/* The value of `name` in NAME=value strings; NULL when it is missing. Borrowed. */
const char *environment_value(char *const *environment, const char *name);

/* Field 22 of /proc/PID/stat: start time in clock ticks since boot. -1 when there is no such process. */
int64_t process_start_ticks(pid_t pid);

/* Sends `signals` (ended by 0) to the process that has both this pid and this start time. False when it is gone or
 * may not be signalled. */
bool process_signal(pid_t pid, int64_t start_ticks, const int *signals);
/* The signals that end a process, stopped or not. */
extern const int process_terminate[], process_kill[];

/* Waits for the end of a child of the caller's. Returns its status as waitpid tells it. */
int process_reap(pid_t pid);

/* The same, and kills it (SIGKILL) when it has not ended after `limit_us`. */
int process_end_within(pid_t pid, int64_t limit_us);

/* --- the mark that jobs inherit ---
 *
 * A mark that everything a job starts inherits and that no change of environment, session, parent or descriptors takes
 * away: the soft limit of RLIMIT_RTTIME, a resource limit that is without limit nearly everywhere, set to a number so
 * high (over 100,000 years) that it never limits anything. An ordinary user may set it, and anybody may read it
 * in /proc/PID/limits, also of a process that hides its environment.
 *
 * A process loses it where it sets that limit itself (`ulimit -R`, `prlimit --rttime`) or logs in anew through PAM (su,
 * sudo); one that was started by somebody else's daemon never had it. */

/* The mark of a token, "<database>:<runner>" or "<database>" alone; never 0. Both parts are hashed, 31 bits each. */
uint64_t inherited_mark(const char *token);

/* Gives it to the calling process; nothing where another limit, of somebody else's, is in force. Async-signal-safe. */
void inherited_mark_set(uint64_t mark);

/* Returns whether the process bears the mark of the token; with a token of one part, any of that database. */
bool inherited_mark_borne(pid_t pid, const char *token);

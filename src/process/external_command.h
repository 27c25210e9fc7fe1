/* Asking another program a short question (git, sbatch, squeue), telling it something, and waiting for its end. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* All borrowed. */
struct external_command {
    char *const *argv;        /* NULL-terminated; argv[0] is looked up in the PATH of `environment` */
    char *const *environment; /* NULL-terminated NAME=value */
    const char *directory;    /* NULL: the caller's */
    int64_t timeout_ms;       /* then it and its process group are killed */
    size_t bytes_most;        /* kept of each of its outputs; what is beyond is read and dropped */
    const char *input;        /* for it to read; NULL: nothing */
};

struct external_command_result {
    char *output, *errors; /* what it wrote to descriptors 1 and 2, NUL-terminated */
    size_t output_length;
    int exit_code; /* -1 when a signal ended it */
};

#define EXTERNAL_COMMAND_RESULT_INIT ((struct external_command_result){NULL, NULL, 0, -1})
void external_command_result_free(struct external_command_result *r);
/* A local one, which is released where its scope ends: `OWNED_RESULT answer = EXTERNAL_COMMAND_RESULT_INIT;` */
#define OWNED_RESULT __attribute__((cleanup(external_command_result_free))) struct external_command_result

/* Returns 0 when it ran to its end, whatever its status; -1 when it could not be started or took too long. Waits for
 * this one child alone, so it may be called while a supervisor exists, in the same thread. */
int external_command_run(const struct external_command *command, struct external_command_result *out, struct error *e);

/* Who is asked about every 20 ms, as long as it has not ended, whether it goes on. Once the answer is no, its process
 * group gets SIGTERM, and SIGKILL after `grace_ms`. */
struct external_command_watch {
    bool (*goes_on)(void *context);
    void *context;
    int64_t grace_ms;
};

/* The same; what was written and the status are in `out` too if it ended upon SIGTERM. */
int external_command_run_watched(const struct external_command *command, const struct external_command_watch *watch,
                                 struct external_command_result *out, struct error *e);

/* Lets it write to these two descriptors (3 or above), for as long as it takes. A signal among `watched`, which the
 * caller has blocked, ends it and its process group, and is in *signal_number then (0: none came). Returns 0 when it
 * ran to an end, with *exit_code as above; -1 when it could not be started. */
int external_command_pour(const struct external_command *command, const int fds[2], const sigset_t *watched,
                          int *exit_code, int *signal_number, struct error *e);

/* --- pager ---
 *
 * A program that shows standard output page by page on the terminal, such as less: one at a time, as in git. */

/* Starts `command` by /bin/sh, with LESS=FRX and LV=-c in its environment where these are not set: less ends by itself
 * when all fits on the screen, and shows colours. Descriptor 1, and with `with_errors` 2, lead to it from now on. What
 * ends this process by SIGINT, SIGTERM, SIGHUP or SIGQUIT lets the pager, which has the terminal, end first. */
int pager_start(const char *command, bool with_errors, struct error *e);

/* Closes descriptors 1 and 2 and waits until the reader has seen enough; nothing where no pager was started. Ctrl-C is
 * the pager's meanwhile. What streams still hold is to be flushed before. */
void pager_end(void);

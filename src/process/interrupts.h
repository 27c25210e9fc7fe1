/* Signals that ask a runner to stop, for executors that have no children of their own to watch over. */
#pragma once

#include <signal.h>
#include <stdint.h>

#include "process/supervisor.h"

struct interrupts {
    sigset_t watched, old;
};

/* Blocks SIGINT, SIGTERM and SIGHUP (those that were not ignored: nohup is heeded) until interrupts_end. */
void interrupts_begin(struct interrupts *i);
void interrupts_end(struct interrupts *i);

/* Adds SIGINT, SIGTERM and SIGHUP, those that are not ignored, to `set`. */
void interrupts_add(sigset_t *set);

/* Adds what a signal asks for; another one asks for nothing. */
void interrupts_note(int signal_number, struct wake *wake);

/* Waits for one at most `wait_ms` (0: only looks), and adds it to `wake`. */
void interrupts_wait(const struct interrupts *i, int64_t wait_ms, struct wake *wake);

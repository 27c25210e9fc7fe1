/*
 * Rank processes: all succeed, or all end.
 *
 * When a rank fails or is killed, the others are killed, because they would wait for it in a collective
 * forever. When the launcher is killed, the kernel kills the ranks.
 */
#ifndef TRAINER_LAUNCH_H
#define TRAINER_LAUNCH_H

#include "trainer/error.h"

/* Runs in its own process; returns the process's exit status. */
typedef int (*launch_main)(int rank, void *context);

/*
 * Forks `ranks` processes and waits for all of them. 0 if all exited with 0; else -1, and *e has the first
 * failure: its exit status, or 128 + n if signal n killed it.
 */
int launch_ranks(int ranks, launch_main rank_main, void *context, struct error *e);

#endif

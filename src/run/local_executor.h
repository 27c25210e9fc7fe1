/* Processes of this machine, in slots, under a supervisor and a guardian. They die with their runner. */
#pragma once

#include "run/executor.h"

/* An executor_create. What it says of signals and threads in process/supervisor.h holds. */
int local_executor_create(const struct executor_options *options, struct executor **out, struct error *e);

/* The functions of an executor whose processes here stand for jobs elsewhere. Such processes have process groups of
 * their own kind. Every call gets `context`. */
struct local_proxy {
    const char *name; /* as in executor_methods */

    /* The launch as it is to be started here; valid until the next call. */
    const struct launch *(*launch)(void *context, const struct launch *launch, const struct running_attempt *attempt);

    /* Asks an attempt to end, in place of a signal to its process: see supervisor_options. */
    bool (*terminate)(void *context, int64_t attempt);

    /* A process ended: says in `o` what became of its job. */
    void (*ended)(void *context, struct outcome *o);

    void (*free)(void *context);
    void *context;
};

/* `proxy` is copied; its context is the executor's, also on failure. */
int local_executor_create_proxy(const struct executor_options *options, const struct local_proxy *proxy,
                                struct executor **out, struct error *e);

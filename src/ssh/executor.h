/* Attempts on hosts reached by ssh: each is an ssh of this machine, which the supervisor watches like any process, and
 * the job on the host behind it, under a supervisor of its own in plain shell (ssh/remote.sh). All of a host's go
 * through one connection. They die with their runner: the end of the connection's input ends a job, and where a host
 * cannot learn of that it ends its jobs after [ssh] lease without a sign of life. Until then nobody may run them
 * again. */
#pragma once

#include "run/executor.h"

/* An executor_create. ERROR_USAGE: a host that ssh refuses to reach. */
int ssh_executor_create(const struct executor_options *options, struct executor **out, struct error *e);

/* --- pure --- */

/* A report that came back from a host on ssh's standard error. */
struct ssh_report {
    bool begun, ended;
    int exit_code; /* as the shell has it: 128 + n for signal n */
    bool stopped;  /* it was asked to end */
    int64_t leftovers;
    bool oom;                                /* the host's kernel ended something for want of memory meanwhile */
    int64_t duration_ms, user_ms, system_ms; /* -1: not known */
    bool damaged;
    char said[256]; /* the last line of ssh itself, or why the job was refused; "": nothing */
};

/* Reads on from `text` (what is new, of `length` bytes), and returns how much of it is dealt with: a line or a part of
 * the metrics that has not come to its end is left for later. Metrics are added to `metrics`. */
size_t ssh_report_read(const char *text, size_t length, struct ssh_report *r, struct buffer *metrics);

/* An executor without processes: ends come as a script has them, one a wait, in the order of the starts. It looks at
 * the database with other eyes, a reader's, and notes what stands there when it is called. */
#pragma once

#include "run/executor.h"

/* How the attempt `number` of a job ends; 0: every attempt. Without a line an attempt exits 0 and prints "score:
 * JOB". */
struct scripted_end {
    int64_t job_id, number;
    enum ending ending;
    int code; /* exit status, signal, or the errno of a start that failed */
    const char *output;
};

/* A wake-up of the wait of that number, from 1, instead of an end. */
struct scripted_wake {
    int64_t wait;
    int bits, signal;
};

#define SCRIPT_LINES 8

struct script {
    struct scripted_end ends[SCRIPT_LINES];
    struct scripted_wake wakes[SCRIPT_LINES];
    bool hold;            /* nothing ends of itself */
    bool survive;         /* its jobs outlive their runner */
    bool refuse;          /* to be made */
    bool refuse_left;     /* to say what became of attempts that were left */
    const char *database; /* where the reader looks */
    /* The output of the attempt that ended last, once another is started; NULL: as it was. */
    const char *late_output;
    const char *before_end; /* SQL that a person types before the first end; NULL: none */
};

struct scripted_log {
    char started[256]; /* "1 2 1": jobs in the order of their starts */
    size_t most;       /* running at once */
    int cancels, stops;
    int early; /* starts of what did not stand in the database as claimed */
    bool freed;
};

/* Both borrowed by every executor made from now on. */
void scripted_executor_set(const struct script *script, struct scripted_log *log);

executor_create scripted_executor_create;

/* The options of `run` and `plan`: both match the same sweep against the same database. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/scaling.h"
#include "config/search_options.h"

enum progress { PROGRESS_AUTO, PROGRESS_TTY, PROGRESS_PLAIN, PROGRESS_JSON, PROGRESS_NONE };
enum switch_choice { SWITCH_NOT_GIVEN, SWITCH_ON, SWITCH_OFF };

struct run_options {
    const char *config, *db;
    bool dry_run;
    int64_t jobs;             /* jobs at a time; 0: as many as the machine and the sweep allow */
    int64_t limit;            /* jobs to start at most; 0: no limit */
    const char *only;         /* SQL condition, NULL: none */
    const char *shard;        /* "3/8"; NULL: all */
    const char *prune;        /* NULL: as the file says; "sound", "estimate", "off" */
    const char *retry_failed; /* NULL: not requested; "": all classes; else classes with commas between them */
    /* These override [search]. Texts as written; NULL: not given. */
    const char *strategy, *search_numbers[SEARCH_NUMBER_COUNT], *zero_stages, *order, *metric;
    int racing, equal_batch; /* enum switch_choice */
    bool run_full_experiment;
    const char *executor;      /* NULL: as the file says */
    bool in_allocation;        /* with Slurm: run within the current allocation */
    bool several_hosts;        /* the command itself starts processes on a job's other hosts */
    bool starts_nothing;       /* what this machine alone cannot run counts, too */
    int64_t max_fail;          /* failed jobs after which nothing new starts; 0: no limit */
    int64_t pause_after;       /* jobs that fail the same way before any succeeds, after which the run pauses */
    bool keep_going;           /* do not pause */
    int progress;              /* enum progress */
    int64_t manual_timeout_ms; /* 0: not given */
    const char *command;       /* shell line instead of the file's command; NULL: none */
    bool release;              /* try held jobs at once */
    bool detach;               /* exit and leave jobs running in Slurm */
    bool search_model;
    bool stale;                    /* rerun stale results */
    bool tell_stale;               /* report stale results */
    bool json;                     /* plan: print JSON */
    bool all;                      /* plan: list every job */
    const struct scaling *scaling; /* scale the sweep, without checking devices; NULL: no scaling */
};

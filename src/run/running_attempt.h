/* An attempt between its claim and the record of its end. */
#pragma once

#include "device/condition.h"
#include "device/devices.h"
#include "process/supervisor.h"
#include "space/launch.h"
#include "store/attempts.h"
#include "util/hash.h"

struct running_attempt {
    struct claim claim;
    struct job_details job;
    char *devices, *cpus;    /* that it was given, "0,2"; NULL: none in particular */
    char *hosts;             /* whose devices they are, "n1,n2"; NULL: this machine's */
    struct device_gang gang; /* that it needs; no nodes: not asked yet */
    int64_t passed_over;     /* while it was claimed: how often another was started before it */
    int64_t timeouts;        /* attempts of the job that ran out of time */
    char key_hex[HASH_HEX_BYTES];
    char *directory; /* relative: "<key>/<number>", with "-2" and so on where that was there already */
    char *job_dir;   /* absolute */
    struct device_condition *conditions; /* of its devices, once it has ended; NULL: not known */
    size_t condition_count;
    int64_t neighbours;         /* the most attempts that had its device at once with it, once it has ended */
    bool has_elsewhere;         /* it could have run on other places, and could again */
    char *kept;                 /* nodes on which it is not to run: "n1,n2"; NULL: none */
    size_t *fixtures;           /* that it uses (fixture/fixtures.h); NULL: not asked yet, or there are none */
    bool shares;                /* its devices are those of one of them */
    char *fixture_died;         /* while it ran: a sentence; NULL: none did */
    int64_t fixture_deaths;     /* that earlier attempts of the job saw */
    struct places failed;       /* where attempts of the job failed: to be avoided where there is a choice */
    struct attempt_start start; /* to be recorded with the next commit; its texts are owned */
    bool start_failed;          /* it could not be started: how is known with its outcome, which the record waits for */
    bool start_recorded;
    bool reference_due;    /* start.reference or start.waits came later than the start */
    const char *why_ended; /* what its claim source had it ended for; NULL: it had not. Static */
    int64_t watched_ms;    /* when its claim source was last asked about it */
};

void running_attempt_free(struct running_attempt *f);

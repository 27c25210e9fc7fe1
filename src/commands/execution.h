/* The part of a run after matching: runs what is due, in order or as a search asks for it, then the best again if asked
 * to. */
#ifndef MESHSWEEP_COMMANDS_EXECUTION_H
#define MESHSWEEP_COMMANDS_EXECUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/run_options.h"
#include "cli/search_setup.h"
#include "cli/session.h"
#include "measures/measures.h"
#include "run/runner.h"
#include "search/driver.h"
#include "space/enumerate.h"

struct progress_display;

struct execution {
    struct session *session;
    const struct run_options *options;
    struct db *db;
    struct progress_display *display; /* NULL: silent */
    struct enumeration enumeration;
    struct measures *measures; /* NULL: none */
    struct search_setup search;
    struct search_driver *driver; /* NULL: every job in order */
    int64_t repeats;              /* ok attempts wanted while the best run again; else 0 */
    int64_t full_job;             /* the winner, while its full training runs; else 0 */
    bool full_failed;             /* the full training was asked for and did not come to a good end */
    bool without_winner;          /* the search ended, and no job is best */
    bool keep_going;              /* the user chose to continue after a pause */
    struct run_result result;
};

/* Runs what is due of the jobs that were enumerated. Fills in `driver` (the caller's: search_driver_free), `repeats`,
 * `keep_going` and `result`; a signal or only jobs that failed are not an error. -1: it could not go on. */
int execution_run(struct execution *x, struct error *e);

#endif

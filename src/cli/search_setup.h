/* The search of a run: [search] under the command line's options, and whether there is one at all. */
#ifndef MESHSWEEP_CLI_SEARCH_SETUP_H
#define MESHSWEEP_CLI_SEARCH_SETUP_H

#include "cli/run_options.h"
#include "config/sweep.h"
#include "space/enumerate.h"

struct search_setup {
    struct search_options options; /* not completed; texts are borrowed from the sweep, argv and static storage */
    bool wanted;                   /* anything but every job in the order of the file */
};

/* -1 (ERROR_USAGE) names the option that is wrong. */
int search_setup_read(const struct run_options *o, struct sweep *sweep, struct search_setup *out, struct error *e);

/* Whether the sweep's jobs can be searched that way, tried without any database of the user's: -1 (ERROR_USAGE) for
 * what `run` would refuse, as more slots for one trial than there may be. `only` may be NULL; no jobs, no complaint. */
int search_setup_check(const struct search_setup *setup, struct space *space, const struct expression *only,
                       struct error *e);

/* Of how many matches a search lists no more than a draw, and of what kind; false: there is no search, all are
 * wanted. */
bool search_setup_draw(const struct search_setup *setup, struct enumerate_draw *out);

#endif

/* The search of a run: [search] under the command line's options, and whether there is one at all. */
#pragma once

#include "cli/run_options.h"
#include "config/sweep.h"
#include "space/enumerate.h"

struct search_setup {
    struct search_options options; /* not completed; texts are borrowed from the sweep, argv and static storage */
    bool wanted;                   /* whether there is a search, and not just every job in the order of the file */
};

/* -1 (ERROR_USAGE) names the option that is wrong. */
int search_setup_read(const struct run_options *o, struct sweep *sweep, struct search_setup *out, struct error *e);

/* Tries the search in a scratch database: -1 (ERROR_USAGE) for what `run` would refuse. `only` may be NULL. A sweep
 * without jobs passes. */
int search_setup_check(const struct search_setup *setup, struct space *space, const struct expression *only,
                       struct error *e);

/* When a search draws a sample of the matches instead of listing all, and how; without a search none. */
struct enumerate_draw search_setup_draw(const struct search_setup *setup);

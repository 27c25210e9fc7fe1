/* A search as the source of a run's claims. It records every decision in the transaction of its claim, and every
 * outcome in the transaction that records the end of the job. A search that was killed is repeated from these rows and
 * continues as if nothing had happened: same options, same decisions. With other options it is a new search that knows
 * every earlier outcome.
 *
 * Of jobs that differ only in replicate keys ([sweep] replicate), the first is the candidate. If it is ok and was to
 * run to its end, the others run too, and the strategy is told the mean. */
#ifndef MESHSWEEP_SEARCH_DRIVER_H
#define MESHSWEEP_SEARCH_DRIVER_H

#include "measures/measures.h"
#include "run/claim_source.h"
#include "search/candidates.h"

struct search_driver;

struct search_driver_options {
    struct candidate_request candidates;
    const struct search_options *search;
    int64_t repeat;                  /* successful attempts wanted per job */
    const struct measures *measures; /* NULL: none. Borrowed; must outlive the driver */
};

/* Loads the candidates and creates the strategy. Refuses what search_create refuses. */
int search_driver_create(const struct search_driver_options *options, struct search_driver **out, struct error *e);
void search_driver_free(struct search_driver *d);

/* Borrowed from the driver. */
struct claim_source search_driver_source(struct search_driver *d);

/* Why the search ended or waits; "" before the first question. Borrowed. `counts` may be NULL. */
const char *search_driver_reason(const struct search_driver *d, struct search_counts *counts);

/* For the user: which jobs compete, if the sweep file does not say (see candidate_set_groups). NULL: nothing to say, or
 * the strategy does not compare groups. The caller frees it. */
char *search_driver_groups(const struct search_driver *d);

/* For the user: what limits this search, such as missing predictions for `model`. NULL: nothing. Borrowed. */
const char *search_driver_note(const struct search_driver *d);

#endif

/* A search as the source of a run's claims: decides, records every decision as a row in the transaction of its claim,
 * and every outcome in that of the record of its end. A search that was killed is repeated from its rows and continues
 * as if it had not been: same options, same decisions. With other options it is another search, which knows all that
 * has run.
 *
 * Of jobs that differ in replicate keys only ([sweep] replicate) the first is the candidate. Where it is ok, and was to
 * run to its end, the others run too, and the mean is what the strategy is told. */
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
    const struct measures *measures; /* NULL: none; borrowed: it must outlive the driver */
};

/* Loads the candidates and makes the strategy: what is impossible is refused here (see search_create). */
int search_driver_create(const struct search_driver_options *options, struct search_driver **out, struct error *e);
void search_driver_free(struct search_driver *d);

/* Borrowed from the driver. */
struct claim_source search_driver_source(struct search_driver *d);

/* Why it ended or waits, "" before it has been asked; borrowed. `counts` may be NULL. */
const char *search_driver_reason(const struct search_driver *d, struct search_counts *counts);

/* What the user should know of which jobs compete, where the sweep file does not say: see candidate_set_groups; NULL:
 * nothing, or the strategy compares none. The caller's. */
char *search_driver_groups(const struct search_driver *d);

/* What the user should know of how the search was set up: no predictions for `model`, …; NULL: nothing. Borrowed. */
const char *search_driver_note(const struct search_driver *d);

#endif

/* Brings what was measured under one definition: when a sweep file reads, takes or names a metric's numbers in
 * another way, what attempts measured before is made anew, so that all values of a name can be compared.
 *
 * From kept samples: warm-up, take, scale and unit (within one dimension; a unit where there was none is a name for the
 * same numbers, one that is changed together with the scale is the unit of what comes of it). From kept output, for
 * jobs of the sweep in question: whatever says how a number is found, and what unit it is in where the text has none:
 * the number stays, as the next job's will be read. What can be made from neither keeps its samples
 * and has no value (summary.note and job_metric.note say why), until a later run can. */
#pragma once

#include "measures/measures.h"
#include "store/attempts.h"

struct renewal;

struct renewal_request {
    const struct sweep *sweep;          /* whose definitions come into force; NULL: those that are stay */
    const struct string_list *in_force; /* the caller has put these in force, metrics that had another one before; NULL:
                                           that is done here */
    int64_t sweep_id;                   /* whose jobs' output may be read again; 0: of none */
    const char *directory;              /* of the files of attempts (store_directory); NULL: none are read */
    struct measures *measures;          /* of the sweep; NULL: it has none */
    bool in_transaction;                /* the caller has one open, and refreshes the views */
    /* Reads whole attempts again, within the transaction; NULL: none. Adds to temp.renewal (attempt_id) those that it
     * changed, counted in `reread` and `mended`. */
    int (*reread)(void *context, struct renewal *out, struct error *e);
    void *context;
};

/* The outcome for the attempts of one metric. */
struct renewed_metric {
    char *name;
    int64_t from_samples, from_output; /* attempts whose number was made anew */
    char *units;                       /* ", in s instead of ms"; NULL: the unit is the same */
    int64_t left_out;                  /* attempts that have no number now */
    char *why;                         /* of the first of them; NULL: there is none */
};

struct renewal {
    struct renewed_metric *metrics;
    size_t count;
    int64_t mended; /* jobs that had failed for want of the objective alone, and are ok now */
    int64_t reread; /* attempts that were changed by being read again as a whole */
};

/* Makes anew what is under another definition than that in force, then what is computed from it (measures_refresh). All
 * of it or, on -1, nothing. `out` is the caller's: renewal_free. */
int measures_renew(struct db *db, const struct renewal_request *request, struct renewal *out, struct error *e);
void renewal_free(struct renewal *r);

/* "latency: made anew for 3 runs from their samples, …; 2 runs are left out: …", a sentence for each metric of which
 * something changed; the caller's strings_free. */
char **renewal_sentences(const struct renewal *r);

/* The directory below `root` with all that an attempt printed; NULL: `*why` says why there is nothing to read. Both are
 * the caller's. */
int kept_output_find(struct db *db, const char *root, int64_t attempt_id, char **directory, char **why,
                     struct error *e);

/* Checks that the numbers of the attached database "source" can be brought under the definitions of `db`, or the other
 * way round: ERROR_USAGE names the first metric of which they are read in another way, are better the other way round,
 * or are of other dimensions. `source` is its name for messages. */
int definitions_check_source(struct db *db, const char *source, struct error *e);

/* Records the samples of a list and what they come to, each name under its definition in force; `takes` has one for
 * each name; NULL: the samples alone. Inside the caller's transaction. */
int samples_store(struct attempt_store *store, int64_t attempt_id, const struct sample_list *list,
                  const enum take *takes, struct error *e);

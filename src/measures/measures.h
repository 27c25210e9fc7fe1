/* The measurements of attempts, put together: metrics that are SQL over other metrics, keys and derived keys
 * ([metrics.NAME]), and conditions that a job has to meet to win ([sweep] subject_to). Both are evaluated here alone,
 * from what is in the database, so that a sweep file may gain one when its jobs are done.
 *
 * A derived metric comes per sample where all that it reads are samples of the same steps, else of the summaries
 * (summary.note says so where that is not plain); the warm-up is the longest of what it reads. NULL where an input is
 * not there or a division is by zero; then summary.note says why. Its summary has `reported` NULL.
 *
 * An attempt that does not meet a condition, or for which that cannot be found out, has a row in the table breach for
 * it, and cannot win. Numbers in conditions may have units, which are those of the metrics beside them: they are
 * converted. */
#pragma once

#include "config/own_metrics.h"
#include "config/problems.h"
#include "metrics/samples.h"
#include "space/space.h"

struct measures;

/* Compiles what the space's sweep declares; `*out` is NULL when that is nothing. What is wrong is added to `problems`
 * with its place. The space must outlive it. -1: `e` says why it could not be tried. */
int measures_compile(struct space *space, struct problems *problems, struct measures **out, struct error *e);

/* The same where problems are the error (ERROR_USAGE). */
int measures_create(struct space *space, struct measures **out, struct error *e);
void measures_free(struct measures *m);

/* The values of an attempt that were seen from outside, by enum own_metric; NAN: not known. */
struct seen_values {
    double values[OWN_METRIC_COUNT];
    bool is_ok; /* conditions are for ok attempts alone */
};

/* An attempt's result under the sweep's first objective. */
struct measured {
    bool is_derived;     /* the objective is a derived metric */
    double objective;    /* of a derived one; NAN: none */
    bool is_feasible;    /* meets every condition */
    bool is_over_memory; /* else: a bound on memory is among what it does not meet */
    size_t broken;       /* and the first condition that it does not meet, into the sweep's */
};

/* The names of the metrics that a derived metric reads in the end, NULL-terminated, those of own_metrics.h left out;
 * NULL when the sweep has no derived metric of that name. Borrowed. */
const char *const *measures_inputs(const struct measures *m, const char *metric);

/* The first that the metric reads of what is known only when an attempt has ended (own_metrics.h), and that no table
 * has read; NULL: none. Borrowed. */
const char *measures_late_input(const struct measures *m, const char *metric);

struct running_measure {
    int64_t attempt_id;
    const char *metric; /* a derived one */
    const struct sample_list *so_far;
};

/* The finite samples that count of a derived metric of an attempt that runs: what its summary would be of if it ended
 * now, of the steps that all it reads are there for. None where it is of summaries (see above), or samples were
 * dropped. The caller's; `*values` may be NULL. */
int measures_count_so_far(const struct measures *m, struct db *db, const struct running_measure *r, double **values,
                          size_t *count, struct error *e);

/* Looks, and writes nothing. */
int measures_look(struct measures *m, struct db *db, int64_t attempt_id, struct measured *out, struct error *e);

/* Writes summaries and breaches of an attempt whose samples and summaries stand in `db`, in place of those that were
 * there. `seen`: where its own row does not say that yet; NULL: it does. Inside the caller's transaction. */
int measures_record(struct measures *m, struct db *db, int64_t attempt_id, const struct seen_values *seen,
                    struct measured *out, struct error *e);

/* Finds what would keep jobs of the current sweep from winning under this condition alone, in place of [sweep]
 * subject_to, in temporary tables of the names subject_to and breach, which stand in for the recorded ones. `option` is
 * who says so. */
int measures_suppose(struct space *space, const char *condition, const char *option, struct db *db, struct error *e);

/* Brings summaries and breaches of all jobs of the sweep up to what its file declares; nothing where they are that.
 * With `m` NULL what another file declared goes. In its own transaction, or in the caller's where `again` is
 * set: then also what seems to be up to date is written anew. */
int measures_refresh(struct measures *m, struct db *db, int64_t sweep_id, bool again, struct error *e);

/* Search: which candidate runs next. Ask and tell, nothing else: no store, no run, no clock, no files.
 *
 *   search_create(space, options)
 *   while ((answer = search_ask(s, &decision)) != SEARCH_FINISHED)
 *       SEARCH_RUN:  run decision.candidate for decision.resource steps; keep on asking while there is room
 *       SEARCH_WAIT: nothing to start until another outcome is told
 *   search_tell(s, candidate, &outcome)       in any order, also of candidates that were never asked for: what is
 *                                             known already is told before the first question and costs no trial
 *
 * What is decided is a function of the space, the options and the sets of what was asked and told; never of the order
 * in which outcomes that were running at the same time came in. Draws are hash(seed, lineage, index), so that one does
 * not depend on how many others were made before it. Repeating the questions and outcomes of a search therefore repeats
 * its decisions, which is how a killed search continues.
 *
 * No candidate is asked for twice at the same resource, but one whose failure was transient (search_forget).
 *
 * The space is borrowed and must outlive the search. 100,000 candidates are decided among in well under 50 ms. Pure. */
#ifndef MESHSWEEP_SEARCH_STRATEGY_H
#define MESHSWEEP_SEARCH_STRATEGY_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/search_options.h"
#include "predict/calibration.h"
#include "util/error.h"

/* Where coefficients are calibrated: one framework on one device in one cluster. */
struct search_place {
    bool has_memory, has_time;
    struct calibration_prior memory, time;
};

/* Numbers that are not known are NAN. Texts of key values are numbered; equal text, equal number. */
struct candidate {
    const double *values; /* one per key of the space */
    uint64_t identity;    /* of the job's key: draws are made from it, never from the place in the array */
    /* Candidates compete within a group: same model, devices and global batch, or whatever the caller holds to be
     * comparable. 0 … group_count - 1. */
    size_t group;
    /* Candidates that differ in nothing but the micro-batch (and what follows from it). Numbered across groups. */
    size_t configuration;
    /* Candidates that differ in nothing that memory depends on but the micro-batch: configurations share what is known
     * about which micro-batches fit. Numbered across groups. */
    size_t memory_class;
    double micro_batch; /* NAN: no such key */
    double zero_stage;
    double devices; /* that it occupies; 1 where not known */
    /* What is predicted. */
    double bytes;           /* peak memory per device */
    double usable_bytes;    /* of the device */
    double oom_probability; /* 0 … 1 */
    double seconds;         /* of a step */
    double work;        /* of a step in units of the objective (samples, tokens): rate objectives are work / seconds;
                               1 where the objective is a time. Only ratios within the space count */
    double run_seconds; /* of the whole job: what it costs per device */
    /* What arithmetic says without predictions (belief/layout_estimate.h), up to a constant: ln of how good the
     * objective is, larger is better, and of the bytes. 0: nothing. */
    double usual_merit, usual_bytes;
    /* Of the linear predictions, with the space's place: NULL where there are none. */
    size_t place;
    const double *memory_terms, *time_terms; /* CALIBRATION_TERMS each */
};

/* What predicted seconds say about the objective. */
enum search_relation {
    SEARCH_UNRELATED = 0, /* nothing: a loss, a size */
    SEARCH_RATE,          /* objective ∝ work / seconds */
    SEARCH_TIME,          /* objective ∝ seconds */
};

struct search_space {
    const char *const *keys;     /* names of the candidates' values */
    const char *const *sections; /* of the keys: "parallel_spec"; NULL: not known */
    size_t key_count;
    const bool *saves_memory;           /* by key: whether its values are in the order of memory; NULL: none is */
    const struct candidate *candidates; /* in declared order */
    size_t count, group_count, configuration_count, memory_class_count;
    const struct search_place *places;
    size_t place_count;
    bool maximise; /* the objective */
    enum search_relation relation;
    double full_steps; /* measured steps of a whole job; NAN: not known */
};

enum outcome_kind {
    OUTCOME_OK = 1,
    OUTCOME_STOPPED, /* ended early, by racing or at the steps asked for: objective and steps hold */
    OUTCOME_FAILED,
};

struct search_outcome {
    enum outcome_kind kind;
    const char *failure; /* its class: "oom", "exit", "timeout", …; NULL unless it failed. Only borrowed for the call */
    double objective;    /* NAN where it failed */
    double steps;        /* measured steps behind the objective; NAN: all of the job's */
    double seconds, bytes; /* of a step; peak per device. NAN: not measured */
    double device_seconds; /* devices × time that it cost; NAN: not known */
    bool pruned;           /* it failed without having run: what needs no more memory ran out of it */
    bool over_memory;      /* it failed for it took more memory than it may: as if there were no more */
    bool infeasible;       /* it ran, and what [sweep] subject_to asks for keeps it from winning */
};

enum search_answer { SEARCH_RUN = 1, SEARCH_WAIT, SEARCH_FINISHED };

#define SEARCH_REASON_BYTES 240

struct decision {
    size_t candidate;
    double resource;                  /* measured steps to run for; 0: the whole job */
    uint64_t lineage, index;          /* what its draws came from: a configuration's trials, a rung's, … */
    char reason[SEARCH_REASON_BYTES]; /* why this one now, for people; for SEARCH_WAIT and SEARCH_FINISHED: why that */
};

struct search;

/* -1 (ERROR_USAGE): an unknown strategy, with a hint; options out of range; a space that is empty or in which the
 * strategy can do nothing: a candidate that needs more devices than max_slots, no micro-batch for one that bisects it.
 * `options` is completed with the strategy's defaults. */
int search_create(const struct search_space *space, const struct search_options *options, struct search **out,
                  struct error *e);
void search_free(struct search *s);

/* With SEARCH_RUN the decision counts as a trial that runs until it is told about. */
enum search_answer search_ask(struct search *s, struct decision *out);

/* The candidate runs, whatever the strategy would have said: a trial of another time, or a person's wish. */
void search_begin(struct search *s, size_t candidate, double resource);

void search_tell(struct search *s, size_t candidate, const struct search_outcome *outcome);

/* What was asked for and never came to an outcome: lost, cancelled. It may be requested again and costs no trial. */
void search_forget(struct search *s, size_t candidate);

/* The best that was told as OUTCOME_OK, in one group or, with SIZE_MAX, in any; false: none. */
bool search_best(const struct search *s, size_t group, size_t *candidate, double *objective);

struct search_counts {
    size_t trials, running, ok, stopped, failed;
    size_t pruned;       /* none of the failed */
    size_t infeasible;   /* neither: they ran, and cannot win */
    size_t known;        /* outcomes that no trial of this search came to: among none of these */
    size_t measured;     /* outcomes with a number, known or not */
    size_t since_best;   /* trials told since the best improved, but for the pruned */
    double device_hours; /* of trials that told their cost */
};
struct search_counts search_counts(const struct search *s);

/* How many trials may still be begun at most; -1: not known, as no number limits them and it need not try all. */
int64_t search_trials_to_come(const struct search *s);

/* With every default filled in. Borrowed. */
const struct search_options *search_options(const struct search *s);

#endif

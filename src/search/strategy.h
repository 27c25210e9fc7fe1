/* Search: decides which candidate runs next. Ask and tell only: no store, no run, no clock, no files.
 *
 *   search_create(space, options)
 *   while ((answer = search_ask(s, &decision)) != SEARCH_FINISHED)
 *       SEARCH_RUN:  run decision.candidate for decision.resource steps; keep asking while there is room
 *       SEARCH_WAIT: nothing to start until another outcome is told
 *   search_tell(s, candidate, &outcome)       in any order, and for candidates that were never asked for: outcomes told
 *                                             before the first question are prior knowledge and cost no trial
 *
 * Decisions are a function of the space, the options, and the sets of what was asked and told, never of the order in
 * which concurrent outcomes arrived. Draws are hash(seed, lineage, index), so that no draw depends on how many were
 * made before it. Repeating the questions and outcomes of a search therefore repeats its decisions; a killed search
 * continues that way.
 *
 * No candidate is requested twice with the same resource unless its failure was transient (search_forget).
 *
 * The space is borrowed and must outlive the search. A decision among 100,000 candidates takes well under 50 ms. Pure.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/search_options.h"
#include "predict/calibration.h"
#include "util/error.h"

/* The place for which coefficients are calibrated together: one framework on one device in one cluster. */
struct search_place {
    bool has_memory, has_time;
    struct calibration_prior memory, time;
};

/* Unknown numbers are NAN. Texts of key values are numbered: equal text, equal number. */
struct candidate {
    const double *values; /* one per key of the space */
    uint64_t identity;    /* from the job's key; seeds draws, so that they do not depend on the index in the array */
    /* Candidates compete within a group: same model, devices and global batch, or whatever the caller considers
     * comparable. 0 … group_count - 1. */
    size_t group;
    /* Equal for candidates that differ only in the micro-batch and what follows from it. Numbered across groups. */
    size_t configuration;
    /* Equal for candidates that differ only in the micro-batch as far as memory is concerned: they share what is known
     * about which micro-batches fit. Numbered across groups. */
    size_t memory_class;
    double micro_batch; /* NAN: no such key */
    double zero_stage;
    double devices; /* number that it occupies; 1 if not known */
    /* Predictions. */
    double bytes;           /* peak memory per device */
    double usable_bytes;    /* of the device */
    double oom_probability; /* 0 … 1 */
    double seconds;         /* of a step */
    double work; /* of a step in units of the objective (samples, tokens): rate objectives are work / seconds; 1
                         * if the objective is a time. Only ratios within the space matter */
    /* Estimates without predictions (search/belief.h), up to a constant: ln of the merit of the objective
     * (larger is better), and ln of the bytes. 0: none. */
    double usual_merit, usual_bytes;
    /* Terms of the linear predictions, and the index of its place in the space. NULL without predictions. */
    size_t place;
    const double *memory_terms, *time_terms; /* CALIBRATION_TERMS each */
};

/* How predicted seconds relate to the objective. */
enum search_relation {
    SEARCH_UNRELATED = 0, /* nothing: a loss, a size */
    SEARCH_RATE,          /* objective ∝ work / seconds */
    SEARCH_TIME,          /* objective ∝ seconds */
};

struct search_space {
    const char *const *keys;     /* names of the candidates' values */
    const char *const *sections; /* of the keys, such as "parallel_spec"; NULL: not known */
    size_t key_count;
    const bool *saves_memory;           /* by key: its values are declared in order of memory; NULL: none is */
    const struct candidate *candidates; /* in declared order */
    size_t count, group_count, configuration_count, memory_class_count;
    const struct search_place *places;
    size_t place_count;
    bool maximise; /* whether larger objectives are better */
    enum search_relation relation;
};

enum outcome_kind {
    OUTCOME_OK = 1,
    OUTCOME_STOPPED, /* ended early, by racing or at the requested steps; objective and steps are valid */
    OUTCOME_FAILED,
};

struct search_outcome {
    enum outcome_kind kind;
    bool out_of_memory;    /* why it failed: it ran out of memory, or used more than is allowed */
    double objective;      /* NAN if it failed */
    double steps;          /* measured steps behind the objective; NAN: all steps of the job */
    double seconds, bytes; /* per step; peak per device. NAN: not measured */
    double device_seconds; /* devices × time that it cost; NAN: not known */
    bool pruned;           /* failed without running: a job that needs no more memory ran out of it */
    bool infeasible;       /* ran, but violates [sweep] subject_to and cannot win */
};

enum search_answer { SEARCH_RUN = 1, SEARCH_WAIT, SEARCH_FINISHED };

#define SEARCH_REASON_BYTES 240

struct decision {
    size_t candidate;
    double resource;                  /* measured steps to run; 0: the whole job */
    uint64_t lineage, index;          /* of its draws: which trials of a configuration, which rung, … */
    char reason[SEARCH_REASON_BYTES]; /* for people: why this candidate now, or why the search waits or has finished */
};

struct search;

/* -1 (ERROR_USAGE): an empty space, or one in which the strategy can do nothing, because a candidate needs more devices
 * than max_slots or there is no micro-batch to bisect. `options` must be in range (search_number_check), and are
 * completed with the strategy's defaults. */
int search_create(const struct search_space *space, const struct search_options *options, struct search **out,
                  struct error *e);
void search_free(struct search *s);

/* After SEARCH_RUN, the decision counts as a running trial until its outcome is told. */
enum search_answer search_ask(struct search *s, struct decision *out);

/* Marks a candidate as running although the strategy did not ask for it: an earlier trial, or a person's request. */
void search_begin(struct search *s, size_t candidate, double resource);

void search_tell(struct search *s, size_t candidate, const struct search_outcome *outcome);

/* A requested trial that will have no outcome: it was lost or cancelled. The candidate may be requested again, and the
 * trial is not counted. */
void search_forget(struct search *s, size_t candidate);

/* The best candidate of the group told as OUTCOME_OK. False: none. */
bool search_best(const struct search *s, size_t group, size_t *candidate, double *objective);

struct search_counts {
    size_t trials, running, ok, stopped, failed;
    size_t pruned;       /* not counted in `failed` */
    size_t infeasible;   /* ran but cannot win; not counted in `failed` either */
    size_t known;        /* outcomes not from a trial of this search; counted nowhere above */
    size_t measured;     /* outcomes with an objective, known ones included */
    size_t since_best;   /* trials told since the best improved, without pruned ones */
    double device_hours; /* over trials whose cost is known */
};
struct search_counts search_counts(const struct search *s);

/* Upper bound on the trials still to begin. -1: not known, because no number limits them and not all need be tried. */
int64_t search_trials_to_come(const struct search *s);

/* Options with every default filled in. Borrowed. */
const struct search_options *search_options(const struct search *s);

/* --- making spaces --- */

/* A part of a space as a space of its own, with groups, configurations and memory classes numbered anew. `members`
 * holds `count` indices into `whole`. *out points into *candidates, which the caller frees. */
void subspace_make(const struct search_space *whole, const size_t *members, size_t count, struct search_space *out,
                   struct candidate **candidates);

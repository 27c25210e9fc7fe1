/* Turns the end of a process and its output into records of the database. */
#pragma once

#include "measures/measures.h"
#include "metrics/classify.h"
#include "metrics/reading.h"
#include "process/left_files.h"
#include "process/supervisor.h"
#include "run/running_attempt.h"
#include "secrets/secrets.h"
#include "store/attempts.h"

#define TAIL_BYTES 4096 /* of an attempt's output kept in the database */

struct recording_context {
    const struct sweep *sweep;
    const struct reader_set *readers;
    const struct classifier *classifier;
    const struct secrets *secrets;   /* redacted in the message and the output's end */
    const struct measures *measures; /* NULL: none */
    const char *scratch;             /* what is written while jobs run; NULL: the disk is not asked for room */
    const char *job_dir;
    const struct running_attempt *attempt;
    struct output_reading *reading; /* of what was followed of the output; NULL: nothing was */
};

/* Everything that an attempt's end comes to. */
struct recording {
    struct verdict verdict;
    const char *failure; /* the verdict's class; NULL: ok */
    enum blame blame;    /* what a failure is put down to */
    bool elsewhere;      /* see struct attempt_end */
    char *hold;          /* why it is to be as if it had never been claimed, and its job held; NULL: it is recorded */
    bool is_profile;     /* under [job.profile], which is full, too */
    bool is_full;        /* of a full training: nothing that it reports is judged or summarised */
    struct sample_list samples;
    struct attempt_end end; /* without ids and directory; texts owned by the recording */
    bool kept_files;
    bool saw[OWN_METRIC_COUNT]; /* of its devices */
    double device_clock, device_throttled;
    bool has_objective;     /* of a derived one: all that it reads was reported */
    double objective;       /* NaN: what was reported came to no number; of a derived metric: after recording_store */
    bool is_infeasible;     /* after recording_store: it cannot win, for what [sweep] subject_to asks for */
    const char *no_number;  /* the objective, or what it is computed from, that was none in the end; NULL: neither */
    struct summary summary; /* of that */
    int64_t counted_steps;  /* samples of the objective behind it */
    int64_t last_step;      /* of the objective, whether it counts or not */
    int64_t duration_ms;
    const struct sweep *sweep;
    enum job_end job_end; /* after recording_store */
};

/* All secrets that a record may have to do without. */
void recording_secrets(struct secrets *out, const struct space *space, char *const *environment);

/* Returns the summary of a metric's samples. */
struct summary recording_summary(const struct recording *r, size_t metric);

/* Reads what was not followed, then cuts the output to its bound (outcome's log_cap_bytes). Takes time in proportion to
 * what there is to read. */
void recording_make(const struct recording_context *context, const struct outcome *outcome, struct recording *out);

/* Writes samples, summaries, the attempt and the job's new state; inside the caller's transaction. Nothing
 * (JOB_END_GONE) when the attempt was deleted while it ran; with `hold` no attempt is left. */
struct recording_target {
    struct db *db;
    struct attempt_store *store;
    struct measures *measures; /* NULL: none */
};
int recording_store(const struct recording_target *target, const struct claim *claim, const char *directory,
                    struct recording *r, struct error *e);

/* The samples and summaries alone. */
int recording_store_samples(struct attempt_store *store, int64_t attempt_id, const struct recording *r,
                            struct error *e);
/* Returns the rules by which files of a job's directory stay; string_list_free(&own). */
struct keep_rules recording_keep_rules(const struct job_config *job);

void recording_free(struct recording *r);

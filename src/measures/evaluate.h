/* Evaluates the measures of a sweep for one attempt. */
#ifndef MESHSWEEP_MEASURES_EVALUATE_H
#define MESHSWEEP_MEASURES_EVALUATE_H

#include "measures/compiled.h"
#include "metrics/samples.h"

/* Samples of one input. */
struct input_samples {
    struct sample *items;
    size_t count;
    double value;   /* the summary's, or what was seen; NAN: none */
    char *left_out; /* why it has no value under the definition of now; NULL: it has, or none was reported */
    bool is_there;  /* it was reported or seen */
    bool is_whole;  /* all samples are in `items` */
};

/* What is in the database of one attempt. */
struct measured_attempt {
    char *specs[SECTION_COUNT]; /* JSON; NULL: none */
    struct seen_values seen;
    struct input_samples *inputs; /* as in struct measures */
};

/* `seen`: as in measures_record. Released with attempt_unload in any case. */
int attempt_load(const struct measures *m, struct db *db, int64_t attempt_id, const struct seen_values *seen,
                 struct measured_attempt *out, struct error *e);
void attempt_unload(const struct measures *m, struct measured_attempt *a);

/* What a derived metric comes to. `note`: the caller's; why there is no value, or what it is of; NULL: nothing to say.
 * `out->reported` is 0 where something that it reads was not reported. */
int attempt_evaluate(const struct measures *m, const struct derived_measure *x, const struct measured_attempt *a,
                     struct summary *out, char **note, struct error *e);

/* Of a condition. */
struct condition_result {
    bool is_met;
    double value, bound, excess; /* of its sides, and by what share it is missed; NAN: not known */
    char *note;                  /* the caller's; why it cannot be told; NULL: it can */
};
int attempt_check(const struct measures *m, const struct derived_measure *c, const struct measured_attempt *a,
                  struct condition_result *out, struct error *e);

#endif

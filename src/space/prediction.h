/* Predictions in a space: its keys mapped to the predictor's inputs, and SQL functions and derived keys for rules,
 * filters and limits.
 *
 * Each input (predict/inputs.h) is what [predict.keys] says, else the first of its synonyms that a combination binds.
 * The derived keys are of every sweep, and NULL where a needed input is missing:
 *
 *   predicted_memory   predict_memory()            bytes of the most loaded stage, as its allocator reserves them
 *   predicted_time     predict_time()              seconds of a step
 *   predicted_flops    predict_flops()             of a step, attention counted in full
 *   predicted_mfu      predict_mfu()               share of the peak
 *   predicted_params   predict_params()            parameters of the whole model, without those of MTP layers
 *   oom_probability    predict_oom_probability()   0 to 1
 *   predicted_risk     predict_risk()              1 fits, 2 may not fit, 3 does not fit
 *   predicted_fits     predict_fits()              0 for what [predict] prune excludes, but not for its audit
 */
#pragma once

#include "expression/expression.h"
#include "predict/predictor.h"

struct space;
struct scope;
struct sql_value;

struct space_prediction {
    struct predictor *predictor; /* prediction_predictor; NULL: nobody has asked for it */
    const struct sweep *sweep;
    bool asked;          /* the file or a profile has [predict], and no needed input is missing */
    bool knows_capacity; /* some key or device tells how much memory there is */
    enum prune prune;
    double audit; /* share of what is pruned that is run */
    uint64_t seed;
    const char *warning;      /* of a device that nobody knows; NULL: none */
    const char *memory_words; /* metric_memory_words of the metric that memory is compared with; "" without one */
    const char *note;         /* why there are no, or not all, predictions; "" when nothing is to be said */
    const char *inputs[INPUT_COUNT]; /* SQL; NULL: no key */
    size_t bound[INPUT_COUNT];       /* the inputs that have a key: what the functions are called with, in this order */
    int bound_count;
    struct input_value values[INPUT_COUNT]; /* of the functions; those without a key stay absent */
    struct error scratch;                   /* of the functions */
};

/* Fills space->prediction and adds the derived keys; after the declared ones. What is wrong in [predict] is added to
 * `problems`; -1 only when SQLite refuses. */
int prediction_compile(struct space *space, struct problems *problems, struct error *e);

/* Returns what predicts. Without [predict] it is made when it is first asked for: reading all coefficients takes as
 * long as all else that a small sweep needs to be planned. */
struct predictor *prediction_predictor(struct space_prediction *p);

/* Reads the inputs of a combination, INPUT_COUNT of them, from its keys, or by its rank; texts are borrowed until the
 * next call. */
void prediction_read_inputs(const struct space *space, const struct scope *s, struct input_value *values);
int prediction_inputs_at(const struct space *space, int64_t rank, struct input_value *values, struct error *e);

/* Predicts what a combination with these inputs needs. NULL with `*why` (borrowed until the next call) when nothing can
 * be said. Borrowed until the next call. */
const struct prediction *prediction_of_values(struct space *space, const struct input_value *values, const char **why);

/* The key that an input is read from; NULL: none, or no plain key. */
const struct key *prediction_key(const struct space *space, size_t input);

/* What a value is to a prediction; its text is borrowed. */
struct input_value prediction_input(struct sql_value value);

/* Whose memory is predicted, "allocated, rank last": that which is measured; where no metric says what it counts,
 * "reserved, largest rank". `p` may be NULL. Borrowed. */
const char *prediction_memory_words(const struct space_prediction *of, const struct prediction *p);

/* Returns whether a verdict is pruned under the sweep's [predict] prune. */
bool prediction_prunes(const struct space_prediction *p, enum oom_verdict verdict);

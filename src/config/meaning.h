/* The meaning of a metric, where a prediction, a search or a reader of memory has to know it: the key `means` of the
 * metric says so, or its name is one of those that mean one thing. Nothing is guessed from parts of a name. */
#pragma once

#include <stdbool.h>

#include "config/sweep.h"
#include "util/buffer.h"

enum metric_quantity { QUANTITY_NONE = 0, QUANTITY_STEP_TIME, QUANTITY_RATE, QUANTITY_MEMORY };

/* The work that a rate counts. */
enum metric_work { WORK_NONE = 0, WORK_STEPS, WORK_SAMPLES, WORK_TOKENS, WORK_FLOPS };

struct metric_meaning {
    enum metric_quantity quantity;
    enum metric_work work;
    bool per_device;
    /* "allocated" and "reserved": memory of the framework's allocator; "device": in use on it; NULL: not known. */
    const char *counter;
};

/* The words of `means`, NULL at the end. */
extern const char *const metric_meaning_names[];

/* By its `means`, else its name, else, of a rate, its unit. Never NULL: others have the quantity QUANTITY_NONE. */
const struct metric_meaning *metric_meaning(const struct sweep *s, const char *metric);

/* The usual names of metrics of memory, the likeliest first, ended by NULL. */
extern const char *const memory_metrics[];

/* The declared metric whose memory is predicted: by [predict] memory_metric, else by what a metric is said to mean,
 * else by the usual names; NULL: none is declared. Borrowed. */
const char *sweep_memory_metric(const struct sweep *s);

/* "allocated, rank 0": whose memory a metric counts, and on which rank; "" where neither is known. The caller's. */
char *metric_memory_words(const struct sweep *s, const char *metric);

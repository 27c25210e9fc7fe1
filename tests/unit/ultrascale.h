/* Rows of ultrascale-1B-8B.csv as architectures and plans: nanotron on nodes of eight H100. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "predict/memory.h"
#include "shared_data.h"

struct ultrascale_run {
    struct architecture architecture;
    struct training_plan plan;
    bool fits, out_of_memory; /* by oom_label; neither: failed for another reason */
    double memory_bytes;      /* of rank 0; 0 unless it ran */
    double tokens_per_s;      /* of all devices */
};

void ultrascale_read(const struct shared_table *t, size_t row, struct ultrascale_run *out);

/* Ends the test on an error. */
struct memory_prediction ultrascale_predict(const struct ultrascale_run *run, const struct memory_coefficients *c);

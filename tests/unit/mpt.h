/* Rows of llm-foundry-mpt.csv as architectures, plans and clusters: MosaicML's MPT under FSDP. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "predict/calibration.h"
#include "predict/step_time.h"
#include "shared_data.h"

enum mpt_cluster { MPT_A100_40 = 0, MPT_A100_80, MPT_H100, MPT_CLUSTERS };

extern const char *const mpt_cluster_names[MPT_CLUSTERS];

struct mpt_run {
    struct architecture architecture;
    struct training_plan plan;
    struct cluster cluster;
    enum mpt_cluster on;
    double step_s;
};

/* False for rows that the table itself suspects, and one of sentinels. */
bool mpt_read(const struct shared_table *t, size_t row, struct mpt_run *out);

/* Ends the test on an error. */
struct step_prediction mpt_predict(const struct mpt_run *run, const struct framework *framework);
struct observation mpt_observe(const struct mpt_run *run, const struct framework *framework);

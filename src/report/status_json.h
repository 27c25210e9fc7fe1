/* The progress of a sweep as a JSON document (docs/json.md, status). */
#ifndef MESHSWEEP_REPORT_STATUS_JSON_H
#define MESHSWEEP_REPORT_STATUS_JSON_H

#include <cjson/cJSON.h>

#include "results/pareto.h"
#include "results/status.h"

int64_t status_job_count(const struct sweep_status *s);
int64_t status_elapsed_ms(const struct status_attempt *a, int64_t now_ms);

/* 0 if it is due. */
int64_t status_due_in_ms(int64_t due_ms, int64_t now_ms);

/* Content of the document besides what status_read() reads. */
struct status_beside {
    bool runner_alive;
    int64_t now_ms, eta_ms; /* eta_ms is below 0 if not known */
    cJSON *winners;         /* if configurations compete, else NULL. Borrowed; must outlive the document */
    cJSON *subject_to;      /* owned by the document */
    const struct pareto *pareto;
    const cJSON *full_trainings; /* report/full_training.h */
};

/* The caller frees it. */
cJSON *status_json(const struct sweep_status *s, const struct status_beside *beside);

#endif

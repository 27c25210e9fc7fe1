/* The progress of a sweep as a JSON document (docs/json.md, status). */
#ifndef MESHSWEEP_REPORT_STATUS_JSON_H
#define MESHSWEEP_REPORT_STATUS_JSON_H

#include <cjson/cJSON.h>

#include "results/pareto.h"
#include "results/status.h"

int64_t status_job_count(const struct sweep_status *s);
int64_t status_elapsed_ms(const struct status_attempt *a, int64_t now_ms);

/* 0: it is due. */
int64_t status_due_in_ms(const struct status_retry *r, int64_t now_ms);

/* What stands in the document beside what status_read() reads. */
struct status_beside {
    bool runner_alive;
    int64_t now_ms, eta_ms; /* eta_ms below 0: not known */
    cJSON *winners;         /* where configurations compete; NULL: they do not. Borrowed as long as the document is */
    cJSON *subject_to;      /* taken */
    const struct pareto *pareto;
};

/* The caller's. */
cJSON *status_json(const struct sweep_status *s, const struct status_beside *beside);

#endif

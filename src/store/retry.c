#include "store/retry.h"

#include <string.h>

#include "config/failure.h"

struct retry_policy retry_policy_of(const struct sweep *sweep)
{
    return (struct retry_policy){sweep->retries, sweep->retry_count, sweep->retry_backoff_ms,
                                 sweep->retry_backoff_max_ms};
}

#define ATTEMPTS(id, name, attempts) attempts,
static const int64_t default_attempts[FAILURE_COUNT] = {1, FAILURES_DECLARABLE(ATTEMPTS) 1};

int64_t retry_allowed(const struct retry_policy *p, const char *failure)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->limits[i].class_name, failure) == 0)
            return p->limits[i].attempts;
    return default_attempts[failure_by_name(failure)];
}

int64_t retry_delay_ms(const struct retry_policy *p, int64_t tried)
{
    int64_t delay_ms = p->backoff_ms;
    for (int64_t i = 1; i < tried && delay_ms > 0 && delay_ms < p->backoff_max_ms; i++)
        delay_ms = delay_ms > p->backoff_max_ms / 2 ? p->backoff_max_ms : 2 * delay_ms;
    return delay_ms < p->backoff_max_ms ? delay_ms : p->backoff_max_ms;
}

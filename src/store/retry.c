#include "store/retry.h"

#include <string.h>

struct retry_policy retry_policy_of(const struct sweep *sweep)
{
    return (struct retry_policy){sweep->retries, sweep->retry_count, sweep->retry_backoff_ms,
                                 sweep->retry_backoff_max_ms};
}

/* A program that could not be started may be there a moment later. */
static const struct {
    const char *failure;
    int64_t attempts;
} default_retries[] = {{"lost", 3}, {"spawn", 2}};

int64_t retry_allowed(const struct retry_policy *p, const char *failure)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->limits[i].class_name, failure) == 0)
            return p->limits[i].attempts;
    for (size_t i = 0; i < sizeof default_retries / sizeof *default_retries; i++)
        if (strcmp(default_retries[i].failure, failure) == 0)
            return default_retries[i].attempts;
    return 1;
}

int64_t retry_delay_ms(const struct retry_policy *p, int64_t tried)
{
    int64_t delay_ms = p->backoff_ms;
    for (int64_t i = 1; i < tried && delay_ms > 0 && delay_ms < p->backoff_max_ms; i++)
        delay_ms = delay_ms > p->backoff_max_ms / 2 ? p->backoff_max_ms : 2 * delay_ms;
    return delay_ms < p->backoff_max_ms ? delay_ms : p->backoff_max_ms;
}

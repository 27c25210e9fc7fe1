#include "compare/slowdown.h"

#include <math.h>
#include <stdbool.h>

#include "util/memory.h"
#include "util/quantile.h"

#define REPEATS_MOST 100000 /* larger numbers are not reported */
#define RUNS_TELLING 3      /* two runs that are both far off lie close together and hide how far runs differ */

void slowdown_add_run(struct slowdown_runs *r, double cost)
{
    double distance = log(cost) - r->mean;
    r->count++;
    r->mean += distance / (double)r->count;
    r->squares += distance * (log(cost) - r->mean);
}

/* The uncertainty of a mean. */
struct spread {
    double error;    /* standard error */
    int64_t freedom; /* degrees of freedom; 0: unknown */
};

/* The number of repeats on each side that is worth as much as those of the job: their harmonic mean. */
static double worth(const struct slowdown_job *j)
{
    return 2 / (1 / (double)j->before.count + 1 / (double)j->now.count);
}

/* The spread of the runs of one job. */
static struct spread spread_of_runs(const struct slowdown_job *jobs, size_t count)
{
    double squares = 0, weight = 0;
    int64_t freedom = 0;
    for (size_t i = 0; i < count; i++) {
        squares += jobs[i].before.squares + jobs[i].now.squares;
        freedom += (int64_t)(jobs[i].before.count + jobs[i].now.count) - 2;
        weight += 2 / worth(&jobs[i]);
    }
    return (struct spread){freedom ? sqrt(squares / (double)freedom * weight) / (double)count : NAN, freedom};
}

/* The spread of the jobs' ratios, which includes that of their runs. */
static struct spread spread_of_jobs(const struct slowdown_job *jobs, size_t count, double mean)
{
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += pow(jobs[i].now.mean - jobs[i].before.mean - mean, 2);
    double variance = count > 1 ? squares / (double)(count - 1) : NAN;
    return (struct spread){sqrt(variance / (double)count), (int64_t)count - 1};
}

static bool has_few_runs(const struct slowdown_job *jobs, size_t count)
{
    return ANY(i, count, jobs[i].before.count < RUNS_TELLING || jobs[i].now.count < RUNS_TELLING);
}

/* The width of the interval in standard errors. */
static double reach(int64_t freedom, size_t groups)
{
    return student_quantile(1 - SLOWDOWN_FALSE_ALARMS / (double)groups, (double)freedom) +
           student_quantile(1 - SLOWDOWN_MISSED, (double)freedom);
}

/* The number of repeats at which the interval is too narrow to contain both 1 and the limit. More repeats also add
 * degrees of freedom: those of the runs. */
static int64_t repeats_wanted(const struct slowdown *s, struct spread spread, double limit, size_t groups)
{
    if (!spread.freedom)
        return 0;
    for (int64_t n = 1; n < REPEATS_MOST; n += 1 + n / 32) {
        int64_t freedom = 2 * (int64_t)s->jobs * (n - 1);
        freedom = freedom > spread.freedom ? freedom : spread.freedom;
        if ((double)n > s->repeats && reach(freedom, groups) * spread.error * sqrt(s->repeats / (double)n) < log(limit))
            return n;
    }
    return REPEATS_MOST;
}

static enum slowdown_verdict judge(const struct slowdown *s, double limit)
{
    if (s->most < limit)
        return SLOWDOWN_NONE;
    return s->least > 1 ? SLOWDOWN_FOUND : SLOWDOWN_UNKNOWN;
}

struct slowdown slowdown_judge(const struct slowdown_job *jobs, size_t count, double limit, size_t groups)
{
    struct slowdown s = {count, NAN, NAN, NAN, NAN, SLOWDOWN_UNKNOWN, 0};
    double mean = 0, inverse = 0;
    if (count == 0)
        return s;
    for (size_t i = 0; i < count; i++) {
        mean += (jobs[i].now.mean - jobs[i].before.mean) / (double)count;
        inverse += 1 / worth(&jobs[i]) / (double)count;
    }
    const struct spread runs = spread_of_runs(jobs, count), among = spread_of_jobs(jobs, count, mean);
    const struct spread source = runs.freedom > among.freedom ? runs : among;
    struct spread spread = source;
    if (has_few_runs(jobs, count))
        spread.error = fmax(spread.error, among.error);
    s.ratio = exp(mean);
    s.repeats = 1 / inverse;
    if (spread.freedom) {
        s.least = exp(mean - student_quantile(1 - SLOWDOWN_FALSE_ALARMS / (double)groups, (double)spread.freedom) *
                                 spread.error);
        s.most = exp(mean + student_quantile(1 - SLOWDOWN_MISSED, (double)spread.freedom) * spread.error);
        s.verdict = judge(&s, limit);
    }
    if (s.verdict == SLOWDOWN_UNKNOWN)
        s.repeats_wanted = repeats_wanted(&s, source, limit, groups);
    return s;
}

#include "predict/verdict.h"

#include <math.h>

#define HARDLY_COMPARED 0.2  /* sigma from which on nothing is excluded that would fit more than one time in forty */
#define ONE_IN_FORTY 1.96    /* standard deviations */
#define ESTIMATED_LEAST 0.05 /* of what must fit, however much of it is states */

/* How many standard deviations a run that takes OOM_RISK_SHARE must be mispredicted by to be excluded. */
static double deviations(double share, double sigma)
{
    double compared = log(share / OOM_RISK_SHARE) / VERDICT_SIGMA;
    double way = fmin(1, (sigma - VERDICT_SIGMA) / (HARDLY_COMPARED - VERDICT_SIGMA));
    return compared > 0 ? compared + way * fmax(0, ONE_IN_FORTY - compared) : compared;
}

/* The share for a prediction with this sigma; `most` is the share of the memory that torch can use. */
static double share_for(double share, double sigma, double most)
{
    if (sigma > VERDICT_SIGMA)
        return OOM_RISK_SHARE * exp(deviations(share, sigma) * sigma);
    most = fmax(most, share);
    return most * pow(share / most, sigma / VERDICT_SIGMA);
}

static struct memory_need need_of(const struct memory_prediction *m, const struct framework *f)
{
    const double *weights = f->memory.weights, *terms = m->most.terms;
    return (struct memory_need){m->most.bytes - m->most.slack, weights[MEMORY_UNSHARDED] * terms[MEMORY_UNSHARDED] +
                                                                   weights[MEMORY_SHARDED] * terms[MEMORY_SHARDED]};
}

static double sigma_of(const struct memory_need *n, double sigma)
{
    double estimated = fmax(ESTIMATED_LEAST, 1 - n->states / n->bytes);
    return sigma * fmin(1, 2 * estimated);
}

static enum oom_verdict verdict_of(const struct verdict_case *c, const struct memory_need *n,
                                   const struct prediction *out)
{
    double usable = out->usable_bytes, most = 1 - out->memory.reserve_bytes / usable;
    double sigma = sigma_of(n, out->memory.sigma);
    if (n->bytes > share_for(c->certain, sigma, most) * usable)
        return OOM_CERTAIN;
    return n->bytes > share_for(c->risky, sigma, most) * usable ? OOM_RISK : OOM_FITS;
}

void verdict_set_bytes(struct memory_prediction *m, double bytes)
{
    double ratio = bytes / m->most.bytes;
    m->most.bytes = bytes;
    m->most.allocated_bytes *= ratio;
    m->most.slack *= ratio;
    m->low_bytes *= ratio;
    m->high_bytes *= ratio;
}

static void give_slack_back(struct memory_prediction *m, double room)
{
    double given = fmin(m->most.slack, m->most.bytes - room);
    if (given <= 0)
        return;
    double left = m->most.slack - given, allocated = m->most.allocated_bytes;
    verdict_set_bytes(m, m->most.bytes - given);
    m->most.slack = left;
    m->most.allocated_bytes = allocated;
}

/* The need of `plan`, a variant of the subject's; `otherwise` if it cannot be predicted. */
static struct memory_need need_of_variant(const struct verdict_case *c, const struct training_plan *plan,
                                          struct memory_need otherwise)
{
    struct memory_prediction variant;
    struct error ignored;
    bool found =
        memory_predict(&c->subject->architecture, plan, c->cluster, &c->framework->memory, &variant, &ignored) == 0;
    return found ? need_of(&variant, c->framework) : otherwise;
}

/* The need with the recompute that the framework's recipes may use although no key says so. */
static struct memory_need least_need(const struct verdict_case *c, struct memory_need as_said)
{
    const struct subject *s = c->subject;
    if (c->framework->memory.recipes == 0 || s->says_recompute || s->is_measured)
        return as_said;
    struct training_plan plan = s->plan;
    plan.recompute = RECOMPUTE_FULL;
    if (plan.gradient_bytes == 0)
        plan.gradient_bytes = 2;
    struct memory_need least = need_of_variant(c, &plan, as_said);
    return least.bytes < as_said.bytes ? least : as_said;
}

static struct memory_need other_need(const struct verdict_case *c, struct memory_need as_said)
{
    const struct subject *s = c->subject;
    bool unknown = c->framework->memory.may_keep_gathered != 0 && !s->says_gathered && s->plan.sequence_parallel &&
                   s->plan.tensor > 1;
    if (!unknown || s->is_measured)
        return as_said;
    struct training_plan plan = s->plan;
    plan.keeps_gathered = true;
    return need_of_variant(c, &plan, as_said);
}

struct memory_need verdict_widen(const struct verdict_case *c, struct prediction *out)
{
    struct memory_need needed = need_of(&out->memory, c->framework), other = other_need(c, needed);
    out->memory.other = fmax(1, other.bytes / needed.bytes);
    out->memory.high_bytes *= out->memory.other;
    return other;
}

/* The mean probability over the needs that differ; no key says which applies, so they are equally likely. */
static void take_probability(const struct memory_need *const *needs, size_t count, struct prediction *out)
{
    double sum = 0;
    size_t n = 0;
    struct error ignored;
    out->has_probability = true;
    for (size_t i = 0; i < count; i++) {
        double probability = 0;
        if (i > 0 && needs[i]->bytes == needs[0]->bytes)
            continue;
        out->has_probability &=
            oom_probability(needs[i]->bytes, sigma_of(needs[i], out->memory.sigma), out->usable_bytes,
                            out->memory.reserve_bytes, &probability, &ignored) == 0;
        sum += probability;
        n++;
    }
    out->oom_probability = out->has_probability ? sum / (double)n : 0;
}

void verdict_reach(const struct verdict_case *c, const struct memory_need *other, struct prediction *out)
{
    struct memory_need needed = need_of(&out->memory, c->framework), least = least_need(c, needed);
    give_slack_back(&out->memory, out->usable_bytes - out->memory.reserve_bytes);
    take_probability((const struct memory_need *const[]){&needed, &least, other}, out->by_line ? 2 : 3, out);
    out->verdict = verdict_of(c, &least, out);
    bool may_not_fit =
        verdict_of(c, &needed, out) != OOM_FITS || (!out->by_line && verdict_of(c, other, out) != OOM_FITS);
    if (out->verdict == OOM_FITS && may_not_fit)
        out->verdict = OOM_RISK;
}

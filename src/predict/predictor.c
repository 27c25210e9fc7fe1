#include "predict/predictor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "predict/device.h"
#include "predict/flops.h"
#include "predict/layer_memory.h"
#include "predict/memory_lines.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/suggest.h"

/* --- verdict --- */

/* The verdict on whether a plan fits into the device's memory, which pruning acts on, and its probability.
 *
 * A verdict compares the predicted memory with a share of the device's. The shares (OOM_RISK_SHARE and
 * OOM_CERTAIN_SHARE, or those of the file) are meant for a prediction with a sigma of VERDICT_SIGMA. The limit of a
 * better one lies nearer to all that torch can use: (share / all)^(sigma / VERDICT_SIGMA) of that. A worse one must
 * not exclude what fits. Its limit rises with sigma until, from 0.2 on, a run that takes OOM_RISK_SHARE of the memory
 * is excluded only if it is mispredicted by 1.96 standard deviations, as one run in forty is.
 *
 * Model states are counted, not estimated, so sigma describes only the rest. If the rest is less than half of the
 * memory, sigma is multiplied by twice its share. (Nine in ten of nanotron's runs were off by at most 37 % if hardly
 * any of their memory was states, 20 % if half of it was, and 4 % if nearly all was.) The temporaries of an optimizer's
 * step are counted, too: a plan whose peak is there is excluded only above the higher of the limits with and without
 * them.
 *
 * Some frameworks' recipes recompute, or keep weights in 8 bits alone, although no key says so (struct
 * memory_coefficients, recipes). Then the least that the plan may need is compared as well, and a plan that fits only
 * with that is a risk. Some frameworks' releases
 * differ in what they keep, and no key says which (may_keep_gathered). Then the interval spans both, and a plan that
 * fits only with the smaller of the two is a risk. The same holds where releases differ in whether the loss makes
 * logits part by part (may_chunk_loss). The probability is the mean over what the plan may need. */

#define VERDICT_SIGMA 0.12

/* Who asks: a plan on a cluster, with the coefficients and the shares that hold for it. */
struct verdict_case {
    const struct subject *subject;
    const struct cluster *cluster;
    const struct framework *framework;
    double certain, risky;
    bool counts_held; /* memory is counted with what the allocator holds without using it */
    bool is_compared; /* with runs of its kind, or the file or measurements say how sure it is */
};

/* Bytes that must fit, and how many of them are model states. */
struct memory_need {
    double bytes, states;
    double step; /* and temporaries of the optimizer's step, if the peak is there */
};

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
    bool steps = f->memory.phases != 0 && terms[MEMORY_ACTIVATIONS] + terms[MEMORY_WORKING] + terms[MEMORY_LOGITS] == 0;
    return (struct memory_need){m->most.bytes - m->most.slack,
                                weights[MEMORY_UNSHARDED] * terms[MEMORY_UNSHARDED] +
                                    weights[MEMORY_SHARDED] * terms[MEMORY_SHARDED],
                                steps ? weights[MEMORY_BUFFERS] * terms[MEMORY_BUFFERS] : 0};
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
    const struct memory_need counted = {n->bytes, n->states + n->step, 0};
    double certain =
        fmax(share_for(c->certain, sigma, most), share_for(c->certain, sigma_of(&counted, out->memory.sigma), most));
    double least = n->bytes * evidence_of_estimated(1 - n->states / n->bytes, -unseen_memory.below);
    if (n->bytes > certain * usable && (c->is_compared || least > most * usable))
        return OOM_CERTAIN;
    return n->bytes > share_for(c->risky, sigma, most) * usable ? OOM_RISK : OOM_FITS;
}

/* Sets what the most loaded rank needs; its interval keeps its width. */
static void verdict_set_bytes(struct memory_prediction *m, double bytes)
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
    bool found = memory_predict(&c->subject->architecture, plan, c->cluster, &c->framework->memory, &variant);
    return found ? need_of(&variant, c->framework) : otherwise;
}

/* The need with a loss in parts, which newer releases have although no key says so. */
static struct memory_need chunked_need(const struct verdict_case *c, struct memory_need as_said)
{
    const struct subject *s = c->subject;
    if (c->framework->memory.may_chunk_loss == 0 || s->says[AT_CHUNKED_LOSS] || s->is_measured)
        return as_said;
    struct training_plan plan = s->plan;
    plan.loss = LOSS_LINEAR;
    struct memory_need least = need_of_variant(c, &plan, as_said);
    return least.bytes < as_said.bytes ? least : as_said;
}

/* The need with the recompute, and weights in 8 bits alone, that the framework's recipes may use although no key says
 * so, or with a loss in parts. */
static struct memory_need least_need(const struct verdict_case *c, struct memory_need as_said)
{
    const struct subject *s = c->subject;
    struct training_plan plan = s->plan;
    if (c->framework->memory.recipes == 0 || s->is_measured || (s->says[AT_RECOMPUTE] && !layer_is_narrow(&plan)))
        return chunked_need(c, as_said);
    plan.narrow_weights = true;
    plan.recompute = s->says[AT_RECOMPUTE] ? plan.recompute : RECOMPUTE_FULL;
    if (!s->says[AT_RECOMPUTE] && plan.gradient_bytes == 0)
        plan.gradient_bytes = 2;
    struct memory_need least = need_of_variant(c, &plan, as_said);
    return least.bytes < as_said.bytes ? least : as_said;
}

static struct memory_need other_need(const struct verdict_case *c, struct memory_need as_said)
{
    const struct subject *s = c->subject;
    bool unknown = c->framework->memory.may_keep_gathered != 0 && !s->says[AT_RECOMPUTE_ALLGATHER] &&
                   s->plan.sequence_parallel && s->plan.tensor > 1;
    if (!unknown || s->is_measured)
        return as_said;
    struct training_plan plan = s->plan;
    plan.keeps_gathered = true;
    return need_of_variant(c, &plan, as_said);
}

/* The factor on all that is reserved if batches differ in length, where no key says; at most to a full device. */
static double other_lengths(const struct verdict_case *c, const struct prediction *out)
{
    struct training_plan plan = c->subject->plan;
    struct memory_prediction vary;
    double room = out->usable_bytes > 0 ? out->usable_bytes - out->memory.reserve_bytes : INFINITY;
    if (plan.lengths != LENGTHS_UNKNOWN || c->framework->memory.length_pieces == 0 ||
        c->framework->time.may_mask == 0 || c->subject->is_measured)
        return 1;
    plan.lengths = LENGTHS_VARY;
    if (!memory_predict(&c->subject->architecture, &plan, c->cluster, &c->framework->memory, &vary))
        return 1;
    return fmax(1, fmin(vary.most.bytes, room) / out->memory.most.bytes);
}

/* Widens the interval of `out->memory` to what a release that keeps gathered inputs needs, and returns that need; what
 * is predicted, if keys say which it is or releases do not differ. */
static struct memory_need verdict_widen(const struct verdict_case *c, struct prediction *out)
{
    struct memory_need needed = need_of(&out->memory, c->framework), other = other_need(c, needed);
    double lengths = c->counts_held ? other_lengths(c, out) : 1;
    out->lengths_unknown = lengths > 1;
    out->memory.other = fmax(1, other.bytes / needed.bytes) * lengths;
    out->memory.high_bytes *= out->memory.other;
    out->memory.least = chunked_need(c, needed).bytes / needed.bytes;
    out->memory.low_bytes *= out->memory.least;
    return other;
}

/* The mean probability over the needs that differ; no key says which applies, so they are equally likely. */
static void take_probability(const struct memory_need *const *needs, size_t count, struct prediction *out)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && needs[i]->bytes == needs[0]->bytes)
            continue;
        sum += oom_probability(needs[i]->bytes, sigma_of(needs[i], out->memory.sigma), out->usable_bytes,
                               out->memory.reserve_bytes);
        n++;
    }
    out->has_probability = !isnan(sum);
    out->oom_probability = out->has_probability ? sum / (double)n : 0;
}

/* From `out->memory` and `out->usable_bytes` (above 0): the verdict and, if one can be computed, the probability.
 * `other` is from verdict_widen. What is only held in fragments is given back as far as there is no room for it. */
static void verdict_reach(const struct verdict_case *c, const struct memory_need *other, struct prediction *out)
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

/* --- features --- */

/* Unusual features of a plan, by which the comparisons behind predictions are grouped (predict/evidence.h). Pure. */

/* Returns whether tensor groups span several nodes or link domains. */
static bool is_spread(const struct subject *s, const struct device *device)
{
    double domain = s->link_domain > 0 || !device ? s->link_domain : (double)device->link_domain;
    return (double)s->plan.tensor > fmax(domain, s->devices_per_node);
}

#define LONG_SEQUENCE 8192 /* tokens; nearly all of the compared tables' sequences are as long at most */

/* `device` NULL: not known. */
static feature_set features_of_plan(const struct subject *s, const struct device *device)
{
    const struct architecture *a = &s->architecture;
    const struct training_plan *plan = &s->plan;
    const bool has[PLAN_FEATURES] = {
        [FEATURE_FAMILY] = a->family != ARCHITECTURE_GPT && a->family != ARCHITECTURE_LLAMA,
        [FEATURE_EXPERTS] = a->experts > 0,
        [FEATURE_MIXERS] = a->mixer_layers > 0,
        [FEATURE_CONTEXT] = plan->context > 1,
        [FEATURE_OFFLOAD] = plan->offload != OFFLOAD_NONE || plan->offload_layers > 0,
        [FEATURE_MTP] = a->mtp_layers > 0,
        [FEATURE_FP8] = plan->precision == PRECISION_FP8,
        [FEATURE_FP4] = plan->precision == PRECISION_FP4,
        [FEATURE_SCHEDULE] = plan->schedule > SCHEDULE_INTERLEAVED,
        [FEATURE_ADAPTERS] = plan->tuning != TUNING_FULL,
        [FEATURE_DEVICE] = device && !device->measured,
        [FEATURE_SPREAD] = is_spread(s, device),
        [FEATURE_LENGTHS] = plan_mean_sequence(plan) != plan->sequence || plan->lengths == LENGTHS_VARY,
        [FEATURE_OTHER_ADAPTERS] = plan->tuning > TUNING_LORA,
        [FEATURE_OTHER_QUANTIZATION] = plan->quantization > QUANTIZATION_GPTQ,
        [FEATURE_QUANTIZATION] = plan->quantization != QUANTIZATION_NONE && plan->quantization <= QUANTIZATION_GPTQ,
        [FEATURE_FP32] = plan_is_fp32(plan),
        [FEATURE_SHARDED] = plan->zero_stage == 3,
        [FEATURE_LONG] = plan->sequence > LONG_SEQUENCE,
        [FEATURE_WHOLE] = plan->tensor == 1 && plan->pipeline == 1,
        [FEATURE_SPLIT] = plan->tensor > 1 || plan->pipeline > 1,
        [FEATURE_CAST] = plan->weights == WEIGHTS_FP32 && !plan_is_fp32(plan),
        [FEATURE_KEPT] = plan->recompute == RECOMPUTE_NONE,
    };
    feature_set features = 0;
    for (int f = FEATURE_PLAIN + 1; f < PLAN_FEATURES; f++)
        features |= has[f] ? 1U << f : 0;
    return features;
}

/* --- predictor --- */

#define INTERVAL_90 1.6448536269514722
#define TEXT_BYTES 160

struct calibrated {
    char *framework, *device, *cluster;
    struct framework row;
    bool has_memory, has_time; /* fitted to measurements, not the prior */
    double baseline;
};

struct predictor {
    struct predictor_options options;
    struct framework_set priors;
    struct framework_evidence {
        struct evidence_widths widths;
        bool of_profile[PREDICTED_QUANTITIES]; /* its profile was compared, not the evidence rows */
    } * evidence;                              /* one per prior */
    bool sigma_stated[PREDICTED_QUANTITIES];
    struct calibrated *calibrated;
    size_t calibrated_count;
    struct device stated;                        /* the device in use, with what the file states */
    struct input_value last_values[INPUT_COUNT]; /* texts are in last_texts */
    char last_texts[INPUT_COUNT][TEXT_BYTES];
    bool have_last;
    struct subject last;
    struct memory_lines *lines; /* NULL until something is noted */
    struct prediction prediction;
};

static struct framework *find_prior(const struct predictor *p, const char *name)
{
    for (size_t i = 0; i < p->priors.count; i++)
        if (strcmp(p->priors.items[i].name, name) == 0)
            return &p->priors.items[i];
    return NULL;
}

const struct framework *predictor_prior(const struct predictor *p, const char *framework)
{
    return find_prior(p, framework ? framework : p->options.framework);
}

static bool is_profile(const char *name)
{
    OWNED char *file = xasprintf("profiles/%s.toml", name);
    bool found = embedded_text(file) != NULL;
    return found;
}

static int no_framework(const struct predictor *p, const char *name, struct error *e)
{
    OWNED_BUFFER list = BUFFER_INIT;
    struct suggestion meant = SUGGEST(name, i, p->priors.count, p->priors.items[i].name);
    for (size_t i = 0; i < p->priors.count; i++)
        buffer_printf(&list, "%s%s", i ? ", " : "", p->priors.items[i].name);
    if (is_profile(name))
        error_set(e, ERROR_USAGE,
                  "\"%s\" is a profile, not a framework of predictions: write profile = \"%s\" at the top of the "
                  "file instead; a framework must be one of %s",
                  name, name, buffer_text(&list));
    else if (meant.near)
        error_set(e, ERROR_USAGE, "unknown framework \"%s\"%s", name, suggest_hint(&meant));
    else
        error_set(e, ERROR_USAGE, "unknown framework \"%s\"; must be one of %s", name, buffer_text(&list));
    return -1;
}

static const char *default_framework(const struct predictor *p)
{
    for (char *const *name = p->options.profiles; name && *name; name++)
        if (find_prior(p, *name))
            return *name;
    return "torch-ddp";
}

/* A framework that only the file knows starts from the general coefficients. */
static void add_own(struct predictor *p, const char *name)
{
    struct framework own = p->priors.base;
    own.name = xstrdup(name);
    *array_add(p->priors.items, p->priors.count) = own;
}

static void take_evidence(struct predictor *p)
{
    p->evidence = xcalloc(p->priors.count, sizeof *p->evidence);
    for (size_t i = 0; i < p->priors.count; i++) {
        const struct framework *f = &p->priors.items[i];
        struct framework_evidence *e = &p->evidence[i];
        evidence_widths_of(f->name, p->options.evidence_without, &e->widths);
        e->of_profile[QUANTITY_OF_MEMORY] =
            f->memory.calibrated && !evidence_has_table(f->name, NULL, QUANTITY_OF_MEMORY);
        e->of_profile[QUANTITY_OF_TIME] = f->time.calibrated && !evidence_has_table(f->name, NULL, QUANTITY_OF_TIME);
    }
}

int predictor_create(const struct predictor_options *options, struct predictor **out, struct error *e)
{
    struct predictor *p = xcalloc(1, sizeof *p);
    framework_set_read(&p->priors);
    p->options = *options;
    if (!p->options.framework)
        p->options.framework = default_framework(p);
    p->options.certain = options->certain > 0 ? options->certain : OOM_CERTAIN_SHARE;
    p->options.risky = options->risky > 0 ? options->risky : OOM_RISK_SHARE;
    if (!find_prior(p, p->options.framework) && options->is_own)
        add_own(p, options->framework);
    if (!find_prior(p, p->options.framework)) {
        no_framework(p, p->options.framework, e);
        predictor_free(p);
        return -1;
    }
    take_evidence(p);
    *out = p;
    return 0;
}

static void release(struct calibrated *c)
{
    free_all(c->framework, c->device, c->cluster);
}

void predictor_free(struct predictor *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->calibrated_count; i++)
        release(&p->calibrated[i]);
    free(p->calibrated);
    memory_lines_free(p->lines);
    free(p->evidence);
    framework_set_free(&p->priors);
    free(p);
}

/* --- coefficients by name --- */

static int no_coefficient(const char *name, bool is_time, struct error *e)
{
    struct suggestion meant = coefficient_suggest(is_time, name);
    return error_set(e, ERROR_USAGE, "there is no coefficient \"%s\"%s", name, suggest_hint(&meant));
}

int predictor_set(struct predictor *p, const char *name, bool is_time, double value, struct error *e)
{
    bool is_sigma = strcmp(name, "sigma") == 0 || strcmp(name, "spread") == 0;
    if (is_sigma && !(value > 0))
        return error_set(e, ERROR_USAGE, "%s must be above 0", name);
    p->have_last = false;
    p->sigma_stated[is_time ? QUANTITY_OF_TIME : QUANTITY_OF_MEMORY] |= is_sigma;
    /* A file that states a sigma has compared what it sweeps, so the general one is replaced, too. */
    if (is_sigma && !coefficient_set(&p->priors.base, is_time, name, value))
        return no_coefficient(name, is_time, e);
    for (size_t i = 0; i < p->priors.count; i++)
        if (!coefficient_set(&p->priors.items[i], is_time, name, value))
            return no_coefficient(name, is_time, e);
    return 0;
}

/* --- calibrations --- */

static bool is_at(const struct calibrated *c, const struct place_of_measurement *w)
{
    return strcmp(c->framework, w->framework) == 0 && strcasecmp(c->device, w->device) == 0 &&
           strcmp(c->cluster, w->cluster) == 0;
}

static struct calibrated *find_calibrated(const struct predictor *p, const struct place_of_measurement *where)
{
    for (size_t i = 0; i < p->calibrated_count; i++)
        if (is_at(&p->calibrated[i], where))
            return &p->calibrated[i];
    return NULL;
}

int predictor_calibrate(struct predictor *p, const struct place_of_measurement *where, const struct calibration *memory,
                        const struct calibration *time, double baseline, struct error *e)
{
    const struct framework *prior = find_prior(p, where->framework);
    if (!prior)
        return no_framework(p, where->framework, e);
    struct calibrated *c = find_calibrated(p, where);
    if (!c) {
        p->calibrated = array_grow(p->calibrated, p->calibrated_count, sizeof *p->calibrated);
        c = &p->calibrated[p->calibrated_count++];
        *c = (struct calibrated){xstrdup(where->framework),
                                 xstrdup(where->device),
                                 xstrdup(where->cluster),
                                 *prior,
                                 false,
                                 false,
                                 0};
    }
    if (memory) {
        c->row.memory = prior->memory;
        calibration_apply_memory(memory, &c->row.memory);
        c->has_memory = !memory->from_prior;
    }
    if (time) {
        c->row.time = prior->time;
        calibration_apply_time(time, &c->row.time);
        c->has_time = !time->from_prior;
        c->baseline = baseline;
    }
    p->have_last = false;
    return 0;
}

/* --- predicting --- */

static bool is_last(const struct predictor *p, const struct input_value *values)
{
    for (size_t i = 0; p->have_last && i < INPUT_COUNT; i++) {
        const struct input_value *a = &values[i], *b = &p->last_values[i];
        if (a->kind != b->kind || (a->kind == INPUT_NUMBER && a->number != b->number) ||
            (a->kind == INPUT_TEXT && strcmp(a->text, b->text) != 0))
            return false;
    }
    return p->have_last;
}

/* Several SQL functions of one row ask for the same. Texts are copied because the caller's move; longer ones are not
 * kept. */
static void keep_values(struct predictor *p, const struct input_value *values)
{
    memcpy(p->last_values, values, sizeof p->last_values);
    p->have_last = true;
    for (size_t i = 0; i < INPUT_COUNT; i++) {
        if (values[i].kind != INPUT_TEXT)
            continue;
        if (strlen(values[i].text) >= TEXT_BYTES) {
            p->have_last = false;
            return;
        }
        strcpy(p->last_texts[i], values[i].text);
        p->last_values[i].text = p->last_texts[i];
    }
}

/* Clocks under a limit of power: dynamic power goes with the cube of the clock, as voltage follows it. The makers' own
 * pairs are near: H100 NVL (400 W) has 0.84 of H100's (700 W) products, by this 0.83, and MI350X (1,000 W) 0.92 of
 * MI355X's (1,400 W), by this 0.89. Memory keeps its speed. */
static void limit_power(double limit, struct device *d)
{
    double share = limit > 0 && limit < d->power ? cbrt(limit / d->power) : 1;
    if (share == 1)
        return;
    d->product_share = share * (d->product_share > 0 ? d->product_share : PRODUCT_SHARE_A100);
    d->fp8_share *= share;
    d->vector_share *= share;
    d->attention_flops *= share;
    d->latest_attention_flops *= share;
}

/* The named device, overridden by what the file states. False if neither gives its speed. */
static bool find_cluster(struct predictor *p, const struct subject *s, const char *name, struct cluster *out)
{
    const struct predictor_options *o = &p->options;
    const struct device *known = device_find(o->devices, name);
    if (!known && !(o->peak_flops > 0 && o->memory_bandwidth > 0))
        return false;
    p->stated = known ? *known
                      : (struct device){.name = name,
                                        .fp8_factor = 1,
                                        .fp4_factor = 1,
                                        .fp32_factor = 1,
                                        .link_bytes_per_s = UNKNOWN_LINK,
                                        .launch_factor = 1};
    if (o->peak_flops > 0) {
        p->stated.latest_attention_flops *= known ? o->peak_flops / known->peak_flops : 0;
        p->stated.attention_flops =
            known ? known->attention_flops * o->peak_flops / known->peak_flops : UNMEASURED_ATTENTION * o->peak_flops;
        p->stated.peak_flops = o->peak_flops;
    }
    if (o->memory_bandwidth > 0)
        p->stated.memory_bytes_per_s = o->memory_bandwidth;
    limit_power(s->power_limit, &p->stated);
    *out = (struct cluster){.device = &p->stated,
                            .devices_per_node = (int64_t)s->devices_per_node,
                            .link_domain = (int64_t)s->link_domain,
                            .intra_bytes_per_s = o->link_bandwidth,
                            .inter_bytes_per_s = o->network_bandwidth,
                            .inter_latency_s = o->network_latency,
                            .usable_bytes = s->usable_bytes > 0 ? s->usable_bytes : p->stated.usable_bytes};
    return true;
}

/* The line through measurements of the same class, if it lies within the model's interval. */
static void follow_line(const struct predictor *p, const struct input_value *values, const struct subject *s,
                        struct prediction *out)
{
    struct memory_prediction *m = &out->memory;
    double bytes;
    if (!p->lines || !memory_lines_bytes(p->lines, memory_class(values, s), (double)s->plan.micro_batch, &bytes) ||
        bytes < m->low_bytes || bytes > m->high_bytes)
        return;
    verdict_set_bytes(m, bytes);
    out->by_line = true;
}

void predictor_note_memory(struct predictor *p, double bytes)
{
    if (!p->have_last || !(bytes > 0 && isfinite(bytes)))
        return;
    if (!p->lines)
        p->lines = memory_lines_create();
    memory_lines_add(p->lines, memory_class(p->last_values, &p->last), (double)p->last.plan.micro_batch, bytes);
    p->have_last = false;
}

static bool shares_device(const struct subject *s)
{
    return s->device_share > 0 && s->device_share < 1;
}

#define MANY_WORDS 65536 /* of which few loops make the logits in fp32 at once */

/* Those of the plan, its place, and what is predicted of them. */
static feature_set features_of(const struct predictor *p, const struct subject *s, const struct cluster *cluster,
                               const struct framework *row)
{
    const struct prediction *out = &p->prediction;
    const double *weights = row->time.weights, *terms = out->step.terms;
    double host = weights[TIME_LAUNCH] * terms[TIME_LAUNCH] + weights[TIME_STEP] * terms[TIME_STEP];
    double logits = row->memory.weights[MEMORY_LOGITS] * out->memory.most.terms[MEMORY_LOGITS];
    bool has_logits = out->has_memory && s->architecture.vocab > MANY_WORDS &&
                      logits > (out->memory.most.bytes - out->memory.most.slack) / 4;
    bool is_alien = cluster->device && !evidence_has_device(row->compared_on, cluster->device->name);
    bool has_nodes = cluster->device && out->devices > (double)cluster->link_domain;
    bool is_unnamed = has_nodes && p->options.network_bandwidth == 0 && cluster_is_partial(cluster);
    return features_of_plan(s, cluster->device) | (feature_set)is_alien << FEATURE_DEVICE |
           (feature_set)(p->options.counter != COUNTS_ALLOCATED) << FEATURE_HELD |
           (feature_set)step_unpacks(&s->plan, row) << FEATURE_UNPACKED | (feature_set)has_nodes << FEATURE_NODES |
           (feature_set)is_unnamed << FEATURE_NETWORK |
           (feature_set)(out->has_time && host > out->step.seconds / 2) << FEATURE_HOST |
           (feature_set)has_logits << FEATURE_LOGITS;
}

/* The features with which a profile was compared that was compared itself. */
#define FEATURES_OF_PROFILE (1U << FEATURE_HELD | 1U << FEATURE_FP32 | FEATURES_OF_KIND)

/* How far the 90 % interval of ln(time or memory) reaches down and up. */
/* What the comparisons say of the framework; NULL if something more specific gives the interval. */
static const struct evidence_widths *evidence_for(const struct predictor *p, const struct prediction *out,
                                                  enum predicted_quantity quantity, bool is_fitted)
{
    const struct framework_evidence *e = &p->evidence[find_prior(p, out->where.framework) - p->priors.items];
    feature_set features = evidence_features(out->features, quantity);
    bool by_profile = e->of_profile[quantity] && !(features & ~FEATURES_OF_PROFILE);
    return is_fitted || p->sigma_stated[quantity] || by_profile ? NULL : &e->widths;
}

static void add_memory(struct predictor *p, const struct input_value *values, const struct subject *s,
                       const struct cluster *cluster, const struct framework *row, bool is_fitted)
{
    const bool counts_held = p->options.counter != COUNTS_ALLOCATED;
    struct verdict_case question = {s, cluster, row, p->options.certain, p->options.risky, counts_held, true};
    struct prediction *out = &p->prediction;
    out->has_memory = s->is_measured
                          ? memory_predict_measured(&s->measured, &s->plan, cluster, &row->memory, &out->memory)
                          : memory_predict(&s->architecture, &s->plan, cluster, &row->memory, &out->memory);
    out->usable_bytes = cluster->usable_bytes * (shares_device(s) ? s->device_share : 1) * (1 - s->server_share);
    out->memory_calibrated = row->memory.calibrated;
    if (!out->has_memory)
        return;
    struct memory_need other = verdict_widen(&question, out);
    follow_line(p, values, s, out);
    out->features = features_of(p, s, cluster, row);
    const struct evidence_widths *w = out->by_line ? NULL : evidence_for(p, out, QUANTITY_OF_MEMORY, is_fitted);
    if (w)
        question.is_compared =
            evidence_compared(w, QUANTITY_OF_MEMORY, evidence_features(out->features, QUANTITY_OF_MEMORY));
    if (out->usable_bytes > 0)
        verdict_reach(&question, &other, out);
}

static void add_time(struct predictor *p, const struct architecture *a, const struct training_plan *plan,
                     const struct cluster *cluster, const struct framework *row, double baseline)
{
    struct prediction *out = &p->prediction;
    out->has_time = step_predict(a, plan, cluster, row, &out->step);
    if (!out->has_time)
        return;
    out->peak_seconds = flops_peak_seconds(a, plan, cluster->device->peak_flops);
    out->peak_flops = out->devices * cluster->device->peak_flops;
    out->by_baseline = baseline > 0;
    out->seconds = baseline > 0 ? baseline * out->peak_seconds : out->step.seconds;
    out->low_s = out->seconds * exp(-INTERVAL_90 * out->step.sigma);
    out->high_s = out->seconds * exp(INTERVAL_90 * out->step.sigma);
    out->time_calibrated = row->time.calibrated;
}

#define SLOW_NETWORK 1.25e9 /* bytes per second of a node: AWS p3.8xlarge, 10 Gbit/s, docs.aws.amazon.com/ec2 */
#define SLOW_HOST 1.7e9     /* bytes per second: 16 s for 1e9 parameters, deepspeedai/DeepSpeed, issue 1635 */

/* How many times as long as predicted a step takes as another plan or on another cluster; 1 if that is not known. */
static double time_ratio(const struct predictor *p, const struct subject *s, const struct training_plan *plan,
                         const struct cluster *cluster, const struct framework *row)
{
    struct step_prediction other;
    bool found = p->prediction.has_time && step_predict(&s->architecture, plan, cluster, row, &other);
    return found ? other.seconds / p->prediction.step.seconds : 1;
}

/* The same if what no key says is the worse: attention with a padding mask; a network of one adapter a node in place of
 * one a device, or of Ethernet between nodes of fewer devices than is usual; a host whose cores or memory are slow,
 * where the optimizer is there. */
static double worse_time(const struct predictor *p, const struct subject *s, const struct training_plan *plan,
                         const struct cluster *cluster, const struct framework *row)
{
    struct training_plan masked = *plan;
    struct cluster slow = *cluster;
    bool may_mask = row->time.may_mask != 0 && !s->says[AT_PADDING_MASK] && !plan->padding_free &&
                    plan->attention_kernel == ATTENTION_KERNEL_SDPA;
    bool may_be_slow = p->prediction.features & 1U << FEATURE_NETWORK;
    bool may_be_one = p->prediction.features & 1U << FEATURE_NODES && p->options.network_bandwidth == 0;
    masked.padding_mask |= may_mask;
    slow.host_bytes_per_s = SLOW_HOST;
    if (may_be_one)
        slow.inter_bytes_per_s /= s->devices_per_node;
    if (may_be_slow)
        slow.inter_bytes_per_s = fmin(slow.inter_bytes_per_s, SLOW_NETWORK / s->devices_per_node);
    bool differs = may_mask || may_be_one || plan->offload != OFFLOAD_NONE;
    return differs ? fmax(1, time_ratio(p, s, &masked, &slow, row)) : 1;
}

/* The same if what no key says is the better: products in fp32 are in TF32, as by default in torch 1.7 to 1.11
 * (backends.cuda.matmul.allow_tf32) and in all of NVIDIA's containers (TORCH_ALLOW_TF32_CUBLAS_OVERRIDE); attention
 * by sdpa is cuDNN's, as in torch 2.8 and 2.11 on Hopper and Blackwell (aten/src/ATen/native/transformers/cuda/
 * sdp_utils.cpp, check_prefer_cudnn_attention). */
static double better_time(const struct predictor *p, const struct subject *s, const struct training_plan *plan,
                          const struct cluster *cluster, const struct framework *row)
{
    struct training_plan better = *plan;
    bool may_be_tf32 = plan->precision == PRECISION_FP32 && !s->says[AT_TF32];
    bool may_be_cudnn = plan->attention_kernel == ATTENTION_KERNEL_SDPA && cluster->device->latest_attention_flops > 0;
    if (may_be_tf32)
        better.precision = PRECISION_TF32;
    if (may_be_cudnn)
        better.attention_kernel = ATTENTION_KERNEL_CUDNN;
    return may_be_tf32 || may_be_cudnn ? fmin(1, time_ratio(p, s, &better, cluster, row)) : 1;
}

static void widen_memory(const struct evidence_widths *w, const struct framework *row, struct prediction *out)
{
    struct memory_prediction *m = &out->memory;
    feature_set features = evidence_features(out->features, QUANTITY_OF_MEMORY);
    double low, high;
    evidence_interval(w, QUANTITY_OF_MEMORY, features, 1 - need_of(m, row).states / m->most.bytes, &low, &high);
    m->low_bytes = m->most.bytes * m->least * low;
    m->high_bytes = m->most.bytes * m->other * high;
    out->memory_calibrated = evidence_compared(w, QUANTITY_OF_MEMORY, features);
    out->by_evidence[QUANTITY_OF_MEMORY] = true;
}

static void widen_time(const struct evidence_widths *w, struct prediction *out)
{
    feature_set features = evidence_features(out->features, QUANTITY_OF_TIME);
    double products = out->step.terms[TIME_MATRICES] + out->step.terms[TIME_ATTENTION], low, high;
    evidence_interval(w, QUANTITY_OF_TIME, features, products / out->step.seconds, &low, &high);
    out->low_s = out->seconds * out->better * low;
    out->high_s = out->seconds * out->worse * high;
    out->time_calibrated = evidence_compared(w, QUANTITY_OF_TIME, features);
    out->by_evidence[QUANTITY_OF_TIME] = true;
}

static void widen(struct predictor *p, const struct framework *row, const struct calibrated *c)
{
    struct prediction *out = &p->prediction;
    struct memory_prediction *m = &out->memory;
    const struct evidence_widths *w;
    if (out->has_memory && !out->by_line && (w = evidence_for(p, out, QUANTITY_OF_MEMORY, c && c->has_memory)))
        widen_memory(w, row, out);
    if (out->has_memory && !out->by_line && !(c && c->has_memory)) /* workspaces that a small plan may not have */
        m->low_bytes = fmin(m->low_bytes, fmax(0, m->most.bytes - row->memory.base_bytes));
    if (out->has_time && !out->by_baseline && (w = evidence_for(p, out, QUANTITY_OF_TIME, c && c->has_time)))
        widen_time(w, out);
}

static void add_measured(struct predictor *p, const struct calibrated *c)
{
    struct prediction *out = &p->prediction;
    const struct memory_prediction *m = &out->memory;
    const struct memory_stage *stages[] =
        {[RANK_MOST_LOADED] = &m->most, [RANK_FIRST] = &m->first, [RANK_LAST] = &m->last};
    const struct memory_stage *stage = stages[p->options.rank];
    bool is_fitted = (c && c->has_memory) || out->by_line;
    double bytes = p->options.counter == COUNTS_ALLOCATED ? stage->allocated_bytes : stage->bytes;
    if (p->options.counter == COUNTS_DEVICE)
        bytes += m->reserve_bytes;
    out->measured_bytes = is_fitted ? m->most.bytes : bytes;
    out->measured_low = m->low_bytes * out->measured_bytes / m->most.bytes;
    out->measured_high = m->high_bytes * out->measured_bytes / m->most.bytes;
}

/* Unless `c` (may be NULL) has a fit, gives memory and time of plans that were never compared, and time on devices that
 * were not, at least the general sigma. Returns `row` or `scratch`. */
static const struct framework *widened(const struct framework *row, const struct framework *base,
                                       const struct calibrated *c, const struct subject *s, const struct device *device,
                                       struct framework *scratch)
{
    feature_set unusual =
        evidence_features(features_of_plan(s, device), QUANTITY_OF_MEMORY) &
        ~(1U << FEATURE_ADAPTERS | 1U << FEATURE_QUANTIZATION | 1U << FEATURE_SHARDED | FEATURES_OF_KIND);
    bool adapters = s->plan.tuning != TUNING_FULL && row->memory.adapters_compared == 0;
    if (unusual & FEATURES_OF_PROFILE && !evidence_has_table(row->name, NULL, QUANTITY_OF_MEMORY))
        unusual &= ~FEATURES_OF_PROFILE;
    bool plan = unusual || adapters, place = device && !device->measured;
    bool memory = plan && (!c || !c->has_memory), time = (plan || place) && (!c || !c->has_time);
    if (!memory && !time)
        return row;
    *scratch = *row;
    if (memory) {
        scratch->memory.sigma = fmax(row->memory.sigma, base->memory.sigma);
        scratch->memory.calibrated = false;
    }
    if (time) {
        scratch->time.sigma = fmax(row->time.sigma, base->time.sigma);
        scratch->time.calibrated = false;
    }
    return scratch;
}

static int check_power(const struct subject *s, const struct device *d, struct error *e)
{
    if (d && s->power_limit > 0 && d->power == 0)
        return error_set(e, ERROR_USAGE,
                         "power_limit = %g: the power of %s without a limit is not known; set power in [[device]]",
                         s->power_limit, d->name);
    return 0;
}

/* Only for known devices. Without units for a precision, a device's factor is 1, or for fp4 that of fp8. */
static int check_precision(const struct training_plan *plan, const struct device *d, struct error *e)
{
    const char *halves = d && d->no_bf16 ? "fp16" : "bf16 or fp16";
    if (d && plan->precision == PRECISION_FP8 && d->fp8_factor <= 1 && !d->fp8)
        return error_set(e, ERROR_USAGE, "%s does not have precision fp8; use %s", d->name, halves);
    if (d && plan->precision == PRECISION_FP4 && d->fp4_factor <= d->fp8_factor)
        return error_set(e, ERROR_USAGE, "%s does not have precision fp4; use %s", d->name,
                         d->fp8_factor > 1 ? "fp8 or bf16" : halves);
    return 0;
}

static int predict(struct predictor *p, const struct input_value *values, const struct subject *s, struct error *e)
{
    const struct predictor_options *o = &p->options;
    struct cluster cluster = {.devices_per_node = (int64_t)s->devices_per_node, .usable_bytes = s->usable_bytes};
    struct prediction *out = &p->prediction;
    memset(out, 0, sizeof *out);
    out->where = (struct place_of_measurement){s->framework ? s->framework : o->framework,
                                               s->device   ? s->device
                                               : o->device ? o->device
                                                           : "",
                                               s->cluster   ? s->cluster
                                               : o->cluster ? o->cluster
                                                            : ""};
    const struct framework *prior = find_prior(p, out->where.framework);
    if (!prior)
        return no_framework(p, out->where.framework, e);
    const struct calibrated *c = find_calibrated(p, &out->where);
    bool has_speed = find_cluster(p, s, out->where.device, &cluster);
    if (has_speed && (cluster_complete(&cluster, e) < 0 ||
                      check_precision(&s->plan, device_find(o->devices, out->where.device), e) < 0 ||
                      check_power(s, device_find(o->devices, out->where.device), e) < 0))
        return -1;
    struct framework scratch;
    const struct framework *row = widened(c ? &c->row : prior, &p->priors.base, c, s, cluster.device, &scratch);
    struct training_plan average = s->plan; /* memory is that of the longest batch, work that of the average one */
    average.sequence = plan_mean_sequence(&s->plan);
    out->samples = plan_global_batch(&s->plan);
    out->micro_batch = (double)s->plan.micro_batch;
    /* A backward pass counts as two forward passes. */
    out->flops =
        s->is_measured ? 3 * s->measured.forward_flops * out->samples : flops_per_step(&s->architecture, &average);
    out->tokens = s->is_measured ? 0 : out->samples * (double)average.sequence;
    out->devices = plan_world(&s->plan);
    out->steps = s->steps;
    if (has_speed)
        out->watts = s->power_limit > 0 ? fmin(s->power_limit, cluster.device->power) : cluster.device->power;
    add_memory(p, values, s, &cluster, row, c && c->has_memory);
    /* How much those that have the rest of the device slow it down nobody knows. */
    if (has_speed && !s->is_measured && !shares_device(s))
        add_time(p, &s->architecture, &average, &cluster, row, c ? c->baseline : 0);
    out->features = features_of(p, s, &cluster, row);
    out->better = has_speed ? better_time(p, s, &average, &cluster, row) : 1;
    out->worse = has_speed ? worse_time(p, s, &average, &cluster, row) : 1;
    widen(p, row, c);
    if (out->has_memory)
        add_measured(p, c);
    return 0;
}

static void take_default_stage(struct predictor *p)
{
    struct subject *s = &p->last;
    const struct framework *prior = find_prior(p, s->framework ? s->framework : p->options.framework);
    if (prior && !s->says[AT_ZERO_STAGE] && s->plan.zero_stage == 0)
        s->plan.zero_stage = (int64_t)prior->memory.default_stage;
}

int predictor_predict(struct predictor *p, const struct input_value *values, const struct prediction **out,
                      struct error *e)
{
    if (!is_last(p, values)) {
        keep_values(p, values);
        bool kept = p->have_last;
        p->have_last = false;
        const struct input_value *mine = kept ? p->last_values : values;
        if (inputs_decode(mine, &p->last, e) < 0)
            return -1;
        take_default_stage(p);
        if (predict(p, mine, &p->last, e) < 0)
            return -1;
        p->have_last = kept;
    }
    *out = &p->prediction;
    return 0;
}

#include "predict/predictor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "predict/flops.h"
#include "predict/memory_lines.h"
#include "util/memory.h"
#include "util/suggest.h"

#define INTERVAL_90 1.6448536269514722
#define UNMEASURED_ATTENTION 0.35 /* of the peak, as in device.c */
#define DEFAULT_LINK 25e9
#define TEXT_BYTES 64
#define LENGTH(array) (sizeof(array) / sizeof *(array))

struct calibrated {
    char *framework, *device, *cluster;
    struct framework row;
    bool has_memory, has_time; /* fitted to measurements, not the prior */
    double baseline;
};

struct predictor {
    struct predictor_options options;
    struct framework_set priors;
    struct calibrated *calibrated;
    size_t calibrated_count;
    struct device stated; /* a device as the file states it */
    struct input_value last_values[INPUT_COUNT]; /* texts: of last_texts */
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
    return find_prior(p, framework);
}

static int no_framework(const struct predictor *p, const char *name, struct error *e)
{
    const char *names[32];
    struct buffer list = BUFFER_INIT;
    for (size_t i = 0; i < p->priors.count && i < LENGTH(names); i++) {
        names[i] = p->priors.items[i].name;
        buffer_printf(&list, "%s%s", i ? ", " : "", names[i]);
    }
    const char *near = suggest_nearest(name, names, p->priors.count);
    if (near)
        error_set(e, ERROR_USAGE, "no framework \"%s\" is known; did you mean \"%s\"?", name, near);
    else
        error_set(e, ERROR_USAGE, "no framework \"%s\" is known (there are %s)", name, buffer_text(&list));
    buffer_free(&list);
    return -1;
}

static const char *default_framework(const struct predictor *p)
{
    for (char *const *name = p->options.profiles; name && *name; name++)
        if (find_prior(p, *name))
            return *name;
    return "torch-ddp";
}

/* A framework that only the file knows begins with what holds for all. */
static void add_own(struct predictor *p, const char *name)
{
    struct framework own = p->priors.base;
    own.name = xstrdup(name);
    p->priors.items = array_grow(p->priors.items, p->priors.count, sizeof *p->priors.items);
    p->priors.items[p->priors.count++] = own;
}

int predictor_create(const struct predictor_options *options, struct predictor **out, struct error *e)
{
    struct framework_set priors;
    if (framework_set_read(&priors, e) < 0)
        return -1;
    struct predictor *p = xcalloc(1, sizeof *p);
    p->priors = priors;
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
    *out = p;
    return 0;
}

static void release(struct calibrated *c)
{
    free(c->framework);
    free(c->device);
    free(c->cluster);
}

void predictor_free(struct predictor *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->calibrated_count; i++)
        release(&p->calibrated[i]);
    free(p->calibrated);
    memory_lines_free(p->lines);
    framework_set_free(&p->priors);
    free(p);
}

/* --- coefficients by name --- */

static int no_coefficient(const char *name, bool is_time, struct error *e)
{
    const char *names[64];
    size_t count = coefficient_names(is_time, names, LENGTH(names));
    const char *near = suggest_nearest(name, names, count);
    return error_set(e, ERROR_USAGE, "there is no coefficient \"%s\"%s%s%s", name, near ? "; did you mean \"" : "",
                     near ? near : "", near ? "\"?" : "");
}

int predictor_set(struct predictor *p, const char *name, bool is_time, double value, struct error *e)
{
    bool is_sigma = strcmp(name, "sigma") == 0 || strcmp(name, "spread") == 0;
    if (is_sigma && !(value > 0))
        return error_set(e, ERROR_USAGE, "%s must be above 0", name);
    p->have_last = false;
    /* Who states a sigma has compared what the file sweeps. */
    if (is_sigma && (is_time ? !time_coefficient_set(&p->priors.base.time, name, value)
                             : !memory_coefficient_set(&p->priors.base.memory, name, value)))
        return no_coefficient(name, is_time, e);
    for (size_t i = 0; i < p->priors.count; i++)
        if (!(is_time ? time_coefficient_set(&p->priors.items[i].time, name, value)
                      : memory_coefficient_set(&p->priors.items[i].memory, name, value)))
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
        *c = (struct calibrated){xstrdup(where->framework), xstrdup(where->device), xstrdup(where->cluster), *prior, false, false, 0};
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

/* Several functions of one row ask for the same. Texts are copied, as the caller's move; longer ones are not kept. */
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

/* The device by its name, and over it what the file states. False: neither tells its speed. */
static bool find_cluster(struct predictor *p, const struct subject *s, const char *name, struct cluster *out)
{
    const struct predictor_options *o = &p->options;
    const struct device *known = name[0] ? device_find(name) : NULL;
    if (!known && !(o->peak_flops > 0 && o->memory_bandwidth > 0))
        return false;
    p->stated = known ? *known : (struct device){.name = name, .fp8_factor = 1, .fp32_factor = 1,
                                                 .link_bytes_per_s = DEFAULT_LINK};
    if (o->peak_flops > 0) {
        p->stated.attention_flops = known ? known->attention_flops * o->peak_flops / known->peak_flops
                                          : UNMEASURED_ATTENTION * o->peak_flops;
        p->stated.peak_flops = o->peak_flops;
    }
    if (o->memory_bandwidth > 0)
        p->stated.memory_bytes_per_s = o->memory_bandwidth;
    *out = (struct cluster){.device = &p->stated, .devices_per_node = (int64_t)s->devices_per_node,
                            .intra_bytes_per_s = o->link_bandwidth, .inter_bytes_per_s = o->network_bandwidth,
                            .usable_bytes = s->usable_bytes > 0 ? s->usable_bytes : p->stated.usable_bytes};
    return true;
}

/* A share that is meant for a prediction off by PREDICTOR_SIGMA, for one that is off by more or less. */
static double share_for(double share, double sigma)
{
    double pivot = sigma > PREDICTOR_SIGMA ? OOM_RISK_SHARE : 1;
    return pivot * pow(share / pivot, sigma / PREDICTOR_SIGMA);
}

static enum oom_verdict verdict_of(const struct predictor *p, double bytes, double sigma, double usable)
{
    if (bytes > share_for(p->options.certain, sigma) * usable)
        return OOM_CERTAIN;
    return bytes > share_for(p->options.risky, sigma) * usable ? OOM_RISK : OOM_FITS;
}

/* Within the interval of the model, the line; the interval keeps its width. */
static void follow_line(const struct predictor *p, const struct input_value *values, const struct subject *s,
                        struct prediction *out)
{
    struct memory_prediction *m = &out->memory;
    double bytes;
    if (!p->lines || !memory_lines_bytes(p->lines, memory_class(values, s), (double)s->plan.micro_batch, &bytes) ||
        bytes < m->low_bytes || bytes > m->high_bytes)
        return;
    double ratio = bytes / m->most.bytes;
    m->most.bytes = bytes;
    m->most.allocated_bytes *= ratio;
    m->low_bytes *= ratio;
    m->high_bytes *= ratio;
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

static void add_memory(struct predictor *p, const struct input_value *values, const struct subject *s, const struct cluster *cluster,
                       const struct framework *row)
{
    struct prediction *out = &p->prediction;
    struct error ignored;
    out->has_memory =
        (s->is_measured
             ? memory_predict_measured(&s->measured, &s->plan, cluster, &row->memory, &out->memory, &ignored)
             : memory_predict(&s->architecture, &s->plan, cluster, &row->memory, &out->memory, &ignored)) == 0;
    out->usable_bytes = cluster->usable_bytes;
    out->memory_calibrated = row->memory.calibrated;
    if (out->has_memory)
        follow_line(p, values, s, out);
    if (!out->has_memory || !(out->usable_bytes > 0))
        return;
    out->has_probability = oom_probability(out->memory.most.bytes, out->memory.sigma, out->usable_bytes,
                                           out->memory.reserve_bytes, &out->oom_probability, &ignored) == 0;
    out->verdict = verdict_of(p, out->memory.most.bytes, out->memory.sigma, out->usable_bytes);
}

static void add_time(struct predictor *p, const struct subject *s, const struct cluster *cluster,
                     const struct framework *row, double baseline)
{
    struct prediction *out = &p->prediction;
    struct error ignored;
    out->has_time = step_predict(&s->architecture, &s->plan, cluster, row, &out->step, &ignored) == 0;
    if (!out->has_time)
        return;
    out->peak_seconds = step_peak_seconds(&s->architecture, &s->plan, cluster);
    out->peak_flops = out->devices * cluster->device->peak_flops;
    out->by_baseline = baseline > 0;
    out->seconds = baseline > 0 ? baseline * out->peak_seconds : out->step.seconds;
    out->low_s = out->seconds * exp(-INTERVAL_90 * out->step.sigma);
    out->high_s = out->seconds * exp(INTERVAL_90 * out->step.sigma);
    out->time_calibrated = row->time.calibrated;
}

/* What no measurement of any framework was compared with (configs/profiles): the model alone stands behind it. */
static bool is_unmeasured(const struct subject *s)
{
    const struct architecture *a = &s->architecture;
    return (a->family != ARCHITECTURE_GPT && a->family != ARCHITECTURE_LLAMA) || a->experts > 0 ||
           s->plan.context > 1 || s->plan.offload != OFFLOAD_NONE;
}

/* As for a framework of which nothing is known, where `c` (may be NULL) has no fit of its own. */
static void widen(const struct framework *base, const struct calibrated *c, struct framework *row)
{
    if (!c || !c->has_memory) {
        row->memory.sigma = fmax(row->memory.sigma, base->memory.sigma);
        row->memory.calibrated = false;
    }
    if (!c || !c->has_time) {
        row->time.sigma = fmax(row->time.sigma, base->time.sigma);
        row->time.calibrated = false;
    }
}

static int predict(struct predictor *p, const struct input_value *values, const struct subject *s, struct error *e)
{
    const struct predictor_options *o = &p->options;
    struct cluster cluster = {.devices_per_node = (int64_t)s->devices_per_node, .usable_bytes = s->usable_bytes};
    struct step_flops flops;
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
    const struct framework *row = c ? &c->row : prior;
    struct framework wide;
    if (is_unmeasured(s)) {
        wide = *row;
        widen(&p->priors.base, c, &wide);
        row = &wide;
    }
    bool has_speed = find_cluster(p, s, out->where.device, &cluster);
    if (has_speed && cluster_complete(&cluster, e) < 0)
        return -1;
    flops_per_step(&s->architecture, &s->plan, ATTENTION_FULL, &flops);
    out->samples = plan_global_batch(&s->plan);
    /* A backward pass is two forward ones. */
    out->flops = s->is_measured ? 3 * s->measured.forward_flops * out->samples : flops.model;
    out->tokens = s->is_measured ? 0 : flops.tokens;
    out->devices = plan_world(&s->plan);
    out->steps = s->steps;
    add_memory(p, values, s, &cluster, row);
    if (has_speed && !s->is_measured)
        add_time(p, s, &cluster, row, c ? c->baseline : 0);
    return 0;
}

int predictor_predict(struct predictor *p, const struct input_value *values, const struct prediction **out,
                      struct error *e)
{
    if (!is_last(p, values)) {
        keep_values(p, values);
        bool kept = p->have_last;
        p->have_last = false;
        const struct input_value *mine = kept ? p->last_values : values;
        if (inputs_decode(mine, &p->last, e) < 0 || predict(p, mine, &p->last, e) < 0)
            return -1;
        p->have_last = kept;
    }
    *out = &p->prediction;
    return 0;
}

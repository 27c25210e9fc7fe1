#include "run/recording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/fault.h"
#include "util/memory.h"

/* Names of metrics in a message, and how long they may be. */
#define REPORTED_TOLD 5
#define REPORTED_BYTES 40

static const struct metric undeclared = {.take = TAKE_MEDIAN};

static const struct metric *declared(const struct sweep *s, const char *name)
{
    for (size_t i = 0; i < s->job.metric_count; i++)
        if (strcmp(s->job.metrics[i].name, name) == 0)
            return &s->job.metrics[i];
    return &undeclared;
}

/* The values of one metric in the order in which they came, without those of steps that do not count; if there are no
 * others, the last of them alone. *early is how many steps came before. The caller's. */
static double *values_of(const struct sample_list *l, size_t metric, const struct job_config *job, size_t *count,
                         int64_t *early)
{
    double *values = xcalloc(l->count + 1, sizeof *values), last = 0;
    bool any = false;
    *count = 0;
    *early = 0;
    for (size_t i = 0; i < l->count; i++) {
        const int64_t step = l->samples[i].step;
        if (l->samples[i].metric != metric)
            continue;
        any = true;
        last = l->samples[i].value;
        *early += step < job->first_step;
        if (step >= job->first_step && (job->last_step == 0 || step <= job->last_step))
            values[(*count)++] = last;
    }
    if (*count == 0 && any)
        values[(*count)++] = last;
    return values;
}

static struct summary summary_of(const struct recording *r, size_t metric)
{
    const struct metric *m = declared(r->sweep, r->samples.names[metric]);
    size_t count;
    int64_t early;
    double *values = values_of(&r->samples, metric, &r->sweep->job, &count, &early);
    struct summary s = summarise(values, count, m->warmup - early, m->take);
    free(values);
    return s;
}

static void find_objective(struct recording *r)
{
    if (r->sweep->objective_count == 0)
        return;
    for (size_t i = 0; i < r->samples.name_count; i++) {
        if (strcmp(r->samples.names[i], r->sweep->objectives[0].metric) != 0)
            continue;
        struct summary s = summary_of(r, i);
        r->has_objective = s.count > 0;
        r->objective = s.value;
        r->counted_steps = s.count;
    }
}

static int64_t milliseconds(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000 + t.tv_usec / 1000;
}

/* The message and the end of the output are the only texts of a job's own that are recorded. */
static void redact(struct recording *r, const struct secrets *secrets)
{
    char *message = r->verdict.message, *tail = (char *)r->end.log_tail;
    r->verdict.message = secrets_redact(secrets, message);
    r->end.message = r->verdict.message;
    r->end.log_tail = secrets_redact(secrets, tail);
    free(message);
    free(tail);
}

static void declare_lost(struct recording *r, char *message)
{
    free(r->verdict.message);
    r->verdict = (struct verdict){FAILURE_LOST, message};
}

/* What a job reported and cannot be read, or could not be written, is lost, and no verdict on the job. */
static void judge_unread(struct recording *r, const struct outcome *o)
{
    const enum failure f = r->verdict.failure;
    const bool speaks = r->sweep->objective_count + r->sweep->job.metric_count > 0;
    if (r->samples.read_error && (!f || f == FAILURE_NO_METRIC))
        declare_lost(r, xasprintf("what it reported cannot be read: %s", strerror(r->samples.read_error)));
    else if (o->disk_full && (f == FAILURE_EXIT || f == FAILURE_NO_METRIC || (!f && speaks)))
        declare_lost(r, xstrdup("the disk of its output is full: what it reported may be cut off; free some space, then"
                                " run with --retry-failed"));
}

/* "; it reported loss, step_time": a name that is misspelt is seen at once. */
static void add_reported(const struct sample_list *l, struct buffer *text)
{
    size_t told = 0;
    for (size_t m = 0; m < l->name_count && told < REPORTED_TOLD; m++) {
        size_t i = 0;
        while (i < l->count && l->samples[i].metric != m)
            i++;
        if (i == l->count || strlen(l->names[m]) > REPORTED_BYTES)
            continue;
        buffer_printf(text, "%s%s", told ? ", " : "; it reported ", l->names[m]);
        told++;
    }
}

/* What there is instead of the objective. */
static void explain_missing(struct recording *r)
{
    struct buffer text = BUFFER_INIT;
    if (r->verdict.failure != FAILURE_NO_METRIC)
        return;
    buffer_add_text(&text, r->verdict.message);
    add_reported(&r->samples, &text);
    if (r->samples.malformed_metrics > 0)
        buffer_printf(&text, "; lines of its metrics file that are no JSON objects: %zu", r->samples.malformed_metrics);
    free(r->verdict.message);
    r->verdict.message = buffer_take(&text);
}

void recording_make(const struct recording_context *context, const struct outcome *o, struct recording *out)
{
    struct recording r = {.sweep = context->sweep, .duration_ms = o->duration_ms};
    readers_read(context->readers, o->log_path, o->metrics_path, context->job_dir, &r.samples);
    if (o->device_bytes > 0)
        sample_list_add(&r.samples, "device_memory_peak", (double)o->device_bytes);
    find_objective(&r);
    r.verdict = classify(context->classifier, o, o->log_path, context->sweep->objective_count > 0, r.has_objective);
    judge_unread(&r, o);
    explain_missing(&r);
    r.failure = r.verdict.failure ? failure_names[r.verdict.failure] : NULL;
    r.kept_files = o->log_path || o->metrics_path;
    r.end = (struct attempt_end){
        .failure = r.failure,
        .message = r.verdict.message,
        .log_tail = o->log_path ? log_tail(o->log_path, TAIL_BYTES) : NULL,
        .ended_ms = o->ended_wall_ms,
        .duration_ms = o->duration_ms,
        .exit_code = o->exit_code,
        .signal = o->signal_number,
        .limit_ms = o->limit_ms,
        .user_ms = milliseconds(o->usage.ru_utime),
        .system_ms = milliseconds(o->usage.ru_stime),
        .max_rss_bytes = (int64_t)o->usage.ru_maxrss * 1024,
        .leftovers = o->leftover_count,
        .log_bytes = o->log_bytes,
        .reference = o->reference ? xstrdup(o->reference) : NULL,
        .host = o->host ? xstrdup(o->host) : NULL,
        .cancelled_elsewhere = o->ending == ENDING_ABORTED,
    };
    if (o->ending == ENDING_STOPPED && !r.failure)
        r.end.stopped_steps = r.counted_steps;
    redact(&r, context->secrets);
    *out = r;
}

static int store_samples(struct attempt_store *store, int64_t attempt_id, const struct recording *r, struct error *e)
{
    for (size_t i = 0; i < r->samples.count; i++) {
        const struct sample *s = &r->samples.samples[i];
        const struct sample_row row = {r->samples.names[s->metric], (int64_t)i, s->step, s->value};
        if (attempt_record_sample(store, attempt_id, &row, e) < 0)
            return -1;
    }
    return 0;
}

static int store_summaries(struct attempt_store *store, int64_t attempt_id, const struct recording *r, struct error *e)
{
    for (size_t i = 0; i < r->samples.name_count; i++) {
        struct summary s = summary_of(r, i);
        const struct summary_row row = {s.value, s.mean, s.median, s.minimum, s.maximum, s.stddev, s.p90, s.count};
        if (s.count > 0 && attempt_record_summary(store, attempt_id, r->samples.names[i], &row, e) < 0)
            return -1;
    }
    return 0;
}

int recording_store(struct attempt_store *store, const struct claim *claim, const char *directory, struct recording *r,
                    struct error *e)
{
    r->end.attempt_id = claim->attempt_id;
    r->end.job_id = claim->job_id;
    r->end.directory = r->kept_files ? directory : NULL;
    bool running;
    if (attempt_is_running(store, claim->attempt_id, &running, e) < 0)
        return -1;
    r->fate = FATE_GONE;
    if (!running)
        return 0;
    if (store_samples(store, claim->attempt_id, r, e) < 0 || store_summaries(store, claim->attempt_id, r, e) < 0)
        return -1;
    FAULT(SAMPLES_WRITTEN);
    int rc = attempt_record_end(store, &r->end, &r->fate, e);
    FAULT(JOB_FINISHED);
    return rc;
}

void recording_free(struct recording *r)
{
    free(r->verdict.message);
    free((char *)r->end.log_tail);
    free((char *)r->end.reference);
    free((char *)r->end.host);
    sample_list_free(&r->samples);
}

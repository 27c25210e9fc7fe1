#include <stdlib.h>
#include <string.h>

#include "batch/parts.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/memory.h"

enum {
    GATHER_MS = 200,         /* an open batch waits that long for more of its kind */
    BACKOFF_FIRST_MS = 1000, /* after a refusal for the number of jobs; doubles */
    BACKOFF_MOST_MS = 300000
};

int64_t batch_array_size(const struct batch_executor *x)
{
    return x->system->arrays == ARRAYS_NEVER ? 1 : x->config->array_size;
}

static int64_t due_ms(const struct batch_executor *x, const struct batch_array *a)
{
    if (a->stage == BATCH_OPEN)
        return (int64_t)a->count >= batch_array_size(x) ? a->begun_ms : a->begun_ms + GATHER_MS;
    return a->stage == BATCH_READY ? a->not_before_ms : INT64_MAX;
}

int64_t batch_submit_due_ms(const struct batch_executor *x)
{
    int64_t earliest = INT64_MAX;
    for (size_t i = 0; i < x->batches.count; i++) {
        int64_t due = due_ms(x, &x->batches.arrays[i]);
        earliest = due < earliest ? due : earliest;
    }
    return earliest;
}

void batch_note_job(struct batch_executor *x, struct batch_array *a, const char *job)
{
    struct error none = ERROR_INIT;
    text_replace(&a->job, xstrdup(job));
    a->stage = BATCH_SUBMITTED;
    /* Should it not be written, the batch's token finds it again. */
    batch_array_write_job(&x->batches, a, &none);
    FAULT(SUBMISSION_RECORDED);
    x->news = true;
    for (size_t i = 0; i < a->count; i++)
        batch_note_wait(x, a, i);
}

static void back_off(struct batch_array *a, int64_t now_ms)
{
    a->backoff_ms = a->backoff_ms ? a->backoff_ms * 2 : BACKOFF_FIRST_MS;
    a->backoff_ms = a->backoff_ms < BACKOFF_MOST_MS ? a->backoff_ms : BACKOFF_MOST_MS;
    a->not_before_ms = now_ms + a->backoff_ms;
    a->stage = BATCH_READY;
}

static void give_up(struct batch_executor *x, struct batch_array *a, const char *why, bool refused)
{
    for (size_t i = 0; i < a->count; i++)
        if (!a->members[i].reported)
            batch_report_unsubmitted(x, a, i, why, refused);
}

/* Remembers a refusal, so that the same is not asked for again. */
static void remember_refusal(struct batch_executor *x, const struct batch_array *a, const char *why)
{
    free_all(x->refused, x->refusal);
    x->refused = xstrdup(a->options);
    x->refusal =
        xasprintf("%s; correct [%s] or cluster_spec", why, batch_system_is_slurm(x->system) ? "slurm" : "executor");
}

/* A reason that is given a second time is none that passes. */
static bool is_said_again(struct batch_array *a, const char *why)
{
    bool again = a->refusal && strcmp(a->refusal, why) == 0;
    free(a->refusal);
    a->refusal = xstrdup(why);
    return again;
}

/* Until an answer comes. */
static void tell_unanswered(struct batch_executor *x, const struct batch_array *a, const char *why)
{
    char *text = xasprintf(WAITS_UNSUBMITTED ": %s", why && *why ? why : "no answer");
    for (char *p = text; (p = strchr(p, ';'));) /* behind it would stand what to change */
        *p = ',';
    const char *waits = string_list_intern(&x->waits, text);
    for (size_t i = 0; i < a->count && x->options.referred; i++)
        x->options.referred(x->options.context, a->members[i].attempt, NULL, waits);
}

static void refused(struct batch_executor *x, size_t index, enum batch_refusal refusal, const char *why)
{
    struct batch_array *a = &x->batches.arrays[index];
    int64_t now_ms = clock_monotonic_ms();
    switch (refusal) {
    case REFUSAL_UNKNOWN:
        tell_unanswered(x, a, why);
        a->stage = BATCH_DOUBTFUL;
        a->unseen_since_ms = 0;
        x->poll_due_ms = now_ms;
        return;
    case REFUSAL_POLICY:
        if (is_said_again(a, why))
            break;
        back_off(a, now_ms);
        return;
    case REFUSAL_LIMIT:
        /* An array counts as its tasks: half of it may fit. */
        back_off(a, now_ms);
        if (a->count > 1)
            batch_list_split(&x->batches, index, batch_next_name(x));
        return;
    case REFUSAL_FINAL:
        break;
    }
    if (a->exclude) {
        /* Perhaps there are no other nodes. */
        free(a->exclude);
        a->exclude = NULL;
        a->stage = BATCH_READY;
        a->not_before_ms = now_ms;
        return;
    }
    remember_refusal(x, a, why);
    give_up(x, a, x->refusal, true);
}

static void submit(struct batch_executor *x, size_t index)
{
    struct batch_array *a = &x->batches.arrays[index];
    struct error e = ERROR_INIT;
    enum batch_refusal refusal = REFUSAL_FINAL;
    OWNED char *why = NULL;
    const int written = batch_array_write(&x->batches, a, x->job_name, x->config->heartbeat_ms, &e);
    if (written > 0 && a->count > 1) {
        a->stage = BATCH_READY;
        a->not_before_ms = 0;
        batch_list_split(&x->batches, index, batch_next_name(x));
        return;
    }
    if (written != 0) {
        give_up(x, a, written < 0 ? e.text : "its files are too large to go there with the job (128 KiB)", written > 0);
        return;
    }
    if (x->refused && strcmp(x->refused, a->options) == 0) {
        give_up(x, a, x->refusal, true);
        return;
    }
    FAULT(SUBMISSION_WRITTEN);
    OWNED_VALUES values = batch_array_values(&x->batches, a, x->job_name);
    OWNED char *path = batch_array_file(&x->batches, a, x->system->has_description ? "description" : "script");
    OWNED char *job = batch_submit(x->system, x->environment, &values, path, &refusal, &why);
    FAULT(SUBMITTED);
    if (job) {
        batch_note_job(x, a, job);
        /* A job that ran before it was asked for is not to be called absent. */
        int64_t soon_ms = clock_monotonic_ms() + x->config->poll_ms;
        x->poll_due_ms = x->poll_due_ms > soon_ms ? soon_ms : x->poll_due_ms;
    } else {
        refused(x, index, refusal, why);
    }
}

void batch_submit_due(struct batch_executor *x, int64_t now_ms)
{
    /* Splitting appends: those wait for their own time. */
    size_t count = x->batches.count;
    for (size_t i = 0; i < count; i++) {
        struct batch_array *a = &x->batches.arrays[i];
        if (a->left > 0 && due_ms(x, a) <= now_ms)
            submit(x, i);
    }
}

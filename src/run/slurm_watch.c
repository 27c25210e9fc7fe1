#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run/slurm_outcome.h"
#include "run/slurm_parts.h"
#include "run/slurm_script.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/memory.h"

enum {
    RESULT_BYTES_MOST = 65536,
    HEARTBEATS_MISSED = 4, /* then it has stopped */
    ASKED_AT_ONCE = 500    /* jobs in one question to accounting */
};

/* --- the queue --- */

static void set_text(char **member, const char *text)
{
    if (*member && strcmp(*member, text) == 0)
        return;
    free(*member);
    *member = xstrdup(text);
}

/* A batch of which it is not known whether it was submitted. */
static void find_doubtful(struct slurm_executor *x, const struct slurm_entry *entry)
{
    for (size_t i = 0; i < x->batches.count; i++) {
        struct slurm_array *a = &x->batches.arrays[i];
        if (a->stage == BATCH_DOUBTFUL && slurm_array_owns(&x->batches, a, entry->comment))
            slurm_note_job(x, a, entry->job);
    }
}

static struct slurm_array *array_of(struct slurm_executor *x, int64_t job)
{
    for (size_t i = 0; i < x->batches.count; i++)
        if (x->batches.arrays[i].stage == BATCH_SUBMITTED && x->batches.arrays[i].job == job)
            return &x->batches.arrays[i];
    return NULL;
}

static void take_queue_entry(void *context, const struct slurm_entry *entry)
{
    struct slurm_executor *x = context;
    find_doubtful(x, entry);
    struct slurm_array *a = array_of(x, entry->job);
    for (int64_t i = entry->first; a && i >= 0 && i <= entry->last && i < (int64_t)a->count; i++) {
        struct slurm_member *m = &a->members[i];
        m->queue = entry->state;
        set_text(&m->nodes, entry->nodes);
        set_text(&m->reason, entry->reason);
    }
}

static void take_account_entry(void *context, const struct slurm_entry *entry)
{
    struct slurm_array *a = array_of(context, entry->job);
    for (int64_t i = entry->first; a && i >= 0 && i <= entry->last && i < (int64_t)a->count; i++) {
        a->members[i].accounting = entry->state;
        if (*entry->nodes && strncmp(entry->nodes, "None", 4) != 0)
            set_text(&a->members[i].nodes, entry->nodes);
    }
}

static void set_states(struct slurm_executor *x, enum slurm_state state)
{
    for (size_t i = 0; i < x->batches.count; i++)
        for (size_t k = 0; x->batches.arrays[i].stage == BATCH_SUBMITTED && k < x->batches.arrays[i].count; k++)
            x->batches.arrays[i].members[k].queue = state;
}

static void ask_accounting(struct slurm_executor *x)
{
    struct buffer jobs = BUFFER_INIT;
    size_t asked = 0;
    for (size_t i = 0; i < x->batches.count; i++) {
        const struct slurm_array *a = &x->batches.arrays[i];
        for (size_t k = 0; a->stage == BATCH_SUBMITTED && k < a->count && asked < ASKED_AT_ONCE; k++)
            if (!a->members[k].told && a->members[k].queue == SLURM_ABSENT)
                buffer_printf(&jobs, "%s%lld_%zu", asked++ ? "," : "", (long long)a->job, k);
    }
    if (asked > 0 && !x->no_accounting)
        x->no_accounting = slurm_ask_accounting(x->environment, buffer_text(&jobs), take_account_entry, x) == 1;
    if (asked > 0 && x->no_accounting)
        x->no_completions = slurm_ask_completions(x->environment, take_account_entry, x) == 1;
    buffer_free(&jobs);
}

/* The queue answered and does not have it: a batch that is not there after some time, and of which no job has begun, was
 * never submitted. */
static void doubt(struct slurm_executor *x, struct slurm_array *a, int64_t now_ms)
{
    enum { SURE_MS = 10000 };
    int64_t patience_ms = x->config->absence_ms < SURE_MS ? x->config->absence_ms : SURE_MS;
    for (size_t i = 0; i < a->count; i++) {
        if (a->members[i].result != RESULT_NONE && a->members[i].report.array > 0) {
            slurm_note_job(x, a, a->members[i].report.array);
            return;
        }
    }
    if (a->unseen_since_ms == 0) {
        a->unseen_since_ms = now_ms;
    } else if (now_ms - a->unseen_since_ms >= patience_ms) {
        a->stage = BATCH_READY;
        a->not_before_ms = now_ms;
    }
}

/* Answers come before the next look at them. */
void slurm_poll(struct slurm_executor *x, int64_t now_ms)
{
    x->poll_due_ms = now_ms + x->config->poll_ms;
    if (x->batches.count == 0)
        return;
    /* Absent unless the answer has them: what an answer leaves out is not known there any more. */
    set_states(x, SLURM_ABSENT);
    if (slurm_ask_queue(x->environment, take_queue_entry, x) < 0) {
        set_states(x, SLURM_SILENT);
        return;
    }
    for (size_t i = 0; i < x->batches.count; i++)
        if (x->batches.arrays[i].stage == BATCH_DOUBTFUL)
            doubt(x, &x->batches.arrays[i], now_ms);
    if (!x->no_accounting || !x->no_completions)
        ask_accounting(x);
}

/* --- files --- */

static int64_t stamp_of(const char *job_dir, const char *name, int64_t *bytes)
{
    struct stat status;
    char *path = xasprintf("%s/%s", job_dir, name);
    int rc = stat(path, &status);
    free(path);
    if (rc == 0 && bytes)
        *bytes += status.st_size;
    return rc == 0 ? (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec : 0;
}

static void read_report(struct slurm_member *m, const char *job_dir)
{
    struct buffer text = BUFFER_INIT;
    struct slurm_report report;
    char *path = xasprintf("%s/" SLURM_RESULT_FILE, job_dir);
    if (file_read(path, RESULT_BYTES_MOST, &text, NULL) == 0 && slurm_report_parse(buffer_text(&text), &report) &&
        report.attempt == m->attempt)
        m->report = report;
    free(path);
    buffer_free(&text);
}

static enum slurm_result result_of(const struct slurm_executor *x, const struct slurm_member *m, int64_t now_ms)
{
    const struct slurm_report *r = &m->report;
    if (r->attempt != m->attempt)
        return RESULT_NONE;
    if (r->ended)
        return r->exit_code == 0 && !r->terminated ? RESULT_SUCCEEDED : RESULT_FAILED;
    return now_ms - m->alive_ms < HEARTBEATS_MISSED * x->config->heartbeat_ms ? RESULT_ALIVE : RESULT_SILENT;
}

static void look_at_files(struct slurm_executor *x, struct slurm_member *m, const char *job_dir, int64_t now_ms)
{
    int64_t stamp = stamp_of(job_dir, SLURM_RESULT_FILE, NULL);
    if (stamp != m->result_stamp) {
        m->result_stamp = stamp;
        m->alive_ms = now_ms;
        read_report(m, job_dir);
    }
    /* Only whether it changes counts: clocks of nodes differ. */
    int64_t alive = m->report.attempt == m->attempt && !m->report.ended ? stamp_of(job_dir, SLURM_ALIVE_FILE, NULL) : 0;
    if (alive != m->alive_stamp) {
        m->alive_stamp = alive;
        m->alive_ms = now_ms;
    }
    enum slurm_result result = result_of(x, m, now_ms);
    if (result != m->result)
        m->since_ms = now_ms;
    m->result = result;
}

/* --- the runner's own limits --- */

static void check_limits(struct slurm_executor *x, struct slurm_array *a, size_t index, const char *job_dir,
                         int64_t now_ms)
{
    static const enum ending endings[] = {[DEADLINE_IDLE] = ENDING_IDLE_TIMEOUT,
                                          [DEADLINE_STARTUP] = ENDING_STARTUP_TIMEOUT};
    struct slurm_member *m = &a->members[index];
    bool watched = m->watched.idle_ms > 0 || m->watched.startup_ms > 0;
    if (!watched || m->result != RESULT_ALIVE || m->because)
        return;
    int64_t bytes = 0, metrics = 0;
    int64_t stamp = stamp_of(job_dir, "output.log", &bytes) + stamp_of(job_dir, "metrics.jsonl", &metrics);
    if (m->progress.started_ms == 0)
        m->progress = (struct deadline_state){now_ms, now_ms, false};
    if (stamp != m->written_stamp || bytes + metrics != m->written_bytes) {
        char *log = xasprintf("%s/output.log", job_dir);
        m->progress.active_ms = now_ms;
        m->progress.metric_seen |= metrics > 0 || (x->options.first_metric && m->watched.startup_ms > 0 &&
                                                   x->options.first_metric(x->options.context, log));
        free(log);
    }
    m->written_stamp = stamp;
    m->written_bytes = bytes + metrics;
    struct deadline_answer answer = deadline_check(&m->watched, &m->progress, now_ms);
    if (answer.fired) {
        m->limit_passed_ms = answer.limit_ms;
        slurm_cancel_member(x, a, index, endings[answer.fired]);
    }
}

/* --- deciding --- */

static void look_at(struct slurm_executor *x, struct slurm_array *a, size_t index, int64_t now_ms)
{
    struct slurm_member *m = &a->members[index];
    char *job_dir = xasprintf("%s/%s", x->batches.root, m->directory);
    look_at_files(x, m, job_dir, now_ms);
    check_limits(x, a, index, job_dir, now_ms);
    free(job_dir);
    if (a->stage != BATCH_SUBMITTED)
        return;
    if (m->queue != m->seen_queue)
        m->since_ms = now_ms;
    m->seen_queue = m->queue;
    bool patience_over = now_ms - m->since_ms >= x->config->absence_ms;
    /* Before the first question it is as with one that has no answer. */
    enum slurm_decision decision =
        slurm_decide(m->queue ? m->queue : SLURM_SILENT, m->accounting, m->result, patience_over);
    if (decision == SLURM_WAIT)
        return;
    /* What is over for us must not go on at Slurm. */
    if (!slurm_state_is_final(m->queue) && m->queue != SLURM_COMPLETING && decision == SLURM_LOST)
        slurm_cancel_member(x, a, index, ENDING_NONE);
    slurm_tell(x, a, index, decision);
}

static bool may_have_changed(const struct slurm_member *m)
{
    return m->queue != SLURM_PENDING && m->queue != SLURM_REQUEUED;
}

void slurm_look(struct slurm_executor *x, int64_t now_ms, bool every)
{
    for (size_t i = 0; i < x->batches.count; i++) {
        struct slurm_array *a = &x->batches.arrays[i];
        for (size_t k = 0; a->stage >= BATCH_DOUBTFUL && k < a->count; k++)
            if (!a->members[k].told && (every || may_have_changed(&a->members[k])))
                look_at(x, a, k, now_ms);
    }
}

/* Without an answer the next poll tells, and a person may ask again. */
void slurm_cancel_member(struct slurm_executor *x, struct slurm_array *a, size_t index, enum ending because)
{
    a->members[index].because = because;
    if (a->stage != BATCH_SUBMITTED)
        return;
    char *reference = slurm_reference(a, index);
    slurm_cancel(x->environment, reference);
    free(reference);
    x->poll_due_ms = clock_monotonic_ms();
}

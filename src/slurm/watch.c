#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "process/job_file.h"
#include "slurm/parts.h"
#include "slurm/script.h"
#include "util/buffer.h"
#include "util/clock.h"
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
    if (a && entry->first < 0)
        a->emptied = true;
    for (int64_t i = entry->first; a && i >= 0 && i <= entry->last && i < (int64_t)a->count; i++) {
        struct slurm_member *m = &a->members[i];
        m->queue = m->known = entry->state;
        set_text(&m->nodes, entry->nodes);
        set_text(&m->reason, entry->reason);
    }
}

static void take_account_entry(void *context, const struct slurm_entry *entry)
{
    struct slurm_array *a = array_of(context, entry->job);
    for (int64_t i = entry->first; a && i >= 0 && i <= entry->last && i < (int64_t)a->count; i++) {
        a->members[i].accounting = entry->state;
        a->members[i].exit_code = entry->exit_code > 0 ? entry->exit_code : 0;
        a->members[i].signal_number = entry->signal_number > 0 ? entry->signal_number : 0;
        if (*entry->nodes && strncmp(entry->nodes, "None", 4) != 0)
            set_text(&a->members[i].nodes, entry->nodes);
    }
}

static void set_states(struct slurm_executor *x, enum slurm_state state)
{
    for (size_t i = 0; i < x->batches.count; i++) {
        struct slurm_array *a = &x->batches.arrays[i];
        a->emptied = false;
        for (size_t k = 0; a->stage == BATCH_SUBMITTED && k < a->count; k++)
            a->members[k].queue = state;
    }
}

static void ask_accounting(struct slurm_executor *x)
{
    struct buffer jobs = BUFFER_INIT;
    size_t asked = 0;
    for (size_t i = 0; i < x->batches.count; i++) {
        const struct slurm_array *a = &x->batches.arrays[i];
        for (size_t k = 0; a->stage == BATCH_SUBMITTED && k < a->count && asked < ASKED_AT_ONCE; k++)
            if (!a->members[k].reported && a->members[k].queue == SLURM_ABSENT)
                buffer_printf(&jobs, "%s%lld_%zu", asked++ ? "," : "", (long long)a->job, k);
    }
    if (asked > 0 && !x->no_accounting)
        x->no_accounting = slurm_ask_accounting(x->environment, buffer_text(&jobs), take_account_entry, x) == 1;
    if (asked > 0 && x->no_accounting)
        x->no_completions = slurm_ask_completions(x->environment, take_account_entry, x) == 1;
    buffer_free(&jobs);
}

/* An array is forgotten as a whole; a task that is missing from it while others are pending was taken away. */
static void find_removed(struct slurm_array *a)
{
    bool known = a->emptied;
    for (size_t i = 0; i < a->count; i++)
        known |= a->members[i].queue != SLURM_ABSENT;
    for (size_t i = 0; known && i < a->count; i++) {
        struct slurm_member *m = &a->members[i];
        if (m->queue == SLURM_ABSENT && (m->known == SLURM_NONE || m->known == SLURM_PENDING))
            m->queue = SLURM_REMOVED;
    }
}

/* The queue answered and does not have it: a batch that is not there after some time, and of which no job has begun,
 * was never submitted. */
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
    for (size_t i = 0; i < x->batches.count; i++)
        if (x->batches.arrays[i].stage == BATCH_SUBMITTED)
            find_removed(&x->batches.arrays[i]);
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
    if (job_file_read(job_file_open(path), RESULT_BYTES_MOST, &text) == 0 &&
        slurm_report_parse(buffer_text(&text), &report) && report.attempt == m->attempt)
        m->report = report;
    free(path);
    buffer_free(&text);
}

static enum slurm_result result_of(const struct slurm_executor *x, const struct slurm_member *m, int64_t now_ms)
{
    const struct slurm_report *r = &m->report;
    if (r->attempt != m->attempt)
        return RESULT_NONE;
    if (r->ended && r->terminated)
        return RESULT_TERMINATED;
    if (r->ended)
        return r->exit_code == 0 ? RESULT_SUCCEEDED : RESULT_FAILED;
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

static bool has_first_metric(const struct slurm_executor *x, const struct slurm_member *m, const char *job_dir)
{
    if (!x->options.first_metric || m->watched.startup_ms == 0 || m->progress.metric_seen)
        return false;
    char *log = xasprintf("%s/output.log", job_dir);
    const struct attempt_files files = {-1, log, NULL};
    bool has = x->options.first_metric(x->options.context, m->attempt, &files);
    free(log);
    return has;
}

static void check_limits(struct slurm_executor *x, struct slurm_array *a, size_t index, const char *job_dir,
                         int64_t now_ms)
{
    static const enum ending endings[] =
        {[DEADLINE_IDLE] = ENDING_IDLE_TIMEOUT, [DEADLINE_STARTUP] = ENDING_STARTUP_TIMEOUT};
    struct slurm_member *m = &a->members[index];
    bool watched = m->watched.idle_ms > 0 || m->watched.startup_ms > 0;
    if (!watched || m->result != RESULT_ALIVE || m->because)
        return;
    int64_t bytes = 0, metrics = 0;
    int64_t stamp = stamp_of(job_dir, "output.log", &bytes) + stamp_of(job_dir, "metrics.jsonl", &metrics);
    if (m->progress.started_ms == 0)
        m->progress = (struct deadline_state){now_ms, now_ms, false};
    if (stamp != m->written_stamp || bytes + metrics != m->written_bytes)
        m->progress.active_ms = now_ms;
    m->progress.metric_seen |= metrics > 0 || (bytes > 0 && has_first_metric(x, m, job_dir));
    m->written_stamp = stamp;
    m->written_bytes = bytes + metrics;
    struct deadline_answer answer = deadline_check(&m->watched, &m->progress, now_ms);
    /* What has been written by now is read until the next look. */
    bool asks_again = answer.fired == DEADLINE_STARTUP && !m->startup_passed;
    m->startup_passed |= asks_again;
    if (answer.fired && !asks_again) {
        m->limit_passed_ms = answer.limit_ms;
        slurm_cancel_member(x, a, index, endings[answer.fired]);
    }
}

/* --- deciding --- */

/* What Slurm says after it ran one again is of the life in vain, unless it is a person's word. */
static enum slurm_state queue_of(const struct slurm_member *m)
{
    if (m->again && m->queue != SLURM_CANCELLED)
        return SLURM_AGAIN;
    /* Before the first question it is as with one that has no answer. */
    return m->queue ? m->queue : SLURM_SILENT;
}

static enum slurm_decision decide(const struct slurm_executor *x, struct slurm_member *m, const char *job_dir,
                                  int64_t now_ms)
{
    enum slurm_state queue = queue_of(m);
    if (queue != m->seen_queue)
        m->since_ms = now_ms;
    m->seen_queue = queue;
    bool patience_over = now_ms - m->since_ms >= x->config->absence_ms;
    enum slurm_decision decision = slurm_decide(queue, m->accounting, m->result, patience_over);
    bool at_odds = decision != SLURM_WAIT && m->result != RESULT_SUCCEEDED && !m->again;
    if (!at_odds || stamp_of(job_dir, SLURM_AGAIN_FILE, NULL) == 0)
        return decision;
    m->again = true;
    return decide(x, m, job_dir, now_ms);
}

static void look_at(struct slurm_executor *x, struct slurm_array *a, size_t index, int64_t now_ms)
{
    struct slurm_member *m = &a->members[index];
    char *job_dir = xasprintf("%s/%s", x->batches.root, m->directory);
    look_at_files(x, m, job_dir, now_ms);
    check_limits(x, a, index, job_dir, now_ms);
    if (a->stage == BATCH_SUBMITTED)
        slurm_note_wait(x, a, index);
    enum slurm_decision decision = a->stage == BATCH_SUBMITTED ? decide(x, m, job_dir, now_ms) : SLURM_WAIT;
    free(job_dir);
    if (decision == SLURM_WAIT)
        return;
    bool forgotten = decision == SLURM_LOST || decision == SLURM_INTERRUPTED;
    /* What is over for us must not go on at Slurm. */
    if (!slurm_state_is_final(m->queue) && m->queue != SLURM_COMPLETING && forgotten)
        slurm_cancel_member(x, a, index, ENDING_NONE);
    if ((decision == SLURM_KILLED || decision == SLURM_NEVER_RAN) && m->signal_number == 0) {
        char *reference = slurm_reference(a, index);
        slurm_ask_exit(x->environment, reference, &m->exit_code, &m->signal_number);
        free(reference);
    }
    m->queue = queue_of(m);
    slurm_report(x, a, index, decision);
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
            if (!a->members[k].reported && (every || may_have_changed(&a->members[k])))
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

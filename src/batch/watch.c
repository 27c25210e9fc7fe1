#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "batch/parts.h"
#include "batch/script.h"
#include "process/job_file.h"
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
static void find_doubtful(void *context, const struct batch_entry *entry)
{
    struct batch_executor *x = context;
    for (size_t i = 0; i < x->batches.count; i++) {
        struct batch_array *a = &x->batches.arrays[i];
        if (a->stage == BATCH_DOUBTFUL && batch_array_owns(&x->batches, a, entry->comment))
            batch_note_job(x, a, entry->job);
    }
}

/* The members that an entry is about, from `*first` on; it may be about a whole array. */
static struct batch_array *members_of(struct batch_executor *x, const struct batch_entry *entry, size_t *first,
                                      size_t *end)
{
    struct batch_array *a =
        FIND(i, x->batches.count,
             x->batches.arrays[i].stage == BATCH_SUBMITTED && strcmp(x->batches.arrays[i].job, entry->job) == 0,
             &x->batches.arrays[i]);
    const int64_t from = x->system->first_task;
    *first = *end = 0;
    if (a && entry->first >= from && entry->first - from < (int64_t)a->count) {
        *first = (size_t)(entry->first - from);
        *end = entry->last - from < (int64_t)a->count ? (size_t)(entry->last - from) + 1 : a->count;
    } else if (a && entry->first < 0) {
        *end = !batch_array_is_one(&x->batches, a);
    }
    return a;
}

static void take_queue_entry(void *context, const struct batch_entry *entry)
{
    struct batch_executor *x = context;
    size_t i, end;
    find_doubtful(x, entry);
    struct batch_array *a = members_of(x, entry, &i, &end);
    if (a && entry->first < 0 && end == 0)
        a->emptied = true;
    for (; a && i < end; i++) {
        struct batch_member *m = &a->members[i];
        m->queue = m->known = entry->state;
        m->is_stuck = entry->is_stuck;
        set_text(&m->nodes, entry->nodes);
        set_text(&m->reason, entry->reason);
    }
}

static void take_exit(struct batch_member *m, const struct batch_entry *entry)
{
    m->exit_code = entry->exit_code > 0 ? entry->exit_code : 0;
    m->signal_number = entry->signal_number > 0 ? entry->signal_number : 0;
}

static void take_account_entry(void *context, const struct batch_entry *entry)
{
    size_t i, end;
    struct batch_array *a = members_of(context, entry, &i, &end);
    for (; a && i < end; i++) {
        a->members[i].accounting = entry->state;
        take_exit(&a->members[i], entry);
        if (*entry->nodes && strncmp(entry->nodes, "None", 4) != 0)
            set_text(&a->members[i].nodes, entry->nodes);
        if (*entry->reason)
            set_text(&a->members[i].reason, entry->reason);
    }
}

static void take_end(void *context, const struct batch_entry *entry)
{
    take_exit(context, entry);
}

static void set_states(struct batch_executor *x, enum batch_state state)
{
    for (size_t i = 0; i < x->batches.count; i++) {
        struct batch_array *a = &x->batches.arrays[i];
        a->emptied = false;
        for (size_t k = 0; a->stage == BATCH_SUBMITTED && k < a->count; k++)
            a->members[k].queue = state;
    }
}

/* Asks about "9_4" of the array "9"; with an `id` of NULL about all of "9_4,14". `jobs` is taken.
 * False: there is no answer. */
static bool ask_accounts(struct batch_executor *x, const char *id, char *jobs)
{
    OWNED_VALUES values = {0};
    batch_values_add(&values, "id", id ? xstrdup(id) : NULL, false);
    batch_values_add(&values, id ? "job" : "jobs", jobs, false);
    int rc = batch_ask(x->system, &x->system->accounting, x->environment, &values, take_account_entry, x);
    return rc == 0;
}

static void ask_end(struct batch_executor *x, const struct batch_array *a, struct batch_member *m, size_t index)
{
    OWNED_VALUES values = {0};
    batch_values_add(&values, "job", batch_reference(&x->batches, a, index), false);
    batch_ask(x->system, &x->system->end, x->environment, &values, take_end, m);
}

/* Returns whether the command names what is asked about by `key`: all at once, a whole batch, or each job. */
static bool is_asked_by(const struct batch_question *q, const char *key)
{
    bool found = false;
    for (char *const *word = q->command; word && *word; word++)
        found |= strstr(*word, key) != NULL;
    return found;
}

/* Asks about each batch, or each job, some in a turn: each costs a process. */
static void ask_accounting(struct batch_executor *x)
{
    enum { ASKED_ONE_BY_ONE = 50 };
    const struct batch_question *q = &x->system->accounting;
    const bool at_once = is_asked_by(q, "{jobs}"), by_batch = !at_once && is_asked_by(q, "{id}");
    const size_t most = at_once ? ASKED_AT_ONCE : ASKED_ONE_BY_ONE;
    OWNED_BUFFER jobs = BUFFER_INIT;
    size_t asked = 0;
    for (size_t i = 0; q->command && i < x->batches.count; i++) {
        struct batch_array *a = &x->batches.arrays[i];
        for (size_t k = 0; a->stage == BATCH_SUBMITTED && k < a->count && asked < most; k++) {
            if (a->members[k].reported || a->members[k].queue != BATCH_ABSENT)
                continue;
            char *job = batch_reference(&x->batches, a, k);
            asked++;
            if (!at_once) {
                /* Each may take a minute not to answer. */
                asked = ask_accounts(x, a->job, job) ? asked : most;
            } else {
                buffer_printf(&jobs, "%s%s", jobs.length ? "," : "", job);
                free(job);
            }
            if (by_batch)
                break;
        }
    }
    if (jobs.length)
        ask_accounts(x, NULL, buffer_take(&jobs));
}

/* An array is forgotten as a whole; a task that is missing from it while others are pending was taken away. */
static void find_removed(struct batch_array *a)
{
    bool known = a->emptied;
    for (size_t i = 0; i < a->count; i++)
        known |= a->members[i].queue != BATCH_ABSENT;
    for (size_t i = 0; known && i < a->count; i++) {
        struct batch_member *m = &a->members[i];
        if (m->queue == BATCH_ABSENT && (m->known == BATCH_NONE || m->known == BATCH_PENDING))
            m->queue = BATCH_REMOVED;
    }
}

/* The queue answered and does not have it: a batch that is not there after some time, and of which no job has begun,
 * was never submitted. */
static void doubt(struct batch_executor *x, struct batch_array *a, int64_t now_ms)
{
    enum { SURE_MS = 10000 };
    const struct batch_question *q = x->system->doubt.command ? &x->system->doubt : &x->system->queue;
    bool is_told = q->fields[ENTRY_COMMENT] || string_list_find(&q->names, "comment") < q->names.count;
    int64_t patience_ms = is_told && x->config->absence_ms > SURE_MS ? SURE_MS : x->config->absence_ms;
    for (size_t i = 0; i < a->count; i++) {
        char *job = a->members[i].result != RESULT_NONE
                        ? batch_system_id(x->system, a->members[i].report.array, "", true)
                        : NULL;
        if (job) {
            batch_note_job(x, a, job);
            free(job);
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

/* Batches of which it is not known whether they were submitted. */
static void resolve_doubts(struct batch_executor *x, int64_t now_ms)
{
    bool asked = !x->system->doubt.command;
    for (size_t i = 0; i < x->batches.count; i++) {
        if (x->batches.arrays[i].stage != BATCH_DOUBTFUL)
            continue;
        if (!asked && batch_ask(x->system, &x->system->doubt, x->environment, NULL, find_doubtful, x) < 0)
            return;
        asked = true;
        if (x->batches.arrays[i].stage == BATCH_DOUBTFUL)
            doubt(x, &x->batches.arrays[i], now_ms);
    }
}

/* Answers come before the next look at them. */
void batch_poll(struct batch_executor *x, int64_t now_ms)
{
    x->poll_due_ms = now_ms + x->config->poll_ms;
    if (x->batches.count == 0)
        return;
    /* Absent unless the answer has them: what an answer leaves out is not known there any more. */
    set_states(x, BATCH_ABSENT);
    if (batch_ask(x->system, &x->system->queue, x->environment, NULL, take_queue_entry, x) != 0) {
        set_states(x, BATCH_SILENT);
        return;
    }
    resolve_doubts(x, now_ms);
    ask_accounting(x);
    for (size_t i = 0; i < x->batches.count; i++)
        if (x->batches.arrays[i].stage == BATCH_SUBMITTED)
            find_removed(&x->batches.arrays[i]);
}

/* --- files --- */

static int64_t stamp_of(const char *job_dir, const char *name, int64_t *bytes)
{
    struct stat status;
    OWNED char *path = xasprintf("%s/%s", job_dir, name);
    int rc = stat(path, &status);
    if (rc == 0 && bytes)
        *bytes += status.st_size;
    return rc == 0 ? (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec : 0;
}

void batch_read_report(struct batch_member *m, const char *job_dir)
{
    OWNED_BUFFER text = BUFFER_INIT;
    struct batch_report report;
    OWNED char *path = xasprintf("%s/" BATCH_RESULT_FILE, job_dir);
    if (job_file_read(job_file_open(path), RESULT_BYTES_MOST, &text) == 0 &&
        batch_report_parse(buffer_text(&text), &report) && report.attempt == m->attempt)
        m->report = report;
}

static enum batch_result result_of(const struct batch_executor *x, const struct batch_member *m, int64_t now_ms)
{
    const struct batch_report *r = &m->report;
    if (r->attempt != m->attempt)
        return RESULT_NONE;
    if (r->ended && r->terminated)
        return RESULT_TERMINATED;
    if (r->ended)
        return r->exit_code == 0 ? RESULT_SUCCEEDED : RESULT_FAILED;
    if (x->batches.framed && (m->queue == BATCH_ABSENT || m->queue == BATCH_REMOVED))
        return RESULT_SILENT;
    return now_ms - m->alive_ms < HEARTBEATS_MISSED * x->config->heartbeat_ms ? RESULT_ALIVE : RESULT_SILENT;
}

static void look_at_files(struct batch_executor *x, struct batch_member *m, const char *job_dir, int64_t now_ms)
{
    int64_t stamp = stamp_of(job_dir, BATCH_RESULT_FILE, NULL);
    if (stamp != m->result_stamp) {
        m->result_stamp = stamp;
        m->alive_ms = now_ms;
        batch_read_report(m, job_dir);
    }
    /* Only whether it changes counts: clocks of nodes differ. */
    int64_t alive = m->report.attempt == m->attempt && !m->report.ended ? stamp_of(job_dir, BATCH_ALIVE_FILE, NULL) : 0;
    if (alive != m->alive_stamp) {
        m->alive_stamp = alive;
        m->alive_ms = now_ms;
    }
    /* The queue knows of one whose files are not here. */
    if (x->batches.framed && m->queue >= BATCH_PENDING && !batch_state_is_final(m->queue))
        m->alive_ms = now_ms;
    enum batch_result result = result_of(x, m, now_ms);
    if (result != m->result)
        m->since_ms = now_ms;
    m->result = result;
}

/* --- the runner's own limits --- */

static bool has_first_metric(const struct batch_executor *x, const struct batch_member *m, const char *job_dir)
{
    if (!x->options.first_metric || m->watched.startup_ms == 0 || m->progress.metric_seen)
        return false;
    OWNED char *log = xasprintf("%s/output.log", job_dir);
    const struct attempt_files files = {-1, log, NULL};
    return x->options.first_metric(x->options.context, m->attempt, &files);
}

static void check_limits(struct batch_executor *x, struct batch_array *a, size_t index, const char *job_dir,
                         int64_t now_ms)
{
    struct batch_member *m = &a->members[index];
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
    /* The output that has been written by now is read until the next look. */
    bool asks_again = answer.fired == ENDING_STARTUP_TIMEOUT && !m->startup_passed;
    m->startup_passed |= asks_again;
    if (answer.fired && !asks_again) {
        m->limit_passed_ms = answer.limit_ms;
        batch_cancel_member(x, a, index, answer.fired);
    }
}

/* --- deciding --- */

/* Slurm's words after it ran one again are of the earlier life, unless they are a person's. */
static enum batch_state queue_of(const struct batch_member *m, bool framed)
{
    /* It was deleted, as we asked, with its log. */
    if (framed && m->because && m->queue == BATCH_ABSENT)
        return BATCH_CANCELLED;
    if (m->again && m->queue != BATCH_CANCELLED)
        return BATCH_AGAIN;
    /* Before the first question it is as with one that has no answer. */
    return m->queue ? m->queue : BATCH_SILENT;
}

static enum batch_decision decide(const struct batch_executor *x, struct batch_member *m, const char *job_dir,
                                  int64_t now_ms)
{
    enum batch_state queue = queue_of(m, x->batches.framed);
    if (queue != m->seen_queue)
        m->since_ms = now_ms;
    m->seen_queue = queue;
    bool patience_over = now_ms - m->since_ms >= x->config->absence_ms;
    enum batch_decision decision = batch_decide(queue, m->accounting, m->result, patience_over);
    bool at_odds = decision != BATCH_WAIT && m->result != RESULT_SUCCEEDED && !m->again;
    if (!at_odds || stamp_of(job_dir, BATCH_AGAIN_FILE, NULL) == 0)
        return decision;
    m->again = true;
    return decide(x, m, job_dir, now_ms);
}

/* Its log is whole by now, or will not be. */
static bool has_left(const struct batch_member *m)
{
    return !m->report.ended && (m->because || batch_state_is_final(m->queue) || m->queue == BATCH_COMPLETING ||
                                m->queue == BATCH_ABSENT || m->queue == BATCH_REMOVED);
}

static void look_at(struct batch_executor *x, struct batch_array *a, size_t index, int64_t now_ms, bool every)
{
    struct batch_member *m = &a->members[index];
    OWNED char *job_dir = xasprintf("%s/%s", x->batches.root, m->directory);
    if (every && x->batches.framed && a->stage == BATCH_SUBMITTED && has_left(m))
        batch_fetch_member(&x->batches, x->environment, a, index);
    look_at_files(x, m, job_dir, now_ms);
    check_limits(x, a, index, job_dir, now_ms);
    if (a->stage == BATCH_SUBMITTED)
        batch_note_wait(x, a, index);
    enum batch_decision decision = a->stage == BATCH_SUBMITTED ? decide(x, m, job_dir, now_ms) : BATCH_WAIT;
    if (decision == BATCH_WAIT)
        return;
    /* It may have been reported, where nobody can read it. */
    if (m->is_damaged && (decision == BATCH_KILLED || decision == BATCH_NEVER_RAN))
        decision = BATCH_LOST;
    bool forgotten = decision == BATCH_LOST || decision == BATCH_INTERRUPTED;
    /* A job that is over for us must not go on, or stay, at the system. */
    if (m->is_stuck || (!batch_state_is_final(m->queue) && m->queue != BATCH_COMPLETING && forgotten))
        batch_cancel_member(x, a, index, ENDING_NONE);
    if ((decision == BATCH_KILLED || decision == BATCH_NEVER_RAN) && m->signal_number == 0) {
        ask_end(x, a, m, index);
    }
    m->queue = queue_of(m, x->batches.framed);
    batch_report(x, a, index, decision);
}

static bool may_have_changed(const struct batch_member *m)
{
    return m->queue != BATCH_PENDING && m->queue != BATCH_REQUEUED;
}

void batch_look(struct batch_executor *x, int64_t now_ms, bool every)
{
    if (every && x->batches.framed)
        batch_fetch_running(x);
    for (size_t i = 0; i < x->batches.count; i++) {
        struct batch_array *a = &x->batches.arrays[i];
        for (size_t k = 0; a->stage >= BATCH_DOUBTFUL && k < a->count; k++)
            if (!a->members[k].reported && (every || may_have_changed(&a->members[k])))
                look_at(x, a, k, now_ms, every);
    }
}

/* Without an answer the next poll tells, and a person may ask again. */
void batch_cancel_member(struct batch_executor *x, struct batch_array *a, size_t index, enum ending because)
{
    a->members[index].because = because;
    if (a->stage != BATCH_SUBMITTED)
        return;
    OWNED char *reference = batch_reference(&x->batches, a, index);
    batch_cancel(x->system, x->environment, reference);
    x->poll_due_ms = clock_monotonic_ms();
}

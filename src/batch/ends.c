#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batch/batches.h"
#include "batch/parts.h"
#include "batch/script.h"
#include "util/clock.h"
#include "util/memory.h"

/* --- outcomes --- */

/* Turns the decision about a job into an outcome like that of a local process. */

/* The path when there is something in that file, else NULL; the caller's. What is no file any more is not empty: it
 * cannot be read, which is told. */
static char *unless_empty(const char *job_dir, const char *name, int64_t *bytes)
{
    struct stat status;
    char *path = xasprintf("%s/%s", job_dir, name);
    if (lstat(path, &status) == 0 && (status.st_size > 0 || !S_ISREG(status.st_mode))) {
        if (bytes)
            *bytes = status.st_size;
        return path;
    }
    free(path);
    return NULL;
}

/* As the shell that waited for the command says it: 128 + n for signal n, 124 of timeout(1) or 137 when that had to
 * kill. Both numbers may be the command's own, unless its time was over. */
static void from_report(const struct batch_member *m, struct outcome *o)
{
    const struct batch_report *r = &m->report;
    bool late = m->limit_ms > 0 && r->ended_ms - r->started_ms >= m->limit_ms;
    if (late && (r->exit_code == 124 || r->exit_code == 128 + SIGKILL)) {
        o->ending = ENDING_TIMEOUT;
        o->limit_ms = m->limit_ms;
    } else if (r->exit_code > 128 && r->exit_code < 128 + 65) {
        o->ending = ENDING_SIGNALED;
        o->signal_number = r->exit_code - 128;
    } else {
        o->ending = ENDING_EXITED;
        o->exit_code = r->exit_code;
    }
}

#define MEANING(id, ending, words, said) [BATCH_##id] = {ending, words},
static const struct {
    enum ending ending;
    const char *words;
} meanings[BATCH_DECISION_COUNT] = {BATCH_DECISIONS(MEANING)};

static char *note_of(const struct batch_system *s, const struct batch_member *m, enum batch_decision decision,
                     const char *reference)
{
    bool forgotten = m->queue == BATCH_ABSENT || m->queue == BATCH_REMOVED;
    enum batch_state state = forgotten && batch_state_is_final(m->accounting) ? m->accounting : m->queue;
    const char *reason = m->reason && strcmp(m->reason, "None") != 0 ? m->reason : "";
    const bool unknown = state == BATCH_ABSENT;
    return xasprintf("%s job %s: %s%s%s%s%s%s%s%s%s", s->title, reference, unknown ? "unknown to " : "",
                     unknown ? s->title : batch_state_names[state], *reason ? " (" : "", reason, *reason ? ")" : "",
                     m->nodes && *m->nodes ? " on " : "", m->nodes ? m->nodes : "", m->unfetched ? "; " : "",
                     m->unfetched ? m->unfetched : meanings[decision].words);
}

static void from_system(const struct batch_system *s, const struct batch_member *m, enum batch_decision decision,
                        const char *reference, struct outcome *o)
{
    o->ending = meanings[decision].ending;
    if (meanings[decision].words)
        o->note = note_of(s, m, decision, reference);
    o->preempted = decision == BATCH_PREEMPTED_BY;
    if (decision == BATCH_LIMIT_PASSED)
        o->limit_ms = m->minutes * 60000;
    if (decision == BATCH_KILLED && m->signal_number > 0) {
        o->ending = ENDING_SIGNALED;
        o->signal_number = m->signal_number;
    } else if (decision == BATCH_KILLED && m->exit_code > 0) {
        o->exit_code = m->exit_code;
    }
    if (decision == BATCH_MEMORY_EXCEEDED) {
        o->signal_number = SIGKILL;
        o->host_oom = true;
    }
    if (decision == BATCH_NEVER_RAN) {
        o->error_number = ECANCELED;
        o->spawn_stage = s->title;
    }
}

/* Its script ended before it wrote a word, for want of the directory. */
static void from_blind_node(const struct batch_system *s, const struct batch_member *m, const char *reference,
                            const char *job_dir, struct outcome *o)
{
    free(o->note);
    o->note = xasprintf("%s job %s: %s sees no directory %s; keep the database on a file system of all nodes", s->title,
                        reference, m->nodes && *m->nodes ? m->nodes : "its node", job_dir);
    o->refused = true;
}

/* We cancelled it, and that is what became of it, unless it was done before. */
static void from_our_cancel(const struct batch_member *m, struct outcome *o)
{
    o->ending = m->because;
    o->limit_ms = m->limit_passed_ms;
    o->exit_code = -1;
    o->signal_number = 0;
    free(o->note);
    o->note = NULL;
}

/* Returns the outcome of a member: `reference` names it ("9_4"), `job_dir` holds its files, `now_ms` is the wall
 * clock's. */
static struct outcome batch_outcome(const struct batch_system *s, const struct batch_member *m,
                                    enum batch_decision decision, const char *reference, const char *job_dir,
                                    int64_t now_ms)
{
    const struct batch_report *r = &m->report;
    bool began = m->result != RESULT_NONE;
    struct outcome o = {.attempt = m->attempt, .exit_code = -1, .ended_wall_ms = now_ms, .started_wall_ms = now_ms};
    if (decision == BATCH_BY_RESULT)
        from_report(m, &o);
    else
        from_system(s, m, decision, reference, &o);
    if (decision == BATCH_NEVER_RAN && m->exit_code == atoi(BATCH_UNSEEN_EXIT))
        from_blind_node(s, m, reference, job_dir, &o);
    if (m->because && (decision != BATCH_BY_RESULT || r->exit_code != 0))
        from_our_cancel(m, &o);
    if (began && r->started_ms > 0)
        o.started_wall_ms = r->started_ms;
    if (began && r->ended && r->ended_ms > 0)
        o.ended_wall_ms = r->ended_ms;
    if (began && o.started_wall_ms > 0 && o.ended_wall_ms > o.started_wall_ms)
        o.duration_ms = o.ended_wall_ms - o.started_wall_ms;
    o.has_usage = began && r->user_ms >= 0 && r->system_ms >= 0;
    if (o.has_usage) {
        o.usage.ru_utime = (struct timeval){r->user_ms / 1000, r->user_ms % 1000 * 1000};
        o.usage.ru_stime = (struct timeval){r->system_ms / 1000, r->system_ms % 1000 * 1000};
    }
    const char *nodes = began && r->nodes[0] ? r->nodes : m->nodes;
    o.host = nodes && *nodes ? xstrdup(nodes) : NULL;
    o.reference = xstrdup(reference);
    o.log_path = unless_empty(job_dir, "output.log", &o.log_bytes);
    o.metrics_path = unless_empty(job_dir, "metrics.jsonl", NULL);
    return o;
}

/* NULL: it has begun. */
static char *why_waiting(const struct batch_system *s, const struct batch_member *m)
{
    if (m->result != RESULT_NONE || m->queue > BATCH_REQUEUED)
        return NULL;
    if (m->queue == BATCH_SILENT)
        return xasprintf("%s does not answer", s->title);
    const char *reason = m->reason ? m->reason : "", *change = batch_system_change(s, reason);
    return *reason && strcmp(reason, "None") != 0
               ? xasprintf("%s%s%s", reason, change ? "; " : "", change ? change : "")
               : xstrdup("queued");
}

void batch_note_wait(struct batch_executor *x, struct batch_array *a, size_t index)
{
    struct batch_member *m = &a->members[index];
    const char *waits = string_list_intern(&x->waits, why_waiting(x->system, m));
    if (m->reported || !x->options.referred || (m->is_referred && m->waits == waits))
        return;
    m->is_referred = true;
    m->waits = waits;
    OWNED char *reference = batch_reference(&x->batches, a, index);
    x->options.referred(x->options.context, m->attempt, reference, waits);
    x->news = true;
}

char *batch_next_name(struct batch_executor *x)
{
    return xasprintf("%s-%" PRId64, x->runner, ++x->sequence);
}

static void add_ended(struct batch_executor *x, struct outcome outcome)
{
    *array_add(x->ended, x->ended_count) = outcome;
}

static void set_reported(struct batch_array *a, size_t index)
{
    a->members[index].reported = true;
    a->left--;
}

void batch_close_member(const struct batch_list *b, const struct batch_member *m)
{
    OWNED char *path = xasprintf("%s/%s/" BATCH_CLOSED_FILE, b->root, m->directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

void batch_report(struct batch_executor *x, struct batch_array *a, size_t index, enum batch_decision decision)
{
    OWNED char *reference = batch_reference(&x->batches, a, index);
    OWNED char *job_dir = xasprintf("%s/%s", x->batches.root, a->members[index].directory);
    if (decision != BATCH_BY_RESULT)
        batch_close_member(&x->batches, &a->members[index]);
    add_ended(x, batch_outcome(x->system, &a->members[index], decision, reference, job_dir, clock_wall_ms()));
    set_reported(a, index);
}

void batch_report_not_started(struct batch_executor *x, int64_t attempt, const char *note, bool refused)
{
    struct outcome o = {.attempt = attempt,
                        .ending = note ? ENDING_SPAWN_FAILED : ENDING_CANCELLED,
                        .exit_code = -1,
                        .spawn_stage = note ? x->system->title : NULL,
                        .note = note ? xstrdup(note) : NULL,
                        .refused = refused,
                        .started_wall_ms = clock_wall_ms(),
                        .ended_wall_ms = clock_wall_ms()};
    add_ended(x, o);
}

void batch_report_unsubmitted(struct batch_executor *x, struct batch_array *a, size_t index, const char *note,
                              bool refused)
{
    batch_close_member(&x->batches, &a->members[index]);
    batch_report_not_started(x, a->members[index].attempt, note, refused);
    set_reported(a, index);
}

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slurm/outcome.h"
#include "slurm/parts.h"
#include "slurm/script.h"
#include "util/clock.h"
#include "util/memory.h"

char *slurm_reference(const struct slurm_array *a, size_t index)
{
    return a->job > 0 ? xasprintf("%" PRId64 "_%zu", a->job, index) : xasprintf("%s_%zu", a->name, index);
}

/* NULL: it has begun. */
static char *why_waiting(const struct slurm_member *m)
{
    if (m->result != RESULT_NONE || m->queue > SLURM_REQUEUED)
        return NULL;
    if (m->queue == SLURM_SILENT)
        return xstrdup("Slurm does not answer");
    const char *reason = m->reason ? m->reason : "", *change = slurm_reason_change(reason);
    return *reason && strcmp(reason, "None") != 0
               ? xasprintf("%s%s%s", reason, change ? "; " : "", change ? change : "")
               : xstrdup("queued");
}

void slurm_note_wait(struct slurm_executor *x, struct slurm_array *a, size_t index)
{
    struct slurm_member *m = &a->members[index];
    const char *waits = string_list_intern(&x->waits, why_waiting(m));
    if (m->reported || !x->options.referred || (m->is_referred && m->waits == waits))
        return;
    m->is_referred = true;
    m->waits = waits;
    char *reference = slurm_reference(a, index);
    x->options.referred(x->options.context, m->attempt, reference, waits);
    x->news = true;
    free(reference);
}

char *slurm_next_name(struct slurm_executor *x)
{
    return xasprintf("%s-%" PRId64, x->runner, ++x->sequence);
}

static void add_ended(struct slurm_executor *x, struct outcome outcome)
{
    *array_add(x->ended, x->ended_count) = outcome;
}

static void set_reported(struct slurm_array *a, size_t index)
{
    a->members[index].reported = true;
    a->left--;
}

/* Whatever Slurm does with it later, it writes no more: see slurm/script.h. */
static void close_attempt(const struct slurm_executor *x, const struct slurm_member *m)
{
    char *path = xasprintf("%s/%s/" SLURM_CLOSED_FILE, x->batches.root, m->directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    free(path);
}

void slurm_report(struct slurm_executor *x, struct slurm_array *a, size_t index, enum slurm_decision decision)
{
    char *reference = slurm_reference(a, index);
    char *job_dir = xasprintf("%s/%s", x->batches.root, a->members[index].directory);
    if (decision != SLURM_BY_RESULT)
        close_attempt(x, &a->members[index]);
    add_ended(x, slurm_outcome(&a->members[index], decision, reference, job_dir, clock_wall_ms()));
    set_reported(a, index);
    free_all(job_dir, reference);
}

void slurm_report_not_started(struct slurm_executor *x, int64_t attempt, const char *note, bool refused)
{
    struct outcome o = {.attempt = attempt,
                        .ending = note ? ENDING_SPAWN_FAILED : ENDING_CANCELLED,
                        .exit_code = -1,
                        .spawn_stage = note ? "Slurm" : NULL,
                        .note = note ? xstrdup(note) : NULL,
                        .refused = refused,
                        .started_wall_ms = clock_wall_ms(),
                        .ended_wall_ms = clock_wall_ms()};
    add_ended(x, o);
}

void slurm_report_unsubmitted(struct slurm_executor *x, struct slurm_array *a, size_t index, const char *note,
                              bool refused)
{
    close_attempt(x, &a->members[index]);
    slurm_report_not_started(x, a->members[index].attempt, note, refused);
    set_reported(a, index);
}

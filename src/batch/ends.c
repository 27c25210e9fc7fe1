#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch/outcome.h"
#include "batch/parts.h"
#include "batch/script.h"
#include "util/clock.h"
#include "util/memory.h"

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

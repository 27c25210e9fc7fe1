#include <inttypes.h>
#include <stdlib.h>

#include "run/slurm_outcome.h"
#include "run/slurm_parts.h"
#include "util/clock.h"
#include "util/memory.h"

char *slurm_reference(const struct slurm_array *a, size_t index)
{
    return a->job > 0 ? xasprintf("%" PRId64 "_%zu", a->job, index) : xasprintf("%s_%zu", a->name, index);
}

char *slurm_next_name(struct slurm_executor *x)
{
    return xasprintf("%s-%" PRId64, x->runner, ++x->sequence);
}

static void add_ended(struct slurm_executor *x, struct outcome outcome)
{
    x->ended = array_grow(x->ended, x->ended_count, sizeof *x->ended);
    x->ended[x->ended_count++] = outcome;
}

static void set_told(struct slurm_array *a, size_t index)
{
    a->members[index].told = true;
    a->left--;
}

void slurm_tell(struct slurm_executor *x, struct slurm_array *a, size_t index, enum slurm_decision decision)
{
    char *reference = slurm_reference(a, index);
    char *job_dir = xasprintf("%s/%s", x->batches.root, a->members[index].directory);
    add_ended(x, slurm_outcome(&a->members[index], decision, reference, job_dir, clock_wall_ms()));
    set_told(a, index);
    free(job_dir);
    free(reference);
}

void slurm_tell_not_started(struct slurm_executor *x, int64_t attempt, const char *note)
{
    struct outcome o = {.attempt = attempt,
                        .ending = note ? ENDING_SPAWN_FAILED : ENDING_CANCELLED,
                        .exit_code = -1,
                        .spawn_stage = note ? "Slurm" : NULL,
                        .note = note ? xstrdup(note) : NULL,
                        .started_wall_ms = clock_wall_ms(),
                        .ended_wall_ms = clock_wall_ms()};
    add_ended(x, o);
}

void slurm_tell_unsubmitted(struct slurm_executor *x, struct slurm_array *a, size_t index, const char *note)
{
    slurm_tell_not_started(x, a->members[index].attempt, note);
    set_told(a, index);
}

/* The supervisor's starts: what a job is given, and what the spawner makes of it. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/job_slot.h"
#include "run/oom_counter.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/file.h"
#include "util/memory.h"

#define OOM_COUNT_AGE_MS 100 /* a reading this old serves as "before": one per job would cost more than it tells */

static bool names(const char *setting, const char *name)
{
    size_t length = strlen(name);
    return strncmp(setting, name, length) == 0 && setting[length] == '=';
}

/* The launch's environment under our two variables. The array and its first two strings are the caller's. */
static char **job_environment(const struct supervisor *s, const struct launch *launch, const char *metrics_path)
{
    size_t count = 0;
    while (launch->environment[count])
        count++;
    char **environment = xcalloc(count + 3, sizeof *environment);
    environment[0] = xasprintf("MESHSWEEP_ATTEMPT=%s:%" PRId64, s->token_prefix, launch->attempt);
    environment[1] = xasprintf("MESHSWEEP_METRICS=%s", metrics_path);
    size_t filled = 2;
    for (size_t i = 0; i < count; i++)
        if (!names(launch->environment[i], "MESHSWEEP_ATTEMPT") && !names(launch->environment[i], "MESHSWEEP_METRICS"))
            environment[filled++] = launch->environment[i];
    return environment;
}

static void job_environment_free(char **environment)
{
    free(environment[0]);
    free(environment[1]);
    free(environment);
}

/* Hands the process over to the spawner, and `output_fd` with it. False when there is no such program. */
static bool hand_over(const struct supervisor *s, size_t index, const struct launch *launch, int output_fd,
                      struct process_failure *failure)
{
    char **environment = job_environment(s, launch, s->slots[index].capture.metrics_path);
    *failure = (struct process_failure){ENOENT, "exec", 0};
    char *program = launch->argv[0] ? process_find_program(launch->argv[0], environment, launch->directory,
                                                           &failure->error_number)
                                    : NULL;
    const struct process_start start = {program, launch->argv, environment, launch->directory, s->null_fd,
                                        output_fd, output_fd, NULL};
    if (program)
        spawner_start(s->spawner, index, &start);
    bool done = program != NULL;
    free(program);
    job_environment_free(environment);
    return done;
}

static int64_t oom_count_before(struct supervisor *s, int64_t now_ms)
{
    if (now_ms - s->oom_read_ms >= OOM_COUNT_AGE_MS) {
        s->oom_count = oom_counter_read(s->oom_fd);
        s->oom_read_ms = now_ms;
    }
    return s->oom_count;
}

static size_t free_slot(const struct supervisor *s)
{
    size_t index = 0;
    while (index < s->slot_count && s->slots[index].state != SLOT_FREE)
        index++;
    assert(index < s->slot_count);
    return index;
}

static void set_starting(struct supervisor *s, size_t index, const struct launch *launch, int64_t now_ms)
{
    struct slot *slot = &s->slots[index];
    slot->oom_before = oom_count_before(s, now_ms);
    slot->alone = s->in_flight == 0;
    for (size_t i = 0; !slot->alone && i < s->slot_count; i++)
        s->slots[i].alone = false;
    s->in_flight++;
    slot->state = SLOT_STARTING;
    slot->pid = -1;
    slot->start_ticks = 0;
    slot->leader_gone = slot->cancelled = false;
    slot->grace_ms = launch->grace_ms;
    slot->limits = (struct deadline_limits){launch->timeout_ms, launch->idle_timeout_ms, launch->startup_timeout_ms};
    slot->seen = (struct capture_activity){0};
    slot->until_ms = INT64_MAX;
    slot->look_ms = now_ms + STARTING_TICK_MS;
    slot->outcome = (struct outcome){.attempt = launch->attempt,
                                     .where = {(int64_t)index, {0, 0}, NULL, NULL, NULL},
                                     .exit_code = -1,
                                     .started_wall_ms = clock_wall_ms()};
}

/* Takes `subject`. */
static void set_not_started(struct slot *slot, const struct process_failure *failure, char *subject)
{
    slot->state = SLOT_ENDED;
    slot->leader_gone = true;
    slot->outcome.ending = ENDING_SPAWN_FAILED;
    slot->outcome.error_number = failure->error_number;
    slot->outcome.spawn_stage = failure->stage;
    slot->outcome.spawn_subject = subject;
    slot->outcome.ended_wall_ms = clock_wall_ms();
    free(slot->job_dir);
    slot->job_dir = NULL;
}

void supervisor_start(struct supervisor *s, const struct launch *launch)
{
    size_t index = free_slot(s);
    struct slot *slot = &s->slots[index];
    struct process_failure failure = {0, "log", 0};
    bool handed_over = false;
    set_starting(s, index, launch, clock_monotonic_ms());
    char *own_dir = launch->make_job_dir ? path_absolute(launch->job_dir) : NULL;
    int output_fd = capture_begin(&slot->capture, launch->attempt, own_dir);
    if (output_fd < 0)
        failure.error_number = errno;
    else if (launch->not_prepared)
        failure = (struct process_failure){0, "job files", 0};
    else
        handed_over = hand_over(s, index, launch, output_fd, &failure);
    free(own_dir);
    if (handed_over) {
        slot->job_dir = xstrdup(launch->job_dir);
        return;
    }
    if (output_fd >= 0) {
        close(output_fd);
        capture_abandon(&slot->capture);
    }
    bool no_program = strcmp(failure.stage, "exec") == 0 && launch->argv[0];
    set_not_started(slot, &failure, no_program ? xstrdup(launch->argv[0]) : NULL);
    slot->outcome.note = launch->not_prepared ? xstrdup(launch->not_prepared) : NULL;
}

/* --- what the spawner has done --- */

static void set_running(struct supervisor *s, const struct spawned *made)
{
    struct slot *slot = &s->slots[made->tag];
    int64_t now_ms = made->started_ms;
    slot->state = SLOT_RUNNING;
    slot->pid = made->pid;
    slot->start_ticks = made->start_ticks;
    slot->outcome.where.process = (struct process_identity){made->pid, made->start_ticks};
    slot->progress = (struct deadline_state){now_ms, now_ms, false};
    struct deadline_answer answer = deadline_check(&slot->limits, &slot->progress, now_ms);
    int64_t tick_ms = now_ms + deadline_tick_ms(&slot->limits, false);
    slot->look_ms = answer.due_ms < tick_ms ? answer.due_ms : tick_ms;
    s->roots[made->tag] = (struct tree_root){made->pid, made->start_ticks, false, slot->outcome.attempt};
    s->table_fresh = false;
    FAULT(SPAWNED);
}

/* The end of that child, when it was seen before its start was told. */
static bool take_early_end(struct supervisor *s, pid_t pid, struct child_end *out)
{
    for (size_t i = 0; i < s->early_count; i++) {
        if (s->early[i].pid != pid)
            continue;
        *out = s->early[i];
        s->early[i] = s->early[--s->early_count];
        return true;
    }
    return false;
}

static void take_start(struct supervisor *s, const struct spawned *made)
{
    struct child_end end;
    if (made->pid < 0) {
        take_early_end(s, made->failure.pid, &end);
        capture_abandon(&s->slots[made->tag].capture);
        set_not_started(&s->slots[made->tag], &made->failure, made->subject);
        return;
    }
    set_running(s, made);
    if (take_early_end(s, made->pid, &end))
        supervisor_record_end(s, made->tag, &end);
}

void supervisor_take_starts(struct supervisor *s)
{
    struct spawned made;
    while (spawner_take(s->spawner, &made))
        take_start(s, &made);
    if (s->early_count > 0 && spawner_pending(s->spawner) == 0) {
        s->early_count = 0;
        supervisor_hasten_checks(s);
    }
}

void supervisor_settle(struct supervisor *s)
{
    spawner_settle(s->spawner);
    supervisor_take_starts(s);
}

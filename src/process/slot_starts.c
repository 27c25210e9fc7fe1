/* The supervisor's starts: what a job is given. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/job_file.h"
#include "process/oom_counter.h"
#include "process/process.h"
#include "process/slot.h"
#include "util/clock.h"
#include "util/fault.h"
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
    free_all(environment[0], environment[1], environment);
}

static pid_t start_process(const struct supervisor *s, const struct launch *launch, const struct capture *capture,
                           const int output[STREAM_COUNT], int64_t *start_ticks, struct process_failure *failure)
{
    pid_t pid = -1;
    char **environment = job_environment(s, launch, capture->metrics_path);
    *failure = (struct process_failure){ENOENT, "exec"};
    OWNED char *program =
        launch->argv[0] ? process_find_program(launch->argv[0], environment, launch->directory, &failure->error_number)
                        : NULL;
    const struct process_start start = {program,    launch->argv,  environment, launch->directory,
                                        s->null_fd, output[0],     output[1],   &s->changed_signals,
                                        s->mark,    &s->open_files};
    if (program)
        pid = process_spawn(&start, start_ticks, failure);
    job_environment_free(environment);
    return pid;
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
    supervisor_note_stillness(s);
    slot->still_before_us = s->still_us;
    slot->frozen_before_us = s->frozen_us;
    slot->alone = s->running_count == 0;
    for (size_t i = 0; !slot->alone && i < s->slot_count; i++)
        s->slots[i].alone = false;
    s->running_count++;
    slot->leader_gone = slot->cancelled = false;
    slot->grace_ms = launch->grace_ms;
    slot->limits = (struct deadline_limits){launch->timeout_ms, launch->idle_timeout_ms, launch->startup_timeout_ms};
    slot->progress = (struct deadline_state){now_ms, now_ms, false};
    slot->seen = (struct capture_activity){0};
    slot->until_ms = INT64_MAX;
    slot->outcome = (struct outcome){.attempt = launch->attempt, .exit_code = -1, .started_wall_ms = clock_wall_ms()};
}

static void set_running(struct supervisor *s, size_t index, const struct launch *launch, pid_t pid, int64_t start_ticks)
{
    struct slot *slot = &s->slots[index];
    int64_t now_ms = slot->progress.started_ms;
    slot->state = SLOT_RUNNING;
    slot->pid = pid;
    slot->start_ticks = start_ticks;
    slot->job_dir = xstrdup(launch->job_dir);
    slot->look_ms = deadline_look_ms(&slot->limits, &slot->progress, now_ms);
    s->roots[index] = (struct tree_root){pid, start_ticks, false, launch->attempt};
    FAULT(SPAWNED);
}

/* It would start in a directory that has been removed. */
static bool has_no_directory(const struct launch *launch)
{
    struct stat status;
    return !launch->directory && stat(".", &status) == 0 && status.st_nlink == 0;
}

static const char *subject_of(const struct launch *launch, const char *stage)
{
    if (strcmp(stage, "exec") == 0)
        return launch->argv[0];
    return strcmp(stage, "chdir") != 0 ? NULL : launch->directory ? launch->directory : "to the runner's";
}

static void set_not_started(struct slot *slot, const struct launch *launch, const struct process_failure *failure)
{
    const char *subject = subject_of(launch, failure->stage);
    slot->state = SLOT_ENDED;
    slot->leader_gone = true;
    slot->outcome.ending = ENDING_SPAWN_FAILED;
    slot->outcome.error_number = failure->error_number;
    slot->outcome.spawn_stage = failure->stage;
    slot->outcome.spawn_subject = subject ? xstrdup(subject) : NULL;
    slot->outcome.note = launch->not_prepared ? xstrdup(launch->not_prepared) : NULL;
    slot->outcome.ended_wall_ms = clock_wall_ms();
}

struct location supervisor_start(struct supervisor *s, const struct launch *launch)
{
    size_t index = free_slot(s);
    struct slot *slot = &s->slots[index];
    struct process_failure failure = {0, "log"};
    pid_t pid = -1;
    int64_t start_ticks = 0;
    set_starting(s, index, launch, clock_monotonic_ms());
    char *own_dir = launch->make_job_dir ? job_directory_absolute(launch->job_dir) : NULL;
    int output[STREAM_COUNT];
    const bool captures = capture_begin(&slot->capture, launch->attempt, own_dir, output) == 0;
    if (!captures)
        failure.error_number = errno;
    else if (launch->not_prepared)
        failure = (struct process_failure){0, "job files"};
    else if (has_no_directory(launch))
        failure = (struct process_failure){ENOENT, "chdir"};
    else
        pid = start_process(s, launch, &slot->capture, output, &start_ticks, &failure);
    free(own_dir);
    if (captures)
        capture_close_child(output);
    s->table_fresh = false;
    if (pid >= 0) {
        set_running(s, index, launch, pid, start_ticks);
        return (struct location){(int64_t)index, {pid, start_ticks}};
    }
    if (captures)
        capture_abandon(&slot->capture);
    set_not_started(slot, launch, &failure);
    return (struct location){(int64_t)index, {0, 0}};
}

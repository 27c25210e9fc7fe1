/* What becomes of attempts that have ended, until they are committed. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "process/job_file.h"
#include "run/run_counts.h"
#include "run/run_state.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/file.h"
#include "util/memory.h"

#define SUSPICION_MS 1000 /* how long a failed start waits for another to tell whose fault it was */

static struct running_attempt take_running(struct runner *r, int64_t attempt)
{
    size_t i = 0;
    while (i < r->running_count && r->running[i].claim.attempt_id != attempt)
        i++;
    assert(i < r->running_count);
    struct running_attempt f = r->running[i];
    r->running[i] = r->running[--r->running_count];
    return f;
}

struct running_attempt runner_let_go(struct runner *r, struct outcome *outcome)
{
    struct running_attempt f = take_running(r, outcome->attempt);
    outcome->device_bytes = device_keeper_take_back(r->keeper, outcome->attempt);
    if (outcome->ending == ENDING_LOST && outcome->host)
        device_keeper_lose(r->keeper, outcome->host);
    run_counts_leave(&r->result.counts);
    FAULT(OUTCOME_TAKEN);
    return f;
}

/* [sweep] share: what lies above them as well; the output of running jobs and what is handed to Slurm stay private. */
static void share_files(const struct runner *r, const struct running_attempt *f, const struct outcome *outcome)
{
    char *job = xstrndup(f->job_dir, (size_t)(path_name(f->job_dir) - 1 - f->job_dir));
    const char *const paths[] = {job, f->job_dir, outcome->log_path, outcome->metrics_path};
    file_share(r->options->directory);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (paths[i])
            job_file_share(paths[i]);
    free(job);
}

/* `why`: a sentence. */
static void pause_for(struct runner *r, int64_t job_id, const char *why, bool on_disk)
{
    if (host_watch_hold(&r->host, job_id, why, on_disk))
        waits_notify_paused(why, r->host.give_up_ms, r->options);
}

static void take_read_end(struct runner *r, const struct running_attempt *f, struct outcome *outcome,
                          const struct recording *recording)
{
    const int64_t job_id = f->claim.job_id;
    if (r->options->space->sweep->share)
        share_files(r, f, outcome);
    ended_attempts_add(&r->ended, f, outcome, recording);
    struct recording *recorded = &r->ended.items[r->ended.count - 1].recording;
    if (recorded->blame == BLAME_HOST && !host_watch_ended(&r->host, job_id))
        recorded->blame = BLAME_JOB;
    else if (recorded->blame == BLAME_HOST)
        pause_for(r, job_id, recorded->verdict.message, true);
}

/* Of one that left little. */
static void take_end(struct runner *r, struct running_attempt f, struct outcome *outcome)
{
    const struct recording_context context = {.sweep = r->options->space->sweep,
                                              .readers = r->readers,
                                              .classifier = r->classifier,
                                              .secrets = &r->secrets,
                                              .measures = r->options->measures,
                                              .scratch = r->scratch,
                                              .attempt_number = f.claim.number,
                                              .job_dir = f.job_dir,
                                              .reading = readings_take(r->readings, outcome->attempt)};
    struct recording recording;
    recording_make(&context, outcome, &recording);
    output_reading_free(context.reading);
    take_read_end(r, &f, outcome, &recording);
}

/* Its job is held, and no attempt of it is left. */
static void hold(struct runner *r, struct running_attempt f, struct outcome *outcome)
{
    const int64_t job_id = f.claim.job_id;
    const bool on_disk = strcmp(outcome->spawn_stage, "log") == 0 || strcmp(outcome->spawn_stage, "job files") == 0;
    take_end(r, f, outcome);
    struct recording *recorded = &r->ended.items[r->ended.count - 1].recording;
    recorded->hold = xstrdup(recorded->verdict.message);
    r->started_count--;
    pause_for(r, job_id, recorded->hold, on_disk);
}

void runner_blame_suspect(struct runner *r)
{
    if (r->suspect.is_there)
        take_end(r, r->suspect.attempt, &r->suspect.outcome);
    r->suspect.is_there = false;
}

static void consider_failed_start(struct runner *r, struct running_attempt f, struct outcome *outcome)
{
    struct suspect before = r->suspect;
    r->start_failed = false;
    switch (host_watch_judge(&r->host, f.claim.job_id, outcome)) {
    case HOST_BLAMES_JOB:
        take_end(r, f, outcome);
        break;
    case HOST_UNSURE:
        runner_blame_suspect(r);
        r->suspect = (struct suspect){true, f, *outcome, clock_monotonic_ms()};
        break;
    case HOST_BLAMES_HOST:
        r->suspect.is_there = false;
        if (before.is_there)
            hold(r, before.attempt, &before.outcome);
        hold(r, f, outcome);
        break;
    }
}

void runner_receive(struct runner *r, struct running_attempt f, struct outcome *outcome)
{
    if (f.start_failed)
        consider_failed_start(r, f, outcome);
    else if (readings_are_brief(r->readings, &f, outcome))
        take_end(r, f, outcome);
    else
        readings_add_ended(r->readings, &f, outcome);
}

void runner_receive_read(struct runner *r)
{
    struct running_attempt f;
    struct outcome outcome;
    struct recording recording;
    readings_turn(r->readings);
    while (readings_take_ended(r->readings, &f, &outcome, &recording))
        take_read_end(r, &f, &outcome, &recording);
}

void runner_settle_suspect(struct runner *r, bool nothing_to_start)
{
    if (r->suspect.is_there && (nothing_to_start || clock_monotonic_ms() - r->suspect.since_ms >= SUSPICION_MS)) {
        runner_blame_suspect(r);
        r->host.suspect_job = 0;
    }
}

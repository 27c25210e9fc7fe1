/* Attempts that have ended, until they are committed. */
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
#include "util/parse.h"

#define SUSPICION_MS 1000 /* how long a failed start waits for another to tell whose fault it was */

static struct running_attempt take_running(struct runner *r, int64_t attempt)
{
    size_t i = FIRST(k, r->running_count, r->running[k].claim.attempt_id == attempt);
    assert(i < r->running_count);
    struct running_attempt f = r->running[i];
    r->running[i] = r->running[--r->running_count];
    return f;
}

struct running_attempt runner_let_go(struct runner *r, struct outcome *outcome)
{
    struct running_attempt f = take_running(r, outcome->attempt);
    outcome->device_bytes = device_keeper_take_back(r->keeper, &f);
    if (f.fixtures) {
        const bool failed = outcome->ending != ENDING_CANCELLED && !r->cancelling &&
                            (outcome->ending != ENDING_EXITED || outcome->exit_code != 0);
        char *why = fixtures_leave(r->starter.fixtures, f.fixtures, f.claim.attempt_id, failed);
        if (f.fixture_died)
            free(why);
        else
            f.fixture_died = why;
    }
    f.has_elsewhere = r->keeper && !f.shares ? device_keeper_has_elsewhere(r->keeper, &f) : !f.shares;
    if (outcome->ending == ENDING_LOST && outcome->host)
        device_keeper_lose(r->keeper, outcome->host);
    r->result.counts.running--;
    r->result.counts.ended++;
    FAULT(OUTCOME_TAKEN);
    return f;
}

/* [sweep] share: what lies above them as well; the output of running jobs and what is handed to Slurm stay private. */
static void share_files(const struct runner *r, const struct running_attempt *f, const struct outcome *outcome)
{
    OWNED char *job = xstrndup(f->job_dir, (size_t)(path_name(f->job_dir) - 1 - f->job_dir));
    const char *const paths[] = {job, f->job_dir, outcome->log_path, outcome->metrics_path};
    file_share(r->options->directory);
    for (size_t i = 0; i < LENGTH(paths); i++)
        if (paths[i])
            job_file_share(paths[i]);
}

/* `why`: a sentence. */
static void pause_for(struct runner *r, int64_t job_id, const char *why, enum host_need need)
{
    char duration[32];
    if (host_watch_hold(&r->host, job_id, why, need))
        runner_tell(r->options,
                    "paused: the host cannot run jobs: %s; no job has failed; retrying from time to time for %s", why,
                    format_duration_ms(r->host.give_up_ms, duration, sizeof duration));
}

/* Names of the devices that it had, or of the one node that it ran on; NULL: not known. */
static const char *places_of(const struct ended_attempt *l)
{
    const char *host = l->recording.end.host;
    if (l->attempt.devices)
        return l->attempt.devices;
    return host && !strpbrk(host, "[,") ? host : NULL;
}

/* An end that is no verdict on the job says nothing of its place; a failure that a configuration may cause is not the
 * place's. */
static struct place_end place_end_of(const struct ended_attempt *l)
{
    const struct recording *rec = &l->recording;
    const enum failure f = rec->verdict.failure;
    const bool is_void = rec->hold || rec->blame != BLAME_JOB || f == FAILURE_CANCELLED || f == FAILURE_SPAWN;
    const bool is_like = rec->verdict.of_host || f == FAILURE_EXIT || f == FAILURE_SIGNAL;
    return (struct place_end){.places = places_of(l),
                              .job_id = l->attempt.claim.job_id,
                              .attempt_id = l->attempt.claim.attempt_id,
                              .is_void = is_void,
                              .is_ok = !rec->failure,
                              .is_like = is_like && !failure_is_of_command(rec->verdict.message),
                              .is_named = rec->verdict.of_host,
                              .has_elsewhere = l->attempt.has_elsewhere,
                              .message = rec->verdict.message ? rec->verdict.message : "",
                              .duration_ms = rec->duration_ms,
                              .now_ms = clock_wall_ms()};
}

/* Whose fault it was by where it ran. */
static void judge_place(struct runner *r, struct ended_attempt *l)
{
    struct recording *rec = &l->recording;
    const struct place_end end = place_end_of(l);
    const bool is_second = place_watch_is_second(r->places, end.job_id);
    const enum place_answer answer = place_watch_note(r->places, &end);
    rec->elsewhere = answer != PLACE_SAYS_NOTHING;
    if (answer == PLACE_BLAMED)
        rec->blame = BLAME_HOST;
    /* A job with no other place waits for this one; with several nodes nobody knows which it was. */
    else if (rec->verdict.of_host && !is_second && !end.is_void && !(end.places && end.has_elsewhere))
        rec->blame = r->naming.kind == PLACES_ARE_NODES ? BLAME_NODE : BLAME_HOST;
}

static void take_read_end(struct runner *r, const struct running_attempt *f, struct outcome *outcome,
                          const struct recording *recording)
{
    const int64_t job_id = f->claim.job_id;
    if (r->options->space->sweep->share)
        share_files(r, f, outcome);
    ended_attempts_add(&r->ended, f, outcome, recording);
    struct ended_attempt *l = &r->ended.items[r->ended.count - 1];
    struct recording *recorded = &l->recording;
    judge_place(r, l);
    const enum host_need need = recorded->verdict.of_host ? HOST_NEEDS_END : HOST_NEEDS_DISK;
    if (recorded->elsewhere)
        return;
    if (recorded->blame == BLAME_HOST && !host_watch_is_host(&r->host, job_id))
        recorded->blame = BLAME_JOB;
    else if (recorded->blame == BLAME_HOST)
        pause_for(r, job_id, recorded->verdict.message, need);
    else
        runner_note_works(r, job_id, host_watch_ended);
}

/* Takes the end of an attempt that left little to read. */
static void take_end(struct runner *r, struct running_attempt f, struct outcome *outcome)
{
    const struct recording_context context = {.sweep = r->options->space->sweep,
                                              .readers = r->readers,
                                              .classifier = r->classifier,
                                              .secrets = &r->secrets,
                                              .measures = r->options->measures,
                                              .scratch = r->scratch,
                                              .attempt = &f,
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
    pause_for(r, job_id, recorded->hold, on_disk ? HOST_NEEDS_DISK : HOST_NEEDS_START);
}

/* Reports each way of asking once, and the first of nodes that see no files. */
static void tell_refusal(struct runner *r, const char *why, bool of_node)
{
    const bool is_new = !r->refusal || (!of_node && strcmp(r->refusal, why) != 0);
    if (is_new)
        runner_tell(r->options, "%s", why);
    free(r->refusal);
    r->refusal = xstrdup(why);
}

/* The batch system takes nothing that is asked for in this way, or its node cannot see the files: no attempt of it is
 * left, and its job waits for another run. Nothing more is asked for where nothing has worked so far. */
static void refuse(struct runner *r, struct running_attempt f, struct outcome *outcome)
{
    const bool of_node = outcome->reference;
    take_end(r, f, outcome);
    struct recording *recorded = &r->ended.items[r->ended.count - 1].recording;
    recorded->hold = xstrdup(recorded->verdict.message);
    r->started_count--;
    r->result.refused = true;
    r->draining |= of_node ? r->ok_count == 0 : !r->was_taken;
    tell_refusal(r, recorded->hold, of_node);
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
    else if (outcome->refused)
        refuse(r, f, outcome);
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

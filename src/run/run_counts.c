#include "run/run_counts.h"

#include <math.h>

#include "results/status.h"

int run_counts_load(struct run_counts *c, const struct runner_options *options, struct error *e)
{
    struct job_state_counts counts;
    if (jobs_count(options->db, options->sweep_id, options->only_selected, &counts, e) < 0)
        return -1;
    c->ok = counts.ok;
    c->failed = counts.failed;
    c->pending = counts.pending + (options->unlisted ? options->unlisted->count : 0);
    c->running = counts.running;
    c->pruned = counts.pruned;
    c->held = counts.held;
    c->total = c->ok + c->failed + c->pending + c->pruned + c->held + c->running;
    OWNED_STMT *s = NULL;
    if (status_part(options->db, "SELECT job, value FROM best", VALUES(sql_int(options->sweep_id)), &s, e) < 0)
        return -1;
    int rc = stmt_next(s, e);
    c->has_best = rc > 0 && !sweep_ranks_configurations(options->space->sweep);
    c->best = rc > 0 ? stmt_double(s, 1) : 0;
    c->best_job_id = rc > 0 ? stmt_int(s, 0) : 0;
    return rc < 0 ? -1 : 0;
}

int run_counts_prune(struct run_counts *c, const struct runner_options *options, int64_t jobs, struct error *e)
{
    struct job_state_counts counts;
    /* Fewer of the selected jobs may have been pruned. */
    if (jobs > 0 && options->only_selected) {
        if (jobs_count(options->db, options->sweep_id, true, &counts, e) < 0)
            return -1;
        jobs = counts.pruned - c->pruned;
    }
    c->pruned += jobs;
    c->pending -= jobs;
    return 0;
}

int64_t run_counts_reopen(struct run_counts *c, const int64_t jobs[FAILURE_COUNT], const int64_t *were_ok)
{
    const int64_t ok = were_ok ? *were_ok - c->reopened : 0;
    int64_t failed = 0;
    for (int f = 0; f < FAILURE_COUNT; f++) {
        failed += jobs[f];
        c->failures[f] -= jobs[f] < c->failures[f] ? jobs[f] : c->failures[f];
    }
    c->reopened += ok;
    c->ok -= ok;
    c->ok_now -= ok < c->ok_now ? ok : c->ok_now;
    c->failed -= failed;
    c->failed_now -= failed < c->failed_now ? failed : c->failed_now;
    c->pending += ok + failed;
    return failed;
}

/* A lucky replicate, and jobs that are not compared, make no headline. */
static void note_best(struct run_counts *c, const struct sweep *s, const struct ended_attempt *l)
{
    const struct recording *rec = &l->recording;
    if (sweep_ranks_configurations(s) || rec->is_full || rec->failure || rec->is_infeasible || rec->end.stopped_steps ||
        !rec->has_objective || !isfinite(rec->objective))
        return;
    bool better = !c->has_best || (s->objectives[0].maximise ? rec->objective > c->best : rec->objective < c->best);
    if (!better)
        return;
    c->has_best = true;
    c->best = rec->objective;
    c->best_job_id = l->attempt.claim.job_id;
}

void run_counts_end(struct run_counts *c, const struct runner_options *options, const struct ended_attempt *l)
{
    const struct recording *rec = &l->recording;
    c->ended--;
    c->finished_now++;
    c->ok += rec->job_end == JOB_END_OK;
    c->failed += rec->job_end == JOB_END_FAILED;
    c->ok_now += rec->job_end == JOB_END_OK;
    c->failed_now += rec->job_end == JOB_END_FAILED;
    c->pending += rec->job_end == JOB_END_AGAIN;
    c->held += rec->job_end == JOB_END_HELD;
    c->total -= rec->job_end == JOB_END_GONE;
    c->gone += rec->job_end == JOB_END_GONE;
    c->finished_now -= rec->hold != NULL;
    if (rec->job_end == JOB_END_GONE || rec->hold)
        return;
    c->failures[rec->verdict.failure] += rec->job_end == JOB_END_FAILED;
    note_best(c, options->space->sweep, l);
    const struct run_event event = {
        .job_id = l->attempt.claim.job_id,
        .attempt_number = l->attempt.claim.number,
        .key_hex = l->attempt.key_hex,
        .spec_json = l->attempt.job.spec_json,
        .is_full = rec->is_full && !rec->is_profile,
        .is_profile = rec->is_profile,
        .failure = rec->failure,
        .message = rec->verdict.message,
        .duration_ms = rec->duration_ms,
        .has_objective = rec->has_objective && isfinite(rec->objective),
        .objective = rec->objective,
        .will_retry = rec->job_end == JOB_END_AGAIN || rec->job_end == JOB_END_HELD,
    };
    if (options->on_event)
        options->on_event(options->context, &event);
}

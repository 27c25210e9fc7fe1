#include "run/tally.h"

#include <math.h>

#include "store/status.h"

int tally_load(struct run_counts *c, const struct runner_options *options, struct error *e)
{
    struct job_state_counts counts;
    if (jobs_count(options->db, options->sweep_id, options->only_selected, &counts, e) < 0)
        return -1;
    c->ok = counts.ok;
    c->failed = counts.failed;
    c->pending = counts.pending;
    c->running = counts.running;
    c->pruned = counts.pruned;
    c->total = counts.ok + counts.failed + counts.pending + counts.pruned + counts.running;
    struct sweep_status status;
    if (status_best_read(options->db, options->sweep_id, &status, e) < 0)
        return -1;
    c->has_best = status.has_best;
    c->best = status.best;
    c->best_job_id = status.best_job;
    return 0;
}

int tally_prune(struct run_counts *c, const struct runner_options *options, int64_t jobs, struct error *e)
{
    struct job_state_counts counts;
    /* Of what is selected fewer may have been pruned. */
    if (jobs > 0 && options->only_selected) {
        if (jobs_count(options->db, options->sweep_id, true, &counts, e) < 0)
            return -1;
        jobs = counts.pruned - c->pruned;
    }
    c->pruned += jobs;
    c->pending -= jobs;
    return 0;
}

void tally_start(struct run_counts *c)
{
    c->running++;
    c->pending--;
}

static void note_best(struct run_counts *c, const struct sweep *s, const struct landing *l)
{
    const struct recording *rec = &l->recording;
    if (rec->failure || rec->end.stopped_steps || !rec->has_objective || !isfinite(rec->objective))
        return;
    bool better = !c->has_best || (s->objectives[0].maximise ? rec->objective > c->best : rec->objective < c->best);
    if (!better)
        return;
    c->has_best = true;
    c->best = rec->objective;
    c->best_job_id = l->flight.claim.job_id;
}

void tally_end(struct run_counts *c, const struct runner_options *options, const struct landing *l)
{
    const struct recording *rec = &l->recording;
    c->running--;
    c->finished_now++;
    c->ok += rec->fate == FATE_OK;
    c->failed += rec->fate == FATE_FAILED;
    c->ok_now += rec->fate == FATE_OK;
    c->failed_now += rec->fate == FATE_FAILED;
    c->pending += rec->fate == FATE_AGAIN;
    c->total -= rec->fate == FATE_GONE;
    c->gone += rec->fate == FATE_GONE;
    if (rec->fate == FATE_GONE)
        return;
    c->failures[rec->verdict.failure] += rec->fate == FATE_FAILED;
    note_best(c, options->space->sweep, l);
    const struct run_event event = {
        .job_id = l->flight.claim.job_id,
        .attempt_number = l->flight.claim.number,
        .key_hex = l->flight.key_hex,
        .spec_json = l->flight.job.spec_json,
        .failure = rec->failure,
        .message = rec->verdict.message,
        .duration_ms = rec->duration_ms,
        .has_objective = rec->has_objective,
        .objective = rec->objective,
        .will_retry = rec->fate == FATE_AGAIN,
    };
    if (options->on_event)
        options->on_event(options->context, &event);
}

#include "run/claims.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/fault.h"
#include "util/memory.h"

#define CLAIMS_AHEAD 256 /* fetched anew when half of them and of the slots are gone */
#define CLAIMS_AT_ONCE 512
#define LOOK_EVERY_MS 10000 /* the wall clock may be set meanwhile */

/* --- the store's order --- */

static int list_others(void *context, bool *ready, struct error *e)
{
    struct store_order *o = context;
    if (!o->unlisted || !o->is_begun)
        return 0;
    if (o->unlisted->put(o->unlisted->context, ready, e) < 0)
        return -1;
    if (*ready)
        o->unlisted = NULL;
    return 0;
}

static int choose_in_order(void *context, int64_t *job_ids, size_t room, size_t *count, enum claim_answer *answer,
                           struct error *e)
{
    struct store_order *o = context;
    o->is_begun = true;
    /* Those that are left out now are asked for as soon as the others have started. */
    const size_t first = o->unlisted && room > CLAIMS_AHEAD / 2 ? room - CLAIMS_AHEAD / 2 : room;
    if (attempts_pending(o->store, job_ids, first, count, e) < 0)
        return -1;
    /* An end may make its job pending again. */
    *answer = *count < room && !o->unlisted ? CLAIM_WAIT : CLAIM_MORE;
    return 0;
}

struct claim_source claim_source_in_order(struct store_order *order)
{
    return (struct claim_source){.ahead = CLAIMS_AHEAD,
                                 .prepare = list_others,
                                 .choose = choose_in_order,
                                 .context = order};
}

/* --- the queue --- */

size_t claims_wanted(const struct claims *c, size_t room, int64_t limit)
{
    size_t ahead = c->source->ahead, most = room + ahead;
    if (c->is_urgent && limit != 0)
        return c->deferred_count < CLAIMS_AT_ONCE ? c->deferred_count : CLAIMS_AT_ONCE;
    if (c->answer != CLAIM_MORE || c->count >= most || (ahead > 0 && c->count > ahead / 2))
        return 0;
    size_t wanted = most - c->count;
    size_t left = limit < 0 ? wanted : limit > (int64_t)c->count ? (size_t)limit - c->count : 0;
    wanted = wanted < left ? wanted : left;
    return wanted < CLAIMS_AT_ONCE ? wanted : CLAIMS_AT_ONCE;
}

void claims_put_first(struct claims *c, int64_t job_id)
{
    c->deferred = array_grow(c->deferred, c->deferred_count, sizeof *c->deferred);
    memmove(c->deferred + 1, c->deferred, c->deferred_count++ * sizeof *c->deferred);
    c->deferred[0] = job_id;
    c->is_urgent = true;
}

static int claim(const struct claims *c, int64_t job_id, struct claim_batch *out, struct error *e)
{
    struct claim made;
    if (attempt_claim(c->store, job_id, c->source->kind, &made, e) < 0)
        return -1;
    struct running_attempt *f = array_add(out->items, out->count);
    *f = (struct running_attempt){.claim = made};
    if (starter_load(c->starter, f, e) < 0)
        return -1;
    if (made.number > 1 && !made.full && attempts_count_timeouts(c->store, job_id, &f->timeouts, e) < 0)
        return -1;
    return c->source->claimed ? c->source->claimed(c->source->context, &made, e) : 0;
}

static int plan_to_ask_again(const struct claims *c, int64_t asked_ms, struct claim_batch *out, struct error *e)
{
    if (attempts_next_due(c->store, asked_ms, &out->due_ms, e) < 0)
        return -1;
    if (out->due_ms == 0)
        return 0;
    int64_t left_ms = out->due_ms - clock_wall_ms();
    left_ms = left_ms < 1 ? 1 : left_ms;
    out->wake_ms = clock_monotonic_ms() + (left_ms < LOOK_EVERY_MS ? left_ms : LOOK_EVERY_MS);
    return 0;
}

static void defer(struct claim_batch *out, int64_t job_id)
{
    *array_add(out->deferred, out->deferred_count) = job_id;
}

/* Claims a chosen job, unless it is pruned or has to wait. */
static int take_up(const struct claims *c, int64_t job_id, struct claim_batch *out, struct error *e)
{
    bool is_due, is_pruned;
    if (c->source->full)
        return claim(c, job_id, out, e);
    if (pruning_covers(c->pruning, job_id, &is_pruned, e) < 0)
        return -1;
    if (is_pruned)
        return claims_notify_pruned(c, job_id, e);
    if (attempts_is_due(c->store, job_id, &is_due, e) < 0)
        return -1;
    if (is_due)
        return claim(c, job_id, out, e);
    defer(out, job_id);
    return 0;
}

static int take_up_deferred(const struct claims *c, size_t wanted, struct claim_batch *out, struct error *e)
{
    for (size_t i = 0; i < c->deferred_count; i++)
        if (out->count == wanted)
            defer(out, c->deferred[i]);
        else if (take_up(c, c->deferred[i], out, e) < 0)
            return -1;
    return 0;
}

int claims_prepare(const struct claims *c, bool *ready, struct error *e)
{
    *ready = true;
    return c->source->prepare ? c->source->prepare(c->source->context, ready, e) : 0;
}

int claims_fetch(const struct claims *c, size_t wanted, struct claim_batch *out, struct error *e)
{
    int64_t job_ids[CLAIMS_AT_ONCE], asked_ms = clock_wall_ms();
    size_t count = 0;
    if (take_up_deferred(c, wanted, out, e) < 0 ||
        c->source->choose(c->source->context, job_ids, wanted - out->count, &count, &out->answer, e) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (take_up(c, job_ids[i], out, e) < 0)
            return -1;
    out->wake_ms = 0;
    return out->answer == CLAIM_WAIT ? plan_to_ask_again(c, asked_ms, out, e) : 0;
}

void claims_admit(struct claims *c, struct claim_batch *b)
{
    if (c->first > 0)
        memmove(c->items, c->items + c->first, c->count * sizeof *c->items);
    c->first = 0;
    for (size_t i = 0; i < b->count; i++) {
        *array_add(c->items, c->count) = b->items[i];
    }
    free(c->deferred);
    c->deferred = b->deferred;
    c->deferred_count = b->deferred_count;
    b->deferred = NULL;
    b->deferred_count = 0;
    c->is_urgent = false;
    c->answer = b->answer;
    c->wake_ms = b->wake_ms;
    c->due_ms = b->due_ms;
    b->count = 0;
}

void claim_batch_free(struct claim_batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        running_attempt_free(&b->items[i]);
    free_all(b->items, b->deferred);
    *b = (struct claim_batch){0};
}

int64_t claims_wait_ms(struct claims *c)
{
    if (c->answer != CLAIM_WAIT || c->wake_ms == 0)
        return -1;
    int64_t left_ms = c->wake_ms - clock_monotonic_ms();
    if (left_ms > 0)
        return left_ms;
    c->answer = CLAIM_MORE;
    return 0;
}

static int give_back(struct claims *c, const struct claim *claim, struct error *e)
{
    if (attempt_release(c->store, claim, e) < 0)
        return -1;
    return c->source->released ? c->source->released(c->source->context, claim, e) : 0;
}

static void drop(struct claims *c, size_t place)
{
    struct running_attempt *at = c->items + c->first + place;
    running_attempt_free(at);
    memmove(at, at + 1, (c->count - place - 1) * sizeof *at);
    c->count--;
}

int claims_withdraw(struct claims *c, int64_t job_id, struct error *e)
{
    struct running_attempt *queue = c->items + c->first;
    size_t i = FIRST(k, c->count, queue[k].claim.job_id == job_id);
    if (i == c->count)
        return 0;
    if (give_back(c, &queue[i].claim, e) < 0)
        return -1;
    drop(c, i);
    return 0;
}

int claims_hold(struct claims *c, size_t place, const char *why, struct error *e)
{
    const struct claim claim = c->items[c->first + place].claim;
    if (attempt_hold(c->store, &claim, why, e) < 0 ||
        (c->source->released && c->source->released(c->source->context, &claim, e) < 0))
        return -1;
    drop(c, place);
    return 0;
}

int claims_notify_pruned(const struct claims *c, int64_t job_id, struct error *e)
{
    const struct claim_end end = {.claim = {.job_id = job_id}, .failure = "oom", .job_end = JOB_END_FAILED};
    return c->source->ended ? c->source->ended(c->source->context, &end, e) : 0;
}

bool claims_take(struct claims *c, bool (*fits)(void *context, const struct running_attempt *f), void *context,
                 struct running_attempt *out)
{
    struct running_attempt *queue = c->items + c->first;
    size_t i = FIRST(k, c->count, fits(context, &queue[k]));
    if (i == c->count)
        return false;
    *out = queue[i];
    memmove(queue + 1, queue, i * sizeof *queue);
    c->first++;
    c->count--;
    return true;
}

static int give_all_back(struct claims *c, struct error *e)
{
    for (size_t i = 0; i < c->count; i++)
        if (give_back(c, &c->items[c->first + i].claim, e) < 0)
            return -1;
    return 0;
}

int claims_release(struct claims *c, struct db *db, struct error *e)
{
    if (c->count == 0)
        return 0;
    if (db_begin(db, e) < 0)
        return -1;
    int rc = db_end(db, give_all_back(c, e), e);
    FAULT(CLAIMS_RELEASED);
    return rc;
}

void claims_free(struct claims *c)
{
    for (size_t i = 0; i < c->count; i++)
        running_attempt_free(&c->items[c->first + i]);
    free_all(c->items, c->deferred);
}

/* place_watch: what sets a place aside and what does not, by drawn sweeps. */
#include "measures/place_watch.h"
#include "unit_test.h"
#include "util/rng.h"

enum { PLACES = 4, ATTEMPTS_MOST = 1 << 18 };

static bool happens(struct rng *r, double probability)
{
    return (double)(rng_next(r) >> 11) / 9007199254740992.0 < probability;
}

/* A sweep on some places, one attempt at a time. */
struct world {
    struct place_watch *watch;
    struct rng rng;
    double fails_of_job[PLACES]; /* of jobs whose first place that is */
    double fails_of_place[PLACES];
    bool is_named;
    int64_t attempts, now_ms;
    int64_t aside[PLACES], charged;
    bool is_charged[ATTEMPTS_MOST];
};

static void world_begin(struct world *w, uint64_t seed)
{
    place_watch_free(w->watch);
    *w = (struct world){.watch = place_watch_create(1000), .rng = rng_stream(seed, 1)};
}

static struct world *world_of(uint64_t seed)
{
    struct world *w = xcalloc(1, sizeof *w);
    world_begin(w, seed);
    return w;
}

static void world_let_go(struct world **w)
{
    place_watch_free((*w)->watch);
    free(*w);
}

static void charge(struct world *w, int64_t attempt, bool is_charged)
{
    assert_true(attempt < ATTEMPTS_MOST);
    w->charged += is_charged - w->is_charged[attempt];
    w->is_charged[attempt] = is_charged;
}

static void take_changes(struct world *w)
{
    HELD(place_changes) c = place_watch_take(w->watch);
    for (size_t i = 0; i < c.count; i++) {
        w->aside[c.items[i].place[0] - '0'] += c.items[i].is_aside;
        for (size_t k = 0; k < c.items[i].attempt_count; k++)
            charge(w, c.items[i].attempts[k], false);
    }
}

static enum place_answer try_on(struct world *w, int64_t job, int place, double fails)
{
    char name[] = {(char)('0' + place), '\0'};
    const double own = fails + (1 - fails) * w->fails_of_place[place];
    const bool is_ok = !happens(&w->rng, own);
    const struct place_end end = {.places = name,
                                  .job_id = job,
                                  .attempt_id = ++w->attempts,
                                  .is_ok = is_ok,
                                  .is_like = true,
                                  .is_named = w->is_named && !is_ok,
                                  .has_elsewhere = true,
                                  .message = "exit status 1",
                                  .duration_ms = is_ok ? 1000 : 10,
                                  .now_ms = ++w->now_ms};
    place_watch_started(w->watch, name, end.attempt_id, w->now_ms);
    enum place_answer answer = place_watch_note(w->watch, &end);
    charge(w, end.attempt_id, !is_ok && answer == PLACE_SAYS_NOTHING);
    take_changes(w);
    return answer;
}

static bool is_kept(const struct world *w, int64_t job, int place)
{
    OWNED char *kept = place_watch_kept(w->watch, job, true, w->now_ms);
    bool is = kept && strchr(kept, '0' + place);
    return is;
}

/* Runs a job on a place, and elsewhere as often as that is wanted. */
static void run_job(struct world *w, int64_t job, int first)
{
    const double fails = w->fails_of_job[first];
    int place = first;
    for (int n = 0; n < PLACES && is_kept(w, job, place); n++)
        place = (place + 1) % PLACES;
    for (int n = 0; n < PLACES && try_on(w, job, place, fails) != PLACE_SAYS_NOTHING; n++)
        for (int k = 0; k < PLACES && is_kept(w, job, place); k++)
            place = (place + 1) % PLACES;
}

/* Jobs until the place is set aside, or `most`. */
static int64_t jobs_until_aside(struct world *w, int place, int64_t most)
{
    for (int64_t job = 1; job <= most; job++) {
        run_job(w, job, (int)(job % PLACES));
        if (w->aside[place])
            return job;
    }
    return most;
}

/* --- the test itself --- */

/* As bad as it can be: each pair has the probability of a quarter. */
TEST(place_evidence__sound_place__a_thousand_jobs_on_average)
{
    struct rng r = rng_stream(39, 5);
    const int rounds = rounds_of(400);
    double jobs = 0;
    for (int i = 0; i < rounds; i++)
        for (double evidence = 0; evidence < PLACE_EVIDENCE_ENOUGH; jobs++)
            evidence = place_evidence_after(evidence, happens(&r, 0.25), false);
    assert_true(jobs / rounds >= 1000);
}

TEST(place_evidence__broken_place__a_few_jobs)
{
    struct rng r = rng_stream(39, 6);
    const int rounds = rounds_of(1000);
    double jobs[2] = {0, 0};
    for (int named = 0; named < 2; named++)
        for (int i = 0; i < rounds; i++)
            for (double evidence = 0; evidence < PLACE_EVIDENCE_ENOUGH; jobs[named]++)
                evidence = place_evidence_after(evidence, happens(&r, 0.9), named);
    assert_true(jobs[0] / rounds < 12);
    assert_true(jobs[1] / rounds < 4);
    double evidence = 0;
    for (int i = 0; i < 6; i++) {
        assert_true(evidence < PLACE_EVIDENCE_ENOUGH);
        evidence = place_evidence_after(evidence, true, false);
    }
    assert_true(evidence >= PLACE_EVIDENCE_ENOUGH);
    assert_true(place_evidence_after(place_evidence_after(0, true, true), true, true) >= PLACE_EVIDENCE_ENOUGH);
}

/* --- sweeps --- */

TEST(place_watch__jobs_that_fail_on_every_place__none_set_aside)
{
    HELD_AT(world) *w = world_of(1);
    for (int i = 0; i < PLACES; i++)
        w->fails_of_job[i] = i % 2 ? 1 : 0;
    jobs_until_aside(w, 0, rounds_of(20000));
    for (int i = 0; i < PLACES; i++)
        assert_int_equal(w->aside[i], 0);
    assert_true(w->charged >= rounds_of(20000) / 2);
    /* Asking costs little where it is the jobs. */
    assert_true(w->attempts <= rounds_of(20000) + 60);
}

/* All jobs that fail have a key that makes them run on one place: what is not paired would blame that. */
TEST(place_watch__key_pinned_to_a_place__not_set_aside)
{
    HELD_AT(world) *w = world_of(2);
    w->fails_of_job[1] = 1;
    assert_int_equal(jobs_until_aside(w, 1, rounds_of(20000)), rounds_of(20000));
    /* The same with jobs that fail now and then, and only those of one place do. */
    int64_t jobs = 0;
    const int rounds = rounds_of(40);
    for (int i = 0; i < rounds; i++) {
        world_begin(w, 100 + (uint64_t)i);
        w->fails_of_job[1] = 0.5;
        jobs += jobs_until_aside(w, 1, 40000) / PLACES;
    }
    assert_true(jobs / rounds >= 1000);
}

TEST(place_watch__broken_place__set_aside_and_no_job_charged)
{
    const int rounds = rounds_of(100);
    HELD_AT(world) *w = world_of(0);
    for (int named = 0; named < 2; named++)
        for (int i = 0; i < rounds; i++) {
            world_begin(w, 1000 + (uint64_t)i);
            w->is_named = named;
            w->fails_of_place[2] = 1;
            /* Each fourth job is on it. */
            assert_in_range(jobs_until_aside(w, 2, 1000), 1, named ? 8 : 32);
            for (int64_t job = 2000; job < 2040; job++)
                run_job(w, job, 2);
            assert_int_equal(w->charged, 0);
            assert_int_equal(w->aside[0] + w->aside[1] + w->aside[3], 0);
        }
}

/* It breaks after long use, and now and then a job still goes well there. */
TEST(place_watch__breaks_late__set_aside_as_soon)
{
    HELD_AT(world) *w = world_of(3);
    assert_int_equal(jobs_until_aside(w, 2, 4000), 4000);
    w->fails_of_place[2] = 0.95;
    int64_t job = 4001;
    while (!w->aside[2] && job < 4200)
        run_job(w, job++, 2);
    assert_true(job < 4060);
}

/* --- one step at a time --- */

static struct place_end failure_on(const char *place, int64_t job, int64_t attempt)
{
    return (struct place_end){.places = place,
                              .job_id = job,
                              .attempt_id = attempt,
                              .is_like = true,
                              .is_named = true,
                              .has_elsewhere = true,
                              .message = "ECC",
                              .now_ms = attempt};
}

static struct place_end success_on(const char *place, int64_t job, int64_t attempt)
{
    return (struct place_end){.places = place, .job_id = job, .attempt_id = attempt, .is_ok = true, .now_ms = attempt};
}

static void assert_kept(const struct place_watch *w, int64_t job, bool is_wary, int64_t now_ms, const char *places)
{
    OWNED char *kept = place_watch_kept(w, job, is_wary, now_ms);
    assert_string_equal(kept ? kept : "", places);
}

TEST(place_watch__doubts_that_would_be_enough__no_other_job_meanwhile)
{
    HELD_AT(place_watch) *w = place_watch_create(1000);
    struct place_end end = failure_on("a", 1, 1);
    assert_int_equal(place_watch_note(w, &end), PLACE_BLAMED);
    assert_kept(w, 7, false, 1, "");
    assert_kept(w, 1, false, 1, "a");
    end = failure_on("a", 2, 2);
    assert_int_equal(place_watch_note(w, &end), PLACE_BLAMED);
    assert_kept(w, 7, false, 2, "a");
    int64_t seconds[4];
    assert_int_equal(place_watch_take_seconds(w, seconds, 4), 2);
    assert_int_equal(place_watch_take_seconds(w, seconds, 4), 0);
    /* Failing elsewhere as well is the job's own. */
    end = failure_on("b", 1, 3);
    assert_int_equal(place_watch_note(w, &end), PLACE_SAYS_NOTHING);
    assert_kept(w, 7, false, 3, "");
    place_watch_drop_doubts(w);
    assert_false(place_watch_is_second(w, 2));
}

TEST(place_watch__set_aside__tried_again_with_one_job)
{
    HELD_AT(place_watch) *w = place_watch_create(1000);
    struct place_end end;
    for (int64_t job = 1; job <= 3; job++) {
        end = failure_on("a", job, job);
        place_watch_note(w, &end);
    }
    for (int64_t job = 1; job <= 2; job++) {
        end = success_on("b", job, 10 + job);
        place_watch_note(w, &end);
    }
    struct place_changes c = place_watch_take(w);
    assert_int_equal(c.count, 1);
    assert_true(c.items[0].is_aside);
    assert_string_equal(c.items[0].place, "a");
    assert_string_equal(c.items[0].message, "ECC");
    assert_int_equal(c.items[0].jobs, 2);
    assert_int_equal(c.items[0].attempt_count, 3);
    assert_int_equal(c.items[0].until_ms, 1012);
    place_changes_free(&c);
    assert_kept(w, 7, false, 12, "a");
    assert_int_equal(place_watch_due_ms(w, 12), 1000);
    assert_false(place_watch_started(w, "a", 20, 500));
    /* Due: one job tries it, and no other meanwhile. */
    assert_kept(w, 7, false, 1012, "");
    assert_true(place_watch_started(w, "a", 21, 1012));
    assert_kept(w, 8, false, 1012, "a");
    end = failure_on("a", 7, 21);
    end.now_ms = 1020;
    assert_int_equal(place_watch_note(w, &end), PLACE_BLAMED);
    c = place_watch_take(w);
    assert_true(c.count == 1 && c.items[0].is_again);
    assert_int_equal(c.items[0].until_ms, 3020);
    place_changes_free(&c);
    /* A job that has no other place after all is not asked for ever. */
    end = failure_on("a", 7, 30);
    end.now_ms = 1025;
    assert_int_equal(place_watch_note(w, &end), PLACE_SAYS_NOTHING);
    /* A probe that says nothing leaves it to the next, and on request the place is tried at once. */
    place_watch_release(w, 1030);
    assert_true(place_watch_started(w, "a", 22, 1030));
    end = failure_on("a", 9, 22);
    end.is_void = true;
    assert_int_equal(place_watch_note(w, &end), PLACE_SAYS_NOTHING);
    /* Nor does what fails in another way. */
    assert_true(place_watch_started(w, "a", 24, 1030));
    end = failure_on("a", 11, 24);
    end.message = "mine";
    end.is_named = false;
    assert_int_not_equal(place_watch_note(w, &end), PLACE_BLAMED);
    assert_true(place_watch_started(w, "a", 23, 1030));
    end = success_on("a", 10, 23);
    place_watch_note(w, &end);
    c = place_watch_take(w);
    assert_true(c.count == 1 && !c.items[0].is_aside);
    place_changes_free(&c);
    assert_kept(w, 8, false, 1030, "");
}

/* run: the loop, on an executor that does what a script says: what is started when, what is recorded before whom it is
 * reported, and how a run ends. */
#include "scripted_executor.h"
#include "space_fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "database/open.h"
#include "run/runner.h"
#include "space/enumerate.h"

/* Jobs 1, 2, 3, 4, in this order. */
#define SWEEP                                                                                                          \
    "[sweep]\nobjective = \"max:score\"\n[training_spec]\nx = [1, 2, 3, 4]\n"                                          \
    "[job.metrics.score]\nregex = 'score: ([0-9.]+)'\nbetter = \"max\"\n"
#define RETRY "[retry]\nbackoff = \"0s\"\n"
#define JOB "[job]\ncommand = [\"job\"]\n"

/* None of this is about the disk: it need not be waited for. */
int fsync(int descriptor)
{
    (void)descriptor;
    return 0;
}

int fdatasync(int descriptor)
{
    (void)descriptor;
    return 0;
}

/* A directory with a database, and what a run in it came to. */
struct workplace {
    char directory[64], path[128];
    struct scripted_log log;
    struct run_result result;
    struct error error;
    char reported[512]; /* "1:ok 2:exit …" as on_event had them */
    char noticed[256];  /* the last notice */
    int reported_early; /* events of what did not stand in the database */
};

static struct workplace workplace_new(void)
{
    static int number;
    struct workplace p = {.reported_early = 0};
    snprintf(p.directory, sizeof p.directory, "run-%d", ++number);
    snprintf(p.path, sizeof p.path, "%s/results.db", p.directory);
    assert_int_equal(mkdir(p.directory, 0700), 0);
    return p;
}

static void append(char *text, size_t size, const char *format, long long number, const char *word)
{
    size_t n = strlen(text);
    snprintf(text + n, size - n, format, n ? " " : "", number, word);
}

static void hear(void *context, const struct run_event *event)
{
    struct workplace *p = context;
    struct db *reader = NULL;
    char sql[200];
    int64_t stands = 0;
    append(p->reported, sizeof p->reported, "%s%lld:%s", event->job_id, event->failure ? event->failure : "ok");
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM attempt WHERE job_id = %lld AND number = %lld AND state IN ('ok', 'failed')",
             (long long)event->job_id, (long long)event->attempt_number);
    if (db_open(p->path, DB_READ_ONLY, &reader, &p->error) == 0)
        db_query_int(reader, sql, NO_VALUES, 0, &stands, &p->error);
    db_close(reader);
    p->reported_early += stands != 1;
}

static void hear_notice(void *context, const char *text)
{
    struct workplace *p = context;
    snprintf(p->noticed, sizeof p->noticed, "%s", text);
}

/* Runs the sweep with further keys of [retry] and [job]; NULL: none. */
static int run_with(struct workplace *p, const char *retry, const char *job, struct script *script,
                    struct runner_options options)
{
    OWNED char *text = xasprintf("%s%s%s%s%s", SWEEP, RETRY, retry ? retry : "", JOB, job ? job : ""), *notice = NULL;
    char *environment[] = {(char *)"PATH=/usr/bin:/bin", NULL};
    HELD(built) b = build_text(text);
    struct enumeration n = {0};
    struct db *db = NULL;
    p->log = (struct scripted_log){0};
    p->reported[0] = '\0';
    script->database = p->path;
    scripted_executor_set(script, &p->log);
    if (store_open(p->path, NULL, &db, &notice, &p->error) < 0 || enumerate_into(b.space, db, NULL, &n, &p->error) < 0)
        fail_msg("%s", p->error.text);
    options.space = b.space;
    options.db = db;
    options.sweep_id = n.sweep_id;
    options.slots = options.slots ? options.slots : 2;
    options.directory = p->directory;
    options.identity = "0123456789abcdef0123456789abcdef";
    options.environment = environment;
    options.executor = scripted_executor_create;
    options.on_event = hear;
    options.on_notice = hear_notice;
    options.context = p;
    int rc = runner_run(&options, &p->result, &p->error);
    store_close(db);
    return rc;
}

static int run(struct workplace *p, struct script *script, struct runner_options options)
{
    return run_with(p, NULL, NULL, script, options);
}

/* "1 ok 2 exit 3 pending": each job with its failure or its state. */
static void states(const struct workplace *p, char *out, size_t size)
{
    HELD_AT(db) *db = NULL;
    OWNED_STMT *s = NULL;
    struct error e = ERROR_INIT;
    out[0] = '\0';
    assert_int_equal(db_open(p->path, DB_READ_ONLY, &db, &e), 0);
    assert_int_equal(db_prepare(db, "SELECT id, ifnull(failure, state) FROM job ORDER BY id", &s, &e), 0);
    while (stmt_next(s, &e) > 0)
        append(out, size, "%s%lld %s", stmt_int(s, 0), stmt_text(s, 1));
}

static void expect_states(const struct workplace *p, const char *wanted)
{
    char got[256];
    states(p, got, sizeof got);
    assert_string_equal(got, wanted);
}

static void expect_count(const struct workplace *p, const char *sql, int64_t wanted)
{
    struct db *db = NULL;
    int64_t got = -1;
    FAIL_IF(db_open(p->path, DB_READ_ONLY, &db, &e));
    FAIL_IF(db_query_int(db, sql, NO_VALUES, -1, &got, &e));
    db_close(db);
    assert_int_equal(got, wanted);
}

/* --- one run --- */

struct scenario {
    const char *name;
    size_t slots, most; /* slots 0: two */
    const char *started, *states, *retry, *job;
    struct script script;
    struct runner_options options;
    int signal, cancels;
};

static const struct scenario scenarios[] = {
    {"all well", 0, 2, "1 2 3 4", "1 ok 2 ok 3 ok 4 ok", .signal = 0},
    {"one slot", 1, 1, "1 2 3 4", "1 ok 2 ok 3 ok 4 ok", .signal = 0},
    {"more slots than jobs", 9, 4, "1 2 3 4", "1 ok 2 ok 3 ok 4 ok", .signal = 0},
    {"one fails, the others go on", 1, 1, "1 2 3 4", "1 ok 2 exit 3 ok 4 ok",
     .script.ends = {{2, 0, ENDING_EXITED, 7, "Segmentation of markets\n"}}},
    {"each by its class", 1, 1, "1 2 3 4", "1 no-metric 2 oom 3 hang 4 signal", .retry = "spawn = 1\n",
     .script.ends = {{1, 0, ENDING_EXITED, 0, "nothing to say\n"},
                     {2, 0, ENDING_EXITED, 1, "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"},
                     {3, 0, ENDING_IDLE_TIMEOUT, 0, NULL},
                     {4, 0, ENDING_SIGNALED, SIGSEGV, NULL}}},
    {"more classes", 1, 1, "1 2 3 4", "1 signal 2 spawn 3 timeout 4 timeout", .retry = "spawn = 1\n",
     .script.ends = {{1, 0, ENDING_SIGNALED, SIGSEGV, NULL},
                     {2, 0, ENDING_SPAWN_FAILED, ENOENT, NULL},
                     {3, 0, ENDING_STARTUP_TIMEOUT, 0, NULL},
                     {4, 0, ENDING_TIMEOUT, 0, "score: 3\n"}}},
    {"lost once", 1, 1, "1 2 3 4 2", "1 ok 2 ok 3 ok 4 ok", .script.ends = {{2, 1, ENDING_LOST, 0, NULL}}},
    {"lost for ever: no fault of its own, and left for another run", 1, 1, "1 2 3 4 4 4 4", "1 ok 2 ok 3 ok 4 pending",
     .script.ends = {{4, 0, ENDING_LOST, 0, NULL}}},
    {"lost too often: last from then on", 1, 1, "1 2 3 4 1", "1 ok 2 ok 3 ok 4 ok", .retry = "lost = 1\n",
     .script.ends = {{1, 1, ENDING_LOST, 0, NULL}}},
    {"each twice", 1, 1, "1 2 3 4 1 2 4", "1 ok 2 ok 3 exit 4 ok", .job = "repeat = 2\n",
     .script.ends = {{1, 2, ENDING_EXITED, 0, "score: 9\n"}, {3, 1, ENDING_EXITED, 1, NULL}}},
    {"so many and no more", 1, 1, "1 2", "1 ok 2 ok 3 pending 4 pending", .options.job_limit = 2},
    {"enough failed", 1, 1, "1 2 3", "1 exit 2 ok 3 exit 4 pending", .options.max_fail = 2,
     .script.ends = {{1, 0, ENDING_EXITED, 1, NULL}, {3, 0, ENDING_EXITED, 1, NULL}}},
    {"interrupted once", 0, 2, "1 2 3", "1 ok 2 ok 3 ok 4 pending", .script.wakes = {{2, WAKE_INTERRUPT, SIGINT}},
     .signal = SIGINT},
    {"interrupted twice", 0, 2, "1 2 3", "1 ok 2 pending 3 pending 4 pending",
     .script = {.wakes = {{2, WAKE_INTERRUPT, SIGINT}, {3, WAKE_INTERRUPT, SIGINT}}}, .signal = SIGINT, .cancels = 1},
    {"interrupted thrice", 0, 2, "1 2", "1 pending 2 pending 3 pending 4 pending",
     .script = {.hold = true,
                .wakes = {{1, WAKE_INTERRUPT, SIGINT}, {2, WAKE_INTERRUPT, SIGINT}, {3, WAKE_INTERRUPT, SIGINT}}},
     .signal = SIGINT, .cancels = 2},
    {"asked to end", 0, 2, "1 2", "1 pending 2 pending 3 pending 4 pending",
     .script = {.hold = true, .wakes = {{1, WAKE_TERMINATE, SIGTERM}}}, .signal = SIGTERM, .cancels = 1},
    {"cancelled by a person", 1, 1, "1 2 3 4", "1 ok 2 cancelled 3 ok 4 ok",
     .script.ends = {{2, 0, ENDING_ABORTED, 0, NULL}}},
    {"rows deleted while they run", 1, 1, "1 2 3 4", "2 ok 3 ok 4 ok",
     .script.before_end = "DELETE FROM attempt WHERE job_id = 1; DELETE FROM job WHERE id = 1"},
};

static void run_one(const struct scenario *c)
{
    struct workplace p = workplace_new();
    struct script script = c->script;
    struct runner_options options = c->options;
    char got[256];
    print_message("%s\n", c->name);
    options.slots = c->slots;
    FAIL_WHERE(run_with(&p, c->retry, c->job, &script, options) < 0, "%s", p.error.text);
    states(&p, got, sizeof got);
    assert_string_equal(p.log.started, c->started);
    assert_string_equal(got, c->states);
    assert_int_equal(p.log.most, c->most);
    assert_int_equal(p.result.signal, c->signal);
    assert_int_equal(p.log.cancels, c->cancels);
    assert_int_equal(p.log.early, 0);
    assert_int_equal(p.reported_early, 0);
    assert_true(p.log.freed);
    /* Whatever came about, nothing is left open and the run has its end on record. */
    expect_count(&p, "SELECT count(*) FROM attempt WHERE state IN ('claimed', 'running')", 0);
    expect_count(&p, "SELECT count(*) FROM runner WHERE ended IS NOT NULL", 1);
}

TEST(runner_run__scripted_ends__recorded_as_they_are)
{
    for (size_t i = 0; i < LENGTH(scenarios); i++)
        run_one(&scenarios[i]);
}

TEST(runner_run__counts_and_events__agree_with_the_table)
{
    struct workplace p = workplace_new();
    struct script script = {.ends = {{2, 0, ENDING_EXITED, 1, NULL}, {3, 1, ENDING_LOST, 0, NULL}}};
    assert_int_equal(run(&p, &script, (struct runner_options){.slots = 1}), 0);
    assert_string_equal(p.reported, "1:ok 2:exit 3:lost 4:ok 3:ok");
    const struct run_counts *c = &p.result.counts;
    assert_int_equal(c->total, 4);
    assert_int_equal(c->ok, 3);
    assert_int_equal(c->failed, 1);
    assert_int_equal(c->pending + c->running, 0);
    assert_int_equal(c->finished_now, 5);
    assert_int_equal(c->ok_now, 3);
    assert_int_equal(c->failed_now, 1);
    /* A failure that is tried again is none of its job. */
    assert_int_equal(c->failures[FAILURE_EXIT], 1);
    assert_int_equal(c->failures[FAILURE_LOST], 0);
    assert_true(c->has_best && c->best == 4 && c->best_job_id == 4);
}

TEST(runner_run__again__runs_what_is_left_and_failed_only_by_demand)
{
    struct workplace p = workplace_new();
    struct script fails = {.ends = {{2, 1, ENDING_EXITED, 1, NULL}}}, well = {0};
    char *classes[] = {(char *)"exit", NULL};
    assert_int_equal(run(&p, &fails, (struct runner_options){.slots = 1, .job_limit = 3}), 0);
    assert_string_equal(p.log.started, "1 2 3");
    assert_int_equal(run(&p, &well, (struct runner_options){.slots = 1}), 0);
    assert_string_equal(p.log.started, "4");
    assert_int_equal(run(&p, &well, (struct runner_options){.slots = 1, .forced_classes = classes}), 0);
    assert_string_equal(p.log.started, "2");
    assert_int_equal(p.result.requeued, 1);
    expect_states(&p, "1 ok 2 ok 3 ok 4 ok");
}

/* Unless it matters how that ended. */
TEST(runner_run__one_ended__the_next_started_before_that_is_read)
{
    static const char first[] =
        "SELECT m.value FROM summary AS m JOIN attempt AS a ON a.id = m.attempt_id WHERE a.job_id = 1";
    struct script script = {.late_output = "score: 7\n"};
    struct workplace p = workplace_new(), last = workplace_new();
    assert_int_equal(run(&p, &script, (struct runner_options){.slots = 1}), 0);
    expect_count(&p, first, 7);
    assert_int_equal(run(&last, &script, (struct runner_options){.slots = 1, .max_fail = 1}), 0);
    expect_count(&last, first, 1);
}

/* --- runs that cannot go on --- */

TEST(runner_run__executor_cannot_be_made__nothing_begun)
{
    struct workplace p = workplace_new();
    struct script script = {.refuse = true};
    assert_int_equal(run(&p, &script, (struct runner_options){0}), -1);
    assert_string_equal(p.error.text, "there is no executor today");
    expect_count(&p, "SELECT count(*) FROM attempt", 0);
    expect_states(&p, "1 pending 2 pending 3 pending 4 pending");
}

TEST(runner_run__leaving_its_jobs__the_next_collects_them)
{
    struct workplace p = workplace_new();
    struct script leaves = {.survive = true, .hold = true, .wakes = {{2, WAKE_TERMINATE, SIGTERM}}};
    struct script silent = {.survive = true, .refuse_left = true}, well = {.survive = true}, other = {0};
    assert_int_equal(run(&p, &leaves, (struct runner_options){0}), 0);
    assert_int_equal(p.log.cancels, 0);
    assert_string_equal(p.noticed, "exiting; submitted jobs continue, and the next run collects their results");
    expect_states(&p, "1 running 2 running 3 pending 4 pending");
    /* Another executor would run them a second time; and this one when it cannot know. */
    assert_int_equal(run(&p, &other, (struct runner_options){0}), -1);
    assert_int_equal(run(&p, &silent, (struct runner_options){0}), -1);
    assert_string_equal(p.error.text, "the queue does not answer");
    assert_string_equal(p.log.started, "");
    expect_states(&p, "1 running 2 running 3 pending 4 pending");
    assert_int_equal(run(&p, &well, (struct runner_options){0}), 0);
    assert_string_equal(p.log.started, "3 4");
    expect_states(&p, "1 ok 2 ok 3 ok 4 ok");
    expect_count(&p, "SELECT count(*) FROM attempt", 4);
}

/* --- another source of claims --- */

struct source {
    int64_t order[8];
    size_t next, count, fail_at; /* fail_at: at which choice, from 1; 0: never */
    size_t choices;
    bool beaten;
    char ended[256];
    int claimed, released;
};

static int choose(void *context, int64_t *job_ids, size_t room, size_t *count, enum claim_answer *answer,
                  struct error *e)
{
    struct source *s = context;
    if (++s->choices == s->fail_at)
        return error_set(e, ERROR_FAILED, "no choice");
    for (*count = 0; *count < room && s->next < s->count; (*count)++)
        job_ids[*count] = s->order[s->next++];
    *answer = s->next < s->count ? CLAIM_MORE : CLAIM_FINISHED;
    return 0;
}

static int note_claim(void *context, const struct claim *claim, struct error *e)
{
    (void)claim;
    (void)e;
    ((struct source *)context)->claimed++;
    return 0;
}

static int note_release(void *context, const struct claim *claim, struct error *e)
{
    (void)claim;
    (void)e;
    ((struct source *)context)->released++;
    return 0;
}

static int note_end(void *context, const struct claim_end *end, struct error *e)
{
    struct source *s = context;
    (void)e;
    append(s->ended, sizeof s->ended, "%s%lld:%s", end->claim.job_id, end->failure ? end->failure : "ok");
    return 0;
}

static const char *why_end(void *context, const struct claim *claim, const struct sample_list *so_far)
{
    (void)claim;
    (void)so_far;
    return ((struct source *)context)->beaten ? "it was beaten" : NULL;
}

/* One at a time, with up to `ahead` claims beforehand. */
static int run_claims(struct workplace *p, struct source *s, size_t ahead, struct script script)
{
    const struct claim_source source = {.ahead = ahead,
                                        .choose = choose,
                                        .claimed = note_claim,
                                        .released = note_release,
                                        .ended = note_end,
                                        .why_end = why_end,
                                        .context = s};
    return run(p, &script, (struct runner_options){.slots = 1, .source = &source});
}

TEST(claim_source__chooses__in_its_order_and_notified_of_every_end)
{
    struct workplace p = workplace_new();
    struct source s = {.order = {3, 1, 4}, .count = 3};
    const struct script script = {.ends = {{1, 0, ENDING_EXITED, 1, NULL}}};
    assert_int_equal(run_claims(&p, &s, 0, script), 0);
    assert_string_equal(p.log.started, "3 1 4");
    assert_string_equal(s.ended, "3:ok 1:exit 4:ok");
    assert_int_equal(s.claimed, 3);
    assert_int_equal(s.released, 0);
    expect_states(&p, "1 exit 2 pending 3 ok 4 ok");
}

TEST(claim_source__notified_of_what_never_started__it_is_pending_again)
{
    struct workplace p = workplace_new();
    struct source s = {.order = {1, 2, 3, 4}, .count = 4};
    const struct script script = {.wakes = {{1, WAKE_INTERRUPT, SIGINT}}};
    assert_int_equal(run_claims(&p, &s, 4, script), 0);
    assert_string_equal(p.log.started, "1");
    assert_int_equal(s.claimed, 4);
    assert_int_equal(s.released, 3);
    expect_states(&p, "1 ok 2 pending 3 pending 4 pending");
    expect_count(&p, "SELECT count(*) FROM attempt", 1);
}

TEST(claim_source__what_never_started_cannot_be_given_back__the_run_says_so)
{
    static const char stuck[] =
        "CREATE TRIGGER stuck BEFORE DELETE ON attempt BEGIN SELECT RAISE(ABORT, 'is stuck'); END";
    struct workplace p = workplace_new();
    struct source s = {.order = {1, 2, 3, 4}, .count = 4};
    const struct script script = {.before_end = stuck, .wakes = {{1, WAKE_INTERRUPT, SIGINT}}};
    assert_int_equal(run_claims(&p, &s, 4, script), -1);
    assert_non_null(strstr(p.error.text, "is stuck"));
    /* Its record says that it did not end as it should: the next one looks for what it left. */
    expect_count(&p, "SELECT count(*) FROM runner WHERE ended IS NULL", 1);
}

TEST(claim_source__finds_one_beaten__it_is_stopped)
{
    struct workplace p = workplace_new();
    struct source s = {.order = {2}, .count = 1, .beaten = true};
    const struct script script = {.hold = true, .ends = {{2, 0, ENDING_STOPPED, 0, "score: 3\nscore: 5\n"}}};
    assert_int_equal(run_claims(&p, &s, 0, script), 0);
    assert_int_equal(p.log.stops, 1);
    assert_string_equal(s.ended, "2:ok");
    expect_count(&p, "SELECT stopped_steps FROM attempt WHERE job_id = 2", 2);
    /* Nothing is known to be best by a part of its steps. */
    assert_false(p.result.counts.has_best);
}

TEST(claim_source__fails__run_ends_with_what_was_recorded)
{
    struct workplace p = workplace_new();
    struct source s = {.order = {1, 2, 3}, .count = 3, .fail_at = 2};
    struct script script = {0};
    assert_int_equal(run_claims(&p, &s, 0, script), -1);
    assert_string_equal(p.error.text, "no choice");
    assert_true(p.log.freed);
    assert_string_equal(p.log.started, "1");
    /* The end of job 1 went with the choice that failed: it is open, and the next run finds it so. */
    expect_states(&p, "1 running 2 pending 3 pending 4 pending");
    assert_int_equal(run(&p, &script, (struct runner_options){.slots = 1}), 0);
    expect_states(&p, "1 ok 2 ok 3 ok 4 ok");
    assert_int_equal(p.result.recovered, 1);
}

TESTS_APART()

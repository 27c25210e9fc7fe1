#include "scripted_executor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "database/open.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/memory.h"

#define ATTEMPTS_MOST 16

struct scripted_attempt {
    int64_t attempt, job_id, number;
    char *job_dir;
    bool stopped;
};

struct scripted {
    struct executor base;
    struct db *reader;
    const char *directory; /* borrowed */
    struct scripted_attempt running[ATTEMPTS_MOST];
    size_t count;
    int64_t waits;
    char *last_log; /* of the attempt that ended last; NULL: none, or it was written late */
    bool cancelled, was_typed;
};

static const struct script *script;
static struct scripted_log *seen;

void scripted_executor_set(const struct script *wanted, struct scripted_log *log)
{
    script = wanted;
    seen = log;
}

static struct scripted *of(struct executor *x)
{
    return (struct scripted *)x;
}

static bool stands_as_claimed(struct scripted *x, int64_t attempt)
{
    char sql[200];
    int64_t count = 0;
    struct error e = ERROR_INIT;
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM attempt AS a JOIN job AS j ON j.id = a.job_id WHERE a.id = %lld "
             "AND a.state = 'claimed' AND j.state = 'running'",
             (long long)attempt);
    return db_query_int(x->reader, sql, NO_VALUES, 0, &count, &e) == 0 && count == 1;
}

static void add(struct scripted *x, const struct claim *claim, const char *job_dir)
{
    x->running[x->count++] =
        (struct scripted_attempt){claim->attempt_id, claim->job_id, claim->number, xstrdup(job_dir), false};
    seen->most = x->count > seen->most ? x->count : seen->most;
}

static void write_text(const char *path, const char *text)
{
    struct error e = ERROR_INIT;
    if (file_write_atomic(path, text, strlen(text), &e) < 0)
        abort();
}

static void write_late(struct scripted *x)
{
    if (script->late_output && x->last_log)
        write_text(x->last_log, script->late_output);
    free(x->last_log);
    x->last_log = NULL;
}

static struct location start(struct executor *base, const struct launch *launch, const struct running_attempt *attempt)
{
    struct scripted *x = of(base);
    size_t n = strlen(seen->started);
    seen->early += !stands_as_claimed(x, launch->attempt);
    write_late(x);
    snprintf(seen->started + n, sizeof seen->started - n, "%s%lld", n ? " " : "", (long long)attempt->claim.job_id);
    add(x, &attempt->claim, launch->job_dir);
    return LOCATION_NONE;
}

static int reattach(struct executor *base, struct recovered_attempts *left, struct error *e)
{
    if (script->refuse_left)
        return error_set(e, ERROR_FAILED, "the queue does not answer");
    for (size_t i = 0; i < left->count; i++) {
        left->items[i].taken = left->items[i].started;
        if (!left->items[i].taken)
            continue;
        OWNED char *job_dir = xasprintf("%s/%s", of(base)->directory, left->items[i].directory);
        add(of(base), &left->items[i].claim, job_dir);
    }
    return 0;
}

static bool settled(const struct executor *base)
{
    (void)base;
    return true;
}

static const struct scripted_end *line_of(const struct scripted_attempt *f)
{
    for (size_t i = 0; i < SCRIPT_LINES; i++) {
        const struct scripted_end *l = &script->ends[i];
        if (l->job_id == f->job_id && (l->number == 0 || l->number == f->number))
            return l;
    }
    return NULL;
}

static void write_output(struct outcome *o, const char *job_dir, const char *text)
{
    struct error e = ERROR_INIT;
    o->log_path = xasprintf("%s/output.log", job_dir);
    o->log_bytes = (int64_t)strlen(text);
    if (file_make_directories(job_dir, &e) < 0)
        abort();
    write_text(o->log_path, text);
}

static void fill(struct outcome *o, const struct scripted_attempt *f, enum ending ending)
{
    const struct scripted_end *l = line_of(f);
    char score[32];
    snprintf(score, sizeof score, "score: %lld\n", (long long)f->job_id);
    *o = (struct outcome){.attempt = f->attempt,
                          .exit_code = -1,
                          .started_wall_ms = clock_wall_ms(),
                          .ended_wall_ms = clock_wall_ms(),
                          .duration_ms = 10};
    o->ending = ending ? ending : l ? l->ending : ENDING_EXITED;
    if (o->ending == ENDING_EXITED)
        o->exit_code = l ? l->code : 0;
    else if (o->ending == ENDING_SIGNALED)
        o->signal_number = l->code;
    else if (o->ending == ENDING_SPAWN_FAILED)
        o->spawn_stage = "exec", o->error_number = l->code;
    else
        o->signal_number = SIGTERM, o->limit_ms = 1000;
    if (o->ending != ENDING_SPAWN_FAILED && (!l || l->output))
        write_output(o, f->job_dir, l ? l->output : score);
}

/* The index of one that ends now; ATTEMPTS_MOST: none. */
static size_t next_to_end(const struct scripted *x)
{
    for (size_t i = 0; i < x->count; i++)
        if (!script->hold || x->cancelled || x->running[i].stopped)
            return i;
    return ATTEMPTS_MOST;
}

static void type(struct scripted *x)
{
    struct db *db = NULL;
    struct error e = ERROR_INIT;
    if (!script->before_end || x->was_typed)
        return;
    x->was_typed = true;
    if (db_open(script->database, DB_CREATE, &db, &e) < 0 || db_exec(db, script->before_end, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        abort();
    }
    db_close(db);
}

static size_t wait_for_ends(struct executor *base, int64_t timeout_ms, struct outcome *out, size_t room,
                            struct wake *wake)
{
    struct scripted *x = of(base);
    size_t i = next_to_end(x);
    *wake = (struct wake){0, 0};
    x->waits++;
    for (size_t w = 0; w < SCRIPT_LINES; w++) {
        if (script->wakes[w].wait == x->waits) {
            *wake = (struct wake){script->wakes[w].bits, script->wakes[w].signal};
            return 0;
        }
    }
    if (i == ATTEMPTS_MOST || room == 0) {
        usleep(timeout_ms < 0 || timeout_ms > 5 ? 5000 : (useconds_t)timeout_ms * 1000);
        return 0;
    }
    struct scripted_attempt f = x->running[i];
    type(x);
    fill(&out[0], &f, f.stopped ? ENDING_STOPPED : x->cancelled ? ENDING_CANCELLED : ENDING_NONE);
    free(x->last_log);
    x->last_log = out[0].log_path ? xstrdup(out[0].log_path) : NULL;
    free(f.job_dir);
    memmove(x->running + i, x->running + i + 1, (--x->count - i) * sizeof f);
    return 1;
}

static size_t running(const struct executor *base)
{
    return ((const struct scripted *)base)->count;
}

static bool files(const struct executor *base, int64_t attempt, struct attempt_files *out)
{
    (void)base;
    (void)attempt;
    *out = (struct attempt_files){-1, NULL, NULL};
    return true;
}

static void stop(struct executor *base, int64_t attempt)
{
    struct scripted *x = of(base);
    seen->stops++;
    for (size_t i = 0; i < x->count; i++)
        x->running[i].stopped |= x->running[i].attempt == attempt;
}

static void cancel_all(struct executor *base)
{
    of(base)->cancelled = true;
    seen->cancels++;
}

static void scripted_free(struct executor *base)
{
    struct scripted *x = of(base);
    for (size_t i = 0; i < x->count; i++)
        free(x->running[i].job_dir);
    db_close(x->reader);
    free(x->last_log);
    free(x);
    seen->freed = true;
}

#define METHODS                                                                                                        \
    .start = start, .wait = wait_for_ends, .running = running, .files = files, .stop = stop, .cancel_all = cancel_all, \
    .free = scripted_free

static const struct executor_methods mortal = {.name = "local", METHODS};
static const struct executor_methods surviving = {.name = "slurm",
                                                  .jobs_survive = true,
                                                  .settled = settled,
                                                  .reattach = reattach,
                                                  METHODS};

int scripted_executor_create(const struct executor_options *options, struct executor **out, struct error *e)
{
    if (script->refuse)
        return error_set(e, ERROR_FAILED, "there is no executor today");
    struct scripted *x = xcalloc(1, sizeof *x);
    x->base.methods = script->survive ? &surviving : &mortal;
    x->directory = options->directory;
    if (db_open(script->database, DB_READ_ONLY, &x->reader, e) < 0) {
        free(x);
        return -1;
    }
    *out = &x->base;
    return 0;
}

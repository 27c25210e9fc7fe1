#include "answers/executor_trial.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "batch/batches.h"
#include "batch/client.h"
#include "batch/executor.h"
#include "batch/script.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/memory.h"

enum { TRIALS = 4, PAUSE_S = 1, MARGIN_MINUTES = 10, ACCOUNTING_MS = 20000 };
enum { SUCCEEDS, FAILS, CANCELLED, WRONG };

static const struct {
    const char *name;
    char *command[3];
} trials[TRIALS] = {
    [SUCCEEDS] = {"true", {(char *)"true"}},
    [FAILS] = {"false", {(char *)"false"}},
    [CANCELLED] = {"cancelled", {(char *)"sleep", (char *)"600"}},
    [WRONG] = {"wrong-option", {(char *)"true"}},
};
static char *wrong_option[] = {(char *)"--meshsweep-no-such-option", NULL};

/* What is known of one. */
struct tried {
    char *refused;           /* NULL: it was taken */
    struct buffer queue;     /* its words, in turn */
    char *word, *accounting; /* the last ones; NULL: none */
    enum batch_state state, accounted;
    bool seen, is_cancelled;
    int64_t gone_ms; /* since when the queue has it no more, or as ended; 0: it has it */
};

struct trying {
    struct batch_trial *t;
    struct batch_list list; /* an array of each */
    char **environment;
    struct tried of[TRIALS];
};

static const char *const decisions[BATCH_DECISION_COUNT] = {
    [BATCH_WAIT] = "it is waited for",
    [BATCH_BY_RESULT] = "it ended as its file says",
    [BATCH_NEVER_RAN] = "it never ran",
    [BATCH_KILLED] = "it was killed",
    [BATCH_LIMIT_PASSED] = "it reached its time limit",
    [BATCH_DEADLINE_PASSED] = "it reached its deadline",
    [BATCH_MEMORY_EXCEEDED] = "it used too much memory",
    [BATCH_NODE_FAILED] = "its node failed",
    [BATCH_PREEMPTED_BY] = "it was preempted",
    [BATCH_CANCELLED_BY_HAND] = "it was cancelled",
    [BATCH_INTERRUPTED] = "it was interrupted",
    [BATCH_LOST] = "it is lost",
};

/* --- submitting --- */

static int write_job(const struct trying *y, int i, struct error *e)
{
    struct buffer text = BUFFER_INIT;
    char *directory = xasprintf("%s/%s", y->list.root, trials[i].name);
    char *path = xasprintf("%s/" BATCH_JOB_FILE, directory);
    batch_job_add((char *[]){NULL}, NULL, NULL, trials[i].command, &text);
    int rc = file_make_directories(directory, e) < 0 ? -1 : file_write_atomic(path, text.data, text.length, e);
    free_all(path, directory);
    buffer_free(&text);
    return rc;
}

static int submit(struct trying *y, int i, struct error *e)
{
    struct batch_config config = *y->t->config;
    struct buffer options = BUFFER_INIT;
    enum batch_refusal refusal;
    char *why = NULL;
    config.gpus = false;
    config.options = i == WRONG ? wrong_option : config.options;
    batch_wish_add(&(struct batch_wish){y->t->system, &config, "{}", 0, MARGIN_MINUTES, 0}, &options);
    struct batch_array *a = batch_list_open(&y->list, xasprintf("trial-%d", i), buffer_text(&options), NULL, 1);
    buffer_free(&options);
    batch_array_add(a, (struct batch_member){.attempt = i + 1, .directory = xstrdup(trials[i].name)});
    if (write_job(y, i, e) < 0 || batch_array_write(&y->list, a, "meshsweep-check", 1000, e) < 0)
        return -1;
    struct batch_values values = batch_array_values(&y->list, a, "meshsweep-check");
    char *path = batch_array_file(&y->list, a, y->t->system->has_description ? "description" : "script");
    a->job = batch_submit(y->t->system, y->environment, &values, path, &refusal, &why);
    y->of[i].refused = a->job ? NULL : xstrdup(why && *why ? why : "it said nothing");
    batch_values_free(&values);
    free_all(path, why);
    return 0;
}

/* --- watching --- */

static struct tried *tried_of(struct trying *y, const struct batch_entry *entry)
{
    for (size_t i = 0; i < y->list.count; i++)
        if (y->list.arrays[i].job && strcmp(y->list.arrays[i].job, entry->job) == 0)
            return &y->of[i];
    return NULL;
}

static void take_queue(void *context, const struct batch_entry *entry)
{
    struct tried *t = tried_of(context, entry);
    if (!t)
        return;
    t->seen = true;
    t->state = entry->state;
    if (!t->word || strcmp(t->word, entry->word) != 0)
        buffer_printf(&t->queue, "%s%s (%s)", t->queue.length ? ", " : "", entry->word,
                      batch_state_names[entry->state]);
    text_replace(&t->word, xstrdup(entry->word));
}

static void take_accounting(void *context, const struct batch_entry *entry)
{
    struct tried *t = tried_of(context, entry);
    if (t) {
        t->accounted = entry->state;
        text_replace(&t->accounting, xasprintf("%s (%s)", entry->word, batch_state_names[entry->state]));
    }
}

static void ask_accounting(struct trying *y, int i)
{
    const struct batch_array *a = &y->list.arrays[i];
    struct batch_values values = {0};
    batch_values_add(&values, "id", xstrdup(a->job), false);
    batch_values_add(&values, "job", batch_reference(&y->list, a, 0), false);
    batch_values_add(&values, "jobs", batch_reference(&y->list, a, 0), false);
    batch_ask(y->t->system, &y->t->system->accounting, y->environment, &values, take_accounting, y);
    batch_values_free(&values);
}

/* Whether there is more to be learnt of it. */
static bool watch(struct trying *y, int i, int64_t now_ms)
{
    struct tried *t = &y->of[i];
    struct batch_array *a = &y->list.arrays[i];
    if (!a->job)
        return false;
    char *job_dir = xasprintf("%s/%s", y->list.root, trials[i].name);
    batch_read_report(&a->members[0], job_dir);
    free(job_dir);
    const bool began = a->members[0].report.attempt == a->members[0].attempt;
    if (i == CANCELLED && began && !t->is_cancelled) {
        char *job = batch_reference(&y->list, a, 0);
        batch_cancel(y->t->system, y->environment, job);
        t->is_cancelled = true;
        free(job);
    }
    const bool gone = !t->seen && (t->word || a->members[0].report.ended || t->is_cancelled);
    if (!gone && !batch_state_is_final(t->state)) {
        t->gone_ms = 0;
        return true;
    }
    t->gone_ms = t->gone_ms ? t->gone_ms : now_ms;
    if (!t->accounting)
        ask_accounting(y, i);
    return !t->accounting && y->t->system->accounting.command && !y->t->system->accounting.is_gone &&
           now_ms - t->gone_ms < ACCOUNTING_MS;
}

static void watch_all(struct trying *y)
{
    const int64_t until_ms = clock_monotonic_ms() + y->t->most_ms;
    bool goes_on = true;
    while (goes_on && clock_monotonic_ms() < until_ms) {
        goes_on = false;
        nanosleep(&(struct timespec){PAUSE_S, 0}, NULL);
        for (int i = 0; i < TRIALS; i++)
            y->of[i].seen = false;
        if (batch_ask(y->t->system, &y->t->system->queue, y->environment, NULL, take_queue, y) != 0)
            goes_on = true;
        else
            for (int i = 0; i < TRIALS; i++)
                goes_on |= watch(y, i, clock_monotonic_ms());
    }
}

/* --- telling --- */

static enum batch_result result_of(const struct batch_member *m)
{
    const struct batch_report *r = &m->report;
    if (r->attempt != m->attempt)
        return RESULT_NONE;
    if (!r->ended)
        return RESULT_SILENT;
    return r->terminated ? RESULT_TERMINATED : r->exit_code == 0 ? RESULT_SUCCEEDED : RESULT_FAILED;
}

static void tell_file(const struct batch_report *r, enum batch_result result, struct buffer *out)
{
    buffer_add_text(out, "  its file: ");
    if (result == RESULT_NONE)
        buffer_add_text(out, "nothing");
    else if (result == RESULT_SILENT)
        buffer_add_text(out, "it began");
    else
        buffer_printf(out, "exit code %d%s", r->exit_code, r->terminated ? ", asked to end" : "");
    buffer_printf(out, "%s%s\n", result != RESULT_NONE && r->nodes[0] ? " on " : "",
                  result != RESULT_NONE ? r->nodes : "");
}

/* Returns whether it went as it should. */
static bool tell(const struct trying *y, int i, struct buffer *out)
{
    const struct tried *t = &y->of[i];
    const struct batch_array *a = &y->list.arrays[i];
    if (!a->job) {
        buffer_printf(out, "%s: refused: %s\n", trials[i].name, t->refused);
        return i == WRONG;
    }
    char *job = batch_reference(&y->list, a, 0);
    const struct batch_report *r = &a->members[0].report;
    const enum batch_result result = result_of(&a->members[0]);
    const enum batch_state queue = t->seen || !t->gone_ms ? t->state : BATCH_ABSENT;
    const enum batch_decision decision = batch_decide(queue ? queue : BATCH_ABSENT, t->accounted, result, true);
    const bool ended = result == RESULT_SUCCEEDED || result == RESULT_FAILED;
    const bool well = i == SUCCEEDS    ? ended && r->exit_code == 0
                      : i == FAILS     ? ended && r->exit_code == 1
                      : i == CANCELLED ? t->gone_ms && decision != BATCH_WAIT
                                       : false;
    buffer_printf(out, "%s: job %s%s\n", trials[i].name, job, i == WRONG ? ": the option was not refused" : "");
    tell_file(r, result, out);
    buffer_printf(out, "  queue: %s%s\n", t->queue.length ? buffer_text(&t->queue) : "never seen",
                  !t->seen && t->queue.length ? ", gone" : "");
    buffer_printf(out, "  accounting: %s\n",
                  t->accounting                                                           ? t->accounting
                  : y->t->system->accounting.command && !y->t->system->accounting.is_gone ? "nothing"
                                                                                          : "there is none");
    buffer_printf(out, "  so %s%s\n", decisions[decision], well || i == WRONG ? "" : ", which is not as it should be");
    free(job);
    return well;
}

/* --- the whole --- */

static void remove_files(const struct trying *y, int i)
{
    static const char *const files[] = {BATCH_JOB_FILE,   BATCH_RESULT_FILE, BATCH_ALIVE_FILE, BATCH_BEGUN_FILE,
                                        BATCH_AGAIN_FILE, BATCH_CLOSED_FILE, "output.log",     ""};
    for (size_t k = 0; k < LENGTH(files); k++) {
        char *path = xasprintf("%s/%s/%s", y->list.root, trials[i].name, files[k]);
        if (*files[k])
            unlink(path);
        else
            rmdir(path);
        free(path);
    }
    batch_array_remove(&y->list, &y->list.arrays[i]);
}

/* What still runs ends, and writes nothing more. */
static void end_all(struct trying *y)
{
    for (size_t i = 0; i < y->list.count; i++) {
        char *job = batch_reference(&y->list, &y->list.arrays[i], SIZE_MAX);
        if (y->list.arrays[i].job && !y->of[i].gone_ms)
            batch_cancel(y->t->system, y->environment, job);
        free(job);
        batch_close_member(&y->list, &y->list.arrays[i].members[0]);
    }
}

int batch_trial_run(struct batch_trial *t, struct error *e)
{
    struct trying y = {.t = t,
                       .list = {.system = t->system,
                                .root = path_absolute(t->directory),
                                .token = xasprintf("check-%lld", (long long)getpid())}};
    y.environment = batch_environment(t->system, t->environment, (struct environment_passing){0});
    int rc = 0, odd = 0;
    for (int i = 0; rc == 0 && i < TRIALS; i++)
        rc = submit(&y, i, e);
    if (rc == 0)
        watch_all(&y);
    for (int i = 0; rc == 0 && i < TRIALS; i++)
        odd += !tell(&y, i, &t->out);
    end_all(&y);
    for (int i = 0; i < TRIALS; i++) {
        if (rc == 0 && odd == 0)
            remove_files(&y, i);
        free_all(y.of[i].refused, y.of[i].word, y.of[i].accounting);
        buffer_free(&y.of[i].queue);
    }
    batch_list_free(&y.list);
    strings_free(y.environment);
    return rc < 0 ? -1 : odd;
}

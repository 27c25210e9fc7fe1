#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "answers/idle_keys.h"
#include "batch/batches.h"
#include "batch/client.h"
#include "batch/executor.h"
#include "batch/script.h"
#include "batch/system.h"
#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/search_model.h"
#include "cli/search_setup.h"
#include "cli/session.h"
#include "cli/table_file.h"
#include "commands/commands.h"
#include "config/sweep.h"
#include "database/audit.h"
#include "database/open.h"
#include "import/import.h"
#include "measures/measures.h"
#include "results/json.h"
#include "space/match.h"
#include "space/row_space.h"
#include "sweep_file/reader.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/string_list.h"
#include "util/suggest.h"

/* --- an executor, tried --- */

enum { TRIALS = 4, PAUSE_S = 1, MARGIN_MINUTES = 10, ACCOUNTING_MS = 20000, MOST_MS = 180000 };
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

/* A job that is tried, and what is known of it. */
struct tried {
    char *refused;     /* NULL: it was taken */
    char *word;        /* the queue's last one; NULL: none */
    cJSON *queue;      /* its words, in turn, and what each means */
    cJSON *accounting; /* the same, one; NULL: none */
    enum batch_state state, accounted;
    bool seen, is_cancelled;
    int64_t gone_ms; /* since when the queue has it no more, or as ended; 0: it has it */
};

struct trying {
    struct batch_system *system;
    const struct batch_config *config; /* the queue, the account and so on */
    struct batch_list list;            /* an array of each; its root is new, and seen by the nodes */
    char **environment;
    int count; /* of trials; the last one only where options are taken */
    struct tried of[TRIALS];
    cJSON *answer; /* a list: what each witness said */
    cJSON *beside; /* {"has_accounting", "tried": [{"asked_to_end", "gone"}, …]} */
};

#define SAID(id, ending, words, said) [BATCH_##id] = (said),
static const char *const decisions[BATCH_DECISION_COUNT] = {BATCH_DECISIONS(SAID)};

/* --- submitting --- */

static int write_job(const struct trying *y, int i, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    OWNED char *directory = xasprintf("%s/%s", y->list.root, trials[i].name);
    OWNED char *path = xasprintf("%s/" BATCH_JOB_FILE, directory);
    batch_job_add((char *[]){NULL}, NULL, NULL, trials[i].command, &text);
    return file_make_directories(directory, e) < 0 ? -1 : file_write_atomic(path, text.data, text.length, e);
}

static int submit(struct trying *y, int i, struct error *e)
{
    struct batch_config config = *y->config;
    OWNED_BUFFER options = BUFFER_INIT;
    enum batch_refusal refusal;
    OWNED char *why = NULL;
    config.gpus = false;
    config.options = i == WRONG ? wrong_option : config.options;
    batch_wish_add(&(struct batch_wish){y->system, &config, "{}", 0, MARGIN_MINUTES, 0}, &options);
    struct batch_array *a = batch_list_open(&y->list, xasprintf("trial-%d", i), buffer_text(&options), NULL, 1);
    batch_array_add(a, (struct batch_member){.attempt = i + 1, .directory = xstrdup(trials[i].name)});
    if (write_job(y, i, e) < 0 || batch_array_write(&y->list, a, "meshsweep-check", 1000, e) < 0)
        return -1;
    struct batch_values values = batch_array_values(&y->list, a, "meshsweep-check");
    OWNED char *path = batch_array_file(&y->list, a, y->system->has_description ? "description" : "script");
    a->job = batch_submit(y->system, y->environment, &values, path, &refusal, &why);
    y->of[i].refused = a->job ? NULL : xstrdup(why && *why ? why : "it said nothing");
    batch_values_free(&values);
    return 0;
}

/* --- watching --- */

static struct tried *tried_of(struct trying *y, const struct batch_entry *entry)
{
    return FIND(i, y->list.count, y->list.arrays[i].job && strcmp(y->list.arrays[i].job, entry->job) == 0, &y->of[i]);
}

static void take_queue(void *context, const struct batch_entry *entry)
{
    struct tried *t = tried_of(context, entry);
    if (!t)
        return;
    t->seen = true;
    t->state = entry->state;
    text_replace(&t->word, xstrdup(entry->word));
}

static cJSON *meaning_of(const char *word, enum batch_state state)
{
    cJSON *object = cJSON_CreateObject();
    JSON_ADD(object, JSON_STRING("word", word), JSON_STRING("means", batch_state_names[state]));
    return object;
}

/* The last one of an answer counts: some tell of a job, and then of what it is made of. */
static void note_word(struct tried *t)
{
    const cJSON *last = cJSON_GetArrayItem(t->queue, cJSON_GetArraySize(t->queue) - 1);
    if (t->seen && (!last || strcmp(json_text_or(last, "word", ""), t->word) != 0))
        cJSON_AddItemToArray(t->queue, meaning_of(t->word, t->state));
}

static void take_accounting(void *context, const struct batch_entry *entry)
{
    struct tried *t = tried_of(context, entry);
    if (t) {
        t->accounted = entry->state;
        cJSON_Delete(t->accounting);
        t->accounting = meaning_of(entry->word, entry->state);
    }
}

static void ask_accounting(struct trying *y, int i)
{
    const struct batch_array *a = &y->list.arrays[i];
    struct batch_values values = {0};
    batch_values_add(&values, "id", xstrdup(a->job), false);
    batch_values_add(&values, "job", batch_reference(&y->list, a, 0), false);
    batch_values_add(&values, "jobs", batch_reference(&y->list, a, 0), false);
    batch_ask(y->system, &y->system->accounting, y->environment, &values, take_accounting, y);
    batch_values_free(&values);
}

static bool has_accounting(const struct trying *y)
{
    return y->system->accounting.command && !y->system->accounting.is_gone;
}

/* Reads its result file, which its log may have to bring. */
static void read_report(struct trying *y, int i)
{
    const struct tried *t = &y->of[i];
    struct batch_member *m = &y->list.arrays[i].members[0];
    OWNED char *job_dir = xasprintf("%s/%s", y->list.root, trials[i].name);
    m->queue = t->state;
    if (y->list.framed && !m->report.ended && t->word && t->state != BATCH_PENDING)
        batch_fetch_member(&y->list, y->environment, &y->list.arrays[i], 0);
    batch_read_report(m, job_dir);
}

/* Returns whether there is more to be learnt of it. */
static bool watch(struct trying *y, int i, int64_t now_ms)
{
    struct tried *t = &y->of[i];
    struct batch_array *a = &y->list.arrays[i];
    if (!a->job)
        return false;
    read_report(y, i);
    const struct batch_member *m = &a->members[0];
    const bool began = m->report.attempt == m->attempt || (m->is_damaged && t->state == BATCH_RUNNING);
    if (i == CANCELLED && began && !t->is_cancelled) {
        OWNED char *job = batch_reference(&y->list, a, 0);
        batch_cancel(y->system, y->environment, job);
        t->is_cancelled = true;
    }
    const bool gone = !t->seen && (t->word || m->report.ended || t->is_cancelled);
    if (!gone && !batch_state_is_final(t->state)) {
        t->gone_ms = 0;
        return true;
    }
    t->gone_ms = t->gone_ms ? t->gone_ms : now_ms;
    if (!t->accounting)
        ask_accounting(y, i);
    const bool lacks_log = m->unfetched && !t->is_cancelled;
    return (lacks_log || (!t->accounting && has_accounting(y))) && now_ms - t->gone_ms < ACCOUNTING_MS;
}

static void watch_all(struct trying *y)
{
    const int64_t until_ms = clock_monotonic_ms() + MOST_MS;
    bool goes_on = false;
    for (size_t i = 0; i < y->list.count; i++)
        goes_on |= y->list.arrays[i].job != NULL;
    while (goes_on && clock_monotonic_ms() < until_ms) {
        goes_on = false;
        nanosleep(&(struct timespec){PAUSE_S, 0}, NULL);
        for (int i = 0; i < y->count; i++)
            y->of[i].seen = false;
        if (batch_ask(y->system, &y->system->queue, y->environment, NULL, take_queue, y) != 0)
            goes_on = true;
        else
            for (int i = 0; i < y->count; i++) {
                note_word(&y->of[i]);
                goes_on |= watch(y, i, clock_monotonic_ms());
            }
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

/* Says what all that together comes to, and takes what was kept of the witnesses' words. Returns whether it went as it
 * should. */
static bool answer(struct trying *y, int i)
{
    struct tried *t = &y->of[i];
    const struct batch_array *a = &y->list.arrays[i];
    const struct batch_member *m = &a->members[0];
    const enum batch_result result = result_of(m);
    const enum batch_state queue = t->seen || !t->gone_ms ? t->state : BATCH_ABSENT;
    const enum batch_decision decision = batch_decide(queue ? queue : BATCH_ABSENT, t->accounted, result, true);
    const bool ended = result == RESULT_SUCCEEDED || result == RESULT_FAILED, terminated = result == RESULT_TERMINATED;
    const bool well = !a->job          ? i == WRONG
                      : i == SUCCEEDS  ? ended && m->report.exit_code == 0
                      : i == FAILS     ? ended && m->report.exit_code == 1
                      : i == CANCELLED ? t->gone_ms && decision != BATCH_WAIT
                                       : false;
    OWNED char *job = a->job ? batch_reference(&y->list, a, 0) : NULL;
    JSON_ITEM(cJSON_GetObjectItemCaseSensitive(y->beside, "tried"), JSON_TRUTH("asked_to_end", terminated),
              JSON_TRUTH("gone", !t->seen && t->queue->child));
    cJSON *item = JSON_ITEM(y->answer, JSON_STRING("what", trials[i].name), JSON_TRUTH("as_expected", well),
                            JSON_TEXT("reference", job), JSON_TEXT("why", t->refused ? t->refused : m->unfetched),
                            JSON_TRUTH("began", result != RESULT_NONE),
                            JSON_COUNT("exit_code", ended || terminated ? m->report.exit_code : -1),
                            JSON_TEXT("host", result == RESULT_NONE ? NULL : m->report.nodes));
    cJSON_AddItemToObject(item, "queue", t->queue);
    cJSON_AddItemToObject(item, "accounting", t->accounting ? t->accounting : cJSON_CreateNull());
    json_add_text(item, "decision", job ? decisions[decision] : NULL);
    t->queue = t->accounting = NULL;
    return well;
}

/* --- the whole --- */

/* Ends what still runs, so that it writes nothing more. */
static void end_all(struct trying *y)
{
    for (size_t i = 0; i < y->list.count; i++) {
        OWNED char *job = batch_reference(&y->list, &y->list.arrays[i], SIZE_MAX);
        if (y->list.arrays[i].job && !y->of[i].gone_ms)
            batch_cancel(y->system, y->environment, job);
        batch_close_member(&y->list, &y->list.arrays[i].members[0]);
    }
}

static void tried_free(struct tried *t)
{
    free_all(t->refused, t->word);
    cJSON_Delete(t->queue);
    cJSON_Delete(t->accounting);
}

/* Submits true, false, a sleep that it cancels and a job with a wrong option, and watches them. Returns how many did
 * not go as they should. */
static int run_trials(struct trying *y, struct error *e)
{
    int rc = 0, odd = 0;
    JSON_ADD(y->beside, JSON_TRUTH("has_accounting", has_accounting(y)));
    cJSON_AddArrayToObject(y->beside, "tried");
    for (int i = 0; i < y->count; i++)
        y->of[i].queue = cJSON_CreateArray();
    for (int i = 0; rc == 0 && i < y->count; i++)
        rc = submit(y, i, e);
    if (rc == 0)
        watch_all(y);
    for (int i = 0; rc == 0 && i < y->count; i++)
        odd += !answer(y, i);
    end_all(y);
    for (int i = 0; i < y->count; i++)
        tried_free(&y->of[i]);
    batch_list_free(&y->list);
    return rc < 0 ? -1 : odd;
}

/* The document, to which each part adds its findings, and what the text has beside it. */
struct checked {
    cJSON *answer, *beside;
};

static cJSON *new_answer(const struct check_options *o)
{
    cJSON *root = json_document();
    JSON_ADD(root, JSON_TEXT("sweep_file", o->config), JSON_TEXT("database", o->db), JSON_TEXT("sweep", NULL),
             JSON_TEXT("combinations", NULL), JSON_TEXT("candidates", NULL));
    cJSON_AddObjectToObject(root, "unreached");
    cJSON_AddArrayToObject(root, "contradicted");
    cJSON_AddArrayToObject(root, "repaired");
    cJSON_AddArrayToObject(root, "findings");
    return root;
}

static void set_member(cJSON *answer, const char *name, cJSON *value)
{
    cJSON_ReplaceItemInObjectCaseSensitive(answer, name, value);
}

/* --- a sweep file --- */

/* `candidates`: number of models in [model_space]; 0: none. */
static void answer_sweep(const struct checked *c, const struct space *space, uint64_t candidates)
{
    OWNED_BUFFER idle = BUFFER_INIT, unread = BUFFER_INIT;
    OWNED char *unreached = unreached_sentence(space);
    set_member(c->answer, "sweep", cJSON_CreateString(space->sweep->name));
    if (!space->of_jobs)
        set_member(c->answer, "combinations", cJSON_CreateNumber((double)space_combinations(space)));
    if (candidates)
        set_member(c->answer, "candidates", cJSON_CreateNumber((double)candidates));
    set_member(c->answer, "unreached", unreached_keys(space, REACHES_CHOICE));
    cJSON *specs = cJSON_AddObjectToObject(c->beside, "specs");
    for (int i = 0; i < SECTION_COUNT && !space->of_jobs; i++)
        if (space->counts[i])
            cJSON_AddNumberToObject(specs, section_names[i], (double)space->counts[i]);
    cJSON_AddNumberToObject(c->beside, "rules", (double)space->rule_count);
    if (!space->of_jobs)
        idle_keys_add(space, &idle);
    unread_keys_add(space, &unread);
    JSON_ADD(c->beside, JSON_TEXT("idle", buffer_text(&idle)), JSON_TEXT("unread", buffer_text(&unread)),
             JSON_TEXT("unreached", space->of_jobs ? NULL : unreached));
}

/* Returns whether the job itself must write the metric: there is no reader, and it is not measured from outside. */
static bool is_left_to_job(const struct sweep *s, const char *metric)
{
    return own_metric_by_name(metric) == OWN_NONE && !job_find_metric(&s->job, metric);
}

/* Racing needs an objective that is known while a job runs. */
static void note_racing(const char *path, const struct sweep *s, const struct search_setup *search,
                        const struct measures *measures)
{
    struct search_options o = search->options;
    const char *late = s->objective_count ? measures_late_input(measures, s->objectives[0].metric) : NULL;
    search_options_complete(&o);
    if (search->wanted && o.racing && late)
        output_message("%s: [search] racing cannot end a job early: %s is computed from %s, which is known only once a "
                       "job has ended",
                       path, s->objectives[0].metric, late);
}

static void note_reader(const char *path, const struct job_config *job, const char *metric)
{
    struct suggestion meant = SUGGEST(metric, i, job->metric_count, job->metrics[i].name);
    output_message("%s: no reader is given for %s%s each job must write it to $MESHSWEEP_METRICS or fails as "
                   "no-metric; to "
                   "read it from output or a file, add [job.metrics.%s]",
                   path, metric, meant.near ? suggest_hint(&meant) : ":", metric);
}

/* Notes about the metrics that the objectives are or are computed from. */
static int note_objectives(const char *path, struct space *space, const struct search_setup *search, struct error *e)
{
    const struct sweep *s = space->sweep;
    struct measures *measures = NULL;
    if (space->of_jobs)
        return 0;
    if (measures_create(space, &measures, e) < 0)
        return -1;
    for (size_t i = 0; i < s->objective_count; i++) {
        const char *const one[] = {s->objectives[i].metric, NULL};
        const char *const *read = measures ? measures_inputs(measures, one[0]) : NULL;
        for (const char *const *metric = read ? read : one; *metric; metric++)
            if (is_left_to_job(s, *metric))
                note_reader(path, &s->job, *metric);
    }
    note_racing(path, s, search, measures);
    measures_free(measures);
    return 0;
}

/* Explains why predictions exclude less than they show. */
static void note_recompute(const char *path, const struct space *space)
{
    const struct space_prediction *p = &space->prediction;
    if (!p->asked || !p->predictor || !p->knows_capacity || p->prune > PRUNE_RISKY || p->inputs[AT_RECOMPUTE] ||
        p->inputs[AT_FRAMEWORK])
        return;
    if (predictor_prior(p->predictor, NULL)->memory.recipes != 0)
        output_message("%s: no key says whether activations are recomputed: memory is predicted without recomputation, "
                       "but no job that would fit with full recomputation is excluded; set recompute = \"none\", "
                       "\"selective\" or \"full\"",
                       path);
}

static void release_config(struct ds_config **at)
{
    ds_config_free(*at);
}

static int check_sweep(const char *path, const struct checked *c, struct error *e)
{
    OWNED_SWEEP *sweep = NULL;
    OWNED_BY(release_config) struct ds_config *ds_config = NULL;
    OWNED_ROWS *rows = NULL;
    OWNED_SPACE *space = NULL;
    OWNED_BY(problems_free) struct problems problems = PROBLEMS_INIT;
    struct space_options build = {0};
    struct search_setup search = {0};
    const struct run_options as_in_the_file = {0};
    uint64_t candidates = 0;
    if (sweep_read(path, &sweep, &problems, e) < 0 ||
        (problems.found == 0 && sweep->model_space && search_model_check(sweep, &candidates, e) < 0))
        return -1;
    free(sweep_space_find_release(sweep));
    int rc = problems.found == 0 && sweep_is_imported(sweep)
                 ? recorded_space_build(sweep, NULL, &build, &rows, &space, e)
                 : sweep_space_build(sweep, &build, &problems, &ds_config, &space, e);
    if (rc < 0 || search_setup_read(&as_in_the_file, sweep, &search, e) < 0 ||
        search_setup_check(&search, space, NULL, e) < 0)
        return -1;
    sweep_space_warn(ds_config);
    if (sweep->predict.of_file && space->prediction.note[0])
        output_message("%s: %s", path, space->prediction.note);
    else if (space->prediction.warning)
        output_message("%s", space->prediction.warning);
    note_recompute(path, space);
    if (note_objectives(path, space, &search, e) < 0)
        return -1;
    answer_sweep(c, space, candidates);
    return 0;
}

/* --- a sweep file against a table --- */

static int answer_against(const struct checked *c, const char *table, const struct import_summary *s)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(c->answer, "contradicted");
    JSON_ADD(c->beside, JSON_STRING("table", table), JSON_INT("rows_ok", s->ok));
    for (size_t i = 0; i < s->broken_count; i++) {
        const struct broken_rule *b = &s->broken[i];
        cJSON *item = JSON_ITEM(list, JSON_STRING("rule", b->name), JSON_TEXT("reason", b->reason));
        cJSON *lines = cJSON_AddArrayToObject(item, "lines");
        for (size_t k = 0; k < b->rows; k++)
            cJSON_AddItemToArray(lines, cJSON_CreateNumber((double)b->lines[k]));
    }
    return s->broken_count ? STATUS_FAILED : STATUS_OK;
}

static int check_against(const char *config, const char *table, const struct checked *c, struct error *e)
{
    OWNED_SWEEP *sweep = NULL;
    OWNED_BY(table_file_free) struct table_file in = {.file = table};
    OWNED_BY(import_summary_free) struct import_summary summary = {0};
    if (sweep_load(config, &sweep, e) < 0)
        return -1;
    if (!sweep->import.given)
        return error_set(e, ERROR_USAGE,
                         "%s: there is no [import] table to map the columns of %s; meshsweep init --from-table writes "
                         "one",
                         config, table);
    in.sweep = sweep;
    if (table_file_read(&in, e) < 0)
        return -1;
    const struct import_request request = {.sweep = sweep, .table = in.table, .file = table};
    return import_table_check(&request, &summary, e) < 0 ? -1 : answer_against(c, table, &summary);
}

/* --- a database --- */

static void answer_finding(void *context, const struct audit_finding *f)
{
    JSON_ITEM(context, JSON_STRING("what", f->what), JSON_COUNT("count", f->count), JSON_TEXT("such_as", f->examples),
              JSON_TEXT("advice", f->advice));
}

static int repair_database(const char *path, cJSON *answer, struct error *e)
{
    cJSON *repaired = cJSON_GetObjectItemCaseSensitive(answer, "repaired");
    OWNED_LIST restored = STRING_LIST_INIT;
    OWNED_DB *db = NULL;
    if (!store_exists(path))
        return error_set(e, ERROR_FAILED, "database %s: it does not exist; name another with -d FILE", path);
    const struct store_opening opening = {.restored = &restored};
    return session_open_store_with(path, &opening, &db, e) < 0
               ? -1
               : audit_repair(db, &restored, answer_finding, repaired, e);
}

static int check_database(const char *path, const struct checked *c, struct error *e)
{
    cJSON *findings = cJSON_GetObjectItemCaseSensitive(c->answer, "findings");
    OWNED_DB *db = NULL;
    size_t count = 0;
    if (store_open_reading(path, STORE_READ_TO_CHECK, &db, e) < 0)
        return -1;
    int rc = audit_run(db, path, answer_finding, findings, &count, e);
    cJSON_AddBoolToObject(c->beside, "all_well", rc == 0 && count == 0);
    return rc < 0 ? -1 : count ? STATUS_FAILED : STATUS_OK;
}

/* --- a batch system --- */

extern char **environ;

/* The files stay where something did not go as it should. */
static int try_jobs(struct batch_system *system, const struct batch_config *config, cJSON *document, bool json,
                    struct error *e)
{
    char directory[] = "meshsweep-check.XXXXXX";
    if (!mkdtemp(directory))
        return error_errno(e, errno, "%s", directory);
    OWNED_STRINGS environment = batch_environment(system, environ, (struct environment_passing){0});
    OWNED_JSON *beside = cJSON_CreateObject();
    struct trying y = {.system = system,
                       .config = config,
                       .list = {.system = system,
                                .root = path_absolute(directory),
                                .token = xasprintf("check-%lld", (long long)getpid()),
                                .framed = !config->shared},
                       .environment = environment,
                       .count = strstr(system->request, "{options") ? TRIALS : WRONG,
                       .answer = cJSON_GetObjectItemCaseSensitive(document, "tried"),
                       .beside = beside};
    output_message("submitting %s small jobs to %s, with their files in %s; this takes up to %d minutes",
                   y.count == TRIALS ? "four" : "three", system->title, directory, MOST_MS / 60000);
    int odd = run_trials(&y, e);
    if (system->unverified)
        output_message(BATCH_UNVERIFIED, system->title);
    if (odd == 0)
        file_tree_bytes(directory, true, NULL);
    if (odd < 0 || output_answer(json, "sql/texts/check_executor.sql", document, beside, e) < 0)
        return -1;
    return odd ? STATUS_FAILED : STATUS_OK;
}

static cJSON *new_trial_answer(const char *config, const struct batch_system *system, bool shared)
{
    cJSON *root = json_document();
    JSON_ADD(root, JSON_TEXT("sweep_file", config), JSON_STRING("executor", system->name),
             JSON_TRUTH("unverified", system->unverified), JSON_TRUTH("shared", shared));
    cJSON_AddArrayToObject(root, "tried");
    return root;
}

static int check_executor(const struct check_options *o, struct error *e)
{
    const struct batch_config nothing = {.shared = true}, *wanted = &nothing;
    const char *config = o->config ? o->config : access("sweep.toml", F_OK) == 0 ? "sweep.toml" : NULL;
    struct batch_system *system = NULL;
    struct sweep *sweep = NULL;
    if (o->against || o->db || strcmp(o->executor, "local") == 0 || strcmp(o->executor, "ssh") == 0)
        return error_set(e, ERROR_USAGE,
                         "check: --executor tries a batch system, such as slurm, and takes but a sweep file besides");
    int rc = batch_system_load(o->executor, NULL, &system, e);
    if (rc == 0 && config)
        rc = sweep_load(config, &sweep, e);
    if (rc == 0 && sweep)
        wanted = batch_system_is_slurm(system) ? &sweep->batch : &sweep->batch_other;
    if (rc == 0)
        rc = batch_system_check_shared(system, wanted->shared, e);
    OWNED_JSON *answer = rc == 0 ? new_trial_answer(config, system, wanted->shared) : NULL;
    if (rc == 0)
        rc = try_jobs(system, wanted, answer, o->json, e);
    sweep_free(sweep);
    batch_system_free(system);
    return rc;
}

/* --- the command --- */

/* The defaults of the other commands, if they exist. */
static void take_present(struct check_options *o)
{
    o->config = access("sweep.toml", F_OK) == 0 ? "sweep.toml" : NULL;
    o->db = access("results.db", F_OK) == 0 ? "results.db" : NULL;
}

static int choose(const struct arguments *a, struct check_options *out, struct error *e)
{
    for (size_t i = 0; i < a->word_count; i++) {
        const char **place = length_before(a->words[i], ".toml") ? &out->config : &out->db;
        if (*place)
            return error_set(e, ERROR_USAGE, "check: give at most one sweep file and one database; one too many: %s",
                             a->words[i]);
        *place = a->words[i];
    }
    if (out->repair && !out->db)
        return error_set(e, ERROR_USAGE, "check: --repair needs a database; name it with -d FILE");
    if (out->against && !out->config)
        return error_set(e, ERROR_USAGE,
                         "check: --against compares a table with a sweep file; name the sweep file with -c FILE");
    if (out->executor)
        return 0;
    if (!out->config && !out->db)
        take_present(out);
    if (!out->config && !out->db)
        return error_set(e, ERROR_USAGE,
                         "check: there is neither sweep.toml nor results.db here; name a sweep file (-c FILE), a "
                         "database (-d FILE) or both");
    return 0;
}

static int check_all(const struct check_options *o, const struct checked *c, struct error *e)
{
    int against = STATUS_OK;
    if (o->config && check_sweep(o->config, c, e) < 0)
        return -1;
    if (o->against && (against = check_against(o->config, o->against, c, e)) < 0)
        return -1;
    if (o->repair && repair_database(o->db, c->answer, e) < 0)
        return -1;
    int database = o->db ? check_database(o->db, c, e) : STATUS_OK;
    return database < 0 ? -1 : database ? database : against;
}

int command_check(const struct check_options *given, const struct arguments *a, struct error *e)
{
    struct check_options o = *given;
    if (choose(a, &o, e) < 0)
        return -1;
    if (o.executor)
        return check_executor(&o, e);
    OWNED_JSON *answer = new_answer(&o), *beside = cJSON_CreateObject();
    const struct checked c = {answer, beside};
    int status = check_all(&o, &c, e);
    int rc = 0;
    /* What was found before it failed is told, too. */
    if (!o.json)
        rc = output_said("sql/texts/check.sql", c.answer, c.beside, status < 0 ? NULL : e);
    else if (status >= 0)
        rc = output_json(c.answer, e);
    return rc < 0 ? -1 : status;
}

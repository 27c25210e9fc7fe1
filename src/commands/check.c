#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers/executor_trial.h"
#include "answers/idle_keys.h"
#include "answers/unreached.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/search_model.h"
#include "cli/search_setup.h"
#include "cli/session.h"
#include "cli/sweep_space.h"
#include "cli/table_file.h"
#include "database/audit.h"
#include "database/open.h"
#include "import/import.h"
#include "measures/measures.h"
#include "results/json.h"
#include "space/match.h"
#include "space/recorded_specs.h"
#include "sweep_file/reader.h"
#include "util/buffer.h"
#include "util/memory.h"

struct check_options {
    const char *config, *db, *against, *executor;
    bool repair, json;
};

#define AT(member) offsetof(struct check_options, member)

static const struct option options[] = {
    OPTION(STRING, "config", AT(config), "FILE", "check this sweep file (sweep.toml if no file is named)",
           .letter = 'c'),
    OPTION(STRING, "db", AT(db), "FILE", "check this database (results.db if no file is named)", .letter = 'd'),
    OPTION(STRING, "against", AT(against), "TABLE.csv",
           "list the rules of the sweep file that exclude rows of this table although they ran"),
    OPTION(STRING, "executor", AT(executor), "NAME",
           "try a batch system with four small jobs, asked for as the sweep file says", .choices = run_executor_words),
    OPTION(FLAG, "repair", AT(repair), NULL, "first make the repairs that lose no data"),
    OPTION_JSON(AT(json)),
    {.name = NULL},
};

/* The document of --json, to which each part adds its findings. */
static cJSON *new_answer(const struct check_options *o)
{
    cJSON *root = json_document();
    json_add_text(root, "sweep_file", o->config);
    json_add_text(root, "database", o->db);
    cJSON_AddNullToObject(root, "sweep");
    cJSON_AddNullToObject(root, "combinations");
    cJSON_AddNullToObject(root, "candidates");
    cJSON_AddObjectToObject(root, "unreached");
    cJSON_AddArrayToObject(root, "contradicted");
    cJSON_AddArrayToObject(root, "repaired");
    cJSON_AddArrayToObject(root, "findings");
    return root;
}

static void set(cJSON *answer, const char *name, cJSON *value)
{
    cJSON_ReplaceItemInObjectCaseSensitive(answer, name, value);
}

/* --- a sweep file --- */

static void answer_sweep(cJSON *answer, const struct space *space, uint64_t candidates)
{
    set(answer, "sweep", cJSON_CreateString(space->sweep->name));
    if (!space->of_jobs)
        set(answer, "combinations", cJSON_CreateNumber((double)space_combinations(space)));
    if (candidates)
        set(answer, "candidates", cJSON_CreateNumber((double)candidates));
    set(answer, "unreached", unreached_keys(space, REACHES_CHOICE));
}

static void add_unread(const struct space *space, struct buffer *out)
{
    size_t before = out->length;
    unread_keys_add(space, out);
    if (out->length > before)
        buffer_add_text(out, ": predictions do not use these keys\n");
}

/* `candidates`: number of models in [model_space]; 0: none. */
static int print_sweep(const char *path, const struct space *space, uint64_t candidates, struct error *e)
{
    struct buffer b = BUFFER_INIT;
    if (space->of_jobs) {
        buffer_printf(&b, "%s: sweep %s: its jobs come from a table (meshsweep import), %zu rules\n", path,
                      space->sweep->name, space->rule_count);
        add_unread(space, &b);
        return output_people_take(&b, e);
    }
    buffer_printf(&b, "%s: sweep %s:", path, space->sweep->name);
    for (int i = 0; i < SECTION_COUNT; i++)
        if (space->counts[i])
            buffer_printf(&b, " %lld %s,", (long long)space->counts[i], section_names[i]);
    if (candidates)
        buffer_printf(&b, " %llu model candidates,", (unsigned long long)candidates);
    buffer_add_char(&b, ' ');
    buffer_add_count(&b, space_combinations(space), "combination");
    buffer_add_text(&b, ", ");
    buffer_add_count(&b, (int64_t)space->rule_count, "rule");
    buffer_add_char(&b, '\n');
    size_t before = b.length;
    idle_keys_add(space, &b);
    if (b.length > before)
        buffer_add_text(&b, ": these keys do not affect any prediction\n");
    add_unread(space, &b);
    char *unreached = unreached_sentence(space);
    if (unreached)
        buffer_printf(&b, "%s\n", unreached);
    free(unreached);
    return output_people_take(&b, e);
}

/* Whether the job itself must write the metric: there is no reader, and it is not measured from outside. */
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
                output_message("%s: no reader is given for %s: each job must write it to $MESHSWEEP_METRICS or fails "
                               "as no-metric; to read it from output or a file, add [job.metrics.%s]",
                               path, *metric, *metric);
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

static int check_sweep(const char *path, cJSON *answer, struct error *e)
{
    struct sweep *sweep = NULL;
    struct space *space = NULL;
    struct row_space *rows = NULL;
    struct ds_config *ds_config = NULL;
    struct space_options build = {0};
    struct search_setup search = {0};
    const struct run_options as_in_the_file = {0};
    struct problems problems = PROBLEMS_INIT;
    uint64_t candidates = 0;
    int rc = sweep_read(path, &sweep, &problems, e);
    if (rc == 0 && problems.found == 0 && sweep->model_space)
        rc = search_model_check(sweep, &candidates, e);
    if (rc == 0)
        free(sweep_space_find_release(sweep));
    if (rc == 0)
        rc = problems.found == 0 && sweep_is_imported(sweep)
                 ? recorded_space_build(sweep, NULL, &build, &rows, &space, e)
                 : sweep_space_build(sweep, &build, &problems, &ds_config, &space, e);
    if (rc == 0)
        rc = search_setup_read(&as_in_the_file, sweep, &search, e);
    if (rc == 0)
        rc = search_setup_check(&search, space, NULL, e);
    if (rc == 0)
        sweep_space_warn(ds_config);
    if (rc == 0 && sweep->predict.of_file && space->prediction.note[0])
        output_message("%s: %s", path, space->prediction.note);
    else if (rc == 0 && space->prediction.warning)
        output_message("%s", space->prediction.warning);
    if (rc == 0)
        note_recompute(path, space);
    if (rc == 0)
        rc = note_objectives(path, space, &search, e);
    if (rc == 0 && answer)
        answer_sweep(answer, space, candidates);
    else if (rc == 0)
        rc = print_sweep(path, space, candidates, e);
    space_free(space);
    row_space_free(rows);
    ds_config_free(ds_config);
    sweep_free(sweep);
    problems_free(&problems);
    return rc;
}

/* --- a sweep file against a table --- */

static void add_broken(const struct broken_rule *b, const char *file, struct buffer *out)
{
    buffer_printf(out, "%s: excludes %zu row%s that ran: %s\n ", b->name, b->rows, b->rows == 1 ? "" : "s", b->reason);
    for (size_t i = 0; i < b->rows; i++)
        buffer_printf(out, " %s:%zu", file, b->lines[i]);
    buffer_add_text(out, "\n");
}

static int print_against(const struct table_file *in, const struct import_summary *s, struct error *e)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < s->broken_count; i++)
        add_broken(&s->broken[i], in->file, &b);
    if (s->broken_count == 0)
        buffer_printf(&b, "%s: no rule excludes any of the %zu rows that ran\n", in->file, s->ok);
    int rc = output_people_take(&b, e);
    return rc < 0 ? -1 : s->broken_count ? STATUS_FAILED : STATUS_OK;
}

static int answer_against(cJSON *answer, const struct import_summary *s)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(answer, "contradicted");
    for (size_t i = 0; i < s->broken_count; i++) {
        const struct broken_rule *b = &s->broken[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "rule", b->name);
        json_add_text(item, "reason", b->reason);
        cJSON *lines = cJSON_AddArrayToObject(item, "lines");
        for (size_t k = 0; k < b->rows; k++)
            cJSON_AddItemToArray(lines, cJSON_CreateNumber((double)b->lines[k]));
        cJSON_AddItemToArray(list, item);
    }
    return s->broken_count ? STATUS_FAILED : STATUS_OK;
}

static int check_against(const char *config, const char *table, cJSON *answer, struct error *e)
{
    struct import_summary summary = {0};
    struct sweep *sweep = NULL;
    struct table_file in = {.file = table};
    int rc = sweep_load(config, &sweep, e);
    in.sweep = sweep;
    if (rc == 0 && !sweep->import.given)
        rc =
            error_set(e, ERROR_USAGE,
                      "%s: there is no [import] table to map the columns of %s; meshsweep init --from-table writes one",
                      config, table);
    if (rc == 0)
        rc = table_file_read(&in, e);
    const struct import_request request = {.sweep = sweep, .table = in.table, .file = table};
    if (rc == 0)
        rc = import_table_check(&request, &summary, e);
    if (rc == 0)
        rc = answer ? answer_against(answer, &summary) : print_against(&in, &summary, e);
    import_summary_free(&summary);
    table_file_free(&in);
    sweep_free(sweep);
    return rc;
}

/* --- a database --- */

static void print_finding(void *context, const struct audit_finding *f)
{
    struct buffer *b = context;
    buffer_printf(b, "%s (%lld): %s\n  %s\n", f->what, (long long)f->count, f->examples, f->advice);
}

static void print_repair(void *context, const struct audit_finding *f)
{
    buffer_add_text(context, "repaired: ");
    print_finding(context, f);
}

static void answer_finding(void *context, const struct audit_finding *f)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "what", f->what);
    json_add_count(item, "count", f->count);
    json_add_text(item, "such_as", f->examples);
    json_add_text(item, "advice", f->advice);
    cJSON_AddItemToArray(context, item);
}

static int repair_database(const char *path, cJSON *answer, struct error *e)
{
    cJSON *repaired = cJSON_GetObjectItemCaseSensitive(answer, "repaired");
    struct db *db = NULL;
    struct buffer b = BUFFER_INIT;
    if (!store_exists(path))
        return error_set(e, ERROR_FAILED, "database %s: it does not exist; name another with -d FILE", path);
    struct string_list restored = STRING_LIST_INIT;
    const struct store_opening opening = {.restored = &restored};
    int rc = session_open_store_with(path, &opening, &db, e);
    if (rc == 0)
        rc = answer ? audit_repair(db, path, &restored, answer_finding, repaired, e)
                    : audit_repair(db, path, &restored, print_repair, &b, e);
    store_close(db);
    string_list_free(&restored);
    if (b.length && output_people(&b, rc < 0 ? NULL : e) < 0)
        rc = -1;
    buffer_free(&b);
    return rc;
}

static int check_database(const char *path, cJSON *answer, struct error *e)
{
    cJSON *findings = cJSON_GetObjectItemCaseSensitive(answer, "findings");
    struct db *db = NULL;
    struct buffer b = BUFFER_INIT;
    size_t count = 0;
    if (store_open_reading(path, STORE_READ_TO_CHECK, &db, e) < 0)
        return -1;
    int rc = answer ? audit_run(db, path, answer_finding, findings, &count, e)
                    : audit_run(db, path, print_finding, &b, &count, e);
    store_close(db);
    if (rc == 0 && count == 0 && !answer)
        buffer_printf(&b, "%s: all well\n", path);
    if (b.length && output_people(&b, rc < 0 ? NULL : e) < 0)
        rc = -1;
    buffer_free(&b);
    return rc < 0 ? -1 : count ? STATUS_FAILED : STATUS_OK;
}

/* --- a batch system --- */

extern char **environ;

static void remove_empty(const char *name, const char *directory)
{
    char *below = xasprintf("%s/%s", directory, name);
    rmdir(below);
    rmdir(directory);
    free(below);
}

static int try_jobs(struct batch_system *system, const struct sweep *sweep, struct error *e)
{
    enum { MOST_MS = 180000 };
    const struct batch_config nothing = {0};
    char directory[] = "meshsweep-check.XXXXXX";
    if (!mkdtemp(directory))
        return error_errno(e, errno, "%s", directory);
    struct batch_trial trial = {system, &nothing, environ, directory, MOST_MS, BUFFER_INIT};
    if (sweep)
        trial.config = batch_system_is_slurm(system) ? &sweep->batch : &sweep->batch_other;
    output_message("submitting four small jobs to %s, with their files in %s; this takes up to %d minutes",
                   system->title, directory, MOST_MS / 60000);
    int odd = batch_trial_run(&trial, e);
    if (system->unverified)
        output_message(BATCH_UNVERIFIED, system->title);
    if (odd == 0)
        remove_empty(system->name, directory);
    if (output_people_take(&trial.out, odd < 0 ? NULL : e) < 0)
        return -1;
    return odd < 0 ? -1 : odd ? STATUS_FAILED : STATUS_OK;
}

static int check_executor(const struct check_options *o, struct error *e)
{
    const char *config = o->config ? o->config : access("sweep.toml", F_OK) == 0 ? "sweep.toml" : NULL;
    struct batch_system *system = NULL;
    struct sweep *sweep = NULL;
    if (o->json || o->against || o->db || strcmp(o->executor, "local") == 0)
        return error_set(e, ERROR_USAGE,
                         "check: --executor tries a batch system, such as slurm, and takes but a sweep file besides");
    int rc = batch_system_load(o->executor, NULL, &system, e);
    if (rc == 0 && config)
        rc = sweep_load(config, &sweep, e);
    if (rc == 0)
        rc = try_jobs(system, sweep, e);
    sweep_free(sweep);
    batch_system_free(system);
    return rc;
}

/* --- the command --- */

static bool is_sweep_file(const char *path)
{
    size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".toml") == 0;
}

/* The defaults of the other commands, if they exist. */
static void take_present(struct check_options *o)
{
    o->config = access("sweep.toml", F_OK) == 0 ? "sweep.toml" : NULL;
    o->db = access("results.db", F_OK) == 0 ? "results.db" : NULL;
}

static int choose(const struct arguments *a, struct check_options *out, struct error *e)
{
    *out = *(const struct check_options *)a->options;
    for (size_t i = 0; i < a->word_count; i++) {
        const char **place = is_sweep_file(a->words[i]) ? &out->config : &out->db;
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

static int check_all(const struct check_options *o, cJSON *answer, struct error *e)
{
    int against = STATUS_OK;
    if (o->config && check_sweep(o->config, answer, e) < 0)
        return -1;
    if (o->against && (against = check_against(o->config, o->against, answer, e)) < 0)
        return -1;
    if (o->repair && repair_database(o->db, answer, e) < 0)
        return -1;
    int database = o->db ? check_database(o->db, answer, e) : STATUS_OK;
    return database < 0 ? -1 : database ? database : against;
}

static int check(const struct arguments *a, struct error *e)
{
    struct check_options o;
    if (choose(a, &o, e) < 0)
        return -1;
    if (o.executor)
        return check_executor(&o, e);
    cJSON *answer = o.json ? new_answer(&o) : NULL;
    int status = check_all(&o, answer, e);
    if (answer && status >= 0 && output_json(answer, e) < 0)
        status = -1;
    cJSON_Delete(answer);
    return status;
}

const struct command check_command = {
    .name = "check",
    .summary = "Check a sweep file or a database and list every problem",
    .usage = "[OPTIONS] [FILE.toml] [FILE.db]",
    .example = "meshsweep check\n"
               "meshsweep check sweep.toml\n"
               "meshsweep check -c import.toml --against measured.csv\n"
               "meshsweep check --executor slurm\n"
               "meshsweep check -d results.db\n"
               "meshsweep check --repair -d results.db",
    .options = options,
    .options_bytes = sizeof(struct check_options),
    .words_most = 2,
    .run = check,
};

#include "deepspeed/tuning_tree.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deepspeed/ds_preparation.h"
#include "files/json_text.h"
#include "process/capture.h"
#include "process/job_file.h"
#include "results/best.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/shell.h"
#include "util/string_list.h"

enum { LOG_BYTES_MOST = 64 << 20 };

/* What is written, from the table temp.experiment (experiments.sql). */
struct tuning_results {
    const struct tuning_tree *tree;
    struct db *db;
    struct best best;
};

/* A row of it; texts are borrowed and may be NULL. */
struct experiment {
    const char *name, *directory, *command, *message;
    const char *metrics; /* as JSON; NULL: it was not measured */
    const char *config;  /* ds_config.json; NULL: none */
    const char *about;   /* the begin of its JSON */
    const char *run;     /* what that of exp.json has besides */
};

static const char experiments_sql[] =
    "SELECT name, directory, command, message, iif(value IS NULL, NULL, metrics), text,"
    " printf('{%s  \"name\": %s,%s  \"num_gpus\": %d,%s  \"num_nodes\": %d', char(10), json_quote(name), char(10),"
    "  gpus, char(10), nodes),"
    " printf(',%s  \"exp_id\": %d,%s  \"job_id\": \"%s\"', char(10), job_id, char(10), key), job_id"
    " FROM temp.experiment ORDER BY n";

static struct experiment experiment_of(const struct stmt *s)
{
    return (struct experiment){stmt_text(s, 0), stmt_text(s, 1), stmt_text(s, 2), stmt_text(s, 3),
                               stmt_text(s, 4), stmt_text(s, 5), stmt_text(s, 6), stmt_text(s, 7)};
}

/* The text of a file that the job left; NULL if there is none. */
static char *left_by_job(const struct tuning_results *t, const char *directory, const char *name)
{
    OWNED char *path = xasprintf("%s/%s/%s", t->tree->job_files, directory, name);
    return job_file_text(path, LOG_BYTES_MOST);
}

static int take_config(const struct tuning_results *t, int64_t n, const char *text, struct error *e)
{
    OWNED_BY(json_text_free) struct json config = {0};
    struct error ignored = ERROR_INIT;
    OWNED_BUFFER plain = BUFFER_INIT;
    if (json_text_parse("", text, &config, &ignored) < 0)
        return 0;
    json_text_add(&config, 0, &plain);
    return db_run(t->db, "UPDATE temp.experiment SET text = ?2, json = ?3 WHERE n = ?1",
                  VALUES(sql_int(n), sql_text(text), sql_text(plain.data)), e);
}

static int read_experiments(const struct tuning_results *t, struct error *e)
{
    struct stmt *s = NULL;
    int rc = db_allow_temporary(t->db, e);
    rc = rc < 0 ? rc
                : db_run(t->db, embedded_text("src/deepspeed/experiments.sql"),
                         VALUES(sql_text(json_text_of(t->best.document, "objective"))), e);
    while (rc >= 0 && (rc = db_next(t->db, "SELECT n, directory FROM temp.experiment", NO_VALUES, &s, e)) > 0) {
        OWNED char *text = left_by_job(t, stmt_text(s, 1), "ds_config.json");
        rc = text ? take_config(t, stmt_int(s, 0), text, e) : 0;
    }
    stmt_free(s);
    return rc < 0 ? -1 : db_exec(t->db, embedded_text("src/deepspeed/experiment_names.sql"), e);
}

/* --- files --- */

struct tree_file {
    const char *name, *text; /* text NULL: it is not written */
};

static int write_file(const char *directory, const char *name, const char *text, struct error *e)
{
    OWNED char *path = xasprintf("%s/%s", directory, name);
    return file_write_atomic(path, text, strlen(text), e);
}

static char **words_of(const char *json)
{
    OWNED_JSON *list = json ? cJSON_Parse(json) : NULL;
    const cJSON *item;
    char **words = xcalloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *words);
    size_t n = 0;
    cJSON_ArrayForEach(item, list) words[n++] = xstrdup(cJSON_IsString(item) ? item->valuestring : "");
    return words;
}

static char *command_text(char *const *words)
{
    struct buffer b = BUFFER_INIT;
    char *none[] = {NULL};
    shell_add_command(&b, none, words);
    buffer_add_char(&b, '\n');
    return buffer_take(&b);
}

static char *experiment_json(const struct experiment *x, const char *result_dir)
{
    struct buffer b = BUFFER_INIT;
    buffer_add_text(&b, x->about);
    if (result_dir) {
        buffer_printf(&b, "%s,\n  \"result_dir\": ", x->run);
        buffer_add_json_string(&b, result_dir, strlen(result_dir));
    }
    buffer_printf(&b, ",\n  \"ds_config\": %s}\n", x->config ? x->config : "null");
    return buffer_take(&b);
}

/* Uses the names and units of DeepSpeed's metrics.json (runtime/engine.py); times there are in microseconds. */
static char *engine_metrics(const char *summaries)
{
    static const struct {
        const char *metric, *name;
        double scale;
    } names[] = {{"fwd", "fwd", 1e6},
                 {"bwd", "bwd", 1e6},
                 {"step", "step", 1e6},
                 {"latency", "latency", 1e6},
                 {"flops_per_gpu", "FLOPS_per_gpu", 1},
                 {"throughput", "throughput", 1}};
    struct buffer b = BUFFER_INIT;
    OWNED_JSON *all = cJSON_Parse(summaries);
    for (size_t i = 0; i < LENGTH(names); i++) {
        const cJSON *found = cJSON_GetObjectItemCaseSensitive(all, names[i].metric);
        if (cJSON_IsNumber(found))
            buffer_printf(&b, "%s\"%s\": %.15g", b.length ? ", " : "{", names[i].name,
                          found->valuedouble * names[i].scale);
    }
    buffer_printf(&b, "%s\"rank\": 0}", b.length ? ", " : "{");
    return buffer_take(&b);
}

static int write_experiment(const struct tuning_results *t, const struct experiment *x, struct error *e)
{
    OWNED char *directory = xasprintf("%s/%s", t->tree->results_dir, x->name), *file = xasprintf("%s.json", x->name);
    OWNED char *stale = xasprintf("%s/metrics.json", directory);
    OWNED char *described = experiment_json(x, NULL), *done = experiment_json(x, directory);
    OWNED_STRINGS words = words_of(x->command);
    OWNED char *command = command_text(words);
    OWNED char *out = left_by_job(t, x->directory, STREAMS_OUT_FILE);
    OWNED char *err = left_by_job(t, x->directory, STREAMS_ERR_FILE);
    /* An attempt of a sweep without separate_streams has one log. */
    OWNED char *both = out || err ? NULL : left_by_job(t, x->directory, "output.log");
    OWNED char *metrics = x->metrics ? left_by_job(t, x->directory, "metrics.json") : NULL;
    if (x->metrics && !metrics)
        metrics = engine_metrics(x->metrics);
    const char *const rest = both ? both : "";
    const struct tree_file files[] = {{"exp.json", done},
                                      {"ds_config.json", x->config ? x->config : ""},
                                      {"cmd.txt", command},
                                      {STREAMS_OUT_FILE, out ? out : rest},
                                      {STREAMS_ERR_FILE, err ? err : rest},
                                      {"reason.txt", x->message},
                                      {"metrics.json", metrics}};
    int rc = file_make_directories(directory, e);
    unlink(stale);
    rc = rc < 0 ? rc : write_file(t->tree->exps_dir, file, described, e);
    for (size_t i = 0; rc == 0 && i < LENGTH(files); i++)
        rc = files[i].text ? write_file(directory, files[i].name, files[i].text, e) : 0;
    return rc;
}

/* Writes what the model-information job left, if there was one. */
static int write_model_info(const struct tuning_results *t, struct error *e)
{
    OWNED char *from = NULL, *directory = xasprintf("%s/profile_model_info", t->tree->results_dir);
    int rc = db_query_text(t->db,
                           "SELECT a.directory FROM current_sweep AS s JOIN job AS j ON j.id = s.model_info ->> 'job'"
                           " JOIN attempt AS a ON a.id = j.attempt_id WHERE a.state = 'ok' AND a.directory IS NOT NULL",
                           NO_VALUES, &from, e);
    OWNED char *text = from ? left_by_job(t, from, "model_info.json") : NULL;
    if (text) {
        rc = file_make_directories(directory, e);
        rc = rc < 0 ? rc : write_file(directory, "model_info.json", text, e);
    }
    return rc;
}

/* --- the summary --- */

static int write_summary(const struct tuning_results *t, struct error *e)
{
    const cJSON *best = t->best.document;
    OWNED char *text = NULL;
    int rc = db_query_text(t->db, embedded_text("src/deepspeed/tuning_summary.sql"),
                           VALUES(sql_int(strcmp(json_text_of(best, "better"), "max") == 0 ? 1 : -1),
                                  sql_text(json_text_of(best, "objective")), sql_text(json_text_or(best, "unit", "")),
                                  sql_text(t->tree->metric), sql_int(t->tree->interrupted)),
                           &text, e);
    return rc < 0 ? -1 : write_file(t->tree->results_dir, "summary.txt", text, e);
}

/* --- the winner --- */

static const char *const config_names[] = {"ds_config_optimal.json", "ds_config_best_so_far.json"};
static const char *const command_names[] = {"cmd_optimal.txt", "cmd_best_so_far.txt"};

static int write_optimal(const struct tuning_results *t, const struct experiment *x, const char *path, char ***winner,
                         struct error *e)
{
    OWNED char *job_dir = xasprintf("%s/%s", t->tree->job_files, x->directory);
    OWNED char *config = training_config(job_dir), *command = NULL;
    int rc = 0;
    if (config) {
        *winner = words_of(x->command);
        training_command(*winner, job_dir, path);
        command = command_text(*winner);
        rc = write_file(t->tree->results_dir, config_names[t->tree->interrupted], config, e);
        rc = rc < 0 ? rc : write_file(t->tree->results_dir, command_names[t->tree->interrupted], command, e);
    }
    return rc;
}

/* Removes the winner of an earlier call. */
static void drop_winner(const char *results_dir)
{
    for (size_t i = 0; i < 2; i++) {
        OWNED char *config = xasprintf("%s/%s", results_dir, config_names[i]);
        OWNED char *command = xasprintf("%s/%s", results_dir, command_names[i]);
        unlink(config);
        unlink(command);
    }
}

/* Writes the files of all, and those of the winner. */
static int write_experiments(const struct tuning_results *t, char ***winner, struct error *e)
{
    OWNED char *config = xasprintf("%s/%s", t->tree->results_dir, config_names[t->tree->interrupted]);
    OWNED_STMT *s = NULL;
    int rc;
    drop_winner(t->tree->results_dir);
    while ((rc = db_next(t->db, experiments_sql, NO_VALUES, &s, e)) > 0) {
        const struct experiment x = experiment_of(s);
        rc = write_experiment(t, &x, e);
        if (rc == 0 && stmt_int(s, 8) == best_job(&t->best))
            rc = write_optimal(t, &x, config, winner, e);
        if (rc < 0)
            break;
    }
    return rc;
}

int tuning_tree_write(const struct tuning_tree *tree, struct db *db, char ***winner, struct error *e)
{
    OWNED_BY(best_free) struct best best = {0};
    *winner = NULL;
    if (best_read(db, NULL, &best, e) < 0)
        return -1;
    const struct tuning_results t = {tree, db, best};
    int rc = read_experiments(&t, e);
    rc = rc < 0 ? rc : file_make_directories(tree->exps_dir, e);
    rc = rc < 0 ? rc : file_make_directories(tree->results_dir, e);
    rc = rc < 0 ? rc : write_experiments(&t, winner, e);
    rc = rc < 0 ? rc : write_model_info(&t, e);
    return rc < 0 ? rc : write_summary(&t, e);
}

char *tuning_tree_write_sweep(const char *exps_dir, const struct buffer *toml, struct error *e)
{
    char *path = xasprintf("%s/sweep.toml", exps_dir);
    if (file_make_directories(exps_dir, e) == 0 && file_write_atomic(path, toml->data, toml->length, e) == 0) {
        chmod(path, S_IRUSR | S_IWUSR);
        return path;
    }
    free(path);
    return NULL;
}

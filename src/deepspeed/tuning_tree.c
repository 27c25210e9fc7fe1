#include "deepspeed/tuning_tree.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deepspeed/training_command.h"
#include "files/json_text.h"
#include "process/job_file.h"
#include "process/streams.h"
#include "results/best.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/shell.h"
#include "util/string_list.h"

/* --- experiment names --- */

/* Experiment names that say what is tried. Pure. */

enum { NAME_MOST = 160 };

/* Experiments with the same name. */
struct namesakes {
    size_t *members, count;
    struct json *configs;       /* by index among the members */
    struct string_list differs; /* paths */
};

/* Keys that follow from others, or only say where the profile is written. */
static bool is_no_knob(const char *path)
{
    return strcmp(path, "train_batch_size") == 0 || strncmp(path, "autotuning", 10) == 0;
}

static bool is_same(const struct json *a, const struct json *b)
{
    return a && b && a->kind == JSON_SCALAR && b->kind == JSON_SCALAR && strcmp(a->text, b->text) == 0;
}

/* Notes the paths below `j` at which some member has another value. */
static void note_differences(struct namesakes *n, const struct json *j, const char *path)
{
    for (size_t i = 0; j->kind == JSON_OBJECT && i < j->count; i++) {
        const struct json *child = &j->children[i];
        OWNED char *inner = *path ? xasprintf("%s.%s", path, child->name) : xstrdup(child->name);
        bool differs = false;
        for (size_t k = 0; child->kind == JSON_SCALAR && !differs && k < n->count; k++)
            differs = !is_same(child, json_text_find(&n->configs[k], inner));
        if (child->kind == JSON_OBJECT)
            note_differences(n, child, inner);
        if (differs && !is_no_knob(inner) && string_list_find(&n->differs, inner) == n->differs.count)
            string_list_add(&n->differs, xstrdup(inner));
    }
}

/* "offload_optimizer" for "zero_optimization.offload_optimizer.device": the last name that is specific. */
static void add_title(struct buffer *b, const char *path)
{
    const char *end = path + strlen(path), *dot = strrchr(path, '.');
    if (dot && (strcmp(dot, ".device") == 0 || strcmp(dot, ".enabled") == 0))
        end = dot;
    const char *begin = end;
    while (begin > path && begin[-1] != '.')
        begin--;
    buffer_add(b, begin, (size_t)(end - begin));
}

static void add_value(struct buffer *b, const struct json *j)
{
    for (const char *p = j->text; *p; p++)
        if (*p != '"')
            buffer_add_char(b, isalnum((unsigned char)*p) || strchr("._+-", *p) ? *p : '-');
}

static void add_knobs(const struct namesakes *n, size_t member, char **name)
{
    OWNED_BUFFER b = BUFFER_INIT;
    buffer_add_text(&b, *name);
    for (size_t i = 0; i < n->differs.count; i++) {
        const struct json *value = json_text_find(&n->configs[member], n->differs.items[i]);
        if (!value || value->kind != JSON_SCALAR)
            continue;
        buffer_add_char(&b, '_');
        add_title(&b, n->differs.items[i]);
        buffer_add_char(&b, '-');
        add_value(&b, value);
    }
    if (b.length <= NAME_MOST) {
        free(*name);
        *name = buffer_take(&b);
    }
}

static void tell_apart(struct namesakes *n, char **names, const char *const *configs)
{
    struct error ignored = ERROR_INIT;
    n->configs = xcalloc(n->count, sizeof *n->configs);
    for (size_t i = 0; i < n->count; i++)
        if (!configs[n->members[i]] || json_text_parse("", configs[n->members[i]], &n->configs[i], &ignored) < 0)
            n->configs[i] = (struct json){.kind = JSON_OBJECT};
    /* Keys may be in the first or in another member only. */
    note_differences(n, &n->configs[0], "");
    for (size_t i = 1; i < n->count; i++) {
        struct namesakes with_first = {.count = 1, .configs = n->configs, .differs = n->differs};
        note_differences(&with_first, &n->configs[i], "");
        n->differs = with_first.differs;
    }
    for (size_t i = 0; i < n->count; i++)
        add_knobs(n, i, &names[n->members[i]]);
    for (size_t i = 0; i < n->count; i++)
        json_text_free(&n->configs[i]);
    free(n->configs);
    string_list_free(&n->differs);
}

/* Appends to equal names what their ds_configs differ in ("_offload_optimizer-cpu"). `configs` are JSON texts by index;
 * NULL: none. Names stay equal if nothing differs, or if the difference does not fit into a file's name. The caller
 * frees the names. */
static void experiment_names_tell_apart(char **names, const char *const *configs, size_t count)
{
    OWNED bool *seen = xcalloc(count + 1, sizeof *seen);
    for (size_t i = 0; i < count; i++) {
        struct namesakes n = {.members = xcalloc(count, sizeof *n.members), .differs = STRING_LIST_INIT};
        for (size_t k = i; !seen[i] && k < count; k++)
            if (!seen[k] && strcmp(names[k], names[i]) == 0)
                n.members[n.count++] = k;
        for (size_t k = 0; k < n.count; k++)
            seen[n.members[k]] = true;
        if (n.count > 1)
            tell_apart(&n, names, configs);
        free(n.members);
    }
}

/* --- tuning tree --- */

enum { LOG_BYTES_MOST = 64 << 20, STAGES = 4 };

struct experiment {
    int64_t job_id, nodes, gpus, duration_ms;
    char *key, *directory, *command, *message, *metrics; /* message and metrics may be NULL */
    char *config;                                        /* ds_config.json; NULL: none */
    int stage;                                           /* -1: not known */
    char *name;
    bool measured;
    double value;
};

struct tuning_results {
    const struct tuning_tree *tree;
    struct experiment *items;
    size_t count;
    struct best best;
    const char *objective, *unit; /* of it */
    bool maximise;
    int64_t first_ms, last_ms;
    bool only_profile; /* nothing but the model-information job has run, under its own objective */
};

/* --- what there is --- */

#define PROFILE_NAME "profile_model_info"

static void add_part(struct buffer *b, const struct json *config, const char *path, const char *title)
{
    const struct json *j = json_text_find(config, path);
    if (!j || j->kind != JSON_SCALAR || json_text_is(j, "auto"))
        return;
    OWNED char *text = json_text_plain(j);
    buffer_printf(b, "%s%s%s", b->length ? "_" : "", title, text);
}

/* Reads its ds_config, and names the experiment after it. */
static void read_config(const struct tuning_results *t, struct experiment *x)
{
    OWNED_BUFFER text = BUFFER_INIT, name = BUFFER_INIT;
    struct json config = {0};
    struct error ignored = ERROR_INIT;
    long long stage = -1;
    OWNED char *path = xasprintf("%s/%s/ds_config.json", t->tree->job_files, x->directory);
    if (job_file_read(job_file_open(path), LOG_BYTES_MOST, &text) == 0 &&
        json_text_parse(path, buffer_text(&text), &config, &ignored) == 0) {
        const struct json *j = json_text_find(&config, "zero_optimization.stage");
        if (j && json_text_integer(j, &stage) && stage >= 0 && stage < STAGES)
            x->stage = (int)stage;
        add_part(&name, &config, "zero_optimization.stage", "z");
        add_part(&name, &config, "gradient_accumulation_steps", "gas");
        add_part(&name, &config, "train_micro_batch_size_per_gpu", "tmbspg");
        x->config = buffer_take(&text);
    }
    x->name = name.length ? buffer_take(&name) : xasprintf("job%lld", (long long)x->job_id);
    json_text_free(&config);
}

static const char experiments_sql[] =
    "SELECT j.id, lower(hex(j.key)), coalesce(json_extract(c.json, '$.num_hosts'), 1),"
    " coalesce(json_extract(c.json, '$.num_devices_per_host'), 1), a.number, a.directory, a.command, a.message,"
    " iif(m.value IS NOT NULL AND j.state = 'ok', m.value, NULL), a.duration_ms, a.started, a.ended,"
    " (SELECT json_group_object(s.name, s.value) FROM job_metric AS s WHERE s.job_id = j.id AND s.value IS NOT NULL)"
    " FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id LEFT JOIN spec AS c ON c.id = j.cluster_id"
    " LEFT JOIN job_metric AS m ON m.job_id = j.id AND m.name = ?1"
    " WHERE j.sweep_id = (SELECT id FROM current_sweep) ORDER BY j.rank, j.id";

static void read_row(struct tuning_results *t, const struct stmt *s)
{
    struct experiment *x = array_add(t->items, t->count);
    *x = (struct experiment){.job_id = stmt_int(s, 0),
                             .key = xstrdup(stmt_text(s, 1)),
                             .nodes = stmt_int(s, 2),
                             .gpus = stmt_int(s, 3),
                             .command = stmt_copy_text(s, 6),
                             .message = stmt_copy_text(s, 7),
                             .measured = !stmt_is_null(s, 8),
                             .value = stmt_double(s, 8),
                             .duration_ms = stmt_int(s, 9),
                             .metrics = stmt_copy_text(s, 12),
                             .stage = -1};
    x->directory = stmt_copy_text(s, 5);
    if (!x->directory)
        x->directory = xasprintf("%.16s/%lld", x->key, (long long)stmt_int(s, 4));
    if (t->count == 1 || stmt_int(s, 10) < t->first_ms)
        t->first_ms = stmt_int(s, 10);
    if (t->count == 1 || stmt_int(s, 11) > t->last_ms)
        t->last_ms = stmt_int(s, 11);
    read_config(t, x);
}

static int read_experiments(struct tuning_results *t, struct db *db, struct error *e)
{
    struct stmt *s = NULL;
    int64_t profiles = 0;
    int rc = db_query_int(db, "SELECT count(*) FROM current_sweep WHERE role IS NOT NULL", NO_VALUES, 0, &profiles, e);
    t->only_profile = profiles > 0;
    if (rc < 0)
        return -1;
    while ((rc = db_next(db, experiments_sql, VALUES(sql_text(t->objective)), &s, e)) > 0)
        read_row(t, s);
    return rc;
}

static void rename_to(struct experiment *x, char *name)
{
    free(x->name);
    x->name = name;
}

static bool has_namesake(const struct tuning_results *t, size_t at)
{
    return ANY(i, t->count, i != at && strcmp(t->items[i].name, t->items[at].name) == 0);
}

static void tell_knobs(struct tuning_results *t)
{
    char **names = xcalloc(t->count + 1, sizeof *names);
    const char **configs = xcalloc(t->count + 1, sizeof *configs);
    for (size_t i = 0; i < t->count; i++) {
        names[i] = t->items[i].name;
        configs[i] = t->items[i].config;
    }
    experiment_names_tell_apart(names, configs, t->count);
    for (size_t i = 0; i < t->count; i++)
        t->items[i].name = names[i];
    free(names);
    free(configs);
}

static void make_names_differ(struct tuning_results *t)
{
    bool clusters = false;
    for (size_t i = 0; t->only_profile && i < t->count; i++)
        rename_to(&t->items[i], xstrdup(PROFILE_NAME));
    for (size_t i = 1; i < t->count; i++)
        clusters |= t->items[i].nodes != t->items[0].nodes || t->items[i].gpus != t->items[0].gpus;
    for (size_t i = 0; clusters && i < t->count; i++)
        rename_to(&t->items[i], xasprintf("%s_n%lldg%lld", t->items[i].name, (long long)t->items[i].nodes,
                                          (long long)t->items[i].gpus));
    tell_knobs(t);
    OWNED bool *twice = xcalloc(t->count + 1, sizeof *twice);
    for (size_t i = 0; i < t->count; i++)
        twice[i] = has_namesake(t, i);
    for (size_t i = 0; i < t->count; i++)
        if (twice[i])
            rename_to(&t->items[i], xasprintf("%s_%.8s", t->items[i].name, t->items[i].key));
}

/* --- files --- */

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
    buffer_add_text(&b, "{\n  \"name\": ");
    buffer_add_json_string(&b, x->name, strlen(x->name));
    buffer_printf(&b, ",\n  \"num_gpus\": %lld,\n  \"num_nodes\": %lld", (long long)x->gpus, (long long)x->nodes);
    if (result_dir) {
        buffer_printf(&b, ",\n  \"exp_id\": %lld,\n  \"job_id\": \"%s\",\n  \"result_dir\": ", (long long)x->job_id,
                      x->key);
        buffer_add_json_string(&b, result_dir, strlen(result_dir));
    }
    buffer_printf(&b, ",\n  \"ds_config\": %s}\n", x->config ? x->config : "null");
    return buffer_take(&b);
}

/* The text of a file that the job left; NULL if there is none. */
static char *left_by_job(const struct tuning_results *t, const struct experiment *x, const char *name)
{
    OWNED char *path = xasprintf("%s/%s/%s", t->tree->job_files, x->directory, name);
    return job_file_text(path, LOG_BYTES_MOST);
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

/* An attempt of a sweep without separate_streams has one log. */
static int write_streams(const struct tuning_results *t, const struct experiment *x, const char *directory,
                         struct error *e)
{
    static const char *const names[STREAM_COUNT] = {STREAMS_OUT_FILE, STREAMS_ERR_FILE};
    char *texts[STREAM_COUNT] = {NULL}, *both = NULL;
    int rc = 0;
    for (int i = 0; i < STREAM_COUNT; i++)
        texts[i] = left_by_job(t, x, names[i]);
    if (!texts[0] && !texts[1])
        both = left_by_job(t, x, "output.log");
    for (int i = 0; rc == 0 && i < STREAM_COUNT; i++)
        rc = write_file(directory, names[i], texts[i] ? texts[i] : both ? both : "", e);
    for (int i = 0; i < STREAM_COUNT; i++)
        free(texts[i]);
    free(both);
    return rc;
}

static int write_metrics(const struct tuning_results *t, const struct experiment *x, const char *directory,
                         struct error *e)
{
    if (!x->measured)
        return 0;
    OWNED char *text = left_by_job(t, x, "metrics.json");
    if (!text)
        text = engine_metrics(x->metrics);
    return write_file(directory, "metrics.json", text, e);
}

static int write_experiment(const struct tuning_results *t, const struct experiment *x, struct error *e)
{
    char *directory = xasprintf("%s/%s", t->tree->results_dir, x->name),
         *stale = xasprintf("%s/metrics.json", directory);
    char *described = experiment_json(x, NULL), *done = experiment_json(x, directory);
    char *file = xasprintf("%s.json", x->name);
    OWNED_STRINGS words = words_of(x->command);
    char *command = command_text(words),
         *message = xasprintf("%s%s", x->message ? x->message : "", x->message ? "\n" : "");
    int rc = file_make_directories(directory, e);
    unlink(stale);
    rc = rc < 0 ? rc : write_file(t->tree->exps_dir, file, described, e);
    rc = rc < 0 ? rc : write_file(directory, "exp.json", done, e);
    rc = rc < 0 ? rc : write_file(directory, "ds_config.json", x->config ? x->config : "", e);
    rc = rc < 0 ? rc : write_file(directory, "cmd.txt", command, e);
    rc = rc < 0 ? rc : write_streams(t, x, directory, e);
    rc = rc < 0 ? rc : write_file(directory, "reason.txt", message, e);
    rc = rc < 0 ? rc : write_metrics(t, x, directory, e);
    char *const all[] = {directory, stale, described, done, file, command, message};
    for (size_t i = 0; i < LENGTH(all); i++)
        free(all[i]);
    return rc;
}

/* Writes what the model-information job left, if there was one. */
static int write_model_info(const struct tuning_results *t, struct db *db, struct error *e)
{
    struct stmt *s = NULL;
    OWNED char *from = NULL, *directory = xasprintf("%s/" PROFILE_NAME, t->tree->results_dir);
    OWNED_BUFFER text = BUFFER_INIT;
    int rc = db_prepare(db,
                        "SELECT a.directory FROM current_sweep AS s JOIN job AS j ON j.id = s.model_info ->> 'job'"
                        " JOIN attempt AS a ON a.id = j.attempt_id WHERE a.state = 'ok' AND a.directory IS NOT NULL",
                        &s, e);
    rc = rc < 0 ? rc : stmt_next(s, e);
    if (rc > 0)
        from = xasprintf("%s/%s/model_info.json", t->tree->job_files, stmt_text(s, 0));
    stmt_free(s);
    rc = rc < 0 ? -1 : 0;
    if (from && job_file_read(job_file_open(from), LOG_BYTES_MOST, &text) == 0) {
        rc = file_make_directories(directory, e);
        rc = rc < 0 ? rc : write_file(directory, "model_info.json", buffer_text(&text), e);
    }
    return rc;
}

/* --- the summary --- */

static const struct experiment *best_of(const struct tuning_results *t, int stage)
{
    const struct experiment *best = NULL;
    for (size_t i = 0; i < t->count; i++) {
        const struct experiment *x = &t->items[i];
        if ((stage >= 0 && x->stage != stage) || !x->measured)
            continue;
        if (!best || (t->maximise ? x->value > best->value : x->value < best->value))
            best = x;
    }
    return best;
}

static void add_row(const struct tuning_results *t, const char *title, int stage, struct buffer *out)
{
    const struct experiment *best = best_of(t, stage);
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++)
        count += stage < 0 || t->items[i].stage == stage;
    if (count == 0 || t->only_profile)
        return;
    buffer_printf(out, "| %-12s | %15zu | ", title, count);
    if (best)
        buffer_printf(out, "%15.6g | %s |\n", best->value, best->name);
    else
        buffer_printf(out, "%15s | none was measured |\n", "-");
}

static int write_summary(const struct tuning_results *t, struct error *e)
{
    OWNED_BUFFER b = BUFFER_INIT;
    long long ms = t->last_ms > t->first_ms ? (long long)(t->last_ms - t->first_ms) : 0;
    buffer_printf(&b, "| tuning_space | num_experiments | best_metric_val | best_exp_name |\n|---|---|---|---|\n");
    for (int stage = 0; stage < STAGES; stage++) {
        char title[] = {'z', (char)('0' + stage), '\0'};
        add_row(t, title, stage, &b);
    }
    add_row(t, "global", -1, &b);
    buffer_printf(&b,
                  "\nMetric: %s%s%s. Tuning completed in %lld:%02lld:%02lld.%06lld. Total number of experiments: "
                  "%zu.\n",
                  t->only_profile ? t->tree->metric : t->objective, t->unit[0] ? ", " : "", t->unit, ms / 3600000,
                  ms / 60000 % 60, ms / 1000 % 60, ms % 1000 * 1000, t->only_profile ? 0 : t->count);
    if (t->only_profile)
        buffer_add_text(&b, "Only the model-information job has run (" PROFILE_NAME ").\n");
    if (t->tree->interrupted)
        buffer_add_text(&b, "Interrupted: not everything was tried; the best is the best so far.\n");
    return write_file(t->tree->results_dir, "summary.txt", buffer_text(&b), e);
}

/* --- the winner --- */

static const char *const config_names[] = {"ds_config_optimal.json", "ds_config_best_so_far.json"};
static const char *const command_names[] = {"cmd_optimal.txt", "cmd_best_so_far.txt"};

static const char *config_name(const struct tuning_tree *t)
{
    return config_names[t->interrupted];
}

static const char *command_name(const struct tuning_tree *t)
{
    return command_names[t->interrupted];
}

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
        rc = write_file(t->tree->results_dir, config_name(t->tree), config, e);
        rc = rc < 0 ? rc : write_file(t->tree->results_dir, command_name(t->tree), command, e);
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

static int settle_winner(const struct tuning_results *t, char ***winner, struct error *e)
{
    OWNED char *config = xasprintf("%s/%s", t->tree->results_dir, config_name(t->tree));
    const struct experiment *x = NULL;
    drop_winner(t->tree->results_dir);
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].job_id == best_job(&t->best))
            x = &t->items[i];
    return x ? write_optimal(t, x, config, winner, e) : 0;
}

static void release(struct tuning_results *t)
{
    for (size_t i = 0; i < t->count; i++) {
        struct experiment *x = &t->items[i];
        char *const all[] = {x->key, x->directory, x->command, x->message, x->metrics, x->config, x->name};
        for (size_t k = 0; k < LENGTH(all); k++)
            free(all[k]);
    }
    free(t->items);
    best_free(&t->best);
}

int tuning_tree_write(const struct tuning_tree *tree, struct db *db, char ***winner, struct error *e)
{
    struct tuning_results t = {.tree = tree};
    *winner = NULL;
    if (best_read(db, NULL, &t.best, e) < 0)
        return -1;
    t.objective = json_text_of(t.best.document, "objective");
    t.unit = json_text_or(t.best.document, "unit", "");
    t.maximise = strcmp(json_text_of(t.best.document, "better"), "max") == 0;
    int rc = read_experiments(&t, db, e);
    make_names_differ(&t);
    rc = rc < 0 ? rc : file_make_directories(tree->exps_dir, e);
    rc = rc < 0 ? rc : file_make_directories(tree->results_dir, e);
    for (size_t i = 0; rc == 0 && i < t.count; i++)
        rc = write_experiment(&t, &t.items[i], e);
    rc = rc < 0 ? rc : write_model_info(&t, db, e);
    rc = rc < 0 ? rc : write_summary(&t, e);
    rc = rc < 0 ? rc : settle_winner(&t, winner, e);
    release(&t);
    return rc;
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

#include "deepspeed/tuning_space.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/search_options.h"
#include "database/open.h"
#include "deepspeed/autotuning.h"
#include "deepspeed/ds_check.h"
#include "deepspeed/ds_config.h"
#include "deepspeed/ds_values.h"
#include "deepspeed/tuning_cluster.h"
#include "results/json.h"
#include "toml/known.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"

/* --- default space --- */

struct writing {
    const struct tuning_request *r;
    const struct autotuning *knobs; /* the request's */
    bool is_trainers;               /* the script takes arguments of Hugging Face's Trainer */
    char *axis;                     /* of micro-batches (tuning_batches.sql); NULL: the ds_config's own list, or none */
    struct buffer *out;
    struct error problems;
};

static const struct json *given(const struct writing *w, const char *path)
{
    const struct json *found = json_text_find(w->r->root, path);
    return found && !json_text_is_null(found) ? found : NULL;
}

/* Under any of its names. */
static bool is_said(const struct writing *w, const char *path)
{
    OWNED char *twice = ds_twice_fault(w->r->root, path, false, 0);
    return given(w, path) || twice;
}

static bool has_release(const struct writing *w, const char *since)
{
    int64_t own;
    return !w->r->version || !parse_release(w->r->version, true, &own) || ds_has_come(since, own);
}

/* --- the script --- */

/* DeepSpeed runs the optimizer step on the host only with its own optimizers. */
static bool has_cpu_optimizer(const struct writing *w)
{
    const struct json *type = given(w, "optimizer.type");
    OWNED char *text = type ? json_text_string(type) : NULL;
    return text && known_has(known("ds_config", "cpu_optimizers"), text);
}

/* --- the machine --- */

static const struct json *path_in(const struct writing *w, const char *section)
{
    OWNED char *key = xasprintf("zero_optimization.%s.nvme_path", section);
    const struct json *path = given(w, key);
    return path && path->kind == JSON_SCALAR && path->text[0] == '"' ? path : NULL;
}

/* As JSON. NULL if the ds_config names no path, or this machine runs the jobs and has no such path. */
static const struct json *nvme_of(const struct writing *w)
{
    const struct json *path =
        path_in(w, "offload_optimizer") ? path_in(w, "offload_optimizer") : path_in(w, "offload_param");
    OWNED char *plain = path ? json_text_string(path) : NULL;
    bool is_there = plain && (w->r->cluster->hostfile || access(plain, W_OK) == 0);
    return is_there ? path : NULL;
}

/* The number if it is the same for every cluster; 0 if they differ. */
static long long the_number(const struct json *j, long long otherwise)
{
    long long n = otherwise;
    return !j ? otherwise : j->kind == JSON_LIST || !json_text_integer(j, &n) ? 0 : n;
}

static long long devices_per_host(const struct writing *w)
{
    return the_number(w->knobs->num_gpus, w->r->cluster->devices);
}

/* Sequences are best split within a host, by a degree that divides its devices. */
static long long most_sequence(const struct writing *w)
{
    long long n = 1;
    while (devices_per_host(w) % (2 * n) == 0 && 2 * n <= devices_per_host(w))
        n *= 2;
    return n;
}

/* --- axes --- */

static bool may_offload(const struct writing *w, const struct toml_node *axis)
{
    const struct json *section = given(w, known_text(axis, "offload"));
    return has_cpu_optimizer(w) && !given(w, known_text(axis, "key")) && (!section || section->kind == JSON_OBJECT) &&
           !given(w, known_text(axis, "old"));
}

static bool is_open(const struct writing *w, const struct toml_node *axis)
{
    const char *key = known_text(axis, "key"), *with = known_text(axis, "with");
    if (toml_child(axis, "offload"))
        return may_offload(w, axis);
    if (toml_child(axis, "trainer"))
        return w->is_trainers && !ds_arguments_have(w->r->program, key);
    if (toml_child(axis, "sequence"))
        return given(w, key) && json_text_is(given(w, key), "auto") && devices_per_host(w) > 1;
    return !is_said(w, key) && (!with || given(w, with)) && (!toml_child(axis, "parallel") || w->knobs->mp_size > 1) &&
           (!toml_child(axis, "hosts") ||
            (the_number(w->knobs->num_nodes, w->r->cluster->nodes) > 1 && devices_per_host(w) > 1));
}

static bool is_tuned(const struct writing *w, const struct toml_node *axis, int stage)
{
    const struct toml_node *stages = toml_child(axis, "stages");
    return ANY(i, stages->child_count, stages->children[i].integer == stage) &&
           has_release(w, known_text(axis, "since")) && is_open(w, axis);
}

static void add_degrees(const struct writing *w)
{
    buffer_add_text(w->out, "[1");
    for (long long n = 2; n <= most_sequence(w); n *= 2)
        buffer_printf(w->out, ", %lld", n);
    buffer_add_char(w->out, ']');
}

static void add_values(const struct writing *w, const struct toml_node *axis, int stage)
{
    const bool has_nvme = toml_child(axis, "with_nvme") && stage == 3 && nvme_of(w);
    if (toml_child(axis, "values"))
        buffer_add_text(w->out, known_text(axis, has_nvme ? "with_nvme" : "values"));
    else if (toml_child(axis, "sequence"))
        add_degrees(w);
    else
        buffer_printf(w->out, "[1, %lld]", devices_per_host(w));
}

/* If only one of the two sections has the path. */
static void add_nvme_path(const struct writing *w, const char *section)
{
    if (!path_in(w, section))
        buffer_printf(w->out, "\"zero_optimization.%s.nvme_path\" = %s\n", section, nvme_of(w)->text);
}

/* Appends the keys of a [[parallel_spec]] of that ZeRO stage. */
static void default_space_add(const struct writing *w, int stage)
{
    const struct toml_node *axes = known("ds_config", "tuned");
    bool offloads = false;
    for (size_t i = 0; i < axes->child_count; i++) {
        const struct toml_node *axis = &axes->children[i];
        if (!is_tuned(w, axis, stage))
            continue;
        buffer_printf(w->out, "\"%s\" = ", known_text(axis, "key"));
        add_values(w, axis, stage);
        buffer_add_char(w->out, '\n');
        offloads |= toml_child(axis, "offload") != NULL;
    }
    if (stage == 3 && offloads && nvme_of(w)) {
        add_nvme_path(w, "offload_optimizer");
        add_nvme_path(w, "offload_param");
    }
}

/* The arguments of the command that pass some of the keys to the script. */
static void describe_arguments(const struct writing *w, cJSON *arguments)
{
    const struct toml_node *axes = known("ds_config", "tuned");
    for (const struct toml_node *axis = axes->children; axis < axes->children + axes->child_count; axis++)
        if (!w->knobs->fast && toml_child(axis, "trainer") && is_tuned(w, axis, 0))
            cJSON_AddItemToArray(arguments, cJSON_CreateString(known_text(axis, "key")));
}

/* Returns whether an offloaded optimizer could be more than the machine has room for, and it is known by how much. */
static bool may_lack_room(const struct writing *w)
{
    return !w->knobs->fast && !w->r->cluster->hostfile && w->r->host_bytes > 0 &&
           given(w, "autotuning.model_info.num_params") && is_tuned(w, known("ds_config", "tuned")->children, 1);
}

#define STAGES_MOST 4

/* --- pieces of TOML --- */

/* JSON's scalars are valid TOML, except null and "\/". Integers are written as such if DeepSpeed expects them. */
static bool add_scalar(struct writing *w, const char *key, const struct json *j)
{
    long long whole;
    if (j->kind != JSON_SCALAR || strcmp(j->text, "null") == 0)
        return false;
    if (ds_wants_integer(key) && json_text_integer(j, &whole)) {
        buffer_printf(w->out, "%lld", whole);
        return true;
    }
    for (const char *p = j->text; *p; p++) {
        if (p[0] == '\\' && p[1] == '/')
            continue;
        if (p[0] == '\\' && p[1])
            buffer_add_char(w->out, *p++);
        buffer_add_char(w->out, *p);
    }
    return true;
}

static void add_key(struct writing *w, const char *key)
{
    buffer_add_json_string(w->out, key, strlen(key));
    buffer_add_text(w->out, " = ");
}

/* Returns whether one of the items before `i` has the same value. */
static bool is_before(const struct json *items, size_t i)
{
    long long a, b;
    for (size_t k = 0; k < i && items[i].kind == JSON_SCALAR; k++)
        if (items[k].kind == JSON_SCALAR &&
            (strcmp(items[k].text, items[i].text) == 0 ||
             (json_text_integer(&items[k], &a) && json_text_integer(&items[i], &b) && a == b)))
            return true;
    return false;
}

/* Adds one value or a list of values. */
static void add_axis(struct writing *w, const char *key, const struct json *j)
{
    const struct json *items = j->kind == JSON_LIST ? j->children : j;
    size_t count = j->kind == JSON_LIST ? j->count : 1;
    add_key(w, key);
    buffer_add_char(w->out, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buffer_add_text(w->out, ", ");
        if (is_before(items, i))
            error_add_line(&w->problems, ERROR_USAGE, "%s:%d:%d: \"%s\": %s is listed twice", w->r->ds_file, j->line,
                           j->column, key, items[i].text);
        else if (ds_wants_list(key) && items[i].kind == JSON_LIST)
            json_text_add(&items[i], 0, w->out);
        else if (!add_scalar(w, key, &items[i]))
            error_add_line(&w->problems, ERROR_USAGE,
                           "%s:%d:%d: \"%s\": a list of values to try may contain only numbers, strings, true and "
                           "false",
                           w->r->ds_file, j->line, j->column, key);
    }
    if (count == 0)
        error_add_line(&w->problems, ERROR_USAGE, "%s:%d:%d: \"%s\": the list is empty", w->r->ds_file, j->line,
                       j->column, key);
    buffer_add_text(w->out, "]\n");
}

static const struct json *at(const struct writing *w, const char *path)
{
    return json_text_find(w->r->root, path);
}

/* --- lists of the user's own --- */

/* A value that is a list itself is tried as a list of lists. */
static bool is_list_to_try(const char *path, const struct json *j)
{
    return j->kind == JSON_LIST && (!ds_wants_list(path) || (j->count > 0 && j->children[0].kind == JSON_LIST));
}

static void add_lists(struct writing *w, const struct json *object, const char *prefix)
{
    for (size_t i = 0; i < object->count; i++) {
        const struct json *m = &object->children[i];
        OWNED char *path = *prefix ? xasprintf("%s.%s", prefix, m->name) : xstrdup(m->name);
        bool is_left = known_has(known("ds_config", "own_matters"), path);
        if (!is_left && is_list_to_try(path, m))
            add_axis(w, path, m);
        else if (!is_left && m->kind == JSON_OBJECT && (*prefix || known_has(known("ds_config", "with_axes"), m->name)))
            add_lists(w, m, path);
    }
}

/* --- batches --- */

/* Returns whether a strategy searches micro-batches, rather than trying a list. If a step time is minimised there is no
 * search: no micro-batch is too small. */
static bool seeks_micro_batch(const struct writing *w)
{
    const struct json *j = at(w, "train_micro_batch_size_per_gpu");
    return w->knobs->maximise && !(j && j->kind == JSON_LIST);
}

static bool are_batches(const struct json *list)
{
    long long n;
    bool good = true;
    for (size_t i = 0; i < list->count; i++)
        good &= json_text_is(&list->children[i], "auto") || (json_text_integer(&list->children[i], &n) && n > 0);
    return good;
}

static void add_micro_batches(struct writing *w)
{
    const struct json *j = given(w, "train_micro_batch_size_per_gpu");
    if (w->axis)
        buffer_add_text(w->out, w->axis);
    else if (j->kind == JSON_LIST && are_batches(j))
        add_axis(w, "train_micro_batch_size_per_gpu", j);
    else
        error_add_line(&w->problems, ERROR_USAGE,
                       "%s:%d:%d: train_micro_batch_size_per_gpu must be a positive integer, a list of them, or "
                       "\"auto\"",
                       w->r->ds_file, j->line, j->column);
}

/* --- stages --- */

static size_t read_stages(struct writing *w, int *stages)
{
    const struct json *zero = at(w, "zero_optimization"), *stage = at(w, "zero_optimization.stage");
    const struct json *items = stage && stage->kind == JSON_LIST ? stage->children : stage;
    size_t count = !stage ? 0 : stage->kind == JSON_LIST ? stage->count : 1, n = 0;
    bool all = !stage || json_text_is(stage, "all");
    if (zero && zero->kind != JSON_OBJECT && !json_text_is(zero, "all"))
        error_add_line(&w->problems, ERROR_USAGE,
                       "%s:%d:%d: zero_optimization must be a table, or \"all\" for every stage", w->r->ds_file,
                       zero->line, zero->column);
    if (stage && stage->kind == JSON_LIST && stage->count == 0)
        error_add_line(&w->problems, ERROR_USAGE, "%s:%d:%d: zero_optimization.stage: the list is empty", w->r->ds_file,
                       stage->line, stage->column);
    for (int s = 0; all && s < STAGES_MOST; s++)
        stages[n++] = s;
    for (size_t i = 0; !all && i < count; i++) {
        long long s;
        if (json_text_integer(&items[i], &s) && s >= 0 && s < STAGES_MOST && !is_before(items, i) && n < STAGES_MOST)
            stages[n++] = (int)s;
        else
            error_add_line(&w->problems, ERROR_USAGE,
                           "%s:%d:%d: zero_optimization.stage must be 0, 1, 2 or 3, a list of different stages, or "
                           "\"all\"",
                           w->r->ds_file, stage->line, stage->column);
    }
    return n;
}

static void add_block(struct writing *w, const char *stages, int stage)
{
    buffer_add_text(w->out, "\n[[parallel_spec]]\n");
    add_key(w, "zero_optimization.stage");
    buffer_printf(w->out, "%s\n", stages);
    add_micro_batches(w);
    if (w->knobs->mp_size > 1)
        buffer_printf(w->out, "tp = %lld\n", w->knobs->mp_size);
    add_lists(w, w->r->root, "");
    if (stage >= 0)
        default_space_add(w, stage);
}

static void add_blocks(struct writing *w)
{
    int stages[STAGES_MOST];
    size_t count = read_stages(w, stages);
    OWNED_BUFFER list = BUFFER_INIT;
    for (size_t i = 0; i < count; i++) {
        char digit[2] = {(char)('0' + stages[i]), '\0'};
        if (!w->knobs->fast)
            add_block(w, digit, stages[i]);
        buffer_printf(&list, "%s%d", i ? ", " : "", stages[i]);
    }
    if (w->knobs->fast && count > 0) {
        OWNED char *all = xasprintf("[%s]", buffer_text(&list));
        add_block(w, all, -1);
    }
}

/* --- the rest of the file --- */

/* Checked here because an error in the generated sweep file, which the user did not write, would come too late. */
static void check_mapped(struct writing *w, const struct json *flag, const char *key)
{
    OWNED char *fault = ds_check_mapped_key(w->r->root, key);
    if (fault)
        error_add_line(&w->problems, ERROR_USAGE, "%s:%d:%d: autotuning.arg_mappings: %s", w->r->ds_file, flag->line,
                       flag->column, fault);
}

/* The caller frees it. */
static char *first_word(const char *text)
{
    text += strspn(text, " ");
    return xstrndup(text, strcspn(text, " "));
}

static void describe_mappings(struct writing *w, cJSON *mappings)
{
    const struct json *m = w->knobs->arg_mappings;
    for (size_t i = 0; m && i < m->count; i++) {
        const struct json *flag = &m->children[i];
        OWNED char *key = first_word(flag->name), *text = json_text_string(flag), *word = first_word(text ? text : "");
        check_mapped(w, flag, key);
        if (!*word)
            error_add_line(&w->problems, ERROR_USAGE,
                           "%s:%d:%d: autotuning.arg_mappings.%s must be a flag of the script", w->r->ds_file,
                           flag->line, flag->column, key);
        cJSON_AddItemToArray(mappings, cJSON_CreateStringArray((const char *const[]){key, word}, 2));
    }
}

static void describe_search(const struct writing *w, cJSON *said)
{
    static const enum search_strategy strategies[TUNER_COUNT] =
        {[TUNER_GRID] = STRATEGY_GRID, [TUNER_RANDOM] = STRATEGY_RANDOM, [TUNER_MODEL] = STRATEGY_MODEL};
    const struct autotuning *k = w->knobs;
    /* A strategy chooses configurations, rather than trying all of them. */
    const bool staged = seeks_micro_batch(w) || !k->fast;
    JSON_ADD(said, JSON_STRING("strategy", search_strategy_names[staged ? STRATEGY_STAGED : strategies[k->tuner]]),
             JSON_TRUTH("shuffled", staged && k->tuner == TUNER_RANDOM), JSON_TRUTH("seeks", seeks_micro_batch(w)));
    JSON_ADD(cJSON_AddObjectToObject(said, "search"), JSON_INT("max_trials", k->num_trials),
             JSON_INT("early_stopping", k->early_stopping),
             JSON_INT("num_tuning_micro_batch_sizes", k->micro_batch_sizes));
}

/* The highest stage requested, at which DeepSpeed's tuner profiles one sample (some models refuse stage 3). */
static int highest_stage(struct writing *w)
{
    const struct error before = w->problems; /* add_blocks reports invalid stages */
    int stages[STAGES_MOST], highest = 0;
    const size_t count = read_stages(w, stages);
    w->problems = before;
    for (size_t i = 0; i < count; i++)
        highest = stages[i] > highest ? stages[i] : highest;
    return highest;
}

static void describe_facts(const struct writing *w, cJSON *said)
{
    const struct toml_node *facts = known("autotuning", "facts");
    for (const struct toml_node *fact = facts->children; fact < facts->children + facts->child_count; fact++) {
        const struct json *j = w->knobs->model_info ? json_text_find(w->knobs->model_info, fact->key) : NULL;
        long long n;
        if (*fact->text && j && json_text_integer(j, &n))
            JSON_ADD(said, JSON_INT(fact->text, n));
    }
}

static void describe_hosts(const struct host_list *hosts, cJSON *said)
{
    cJSON *all = hosts && hosts->count ? cJSON_AddArrayToObject(said, "hosts") : NULL;
    for (size_t i = 0; all && i < hosts->count; i++) {
        cJSON *host = cJSON_CreateArray();
        cJSON_AddItemToArray(host, cJSON_CreateString(hosts->hosts[i].name));
        cJSON_AddItemToArray(host, cJSON_CreateIntArray(hosts->hosts[i].devices, (int)hosts->hosts[i].device_count));
        cJSON_AddItemToArray(all, host);
    }
}

/* Sequences are split only if the release can. */
static void describe_cluster(const struct writing *w, cJSON *said)
{
    const struct tuning_cluster *c = w->r->cluster;
    const bool splits = !w->knobs->fast && has_release(w, ds_key_since("sequence_parallel_size"));
    JSON_ADD(said, JSON_INT("nodes", c->nodes), JSON_INT("gpus", c->devices), JSON_INT("most_nodes", c->most_nodes),
             JSON_INT("most_gpus", c->most_devices), JSON_INT("sequence", splits ? most_sequence(w) : 1),
             JSON_TRUTH("names", c->names_hosts && c->hosts && c->hosts->count), JSON_STRING("hostfile", c->hostfile),
             JSON_STRING("include", c->include), JSON_STRING("exclude", c->exclude),
             JSON_TRUTH("exclusive", c->exclusive), JSON_TRUTH("here_alone", c->here_alone),
             /* The launcher starts what runs on a job's other hosts. */
             JSON_TRUTH("several_hosts", c->hostfile || (!c->here_alone && !tuning_cluster_is_one_host(c, w->knobs))),
             JSON_INT("host_bytes", may_lack_room(w) ? w->r->host_bytes : 0));
    describe_hosts(c->hosts, said);
}

/* Returns whether the script's text has a parser of all of the Trainer's arguments: transformers/hf_argparser.py;
 * trl's. */
static bool parses_as_trainer(const char *script)
{
    OWNED_BUFFER text = BUFFER_INIT;
    struct error ignored = ERROR_INIT;
    return file_read(script, 1u << 20, &text, &ignored) == 0 &&
           (strstr(buffer_text(&text), "HfArgumentParser") || strstr(buffer_text(&text), "TrlParser"));
}

/* Hugging Face's Trainer refuses a ds_config that differs from its arguments. The user's mappings override known
 * ones. */
static bool is_trainers(const struct tuning_request *r)
{
    return r->trainers || ds_arguments_have(r->program, "--per_device_train_batch_size") ||
           parses_as_trainer(r->program[0]);
}

static cJSON *texts_of(char *const *texts)
{
    int count = 0;
    while (texts && texts[count])
        count++;
    return cJSON_CreateStringArray((const char *const *)texts, count);
}

/* What the statements make the file of. */
static cJSON *describe(struct writing *w)
{
    const struct tuning_request *r = w->r;
    const struct autotuning *k = w->knobs;
    cJSON *said = cJSON_CreateObject();
    OWNED char *path = r->ds_file[0] == '/' ? xstrdup(r->ds_file) : xasprintf("./%s", r->ds_file);
    OWNED char *objective = xasprintf("%s:%s", k->maximise ? "max" : "min", k->metric);
    JSON_ADD(said, JSON_TRUTH("trainers", w->is_trainers), JSON_STRING("script", path_name(r->program[0])),
             JSON_STRING("objective", objective), JSON_INT("config_at", r->config_at), JSON_TRUTH("base64", r->base64),
             JSON_TRUTH("clean", r->clean), JSON_STRING("timeout", r->timeout), JSON_STRING("ds_file", path),
             JSON_STRING("version", r->version), JSON_STRING("asked", r->asked), JSON_INT("start_step", k->start_step),
             JSON_INT("end_step", k->end_step), JSON_INT("most_step", k->most_step), JSON_INT("mp_size", k->mp_size),
             JSON_TRUTH("fast", k->fast), JSON_TRUTH("every", k->maximise), JSON_INT("least_micro", k->min_micro_batch),
             JSON_INT("most_micro", k->max_micro_batch), JSON_TRUTH("from_least", r->from_smallest),
             JSON_INT("least", k->min_train_batch_size), JSON_INT("most", k->max_train_batch_size),
             JSON_INT("highest", highest_stage(w)));
    cJSON_AddItemToObject(said, "launcher", texts_of(r->launcher));
    cJSON_AddItemToObject(said, "program", texts_of(r->program));
    cJSON_AddItemToObject(said, "secrets", texts_of(r->secrets));
    describe_arguments(w, cJSON_AddArrayToObject(said, "arguments"));
    describe_mappings(w, cJSON_AddArrayToObject(said, "mappings"));
    describe_search(w, said);
    describe_facts(w, cJSON_AddObjectToObject(said, "facts"));
    describe_cluster(w, said);
    return said;
}

/* All but the blocks. */
static int write_rest(struct writing *w, struct tuning_notes *notes, struct error *e)
{
    OWNED_JSON *said = describe(w);
    OWNED char *text = cJSON_PrintUnformatted(said);
    OWNED_BUFFER root = BUFFER_INIT;
    OWNED_DB *db = NULL;
    OWNED_STMT *s = NULL;
    json_text_add(w->r->root, 0, &root);
    if (db_open(NULL, DB_TEMPORARY, &db, e) < 0 ||
        db_run(db, "CREATE TABLE asked AS SELECT ?1 AS config, ?2 AS told", VALUES(sql_text(root.data), sql_text(text)),
               e) < 0 ||
        db_exec(db, embedded_text("src/deepspeed/tuning_batches.sql"), e) < 0 ||
        db_query_texts(db, "SELECT value FROM answer JOIN json_each(sentences)", NO_VALUES, &notes->sentences, e) < 0 ||
        db_next(db, embedded_text("src/deepspeed/tuning_space.sql"), NO_VALUES, &s, e) < 0)
        return -1;
    buffer_add_text(w->out, stmt_text(s, 0));
    w->axis = stmt_copy_text(s, 1);
    notes->batches_differ = stmt_int(s, 2);
    return 0;
}

int tuning_space_write(const struct tuning_request *r, struct buffer *out, struct tuning_notes *notes, struct error *e)
{
    struct writing w = {.r = r, .knobs = r->knobs, .is_trainers = is_trainers(r), .out = out, .problems = ERROR_INIT};
    *notes = (struct tuning_notes){0};
    if (write_rest(&w, notes, e) < 0)
        return -1;
    add_blocks(&w);
    free(w.axis);
    if (w.problems.kind)
        *e = w.problems;
    return w.problems.kind ? -1 : 0;
}

#include "answers/idle_keys.h"

#include <string.h>

#include "deepspeed/ds_config.h"
#include "predict/inputs.h"
#include "predict/predictor.h"
#include "report/saying.h"
#include "results/json.h"
#include "run/scripts.h"
#include "space/job_texts.h"
#include "space/prediction.h"
#include "util/file.h"
#include "util/memory.h"

#define MOST_LOOKED_AT 64
#define WORDS_MOST 96
#define MOST_NAMED 64

static const double numbers[] = {0, 1, 2, 3, 4, 8, 64};

/* The values of a prediction. */
struct said {
    bool has_any, has_time;
    double numbers[8];
    char refusal[sizeof((struct error *)NULL)->text];
};

static void predict(const struct space *space, const struct input_value *values, struct said *out)
{
    const struct prediction *p;
    struct error e = ERROR_INIT;
    memset(out, 0, sizeof *out);
    out->has_any = predictor_predict(space->prediction.predictor, values, &p, &e) == 0;
    if (!out->has_any) {
        strcpy(out->refusal, e.text);
        return;
    }
    const double all[] = {p->memory.most.bytes,
                          p->memory.first.bytes,
                          p->memory.last.bytes,
                          p->memory.host_bytes,
                          p->memory.parameters,
                          p->seconds,
                          p->flops,
                          p->tokens};
    memcpy(out->numbers, all, sizeof all);
    out->has_time = p->has_time;
}

/* A word that the input does not accept says nothing about the others. */
static bool differs(const struct said *a, const struct said *b)
{
    if (strstr(b->refusal, INPUT_NOT_KNOWN))
        return false;
    bool same = strcmp(a->refusal, b->refusal) == 0;
    for (size_t i = 0; same && i < LENGTH(a->numbers); i++)
        same = a->numbers[i] == b->numbers[i];
    return !same;
}

static bool changes(const struct space *space, const struct input_value *values, size_t input, const struct said *as_is)
{
    const char *words[WORDS_MOST];
    size_t count = input_words(input, words, WORDS_MOST);
    struct input_value other[INPUT_COUNT];
    bool changed = false;
    memcpy(other, values, sizeof other);
    for (size_t k = 0; !changed && k < count + LENGTH(numbers); k++) {
        struct said said;
        other[input] = k < count ? (struct input_value){INPUT_TEXT, 0, words[k]}
                                 : (struct input_value){INPUT_NUMBER, numbers[k - count], NULL};
        predict(space, other, &said);
        changed = differs(as_is, &said);
    }
    return changed;
}

/* Keys of the model or the plan, except texts with their own syntax, and batches, which rules compare with others. */
static bool may_be_idle(const struct space *space, size_t input)
{
    const struct input_place *p = &inputs[input].place;
    bool is_own = p->member == MEMBER_OWN && input != AT_GLOBAL_BATCH && input < AT_PARAMS;
    bool is_of_plan = p->target == TO_ARCHITECTURE || p->target == TO_PLAN;
    return (is_own || (is_of_plan && p->member != MEMBER_TEXT)) && space->prediction.inputs[input] &&
           prediction_key(space, input);
}

static void look_at(const struct space *space, int64_t rank, bool *idle, bool *any)
{
    struct input_value values[INPUT_COUNT];
    struct said as_is;
    struct error ignored;
    if (prediction_inputs_at(space, rank, values, &ignored) < 0)
        return;
    predict(space, values, &as_is);
    if (!as_is.has_time)
        return;
    *any = true;
    for (size_t i = 0; i < INPUT_COUNT; i++)
        idle[i] = idle[i] && !changes(space, values, i, &as_is);
}

void idle_keys_add(const struct space *space, struct buffer *out)
{
    bool idle[INPUT_COUNT], any = false;
    size_t before = out->length;
    int64_t all = space->prediction.asked && space->prediction.predictor ? space_combinations(space) : 0;
    int64_t looked_at = all < MOST_LOOKED_AT ? all : MOST_LOOKED_AT;
    for (size_t i = 0; i < INPUT_COUNT; i++)
        idle[i] = may_be_idle(space, i);
    for (int64_t k = 0; k < looked_at; k++)
        look_at(space, looked_at > 1 ? (all - 1) / (looked_at - 1) * k : 0, idle, &any);
    for (size_t i = 0; any && i < INPUT_COUNT; i++)
        if (idle[i])
            buffer_printf(out, "%s%s", out->length > before ? ", " : "", prediction_key(space, i)->name);
}

/* `predicted_memory` reads every key that predictions use. */
bool key_is_read(const struct space *space, size_t key)
{
    const struct names *n = &space->names;
    for (size_t i = 0; i < n->derived_count; i++)
        for (size_t k = 0;
             strcmp(n->derived[i].name, "predicted_memory") == 0 && k < n->derived[i].expression.key_count; k++)
            if (n->derived[i].expression.keys[k] == key)
                return true;
    return false;
}

void unread_keys_add(const struct space *space, struct buffer *out)
{
    const struct names *n = &space->names;
    size_t count = 0;
    for (size_t i = 0; space->prediction.asked && i < n->key_count; i++)
        if (!n->keys[i].is_label && strcmp(n->keys[i].name, "hf_config") != 0 && strcmp(n->keys[i].name, "name") != 0 &&
            !key_is_read(space, i) && count++ < MOST_NAMED)
            buffer_printf(out, "%s%s", count > 1 ? ", " : "", n->keys[i].name);
    if (count > MOST_NAMED)
        buffer_printf(out, " and %zu more", count - MOST_NAMED);
}

/* --- keys that reach no part of the command --- */

#define SPEC_VARIABLE "MESHSWEEP_SPEC"

/* --- whether jobs read all keys by themselves --- */

static bool file_names_spec(const char *path)
{
    OWNED_BUFFER text = BUFFER_INIT;
    struct error ignored = ERROR_INIT;
    bool names = file_read(path, SCRIPT_BYTES_MOST, &text, &ignored) == 0 &&
                 memmem(buffer_text(&text), text.length, SPEC_VARIABLE, strlen(SPEC_VARIABLE)) != NULL;
    return names;
}

static bool reads_spec(const struct space *space)
{
    char **words = job_texts_command(space);
    struct scripts *scripts = scripts_create();
    OWNED char *json = scripts_json(scripts, words, NULL, "");
    cJSON *files = json ? cJSON_Parse(json) : NULL;
    const cJSON *file;
    bool reads = false;
    for (char **word = words; *word; word++)
        reads |= strstr(*word, SPEC_VARIABLE) != NULL;
    cJSON_ArrayForEach(file, files) reads = reads || file_names_spec(file->string);
    cJSON_Delete(files);
    scripts_free(scripts);
    strings_free(words);
    return reads;
}

/* --- what keys reach --- */

/* Expressions that give jobs nothing by themselves: they choose among combinations, or are read by others. */
static bool is_of_jobs(const struct space *space, const struct written_expression *w, enum reach what)
{
    static const char *const choosing[] = {"rule", "[job]"};
    static const char *const read_by_others[] = {"derived key", "inert key", "built-in rule", "placeholder"};
    if (strncmp(w->what, "[predict", 8) == 0 || (w->at.file && sweep_in_profile(space->sweep, &w->at)))
        return false;
    for (size_t i = 0; i < LENGTH(read_by_others); i++)
        if (strcmp(w->what, read_by_others[i]) == 0)
            return false;
    for (size_t i = 0; i < LENGTH(choosing); i++)
        if (strcmp(w->what, choosing[i]) == 0)
            return what == REACHES_CHOICE;
    return true;
}

static void mark(const struct expression *x, bool *reached)
{
    for (size_t i = 0; i < x->key_count; i++)
        reached[x->keys[i]] = true;
}

/* How many nodes, devices and processes there are (space/launch.h). */
static bool is_of_shape(const struct key *key)
{
    static const char *const names[] = {"num_hosts",     "num_nodes",        "nodes",          "num_devices_per_host",
                                        "gpus_per_node", "devices_per_node", "tasks_per_node", "cpus_per_task"};
    for (size_t i = 0; key->section == SECTION_CLUSTER && i < LENGTH(names); i++)
        if (strcmp(key->name, names[i]) == 0)
            return true;
    return false;
}

/* One per space->names.keys: whether it does, itself or through derived keys. The caller's. */
static bool *reached_keys(const struct space *space, enum reach what)
{
    const struct names *n = &space->names;
    bool *reached = xcalloc(n->key_count + 1, sizeof *reached);
    for (size_t i = 0; i < n->key_count; i++)
        reached[i] = is_of_shape(&n->keys[i]);
    for (size_t i = 0; i < space->placeholder_count; i++) {
        const struct placeholder *p = &space->placeholders[i];
        if (p->is_derived)
            mark(&n->derived[p->index].expression, reached);
        else
            reached[p->index] = true;
    }
    for (size_t i = 0; i < space->written_count; i++)
        if (is_of_jobs(space, &space->written[i], what))
            mark(&space->written[i].expression, reached);
    return reached;
}

/* --- axes --- */

/* Keys that move together are one axis: where one of them reaches something, so do the others. */
static bool axis_reaches(const struct space *space, int section, const struct axis *axis, const bool *reached)
{
    const struct names *n = &space->names;
    for (size_t k = 0; k < axis->key_count; k++) {
        const struct key *key = names_find(n, (enum section_kind)section, axis->keys[k]);
        if (!key || key->is_label || reached[key - n->keys] ||
            sweep_is_replicate(space->sweep, key->section, key->name) ||
            (space->sweep->deepspeed.given && section >= SECTION_TRAINING && ds_config_place(space->sweep, key->name)))
            return true;
    }
    return false;
}

cJSON *unreached_keys(const struct space *space, enum reach what)
{
    cJSON *found = cJSON_CreateObject();
    if (space->command.count == 0 || space->of_rows || space->of_jobs || reads_spec(space))
        return found;
    OWNED bool *reached = reached_keys(space, what);
    for (struct axis_place at = AXES_FROM(0); sweep_next_axis(space->sweep, &at);) {
        const struct axis *axis = at.axis;
        if (axis->value_count < 2 || axis_reaches(space, at.section, axis, reached))
            continue;
        for (size_t k = 0; k < axis->key_count; k++)
            if (!cJSON_HasObjectItem(found, axis->keys[k]))
                cJSON_AddNumberToObject(found, axis->keys[k], (double)axis->value_count);
    }
    return found;
}

/* --- sentences --- */

/* The first of them that a shell would be given as a variable of its own, which it does not have. */
static const char *shell_variable(const struct space *space, const cJSON *keys)
{
    char **words = job_texts_command(space);
    const char *found = NULL;
    const cJSON *key;
    cJSON_ArrayForEach(key, keys) for (char **word = words; !found && *word; word++)
    {
        OWNED char *variable = xasprintf("${%s}", key->string);
        found = strstr(*word, variable) ? key->string : NULL;
    }
    strings_free(words);
    return found;
}

/* NULL: there are none. The caller's. */
static char *sentence_of(const cJSON *keys, const cJSON *beside)
{
    struct buffer text = BUFFER_INIT;
    if (keys->child)
        saying_add_sentence("sql/texts/unreached.sql", keys, beside, &text);
    return text.length ? buffer_take(&text) : NULL;
}

char *unreached_sentence(const struct space *space)
{
    OWNED_JSON *keys = unreached_keys(space, REACHES_CHOICE), *beside = cJSON_CreateObject();
    JSON_ADD(beside, JSON_TEXT("variable", keys->child ? shell_variable(space, keys) : NULL));
    return sentence_of(keys, beside);
}

char *unreached_same(const struct space *space, int64_t jobs, int64_t different)
{
    OWNED_JSON *keys = jobs > 0 ? unreached_keys(space, REACHES_JOBS) : cJSON_CreateObject();
    OWNED_JSON *beside = cJSON_CreateObject();
    JSON_ADD(beside, JSON_INT("jobs", jobs), JSON_INT("different", different));
    return sentence_of(keys, beside);
}

#include "answers/unreached.h"

#include <string.h>

#include "deepspeed/ds_config.h"
#include "report/saying.h"
#include "results/json.h"
#include "run/scripts.h"
#include "space/job_texts.h"
#include "util/file.h"
#include "util/memory.h"

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

static void mark(const size_t *keys, size_t count, bool *reached)
{
    for (size_t i = 0; i < count; i++)
        reached[keys[i]] = true;
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
            mark(n->derived[p->index].keys, n->derived[p->index].key_count, reached);
        else
            reached[p->index] = true;
    }
    for (size_t i = 0; i < space->written_count; i++)
        if (is_of_jobs(space, &space->written[i], what))
            mark(space->written[i].keys, space->written[i].key_count, reached);
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

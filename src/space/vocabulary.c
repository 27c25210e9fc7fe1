#include "space/vocabulary.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "predict/device.h"
#include "util/memory.h"
#include "util/suggest.h"

#define MOST_WORDS 96

struct vocabulary {
    const char *words[MOST_WORDS];
    size_t count;
    bool of_devices;
    bool several; /* of the words, in one text */
};

static void take_devices(struct vocabulary *v)
{
    int64_t count;
    const struct device *devices = device_table(&count);
    v->of_devices = true;
    for (; (int64_t)v->count < count && v->count < MOST_WORDS; v->count++)
        v->words[v->count] = devices[v->count].name;
}

static bool knows_word(const struct vocabulary *v, const char *word)
{
    for (size_t i = 0; i < v->count; i++)
        if (strcasecmp(v->words[i], word) == 0)
            return true;
    return false;
}

static bool knows(const struct vocabulary *v, const char *text)
{
    char name[INPUT_NAME_MOST];
    bool known = true;
    if (v->of_devices)
        return device_find(text) != NULL;
    if (!v->several)
        return knows_word(v, text);
    while (input_next_name(&text, name))
        known &= knows_word(v, name);
    return known;
}

/* Where the file mentions the key first; [predict] where it does not. */
static const struct position *position_of(const struct space *space, const struct key *key)
{
    const struct section *section = &space->sweep->sections[key->section];
    for (size_t b = 0; b < section->block_count; b++)
        for (size_t a = 0; a < section->blocks[b].axis_count; a++)
            for (size_t k = 0; k < section->blocks[b].axes[a].key_count; k++)
                if (strcasecmp(section->blocks[b].axes[a].keys[k], key->name) == 0)
                    return &section->blocks[b].axes[a].at;
    return &space->sweep->predict.device_at;
}

static char *describe(const struct vocabulary *v, const char *key, const char *word)
{
    const char *near = suggest_nearest(word, v->words, v->count);
    struct buffer known = BUFFER_INIT;
    for (size_t i = 0; i < v->count; i++)
        buffer_printf(&known, "%s%s", i ? ", " : "", v->words[i]);
    char *text =
        xasprintf("%s = \"%s\" says nothing to the predictor%s%s%s (it knows %s)%s", key, word,
                  near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "", buffer_text(&known),
                  v->of_devices ? "; else state peak_flops and memory_bandwidth in [predict], and device_memory" : "");
    buffer_free(&known);
    return text;
}

struct vocabulary_report {
    const struct space *space;
    struct problems *problems;
    char *first; /* of an import */
};

static void add_unknown(struct vocabulary_report *r, const struct position *at, char *text)
{
    if (!r->space->sweep->import.given)
        problems_add(r->problems, *at, "%s", text);
    else if (!r->first)
        r->first = xstrdup(text);
    free(text);
}

static void check_key(struct vocabulary_report *r, const struct vocabulary *v, const struct key *key)
{
    struct buffer sql = BUFFER_INIT;
    struct stmt *s = NULL;
    buffer_add_text(&sql, "SELECT DISTINCT ");
    expression_add_column(&sql, key);
    buffer_printf(&sql, " FROM \"%s\"", section_names[key->section]);
    if (db_prepare(r->space->db, buffer_text(&sql), &s, NULL) == 0)
        while (stmt_next(s, NULL) > 0)
            if (stmt_type(s, 0) == COLUMN_TEXT && strcmp(stmt_text(s, 0), "auto") != 0 && !knows(v, stmt_text(s, 0)))
                add_unknown(r, position_of(r->space, key), describe(v, key->name, stmt_text(s, 0)));
    stmt_free(s);
    buffer_free(&sql);
}

static void check_input(struct vocabulary_report *r, const struct vocabulary *v, size_t input)
{
    const struct names *names = &r->space->names;
    char *words = xasprintf("%s %s", inputs[input].name, inputs[input].synonyms), *rest = NULL;
    size_t index;
    for (char *name = strtok_r(words, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        if (names_resolve(names, name, &index) == RESOLVED_KEY)
            check_key(r, v, &names->keys[index]);
    free(words);
}

/* The first value of the key that means adapters; the caller's, NULL when there is none. */
static char *adapters_of(const struct space *space, const struct key *key)
{
    struct buffer sql = BUFFER_INIT;
    struct stmt *s = NULL;
    char *found = NULL;
    buffer_add_text(&sql, "SELECT DISTINCT ");
    expression_add_column(&sql, key);
    buffer_printf(&sql, " FROM \"%s\"", section_names[key->section]);
    if (db_prepare(space->db, buffer_text(&sql), &s, NULL) == 0)
        while (!found && stmt_next(s, NULL) > 0)
            if (stmt_type(s, 0) == COLUMN_TEXT && input_means_adapters(stmt_text(s, 0)))
                found = xstrdup(stmt_text(s, 0));
    stmt_free(s);
    buffer_free(&sql);
    return found;
}

/* Adapters are of no size before it is said where they are and of which rank. */
static void check_adapters(struct vocabulary_report *r)
{
    static const char *const wanted[] = {"lora_targets", "lora_rank"};
    const struct names *names = &r->space->names;
    const struct input *peft = &inputs[input_find("peft")];
    char *words = xasprintf("%s %s", peft->name, peft->synonyms), *rest = NULL;
    size_t index;
    for (char *name = strtok_r(words, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        if (names_resolve(names, name, &index) != RESOLVED_KEY)
            continue;
        const struct key *key = &names->keys[index];
        char *value = adapters_of(r->space, key);
        for (size_t i = 0; value && i < sizeof wanted / sizeof *wanted; i++)
            if (!r->space->prediction.inputs[input_find(wanted[i])])
                add_unknown(r, position_of(r->space, key),
                            xasprintf("%s = \"%s\" wants a key %s%s", name, value, wanted[i],
                                      i == 0 ? ", the modules that adapters are put on (\"q_proj v_proj\")" : ""));
        free(value);
    }
    free(words);
}

static bool is_declared(const struct predict_config *c, size_t input)
{
    for (size_t i = 0; i < c->key_count; i++)
        if (strcmp(c->keys[i].name, inputs[input].name) == 0)
            return true;
    return false;
}

char *vocabulary_check(const struct space *space, struct problems *problems)
{
    const struct predict_config *c = &space->sweep->predict;
    struct vocabulary_report r = {space, problems, NULL};
    bool states_device = c->peak_flops > 0 && c->memory_bandwidth > 0;
    size_t device = input_find("device");
    for (size_t i = 0; i < INPUT_COUNT && c->given; i++) {
        struct vocabulary v = {.several = input_takes_names(i)};
        if (i != device)
            v.count = input_words(i, v.words, MOST_WORDS);
        else if (!states_device)
            take_devices(&v);
        if (v.count > 0 && !is_declared(c, i))
            check_input(&r, &v, i);
        if (v.of_devices && c->device && !knows(&v, c->device))
            add_unknown(&r, &c->device_at, describe(&v, "[predict] device", c->device));
    }
    if (c->given)
        check_adapters(&r);
    return r.first;
}

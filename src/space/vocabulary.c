#include "space/vocabulary.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "predict/inputs.h"
#include "predict/layout.h"
#include "predict/mixer.h"
#include "space/prediction.h"
#include "sweep_file/devices.h"
#include "util/memory.h"
#include "util/string_list.h"
#include "util/suggest.h"

#define MOST_WORDS 96
#define MOST_MODELS 4096 /* and combinations, that are looked at */
#define MOST_FAULTS 8    /* that are told */

struct vocabulary {
    const char *words[MOST_WORDS];
    size_t count;
    const struct device_table *devices; /* of which it is one; NULL: of none */
    bool of_families;
    bool allows_kinds; /* "cuda" is no device, but does no harm where another key or [predict] says one */
    bool several;      /* of the words, in one text */
};

/* Those of the file, then those that the program carries and none of the file's stands for. */
static void take_devices(struct vocabulary *v)
{
    const struct device_table *const tables[] = {v->devices, devices_carried()};
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t]->count && v->count < MOST_WORDS; i++)
            if (device_find(v->devices, tables[t]->items[i].name) == &tables[t]->items[i])
                v->words[v->count++] = tables[t]->items[i].name;
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
    if (v->devices)
        return device_find(v->devices, text) || (v->allows_kinds && device_is_kind(text));
    if (v->of_families)
        return input_family(text) >= 0;
    if (!v->several)
        return knows_word(v, text);
    while (input_next_name(&text, name))
        known &= knows_word(v, name);
    return known;
}

/* Returns where the file mentions the key first; [predict] where it does not, or what is at fault is derived (NULL). */
static const struct position *position_of(const struct space *space, const struct key *key)
{
    const struct section *section = key ? &space->sweep->sections[key->section] : NULL;
    for (size_t b = 0; section && b < section->block_count; b++)
        for (size_t a = 0; a < section->blocks[b].axis_count; a++)
            for (size_t k = 0; k < section->blocks[b].axes[a].key_count; k++)
                if (strcasecmp(section->blocks[b].axes[a].keys[k], key->name) == 0)
                    return &section->blocks[b].axes[a].at;
    return &space->sweep->predict.device_at;
}

/* Those that begin with the word ("A100" has two sizes of memory), else the nearest. */
static void add_near(const struct vocabulary *v, const char *word, struct buffer *out)
{
    size_t length = strlen(word);
    for (size_t i = 0; length > 0 && i < v->count; i++)
        if (strncasecmp(v->words[i], word, length) == 0)
            buffer_printf(out, "%s\"%s\"", out->length ? " or " : "", v->words[i]);
    const char *near = out->length  ? NULL
                       : v->devices ? device_nearest(word, v->words, v->count)
                                    : suggest_nearest(word, v->words, v->count);
    if (near)
        buffer_printf(out, "\"%s\"", near);
}

static char *describe(const struct vocabulary *given, const char *key, const char *word)
{
    struct vocabulary all = *given, *v = &all;
    OWNED_BUFFER known = BUFFER_INIT, near = BUFFER_INIT;
    if (v->devices)
        take_devices(v);
    add_near(v, word, &near);
    for (size_t i = 0; i < v->count; i++)
        buffer_printf(&known, "%s%s", i ? ", " : "", v->words[i]);
    char *text =
        xasprintf(INPUT_NOT_KNOWN "%s = \"%s\"%s%s%s (it knows %s)%s", key, word, near.length ? "; did you mean " : "",
                  buffer_text(&near), near.length ? "?" : "", buffer_text(&known),
                  v->devices ? "; or set peak_flops and memory_bandwidth in [predict], and device_memory" : "");
    return text;
}

/* The key's texts, each once; none where they cannot be asked for. */
static struct string_list texts_of(const struct space *space, const struct key *key)
{
    OWNED_BUFFER column = BUFFER_INIT;
    struct string_list texts = STRING_LIST_INIT;
    expression_add_column(&column, key);
    OWNED char *sql = xasprintf("SELECT DISTINCT %s FROM \"%s\" WHERE typeof(%s) = 'text'", buffer_text(&column),
                                section_names[key->section], buffer_text(&column));
    db_query_texts(space->db, sql, NO_VALUES, &texts, NULL);
    return texts;
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

static bool is_declared(const struct predict_config *c, size_t input, bool by_profile)
{
    for (size_t i = 0; i < c->key_count; i++)
        if (c->keys[i].is_default == by_profile && strcmp(c->keys[i].name, inputs[input].name) == 0)
            return true;
    return false;
}

/* A profile's [predict.keys] make another value of the word, in each of the first combinations that have it. */
static bool is_translated(const struct space *space, size_t input, const struct key *key, const char *word)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    OWNED_STMT *s = NULL;
    if (!is_declared(&space->sweep->predict, input, true) || !space->prediction.inputs[input])
        return false;
    buffer_printf(&sql, "SELECT 1 FROM (SELECT %s AS said ", space->prediction.inputs[input]);
    space_add_from(space, ~0U, &sql);
    buffer_add_text(&sql, " AND ");
    expression_add_column(&sql, key);
    buffer_printf(&sql, " = ?1 LIMIT %d) WHERE said = ?1", MOST_MODELS);
    bool translated = db_prepare(space->db, buffer_text(&sql), &s, NULL) == 0;
    if (translated) {
        stmt_bind_text(s, 1, word);
        translated = stmt_next(s, NULL) == 0;
    }
    return translated;
}

static void check_key(struct vocabulary_report *r, const struct vocabulary *v, size_t input, const struct key *key)
{
    OWNED_LIST texts = texts_of(r->space, key);
    for (size_t i = 0; i < texts.count; i++)
        if (strcmp(texts.items[i], "auto") != 0 && !knows(v, texts.items[i]) &&
            !is_translated(r->space, input, key, texts.items[i]))
            add_unknown(r, position_of(r->space, key), describe(v, key->name, texts.items[i]));
}

bool vocabulary_is_of_another(const struct space *space, size_t input, const char *name)
{
    const struct names *n = &space->names;
    for (size_t i = 0; i < n->synonym_count; i++)
        for (char **key = n->synonyms[i].keys; *key; key++)
            if (strcmp(*key, name) == 0) {
                size_t other = input_find(n->synonyms[i].name);
                return other < INPUT_COUNT && other != input;
            }
    return false;
}

/* The keys that the input is read from; of a profile's [synonym] the name and the key are one. The caller's. */
static const struct key **keys_of(const struct space *space, size_t input, size_t *count)
{
    const struct names *names = &space->names;
    const struct key **keys = NULL;
    char *words = xasprintf("%s %s", inputs[input].name, inputs[input].synonyms), *rest = NULL;
    size_t index;
    *count = 0;
    for (char *name = strtok_r(words, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        if (!vocabulary_is_of_another(space, input, name) && names_resolve(names, name, &index) == RESOLVED_KEY &&
            (*count == 0 || keys[*count - 1] != &names->keys[index]))
            *array_add(keys, *count) = &names->keys[index];
    free(words);
    return keys;
}

const struct key *vocabulary_key(const struct space *space, size_t input)
{
    size_t count;
    OWNED const struct key **keys = keys_of(space, input, &count);
    const struct key *first = count ? keys[0] : NULL;
    return first;
}

/* --- texts of a form of their own --- */

static bool is_layout(const char *text)
{
    struct pipeline_layout layout;
    return layout_is_whole(text) && layout_read(text, &layout);
}

static bool is_pattern(const char *text)
{
    struct hybrid_layers stack;
    return hybrid_read(text, false, &stack);
}

static const struct form {
    const char *input;
    bool (*reads)(const char *text);
    const char *wanted;
} forms[] = {
    {"pipeline_layout", is_layout,
     "not a layout: write E, t, m and L, with E first, L last and | between stages, such as \"Et*3|(tt|)*6tmL\""},
    {"hybrid_pattern", is_pattern, "not a pattern: write one letter per layer, M or G, *, - and E, such as \"M-M*-\""},
};

static void check_forms(struct vocabulary_report *r)
{
    for (size_t i = 0; i < LENGTH(forms); i++) {
        const struct key *key = vocabulary_key(r->space, input_find(forms[i].input));
        OWNED_LIST texts = key ? texts_of(r->space, key) : STRING_LIST_INIT;
        for (size_t k = 0; k < texts.count; k++)
            if (!forms[i].reads(texts.items[k]))
                add_unknown(r, position_of(r->space, key),
                            xasprintf("%s = \"%.80s\" is %s", key->name, texts.items[k], forms[i].wanted));
    }
}

/* --- models that contradict themselves --- */

/* The keys that say something of the model, and the sections that they are in. */
struct model_keys {
    const struct key *keys[INPUT_COUNT];
    unsigned sections;
};

/* False where an input of the model is an expression of the file, or derived: that may read any section. */
static bool find_model_keys(const struct space *space, struct model_keys *out)
{
    *out = (struct model_keys){.sections = 0};
    for (size_t i = 0; i < INPUT_COUNT; i++) {
        if (!input_is_of_model(i) || !space->prediction.inputs[i])
            continue;
        out->keys[i] = vocabulary_key(space, i);
        if (!out->keys[i])
            return false;
        out->sections |= 1U << out->keys[i]->section;
    }
    return true;
}

/* The input that the fault begins with; INPUT_COUNT where it begins with none. */
static size_t input_at_fault(const char *text)
{
    size_t i = 0;
    for (; i < INPUT_COUNT; i++) {
        size_t length = strlen(inputs[i].name);
        if (strncmp(text, inputs[i].name, length) == 0 && text[length] && strchr(" ,:=", text[length]))
            break;
    }
    return i;
}

/* The key that it is read from, else the one that has the layers. */
static const struct key *key_at_fault(const struct space *space, const char *text)
{
    size_t input = input_at_fault(text);
    const struct key *key = input < INPUT_COUNT ? vocabulary_key(space, input) : NULL;
    return key ? key : vocabulary_key(space, input_find("layers"));
}

void vocabulary_read_inputs(const struct stmt *s, int first, struct input_value *values)
{
    for (int i = 0; i < INPUT_COUNT; i++) {
        const double number = stmt_double_or_nan(s, first + i);
        values[i] = stmt_type(s, first + i) == COLUMN_TEXT
                        ? (struct input_value){INPUT_TEXT, 0, stmt_text(s, first + i)}
                    : isnan(number) ? (struct input_value){INPUT_ABSENT, 0, NULL}
                                    : (struct input_value){INPUT_NUMBER, number, NULL};
    }
}

static bool lacks_something(const struct input_value *values)
{
    OWNED_BUFFER missing = BUFFER_INIT;
    bool present[INPUT_COUNT];
    for (size_t i = 0; i < INPUT_COUNT; i++)
        present[i] = values[i].kind != INPUT_ABSENT;
    inputs_add_missing(present, &missing);
    bool lacks = missing.length > 0;
    return lacks;
}

typedef bool judge(const struct space *space, struct input_value *values, struct error *e);

/* Whatever the plan: on one device, of a batch of one. */
static bool is_sound_model(const struct space *space, struct input_value *values, struct error *e)
{
    const struct input_value one = {INPUT_NUMBER, 1, NULL};
    struct subject subject;
    (void)space;
    values[input_find("seq")] = values[input_find("micro_batch")] = one;
    return lacks_something(values) || inputs_decode(values, &subject, e) == 0;
}

static bool is_predicted(const struct space *space, struct input_value *values, struct error *e)
{
    const struct prediction *p;
    return predictor_predict(space->prediction.predictor, values, &p, e) == 0;
}

/* Reports faults where none of the rows is sound; one that is may be what rules leave. */
static void tell_faults(struct vocabulary_report *r, struct stmt *s, judge *is_sound)
{
    OWNED_LIST faults = STRING_LIST_INIT;
    bool any = false;
    while (!any && stmt_next(s, NULL) > 0) {
        struct input_value values[INPUT_COUNT];
        struct error e = ERROR_INIT;
        vocabulary_read_inputs(s, 0, values);
        any = is_sound(r->space, values, &e);
        if (!any && faults.count < MOST_FAULTS && string_list_find(&faults, e.text) == faults.count)
            string_list_add(&faults, xstrdup(e.text));
    }
    for (size_t i = 0; !any && i < faults.count; i++)
        add_unknown(r, position_of(r->space, key_at_fault(r->space, faults.items[i])), xstrdup(faults.items[i]));
}

static void check_models(struct vocabulary_report *r)
{
    struct model_keys m;
    OWNED_BUFFER sql = BUFFER_INIT;
    OWNED_STMT *s = NULL;
    if (r->problems->found > 0 || !find_model_keys(r->space, &m) || !m.keys[input_find("layers")])
        return;
    buffer_add_text(&sql, "SELECT DISTINCT ");
    for (size_t i = 0; i < INPUT_COUNT; i++)
        buffer_printf(&sql, "%s%s", i ? ", " : "", m.keys[i] ? r->space->prediction.inputs[i] : "NULL");
    space_add_from(r->space, m.sections, &sql);
    buffer_printf(&sql, " LIMIT %d", MOST_MODELS);
    if (db_prepare(r->space->db, buffer_text(&sql), &s, NULL) == 0)
        tell_faults(r, s, is_sound_model);
}

/* Only where all can be looked at. */
static void check_combinations(struct vocabulary_report *r)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    OWNED_STMT *s = NULL;
    if (r->problems->found > 0 || r->space->sweep->import.given || !r->space->prediction.predictor ||
        space_combinations(r->space) > MOST_MODELS)
        return;
    buffer_add_text(&sql, "SELECT ");
    prediction_add_columns(r->space, &sql);
    buffer_add_text(&sql, " ");
    space_add_from(r->space, ~0U, &sql);
    if (db_prepare(r->space->db, buffer_text(&sql), &s, NULL) == 0)
        tell_faults(r, s, is_predicted);
}

/* --- adapters --- */

/* The first text of the key that means adapters; NULL: there is none. */
static const char *adapters_among(const struct string_list *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        if (input_means_adapters(texts->items[i]))
            return texts->items[i];
    return NULL;
}

/* No value of the key names any module. */
static bool names_nothing(const struct space *space, const struct key *key)
{
    OWNED_LIST texts = texts_of(space, key);
    bool nothing = true;
    for (size_t i = 0; i < texts.count; i++) {
        char name[INPUT_NAME_MOST];
        const char *text = texts.items[i];
        nothing = nothing && !input_next_name(&text, name);
    }
    return nothing;
}

/* Adapters are of no size before it is said where they are and of which rank. */
static void check_adapters(struct vocabulary_report *r)
{
    static const char *const wanted[] = {"lora_targets", "lora_rank"};
    size_t count;
    OWNED const struct key **keys = keys_of(r->space, input_find("peft"), &count);
    for (size_t k = 0; k < count; k++) {
        const struct key *key = keys[k];
        OWNED_LIST texts = texts_of(r->space, key);
        const char *value = adapters_among(&texts);
        for (size_t i = 0; value && i < LENGTH(wanted); i++)
            if (!r->space->prediction.inputs[input_find(wanted[i])])
                add_unknown(r, position_of(r->space, key),
                            xasprintf("%s = \"%s\" needs a key %s%s", key->name, value, wanted[i],
                                      i == 0 ? ", the modules to which adapters are added, such as \"q_proj v_proj\""
                                             : ""));
        const struct key *targets = vocabulary_key(r->space, input_find("lora_targets"));
        if (value && targets && names_nothing(r->space, targets))
            add_unknown(r, position_of(r->space, targets),
                        xasprintf("%s names no module to which adapters are added, such as \"q_proj v_proj\"",
                                  targets->name));
    }
}

char *vocabulary_check(const struct space *space, struct problems *problems)
{
    const struct predict_config *c = &space->sweep->predict;
    struct vocabulary_report r = {space, problems, NULL};
    bool states_device = c->peak_flops > 0 && c->memory_bandwidth > 0;
    size_t device = input_find("device");
    for (size_t i = 0; i < INPUT_COUNT && c->given; i++) {
        struct vocabulary v = {.of_families = i == input_find("family"), .several = input_takes_names(i)};
        size_t count;
        OWNED const struct key **keys = keys_of(space, i, &count);
        if (i != device)
            v.count = input_words(i, v.words, MOST_WORDS);
        else if (!states_device)
            v.devices = &space->sweep->devices;
        v.allows_kinds = v.devices && (c->device || count > 1);
        for (size_t k = 0; k < count && (v.devices || v.count > 0) && !is_declared(c, i, false); k++)
            check_key(&r, &v, i, keys[k]);
        if (v.devices && c->device && !knows(&v, c->device))
            add_unknown(&r, &c->device_at, describe(&v, "[predict] device", c->device));
    }
    if (c->given) {
        check_adapters(&r);
        check_forms(&r);
        check_models(&r);
        check_combinations(&r);
    }
    return r.first;
}

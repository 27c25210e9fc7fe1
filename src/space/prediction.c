#include "space/prediction.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/meaning.h"
#include "database/function.h"
#include "predict/inputs.h"
#include "predict/layout.h"
#include "predict/mixer.h"
#include "space/build.h"
#include "space/compile.h"
#include "sweep_file/devices.h"
#include "sweep_file/model_info_sweep.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/string_list.h"
#include "util/suggest.h"

/* --- the functions --- */

struct input_value prediction_input(struct sql_value a)
{
    return a.type == COLUMN_TEXT    ? (struct input_value){INPUT_TEXT, 0, a.text}
           : a.type == COLUMN_INT   ? (struct input_value){INPUT_NUMBER, (double)a.integer, NULL}
           : a.type == COLUMN_FLOAT ? (struct input_value){INPUT_NUMBER, a.real, NULL}
                                    : (struct input_value){INPUT_ABSENT, 0, NULL};
}

/* The counter and the rank of the metric that memory is compared with. */
static void set_measured(const struct sweep *s, struct predictor_options *o)
{
    const char *metric = sweep_memory_metric(s);
    const char *counter = metric ? metric_meaning(s, metric)->counter : NULL;
    const struct metric *m = metric ? job_find_metric(&s->job, metric) : NULL;
    if (counter)
        o->counter = strcmp(counter, "allocated") == 0 ? COUNTS_ALLOCATED
                     : strcmp(counter, "device") == 0  ? COUNTS_DEVICE
                                                       : COUNTS_RESERVED;
    if (m && m->rank)
        o->rank = strcmp(m->rank, "last") == 0                                 ? RANK_LAST
                  : strcmp(m->rank, "first") == 0 || strcmp(m->rank, "0") == 0 ? RANK_FIRST
                                                                               : RANK_MOST_LOADED;
}

/* `problems` NULL: there cannot be any. */
static void create_predictor(struct space_prediction *p, struct problems *problems)
{
    const struct predict_config *c = &p->sweep->predict;
    struct error why = ERROR_INIT;
    struct predictor_options options = {.framework = c->framework,
                                        .profiles = p->sweep->profile_names,
                                        .is_own =
                                            ANY(i, c->number_count,
                                                !c->numbers[i].is_time && strcmp(c->numbers[i].name, "parameter") == 0),
                                        .device = c->device,
                                        .cluster = c->cluster,
                                        .devices = &p->sweep->devices,
                                        .certain = c->certain,
                                        .risky = c->risky,
                                        .peak_flops = c->peak_flops,
                                        .memory_bandwidth = c->memory_bandwidth,
                                        .link_bandwidth = c->link_bandwidth,
                                        .network_bandwidth = c->network_bandwidth,
                                        .network_latency = c->network_latency};
    set_measured(p->sweep, &options);
    struct predictor_options fallback = options;
    fallback.framework = NULL;
    if (predictor_create(&options, &p->predictor, &why) < 0) {
        problems_add(problems, c->framework_at, "%s", why.text);
        predictor_create(&fallback, &p->predictor, &why);
    }
    for (size_t i = 0; i < c->number_count; i++) {
        const struct predict_number *n = &c->numbers[i];
        if (predictor_set(p->predictor, n->name, n->is_time, n->value, &why) < 0)
            problems_add(problems, n->at, "[predict.%s]: %s", n->is_time ? "time" : "memory", why.text);
    }
}

struct predictor *prediction_predictor(struct space_prediction *p)
{
    if (!p->predictor)
        create_predictor(p, NULL);
    return p->predictor;
}

static const struct prediction *predict(struct space_prediction *p, const struct input_value *values)
{
    const struct prediction *found;
    /* Not ERROR_INIT: 16 KiB would be cleared for every combination. */
    p->scratch.kind = ERROR_NONE;
    p->scratch.text[0] = '\0';
    return predictor_predict(prediction_predictor(p), values, &found, &p->scratch) == 0 ? found : NULL;
}

enum predicted { MEMORY, TIME, FLOPS, MFU, PARAMS, OOM_PROBABILITY, RISK, FITS };
static const struct {
    const char *function, *key;
} functions[] = {[MEMORY] = {"predict_memory", "predicted_memory"},
                 [TIME] = {"predict_time", "predicted_time"},
                 [FLOPS] = {"predict_flops", "predicted_flops"},
                 [MFU] = {"predict_mfu", "predicted_mfu"},
                 [PARAMS] = {"predict_params", "predicted_params"},
                 [OOM_PROBABILITY] = {"predict_oom_probability", "oom_probability"},
                 [RISK] = {"predict_risk", "predicted_risk"},
                 [FITS] = {"predict_fits", "predicted_fits"}};

/* NAN: not known. */
static double value_of(const struct prediction *p, enum predicted what)
{
    const double values[] = {[MEMORY] = p->has_memory ? p->memory.most.bytes : NAN,
                             [TIME] = p->has_time ? p->seconds : NAN,
                             [FLOPS] = p->flops > 0 ? p->flops : NAN,
                             [MFU] = p->has_time ? p->peak_seconds / p->seconds : NAN,
                             [PARAMS] = p->has_memory ? p->memory.parameters : NAN,
                             [OOM_PROBABILITY] = p->has_probability ? p->oom_probability : NAN,
                             [RISK] = p->verdict ? p->verdict : NAN};
    return values[what];
}

/* The same combination is drawn for the audit in every run of one seed. */
static bool is_audited(const struct space_prediction *p, const struct input_value *values)
{
    OWNED_BUFFER b = BUFFER_INIT;
    buffer_add(&b, &p->seed, sizeof p->seed);
    for (size_t i = 0; i < INPUT_COUNT; i++) {
        buffer_add(&b, &values[i].number, sizeof values[i].number);
        if (values[i].kind == INPUT_TEXT)
            buffer_add_text(&b, values[i].text);
    }
    struct hash128 hash = hash_bytes(b.data, b.length);
    uint32_t draw =
        (uint32_t)hash.bytes[0] << 24 | (uint32_t)hash.bytes[1] << 16 | (uint32_t)hash.bytes[2] << 8 | hash.bytes[3];
    return (double)draw < p->audit * 4294967296.0;
}

bool prediction_prunes(const struct space_prediction *p, enum oom_verdict verdict)
{
    return (p->prune == PRUNE_CERTAIN && verdict == OOM_CERTAIN) || (p->prune == PRUNE_RISKY && verdict >= OOM_RISK);
}

const char *prediction_memory_words(const struct space_prediction *of, const struct prediction *p)
{
    return !p || of->memory_words[0] || p->memory_calibrated || p->by_line ? of->memory_words
                                                                           : "reserved, largest rank";
}

static bool call(void *context, const struct sql_value *arguments, int count, double *out)
{
    /* One context per function would have to be owned by somebody: the number comes as the first argument. */
    struct space_prediction *p = context;
    struct input_value *values = p->values;
    size_t f = (size_t)arguments[0].integer;
    if (count != p->bound_count + 1 || f >= LENGTH(functions))
        return false;
    for (int i = 0; i < p->bound_count; i++)
        values[p->bound[i]] = prediction_input(arguments[i + 1]);
    const struct prediction *found = predict(p, values);
    if (!found)
        return false;
    if (f != FITS) {
        *out = value_of(found, (enum predicted)f);
        return !isnan(*out);
    }
    *out = !prediction_prunes(p, found->verdict) || is_audited(p, values);
    return found->verdict != 0;
}

/* --- words of specs that predictions must know: devices, precisions, schedules, kinds of recomputation, … --- */

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
    return ANY(i, v->count, strcasecmp(v->words[i], word) == 0);
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
    for (struct axis_place at = AXES_OF(key ? key->section : SECTION_COUNT); key && sweep_next_axis(space->sweep, &at);)
        for (size_t k = 0; k < at.axis->key_count; k++)
            if (strcasecmp(at.axis->keys[k], key->name) == 0)
                return &at.axis->at;
    return &space->sweep->predict.device_at;
}

/* Those that begin with the word ("A100" has two sizes of memory), else the nearest. */
static void add_near(const struct vocabulary *v, const char *word, struct buffer *out)
{
    size_t length = strlen(word);
    for (size_t i = 0; length > 0 && i < v->count; i++)
        if (strncasecmp(v->words[i], word, length) == 0)
            buffer_printf(out, "%s\"%s\"", out->length ? " or " : "", v->words[i]);
    struct suggestion meant = v->devices ? device_suggest_for(word) : suggest_for(word);
    for (size_t i = 0; out->length == 0 && i < v->count; i++)
        (v->devices ? device_suggest_try : suggest_try)(&meant, v->words[i]);
    buffer_add_text(out, suggest_between(&meant, "\"", "\""));
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
    return xasprintf(INPUT_NOT_KNOWN "%s = \"%s\"%s%s%s (it knows %s)%s", key, word,
                     near.length ? "; did you mean " : "", buffer_text(&near), near.length ? "?" : "",
                     buffer_text(&known),
                     v->devices ? "; or set peak_flops and memory_bandwidth in [predict], and device_memory" : "");
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
    return ANY(i, c->key_count,
               c->keys[i].is_default == by_profile && strcmp(c->keys[i].name, inputs[input].name) == 0);
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
        stmt_bind_at(s, 1, sql_text(word));
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

/* `name`, which by itself would be a name of the input, is by a [synonym] one of another input. */
static bool is_of_another(const struct space *space, size_t input, const char *name)
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
    size_t index;
    *count = 0;
    for (const char *const *name = inputs[input].names; *name; name++)
        if (!is_of_another(space, input, *name) && names_resolve(names, *name, &index) == RESOLVED_KEY &&
            (*count == 0 || keys[*count - 1] != &names->keys[index]))
            *array_add(keys, *count) = &names->keys[index];
    return keys;
}

const struct key *prediction_key(const struct space *space, size_t input)
{
    size_t count;
    OWNED const struct key **keys = keys_of(space, input, &count);
    return count ? keys[0] : NULL;
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
        const struct key *key = prediction_key(r->space, input_find(forms[i].input));
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
        out->keys[i] = prediction_key(space, i);
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
    const struct key *key = input < INPUT_COUNT ? prediction_key(space, input) : NULL;
    return key ? key : prediction_key(space, AT_LAYERS);
}

static bool lacks_something(const struct input_value *values)
{
    OWNED_BUFFER missing = BUFFER_INIT;
    bool present[INPUT_COUNT];
    for (size_t i = 0; i < INPUT_COUNT; i++)
        present[i] = values[i].kind != INPUT_ABSENT;
    inputs_add_missing(present, &missing);
    return missing.length > 0;
}

typedef bool judge(const struct space *space, struct input_value *values, struct error *e);

/* Whatever the plan: on one device, of a batch of one. */
static bool is_sound_model(const struct space *space, struct input_value *values, struct error *e)
{
    const struct input_value one = {INPUT_NUMBER, 1, NULL};
    struct subject subject;
    (void)space;
    values[AT_SEQ] = values[AT_MICRO_BATCH] = one;
    return lacks_something(values) || inputs_decode(values, &subject, e) == 0;
}

static bool is_predicted(const struct space *space, struct input_value *values, struct error *e)
{
    const struct prediction *p;
    return predictor_predict(space->prediction.predictor, values, &p, e) == 0;
}

/* Reports faults where nothing is sound of what the inputs come to, those of the model (`m`; NULL: all) over its
 * sections; what is may be what rules leave. */
static void tell_faults(struct vocabulary_report *r, const struct model_keys *m, judge *is_sound)
{
    const char *const *sources = r->space->prediction.inputs;
    OWNED_LIST faults = STRING_LIST_INIT;
    OWNED_BUFFER sql = BUFFER_INIT;
    OWNED_STMT *s = NULL;
    buffer_add_text(&sql, "SELECT DISTINCT ");
    for (size_t i = 0; i < INPUT_COUNT; i++)
        buffer_printf(&sql, "%s%s", i ? ", " : "", sources[i] && (!m || m->keys[i]) ? sources[i] : "NULL");
    space_add_from(r->space, m ? m->sections : ~0U, &sql);
    buffer_printf(&sql, " LIMIT %d", MOST_MODELS);
    bool any = db_prepare(r->space->db, buffer_text(&sql), &s, NULL) < 0;
    while (!any && stmt_next(s, NULL) > 0) {
        struct input_value values[INPUT_COUNT];
        struct error e = ERROR_INIT;
        for (int i = 0; i < INPUT_COUNT; i++) {
            const struct datum cell = datum_of_column(s, i);
            values[i] = prediction_input(datum_sql(&cell));
        }
        any = is_sound(r->space, values, &e);
        if (!any && faults.count < MOST_FAULTS && string_list_find(&faults, e.text) == faults.count)
            string_list_add(&faults, xstrdup(e.text));
    }
    for (size_t i = 0; !any && i < faults.count; i++)
        add_unknown(r, position_of(r->space, key_at_fault(r->space, faults.items[i])), xstrdup(faults.items[i]));
}

/* Models by themselves, and combinations where all can be looked at. */
static void check_soundness(struct vocabulary_report *r)
{
    struct model_keys m;
    if (r->problems->found == 0 && find_model_keys(r->space, &m) && m.keys[AT_LAYERS])
        tell_faults(r, &m, is_sound_model);
    if (r->problems->found == 0 && !r->space->sweep->import.given && r->space->prediction.predictor &&
        space_combinations(r->space) <= MOST_MODELS)
        tell_faults(r, NULL, is_predicted);
}

/* --- adapters --- */

/* The first text of the key that means adapters; NULL: there is none. */
static const char *adapters_among(const struct string_list *texts)
{
    return FIND(i, texts->count, input_means_adapters(texts->items[i]), texts->items[i]);
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
    OWNED const struct key **keys = keys_of(r->space, AT_PEFT, &count);
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
        const struct key *targets = prediction_key(r->space, AT_LORA_TARGETS);
        if (value && targets && names_nothing(r->space, targets))
            add_unknown(r, position_of(r->space, targets),
                        xasprintf("%s names no module to which adapters are added, such as \"q_proj v_proj\"",
                                  targets->name));
    }
}

/* For a sweep whose predictions are asked for: every text of a key that an input is read from, and that the input does
 * not know, is a problem at its key, with the nearest of the words that there are, unless a profile's [predict.keys]
 * make another value of it. A device may be unknown where [predict] states what it can do. So are a layout of stages
 * and a pattern of layers that cannot be read, adapters without modules or rank, and, where no model of the sweep is
 * free of contradictions, or of up to 4,096 combinations none can be predicted, what is wrong with them. Where the
 * sweep has [import] the first is returned instead; else NULL. */
static const char *check_words(struct space *space, struct problems *problems)
{
    const struct predict_config *c = &space->sweep->predict;
    struct vocabulary_report r = {space, problems, NULL};
    bool states_device = c->peak_flops > 0 && c->memory_bandwidth > 0;
    for (size_t i = 0; i < INPUT_COUNT && c->given; i++) {
        struct vocabulary v = {.of_families = i == AT_FAMILY, .several = input_takes_names(i)};
        size_t count;
        OWNED const struct key **keys = keys_of(space, i, &count);
        if (i != AT_DEVICE)
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
        check_soundness(&r);
    }
    return r.first ? arena_keep(&space->arena, r.first) : NULL;
}

/* --- mapping keys to inputs --- */

struct mapping {
    struct space *space;
    struct problems *problems;
    struct expression all; /* keys of every input */
};

static void absorb(struct mapping *m, const struct expression *x)
{
    for (size_t i = 0; i < x->key_count; i++)
        if (!ANY(k, m->all.key_count, m->all.keys[k] == x->keys[i]))
            *arena_add(&m->space->arena, m->all.keys, m->all.key_count) = x->keys[i];
}

static void add_part(struct mapping *m, const char *name, struct buffer *parts, size_t *count)
{
    struct expression x;
    struct error ignored;
    size_t index;
    if (names_resolve(&m->space->names, name, &index) == RESOLVED_UNKNOWN ||
        expression_resolve(&m->space->names, name, UNKNOWN_IS_ERROR, &x, &ignored) < 0 ||
        strcmp(x.sql, "(" FACT_UNKNOWN ")") == 0)
        return;
    buffer_printf(parts, "%s%s", *count ? ", " : "", x.sql);
    (*count)++;
    absorb(m, &x);
}

/* Keys of that name: one, or those of several sections. */
static void add_key(struct mapping *m, const char *name, struct buffer *parts, size_t *count)
{
    size_t index;
    if (names_resolve(&m->space->names, name, &index) != RESOLVED_AMBIGUOUS) {
        add_part(m, name, parts, count);
        return;
    }
    for (int section = 0; section < SECTION_COUNT; section++) {
        OWNED char *qualified = xasprintf("%s.%s", section_names[section], name);
        add_part(m, qualified, parts, count);
    }
}

static const char *map_synonyms(struct mapping *m, size_t input)
{
    OWNED_BUFFER parts = BUFFER_INIT;
    size_t count = 0;
    for (const char *const *name = inputs[input].names; *name; name++)
        if (!is_of_another(m->space, input, *name))
            add_key(m, *name, &parts, &count);
    return count == 0 ? NULL
                      : arena_keep(&m->space->arena,
                                   count == 1 ? buffer_take(&parts) : xasprintf("coalesce(%s)", buffer_text(&parts)));
}

/* False where the sweep has none of the keys that it reads, and it is NULL without. */
static bool says_something(const struct space *space, const struct expression *x)
{
    OWNED_STMT *s = NULL;
    OWNED char *sql = xasprintf("SELECT %s", x->sql);
    bool is_null = x->key_count == 0 && db_prepare(space->db, sql, &s, NULL) == 0 && stmt_next(s, NULL) > 0 &&
                   stmt_type(s, 0) == COLUMN_NULL;
    return !is_null;
}

/* Returns what a profile says of an input, and the input's own keys where it says nothing. */
static const char *map_default(struct mapping *m, size_t input, const char *sql)
{
    const char *keys = map_synonyms(m, input);
    return keys ? arena_keep(&m->space->arena, xasprintf("coalesce(%s, %s)", sql, keys)) : sql;
}

static void map_declared(struct mapping *m)
{
    const struct predict_config *c = &m->space->sweep->predict;
    for (size_t i = 0; i < c->key_count; i++) {
        const struct predict_key *k = &c->keys[i];
        struct expression x;
        size_t input = input_find(k->name);
        if (input == INPUT_COUNT) {
            problems_add(m->problems, k->at, "[predict.keys] has no input `%s`", k->name);
            continue;
        }
        const struct source_text source = {k->expression, unknown_at(m->space, &k->at),
                                           &k->at,        "[predict.keys]",
                                           k->name,       NULL};
        if (compile_expression(m->space, &source, &x, m->problems) < 0)
            continue;
        if (!k->is_default || says_something(m->space, &x)) {
            m->space->prediction.inputs[input] = k->is_default ? map_default(m, input, x.sql) : x.sql;
            absorb(m, &x);
        }
    }
}

static void map_inputs(struct mapping *m)
{
    const char **sql = m->space->prediction.inputs;
    map_declared(m);
    for (size_t i = 0; i < INPUT_COUNT; i++)
        if (!sql[i])
            sql[i] = map_synonyms(m, i);
    struct space_prediction *p = &m->space->prediction;
    for (size_t i = 0; i < INPUT_COUNT; i++)
        if (sql[i])
            p->bound[p->bound_count++] = i;
}

/* --- setting up --- */

static void add_derived(struct names *n, const char *name, size_t function, const struct expression *all,
                        const char *const *sql)
{
    struct expression x = *all;
    struct buffer b = BUFFER_INIT;
    buffer_printf(&b, "(%s(%zu", functions[function].function, function);
    for (size_t i = 0; i < INPUT_COUNT; i++)
        if (sql[i])
            buffer_printf(&b, ", %s", sql[i]);
    buffer_add_text(&b, "))");
    x.sql = arena_keep(n->arena, buffer_take(&b));
    names_add_derived(n, name, &x, true);
}

static int add_functions(struct mapping *m, bool possible, struct error *e)
{
    static const struct expression nothing;
    static const char *const no_inputs[INPUT_COUNT];
    struct space *space = m->space;
    const struct expression *reads = possible ? &m->all : &nothing;
    size_t index;
    const char *const *sql = possible ? space->prediction.inputs : no_inputs;
    for (size_t f = 0; f < LENGTH(functions); f++) {
        if (db_add_real_function(space->db, functions[f].function, call, &space->prediction, e) < 0)
            return -1;
        if (names_resolve(&space->names, functions[f].key, &index) == RESOLVED_UNKNOWN)
            add_derived(&space->names, functions[f].key, f, reads, sql);
        OWNED char *call_name = xasprintf("%s()", functions[f].function);
        add_derived(&space->names, call_name, f, reads, sql);
    }
    return 0;
}

static const char *write_note(struct space *space, const char *missing)
{
    const struct predict_config *c = &space->sweep->predict;
    bool has_device = c->device || space->prediction.inputs[AT_DEVICE];
    bool has_speed = (c->peak_flops > 0 && c->memory_bandwidth > 0) || has_device;
    if (!c->given)
        return "";
    if (missing[0] && model_info_wants_job(space->sweep))
        return "nothing can be predicted until the model-information job has run (`run` starts it first)";
    if (missing[0])
        return arena_keep(&space->arena,
                          xasprintf("nothing can be predicted: the specs lack %s (meshsweep predict --keys lists all "
                                    "names; to map other keys, use [predict.keys])",
                                    missing));
    if (space->prediction.warning)
        return space->prediction.warning;
    if (sweep_least_share(space->sweep) < 1)
        return "step time is not predicted for jobs that share a device: how much others slow them down is not known";
    return has_speed ? ""
                     : "step time cannot be predicted: set `device` as a key or in [predict], or peak_flops and "
                       "memory_bandwidth in [predict]";
}

int prediction_compile(struct space *space, struct problems *problems, struct error *e)
{
    const struct predict_config *c = &space->sweep->predict;
    struct space_prediction *p = &space->prediction;
    struct mapping m = {.space = space, .problems = problems};
    OWNED_BUFFER missing = BUFFER_INIT;
    bool present[INPUT_COUNT];
    p->sweep = space->sweep;
    if (c->given)
        create_predictor(p, problems);
    map_inputs(&m);
    for (size_t i = 0; i < INPUT_COUNT; i++)
        present[i] = p->inputs[i] != NULL;
    inputs_add_missing(present, &missing);
    p->prune = c->prune;
    p->audit = c->audit;
    p->seed = (uint64_t)space->sweep->seed;
    p->asked = c->given && missing.length == 0;
    p->knows_capacity = present[AT_DEVICE_MEMORY] || present[AT_DEVICE] || c->device;
    p->warning = p->asked ? check_words(space, problems) : NULL;
    const char *metric = sweep_memory_metric(space->sweep);
    p->memory_words = metric ? arena_keep(&space->arena, metric_memory_words(space->sweep, metric)) : "";
    p->note = write_note(space, buffer_text(&missing));
    return add_functions(&m, missing.length == 0, e);
}

/* --- combinations --- */

void prediction_read_inputs(const struct space *space, const struct scope *s, struct input_value *values)
{
    for (int i = 0; i < INPUT_COUNT; i++) {
        struct formula *f = space->formulas->inputs[i];
        const struct datum value = f ? formula_value(f, s) : (struct datum){DATUM_NULL, {0}};
        values[i] = prediction_input(datum_sql(&value));
    }
}

int prediction_inputs_at(const struct space *space, int64_t rank, struct input_value *values, struct error *e)
{
    OWNED struct datum *keys = xcalloc(space->names.key_count + 1, sizeof *keys);
    const struct scope s = {keys, space->evaluator};
    space_read_keys(space, rank, keys);
    prediction_read_inputs(space, &s, values);
    return evaluator_failed(space->evaluator, e) ? -1 : 0;
}

const struct prediction *prediction_of_values(struct space *space, const struct input_value *values, const char **why)
{
    const struct prediction *p = predict(&space->prediction, values);
    *why = p ? "" : space->prediction.scratch.text;
    return p;
}

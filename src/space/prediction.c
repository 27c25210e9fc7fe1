#include "space/prediction.h"

#include <stdlib.h>
#include <string.h>

#include "config/meaning.h"
#include "database/function.h"
#include "space/compile.h"
#include "space/vocabulary.h"
#include "sweep_file/model_info_sweep.h"
#include "util/hash.h"
#include "util/memory.h"

/* --- the functions --- */

static void set_value(const struct sql_value *a, struct input_value *out)
{
    static const enum input_kind kinds[] =
        {[COLUMN_TEXT] = INPUT_TEXT, [COLUMN_INT] = INPUT_NUMBER, [COLUMN_FLOAT] = INPUT_NUMBER};
    out->kind = a->type < LENGTH(kinds) ? kinds[a->type] : INPUT_ABSENT;
    out->number = a->type == COLUMN_INT ? (double)a->integer : a->type == COLUMN_FLOAT ? a->real : 0;
    out->text = a->type == COLUMN_TEXT ? a->text : NULL;
}

static bool states_parameters(const struct predict_config *c)
{
    for (size_t i = 0; i < c->number_count; i++)
        if (!c->numbers[i].is_time && strcmp(c->numbers[i].name, "parameter") == 0)
            return true;
    return false;
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
                                        .is_own = states_parameters(c),
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

static bool prunes(const struct space_prediction *p, enum oom_verdict verdict)
{
    return (p->prune == PRUNE_CERTAIN && verdict == OOM_CERTAIN) || (p->prune == PRUNE_RISKY && verdict >= OOM_RISK);
}

const char *prediction_memory_words(const struct space_prediction *of, const struct prediction *p)
{
    return !p || of->memory_words[0] || p->memory_calibrated || p->by_line ? of->memory_words
                                                                           : "reserved, largest rank";
}

bool prediction_prunes(const struct space *space, enum oom_verdict verdict)
{
    return prunes(&space->prediction, verdict);
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
        set_value(&arguments[i + 1], &values[p->bound[i]]);
    const struct prediction *found = predict(p, values);
    if (!found)
        return false;
    if (f != FITS) {
        *out = value_of(found, (enum predicted)f);
        return !isnan(*out);
    }
    *out = !prunes(p, found->verdict) || is_audited(p, values);
    return found->verdict != 0;
}

/* --- mapping keys to inputs --- */

struct mapping {
    struct space *space;
    struct problems *problems;
    struct expression all; /* sections and keys of every input */
};

static void absorb(struct expression *into, const struct expression *x)
{
    into->sections |= x->sections;
    into->reads_label |= x->reads_label;
    for (size_t i = 0; i < x->key_count; i++) {
        size_t k = 0;
        while (k < into->key_count && into->keys[k] != x->keys[i])
            k++;
        if (k < into->key_count)
            continue;
        *array_add(into->keys, into->key_count) = x->keys[i];
    }
}

static void add_part(struct mapping *m, const char *name, struct buffer *parts, size_t *count)
{
    struct expression x = EXPRESSION_INIT;
    struct error ignored;
    size_t index;
    if (names_resolve(&m->space->names, name, &index) == RESOLVED_UNKNOWN ||
        expression_resolve(&m->space->names, name, UNKNOWN_IS_ERROR, &x, &ignored) < 0)
        return;
    if (strcmp(x.sql, "(" FACT_UNKNOWN ")") == 0) {
        expression_free(&x);
        return;
    }
    buffer_printf(parts, "%s%s", *count ? ", " : "", x.sql);
    (*count)++;
    absorb(&m->all, &x);
    expression_free(&x);
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

static char *map_synonyms(struct mapping *m, size_t input)
{
    OWNED_BUFFER parts = BUFFER_INIT;
    size_t count = 0;
    char *words = xasprintf("%s %s", inputs[input].name, inputs[input].synonyms), *rest = NULL;
    for (char *name = strtok_r(words, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        if (!vocabulary_is_of_another(m->space, input, name))
            add_key(m, name, &parts, &count);
    free(words);
    return count == 0   ? NULL
           : count == 1 ? xstrdup(buffer_text(&parts))
                        : xasprintf("coalesce(%s)", buffer_text(&parts));
}

/* False where the sweep has none of the keys that it reads, and it is NULL without. */
static bool says_something(const struct space *space, const struct expression *x)
{
    OWNED_STMT *s = NULL;
    OWNED char *sql = xasprintf("SELECT %s", x->sql);
    bool is_null = x->key_count == 0 && x->sections == 0 && db_prepare(space->db, sql, &s, NULL) == 0 &&
                   stmt_next(s, NULL) > 0 && stmt_type(s, 0) == COLUMN_NULL;
    return !is_null;
}

/* Returns what a profile says of an input, and the input's own keys where it says nothing. */
static char *map_default(struct mapping *m, size_t input, const char *sql)
{
    OWNED char *keys = map_synonyms(m, input);
    return keys ? xasprintf("coalesce(%s, %s)", sql, keys) : xstrdup(sql);
}

static void map_declared(struct mapping *m)
{
    const struct predict_config *c = &m->space->sweep->predict;
    for (size_t i = 0; i < c->key_count; i++) {
        const struct predict_key *k = &c->keys[i];
        struct expression x = EXPRESSION_INIT;
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
            m->space->prediction.inputs[input] = k->is_default ? map_default(m, input, x.sql) : xstrdup(x.sql);
            absorb(&m->all, &x);
        }
        expression_free(&x);
    }
}

static void map_inputs(struct mapping *m)
{
    char **sql = m->space->prediction.inputs;
    map_declared(m);
    for (size_t i = 0; i < INPUT_COUNT; i++)
        if (!sql[i])
            sql[i] = map_synonyms(m, i);
    struct space_prediction *p = &m->space->prediction;
    for (size_t i = 0; i < INPUT_COUNT; i++)
        if (sql[i])
            p->bound[p->bound_count++] = i;
    p->sections = m->all.sections;
}

/* --- setting up --- */

/* A framework of the file's own needs to say what a parameter takes. */
static void add_derived(struct names *n, char *name, size_t function, const struct expression *all, char *const *sql)
{
    struct buffer b = BUFFER_INIT;
    struct derived_key key = {.name = name,
                              .sections = all->sections,
                              .reads_label = all->reads_label,
                              .is_builtin = true,
                              .key_count = all->key_count};
    buffer_printf(&b, "(%s(%zu", functions[function].function, function);
    for (size_t i = 0; i < INPUT_COUNT; i++)
        if (sql[i])
            buffer_printf(&b, ", %s", sql[i]);
    buffer_add_text(&b, "))");
    key.sql = buffer_take(&b);
    key.keys = xcalloc(all->key_count + 1, sizeof *key.keys);
    if (all->key_count > 0) /* memcpy wants no NULL, even for nothing */
        memcpy(key.keys, all->keys, all->key_count * sizeof *key.keys);
    *array_add(n->derived, n->derived_count) = key;
}

static bool is_taken(const struct names *n, const char *name)
{
    size_t index;
    return names_resolve(n, name, &index) != RESOLVED_UNKNOWN;
}

static int add_functions(struct mapping *m, bool possible, struct error *e)
{
    static const struct expression nothing = EXPRESSION_INIT;
    static char *const no_inputs[INPUT_COUNT];
    struct space *space = m->space;
    const struct expression *reads = possible ? &m->all : &nothing;
    char *const *sql = possible ? space->prediction.inputs : no_inputs;
    for (size_t f = 0; f < LENGTH(functions); f++) {
        if (db_add_real_function(space->db, functions[f].function, call, &space->prediction, e) < 0)
            return -1;
        if (!is_taken(&space->names, functions[f].key))
            add_derived(&space->names, xstrdup(functions[f].key), f, reads, sql);
        add_derived(&space->names, xasprintf("%s()", functions[f].function), f, reads, sql);
    }
    return 0;
}

static char *write_note(const struct space *space, const char *missing)
{
    const struct predict_config *c = &space->sweep->predict;
    bool has_device = c->device || space->prediction.inputs[input_find("device")];
    bool has_speed = (c->peak_flops > 0 && c->memory_bandwidth > 0) || has_device;
    if (!c->given)
        return xstrdup("");
    if (missing[0] && model_info_wants_job(space->sweep))
        return xstrdup("nothing can be predicted until the model-information job has run (`run` starts it first)");
    if (missing[0])
        return xasprintf("nothing can be predicted: the specs lack %s (meshsweep predict --keys lists all names; "
                         "to map other keys, use [predict.keys])",
                         missing);
    if (space->prediction.warning)
        return xstrdup(space->prediction.warning);
    if (sweep_least_share(space->sweep) < 1)
        return xstrdup("step time is not predicted for jobs that share a device: how much others slow them down is not "
                       "known");
    return has_speed ? xstrdup("")
                     : xstrdup("step time cannot be predicted: set `device` as a key or in [predict], or peak_flops "
                               "and memory_bandwidth in [predict]");
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
    p->knows_capacity = present[input_find("device_memory")] || present[input_find("device")] || c->device;
    p->warning = p->asked ? vocabulary_check(space, problems) : NULL;
    const char *metric = sweep_memory_metric(space->sweep);
    p->memory_words = metric ? metric_memory_words(space->sweep, metric) : xstrdup("");
    p->note = write_note(space, buffer_text(&missing));
    int rc = add_functions(&m, missing.length == 0, e);
    expression_free(&m.all);
    return rc;
}

void prediction_free(struct space *space)
{
    struct space_prediction *p = &space->prediction;
    for (size_t i = 0; i < INPUT_COUNT; i++)
        free(p->inputs[i]);
    free_all(p->memory_words, p->note, p->warning);
    predictor_free(p->predictor);
}

/* --- rows --- */

void prediction_add_columns(const struct space *space, struct buffer *sql)
{
    for (size_t i = 0; i < INPUT_COUNT; i++)
        buffer_printf(sql, "%s%s", i ? ", " : "", space->prediction.inputs[i] ? space->prediction.inputs[i] : "NULL");
}

const struct prediction *prediction_of_values(struct space *space, const struct input_value *values, const char **why)
{
    const struct prediction *p = predict(&space->prediction, values);
    *why = p ? "" : space->prediction.scratch.text;
    return p;
}

const struct prediction *prediction_of_row(struct space *space, const struct stmt *row, int first, const char **why)
{
    struct input_value values[INPUT_COUNT];
    vocabulary_read_inputs(row, first, values);
    return prediction_of_values(space, values, why);
}

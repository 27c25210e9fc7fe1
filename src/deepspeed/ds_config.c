#include "deepspeed/ds_config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "deepspeed/ds_check.h"
#include "deepspeed/ds_values.h"
#include "files/json_text.h"
#include "toml/known.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/string_list.h"

#define LARGEST_CONFIG (16u << 20)

struct ds_config {
    const struct sweep *sweep;
    struct json root;
    char *path;
    bool is_known; /* false if the base file could not be read */
    struct space_base base;
    struct string_list warnings;
};

/* --- the base file --- */

static bool parse_base(struct ds_config *c, struct problems *problems)
{
    const struct deepspeed_settings *d = &c->sweep->deepspeed;
    OWNED_BUFFER text = BUFFER_INIT;
    struct error why = ERROR_INIT;
    bool good = false;
    c->path = path_beside(c->sweep->path, d->config);
    if (file_read(c->path, LARGEST_CONFIG, &text, &why) < 0)
        problems_add(problems, d->config_at, "[deepspeed] config: %s", why.text);
    else if (json_text_parse(c->path, buffer_text(&text), &c->root, &why) < 0)
        problems_add(problems, (struct position){NULL, 0, 0}, "%s", why.text);
    else if (c->root.kind != JSON_OBJECT)
        problems_add(problems, (struct position){c->path, 1, 1}, "a ds_config must be a JSON object");
    else
        good = true;
    return good;
}

/* False if the base file could not be read. It then counts as empty, although the names in it are not known. */
static bool read_base(struct ds_config *c, struct problems *problems)
{
    if (c->sweep->deepspeed.config && parse_base(c, problems)) {
        ds_check_base(&c->root, c->path, c->sweep->deepspeed.version, problems);
        ds_check_sections(&c->root, c->path, c->sweep->deepspeed.sections, c->sweep->deepspeed.version, &c->warnings);
        return true;
    }
    if (c->sweep->deepspeed.config)
        problems_excuse_all(problems);
    json_text_free(&c->root);
    c->root = (struct json){.kind = JSON_OBJECT};
    return !c->sweep->deepspeed.config;
}

/* Returns whether jobs get a section "autotuning" that makes DeepSpeed measure something. */
static bool is_profiled(const struct sweep *s)
{
    return s->model_info.is_job || s->deepspeed.profile_steps[1];
}

/* --- what the space knows --- */

static void add_constant(struct space_base *b, const char *name, char *sql)
{
    *array_add(b->constants, b->count) = (struct space_constant){xstrdup(name), sql};
}

/* As an SQL string; of a list, its JSON. */
static char *literal_of(const struct json *j)
{
    struct buffer sql = BUFFER_INIT;
    OWNED_BUFFER json = BUFFER_INIT;
    OWNED char *text = json_text_string(j);
    json_text_add(j, 0, &json);
    buffer_add_quoted(&sql, text ? text : buffer_text(&json), '\'');
    return buffer_take(&sql);
}

/* Rules cannot use "auto", null, texts with escapes and most lists. */
static void add_constants(struct space_base *b, const struct json *j, const char *name)
{
    if (j->kind == JSON_OBJECT) {
        for (size_t i = 0; i < j->count; i++) {
            OWNED char *inner = *name ? xasprintf("%s.%s", name, j->children[i].name) : xstrdup(j->children[i].name);
            add_constants(b, &j->children[i], inner);
        }
    } else if (j->kind == JSON_SCALAR && j->text[0] == '"') {
        if (!strchr(j->text, '\\') && !json_text_is(j, "auto"))
            add_constant(b, name, literal_of(j));
    } else if (j->kind == JSON_SCALAR && !json_text_is_null(j)) {
        add_constant(b, name, xasprintf("(%s)", j->text));
    } else if (j->kind == JSON_LIST && known_has(known("ds_config", "lists_of_rules"), name)) {
        add_constant(b, name, literal_of(j));
    }
}

/* Precisions that the file does not mention are off: DeepSpeed then trains in fp32. Next to an "auto", either may
 * hold. */
static void add_precision(struct space_base *b, const struct json *root)
{
    static const char *const flags[] = {"fp16.enabled", "bf16.enabled", "bfloat16.enabled"};
    const struct json *found[LENGTH(flags)];
    for (size_t i = 0; i < LENGTH(flags); i++) {
        found[i] = json_text_find(root, flags[i]);
        if (found[i] && json_text_is(found[i], "auto"))
            return;
    }
    if (!found[0])
        add_constant(b, flags[0], xstrdup("(false)"));
    if (!found[1] && !found[2])
        add_constant(b, flags[1], xstrdup("(false)"));
}

static void hash_base(struct ds_config *c)
{
    OWNED_BUFFER b = BUFFER_INIT;
    const struct deepspeed_settings *d = &c->sweep->deepspeed;
    json_text_add(&c->root, 0, &b);
    buffer_add_text(&b, d->resolve_auto ? "resolve" : "keep");
    for (size_t i = 0; i < d->argument_count; i++)
        buffer_printf(&b, "\n%s=%s", d->arguments[i].name, d->arguments[i].value);
    if (d->profile_steps[1])
        buffer_printf(&b, "\nprofile %lld %lld", (long long)d->profile_steps[0], (long long)d->profile_steps[1]);
    if (c->sweep->model_info.is_job)
        buffer_add_text(&b, "\nmodel-info");
    c->base.hash = hash_bytes(b.data, b.length);
}

const struct string_list *ds_config_warnings(const struct ds_config *c)
{
    return c ? &c->warnings : NULL;
}

const struct space_base *ds_config_base(const struct ds_config *c)
{
    return c ? &c->base : NULL;
}

/* --- keys of the specs --- */

/* The path of a spec's key in a ds_config; NULL if it has none. A short name that is also a section, such as `fp16`,
 * means its synonym unless its value is a table. */
static const char *place_of(const struct sweep *s, const char *key, bool is_table)
{
    for (size_t i = 0; !is_table && i < s->synonym_count; i++)
        for (char **k = s->synonyms[i].keys; strcmp(s->synonyms[i].name, key) == 0 && *k; k++)
            if (ds_is_section_key(*k))
                return *k;
    return ds_is_section_key(key) ? key : NULL;
}

const char *ds_config_place(const struct sweep *s, const char *key)
{
    return place_of(s, key, false);
}

/* Each value once. */
static void check_spec_values(const struct ds_config *c, const struct axis *axis, size_t k, const char *place,
                              struct problems *problems)
{
    const bool is_short = strcmp(place, axis->keys[k]) != 0;
    for (size_t i = 0; i < axis->value_count; i++) {
        const struct value *value = &axis->values[i * axis->key_count + k];
        OWNED_BUFFER json = BUFFER_INIT;
        size_t before = 0;
        value_add_json(value, &json);
        OWNED char *fault =
            value->kind == VALUE_NULL ? NULL : ds_value_fault(place, buffer_text(&json), c->sweep->deepspeed.version);
        while (fault && !value_equal(&axis->values[before * axis->key_count + k], value))
            before++;
        if (fault && before == i)
            problems_add(problems, axis->at, "%s%s%s%s", is_short ? "`" : "", is_short ? axis->keys[k] : "",
                         is_short ? "`: " : "", fault);
    }
}

/* null leaves the key out. */
static bool is_always_set(const struct axis *axis, size_t k)
{
    return !ANY(i, axis->value_count, axis->values[i * axis->key_count + k].kind == VALUE_NULL);
}

static void check_spec_key(const struct ds_config *c, const struct axis *axis, size_t k, struct problems *problems)
{
    const struct value *value = &axis->values[k];
    const char *place = place_of(c->sweep, axis->keys[k], value->kind == VALUE_JSON && value->text[0] == '{');
    OWNED_BY(json_text_free) struct json probe = {0};
    OWNED_BUFFER text = BUFFER_INIT;
    struct error ignored = ERROR_INIT;
    json_text_add(&c->root, 0, &text);
    OWNED char *fault = place ? ds_check_key(place, c->sweep->deepspeed.version) : NULL;
    if (place && !fault && is_always_set(axis, k))
        fault = ds_twice_fault(&c->root, place, false, c->sweep->deepspeed.version);
    if (fault)
        problems_add(problems, axis->at, "`%s`: %s", axis->keys[k], fault);
    else if (place)
        check_spec_values(c, axis, k, place, problems);
    if (place && json_text_parse("", buffer_text(&text), &probe, &ignored) == 0 && !json_text_set(&probe, place, "0"))
        problems_add(problems, axis->at, "`%s` cannot be set in %s, because a value above it is not an object",
                     axis->keys[k], c->path ? c->path : "the ds_config");
}

/* Returns whether a key of a training or parallel spec has that name behind its last dot. */
static bool has_last_name(const struct sweep *s, const char *name)
{
    for (struct axis_place at = AXES_FROM(SECTION_TRAINING); sweep_next_axis(s, &at);)
        for (size_t k = 0; k < at.axis->key_count; k++) {
            const char *dot = strrchr(at.axis->keys[k], '.');
            if (strcmp(dot ? dot + 1 : at.axis->keys[k], name) == 0)
                return true;
        }
    return false;
}

/* A misspelt key would be ignored without notice. */
static void check_arguments(const struct ds_config *c, struct problems *problems)
{
    const struct deepspeed_settings *d = &c->sweep->deepspeed;
    for (size_t i = 0; i < d->argument_count; i++) {
        const struct setting *a = &d->arguments[i];
        OWNED char *head = xstrndup(a->name, strcspn(a->name, "."));
        struct suggestion meant = ds_keys_suggest("", head);
        bool found = meant.is_same || strings_have(d->sections, head);
        if (!found && !strchr(a->name, '.'))
            found = ds_keys_have("zero_optimization", head) || json_text_find_anywhere(&c->root, head) ||
                    has_last_name(c->sweep, head);
        if (!found)
            problems_add(problems, a->at, "arg_mappings: a ds_config has no key \"%s\"%s", a->name,
                         suggest_hint(&meant));
    }
}

/* Returns whether the key determines a batch; accumulation alone does not. Elasticity sets the batch itself. */
static bool settles_batch(const struct sweep *s, const char *key)
{
    const char *place = place_of(s, key, false);
    return place && (strcmp(place, "train_batch_size") == 0 || strcmp(place, "train_micro_batch_size_per_gpu") == 0 ||
                     strncmp(place, "elasticity.", strlen("elasticity.")) == 0);
}

static bool specs_settle_batch(const struct sweep *s)
{
    for (size_t i = 0; i < s->derived_count; i++)
        if (settles_batch(s, s->derived[i].name))
            return true;
    for (struct axis_place at = AXES_FROM(SECTION_TRAINING); sweep_next_axis(s, &at);)
        if (ANY(k, at.axis->key_count, settles_batch(s, at.axis->keys[k])))
            return true;
    return false;
}

/* Arguments are inserted between words, which a shell command does not have. */
static void check_words(const struct sweep *s, struct problems *problems)
{
    char *const *c = s->job.command.words;
    if (s->deepspeed.argument_count == 0 || !c || strcmp(c[0], "/bin/sh") != 0 || !c[1] || strcmp(c[1], "-c") != 0)
        return;
    problems_add(problems, s->job.command.at, "arg_mappings needs [job] command as a list of words, not as one line");
}

/* Removes what is there for a tuner: its section, and "zero_optimization": "all", because the specs have the stages. */
static void drop_tuning(struct json *root)
{
    const struct json *zero = json_text_find(root, "zero_optimization");
    json_text_remove(root, "autotuning");
    if (zero && json_text_is(zero, "all"))
        json_text_remove(root, "zero_optimization");
}

/* Every step's line is a measurement; metrics.json has but one. */
static void warn_of_silence(const struct sweep *s, struct string_list *warnings)
{
    const int64_t release = s->deepspeed.version;
    if (s->deepspeed.profile_steps[1] && ds_is_quiet(release) && !ds_has_log_level(release))
        string_list_add(
            warnings,
            xstrdup(
                "warning: DeepSpeed from 0.17.6 to 0.19.2 prints no line of a step, and no key makes it, so that "
                "throughput, latency and timers rest on the one step of its metrics.json; for all steps, add to the "
                "script, after \"import deepspeed\":\n"
                "    for each in (deepspeed.utils.logger, *deepspeed.utils.logger.handlers): "
                "each.setLevel(\"INFO\")"));
}

struct ds_config *ds_config_open(const struct sweep *s, struct problems *problems)
{
    if (!s->deepspeed.given)
        return NULL;
    struct ds_config *c = xcalloc(1, sizeof *c);
    c->sweep = s;
    check_words(s, problems);
    c->is_known = read_base(c, problems);
    warn_of_silence(s, &c->warnings);
    if (is_profiled(s))
        drop_tuning(&c->root);
    for (struct axis_place at = AXES_FROM(SECTION_TRAINING); sweep_next_axis(s, &at);)
        for (size_t k = 0; k < at.axis->key_count; k++)
            check_spec_key(c, at.axis, k, problems);
    check_arguments(c, problems);
    for (char **key = s->model_info.without; s->model_info.is_job && key && *key; key++)
        json_text_remove(&c->root, *key);
    add_constants(&c->base, &c->root, "");
    add_precision(&c->base, &c->root);
    hash_base(c);
    return c;
}

void ds_config_need_batch(const struct ds_config *c, struct problems *problems)
{
    static const char *const settling[] = {"train_batch_size", "train_micro_batch_size_per_gpu", "elasticity"};
    if (!c || !c->is_known || c->sweep->model_info.is_job || specs_settle_batch(c->sweep))
        return;
    for (size_t i = 0; i < LENGTH(settling); i++) {
        const struct json *found = json_text_find(&c->root, settling[i]);
        if (found && !json_text_is_null(found))
            return;
    }
    const struct deepspeed_settings *d = &c->sweep->deepspeed;
    problems_add(problems, d->config ? d->config_at : d->at,
                 "no job has a batch size; DeepSpeed needs train_batch_size or train_micro_batch_size_per_gpu in the "
                 "ds_config (\"auto\" if the script sets it)");
}

void ds_config_free(struct ds_config *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->base.count; i++) {
        free(c->base.constants[i].name);
        free(c->base.constants[i].sql);
    }
    free(c->base.constants);
    string_list_free(&c->warnings);
    json_text_free(&c->root);
    free(c->path);
    free(c);
}

/* --- one job --- */

/* TOML has no integer 2e8: a float without a fraction becomes an integer if DeepSpeed expects one. */
static void lay_value(struct json *config, const char *place, const struct json *value)
{
    long long whole;
    if (json_text_is_null(value))
        return;
    if (ds_wants_integer(place) && json_text_integer(value, &whole)) {
        OWNED char *text = xasprintf("%lld", whole);
        json_text_set(config, place, text);
    } else {
        json_text_merge(config, place, value);
    }
}

static void lay_section(const struct ds_config *c, struct json *config, const struct json *spec, bool batch_only)
{
    for (size_t i = 0; spec && i < spec->count; i++) {
        const struct json *m = &spec->children[i];
        const char *place = place_of(c->sweep, m->name, m->kind == JSON_OBJECT);
        if (place && (!batch_only || batch_is_key(place)))
            lay_value(config, place, m);
    }
}

static void drop_autos(struct json *root, struct json *j, const char *path)
{
    for (size_t i = j->count; i-- > 0;) {
        OWNED char *inner = *path ? xasprintf("%s.%s", path, j->children[i].name ? j->children[i].name : "")
                                  : xstrdup(j->children[i].name ? j->children[i].name : "");
        if (j->children[i].kind == JSON_OBJECT)
            drop_autos(root, &j->children[i], inner);
        else if (json_text_is(&j->children[i], "auto"))
            json_text_remove(root, inner);
    }
}

/* As Hugging Face Transformers computes them from the model: h*h, 0.9 h*h and 10 h. */
static void resolve_buckets(struct json *config, const struct json *specs)
{
    static const struct {
        const char *key;
        double squared, linear;
    } sizes[] = {{"zero_optimization.reduce_bucket_size", 1, 0},
                 {"zero_optimization.stage3_prefetch_bucket_size", 0.9, 0},
                 {"zero_optimization.stage3_param_persistence_threshold", 0, 10}};
    const struct json *hidden = json_text_find(specs, "model.hidden");
    long long h;
    if (!hidden)
        hidden = json_text_find(specs, "model.hidden_size");
    if (!hidden || !json_text_integer(hidden, &h))
        return;
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        const struct json *found = json_text_find(config, sizes[i].key);
        if (!found || !json_text_is(found, "auto"))
            continue;
        OWNED char *text = xasprintf("%.0f", sizes[i].squared * (double)h * (double)h + sizes[i].linear * (double)h);
        json_text_set(config, sizes[i].key, text);
    }
}

static int build(const struct ds_config *c, const struct json *specs, struct json *config, struct error *e)
{
    lay_section(c, config, json_text_find(specs, "derived"), true);
    lay_section(c, config, json_text_find(specs, "training_spec"), false);
    lay_section(c, config, json_text_find(specs, "parallel_spec"), false);
    if (batch_complete(config, batch_ranks(specs), c->sweep->deepspeed.resolve_auto, e) < 0)
        return -1;
    if (c->sweep->deepspeed.resolve_auto) {
        resolve_buckets(config, specs);
        drop_autos(config, config, "");
    }
    return 0;
}

int ds_config_render(const struct ds_config *c, const char *spec_json, struct buffer *out, struct error *e)
{
    OWNED_BY(json_text_free) struct json specs = {0}, config = {0};
    OWNED_BUFFER base = BUFFER_INIT;
    json_text_add(&c->root, 0, &base);
    if (json_text_parse("the ds_config", buffer_text(&base), &config, e) < 0 ||
        json_text_parse("the specs", spec_json, &specs, e) < 0 || build(c, &specs, &config, e) < 0)
        return -1;
    json_text_add(&config, 2, out);
    buffer_add_char(out, '\n');
    return 0;
}

static void set_number(struct json *config, const char *path, int64_t number)
{
    OWNED char *text = xasprintf("%lld", (long long)number);
    json_text_set(config, path, text);
}

static void set_file(struct json *config, const char *path, const char *job_dir, const char *name)
{
    OWNED_BUFFER quoted = BUFFER_INIT;
    OWNED char *file = xasprintf("%s/%s", job_dir, name);
    buffer_add_json_string(&quoted, file, strlen(file));
    json_text_set(config, path, buffer_text(&quoted));
}

/* Makes every step print its line, whatever the ds_config says, and its timers if the objective is one of them. */
static void add_instruments(const struct sweep *s, struct json *config)
{
    static const char *const timers[] = {"fwd", "bwd", "step"};
    json_text_set(config, "steps_per_print", "1");
    if (ds_has_log_level(s->deepspeed.version))
        json_text_set(config, "log_level", "\"info\"");
    for (size_t i = 0; s->objective_count && i < LENGTH(timers); i++)
        if (strcmp(s->objectives[0].metric, timers[i]) == 0)
            json_text_set(config, "wall_clock_breakdown", "true");
}

/* As autotuning/autotuner.py requests a model profile and metrics from the engine. */
static void ask_for_profile(const struct sweep *s, const char *job_dir, int64_t last, struct json *config)
{
    json_text_set(config, "autotuning.enabled", "true");
    if (s->model_info.is_job) {
        set_file(config, "autotuning.model_info_path", job_dir, "model_info.json");
        json_text_set(config, "autotuning.model_info.profile", "true");
        return;
    }
    add_instruments(s, config);
    set_number(config, "autotuning.start_profile_step", s->deepspeed.profile_steps[0]);
    set_number(config, "autotuning.end_profile_step", last);
    set_file(config, "autotuning.metric_path", job_dir, "metrics.json");
}

bool ds_config_is_profiled(const struct ds_config *c)
{
    return !c->sweep->model_info.is_job && is_profiled(c->sweep);
}

int64_t ds_config_batch(const char *text)
{
    OWNED_BY(json_text_free) struct json config = {0};
    struct error ignored = ERROR_INIT;
    long long samples;
    const bool is_read = json_text_parse("the ds_config", text, &config, &ignored) == 0;
    const struct json *j = is_read ? json_text_find(&config, "train_batch_size") : NULL;
    return j && json_text_integer(j, &samples) ? samples : 0;
}

int ds_config_add_profiling(const struct ds_config *c, const char *job_dir, int64_t last, struct buffer *text,
                            struct error *e)
{
    OWNED_BY(json_text_free) struct json config = {0};
    if (!is_profiled(c->sweep))
        return 0;
    if (json_text_parse("the ds_config", buffer_text(text), &config, e) < 0)
        return -1;
    ask_for_profile(c->sweep, job_dir, last, &config);
    buffer_clear(text);
    json_text_add(&config, 2, text);
    buffer_add_char(text, '\n');
    return 0;
}

void ds_config_add_base64(const char *text, struct buffer *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i += 3) {
        size_t n = length - i < 3 ? length - i : 3;
        unsigned bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < n ? (unsigned char)text[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            buffer_add_char(out, k <= n ? digits[bits >> (18 - 6 * k) & 63] : '=');
    }
}

static void replace(char **word, char *with)
{
    free(*word);
    *word = with;
}

/* Length of the flag at the beginning of `word`, up to "=" or the end; 0 if it is another flag. */
static size_t flag_length(const char *word, const char *flag)
{
    const char *p = word + strspn(word, "-");
    flag += strspn(flag, "-");
    if (p == word)
        return 0;
    for (; *flag; flag++, p++)
        if (*p != *flag && !(strchr("-_", *flag) && *p && strchr("-_", *p)))
            return 0;
    return *p == '=' || !*p ? (size_t)(p - word) : 0;
}

bool ds_arguments_have(char *const *words, const char *flag)
{
    while (*words && flag_length(*words, flag) == 0)
        words++;
    return *words != NULL;
}

/* Returns whether the word is a value rather than another option; "-1" and "-" are values. */
static bool is_value(const char *word)
{
    return word[0] != '-' || !word[1] || isdigit((unsigned char)word[1]) || word[1] == '.';
}

const char *ds_arguments_value(char *const *words, const char *flag)
{
    for (; *words; words++) {
        const size_t length = flag_length(*words, flag);
        if (length > 0)
            return (*words)[length] ? *words + length + 1 : words[1] && is_value(words[1]) ? words[1] : "true";
    }
    return NULL;
}

/* Sets the value of the flag at `i`. */
static void set_at(struct string_list *w, size_t i, size_t length, const char *value)
{
    OWNED char *flag = xstrndup(w->items[i], length);
    bool has_equals = w->items[i][length] == '=';
    bool has_next = i + 1 < w->count && is_value(w->items[i + 1]);
    if (!has_equals && has_next)
        replace(&w->items[i + 1], xstrdup(value));
    else if (has_equals || strcmp(value, "true") != 0)
        replace(&w->items[i], xasprintf("%s=%s", flag, value));
}

static void map(struct string_list *w, const char *flag, const char *value)
{
    bool found = false;
    for (size_t i = 1; i < w->count; i++) {
        size_t length = flag_length(w->items[i], flag);
        if (length == 0)
            continue;
        set_at(w, i, length, value);
        found = true;
    }
    if (found)
        return;
    string_list_add(w, flag[0] == '-' ? xstrdup(flag) : xasprintf("--%s", flag));
    string_list_add(w, xstrdup(value));
}

/* A scalar as a script expects it: strings without quotes, integers without a fraction (it would reject "8.0"). NULL if
 * the value is not mapped. */
static char *value_text(const char *key, const struct json *j)
{
    long long whole;
    if (!j || j->kind != JSON_SCALAR || json_text_is(j, "auto") || json_text_is_null(j) ||
        (j->text[0] == '"' && strchr(j->text, '\\')))
        return NULL;
    if (ds_wants_integer(key) && json_text_integer(j, &whole))
        return xasprintf("%lld", whole);
    return json_text_plain(j);
}

/* DeepSpeed's tuner looks for a key by its last name alone. */
static const struct json *find_setting(const struct json *config, const char *key)
{
    const struct json *found = json_text_find(config, key);
    return found || strchr(key, '.') ? found : json_text_find_anywhere(config, key);
}

char **ds_arguments_map(const struct deepspeed_settings *d, const char *config_json, char *const *command)
{
    struct string_list w = STRING_LIST_INIT;
    OWNED_BY(json_text_free) struct json config = {0};
    struct error ignored = ERROR_INIT;
    for (; *command; command++)
        string_list_add(&w, xstrdup(*command));
    if (json_text_parse("", config_json, &config, &ignored) == 0)
        for (size_t i = 0; i < d->argument_count; i++) {
            const char *key = d->arguments[i].name;
            OWNED char *value = value_text(key, find_setting(&config, key));
            if (value)
                map(&w, d->arguments[i].value, value);
        }
    return string_list_take(&w);
}

int ds_arguments_find_config(char *const *program, size_t *at, struct error *e)
{
    static const char *const flags[] = {"--deepspeed_config", "--deepspeed-config", "--deepspeed"};
    for (size_t f = 0; f < LENGTH(flags); f++) {
        size_t n = strlen(flags[f]);
        for (size_t i = 1; program[0] && program[i]; i++) {
            bool attached = strncmp(program[i], flags[f], n) == 0 && program[i][n] == '=';
            bool apart = strcmp(program[i], flags[f]) == 0 && program[i + 1] && program[i + 1][0] != '-';
            if (!attached && !apart)
                continue;
            *at = attached ? i : i + 1;
            return 0;
        }
    }
    return error_set(e, ERROR_USAGE,
                     "no ds_config is given; add --deepspeed FILE or --deepspeed_config FILE to the script's "
                     "arguments");
}

char *ds_arguments_config_path(const char *word)
{
    const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    return xstrdup(equals ? equals + 1 : word);
}

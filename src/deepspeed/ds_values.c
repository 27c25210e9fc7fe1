#include "deepspeed/ds_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "toml/known.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/suggest.h"

/* --- the tables --- */

static const struct toml_node *row_of(const char *key)
{
    return toml_child(known("ds_config", "keys"), key);
}

static bool has_type(const struct toml_node *row, const char *type)
{
    return known_says(row, "is", type);
}

/* The part of a dotted key within the section; NULL if it is not there, or in a section of its own. */
static const char *name_in(const char *key, const char *section)
{
    size_t n = strlen(section);
    if (n > 0 && (strncmp(key, section, n) != 0 || key[n] != '.'))
        return NULL;
    key += n > 0 ? n + 1 : 0;
    return strchr(key, '.') ? NULL : key;
}

struct suggestion ds_keys_suggest(const char *section, const char *name)
{
    const struct toml_node *rows = known("ds_config", "keys");
    struct suggestion meant = suggest_for(name);
    for (size_t i = 0; i < rows->child_count; i++) {
        const char *in = name_in(rows->children[i].key, section);
        if (in)
            suggest_try(&meant, in);
    }
    return meant;
}

bool ds_keys_have(const char *section, const char *name)
{
    return ds_keys_suggest(section, name).is_same;
}

bool ds_wants_integer(const char *key)
{
    const struct toml_node *rows = known("ds_config", "keys");
    if (row_of(key))
        return has_type(row_of(key), "int");
    for (size_t i = 0; i < rows->child_count; i++) {
        const char *dot = strrchr(rows->children[i].key, '.');
        if (dot && strcmp(dot + 1, key) == 0)
            return has_type(&rows->children[i], "int");
    }
    return false;
}

bool ds_wants_list(const char *key)
{
    return has_type(row_of(key), "list");
}

const char *ds_key_since(const char *key)
{
    return known_text(row_of(key), "since");
}

bool ds_has_come(const char *since, int64_t release)
{
    int64_t first;
    return !since || !release || !parse_release(since, false, &first) || release >= first;
}

const char *ds_key_renamed(const char *key, int64_t release)
{
    const char *to = known_text(row_of(key), "renamed");
    return to && ds_has_come(known_text(row_of(key), "until"), release) ? to : NULL;
}

bool ds_is_quiet(int64_t release)
{
    return ds_has_come(known("ds_config", "quiet_since")->text, release);
}

bool ds_has_log_level(int64_t release)
{
    return ds_has_come(ds_key_since("log_level"), release);
}

/* --- one value --- */

struct judged {
    const char *key;
    const struct toml_node *row;
    const struct json *value;
    int64_t release;
    const char *source; /* of the model that checks it; NULL: none does */
    bool is_tried;      /* of a list of values to try, which is written anew */
    bool cuts;          /* pydantic 1 cuts fractions off, and takes "" as a table without keys */
    bool takes_auto;    /* "auto" is taken out of the section before it is checked */
};

static bool is_flagged(const struct judged *j, const char *flag)
{
    const struct toml_node *found = toml_child(j->row, flag);
    return found && found->integer;
}

static bool is_text(const struct json *v)
{
    return v->kind == JSON_SCALAR && v->text[0] == '"';
}

static bool is_bool(const struct json *v)
{
    return v->kind == JSON_SCALAR && (strcmp(v->text, "true") == 0 || strcmp(v->text, "false") == 0);
}

/* A number as such; NaN for anything else. */
static double number_of(const struct json *v)
{
    return v->kind == JSON_SCALAR && !is_text(v) && !is_bool(v) && !json_text_is_null(v) ? strtod(v->text, NULL) : NAN;
}

/* The number in a text, whole if that is asked for; NaN if it has none. */
static double number_in(const struct json *v, bool whole)
{
    OWNED char *text = json_text_string(v);
    char *end = text;
    double n = text && *text && strspn(text, whole ? "+-0123456789" : "+-0123456789.eE") == strlen(text)
                   ? strtod(text, &end)
                   : NAN;
    return text && end > text && !*end ? n : NAN;
}

static bool is_word(const struct toml_node *words, const char *text)
{
    return ANY(i, words->child_count, strcasecmp(text, words->children[i].text) == 0);
}

static bool is_word_for_bool(const struct json *v)
{
    OWNED char *text = json_text_string(v);
    return text && is_word(known("ds_config", "booleans"), text);
}

static bool is_among(const struct toml_node *words, const struct json *v)
{
    for (size_t i = 0; i < words->child_count; i++) {
        const struct toml_node *word = &words->children[i];
        if (word->kind == NODE_STRING ? json_text_is(v, word->text) : number_of(v) == (double)word->integer)
            return true;
    }
    return false;
}

/* The engine's answers to a value that is none of the key's: NULL if it is one. Static. */
static const char *refuses = "DeepSpeed refuses it", *keeps = "DeepSpeed does not check it and fails where it is used",
                  *truth = "DeepSpeed takes any text but \"\" and any number but 0 as true",
                  *whole_truth = "DeepSpeed takes any whole number but 0 as true", *ignores = "DeepSpeed ignores it",
                  *as_number = "DeepSpeed takes true as 1 and false as 0",
                  *fraction = "DeepSpeed keeps the fraction, and what counts with it fails",
                  *cut = "DeepSpeed cuts the fraction off";

/* Returns whether the release has the key's own check. */
static bool is_strict(const struct judged *j)
{
    return ds_has_come(known_text(j->row, "strict_since"), j->release);
}

static const char *range_fault(const struct judged *j, double n)
{
    const struct toml_node *from = toml_child(j->row, "from"), *to = toml_child(j->row, "to");
    bool outside = (from && is_strict(j) && n < (double)from->integer) || (to && n > (double)to->integer);
    return !outside ? NULL : j->source || is_flagged(j, "fails") ? refuses : keeps;
}

static const char *bool_fault(const struct judged *j)
{
    const double n = number_of(j->value);
    const bool is_whole = !isnan(n) && !strpbrk(j->value->text, ".eE"), wants_whole = is_flagged(j, "whole");
    if (is_bool(j->value) || ((n == 0 || n == 1) && (is_whole || !wants_whole)))
        return NULL;
    if (j->source)
        return is_word_for_bool(j->value) ? NULL : refuses;
    if (wants_whole && is_whole)
        return whole_truth;
    return is_flagged(j, "fails") ? refuses : truth;
}

static const char *number_fault(const struct judged *j, bool whole)
{
    const char *otherwise = j->source || is_flagged(j, "fails") ? refuses : keeps;
    double n = number_of(j->value);
    if (is_bool(j->value))
        return toml_child(j->row, "strict_since") && is_strict(j) ? refuses : as_number;
    if (isnan(n)) {
        n = j->source && is_text(j->value) ? number_in(j->value, whole) : NAN;
        return isnan(n) ? otherwise : range_fault(j, n);
    }
    if (whole && n != floor(n))
        return j->source ? (j->cuts ? cut : refuses) : fraction;
    if (whole && !j->is_tried && is_flagged(j, "whole") && strpbrk(j->value->text, ".eE"))
        return fraction;
    return range_fault(j, n);
}

static const char *text_fault(const struct judged *j)
{
    const bool is_written = is_bool(j->value) || !isnan(number_of(j->value)); /* as text, by pydantic 1 */
    if (is_text(j->value) || (j->cuts && j->source && is_written && !is_flagged(j, "fails")))
        return NULL;
    return j->source || is_flagged(j, "fails") ? refuses : keeps;
}

static const char *word_fault(const struct judged *j, const struct toml_node *words)
{
    if (is_bool(j->value) && words->children[0].kind == NODE_INT)
        return as_number;
    if (is_among(words, j->value))
        return NULL;
    /* Case is ignored where no model reads it. */
    OWNED char *text = json_text_string(j->value);
    return text && !j->source && is_word(words, text) ? NULL : j->source || is_flagged(j, "fails") ? refuses : keeps;
}

/* The whole of zero_optimization may be a boolean: runtime/zero/config.py, read_zero_config_deprecated. */
static const char *table_fault(const struct judged *j)
{
    if (j->value->kind == JSON_OBJECT)
        return NULL;
    if (is_bool(j->value) && strcmp(j->key, "zero_optimization") == 0)
        return "DeepSpeed takes true as stage 1, and false as stage 0";
    return is_flagged(j, "late") ? keeps : refuses;
}

/* Returns whether the engine finds nothing in it to read. */
static bool is_ignored(const struct judged *j)
{
    const struct toml_node *member = toml_child(j->row, "member");
    const bool is_empty = json_text_is(j->value, "");
    if (is_flagged(j, "empty"))
        return is_empty || (j->value->kind == JSON_OBJECT && j->value->count == 0);
    if (member && is_text(j->value))
        return !strstr(j->value->text, member->text);
    return is_empty && has_type(j->row, "table") && j->cuts && (j->source || is_flagged(j, "auto"));
}

static bool may_be_null(const struct judged *j)
{
    const char *since = known_text(j->row, "null_since");
    return is_flagged(j, "null") || (since && ds_has_come(since, j->release));
}

static const char *fault_of(const struct judged *j)
{
    const struct toml_node *words = toml_child(j->row, "words");
    const bool is_table = has_type(j->row, "table");
    if (is_ignored(j))
        return ignores;
    if (is_flagged(j, "all") && json_text_is(j->value, "all"))
        return NULL;
    if (has_type(j->row, "any") ||
        (json_text_is(j->value, "auto") && j->takes_auto && (!is_table || j->source || is_flagged(j, "auto"))))
        return NULL;
    if (json_text_is_null(j->value))
        return may_be_null(j) ? NULL : is_table || j->source || is_flagged(j, "fails") ? refuses : NULL;
    if (is_table)
        return table_fault(j);
    if (words)
        return word_fault(j, words);
    if (has_type(j->row, "bool"))
        return bool_fault(j);
    if (has_type(j->row, "list"))
        return j->value->kind == JSON_LIST || (is_flagged(j, "one") && is_text(j->value)) ? NULL
               : j->source                                                                ? refuses
                                                                                          : keeps;
    return has_type(j->row, "str") ? text_fault(j) : number_fault(j, has_type(j->row, "int"));
}

/* --- what is said --- */

static void add_words(const struct toml_node *words, struct buffer *b)
{
    for (size_t i = 0; i < words->child_count; i++) {
        const struct toml_node *word = &words->children[i];
        buffer_add_text(b, i == 0 ? "" : i + 1 < words->child_count ? ", " : " or ");
        toml_add_literal(word, b);
    }
}

static void add_range(const struct judged *j, const char *of, struct buffer *b)
{
    const struct toml_node *from = toml_child(j->row, "from"), *to = toml_child(j->row, "to");
    buffer_add_text(b, of);
    if (from && to)
        buffer_printf(b, " from %lld to %lld", (long long)from->integer, (long long)to->integer);
    else if (from)
        buffer_printf(b, from->integer ? " above %lld" : ", %lld or more",
                      (long long)from->integer - (from->integer > 0));
}

static void add_wanted(const struct judged *j, struct buffer *b)
{
    const struct toml_node *words = toml_child(j->row, "words");
    if (words)
        add_words(words, b);
    else if (has_type(j->row, "int") || has_type(j->row, "float"))
        add_range(j, has_type(j->row, "int") ? "a whole number" : "a number", b);
    else
        buffer_add_text(b, has_type(j->row, "bool")    ? "true or false"
                           : has_type(j->row, "table") ? "a table"
                           : has_type(j->row, "list")  ? "a list"
                                                       : "a text");
}

/* The word that was meant, or how the value is written. */
static void add_hint(const struct judged *j, struct buffer *b)
{
    const struct toml_node *words = toml_child(j->row, "words"), *named = toml_child(j->row, "named"),
                           *flag = toml_child(j->row, "flag");
    const struct json *v = j->value;
    OWNED char *text = json_text_string(v);
    if (words && text && words->children[0].kind == NODE_STRING) {
        struct suggestion meant = SUGGEST(text, i, words->child_count, words->children[i].text);
        buffer_add_text(b, suggest_hint(&meant));
    } else if (named && text) {
        buffer_printf(b, "; write {\"%s\": %s}", named->text, v->text);
    } else if (flag && is_bool(v)) {
        buffer_printf(b, "; write {\"%s\": %s}", flag->text, v->text);
    } else if (text && (has_type(j->row, "bool") ? is_word_for_bool(v) && strlen(text) > 3
                                                 : !has_type(j->row, "table") && !isnan(number_in(v, false)))) {
        buffer_printf(b, "; write %s without quotes", text);
    } else if (has_type(j->row, "int") && number_of(v) == floor(number_of(v)) && strpbrk(v->text, ".eE")) {
        buffer_printf(b, "; write %.0f", number_of(v));
    }
}

/* NULL: none reads it. */
static const struct toml_node *model_of(const char *section, int64_t release)
{
    const struct toml_node *model = toml_child(known("ds_config", "models"), section);
    return model && ds_has_come(known_text(model, "since"), release) ? model : NULL;
}

bool ds_model_checks(const char *section, int64_t release)
{
    return model_of(section, release) != NULL;
}

#define PYDANTIC_2 15000 /* config_utils.py since 0.15.0: ConfigDict */

static char *fault_text(struct judged *j)
{
    const char *dot = strrchr(j->key, '.');
    OWNED char *section = xstrndup(j->key, dot ? (size_t)(dot - j->key) : 0);
    const struct toml_node *model = model_of(section, j->release);
    j->source = known_text(model, "source");
    j->cuts = j->release && j->release < PYDANTIC_2;
    j->takes_auto = !j->cuts || !model || !toml_child(model, "bare");
    const char *fault = fault_of(j);
    if (!fault)
        return NULL;
    struct buffer b = BUFFER_INIT;
    buffer_printf(&b, "%s must be ", j->key);
    add_wanted(j, &b);
    buffer_add_text(&b, ", not ");
    json_text_add(j->value, 0, &b);
    add_hint(j, &b);
    buffer_printf(&b, "; %s (%s)", fault, j->source ? j->source : "runtime/config.py");
    return buffer_take(&b);
}

/* Returns whether the release has the key and the sections that it is in. */
static bool is_there(const char *key, int64_t release)
{
    const char *until = known_text(row_of(key), "until");
    bool is = ds_has_come(ds_key_since(key), release) && !(until && ds_has_come(until, release));
    for (const char *dot = strchr(key, '.'); is && dot; dot = strchr(dot + 1, '.')) {
        OWNED char *section = xstrndup(key, (size_t)(dot - key));
        is = ds_has_come(ds_key_since(section), release);
    }
    return is;
}

/* The name to keep of a key with several. */
static const char *kept_name(const char *section, const char *name)
{
    OWNED char *key = xasprintf("%s.%s", section, name);
    const char *keep = known_text(row_of(key), "keep");
    return keep ? keep : name;
}

static char *twice_in(const struct json *table, const char *section, const char *name, bool in_root, int64_t release)
{
    const struct toml_node *model = model_of(section, release);
    const char *kept = kept_name(section, name);
    if (!model || !table || table->kind != JSON_OBJECT || (in_root && strcmp(kept, name) == 0))
        return NULL;
    for (size_t i = 0; i < table->count; i++) {
        const struct json *other = &table->children[i];
        if (strcmp(other->name, name) != 0 && strcmp(kept, kept_name(section, other->name)) == 0 &&
            !json_text_is(other, "auto"))
            return xasprintf("%s has both \"%s\" and \"%s\", names of one key; write \"%s\" alone; %s (%s)", section,
                             name, other->name, kept, refuses, toml_child(model, "source")->text);
    }
    return NULL;
}

char *ds_twice_fault(const struct json *root, const char *key, bool in_root, int64_t release)
{
    char *fault = NULL;
    for (const char *dot = strchr(key, '.'); dot && !fault; dot = strchr(dot + 1, '.')) {
        OWNED char *section = xstrndup(key, (size_t)(dot - key)), *name = xstrndup(dot + 1, strcspn(dot + 1, "."));
        fault = twice_in(json_text_find(root, section), section, name, in_root, release);
    }
    return fault;
}

/* Whether a list in the place of the key's value has values to try; elsewhere each job would have the list. */
static bool may_be_tried(const char *key)
{
    OWNED char *section = xstrndup(key, strcspn(key, "."));
    return strchr(key, '.') ? known_has(known("ds_config", "with_axes"), section)
                            : !known_has(known("ds_config", "no_axes"), key);
}

/* NULL: nothing is wrong, or the key is not known. The caller frees it. */
static char *value_fault(const char *key, const struct json *value, int64_t release, bool is_specs)
{
    struct judged j = {.key = key, .row = row_of(key), .value = value, .release = release};
    if (!j.row || !is_there(key, release))
        return NULL;
    const bool is_tried = !is_specs && value->kind == JSON_LIST && may_be_tried(key) &&
                          (!has_type(j.row, "list") || (value->count && value->children[0].kind == JSON_LIST));
    j.is_tried = is_tried || is_specs;
    char *fault = is_tried ? NULL : fault_text(&j);
    for (size_t i = 0; is_tried && !fault && i < value->count; i++) {
        j.value = &value->children[i];
        fault = fault_text(&j);
    }
    return fault;
}

/* Returns the fault of the value, or of the first that is wrong in a table. */
static char *first_fault(const char *key, const struct json *value, int64_t release)
{
    char *fault = value_fault(key, value, release, true);
    for (size_t i = 0; value->kind == JSON_OBJECT && i < value->count && !fault; i++) {
        OWNED char *inner = xasprintf("%s.%s", key, value->children[i].name);
        fault = first_fault(inner, &value->children[i], release);
    }
    return fault;
}

char *ds_value_fault(const char *key, const char *json, int64_t release)
{
    OWNED_BY(json_text_free) struct json value = {0};
    struct error ignored = ERROR_INIT;
    return json_text_parse("", json, &value, &ignored) == 0 ? first_fault(key, &value, release) : NULL;
}

void ds_values_check(const struct json *root, const char *file, int64_t release, struct problems *problems)
{
    const struct toml_node *rows = known("ds_config", "keys");
    for (size_t i = 0; i < rows->child_count; i++) {
        const struct json *value = json_text_find(root, rows->children[i].key);
        OWNED char *fault = value ? value_fault(rows->children[i].key, value, release, false) : NULL;
        if (fault)
            problems_add(problems, (struct position){file, value->line, value->column}, "%s", fault);
    }
}

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/model_space.h"
#include "sweep_file/schema.h"
#include "util/memory.h"
#include "util/suggest.h"

#define LARGEST_NUMBER 2048 /* of layers and elements: models/layer_stack.h */
#define MOST_VALUES 1000000 /* of one key that are written out */

#define DEFAULT_TOLERANCE 0.1 /* of ZHEN's search for models of a similar size */

static const char *name_of(const struct toml_node *node)
{
    return node->key ? node->key : "it";
}

static struct string_list texts_of(const struct reading *r, const struct toml_node *list)
{
    return (struct string_list){toml_strings(r->arena, list), list->child_count};
}

static void read_texts(const struct reading *r, const struct toml_node *list, struct string_list *out)
{
    struct word_list words = {NULL, 0};
    if (list->child_count == 0)
        problem_at_value(r, list, "%s is an empty list", name_of(list));
    for (size_t i = 0; i < list->child_count; i++) {
        check_not_blank(r, &list->children[i], name_of(list));
        words_add(r, &words, list->children[i].text, reading_at_value(r, &list->children[i]));
    }
    *out = texts_of(r, list);
    words_check_differ(r, name_of(list), &words);
}

/* --- numbers of layers and elements --- */

static bool add_number(const struct reading *r, const struct toml_node *at, const char *name, int64_t value,
                       struct number_list *out)
{
    if (value < 1 || value > LARGEST_NUMBER) {
        problem_at_value(r, at, "%s must be from 1 to %d, not %" PRId64, name, LARGEST_NUMBER, value);
        return false;
    }
    for (size_t i = 0; i < out->count; i++) {
        if (out->values[i] != (uint64_t)value)
            continue;
        problem_at_value(r, at, "%s: %" PRId64 " is listed twice", name, value);
        return false;
    }
    *arena_add(r->arena, out->values, out->count) = (unsigned)value;
    return true;
}

static void read_number_range(const struct reading *r, const struct toml_node *node, struct number_list *out)
{
    struct number_range range;
    if (!range_read(r, node, false, &range))
        return;
    for (uint64_t i = 0; i < range.count; i++)
        if (!add_number(r, node, name_of(node), range_at(&range, i).integer, out))
            return;
}

static void read_number_list(const struct reading *r, const struct toml_node *node, struct number_list *out)
{
    if (node->kind == NODE_TABLE)
        read_number_range(r, node, out);
    else if (node->kind == NODE_INT)
        add_number(r, node, name_of(node), node->integer, out);
    else if (node->child_count == 0)
        problem_at_value(r, node, "%s is an empty list", name_of(node));
    for (size_t i = 0; node->kind == NODE_LIST && i < node->child_count; i++) {
        const struct toml_node *child = &node->children[i];
        if (child->kind != NODE_INT)
            problem_at_value(r, child, "%s takes integers, not %s", name_of(node), toml_kind_name(child->kind));
        else
            add_number(r, child, name_of(node), child->integer, out);
    }
}

/* --- values --- */

static void make_values(const struct reading *r, size_t count, struct space_key *out)
{
    out->kind = SPACE_KEY_VALUES;
    out->value_count = count;
    out->values = arena_keep(r->arena, xcalloc(count, sizeof *out->values));
    out->literals = arena_keep(r->arena, xcalloc(count, sizeof *out->literals));
}

static void read_integers(const struct reading *r, struct space_key *key)
{
    for (size_t i = 0; i < key->value_count; i++)
        if (key->values[i].kind != VALUE_INT)
            return;
    key->integers = arena_keep(r->arena, xcalloc(key->value_count, sizeof *key->integers));
    for (size_t i = 0; i < key->value_count; i++)
        key->integers[i] = key->values[i].integer;
}

/* A column of 0 and 1 must not stand for numbers here and truth there: models with both would be refused. */
static void check_booleans(const struct reading *r, const struct toml_node *list)
{
    for (size_t i = 1; list->kind == NODE_LIST && i < list->child_count; i++) {
        if ((list->children[i].kind == NODE_BOOL) == (list->children[0].kind == NODE_BOOL))
            continue;
        problem_at_value(r, &list->children[i], "%s is a boolean in one place and another type elsewhere; use one type",
                         list->key);
        return;
    }
}

static void read_values(const struct reading *r, const struct toml_node *node, struct space_key *out)
{
    const bool list = node->kind == NODE_LIST;
    const struct toml_node *first = list ? node->children : node, *bad = find_not_finite(node);
    const size_t count = list ? node->child_count : 1;
    struct word_list words = {NULL, 0};
    if (bad)
        problem_at_value(r, bad, "%s: NaN and infinity cannot be values of an axis", node->key);
    if (count == 0 || count > MOST_VALUES) {
        problem_at_value(r, node, count ? "%s: more than a million values" : "%s: a key needs a value", node->key);
        return;
    }
    make_values(r, count, out);
    for (size_t i = 0; i < count; i++) {
        out->values[i] = plain_value(r, &first[i]);
        out->literals[i] = literal_text(r, &first[i]);
        words_add(r, &words, out->literals[i], reading_at_value(r, &first[i]));
    }
    words_check_differ(r, node->key, &words);
    check_booleans(r, node);
    read_integers(r, out);
}

static void read_range_key(const struct reading *r, const struct toml_node *node, struct space_key *out)
{
    struct number_range range;
    if (!range_read(r, node, false, &range))
        return;
    if (!range.factor) {
        out->kind = SPACE_KEY_RANGE;
        out->value_count = (size_t)range.count;
        out->first = range.first;
        out->step = range.step;
        return;
    }
    make_values(r, (size_t)range.count, out);
    for (size_t i = 0; i < out->value_count; i++) {
        out->values[i] = range_at(&range, i);
        out->literals[i] = arena_keep(r->arena, xasprintf("%" PRId64, out->values[i].integer));
    }
    read_integers(r, out);
}

/* --- multisets --- */

static const struct schema schema_multiset = {SCHEMA("a multiset", KEYS_OF_MULTISET)};

/* Its kinds, totals, numbers of elements per layer and of layers, under the names that a table has for them. */
static void read_elements(const struct reading *r, const struct found *found, const char *const names[4],
                          struct space_key *out)
{
    struct number_list *const numbers[] = {&out->totals, &out->sizes, &out->layers};
    out->kind = SPACE_KEY_MULTISET;
    if (found_key(found, names[0]))
        read_texts(r, found_key(found, names[0]), &out->kinds);
    for (size_t i = 0; i < LENGTH(numbers); i++)
        if (found_key(found, names[i + 1]))
            read_number_list(r, found_key(found, names[i + 1]), numbers[i]);
}

static void read_multiset(const struct reading *r, const struct toml_node *node, struct space_key *out)
{
    const struct found found = schema_match(&schema_multiset, r, node);
    const struct toml_node *layers_key = found_key(&found, "layers_key");
    read_elements(r, &found, (const char *const[]){"multiset", "total", "per_layer", "layers"}, out);
    if (!found_key(&found, "total") && !found_key(&found, "per_layer"))
        problem_at_value(r, node, "%s: give the number of elements, with total or per_layer", node->key);
    out->flat = !found_key(&found, "layers");
    if (out->flat)
        add_number(r, node, node->key, 1, &out->layers);
    if (layers_key && out->flat)
        problem_at_key(r, layers_key, "layers_key needs layers");
    else if (layers_key && check_key_name(r, layers_key, layers_key->text))
        out->layers_key = arena_text(r->arena, layers_key->text);
}

static void read_space_key(const struct reading *r, const struct toml_node *node, struct space_key *out)
{
    *out = (struct space_key){.name = arena_text(r->arena, node->key), .at = reading_at_key(r, node)};
    if (node->kind != NODE_TABLE)
        read_values(r, node, out);
    else if (toml_child(node, "multiset"))
        read_multiset(r, node, out);
    else if (range_is_meant(node))
        read_range_key(r, node, out);
    else
        problem_at_value(r, node,
                         "%s: a table must be a range such as { from = 1, to = 4 } or a multiset such as { multiset = "
                         "[...] }",
                         node->key);
}

/* Indexed by enum filter_preset; NULL-terminated. */
static const char *const filter_preset_names[] = {
    [PRESET_NONE] = "where",
    [PRESET_FIXED_LAYERS] = "fixed-layers",
    [PRESET_SIMILAR_PARAMETERS] = "similar-parameters",
    [PRESET_UNIFORM_MIXER] = "uniform-mixer",
    NULL,
};

#define SPACE_FEATURES 2 /* from this row on the sizes of a DHEN model, in the order of enum dhen_key */
#define SPACE_LAYERS 5
#define SPACE_SHARED_WEIGHTS 8

static void read_where(const struct reading *r, const struct toml_node *node)
{
    struct model_space_table *m = r->into;
    if (check_not_blank(r, node, "where"))
        *arena_add(r->arena, m->filters, m->filter_count) =
            (struct space_filter){.name = arena_text(r->arena, node->text),
                                  .where = arena_text(r->arena, node->text),
                                  .at = reading_at_value(r, node)};
}

static const struct schema schema_filter, schema_sample;

const struct schema schema_model_space = {SCHEMA("[model_space]", KEYS_OF_MODEL_SPACE)};

/* --- keys --- */

/* Sizes of a DHEN model count parameters: positive integers. */
static void check_sizes(const struct reading *r, const struct toml_node *node, const struct space_key *key)
{
    int64_t least = key->first;
    bool good = key->kind == SPACE_KEY_RANGE || key->integers;
    for (size_t i = 0; key->integers && i < key->value_count; i++)
        least = i == 0 || key->integers[i] < least ? key->integers[i] : least;
    if (key->kind && (!good || least < 1))
        problem_at_value(r, node, "%s takes positive integers", node->key);
}

static void read_dhen(const struct reading *r, const struct toml_node *table, const struct found *found,
                      struct model_space_table *m)
{
    for (int k = SPACE_FEATURES; k <= SPACE_LAYERS; k++)
        if (!toml_child(table, schema_model_space.keys[k].name))
            problem_at_value(r, table, "[model_space] has mixers, but lacks \"%s\"", schema_model_space.keys[k].name);
    if (!toml_child(table, "total_mixers") && !toml_child(table, "mixers_per_layer"))
        problem_at_value(r, table, "[model_space] has mixers, but lacks \"total_mixers\" or \"mixers_per_layer\"");
    for (int k = DHEN_KEY_FEATURES; k <= DHEN_KEY_OUTPUTS; k++) {
        const struct toml_node *node = found->nodes[SPACE_FEATURES + k];
        struct space_key *key = arena_add(r->arena, m->keys, m->key_count);
        *key = (struct space_key){.name = (char *)dhen_key_names[k], .at = reading_at_value(r, table)};
        if (!node)
            continue;
        read_space_key(r, node, key);
        check_sizes(r, node, key);
    }
    struct space_key *tokens = arena_add(r->arena, m->keys, m->key_count);
    *tokens = (struct space_key){.name = (char *)dhen_key_names[DHEN_KEY_TOKENS],
                                 .at = reading_at_key(r, found_key(found, "mixers")),
                                 .layers_key = DHEN_LAYERS_KEY};
    read_elements(r, found, (const char *const[]){"mixers", "total_mixers", "mixers_per_layer", "num_zhen_layers"},
                  tokens);
    m->dhen = true;
}

static void refuse_dhen_keys(const struct reading *r, const struct found *found)
{
    for (int k = SPACE_FEATURES; k <= SPACE_SHARED_WEIGHTS; k++)
        if (found->nodes[k])
            problem_at_key(r, found->nodes[k], "%s needs mixers; put keys of other models into [model_space.keys]",
                           found->nodes[k]->key);
}

static void read_keys(const struct reading *r, const struct toml_node *table, struct model_space_table *m)
{
    if (!check_entry_count(r, table, m->key_count, "keys"))
        return;
    for (size_t i = 0; i < table->child_count; i++) {
        const struct toml_node *node = &table->children[i];
        if (strcmp(node->key, "name") == 0)
            problem_at_key(r, node, "name cannot be a key of a model space: all its models would have the same name");
        else if (check_key_name(r, node, node->key))
            read_space_key(r, node, arena_add(r->arena, m->keys, m->key_count));
    }
}

/* Names of keys and of numbers of layers end up beside each other in one [[model]] block. */
static struct word_list key_names(const struct reading *r, const struct model_space_table *m)
{
    struct word_list names = {NULL, 0};
    for (size_t k = 0; k < m->key_count; k++) {
        words_add(r, &names, m->keys[k].name, m->keys[k].at);
        if (m->keys[k].layers_key)
            words_add(r, &names, m->keys[k].layers_key, m->keys[k].at);
    }
    return names;
}

static int compare_without_case(const void *a, const void *b)
{
    const struct listed_word *x = a, *y = b;
    int order = strcasecmp(x->text, y->text);
    return order ? order : (x->at.line > y->at.line) - (x->at.line < y->at.line);
}

/* Keys are columns of a table, whose names SQLite compares without regard to case. */
static void check_keys_once(const struct reading *r, const struct model_space_table *m)
{
    struct word_list names = key_names(r, m);
    array_sort(names.items, names.count, compare_without_case);
    for (size_t i = 1; i < names.count; i++) {
        const struct listed_word *word = &names.items[i], *before = &names.items[i - 1];
        if (strcmp(word->text, before->text) == 0)
            problems_add(r->problems, word->at, "the model space has key \"%s\" twice (first on line %d)", word->text,
                         before->at.line);
        else if (strcasecmp(word->text, before->text) == 0)
            problems_add(r->problems, word->at, "\"%s\" differs from \"%s\" (line %d) only in case", word->text,
                         before->text, before->at.line);
    }
}

/* --- the base --- */

static bool is_list_of_texts(const struct toml_node *node)
{
    return node->kind == NODE_LIST && node->child_count > 0 && schema_type_fits(node, TYPE_STRINGS);
}

static const struct space_key *find_key(const struct model_space_table *m, const char *name)
{
    return FIND(k, m->key_count, strcmp(m->keys[k].name, name) == 0, &m->keys[k]);
}

/* [["A"], ["A", "B"]], or ["A", "B"] for what all layers have. */
static void read_base_layers(const struct reading *r, const struct toml_node *node, struct base_key *out)
{
    bool nested = node->kind == NODE_LIST && node->child_count > 0;
    for (size_t i = 0; nested && i < node->child_count; i++)
        nested = is_list_of_texts(&node->children[i]);
    out->flat = is_list_of_texts(node);
    if (!nested && !out->flat) {
        problem_at_value(r, node,
                         "%s of the base must be a list of its layers, such as [[\"A\"], [\"A\", \"B\"]], or one list",
                         node->key);
        return;
    }
    out->layer_count = out->flat ? 1 : node->child_count;
    out->layers = arena_keep(r->arena, xcalloc(out->layer_count, sizeof *out->layers));
    for (size_t i = 0; i < out->layer_count; i++)
        out->layers[i] = texts_of(r, out->flat ? node : &node->children[i]);
}

static bool is_boolean(const struct space_key *key)
{
    return key->kind == SPACE_KEY_VALUES && key->values[0].kind == VALUE_BOOL;
}

/* The base becomes a model beside the candidates: its keys must go with theirs. */
static void check_base_key(const struct reading *r, const struct toml_node *node, const struct model_space_table *m)
{
    const struct space_key *key = find_key(m, node->key);
    struct word_list names = key_names(r, m);
    if (key && key->kind != SPACE_KEY_MULTISET && key->value_count > 0 && is_boolean(key) != (node->kind == NODE_BOOL))
        problem_at_value(r, node, "%s is a boolean in one place and another type elsewhere; use one type", node->key);
    for (size_t i = 0; i < names.count; i++)
        if (strcmp(names.items[i].text, node->key) != 0 && strcasecmp(names.items[i].text, node->key) == 0)
            problem_at_key(r, node, "\"%s\" differs from \"%s\" (line %d) only in case", node->key, names.items[i].text,
                           names.items[i].at.line);
}

static void read_base_key(const struct reading *r, const struct toml_node *node, struct model_space_table *m)
{
    const struct space_key *key = find_key(m, node->key);
    const struct toml_node *bad = find_not_finite(node);
    if (!check_key_name(r, node, node->key))
        return;
    if (bad)
        problem_at_value(r, bad, "%s: NaN and infinity cannot be values of a model", node->key);
    check_base_key(r, node, m);
    struct base_key *base = arena_add(r->arena, m->base, m->base_count);
    *base = (struct base_key){.name = arena_text(r->arena, node->key),
                              .value = plain_value(r, node),
                              .literal = literal_text(r, node),
                              .at = reading_at_value(r, node)};
    if (key && key->kind == SPACE_KEY_MULTISET)
        read_base_layers(r, node, base);
}

static void check_base_size(const struct reading *r, const struct toml_node *table, const char *name)
{
    const struct toml_node *node = toml_child(table, name);
    if (!node)
        problem_at_value(r, table, "[model_space.base] lacks \"%s\"", name);
    else if (node->kind != NODE_INT || node->integer < 1)
        problem_at_value(r, node, "%s of the base must be a positive integer", name);
}

static void check_dhen_base(const struct reading *r, const struct toml_node *table, const struct model_space_table *m)
{
    for (int k = DHEN_KEY_FEATURES; k <= DHEN_KEY_OUTPUTS; k++)
        check_base_size(r, table, dhen_key_names[k]);
    check_base_size(r, table, DHEN_LAYERS_KEY);
    const struct base_key *tokens = model_space_base_key(m, dhen_key_names[DHEN_KEY_TOKENS]);
    const struct toml_node *layers = toml_child(table, DHEN_LAYERS_KEY);
    if (!tokens)
        problem_at_value(r, table, "[model_space.base] lacks \"%s\"", dhen_key_names[DHEN_KEY_TOKENS]);
    else if (layers && layers->kind == NODE_INT && tokens->layer_count > 0 && !tokens->flat &&
             layers->integer != (int64_t)tokens->layer_count)
        problem_at_value(r, layers, "the base has %zu layers of tokens, but %s = %" PRId64, tokens->layer_count,
                         DHEN_LAYERS_KEY, layers->integer);
}

static void read_base(const struct reading *r, const struct toml_node *table, struct model_space_table *m)
{
    m->base_at = reading_at_value(r, table);
    if (table->child_count == 0)
        problem_at_value(r, table, "[model_space.base] is empty");
    for (size_t i = 0; i < table->child_count; i++)
        read_base_key(r, &table->children[i], m);
    if (m->dhen)
        check_dhen_base(r, table, m);
}

/* --- filters --- */

/* Options of presets, and the preset that each belongs to. */
static const struct {
    const char *key;
    enum filter_preset preset;
} preset_options[] = {{"layers", PRESET_FIXED_LAYERS},
                      {"tolerance", PRESET_SIMILAR_PARAMETERS},
                      {"mixer", PRESET_UNIFORM_MIXER}};

static void check_preset_options(const struct reading *r, const struct found *found, enum filter_preset preset)
{
    for (size_t i = 0; i < LENGTH(preset_options); i++) {
        const struct toml_node *node = found_key(found, preset_options[i].key);
        if (node && preset_options[i].preset != preset)
            problem_at_key(r, node, "%s needs preset = \"%s\"", node->key,
                           filter_preset_names[preset_options[i].preset]);
    }
}

static void check_mixer(const struct reading *r, const struct toml_node *node, const struct model_space_table *m)
{
    struct suggestion meant = suggest_for(node->text);
    for (size_t k = 0; k < m->key_count; k++)
        for (size_t i = 0; i < m->keys[k].kinds.count; i++)
            suggest_try(&meant, m->keys[k].kinds.items[i]);
    if (!meant.is_same)
        problem_at_value(r, node, "the model space has no mixer \"%s\"%s", node->text, suggest_hint(&meant));
}

static void check_preset(const struct reading *r, const struct found *found, const struct model_space_table *m,
                         struct space_filter *f)
{
    const struct toml_node *node = found_key(found, "preset"), *tolerance = found_key(found, "tolerance");
    const struct toml_node *layers = found_key(found, "layers");
    if (f->preset == PRESET_FIXED_LAYERS && !toml_child(found->table, "layers"))
        problem_at_value(r, found->table, "fixed-layers lacks \"layers\"");
    if (f->preset == PRESET_SIMILAR_PARAMETERS && !m->dhen)
        problem_at_value(r, node,
                         "similar-parameters: the parameters of these models cannot be counted, only those of DHEN "
                         "models (see mixers)");
    else if (f->preset == PRESET_SIMILAR_PARAMETERS && m->base_count == 0)
        problem_at_value(r, node, "similar-parameters needs [model_space.base] to compare with");
    if (layers && check_range(r, layers, 1, INT32_MAX))
        f->layers = layers->integer;
    f->tolerance = tolerance ? number_of(tolerance) : DEFAULT_TOLERANCE;
    if (!(f->tolerance >= 0 && f->tolerance < 1))
        problem_at_value(r, tolerance, "tolerance must be at least 0 and less than 1");
    if (f->mixer)
        check_mixer(r, found_key(found, "mixer"), m);
}

static void read_filter(const struct reading *r, struct found *found)
{
    struct model_space_table *m = r->into;
    const struct toml_node *where = found_key(found, "where"), *preset = found_key(found, "preset");
    const struct toml_node *name = found_key(found, "name");
    const bool has_where = toml_child(found->table, "where"), has_preset = toml_child(found->table, "preset");
    if (has_where && has_preset) {
        problem_at_value(r, found->table, "a filter must have either where or preset, not both");
        return;
    }
    if (!has_where && !has_preset)
        problem_at_value(r, found->table, "a filter needs where or preset");
    struct space_filter *f = arena_add(r->arena, m->filters, m->filter_count);
    *f = (struct space_filter){.at = reading_at_value(r, where ? where : preset ? preset : found->table)};
    schema_take(r, found, f);
    if (f->preset)
        check_preset(r, found, m, f);
    if (where || f->preset)
        check_preset_options(r, found, f->preset);
    if (where && check_not_blank(r, where, "where"))
        f->where = arena_text(r->arena, where->text);
    f->name = arena_text(r->arena, name && check_not_blank(r, name, "name") ? name->text
                                   : f->where                               ? f->where
                                                                            : filter_preset_names[f->preset]);
}

static const struct schema schema_filter = {SCHEMA("[[model_space.filter]]", KEYS_OF_FILTER), read_filter};

/* --- samples --- */

/* A sample goes by keys that have one plain value in a model. */
static void check_each(const struct reading *r, const struct toml_node *node, const char *name,
                       const struct model_space_table *m)
{
    struct suggestion meant = suggest_for(name);
    suggest_try(&meant, LAYER_COUNT_NAME);
    for (size_t k = 0; k < m->key_count; k++) {
        if (m->keys[k].kind == SPACE_KEY_VALUES || m->keys[k].kind == SPACE_KEY_RANGE)
            suggest_try(&meant, m->keys[k].name);
        if (m->keys[k].layers_key)
            suggest_try(&meant, m->keys[k].layers_key);
    }
    if (!meant.is_same)
        problem_at_value(r, node, "the model space has no key \"%s\" to sample by%s", name, suggest_hint(&meant));
}

static void read_each_values(const struct reading *r, const struct toml_node *node, struct space_sample *s)
{
    const bool list = node->kind == NODE_LIST;
    const struct toml_node *first = list ? node->children : node;
    s->literals.count = list ? node->child_count : 1;
    s->literals.items = arena_keep(r->arena, xcalloc(s->literals.count + 1, sizeof *s->literals.items));
    for (size_t i = 0; i < s->literals.count; i++)
        s->literals.items[i] = literal_text(r, &first[i]);
}

static void read_each(const struct reading *r, const struct toml_node *node, const struct model_space_table *m,
                      struct space_sample *s)
{
    if (node->kind == NODE_STRING) {
        check_each(r, node, node->text, m);
        s->each = arena_text(r->arena, node->text);
        return;
    }
    if (node->child_count != 1) {
        problem_at_value(r, node, "each must be a table with one key and its values: { %s = [1, 2] }",
                         LAYER_COUNT_NAME);
        return;
    }
    const struct toml_node *values = &node->children[0];
    check_each(r, values, values->key, m);
    s->each = arena_text(r->arena, values->key);
    read_each_values(r, values, s);
    if (s->literals.count == 0)
        problem_at_value(r, values, "%s is an empty list", values->key);
    for (size_t i = 1; i < s->literals.count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(s->literals.items[i], s->literals.items[k]) == 0)
                problem_at_value(r, &values->children[i], "%s: %s is listed twice", values->key, s->literals.items[i]);
}

static void read_sample(const struct reading *r, struct found *found)
{
    struct model_space_table *m = r->into;
    struct space_sample *s = arena_add(r->arena, m->samples, m->sample_count);
    *s = (struct space_sample){.at = reading_at_value(r, found->table)};
    schema_take(r, found, s);
    if (found_key(found, "each"))
        read_each(r, found_key(found, "each"), m, s);
}

static const struct schema schema_sample = {SCHEMA("[[model_space.sample]]", KEYS_OF_SAMPLE), read_sample};

/* --- the table --- */

void read_model_space(const struct reading *r, const struct toml_node *table)
{
    const struct model_space_table *old = r->sweep->model_space;
    if (old && !check_replaces(r, table, "model_space", &old->at))
        return;
    struct model_space_table *m = r->sweep->model_space = arena_keep(r->arena, xcalloc(1, sizeof *m));
    struct found found = schema_match(&schema_model_space, r, table);
    const struct toml_node *keys = found_key(&found, "keys"), *base = found_key(&found, "base");
    m->at = reading_at_value(r, table);
    m->seed_given = found_key(&found, "seed") != NULL;
    m->shared_weights = true;
    if (found_key(&found, "mixers"))
        read_dhen(r, table, &found, m);
    else if (!toml_child(table, "mixers"))
        refuse_dhen_keys(r, &found);
    if (keys)
        read_keys(r, keys, m);
    if (m->key_count == 0 && !toml_child(table, "mixers") && !toml_child(table, "keys"))
        problem_at_value(r, table, "[model_space] has no keys; add mixers (for DHEN models) or [model_space.keys]");
    check_keys_once(r, m);
    if (base)
        read_base(r, base, m);
    schema_take(r, &found, m);
    if (!base && m->include_base)
        problem_at_key(r, found_key(&found, "include_base"), "include_base: there is no [model_space.base]");
}

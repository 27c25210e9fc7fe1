#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sweep_file/schema.h"
#include "util/memory.h"
#include "util/suggest.h"

#define ABSENT_MOST 1000000000

static const char *const windows_names[HF_WINDOWS_COUNT + 1] = {
    [HF_WINDOWS_NONE] = "none",       [HF_WINDOWS_ALL] = "all",
    [HF_WINDOWS_PATTERN] = "pattern", [HF_WINDOWS_WHERE_ASKED] = "where-asked",
    [HF_WINDOWS_OF_FOUR] = "of-four", [HF_WINDOWS_HALF] = "half",
    [HF_WINDOWS_MIXED] = "mixed",
};

static struct gathered carried; /* the types that the program carries */

/* The types that a row may build on; while the first ones are read, none. */
static const struct hf_type_table *types_before(const struct reading *r)
{
    static const struct hf_type_table none;
    return r->gathered == &carried ? &none : model_types_carried();
}

/* Keys that no type has are not keys of predictions; while the first types are read, all are new. */
static bool check_name(const struct reading *r, const struct toml_node *node)
{
    const struct hf_type_table *known = types_before(r);
    OWNED const char **names = NULL;
    size_t count = 0;
    bool good = known->count == 0;
    for (const struct hf_type *type = known->items; type < known->items + known->count; type++) {
        for (size_t k = 0; k < type->field_count; k++)
            *array_add(names, count) = type->fields[k].key;
        for (size_t k = 0; k < type->always.count; k++)
            *array_add(names, count) = type->always.items[k].key;
    }
    for (size_t i = 0; i < count && !good; i++)
        good = strcmp(names[i], node->key) == 0;
    OWNED char *hint = good ? NULL : suggest_hint(node->key, names, count);
    if (!good)
        problem_at_key(r, node, "no model_type has a key \"%s\"%s", node->key, hint);
    return good;
}

/* --- keys of a type --- */

/* "tie_word_embeddings | 0", "head_dim | none", "n_layer | num_hidden_layers". */
static bool read_text(const char *text, struct hf_field *out)
{
    const char *bar = strrchr(text, '|');
    const char *last = bar ? bar + 1 + strspn(bar + 1, " ") : text;
    bool is_none = bar && strcmp(last, "none") == 0;
    char *end = NULL;
    long long number = strtoll(last, &end, 10);
    bool is_number = bar && end != last && *end == '\0';
    out->fields = text;
    out->length = is_none || is_number ? (size_t)(bar - text) : strlen(text);
    out->absent = is_none ? HF_UNSET : is_number ? number : HF_NEEDED;
    bool good = (!is_number || (number >= 0 && number <= ABSENT_MOST)) && strspn(text, HF_BETWEEN) < out->length;
    for (const char *at = text; at < text + out->length && good; at += strspn(at, HF_BETWEEN)) {
        size_t length = strcspn(at, HF_BETWEEN);
        good = length < HF_FIELD_LONGEST && (length > 0 || at == text);
        at += length;
    }
    return good;
}

static void drop_key(struct hf_type *type, size_t i)
{
    if (i < type->field_count)
        memmove(&type->fields[i], &type->fields[i + 1], (--type->field_count - i) * sizeof *type->fields);
}

static void read_key(const struct reading *r, const struct toml_node *node)
{
    struct hf_type *type = r->into;
    struct hf_field field = {.key = node->key};
    size_t i = 0;
    if (!check_name(r, node) || !schema_expect(r, node, node->key, TYPE_STRING))
        return;
    while (i < type->field_count && strcmp(type->fields[i].key, node->key) != 0)
        i++;
    if (strcmp(node->text, "none") == 0) {
        drop_key(type, i);
    } else if (!read_text(node->text, &field)) {
        problem_at_value(r, node,
                         "%s must be the names of fields, then perhaps a whole number or none for where they are "
                         "absent, such as \"n_layer | num_layers | 12\"",
                         node->key);
    } else if (i == HF_FIELDS_MOST) {
        problem_at_key(r, node, "a model_type has at most %d keys", HF_FIELDS_MOST);
    } else {
        type->field_count += i == type->field_count;
        type->fields[i] = field;
    }
}

static void read_constant(const struct reading *r, const struct toml_node *node, struct hf_constants *out,
                          unsigned types)
{
    size_t i = 0;
    if (!schema_expect(r, node, node->key, types) || (node->kind == NODE_INT && !check_range(r, node, 0, ABSENT_MOST)))
        return;
    while (i < out->count && strcmp(out->items[i].key, node->key) != 0)
        i++;
    if (i == HF_CONSTANTS_MOST) {
        problem_at_key(r, node, "a model_type has at most %d of these", HF_CONSTANTS_MOST);
        return;
    }
    out->count += i == out->count;
    out->items[i] = (struct hf_constant){node->key, node->integer, node->text};
}

static void read_always(const struct reading *r, const struct toml_node *node)
{
    if (check_name(r, node))
        read_constant(r, node, &((struct hf_type *)r->into)->always, TYPE_INT | TYPE_STRING);
}

static void read_only(const struct reading *r, const struct toml_node *node)
{
    read_constant(r, node, &((struct hf_type *)r->into)->only, TYPE_INT);
}

/* --- rows --- */

#define AT(member) offsetof(struct hf_type, member)

static const struct schema_key model_type_keys[] = {
    {.name = "name", TYPE_STRING, EVERY, .required = true},
    {.name = "like", TYPE_STRING, EVERY},
    {.name = "family", TYPE_STRING, EVERY, FORM_STRING, AT(family)},
    {.name = "windows", TYPE_STRING, EVERY, FORM_CHOICE, AT(windows), .choices = windows_names},
    {.name = "keys", TYPE_TABLE, EVERY, .each = read_key},
    {.name = "always", TYPE_TABLE, EVERY, .each = read_always},
    {.name = "only", TYPE_TABLE, EVERY, .each = read_only},
    {.name = "refused", TYPE_STRING, EVERY, FORM_STRING, AT(refused)},
};

/* The caller's. */
static char *hint_of(const struct reading *r, const char *name)
{
    const struct hf_type_table *const tables[] = {&r->gathered->types, types_before(r)};
    OWNED const char **names = NULL;
    size_t count = 0;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t]->count; i++)
            *array_add(names, count) = tables[t]->items[i].name;
    return suggest_hint(name, names, count);
}

/* The type to begin with; false after a complaint. The first types may be what others are like, and need no family. */
static bool find_base(const struct reading *r, const struct found *found, const struct hf_type **out)
{
    const struct toml_node *name = found_key(found, "name"), *like = found_key(found, "like");
    const struct toml_node *sought = like ? like : name;
    *out = hf_type_find(&r->gathered->types, types_before(r), sought->text);
    bool good = *out || (!like && (found_key(found, "family") || types_before(r)->count == 0));
    OWNED char *hint = good ? NULL : hint_of(r, sought->text);
    if (!good && like)
        problem_at_value(r, like, "no model_type \"%s\" is known%s", like->text, hint);
    else if (!good)
        problem_at_value(r, name,
                         "no model_type \"%s\" is known: a new one needs family and keys, or like, a type that it is "
                         "like%s",
                         name->text, hint);
    return good;
}

/* As its base has it (NULL: from nothing), but for what the table says. */
static void read_type(const struct reading *r, struct found *found)
{
    struct hf_type_table *set = &r->gathered->types;
    const struct toml_node *name = found_key(found, "name");
    const struct hf_type *base;
    if (!name || !check_not_blank(r, name, "name"))
        return;
    struct hf_type *own = (struct hf_type *)hf_type_find(set, NULL, name->text);
    if ((own && !check_replaces(r, name, name->text, &own->at)) || !find_base(r, found, &base))
        return;
    struct hf_type type = base ? *base : (struct hf_type){.windows = HF_WINDOWS_NONE};
    hf_finisher *finish = hf_finisher_of(name->text);
    type.name = name->text;
    type.refused = NULL;
    type.finish = finish ? finish : type.finish;
    type.at = reading_at_value(r, found->table);
    schema_take(r, found, &type);
    *(own ? own : array_add(set->items, set->count)) = type;
}

const struct schema schema_model_type = {"[[model_type]]", SCHEMA_KEYS(model_type_keys), read_type};

void read_model_types(const struct reading *r, const struct toml_node *list)
{
    if (check_entry_count(r, list, r->gathered->types.count, "model types"))
        for (size_t i = 0; i < list->child_count; i++)
            schema_read(&schema_model_type, r, &list->children[i], r->sweep);
}

static void read_carried(void)
{
    static struct sweep none; /* keeps the tree, which has their texts */
    arena_keep(&none.arena,
               reading_carried("knowledge/model_types.toml", "model_type", &schema_model_type, &none, &carried));
}

const struct hf_type_table *model_types_carried(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_carried);
    return &carried.types;
}

#include "sweep_file/hf_config.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "database/db.h"
#include "sweep_file/schema.h"
#include "toml/known.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/suggest.h"

#define WHOLE_MOST 1e9 /* largest number in an architecture */
#define ABSENT_MOST 1000000000
#define HF_FIELD_LONGEST 64
#define HF_BETWEEN " |"    /* names of fields */
#define HF_ENTRIES_MOST 40 /* of a type's fields */
#define HF_CONSTANTS_MOST 16

/* Instead of a default number for an absent field. */
enum { HF_NEEDED = -1, HF_UNSET = -2 };

/* What a type has of a key. Of `fields`: the names of its field, the first `length` bytes of the text, with bars and
 * blanks between; the first that is present counts. A dot leads into an inner table. Its number is transformers'
 * default, HF_NEEDED or HF_UNSET (then there is no key). Of `always`: a number, or text, that it always has, whatever
 * its file says. Of `only`: a field that must have this number if present, because no key can describe any other. */
struct hf_entry {
    const char *key, *text; /* text NULL: the number */
    size_t length;
    int64_t number;
};

struct hf_entries {
    struct hf_entry items[HF_ENTRIES_MOST];
    size_t count;
};

struct hf_type {
    const char *name;
    const char *family;  /* NULL: it is no type, but what types are like */
    const char *refused; /* why the keys of [predict] cannot describe it; NULL: they can */
    struct hf_entries fields, always, only;
    const char *windows; /* one of windows_names: the layers that have one where layer_types does not list them */
    const struct toml_node *rest; /* keys that no field gives, as SQL; NULL: none */
    struct position at;
};

/* Those of configs/knowledge/model_types.toml, which are read when they are first asked for. Static. */
static const struct hf_type_table *model_types_carried(void);

/* A file being read. */
struct hf_reading {
    struct arena *arena;
    const char *name;
    const cJSON *root;
    const struct hf_type_table *own, *carried;
    const struct hf_type *type;
    struct hf_keys keys;
    struct error *e;
};

/* --- types --- */

static const struct hf_type *find_in(const struct hf_type_table *table, const char *name)
{
    for (size_t i = 0; table && i < table->count; i++)
        if (strcmp(table->items[i].name, name) == 0)
            return &table->items[i];
    return NULL;
}

/* Finds a type in `own` (NULL: none) before `carried`. NULL for an unknown one. */
static const struct hf_type *hf_type_find(const struct hf_type_table *own, const struct hf_type_table *carried,
                                          const char *name)
{
    const struct hf_type *found = find_in(own, name);
    return found ? found : find_in(carried, name);
}

/* --- fields --- */

/* NULL if it is absent or null; transformers writes null for what is not set. */
static const cJSON *field_of(const cJSON *table, const char *field)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(table, field);
    return cJSON_IsNull(item) ? NULL : item;
}

/* The first that is present. */
static const cJSON *first_of(const struct hf_reading *r, const struct hf_entry *f)
{
    const cJSON *found = NULL;
    for (const char *at = f->text, *end = at + f->length; !found && at < end;) {
        char field[HF_FIELD_LONGEST] = "";
        size_t length = strcspn(at, HF_BETWEEN);
        memcpy(field, at, length < sizeof field ? length : sizeof field - 1);
        char *dot = strchr(field, '.');
        if (dot)
            *dot++ = '\0';
        found = field_of(r->root, field);
        if (dot)
            found = field_of(found, dot);
        at += length;
        at += strspn(at, HF_BETWEEN);
    }
    return found;
}

static int refuse(const struct hf_reading *r, const cJSON *item, const char *wanted)
{
    OWNED char *text = cJSON_PrintUnformatted(item);
    return error_set(r->e, ERROR_USAGE, "%s: \"%s\" is %.60s, but must be %s", r->name, item->string, text ? text : "?",
                     wanted);
}

/* A whole number of at least 0; true is 1. */
static int read_whole(const struct hf_reading *r, const cJSON *item, int64_t *out)
{
    if (cJSON_IsBool(item)) {
        *out = cJSON_IsTrue(item);
        return 0;
    }
    double value = item->valuedouble;
    if (!cJSON_IsNumber(item) || !(value >= 0 && value <= WHOLE_MOST && value == floor(value)))
        return refuse(r, item, "a whole number");
    *out = (int64_t)value;
    return 0;
}

/* A field's whole number of at least 0 (true is 1); `absent` if the field is. -1 if it is another value. */
static int whole(const struct hf_reading *r, const char *field, int64_t absent, int64_t *out)
{
    const cJSON *item = field_of(r->root, field);
    *out = absent;
    return item ? read_whole(r, item, out) : 0;
}

/* --- keys --- */

/* Replaces one of that name. */
static void set_key(struct hf_reading *r, const char *name, struct value value)
{
    struct hf_keys *k = &r->keys;
    size_t i = FIRST(at, k->count, strcmp(k->items[at].name, name) == 0);
    *(i < k->count ? &k->items[i] : arena_add(r->arena, k->items, k->count)) = (struct hf_key){name, value};
}

static void set_text(struct hf_reading *r, const char *name, const char *text)
{
    set_key(r, name, (struct value){.kind = VALUE_STRING, .text = arena_text(r->arena, text)});
}

static void set_whole(struct hf_reading *r, const char *name, int64_t value)
{
    set_key(r, name, (struct value){.kind = VALUE_INT, .integer = value});
}

/* Value of a whole-number key; 0 if it is not set. */
static int64_t key_value(const struct hf_reading *r, const char *name)
{
    for (size_t i = 0; i < r->keys.count; i++)
        if (strcmp(r->keys.items[i].name, name) == 0)
            return r->keys.items[i].value.integer;
    return 0;
}

/* Dropout rates are not whole numbers; any rate above 0 keeps a mask. */
static int read_field(struct hf_reading *r, const struct hf_entry *f)
{
    const cJSON *item = first_of(r, f);
    int64_t value = f->number;
    if (!item && f->number == HF_NEEDED)
        return error_set(r->e, ERROR_USAGE, "%s lacks \"%.*s\", which model_type %s needs", r->name,
                         (int)strcspn(f->text, HF_BETWEEN), f->text, r->type->name);
    if (!item && f->number == HF_UNSET)
        return 0;
    if (item && strcmp(f->key, "dropout") == 0 && cJSON_IsNumber(item))
        value = item->valuedouble != 0;
    else if (item && read_whole(r, item, &value) < 0)
        return -1;
    set_whole(r, f->key, value);
    return 0;
}

static int read_fields(struct hf_reading *r)
{
    for (size_t i = 0; i < r->type->fields.count; i++)
        if (read_field(r, &r->type->fields.items[i]) < 0)
            return -1;
    return 0;
}

static int check_demands(const struct hf_reading *r)
{
    int64_t value;
    for (size_t i = 0; i < r->type->only.count; i++) {
        const struct hf_entry *d = &r->type->only.items[i];
        if (whole(r, d->key, d->number, &value) < 0)
            return -1;
        if (value != d->number)
            return error_set(r->e, ERROR_USAGE,
                             "%s: \"%s\" is %lld, but for model_type %s only %lld is known; give layers, hidden, "
                             "heads, ffn and vocab as keys instead of hf_config",
                             r->name, d->key, (long long)value, r->type->name, (long long)d->number);
    }
    return 0;
}

static bool reads(const struct hf_type *type, const char *field)
{
    size_t length = strlen(field);
    for (const struct hf_entry *f = type->fields.items; f < type->fields.items + type->fields.count; f++)
        for (const char *at = strstr(f->text, field); at; at = strstr(at + 1, field))
            if ((at == f->text || strchr(HF_BETWEEN, at[-1])) && strchr(HF_BETWEEN, at[length]))
                return true;
    return false;
}

/* Refuses parts that this type is not known to have; ignoring them would count the model too small. */
static int check_foreign(const struct hf_reading *r)
{
    const struct toml_node *parts = known("hf_config", "parts");
    for (const struct toml_node *part = parts->children; part < parts->children + parts->child_count; part++) {
        const cJSON *item = field_of(r->root, part->key);
        if (cJSON_IsNumber(item) && item->valuedouble > (double)part->integer && !reads(r->type, part->key))
            return error_set(r->e, ERROR_USAGE,
                             "%s: \"%s\" is %g, but no %s is known to have any: its own model_type, or layers, hidden, "
                             "heads, ffn and vocab as keys in place of hf_config, would be needed",
                             r->name, part->key, item->valuedouble, r->type->name);
    }
    return 0;
}

/* --- what no field gives --- */

/* Binds a parameter of a rest's SQL: ":key", "@field" or "$field". */
static int bind_parameter(const struct hf_reading *r, struct stmt *s, int at, const char *parameter)
{
    const char *name = parameter + 1;
    const cJSON *item = field_of(r->root, name);
    int64_t number = key_value(r, name);
    if (*parameter == '$') {
        OWNED char *json = item ? cJSON_PrintUnformatted(item) : NULL;
        stmt_bind_at(s, at, sql_text(json));
        return 0;
    }
    if (*parameter == '@' && item && read_whole(r, item, &number) < 0)
        return -1;
    stmt_bind_at(s, at, *parameter == ':' || item ? sql_int(number) : sql_null());
    return 0;
}

/* Stands on the row of the expression's value. */
static int ask(const struct hf_reading *r, struct db *db, const char *expression, struct stmt **s)
{
    OWNED char *sql = xasprintf("SELECT %s", expression);
    const char *parameter;
    int rc = db_prepare(db, sql, s, r->e);
    for (int i = 1; rc == 0 && (parameter = stmt_parameter_name(*s, i)); i++)
        rc = bind_parameter(r, *s, i, parameter);
    return rc < 0 ? -1 : stmt_next(*s, r->e);
}

/* Sets the keys, with blanks between, to what the SQL says. */
static int set_by_sql(struct hf_reading *r, struct db *db, const struct toml_node *row)
{
    OWNED char *keys = xstrdup(row->key);
    OWNED_STMT *s = NULL;
    char *rest = NULL;
    if (ask(r, db, row->text, &s) < 0)
        return -1;
    if (stmt_is_null(s, 0))
        return 0;
    if (strcmp(row->key, "refused") == 0)
        return error_set(r->e, ERROR_USAGE, "%s%s", r->name, stmt_text(s, 0));
    for (char *key = strtok_r(keys, " ", &rest); key; key = strtok_r(NULL, " ", &rest))
        if (stmt_type(s, 0) == COLUMN_TEXT)
            set_text(r, arena_text(r->arena, key), stmt_text(s, 0));
        else
            set_whole(r, arena_text(r->arena, key), stmt_int(s, 0));
    return 0;
}

static int read_windows(struct hf_reading *r, struct db *db)
{
    static const char *const counts[] = {"sliding_window_pattern", "max_window_layers", "use_sliding_window"};
    const cJSON *list = field_of(r->root, "layer_types"), *item;
    const char *by = cJSON_IsArray(list) ? "listed" : r->type->windows;
    const bool has_letters = strcmp(by, "of-four") == 0 && cJSON_IsString(field_of(r->root, counts[0]));
    OWNED_STMT *s = NULL;
    int64_t window, count;
    if (strcmp(r->type->windows, "mixed") == 0)
        return 0;
    if (whole(r, "sliding_window", 0, &window) < 0)
        return -1;
    for (item = list ? list->child : NULL; item; item = item->next)
        if (!cJSON_IsString(item) || !strstr(item->valuestring, "_attention") || strstr(item->valuestring, "linear"))
            return refuse(r, list, "a list of full_attention and sliding_attention");
    for (size_t i = 0; i < LENGTH(counts) && !cJSON_IsArray(list) && !has_letters; i++)
        if (whole(r, counts[i], 0, &count) < 0)
            return -1;
    if (ask(r, db, known_text(known("hf_config", "windows"), by), &s) < 0)
        return -1;
    count = stmt_int(s, 0);
    if (window > 0 && count > 0) {
        set_whole(r, "sliding_window", window);
        set_whole(r, "window_layers", count);
    }
    return 0;
}

static int read_rest(struct hf_reading *r)
{
    const struct toml_node *rest = r->type->rest;
    struct db *db = NULL;
    int rc = db_open(NULL, DB_TEMPORARY, &db, r->e);
    for (size_t i = 0; rest && rc == 0 && i < rest->child_count; i++)
        rc = set_by_sql(r, db, &rest->children[i]);
    if (rc == 0)
        rc = read_windows(r, db);
    db_close(db);
    return rc;
}

/* --- the whole --- */

BY_TEXT(compare_names, char *const, [0])

/* Names of the types of both tables, in alphabetical order; `usable`: of those that a file may have, each once. The
 * caller's. */
static const char **type_names(const struct hf_type_table *own, const struct hf_type_table *carried, bool usable,
                               size_t *count)
{
    const struct hf_type_table *const tables[] = {own, carried};
    const char **names = NULL;
    *count = 0;
    for (size_t t = 0; t < LENGTH(tables); t++)
        for (size_t i = 0; tables[t] && i < tables[t]->count; i++) {
            const struct hf_type *type = &tables[t]->items[i];
            if (!usable || (type->family && !type->refused && hf_type_find(own, carried, type->name) == type))
                *array_add(names, *count) = type->name;
        }
    array_sort(names, *count, compare_names);
    return names;
}

static int unknown_type(const struct hf_reading *r, const char *type)
{
    size_t count;
    OWNED_BUFFER known = BUFFER_INIT;
    if (field_of(r->root, "text_config"))
        return error_set(r->e, ERROR_USAGE,
                         "%s: model_type \"%s\" is not known; its language model is in text_config; save that as a "
                         "separate file",
                         r->name, type);
    if (r->type && r->type->refused)
        return error_set(r->e, ERROR_USAGE, "%s: the parameters of model_type \"%s\" cannot be counted: %s", r->name,
                         type, r->type->refused);
    OWNED const char **names = type_names(r->own, r->carried, true, &count);
    for (size_t i = 0; i < count; i++)
        buffer_printf(&known, "%s%s", i ? ", " : "", names[i]);
    struct suggestion meant = SUGGEST(type, i, count, names[i]);
    return error_set(r->e, ERROR_USAGE,
                     "%s: model_type \"%s\" is not known%s (known: %s); give layers, hidden, heads, ffn and vocab as "
                     "keys "
                     "instead of hf_config",
                     r->name, type, suggest_hint(&meant), buffer_text(&known));
}

static void set_constants(struct hf_reading *r)
{
    for (const struct hf_entry *c = r->type->always.items; c < r->type->always.items + r->type->always.count; c++)
        if (c->text)
            set_text(r, c->key, c->text);
        else
            set_whole(r, c->key, c->number);
}

/* gemma3's fields are in its text_config. */
static int check_towers(struct hf_reading *r)
{
    const struct toml_node *towers = known("hf_config", "towers");
    for (size_t i = 0; i < towers->child_count; i++)
        if (field_of(r->root, towers->children[i].text))
            return error_set(r->e, ERROR_USAGE,
                             "%s: \"%s\" is an encoder tower, which is not counted; save text_config as a separate "
                             "file",
                             r->name, towers->children[i].text);
    return 0;
}

static int read_root(struct hf_reading *r)
{
    if (!cJSON_IsObject(r->root))
        return error_set(r->e, ERROR_USAGE, "%s is not a JSON object, as a model's config.json must be", r->name);
    if (check_towers(r) < 0)
        return -1;
    const cJSON *type = field_of(r->root, "model_type");
    if (!cJSON_IsString(type))
        return error_set(r->e, ERROR_USAGE, "%s lacks \"model_type\", which says what the other fields mean", r->name);
    r->type = hf_type_find(r->own, r->carried, type->valuestring);
    if (!r->type || !r->type->family || r->type->refused)
        return unknown_type(r, type->valuestring);
    set_text(r, "family", r->type->family);
    set_constants(r);
    return check_demands(r) < 0 || check_foreign(r) < 0 || read_fields(r) < 0 ? -1 : read_rest(r);
}

int hf_config_read(struct arena *p, const char *name, const char *text, const struct hf_type_table *own,
                   struct hf_keys *out, struct error *e)
{
    OWNED_JSON *root = json_has_nul(text) ? NULL : cJSON_ParseWithOpts(text, NULL, true);
    struct hf_reading r =
        {.arena = p, .name = name, .root = root, .own = own, .carried = model_types_carried(), .e = e};
    int rc = read_root(&r);
    if (rc == 0)
        *out = r.keys;
    return rc;
}

/* --- [[model_type]] --- */

static const char *const windows_names[] = {"none", "all", "where-asked", "pattern", "of-four", "half", "mixed", NULL};

static struct hf_type_table carried; /* the types that the program carries */

/* The types that a row may build on; while the first ones are read, none. */
static const struct hf_type_table *types_before(const struct reading *r)
{
    static const struct hf_type_table none;
    return r->types == &carried ? &none : model_types_carried();
}

/* Keys that no type has are not keys of predictions; while the first types are read, all are new. */
static bool check_name(const struct reading *r, const struct toml_node *node)
{
    const struct hf_type_table *known = types_before(r);
    struct suggestion meant = suggest_for(node->key);
    for (const struct hf_type *type = known->items; type < known->items + known->count; type++) {
        for (size_t k = 0; k < type->fields.count; k++)
            suggest_try(&meant, type->fields.items[k].key);
        for (size_t k = 0; k < type->always.count; k++)
            suggest_try(&meant, type->always.items[k].key);
    }
    if (known->count > 0 && !meant.is_same)
        problem_at_key(r, node, "no model_type has a key \"%s\"%s", node->key, suggest_hint(&meant));
    return known->count == 0 || meant.is_same;
}

/* --- keys of a type --- */

/* "tie_word_embeddings | 0", "head_dim | none", "n_layer | num_hidden_layers". */
static bool read_text(const char *text, struct hf_entry *out)
{
    const char *bar = strrchr(text, '|');
    const char *last = bar ? bar + 1 + strspn(bar + 1, " ") : text;
    bool is_none = bar && strcmp(last, "none") == 0;
    char *end = NULL;
    long long number = strtoll(last, &end, 10);
    bool is_number = bar && end != last && *end == '\0';
    out->text = text;
    out->length = is_none || is_number ? (size_t)(bar - text) : strlen(text);
    out->number = is_none ? HF_UNSET : is_number ? number : HF_NEEDED;
    bool good = (!is_number || (number >= 0 && number <= ABSENT_MOST)) && strspn(text, HF_BETWEEN) < out->length;
    for (const char *at = text; at < text + out->length && good; at += strspn(at, HF_BETWEEN)) {
        size_t length = strcspn(at, HF_BETWEEN);
        good = length < HF_FIELD_LONGEST && (length > 0 || at == text);
        at += length;
    }
    return good;
}

/* Puts it in the place of that of the same key, or behind the others. */
static void put_entry(const struct reading *r, const struct toml_node *node, struct hf_entries *l,
                      const struct hf_entry *entry, size_t most, const char *what)
{
    const size_t i = FIRST(k, l->count, strcmp(l->items[k].key, entry->key) == 0);
    if (i == most) {
        problem_at_key(r, node, "a model_type has at most %zu %s", most, what);
        return;
    }
    l->count += i == l->count;
    l->items[i] = *entry;
}

static void read_key(const struct reading *r, const struct toml_node *node)
{
    struct hf_entries *fields = &((struct hf_type *)r->into)->fields;
    struct hf_entry field = {.key = node->key};
    if (!check_name(r, node) || !schema_expect(r, node, node->key, TYPE_STRING))
        return;
    if (strcmp(node->text, "none") == 0) {
        const size_t i = FIRST(k, fields->count, strcmp(fields->items[k].key, node->key) == 0);
        if (i < fields->count)
            memmove(&fields->items[i], &fields->items[i + 1], (--fields->count - i) * sizeof *fields->items);
    } else if (!read_text(node->text, &field)) {
        problem_at_value(r, node,
                         "%s must be the names of fields, then perhaps a whole number or none for where they are "
                         "absent, such as \"n_layer | num_layers | 12\"",
                         node->key);
    } else {
        put_entry(r, node, fields, &field, HF_ENTRIES_MOST, "keys");
    }
}

static void read_constant(const struct reading *r, const struct toml_node *node, struct hf_entries *out, unsigned types)
{
    const struct hf_entry entry = {.key = node->key, .text = node->text, .number = node->integer};
    if (schema_expect(r, node, node->key, types) && (node->kind != NODE_INT || check_range(r, node, 0, ABSENT_MOST)))
        put_entry(r, node, out, &entry, HF_CONSTANTS_MOST, "of these");
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

/* The type to begin with; false after a complaint. The first types may be what others are like, and need no family. */
static bool find_base(const struct reading *r, const struct found *found, const struct hf_type **out)
{
    const struct toml_node *name = found_key(found, "name"), *like = found_key(found, "like");
    const struct toml_node *sought = like ? like : name;
    *out = hf_type_find(r->types, types_before(r), sought->text);
    bool good = *out || (!like && (found_key(found, "family") || types_before(r)->count == 0));
    size_t count;
    OWNED const char **names = type_names(r->types, types_before(r), false, &count);
    struct suggestion meant = SUGGEST(sought->text, i, count, names[i]);
    if (!good && like)
        problem_at_value(r, like, "no model_type \"%s\" is known%s", like->text, suggest_hint(&meant));
    else if (!good)
        problem_at_value(r, name,
                         "no model_type \"%s\" is known: a new one needs family and keys, or like, a type that it is "
                         "like%s",
                         name->text, suggest_hint(&meant));
    return good;
}

/* As its base has it (NULL: from nothing), but for what the table says. */
static void read_type(const struct reading *r, struct found *found)
{
    struct hf_type_table *set = r->types;
    const struct toml_node *name = found_key(found, "name");
    const struct hf_type *base;
    assert(r->types);
    if (!name || !check_not_blank(r, name, "name"))
        return;
    struct hf_type *own = (struct hf_type *)hf_type_find(set, NULL, name->text);
    if ((own && !check_replaces(r, name, name->text, &own->at)) || !find_base(r, found, &base))
        return;
    struct hf_type type = base ? *base : (struct hf_type){.windows = windows_names[0]};
    type.name = name->text;
    type.refused = NULL;
    type.at = reading_at_value(r, found->table);
    schema_take(r, found, &type);
    *(own ? own : array_add(set->items, set->count)) = type;
}

const struct schema schema_model_type = {SCHEMA("[[model_type]]", KEYS_OF_MODEL_TYPE), read_type};

void read_model_types(const struct reading *r, const struct toml_node *list)
{
    if (check_entry_count(r, list, r->types->count, "model types"))
        for (size_t i = 0; i < list->child_count; i++)
            schema_read(&schema_model_type, r, &list->children[i], r->sweep);
}

static void read_carried(void)
{
    static struct sweep none; /* keeps the tree, which has their texts */
    const struct toml_node *rests = known("hf_config", "rest");
    arena_keep(&none.arena,
               reading_carried("knowledge/model_types.toml", "model_type", &schema_model_type, &none, &carried));
    for (size_t i = 0; i < rests->child_count; i++)
        for (size_t k = 0; k < carried.count; k++)
            if (known_has(toml_child(&rests->children[i], "of"), carried.items[k].name))
                carried.items[k].rest = toml_child(&rests->children[i], "keys");
}

static const struct hf_type_table *model_types_carried(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_carried);
    return &carried;
}

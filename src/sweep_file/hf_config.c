#include "sweep_file/hf_config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "sweep_file/hf_reading.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/suggest.h"

#define WHOLE_MOST 1e9 /* largest number in an architecture */
#define GEMMA_PATTERN 6

/* --- types --- */

static const struct hf_type *find_in(const struct hf_type_table *table, const char *name)
{
    for (size_t i = 0; table && i < table->count; i++)
        if (strcmp(table->items[i].name, name) == 0)
            return &table->items[i];
    return NULL;
}

const struct hf_type *hf_type_find(const struct hf_type_table *own, const struct hf_type_table *carried,
                                   const char *name)
{
    const struct hf_type *found = find_in(own, name);
    return found ? found : find_in(carried, name);
}

void hf_type_table_free(struct hf_type_table *table)
{
    free(table->items);
    toml_free(table->tree);
}

/* --- fields --- */

const cJSON *hf_field_of(const cJSON *table, const char *field)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(table, field);
    return cJSON_IsNull(item) ? NULL : item;
}

/* The first that is present. */
static const cJSON *first_of(const struct hf_reading *r, const struct hf_field *f)
{
    const cJSON *found = NULL;
    for (const char *at = f->fields, *end = at + f->length; !found && at < end;) {
        char field[HF_FIELD_LONGEST] = "";
        size_t length = strcspn(at, HF_BETWEEN);
        memcpy(field, at, length < sizeof field ? length : sizeof field - 1);
        char *dot = strchr(field, '.');
        if (dot)
            *dot++ = '\0';
        found = hf_field_of(r->root, field);
        if (dot)
            found = hf_field_of(found, dot);
        at += length;
        at += strspn(at, HF_BETWEEN);
    }
    return found;
}

static int refuse(const struct hf_reading *r, const cJSON *item, const char *wanted)
{
    char *text = cJSON_PrintUnformatted(item);
    error_set(r->e, ERROR_USAGE, "%s: \"%s\" is %.60s, but must be %s", r->name, item->string, text ? text : "?",
              wanted);
    cJSON_free(text);
    return -1;
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

int hf_whole(const struct hf_reading *r, const char *field, int64_t absent, int64_t *out)
{
    const cJSON *item = hf_field_of(r->root, field);
    *out = absent;
    return item ? read_whole(r, item, out) : 0;
}

/* --- keys --- */

/* Replaces one of that name. */
static void set_key(struct hf_reading *r, const char *name, struct value value)
{
    struct hf_keys *k = &r->keys;
    size_t i = 0;
    while (i < k->count && strcmp(k->items[i].name, name) != 0)
        i++;
    if (i == k->count)
        k->items = array_grow(k->items, k->count++, sizeof *k->items);
    k->items[i] = (struct hf_key){name, value};
}

void hf_set_text(struct hf_reading *r, const char *name, const char *text)
{
    set_key(r, name, (struct value){.kind = VALUE_STRING, .text = xstrdup(text)});
}

void hf_set_whole(struct hf_reading *r, const char *name, int64_t value)
{
    set_key(r, name, (struct value){.kind = VALUE_INT, .integer = value});
}

int64_t hf_key_value(const struct hf_reading *r, const char *name)
{
    for (size_t i = 0; i < r->keys.count; i++)
        if (strcmp(r->keys.items[i].name, name) == 0)
            return r->keys.items[i].value.integer;
    return 0;
}

/* Dropout rates are not whole numbers; any rate above 0 keeps a mask. */
static int read_field(struct hf_reading *r, const struct hf_field *f)
{
    const cJSON *item = first_of(r, f);
    int64_t value = f->absent;
    if (!item && f->absent == HF_NEEDED)
        return error_set(r->e, ERROR_USAGE, "%s lacks \"%.*s\", which model_type %s needs", r->name,
                         (int)strcspn(f->fields, HF_BETWEEN), f->fields, r->type->name);
    if (!item && f->absent == HF_UNSET)
        return 0;
    if (item && strcmp(f->key, "dropout") == 0 && cJSON_IsNumber(item))
        value = item->valuedouble != 0;
    else if (item && read_whole(r, item, &value) < 0)
        return -1;
    hf_set_whole(r, f->key, value);
    return 0;
}

static int read_fields(struct hf_reading *r)
{
    for (size_t i = 0; i < r->type->field_count; i++)
        if (read_field(r, &r->type->fields[i]) < 0)
            return -1;
    return 0;
}

static int check_demands(const struct hf_reading *r)
{
    int64_t value;
    for (size_t i = 0; i < r->type->only.count; i++) {
        const struct hf_constant *d = &r->type->only.items[i];
        if (hf_whole(r, d->key, d->value, &value) < 0)
            return -1;
        if (value != d->value)
            return error_set(r->e, ERROR_USAGE,
                             "%s: \"%s\" is %lld, but for model_type %s only %lld is known; give layers, hidden, "
                             "heads, "
                             "ffn and vocab as keys instead of hf_config",
                             r->name, d->key, (long long)value, r->type->name, (long long)d->value);
    }
    return 0;
}

static bool reads(const struct hf_type *type, const char *field)
{
    size_t length = strlen(field);
    for (const struct hf_field *f = type->fields; f < type->fields + type->field_count; f++)
        for (const char *at = strstr(f->fields, field); at; at = strstr(at + 1, field))
            if ((at == f->fields || strchr(HF_BETWEEN, at[-1])) && strchr(HF_BETWEEN, at[length]))
                return true;
    return false;
}

/* Refuses parts that this type is not known to have; ignoring them would count the model too small. */
static int check_foreign(const struct hf_reading *r)
{
    static const struct {
        const char *field;
        int64_t most; /* largest value that means none */
    } parts[] = {{"num_experts", 1},     {"num_local_experts", 1}, {"n_routed_experts", 1},
                 {"moe_num_experts", 1}, {"kv_lora_rank", 0},      {"num_nextn_predict_layers", 0}};
    for (size_t i = 0; i < LENGTH(parts); i++) {
        const cJSON *item = hf_field_of(r->root, parts[i].field);
        if (cJSON_IsNumber(item) && item->valuedouble > (double)parts[i].most && !reads(r->type, parts[i].field))
            return error_set(r->e, ERROR_USAGE,
                             "%s: \"%s\" is %g, but no %s is known to have any: its own model_type, or layers, hidden, "
                             "heads, ffn and vocab as keys in place of hf_config, would be needed",
                             r->name, parts[i].field, item->valuedouble, r->type->name);
    }
    return 0;
}

/* --- windows --- */

/* Layers that layer_types calls sliding. */
static int64_t listed_windows(const cJSON *list)
{
    const cJSON *item;
    int64_t count = 0;
    cJSON_ArrayForEach(item, list) count += cJSON_IsString(item) && strcmp(item->valuestring, "sliding_attention") == 0;
    return count;
}

/* "LLLG", repeated: L is a layer with a window; the last layer has none (transformers configuration_exaone4.py). */
static int64_t lettered_windows(const char *letters, int64_t layers)
{
    int64_t count = 0, length = (int64_t)strlen(letters);
    for (int64_t i = 0; length > 0 && i < layers - 1; i++)
        count += letters[i % length] == 'L';
    return count;
}

static int patterned_windows(const struct hf_reading *r, int64_t layers, int64_t *out)
{
    int64_t every, first, asked;
    const cJSON *letters = hf_field_of(r->root, "sliding_window_pattern");
    if (cJSON_IsString(letters) && r->type->windows == HF_WINDOWS_OF_FOUR) {
        *out = lettered_windows(letters->valuestring, layers);
        return 0;
    }
    if (hf_whole(r, "sliding_window_pattern", r->type->windows == HF_WINDOWS_OF_FOUR ? 4 : GEMMA_PATTERN, &every) < 0 ||
        hf_whole(r, "max_window_layers", layers, &first) < 0 || hf_whole(r, "use_sliding_window", 0, &asked) < 0)
        return -1;
    const int64_t counts[] = {[HF_WINDOWS_NONE] = 0,
                              [HF_WINDOWS_ALL] = layers,
                              [HF_WINDOWS_WHERE_ASKED] = asked && first < layers ? layers - first : 0,
                              [HF_WINDOWS_PATTERN] = every > 0 ? layers - layers / every : 0,
                              [HF_WINDOWS_OF_FOUR] = every > 0 ? layers - layers / every : 0,
                              [HF_WINDOWS_HALF] = (layers + 1) / 2};
    *out = counts[r->type->windows];
    return 0;
}

static int read_windows(struct hf_reading *r)
{
    int64_t window, layers = hf_key_value(r, "layers"), count;
    const cJSON *list = hf_field_of(r->root, "layer_types"), *item;
    if (r->type->windows == HF_WINDOWS_MIXED)
        return 0;
    if (hf_whole(r, "sliding_window", 0, &window) < 0)
        return -1;
    cJSON_ArrayForEach(item,
                       list) if (!cJSON_IsString(item) || !strstr(item->valuestring, "_attention") ||
                                 strstr(item->valuestring,
                                        "linear")) return refuse(r, list,
                                                                 "a list of full_attention and sliding_attention");
    if (cJSON_IsArray(list))
        count = listed_windows(list);
    else if (patterned_windows(r, layers, &count) < 0)
        return -1;
    if (window > 0 && count > 0) {
        hf_set_whole(r, "sliding_window", window);
        hf_set_whole(r, "window_layers", count);
    }
    return 0;
}

/* --- the whole --- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The caller's; each once, in alphabetical order. */
static const char **type_names(const struct hf_reading *r, size_t *count)
{
    const struct hf_type_table *const tables[] = {r->own, r->carried};
    const char **names = xcalloc((r->own ? r->own->count : 0) + r->carried->count, sizeof *names);
    *count = 0;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; tables[t] && i < tables[t]->count; i++) {
            const struct hf_type *type = &tables[t]->items[i];
            if (type->family && !type->refused && hf_type_find(r->own, r->carried, type->name) == type)
                names[(*count)++] = type->name;
        }
    qsort(names, *count, sizeof *names, compare_names);
    return names;
}

static int unknown_type(const struct hf_reading *r, const char *type)
{
    size_t count;
    OWNED_BUFFER known = BUFFER_INIT;
    if (hf_field_of(r->root, "text_config"))
        return error_set(r->e, ERROR_USAGE,
                         "%s: model_type \"%s\" is not known; its language model is in text_config; save that as a "
                         "separate file",
                         r->name, type);
    if (r->type && r->type->refused)
        return error_set(r->e, ERROR_USAGE, "%s: the parameters of model_type \"%s\" cannot be counted: %s", r->name,
                         type, r->type->refused);
    const char **names = type_names(r, &count);
    for (size_t i = 0; i < count; i++)
        buffer_printf(&known, "%s%s", i ? ", " : "", names[i]);
    const char *near = suggest_nearest(type, names, count);
    error_set(r->e, ERROR_USAGE,
              "%s: model_type \"%s\" is not known%s%s%s (known: %s); give layers, hidden, heads, ffn and vocab as keys "
              "instead of hf_config",
              r->name, type, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "", buffer_text(&known));
    free(names);
    return -1;
}

static void set_constants(struct hf_reading *r)
{
    for (const struct hf_constant *c = r->type->always.items; c < r->type->always.items + r->type->always.count; c++)
        if (c->text)
            hf_set_text(r, c->key, c->text);
        else
            hf_set_whole(r, c->key, c->value);
}

/* gemma3's fields are in its text_config. */
static int check_towers(struct hf_reading *r)
{
    static const char *const towers[] = {"vision_config", "audio_config"};
    for (size_t i = 0; i < LENGTH(towers); i++)
        if (hf_field_of(r->root, towers[i]))
            return error_set(r->e, ERROR_USAGE,
                             "%s: \"%s\" is an encoder tower, which is not counted; save text_config as a separate "
                             "file",
                             r->name, towers[i]);
    return 0;
}

static int read_root(struct hf_reading *r)
{
    if (!cJSON_IsObject(r->root))
        return error_set(r->e, ERROR_USAGE, "%s is not a JSON object, as a model's config.json must be", r->name);
    if (check_towers(r) < 0)
        return -1;
    const cJSON *type = hf_field_of(r->root, "model_type");
    if (!cJSON_IsString(type))
        return error_set(r->e, ERROR_USAGE, "%s lacks \"model_type\", which says what the other fields mean", r->name);
    r->type = hf_type_find(r->own, r->carried, type->valuestring);
    if (!r->type || !r->type->family || r->type->refused)
        return unknown_type(r, type->valuestring);
    hf_set_text(r, "family", r->type->family);
    set_constants(r);
    if (check_demands(r) < 0 || check_foreign(r) < 0 || read_fields(r) < 0 ||
        (r->type->finish && r->type->finish(r) < 0))
        return -1;
    return read_windows(r);
}

int hf_config_read(const char *name, const char *text, const struct hf_type_table *own,
                   const struct hf_type_table *carried, struct hf_keys *out, struct error *e)
{
    cJSON *root = json_has_nul(text) ? NULL : cJSON_ParseWithOpts(text, NULL, true);
    struct hf_reading r = {.name = name, .root = root, .own = own, .carried = carried, .e = e};
    int rc = read_root(&r);
    if (rc < 0)
        hf_keys_free(&r.keys);
    else
        *out = r.keys;
    cJSON_Delete(root);
    return rc;
}

void hf_keys_free(struct hf_keys *k)
{
    for (size_t i = 0; i < k->count; i++)
        value_free(&k->items[i].value);
    free(k->items);
    *k = HF_KEYS_INIT;
}

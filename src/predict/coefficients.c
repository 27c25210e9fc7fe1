#include "predict/coefficients.h"

#include <stdlib.h>
#include <string.h>

#include "toml/parse.h"
#include "util/embedded.h"
#include "util/memory.h"

#define TERM_NAME(id, name) name,
const char *const memory_term_names[MEMORY_TERM_COUNT] = {MEMORY_TERMS(TERM_NAME)};
const char *const time_term_names[TIME_TERM_COUNT] = {TIME_TERMS(TERM_NAME)};

/* --- by name --- */

struct coefficient {
    const char *name;
    size_t offset; /* in struct framework */
};

#define OF_MEMORY(name) {#name, offsetof(struct framework, memory.name)},
#define OF_TIME(name) {#name, offsetof(struct framework, time.name)},
#define AT_ITEM(member, i) (offsetof(struct framework, member) + (i) * sizeof(double))
#define OF_MEMORY_TERM(id, name) {name, AT_ITEM(memory.weights, MEMORY_##id)},
#define OF_TIME_TERM(id, name) {name, AT_ITEM(time.weights, TIME_##id)},
#define ACCUMULATION(stage) {"accumulation_" #stage, AT_ITEM(memory.accumulation, stage)},
static const struct coefficient of_memory[] = {MEMORY_COEFFICIENTS(OF_MEMORY) ACCUMULATION(0) ACCUMULATION(1)
                                                   ACCUMULATION(2) ACCUMULATION(3) MEMORY_TERMS(OF_MEMORY_TERM)};
static const struct coefficient of_time[] = {TIME_COEFFICIENTS(OF_TIME) TIME_TERMS(OF_TIME_TERM)};

static const struct coefficient *coefficients_of(bool is_time, size_t *count)
{
    *count = is_time ? LENGTH(of_time) : LENGTH(of_memory);
    return is_time ? of_time : of_memory;
}

bool coefficient_set(struct framework *f, bool is_time, const char *name, double value)
{
    size_t count;
    const struct coefficient *all = coefficients_of(is_time, &count),
                             *found = FIND(i, count, strcmp(all[i].name, name) == 0, &all[i]);
    *(is_time ? &f->time.calibrated : &f->memory.calibrated) |= strcmp(name, "sigma") == 0;
    if (found)
        memcpy((char *)f + found->offset, &value, sizeof value);
    return found;
}

struct suggestion coefficient_suggest(bool is_time, const char *name)
{
    size_t count;
    const struct coefficient *all = coefficients_of(is_time, &count);
    return SUGGEST(name, i, count, all[i].name);
}

/* --- the profiles --- */

static bool number_of(const struct toml_node *node, double *out)
{
    *out = node->kind == NODE_FLOAT ? node->real : (double)node->integer;
    return node->kind == NODE_FLOAT || node->kind == NODE_INT || node->kind == NODE_BOOL;
}

static void read_table(const struct toml_node *table, bool is_time, struct framework *f)
{
    for (size_t i = 0; table && i < table->child_count; i++) {
        const struct toml_node *node = &table->children[i];
        double value;
        if (is_time && node->kind == NODE_STRING && strcmp(node->key, "compared_on") == 0)
            f->compared_on = xstrdup(node->text);
        else if (!number_of(node, &value) || !coefficient_set(f, is_time, node->key, value))
            abort();
    }
}

/* Overrides `f` with the predictions' part of a profile. False: it has none. */
static bool read_profile(const char *text, struct framework *f)
{
    struct toml_fault fault;
    struct toml_node *root;
    /* Its tables are the last ones: what stands before them, most of a profile, need not be parsed. */
    const char *memory = strstr(text, "[predict.memory]"), *time = strstr(text, "[predict.time]");
    const char *part = !memory || (time && time < memory) ? time : memory;
    if (!part)
        return false;
    if (toml_parse(part, strlen(part), &root, &fault) < 0)
        abort();
    const struct toml_node *predict = toml_child(root, "predict");
    read_table(toml_child(predict, "memory"), false, f);
    read_table(toml_child(predict, "time"), true, f);
    toml_free(root);
    memcpy(f->memory.nominal, f->memory.weights, sizeof f->memory.nominal);
    memcpy(f->time.nominal, f->time.weights, sizeof f->time.nominal);
    return true;
}

#define BASE_PROFILE "profiles/predict.toml"

void framework_set_read(struct framework_set *out)
{
    *out = (struct framework_set){.base.name = ""};
    for (int i = 0; i < MEMORY_TERM_COUNT; i++)
        out->base.memory.weights[i] = 1;
    read_profile(embedded_text(BASE_PROFILE), &out->base);
    out->base.memory.calibrated = out->base.time.calibrated = false;
    for (const struct embedded_file *file = NULL; (file = embedded_next("profiles/", file));) {
        struct framework f = out->base;
        if (strcmp(file->name, BASE_PROFILE) == 0 || !read_profile(file->text, &f))
            continue;
        f.name = embedded_stem(file);
        *array_add(out->items, out->count) = f;
    }
}

void framework_set_free(struct framework_set *s)
{
    for (size_t i = 0; i < s->count; i++)
        free_all((char *)s->items[i].name, s->items[i].compared_on);
    free(s->items);
    *s = (struct framework_set){.count = 0};
}

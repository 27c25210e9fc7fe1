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

static int read_table(const struct toml_node *table, bool is_time, struct framework *f, struct error *e)
{
    for (size_t i = 0; table && i < table->child_count; i++) {
        const struct toml_node *node = &table->children[i];
        double value;
        if (is_time && node->kind == NODE_STRING && strcmp(node->key, "compared_on") == 0) {
            f->compared_on = xstrdup(node->text);
            continue;
        }
        if (!number_of(node, &value) || !coefficient_set(f, is_time, node->key, value))
            return error_set(e, ERROR_FAILED, "line %d: there is no coefficient \"%s\", or its value is not a number",
                             node->key_line, node->key);
    }
    return 0;
}

/* Overrides `f` with the predictions' part of `text`; `*any` says whether there is one. */
static int read_profile(const char *text, struct framework *f, bool *any, struct error *e)
{
    struct toml_fault fault;
    struct toml_node *root;
    /* Its tables are the last ones: what stands before them, most of a profile, need not be parsed. */
    const char *memory = strstr(text, "[predict.memory]"), *time = strstr(text, "[predict.time]");
    const char *part = !memory || (time && time < memory) ? time : memory;
    *any = part;
    if (!part)
        return 0;
    if (toml_parse(part, strlen(part), &root, &fault) < 0) {
        error_set(e, ERROR_FAILED, "line %d: %s", fault.line, fault.message);
        free(fault.message);
        return -1;
    }
    const struct toml_node *predict = toml_child(root, "predict");
    int rc = read_table(toml_child(predict, "memory"), false, f, e);
    if (rc == 0)
        rc = read_table(toml_child(predict, "time"), true, f, e);
    toml_free(root);
    return rc;
}

static void keep_nominal(struct framework *f)
{
    memcpy(f->memory.nominal, f->memory.weights, sizeof f->memory.nominal);
    memcpy(f->time.nominal, f->time.weights, sizeof f->time.nominal);
}

#define BASE_PROFILE "profiles/predict.toml"

static int read_base(struct framework *base, struct error *e)
{
    bool any;
    *base = (struct framework){.name = ""};
    for (int i = 0; i < MEMORY_TERM_COUNT; i++)
        base->memory.weights[i] = 1;
    if (read_profile(embedded_text(BASE_PROFILE), base, &any, e) < 0)
        return error_context(e, "%s", BASE_PROFILE);
    keep_nominal(base);
    base->memory.calibrated = base->time.calibrated = false;
    return 0;
}

static int add_framework(struct framework_set *s, const struct embedded_file *file, struct error *e)
{
    struct framework f = s->base;
    bool any;
    if (read_profile(file->text, &f, &any, e) < 0)
        return error_context(e, "the coefficients of %s", file->name);
    if (!any)
        return 0;
    keep_nominal(&f);
    f.name = embedded_stem(file);
    *array_add(s->items, s->count) = f;
    return 0;
}

int framework_set_read(struct framework_set *out, struct error *e)
{
    struct framework_set s = {.count = 0};
    int rc = read_base(&s.base, e);
    for (const struct embedded_file *f = NULL; rc == 0 && (f = embedded_next("profiles/", f));)
        if (strcmp(f->name, BASE_PROFILE) != 0)
            rc = add_framework(&s, f, e);
    if (rc < 0)
        framework_set_free(&s);
    else
        *out = s;
    return rc;
}

void framework_set_free(struct framework_set *s)
{
    for (size_t i = 0; i < s->count; i++)
        free_all((char *)s->items[i].name, s->items[i].compared_on);
    free(s->items);
    *s = (struct framework_set){.count = 0};
}

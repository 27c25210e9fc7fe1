#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "sweep_file/values.h"
#include "util/buffer.h"
#include "util/memory.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define AT(member) offsetof(struct predict_config, member)

static const char *const prune_names[PRUNE_COUNT] =
    {[PRUNE_CERTAIN] = "certain", [PRUNE_RISKY] = "risky", [PRUNE_SOUND] = "sound", [PRUNE_OFF] = "off"};

/* Sweep files are read after their profiles, so that the last word is theirs. */
static const struct {
    enum predict_table_key key;
    size_t offset;
} texts[] = {
    {PREDICT_FRAMEWORK, AT(framework)},         {PREDICT_DEVICE, AT(device)},           {PREDICT_CLUSTER, AT(cluster)},
    {PREDICT_MEMORY_METRIC, AT(memory_metric)}, {PREDICT_TIME_METRIC, AT(time_metric)},
};

static const struct {
    enum predict_table_key key;
    size_t offset;
    double least, most;
} numbers[] = {
    {PREDICT_CERTAIN, AT(certain), 0.1, 10},
    {PREDICT_RISKY, AT(risky), 0.1, 10},
    {PREDICT_AUDIT, AT(audit), 0, 1},
    {PREDICT_PEAK_FLOPS, AT(peak_flops), 1, 1e21},
    {PREDICT_MEMORY_BANDWIDTH, AT(memory_bandwidth), 1, 1e18},
    {PREDICT_LINK_BANDWIDTH, AT(link_bandwidth), 1, 1e18},
    {PREDICT_NETWORK_BANDWIDTH, AT(network_bandwidth), 1, 1e18},
    {PREDICT_NETWORK_LATENCY, AT(network_latency), 0, 1},
};

static void read_text(const struct reading *r, const struct toml_node *node, size_t offset)
{
    char **member = (char **)(void *)((char *)&r->sweep->predict + offset);
    if (check_not_blank(r, node, node->key))
        text_replace(member, xstrdup(node->text));
}

static void read_key(const struct reading *r, const struct toml_node *node)
{
    struct predict_config *p = &r->sweep->predict;
    char *expression = read_expression(r, node);
    size_t i = 0;
    if (!expression)
        return;
    while (i < p->key_count && strcmp(p->keys[i].name, node->key) != 0)
        i++;
    if (i == p->key_count) {
        p->keys = array_grow(p->keys, p->key_count++, sizeof *p->keys);
        p->keys[i] = (struct predict_key){.name = xstrdup(node->key)};
    }
    text_replace(&p->keys[i].expression, expression);
    p->keys[i].is_default = r->is_carried;
    p->keys[i].at = reading_at_key(r, node);
}

static void read_coefficient(const struct reading *r, const struct toml_node *node, bool is_time)
{
    struct predict_config *p = &r->sweep->predict;
    size_t i = 0;
    if (!schema_expect(r, node, node->key, TYPE_NUMBER))
        return;
    double value = number_of(node);
    if (!(value >= 0 && isfinite(value))) {
        problem_at_value(r, node, "%s must be a number, at least 0", node->key);
        return;
    }
    while (i < p->number_count && (p->numbers[i].is_time != is_time || strcmp(p->numbers[i].name, node->key) != 0))
        i++;
    if (i < p->number_count)
        free(p->numbers[i].name);
    else
        p->numbers = array_grow(p->numbers, p->number_count++, sizeof *p->numbers);
    p->numbers[i] = (struct predict_number){xstrdup(node->key), value, is_time, reading_at_key(r, node)};
}

static void read_children(const struct reading *r, const struct toml_node *const *found)
{
    const struct predict_config *p = &r->sweep->predict;
    const struct toml_node *keys = found[PREDICT_KEYS];
    const struct toml_node *const coefficients[] = {found[PREDICT_MEMORY], found[PREDICT_TIME]};
    if (keys && check_entry_count(r, keys, p->key_count, "inputs of predictions"))
        for (size_t i = 0; i < keys->child_count; i++)
            read_key(r, &keys->children[i]);
    /* Those of a carried profile are its framework's alone (predict/coefficients.h). */
    for (int t = 0; t < 2 && !r->is_carried; t++)
        if (coefficients[t] && check_entry_count(r, coefficients[t], p->number_count, "coefficients"))
            for (size_t i = 0; i < coefficients[t]->child_count; i++)
                read_coefficient(r, &coefficients[t]->children[i], t == 1);
}

void read_predict(const struct reading *r, const struct toml_node *table)
{
    struct predict_config *p = &r->sweep->predict;
    const struct toml_node *found[PREDICT_COUNT];
    double value;
    schema_match(&schema_predict, r, table, found);
    /* A profile that names no framework has something to say where predictions are asked for, and asks for none. */
    p->of_file |= r->role != FILE_PROFILE;
    p->given |= p->of_file || found[PREDICT_FRAMEWORK];
    for (size_t i = 0; i < LENGTH(texts); i++)
        if (found[texts[i].key])
            read_text(r, found[texts[i].key], texts[i].offset);
    for (size_t i = 0; i < LENGTH(numbers); i++)
        if (found[numbers[i].key] && read_bounded(r, found[numbers[i].key], numbers[i].least, numbers[i].most, &value))
            memcpy((char *)p + numbers[i].offset, &value, sizeof value);
    if (found[PREDICT_FRAMEWORK])
        p->framework_at = reading_at_value(r, found[PREDICT_FRAMEWORK]);
    if (found[PREDICT_DEVICE])
        p->device_at = reading_at_value(r, found[PREDICT_DEVICE]);
    int prune = found[PREDICT_PRUNE] ? check_choice(r, found[PREDICT_PRUNE], prune_names, PRUNE_COUNT) : -1;
    if (prune >= 0)
        p->prune = (enum prune)prune;
    read_children(r, found);
    if (found[PREDICT_ORDER])
        read_order(r, found[PREDICT_ORDER]);
    if (p->certain > 0 && p->risky > 0 && p->risky > p->certain)
        problem_at_value(r, table, "risky = %g is above certain = %g", p->risky, p->certain);
}

void predict_free(struct predict_config *p)
{
    for (size_t i = 0; i < LENGTH(texts); i++)
        free(*(char **)(void *)((char *)p + texts[i].offset));
    for (size_t i = 0; i < p->key_count; i++) {
        free(p->keys[i].name);
        free(p->keys[i].expression);
    }
    for (size_t i = 0; i < p->number_count; i++)
        free(p->numbers[i].name);
    for (size_t i = 0; i < p->order_count; i++)
        order_entry_free(&p->order[i]);
    free(p->keys);
    free(p->numbers);
    free(p->order);
}

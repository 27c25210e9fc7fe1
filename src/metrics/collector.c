#include <stdlib.h>
#include <string.h>

#include "metrics/reader_set.h"
#include "util/memory.h"

/* The first of several entries of one name stays the one that is found. */
static void note_name(struct collector *c, const char *name, size_t index)
{
    const struct hash128 hash = hash_bytes(name, strlen(name));
    int64_t known;
    if (!hash_map_get(&c->by_name, &hash, &known))
        hash_map_put(&c->by_name, &hash, (int64_t)index);
}

/* `metric` NULL: it is not declared. All points of a curve count. */
static size_t add_name(struct collector *c, const char *name, const struct metric *metric)
{
    const struct sample_filter filter =
        metric && metric->per
            ? (struct sample_filter){0, 0, 0}
            : (struct sample_filter){metric ? metric->warmup : 0, c->set->first_step, c->set->last_step};
    size_t i = sample_list_add_name(&c->list, name, filter);
    c->first[i] = i;
    note_name(c, name, i);
    return i;
}

/* Index of `name`, made when there is room: a name per step instead of a step per line would take all memory.
 * SAMPLE_NAMES_MOST when there is none. */
static size_t name_index(struct collector *c, const char *name)
{
    const struct sample_list *l = &c->list;
    const size_t next = c->last + 1 < l->name_count ? c->last + 1 : 0;
    if (next < l->name_count && strcmp(l->names[next], name) == 0)
        return next;
    const struct hash128 hash = hash_bytes(name, strlen(name));
    int64_t known;
    if (hash_map_get(&c->by_name, &hash, &known))
        return (size_t)known;
    return l->name_count == SAMPLE_NAMES_MOST ? SAMPLE_NAMES_MOST : add_name(c, name, NULL);
}

/* `step` below 0: not stated. */
static void add_sample(struct collector *c, size_t metric, int64_t step, double value)
{
    c->last = metric;
    sample_list_add(&c->list, metric, step, value);
}

void collector_add_read(struct collector *c, const struct metric_reader *r, int64_t step, double value)
{
    if (r->index >= SAMPLE_NAMES_MOST)
        return;
    c->any = true;
    /* A line of a curve that does not say which point it is of is no sample. */
    if (r->metric->per && step < 0)
        return;
    if (r->source->numerator && !(c->numerators[r->index] > 0 && value > 0))
        return;
    if (r->source->numerator)
        value = c->numerators[r->index] / value;
    add_sample(c, r->index, step, r->source->scale > 0 ? value * r->source->scale : value);
}

/* The names begin with one for each reader. */
static void add_reader_names(struct collector *c, const struct reader_set *set)
{
    for (size_t i = 0; i < set->count && i < SAMPLE_NAMES_MOST; i++)
        c->first[add_name(c, set->readers[i].metric->name, set->readers[i].metric)] = set->readers[i].first;
}

/* Returns a name of its own for what the job wrote of a metric that readers look for, too: both tell of the same
 * steps. */
static size_t own_name(struct collector *c, size_t metric)
{
    if (metric == SAMPLE_NAMES_MOST || c->first[metric] >= c->set->count)
        return metric;
    size_t first = c->first[metric];
    if (!c->own[first] && c->list.name_count < SAMPLE_NAMES_MOST) {
        c->own[first] = add_name(c, c->list.names[first], c->set->readers[first].metric);
        c->first[c->own[first]] = first;
    }
    return c->own[first] ? c->own[first] : first;
}

const struct metric *collector_curve(const struct collector *c, const char *name)
{
    for (size_t i = 0; c->set->has_curves && i < c->set->count; i++)
        if (c->set->readers[i].metric->per && strcmp(c->set->readers[i].metric->name, name) == 0)
            return c->set->readers[i].metric;
    return NULL;
}

void collector_add_named(struct collector *c, const char *name, int64_t step, double value)
{
    size_t metric = own_name(c, name_index(c, name));
    if (metric < SAMPLE_NAMES_MOST)
        add_sample(c, metric, step, value);
    else
        c->list.nameless++;
}

struct collector *collector_create(const struct reader_set *set)
{
    struct collector *c = xcalloc(1, sizeof *c);
    c->set = set;
    c->matched = xcalloc(set->count + 1, sizeof *c->matched);
    add_reader_names(c, set);
    return c;
}

struct collector *collector_copy(const struct collector *c)
{
    struct collector *copy = xmalloc(sizeof *copy);
    *copy = *c;
    copy->matched = xcalloc(c->set->count + 1, sizeof *copy->matched);
    sample_list_copy(&c->list, &copy->list);
    copy->by_name = HASH_MAP_INIT;
    for (size_t i = 0; i < copy->list.name_count; i++)
        note_name(copy, copy->list.names[i], i);
    return copy;
}

void collector_free(struct collector *c)
{
    if (!c)
        return;
    sample_list_free(&c->list);
    hash_map_free(&c->by_name);
    free_all(c->matched, c);
}

/* --- fallbacks --- */

/* Returns the source that counts: what the job itself wrote, else what the first of the metric's readers that found
 * something did. */
static size_t source_that_counts(const struct collector *c, const bool *found, size_t first)
{
    const struct reader_set *set = c->set;
    if (c->own[first] && found[c->own[first]])
        return c->own[first];
    for (size_t i = first; i < set->count && i < SAMPLE_NAMES_MOST && set->readers[i].first == first; i++)
        if (found[i])
            return i;
    return first;
}

void collector_drop_fallbacks(struct collector *c)
{
    struct sample_list *l = &c->list;
    size_t kept = 0, names = 0;
    bool found[SAMPLE_NAMES_MOST] = {false}, moved[SAMPLE_NAMES_MOST] = {false};
    size_t name[SAMPLE_NAMES_MOST], counts[SAMPLE_NAMES_MOST];
    OWNED struct series *series = xcalloc(l->name_count + 1, sizeof *series);
    for (size_t i = 0; i < l->count; i++)
        found[l->samples[i].metric] = true;
    for (size_t i = 0; i < l->name_count; i++) {
        series[i] = l->series[i];
        counts[i] = source_that_counts(c, found, i);
        name[i] = names;
        if (c->first[i] == i)
            moved[counts[i]] = true;
        if (c->first[i] == i)
            l->names[names++] = l->names[i];
        else
            free(l->names[i]);
    }
    for (size_t i = 0; i < l->name_count; i++) {
        if (c->first[i] == i)
            l->series[name[i]] = series[counts[i]];
        if (!moved[i])
            quantile_sketch_free(series[i].quantiles);
    }
    for (size_t i = 0; i < l->count; i++) {
        struct sample sample = l->samples[i];
        size_t first = c->first[sample.metric];
        if (counts[first] != sample.metric)
            continue;
        sample.metric = name[first];
        l->samples[kept++] = sample;
    }
    l->count = kept;
    l->name_count = names;
}

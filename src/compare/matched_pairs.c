#include "compare/matched_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/choices.h"
#include "util/buffer.h"
#include "util/memory.h"

/* A job and what it is matched by. */
struct placed {
    struct compared_identity rest;    /* identity without the key and the free keys */
    struct compared_identity setting; /* of the free keys */
    uint32_t value;                   /* index of its value */
    const struct compared_job *job;
};

/* The jobs of one group with one value of the key and of each free key. There are several only if they differ in labels
 * or replicate keys alone. */
struct value_side {
    size_t group;
    uint32_t value;
    enum compared_state state;
    int64_t job; /* the first of them */
    uint64_t setting;
    double sum;
    size_t count;                   /* values in the sum */
    bool one_of_several, no_choice; /* of several measured ones: chosen, or none could be */
};

struct pairing {
    const struct compared_jobs *jobs;
    const struct comparison_request *request;
    struct comparison *out;
    bool maximise;
    enum compared_kind section;
    const uint32_t *values_of; /* by spec of the section: 1 + the number of its value's text; NULL: no such key */
    struct string_list values;
    uint32_t *places; /* by text number: index of the value */
    struct placed *placed;
    size_t placed_count;
    struct value_side *sides; /* of all groups, in order of group, then value */
    size_t side_count;
};

/* --- values --- */

static const uint32_t *find_values(const struct compared_section *s, const char *key)
{
    const struct compared_key *k = key ? compared_key_named(s, key) : NULL;
    return k ? k->values : key ? NULL : s->labels;
}

/* 1 + the number of its value's text; 0: it has none. */
static uint32_t value_of(const struct pairing *p, const struct compared_job *job)
{
    const size_t spec = job->specs[p->section];
    return p->values_of && spec != SIZE_MAX ? p->values_of[spec] : 0;
}

static void collect_values(struct pairing *p)
{
    const struct texts *texts = &p->jobs->texts;
    bool *seen = xcalloc(texts->count + 1, sizeof *seen);
    struct texts order = TEXTS_INIT;
    for (size_t i = 0; i < p->jobs->count; i++)
        seen[value_of(p, &p->jobs->jobs[i])] = true;
    for (size_t i = 0; i < texts->count; i++)
        if (seen[i + 1])
            string_list_add(&p->values, xstrdup(texts->items[i]));
    string_list_sort_values(&p->values);
    for (size_t i = 0; i < p->values.count; i++)
        texts_number(&order, p->values.items[i]);
    p->places = xcalloc(texts->count + 1, sizeof *p->places);
    for (size_t i = 0; i < texts->count; i++)
        if (seen[i + 1])
            p->places[i] = texts_number(&order, texts->items[i]);
    texts_free(&order);
    free(seen);
    p->out->values = p->values.count;
}

static int unknown_value(const struct pairing *p, const char *text, struct error *e)
{
    struct buffer all = BUFFER_INIT;
    for (size_t i = 0; i < p->values.count && i < 20; i++)
        buffer_printf(&all, "%s%s", i ? ", " : "", p->values.items[i]);
    error_set(e, ERROR_USAGE, "--by %s: no job has the value %s; its values are %s", p->request->key, text,
              p->values.count ? buffer_text(&all) : "none");
    buffer_free(&all);
    return -1;
}

/* --- pairs --- */

static void add_pair(struct comparison *c, const char *a, const char *b)
{
    *array_add(c->pairs, c->count) = (struct comparison_pair){.a = xstrdup(a), .b = xstrdup(b)};
}

/* With more values, each is compared only with the next. */
static bool has_neighbours_only(const struct pairing *p)
{
    return p->values.count > COMPARISON_VALUES;
}

static int choose_pairs(struct pairing *p, struct error *e)
{
    const struct comparison_request *r = p->request;
    if (r->a && string_list_find(&p->values, r->a) == p->values.count)
        return unknown_value(p, r->a, e);
    if (r->b && string_list_find(&p->values, r->b) == p->values.count)
        return unknown_value(p, r->b, e);
    if (r->a && r->b && strcmp(r->a, r->b) == 0)
        return error_set(e, ERROR_USAGE, "--by %s=%s,%s: a value cannot be compared with itself", r->key, r->a, r->b);
    if (r->a) {
        add_pair(p->out, r->a, r->b);
        return 0;
    }
    for (size_t i = 0; i < p->values.count; i++)
        for (size_t j = i + 1; j < p->values.count && (!has_neighbours_only(p) || j == i + 1); j++)
            add_pair(p->out, p->values.items[i], p->values.items[j]);
    return 0;
}

/* Index of the pair of two values, of which `first` comes first; SIZE_MAX if there is none. `*swapped` is set if it was
 * requested the other way round. */
static size_t pair_of(const struct pairing *p, size_t first, size_t second, bool *swapped)
{
    const size_t n = p->values.count;
    *swapped = false;
    if (p->request->a) {
        const char *a = p->values.items[first], *b = p->values.items[second];
        *swapped = strcmp(a, p->request->b) == 0 && strcmp(b, p->request->a) == 0;
        return *swapped || (strcmp(a, p->request->a) == 0 && strcmp(b, p->request->b) == 0) ? 0 : SIZE_MAX;
    }
    if (has_neighbours_only(p))
        return second == first + 1 ? first : SIZE_MAX;
    return first * (2 * n - first - 1) / 2 + second - first - 1;
}

static double mean_of(const struct value_side *s)
{
    return s->count ? s->sum / (double)s->count : NAN;
}

static void add_ratio(struct comparison_pair *pair, double ratio)
{
    *array_add(pair->ratios, pair->summary.count) = ratio;
}

static int64_t first_job(int64_t known, int64_t job)
{
    return known && known < job ? known : job;
}

static void count_pair(struct comparison_pair *pair, const struct value_side *a, const struct value_side *b)
{
    double x = mean_of(a), y = mean_of(b);
    if (a->no_choice || b->no_choice) {
        pair->without_choice++;
    } else if (a->state == COMPARED_OPEN || b->state == COMPARED_OPEN) {
        pair->open++;
    } else if (a->state == COMPARED_OK && b->state == COMPARED_OK) {
        if (x > 0 && y > 0 && isfinite(x) && isfinite(y) && isfinite(y / x)) {
            add_ratio(pair, y / x);
            pair->chosen_a |= a->one_of_several;
            pair->chosen_b |= b->one_of_several;
        } else {
            pair->without_ratio++;
        }
    } else if (a->state == COMPARED_OK) {
        pair->only_a++;
        pair->example_only_a = first_job(pair->example_only_a, b->job);
    } else if (b->state == COMPARED_OK) {
        pair->only_b++;
        pair->example_only_b = first_job(pair->example_only_b, a->job);
    } else {
        pair->neither++;
    }
}

/* Of the sides of one group, one per value. */
static void count_group(struct pairing *p, const struct value_side *sides, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count && (!has_neighbours_only(p) || p->request->a || j == i + 1); j++) {
            bool swapped;
            size_t pair = pair_of(p, sides[i].value, sides[j].value, &swapped);
            if (pair != SIZE_MAX)
                count_pair(&p->out->pairs[pair], &sides[swapped ? j : i], &sides[swapped ? i : j]);
        }
}

/* --- groups --- */

static bool is_measured(const struct value_side *s)
{
    const double mean = mean_of(s);
    return s->state == COMPARED_OK && mean > 0 && isfinite(mean);
}

/* Whether `a` rather than `b` represents a value: measured, then ok before not ok, then what was chosen, then the
 * first. */
static bool stands_before(const struct value_side *a, const struct value_side *b)
{
    if (is_measured(a) != is_measured(b))
        return is_measured(a);
    if (a->state != b->state)
        return a->state > b->state;
    return a->no_choice != b->no_choice ? b->no_choice : a->job < b->job;
}

/* Marks the sides of values that were measured with several settings of the free keys. */
static void choose_settings(struct pairing *p)
{
    struct side_candidate *choices = xcalloc(p->side_count + 1, sizeof *choices);
    size_t count = 0;
    for (size_t i = 0; i < p->side_count; i++) {
        const struct value_side *s = &p->sides[i];
        const double cost = log(mean_of(s));
        if (is_measured(s))
            choices[count++] =
                (struct side_candidate){s->group, s->value, s->setting, p->maximise ? -cost : cost, false, false};
    }
    choices_make(choices, count, p->request->seed);
    for (size_t i = 0, k = 0; i < p->side_count; i++) {
        if (!is_measured(&p->sides[i]))
            continue;
        p->sides[i].one_of_several = choices[k].one_of_several;
        p->sides[i].no_choice = !choices[k++].chosen;
    }
    free(choices);
}

/* Keeps the first side of each value, in order of what stands before, and counts the pairs of each group. */
static void count_groups(struct pairing *p)
{
    for (size_t from = 0, end; from < p->side_count; from = end) {
        size_t kept = from;
        for (end = from + 1; end < p->side_count && p->sides[end].group == p->sides[from].group; end++) {
            if (p->sides[end].value != p->sides[kept].value)
                p->sides[++kept] = p->sides[end];
            else if (stands_before(&p->sides[end], &p->sides[kept]))
                p->sides[kept] = p->sides[end];
        }
        count_group(p, p->sides + from, kept - from + 1);
    }
}

static void add_job(struct value_side *side, const struct placed *placed)
{
    const struct compared_job *j = placed->job;
    side->state = j->state > side->state ? j->state : side->state;
    if (j->state == COMPARED_OK && j->has_value) {
        side->sum += j->value;
        side->count++;
    }
}

static int by_place(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    int order = compared_identity_order(&x->rest, &y->rest);
    if (order == 0)
        order = (x->value > y->value) - (x->value < y->value);
    if (order == 0)
        order = compared_identity_order(&x->setting, &y->setting);
    return order ? order : (x->job > y->job) - (x->job < y->job);
}

static bool is_same_side(const struct placed *a, const struct placed *b)
{
    return a->value == b->value && compared_identity_order(&a->rest, &b->rest) == 0 &&
           compared_identity_order(&a->setting, &b->setting) == 0;
}

static void pair_jobs(struct pairing *p)
{
    const struct placed *all = p->placed;
    size_t group = 0;
    if (p->placed_count)
        qsort(p->placed, p->placed_count, sizeof *p->placed, by_place);
    for (size_t i = 0; i < p->placed_count;) {
        const size_t from = i;
        group += from > 0 && compared_identity_order(&all[from - 1].rest, &all[from].rest) != 0;
        struct value_side side = {.group = group,
                                  .value = all[i].value,
                                  .job = all[i].job->id,
                                  .setting = all[i].setting.low};
        while (i < p->placed_count && is_same_side(&all[from], &all[i]))
            add_job(&side, &all[i++]);
        *array_add(p->sides, p->side_count) = side;
    }
    choose_settings(p);
    count_groups(p);
    for (size_t i = 0; i < p->out->count; i++) {
        struct comparison_pair *pair = &p->out->pairs[i];
        pair->summary = ratios_summarise(pair->ratios, pair->summary.count);
    }
}

/* --- what is equal --- */

static bool is_free(const struct comparison *c, enum compared_kind kind, const char *key)
{
    const size_t length = strlen(compared_names[kind]);
    for (size_t i = 0; i < c->free.count; i++) {
        const char *name = c->free.items[i];
        bool qualified = strncmp(name, compared_names[kind], length) == 0 && name[length] == '.';
        if (strcmp(qualified ? name + length + 1 : name, key) == 0)
            return true;
    }
    return false;
}

/* By spec of a section, the identity of what must be equal, or of the free keys. If nothing is removed from a section,
 * what must be equal is the spec itself, so that specs that differ in labels alone are different. The caller frees it.
 */
static struct compared_identity *identities(const struct pairing *p, enum compared_kind kind, bool of_free)
{
    const struct compared_section *s = &p->jobs->sections[kind];
    struct compared_identity *all = xcalloc(s->spec_count + 1, sizeof *all);
    bool *removed = xcalloc(s->key_count + 1, sizeof *removed), own = kind == p->section, any = own || of_free;
    for (size_t k = 0; k < s->key_count; k++) {
        const struct compared_key *key = &s->keys[k];
        const bool free_key = is_free(p->out, kind, key->name);
        removed[k] = key->is_replicate || free_key != of_free;
        any |= removed[k];
        removed[k] |= own && (key->is_label || !p->out->key || strcmp(key->name, p->out->key) == 0);
    }
    for (size_t i = 0; i < s->spec_count; i++)
        all[i] = any ? compared_spec_identity(p->jobs, kind, i, removed)
                     : compared_identity_of((uint64_t)kind << 56, (uint64_t)s->ids[i]);
    free(removed);
    return all;
}

static void add_parts(struct pairing *p, bool of_free)
{
    for (enum compared_kind kind = 0; kind < COMPARED_SECTIONS; kind++) {
        struct compared_identity *parts = identities(p, kind, of_free);
        for (size_t i = 0; i < p->placed_count; i++) {
            struct placed *one = &p->placed[i];
            const size_t spec = one->job->specs[kind];
            if (spec != SIZE_MAX)
                compared_identity_add(of_free ? &one->setting : &one->rest, parts[spec]);
        }
        free(parts);
    }
}

static void place_jobs(struct pairing *p)
{
    p->placed = xcalloc(p->jobs->count + 1, sizeof *p->placed);
    for (size_t i = 0; i < p->jobs->count; i++) {
        const struct compared_job *job = &p->jobs->jobs[i];
        const uint32_t value = value_of(p, job);
        if (value)
            p->placed[p->placed_count++] = (struct placed){.value = p->places[value - 1],
                                                           .job = job,
                                                           .rest = compared_identity_of(UINT64_MAX, job->batch)};
    }
    add_parts(p, false);
    if (p->out->free.count)
        add_parts(p, true);
}

int matched_pairs_measure(const struct compared_jobs *jobs, const struct comparison_request *request, bool maximise,
                          struct comparison *c, struct error *e)
{
    struct pairing p = {.jobs = jobs, .request = request, .out = c, .maximise = maximise};
    p.section = compared_section_named(c->section, strlen(c->section));
    p.values_of = find_values(&jobs->sections[p.section], c->key);
    matched_pairs_clear(c);
    collect_values(&p);
    int rc = choose_pairs(&p, e);
    if (rc == 0) {
        place_jobs(&p);
        pair_jobs(&p);
    }
    string_list_free(&p.values);
    free_all(p.places, p.placed, p.sides);
    return rc;
}

void matched_pairs_clear(struct comparison *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free_all(c->pairs[i].a, c->pairs[i].b, c->pairs[i].ratios);
    }
    free(c->pairs);
    c->pairs = NULL;
    c->count = 0;
}

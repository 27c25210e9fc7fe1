#include "models/search.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/cursor.h"
#include "toml/tree.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/rng.h"

/* --- samples --- */

/* Up to this many candidates are walked through, which takes some 20 ms; with more, this many positions are drawn
 * first, which finds a hundred unless fewer than one in a thousand is kept. */
#define WALKED_AT_ONCE (UINT64_C(1) << 20)
#define DRAWS_FIRST (UINT64_C(1) << 18)
/* A stratum of more candidates is looked at in random places only: all of them would take minutes or longer. */
#define WALK_MOST (UINT64_C(1) << 30)

/* The lowest priorities seen, largest on top. */
struct pick {
    uint64_t priority, rank;
};

/* One stratum at work. */
struct drawing {
    struct model_search *search;
    struct model_search_stratum *stratum;
    const struct model_index *index; /* the stratum's part of the space */
    struct model_cursor *cursor;
    const struct hash_index *taken; /* by strata before, in the search's index */
    struct hash_index drawn;        /* by this one, in its own index */
    uint64_t wanted;
    uint64_t *ranks; /* found so far, in the search's index */
    size_t count;
    struct pick *heap;
    size_t heap_count;
};

static void add_rank(struct hash_index *set, uint64_t rank)
{
    struct hash128 hash = hash_bytes(&rank, sizeof rank);
    hash_index_takes(set, &hash);
}

static bool has_rank(const struct hash_index *set, uint64_t rank)
{
    struct hash128 hash = hash_bytes(&rank, sizeof rank);
    return hash_index_has(set, &hash);
}

/* Returns whether the candidate is one of the stratum that no stratum before has taken. 1, 0, or -1. */
static int eligible(struct drawing *d, const struct model_candidate *c, struct error *e)
{
    int rc = model_filters_accept(d->search->filters, d->search->filter_count, c, e);
    if (rc > 0 && d->stratum->filter.accepts)
        rc = model_filters_accept(&d->stratum->filter, 1, c, e);
    if (rc > 0 && has_rank(d->taken, model_candidate_rank(c, d->search->index)))
        rc = 0;
    return rc;
}

static void found(struct drawing *d, const struct model_candidate *c)
{
    *array_add(d->ranks, d->count) = model_candidate_rank(c, d->search->index);
}

/* Of the two of the stratum, for positions and for priorities. */
static struct rng stream_of(const struct drawing *d, uint64_t which)
{
    return rng_stream((uint64_t)d->search->options.seed, (uint64_t)(d->stratum - d->search->strata) * 2 + which);
}

/* Equal chances for all that are left at every draw: a draw that hits one found before is drawn again. */
static int draw_positions(struct drawing *d, struct error *e)
{
    struct rng rng = stream_of(d, 0);
    for (uint64_t i = 0; i < DRAWS_FIRST && d->count < d->wanted; i++) {
        uint64_t rank = rng_below(&rng, d->index->count);
        if (has_rank(&d->drawn, rank))
            continue;
        const struct model_candidate *c = model_cursor_seek(d->cursor, rank);
        int rc = eligible(d, c, e);
        if (rc < 0)
            return -1;
        if (rc > 0) {
            add_rank(&d->drawn, rank);
            found(d, c);
        }
    }
    return 0;
}

static bool comes_before(struct pick a, struct pick b)
{
    return a.priority != b.priority ? a.priority < b.priority : a.rank < b.rank;
}

static void sift_up(struct pick *heap, size_t i)
{
    while (i > 0 && comes_before(heap[(i - 1) / 2], heap[i])) {
        struct pick parent = heap[(i - 1) / 2];
        heap[(i - 1) / 2] = heap[i];
        heap[i] = parent;
        i = (i - 1) / 2;
    }
}

static void sift_down(struct pick *heap, size_t count)
{
    for (size_t i = 0, child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && comes_before(heap[child], heap[child + 1]))
            child++;
        if (!comes_before(heap[i], heap[child]))
            return;
        struct pick larger = heap[child];
        heap[child] = heap[i];
        heap[i] = larger;
    }
}

static void keep_pick(struct drawing *d, struct pick pick)
{
    if (d->heap_count < d->wanted - d->count) {
        d->heap = array_grow(d->heap, d->heap_count, sizeof *d->heap);
        d->heap[d->heap_count] = pick;
        sift_up(d->heap, d->heap_count++);
    } else {
        d->heap[0] = pick;
        sift_down(d->heap, d->heap_count);
    }
}

/* The priority is asked first: it costs a few nanoseconds, a filter may cost a microsecond, and few
 * candidates have a priority low enough to need one. */
static bool could_enter(const struct drawing *d, struct pick pick)
{
    return d->heap_count < d->wanted - d->count || comes_before(pick, d->heap[0]);
}

static int compare_picks(const void *a, const void *b)
{
    struct pick x = *(const struct pick *)a, y = *(const struct pick *)b;
    return comes_before(y, x) - comes_before(x, y);
}

/* Fills up with the lowest priorities among all that were not drawn. */
static int walk(struct drawing *d, struct error *e)
{
    const uint64_t seed = stream_of(d, 1).seed;
    const struct model_candidate *c;
    /* Seeking the end and asking for the next would end the walk at once: position 0 begins it. */
    for (c = model_cursor_seek(d->cursor, 0); c; c = model_cursor_next(d->cursor)) {
        struct pick pick = {rng_at(seed, c->rank), c->rank};
        if (!could_enter(d, pick) || has_rank(&d->drawn, c->rank))
            continue;
        int rc = eligible(d, c, e);
        if (rc < 0)
            return -1;
        if (rc > 0)
            keep_pick(d, pick);
    }
    array_sort(d->heap, d->heap_count, compare_picks);
    for (size_t i = 0; i < d->heap_count; i++)
        found(d, model_cursor_seek(d->cursor, d->heap[i].rank));
    return 0;
}

static int draw_stratum(struct drawing *d, struct error *e)
{
    struct model_search *s = d->search;
    const uint64_t removed_there = d->stratum->filter.removed;
    OWNED uint64_t *removed = xcalloc(s->filter_count + 1, sizeof *removed);
    for (size_t i = 0; i < s->filter_count; i++)
        removed[i] = s->filters[i].removed;
    int rc = d->index->count > WALKED_AT_ONCE ? draw_positions(d, e) : 0;
    if (rc < 0 || d->count >= d->wanted)
        return rc;
    s->cut |= d->index->count > WALK_MOST;
    if (d->index->count > WALK_MOST)
        return 0;
    /* The walk comes to what the draws have seen removed once more. */
    for (size_t i = 0; i < s->filter_count; i++)
        s->filters[i].removed = removed[i];
    d->stratum->filter.removed = removed_there;
    return walk(d, e);
}

/* Adds what the stratum finds to the sample. */
static int sample_stratum(struct drawing *d, struct hash_index *taken, uint64_t **ranks, size_t *count, struct error *e)
{
    struct model_index *part = NULL;
    int rc = d->stratum->literal
                 ? model_index_restrict(d->search->index, d->stratum->sample->each, d->stratum->literal, &part, e)
                 : 0;
    if (rc == 0) {
        d->index = part ? part : d->search->index;
        d->cursor = model_cursor_make(d->index);
        rc = draw_stratum(d, e);
    }
    d->stratum->taken = rc == 0 ? d->count : 0;
    for (size_t i = 0; i < d->stratum->taken; i++) {
        add_rank(taken, d->ranks[i]);
        *array_add(*ranks, *count) = d->ranks[i];
    }
    model_cursor_free(d->cursor);
    model_index_free(part);
    hash_index_free(&d->drawn);
    free_all(d->ranks, d->heap);
    return rc;
}

int model_search_draw(struct model_search *s, uint64_t **ranks, size_t *count, struct error *e)
{
    struct hash_index taken = HASH_INDEX_INIT;
    int rc = 0;
    *ranks = NULL;
    *count = 0;
    s->cut = false;
    for (size_t i = 0; i < s->stratum_count && rc == 0; i++) {
        struct drawing d = {.search = s,
                            .stratum = &s->strata[i],
                            .taken = &taken,
                            .wanted = (uint64_t)s->strata[i].sample->take};
        rc = sample_stratum(&d, &taken, ranks, count, e);
    }
    hash_index_free(&taken);
    if (rc < 0) {
        free(*ranks);
        *ranks = NULL;
    }
    return rc;
}

#define STRATA_MOST 10000
#define PROGRESS_EVERY (UINT64_C(1) << 20)

/* --- filters --- */

static struct model_filter *add_filter(struct model_search *s)
{
    return array_add(s->filters, s->filter_count);
}

static int watch(const struct model_filter *f, const struct model_candidate *c, struct error *e)
{
    struct model_search *s = f->context;
    (void)c;
    (void)e;
    if (++s->looked_at % PROGRESS_EVERY == 0)
        s->options.progress(s->options.progress_context, s->looked_at);
    return 1;
}

static int differs_from_base(const struct model_filter *f, const struct model_candidate *c, struct error *e)
{
    const struct model_search *s = f->context;
    (void)e;
    return c->parameters != s->base.parameters || model_candidate_rank(c, s->index) != s->base_rank;
}

/* "file:line:column: ", or nothing for what the command line says. */
static void add_problem(struct error *problems, const struct position *at, const char *what, const struct error *e)
{
    if (at)
        error_add_line(problems, e->kind, "%s:%d:%d: %s", at->file, at->line, at->column, e->text);
    else
        error_add_line(problems, e->kind, "%s: %s", what, e->text);
}

static void add_expression(struct model_search *s, const char *text, const struct position *at, const char *name,
                           struct model_filter *out, struct error *problems)
{
    struct model_expression *x = NULL;
    struct error e = ERROR_INIT;
    if (model_expression_compile(s->evaluator, text, &x, &e) < 0) {
        add_problem(problems, at, "--where", &e);
        return;
    }
    *array_add(s->expressions, s->expression_count) = x;
    s->flops |= model_expression_reads_flops(x);
    *out = (struct model_filter){.name = name, .accepts = model_expression_accepts, .context = x};
}

static void add_preset(struct model_search *s, const struct space_filter *from, struct model_filter *out,
                       struct error *problems)
{
    const size_t stack = model_space_main_stack(s->table);
    struct error e = ERROR_INIT;
    int rc = -1;
    switch (from->preset) {
    case PRESET_FIXED_LAYERS:
        rc = model_filter_fixed_layers(s->table, stack, (unsigned)from->layers, out, &e);
        break;
    case PRESET_SIMILAR_PARAMETERS:
        *out = model_filter_similar_parameters(s->base.parameters, from->tolerance);
        rc = 0;
        break;
    case PRESET_UNIFORM_MIXER:
        rc = model_filter_uniform_mixer(s->table, stack, from->mixer, out, &e);
        break;
    case PRESET_NONE:
        return;
    }
    if (rc < 0)
        add_problem(problems, &from->at, NULL, &e);
    out->name = from->name;
}

static void add_filters(struct model_search *s, struct error *problems)
{
    const struct model_space_table *m = s->table;
    if (s->options.progress)
        *add_filter(s) = (struct model_filter){.accepts = watch, .context = s};
    for (size_t i = 0; i < m->filter_count; i++) {
        struct model_filter filter = {0};
        if (m->filters[i].where)
            add_expression(s, m->filters[i].where, &m->filters[i].at, m->filters[i].name, &filter, problems);
        else
            add_preset(s, &m->filters[i], &filter, problems);
        *add_filter(s) = filter;
    }
    if (s->options.where) {
        struct model_filter filter = {0};
        add_expression(s, s->options.where, NULL, "--where", &filter, problems);
        *add_filter(s) = filter;
    }
}

/* --- strata --- */

static struct model_search_stratum *add_stratum(struct model_search *s, const struct space_sample *sample,
                                                char *literal)
{
    struct model_search_stratum *stratum = array_add(s->strata, s->stratum_count);
    *stratum = (struct model_search_stratum){.sample = sample, .literal = literal};
    stratum->name = literal ? xasprintf("%s = %s", sample->each, literal) : xstrdup("any");
    return stratum;
}

/* How many values the key has, and the one at a position as TOML. */
static size_t count_values(const struct model_search *s, const char *key)
{
    const size_t axis = model_space_find(s->table, key), stack = model_space_find_layers(s->table, key);
    if (stack != MODEL_NO_KEY)
        return s->table->keys[stack].layers.count;
    return axis != MODEL_NO_KEY && !model_key_is_stack(&s->table->keys[axis]) ? s->table->keys[axis].value_count : 0;
}

static char *value_at(const struct model_search *s, const char *key, size_t position)
{
    const size_t stack = model_space_find_layers(s->table, key);
    struct buffer literal = BUFFER_INIT;
    if (stack != MODEL_NO_KEY)
        buffer_printf(&literal, "%u", s->table->keys[stack].layers.values[position]);
    else
        model_key_add_literal(&s->table->keys[model_space_find(s->table, key)], position, &literal);
    return buffer_take(&literal);
}

static int add_strata_of(struct model_search *s, const struct space_sample *sample, struct error *e)
{
    const bool all = sample->literals.count == 0;
    const size_t count = all ? count_values(s, sample->each) : sample->literals.count;
    if (count == 0)
        return error_set(e, ERROR_USAGE, "the model space has no key %s with single values", sample->each);
    if (count > STRATA_MOST - s->stratum_count)
        return error_set(e, ERROR_USAGE, "a sample of more than %d parts", STRATA_MOST);
    for (size_t i = 0; i < count; i++)
        add_stratum(s, sample, all ? value_at(s, sample->each, i) : xstrdup(sample->literals.items[i]));
    return 0;
}

static void add_strata(struct model_search *s, struct error *problems)
{
    const struct model_space_table *m = s->table;
    for (size_t i = 0; i < m->sample_count; i++) {
        const struct space_sample *sample = &m->samples[i];
        struct error e = ERROR_INIT;
        size_t first = s->stratum_count;
        if (!sample->each)
            add_stratum(s, sample, NULL);
        else if (add_strata_of(s, sample, &e) < 0)
            add_problem(problems, &sample->at, NULL, &e);
        struct model_filter filter = {0};
        if (sample->where)
            add_expression(s, sample->where, &sample->at, sample->where, &filter, problems);
        for (; first < s->stratum_count; first++)
            s->strata[first].filter = filter;
    }
}

/* A value that the space does not have is found before anything is walked. */
static void check_strata(struct model_search *s, struct error *problems)
{
    for (size_t i = 0; i < s->stratum_count; i++) {
        const struct model_search_stratum *stratum = &s->strata[i];
        struct model_index *part = NULL;
        struct error e = ERROR_INIT;
        if (stratum->literal && model_index_restrict(s->index, stratum->sample->each, stratum->literal, &part, &e) < 0)
            add_problem(problems, &stratum->sample->at, NULL, &e);
        model_index_free(part);
    }
}

/* --- opening --- */

static int make_index(struct model_search *s, struct error *e)
{
    const struct position *at = &s->table->at;
    if (model_index_make(s->table, s->flops, &s->index, e) < 0)
        return error_context(e, "%s:%d:%d: [model_space]", at->file, at->line, at->column);
    if (s->table->include_base && model_base_find(&s->base, s->index, &s->base_rank))
        *add_filter(s) = (struct model_filter){.name = "being the base", .accepts = differs_from_base, .context = s};
    return 0;
}

static int build(struct model_search *s, struct error *e)
{
    struct error problems = ERROR_INIT;
    if (model_base_make(s->table, &s->base, e) < 0 || model_evaluator_open(&s->base, &s->evaluator, e) < 0)
        return -1;
    add_filters(s, &problems);
    add_strata(s, &problems);
    if (problems.kind == ERROR_NONE) {
        if (make_index(s, e) < 0)
            return -1;
        check_strata(s, &problems);
    }
    return problems.kind == ERROR_NONE ? 0 : error_set(e, problems.kind, "%s", problems.text);
}

int model_search_open(const struct sweep *sweep, const struct model_search_options *options, struct model_search **out,
                      struct error *e)
{
    struct model_search *s = xcalloc(1, sizeof *s);
    s->table = sweep->model_space;
    s->options = *options;
    if (!s->options.seed_given)
        s->options.seed = s->table->seed_given ? s->table->seed : sweep->seed;
    if (build(s, e) < 0) {
        model_search_free(s);
        return -1;
    }
    *out = s;
    return 0;
}

void model_search_free(struct model_search *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->expression_count; i++)
        model_expression_free(s->expressions[i]);
    for (size_t i = 0; i < s->stratum_count; i++)
        free_all(s->strata[i].name, s->strata[i].literal);
    model_evaluator_close(s->evaluator);
    model_index_free(s->index);
    free_all(s->expressions, s->strata, s->filters, s);
}

/* --- walking --- */

int model_search_count(struct model_search *s, struct model_counts *out, struct error *e)
{
    const size_t stack = model_space_main_stack(s->table);
    struct model_cursor *cursor = model_cursor_make(s->index);
    const struct model_candidate *c = NULL;
    struct model_counts counts = {0};
    int rc;
    if (stack != MODEL_NO_KEY) {
        counts.layers_most = s->index->keys[stack].stack.layers_max;
        counts.kept_by_layers = xcalloc(counts.layers_most + 1, sizeof *counts.kept_by_layers);
    }
    while ((rc = model_filters_next(s->filters, s->filter_count, cursor, &c, e)) > 0) {
        counts.kept++;
        if (counts.kept_by_layers)
            counts.kept_by_layers[c->parts[stack].stack.layers]++;
    }
    model_cursor_free(cursor);
    if (rc < 0)
        free(counts.kept_by_layers);
    else
        *out = counts;
    return rc;
}

struct handing {
    struct model_search *search;
    model_pick_function each;
    void *context;
    uint64_t met, handed;
};

/* 0 to go on, 1 when there are enough, -1. */
static int hand(struct handing *h, const struct model_candidate *c, struct error *e)
{
    const struct model_search_options *o = &h->search->options;
    const struct model_pick pick = {c, c ? c->parameters : h->search->base.parameters};
    if (h->met++ < o->offset)
        return 0;
    h->handed++;
    if (h->each(h->context, &pick, e) < 0)
        return -1;
    return o->limit > 0 && h->handed == o->limit;
}

static void add_removed(const struct model_filter *f, uint64_t *sum, struct buffer *text)
{
    if (f->removed == 0 || !f->name)
        return;
    buffer_printf(text, "%s%s removed %" PRIu64, *sum > 0 ? ", " : "", f->name, f->removed);
    *sum += f->removed;
}

static int nothing_left(const struct model_search *s, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    uint64_t sum = 0;
    for (size_t i = 0; i < s->filter_count; i++)
        add_removed(&s->filters[i], &sum, &text);
    for (size_t i = 0; i < s->stratum_count; i++)
        add_removed(&s->strata[i].filter, &sum, &text);
    if (sum == 0)
        error_set(e, ERROR_NOTHING, "no model is left: no part of the sample has any candidates");
    else
        error_set(e, ERROR_NOTHING, "no model is left of %" PRIu64 " candidates%s: %s", sum,
                  s->cut ? " that were looked at" : "", buffer_text(&text));
    return -1;
}

static bool keeps_all(const struct model_search *s)
{
    for (size_t i = 0; i < s->filter_count; i++)
        if (s->filters[i].name)
            return false;
    return !s->table->include_base;
}

static int hand_all(struct handing *h, struct error *e)
{
    struct model_search *s = h->search;
    struct model_cursor *cursor = model_cursor_make(s->index);
    const struct model_candidate *c = NULL;
    const bool base = s->table->include_base;
    int rc;
    /* Without filters the offset is a position. */
    if (keeps_all(s) && s->options.offset > 0) {
        h->met = s->options.offset < s->index->count ? s->options.offset : s->index->count;
        c = model_cursor_seek(cursor, s->options.offset);
        rc = c != NULL;
    } else {
        rc = model_filters_next(s->filters, s->filter_count, cursor, &c, e);
        if (rc == 0)
            rc = nothing_left(s, e);
    }
    int stop = rc > 0 && base ? hand(h, NULL, e) : 0;
    while (rc > 0 && stop == 0) {
        stop = hand(h, c, e);
        if (stop == 0)
            rc = model_filters_next(s->filters, s->filter_count, cursor, &c, e);
    }
    model_cursor_free(cursor);
    return rc < 0 || stop < 0 ? -1 : 0;
}

static int hand_sample(struct handing *h, struct error *e)
{
    struct model_search *s = h->search;
    OWNED uint64_t *ranks = NULL;
    size_t count;
    if (model_search_draw(s, &ranks, &count, e) < 0)
        return -1;
    struct model_cursor *cursor = model_cursor_make(s->index);
    int rc = count == 0 ? nothing_left(s, e) : 0;
    if (rc == 0 && s->table->include_base)
        rc = hand(h, NULL, e);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = hand(h, model_cursor_seek(cursor, ranks[i]), e);
    model_cursor_free(cursor);
    return rc < 0 ? -1 : 0;
}

int model_search_each(struct model_search *s, model_pick_function each, void *context, uint64_t *count, struct error *e)
{
    struct handing h = {.search = s, .each = each, .context = context};
    for (size_t i = 0; i < s->filter_count; i++)
        s->filters[i].removed = 0;
    int rc = s->stratum_count > 0 ? hand_sample(&h, e) : hand_all(&h, e);
    if (rc < 0)
        return -1;
    if (h.handed == 0)
        return error_set(e, ERROR_NOTHING, "there are %" PRIu64 " models, so none is left after skipping %" PRIu64,
                         h.met, s->options.offset);
    *count = h.handed;
    return 0;
}

/* --- as a section --- */

static void add_base_toml(const struct model_space_table *m, struct buffer *out)
{
    buffer_add_text(out, "[[model]]\n");
    for (size_t i = 0; i < m->base_count; i++) {
        toml_add_key(m->base[i].name, out);
        buffer_printf(out, " = %s\n", m->base[i].literal);
    }
}

void model_section_add_toml(const struct model_search *search, const struct model_pick *pick, struct buffer *out)
{
    if (pick->candidate)
        model_candidate_add_toml(pick->candidate, out);
    else
        add_base_toml(search->table, out);
}

/* --- keys whose values are lists --- */

static bool is_list(const char *literal)
{
    return literal[0] == '[';
}

static bool has_lists(const struct space_key *key)
{
    for (size_t i = 0; key->kind == SPACE_KEY_VALUES && i < key->value_count; i++)
        if (is_list(key->literals[i]))
            return true;
    return key->kind == SPACE_KEY_MULTISET;
}

static void add_name(const char *name, size_t *count, struct buffer *out)
{
    buffer_add_text(out, (*count)++ ? ", " : "[");
    buffer_add_json_string(out, name, strlen(name));
}

void model_section_add_list_values(const struct model_search *search, struct buffer *out)
{
    const struct model_space_table *m = search->table;
    size_t count = 0;
    for (size_t k = 0; k < m->key_count; k++) {
        const struct base_key *base = model_space_base_key(m, m->keys[k].name);
        if (has_lists(&m->keys[k]) || (m->include_base && base && is_list(base->literal)))
            add_name(m->keys[k].name, &count, out);
    }
    for (size_t i = 0; m->include_base && i < m->base_count; i++)
        if (is_list(m->base[i].literal) && model_space_find(m, m->base[i].name) == MODEL_NO_KEY)
            add_name(m->base[i].name, &count, out);
    buffer_add_text(out, count > 0 ? "]" : "");
}

/* --- as a section --- */

struct filling {
    const struct model_search *search;
    struct arena *arena; /* the sweep's */
    struct section section;
    struct hash128 hash; /* of the sweep and the models so far */
    struct buffer text;
};

static void add_integer(const struct filling *f, struct block *block, const char *key, int64_t integer)
{
    block_add_key(f->arena, block, key, &(struct value){.kind = VALUE_INT, .integer = integer}, block->at);
}

static void add_candidate_axes(const struct filling *f, const struct model_candidate *c, struct block *block)
{
    for (size_t k = 0; k < c->space->key_count; k++) {
        const struct space_key *key = &c->space->keys[k];
        OWNED_BUFFER json = BUFFER_INIT;
        if (key->layers_key)
            add_integer(f, block, key->layers_key, c->parts[k].stack.layers);
        if (model_key_is_stack(key)) {
            model_candidate_add_json(c, k, &json);
            block_add_key(f->arena, block, key->name, &(struct value){.kind = VALUE_JSON, .text = json.data},
                          block->at);
        } else if (model_key_has_integers(key)) {
            add_integer(f, block, key->name, model_key_integer(key, c->parts[k].position));
        } else {
            block_add_key(f->arena, block, key->name, &key->values[c->parts[k].position], block->at);
        }
    }
}

static void add_base_axes(const struct filling *f, struct block *block)
{
    const struct model_space_table *m = f->search->table;
    for (size_t i = 0; i < m->base_count; i++)
        block_add_key(f->arena, block, m->base[i].name, &m->base[i].value, m->base[i].at);
}

static void hash_in(struct filling *f, const struct model_pick *pick)
{
    buffer_clear(&f->text);
    buffer_add(&f->text, f->hash.bytes, sizeof f->hash.bytes);
    model_section_add_toml(f->search, pick, &f->text);
    f->hash = hash_bytes(f->text.data, f->text.length);
}

static int add_block(void *context, const struct model_pick *pick, struct error *e)
{
    struct filling *f = context;
    struct section *s = &f->section;
    if (s->block_count == MODEL_SECTION_MOST)
        return error_set(e, ERROR_USAGE, "more than %d models: a sweep takes a sample of them ([[model_space.sample]])",
                         MODEL_SECTION_MOST);
    struct block *block = arena_add(f->arena, s->blocks, s->block_count);
    *block = (struct block){.at = f->search->table->at};
    if (pick->candidate)
        add_candidate_axes(f, pick->candidate, block);
    else
        add_base_axes(f, block);
    hash_in(f, pick);
    return 0;
}

int model_section_fill(struct model_search *search, struct sweep *sweep, uint64_t *count, struct error *e)
{
    struct filling f = {.search = search, .arena = &sweep->arena, .hash = sweep->hash};
    int rc = model_search_each(search, add_block, &f, count, e);
    buffer_free(&f.text);
    if (rc < 0)
        return -1;
    sweep->sections[SECTION_MODEL] = f.section;
    sweep->hash = f.hash;
    return 0;
}

#include "models/sample.h"

#include <stdlib.h>
#include <string.h>

#include "util/hash_set.h"
#include "util/memory.h"
#include "util/rng.h"

/* Up to this many candidates are walked through, which takes some 20 ms; with more, this many positions are drawn
 * first, which finds a hundred unless fewer than one in a thousand is kept. */
#define WALKED_AT_ONCE (UINT64_C(1) << 20)
#define DRAWS_FIRST (UINT64_C(1) << 18)

/* The lowest priorities seen, largest on top. */
struct pick {
    uint64_t priority, rank;
};

/* One stratum at work. */
struct drawing {
    const struct model_sample_request *request;
    const struct model_stratum *stratum;
    const struct model_index *index; /* the stratum's part of the space */
    struct model_cursor *cursor;
    const struct hash_set *taken; /* by strata before, in the request's index */
    struct hash_set drawn;        /* by this one, in its own index */
    uint64_t wanted;              /* skip + take */
    uint64_t *ranks;              /* found so far, in the request's index */
    size_t count;
    struct pick *heap;
    size_t heap_count;
};

static void add_rank(struct hash_set *set, uint64_t rank)
{
    struct hash128 hash = hash_bytes(&rank, sizeof rank);
    hash_set_add(set, &hash);
}

static bool has_rank(const struct hash_set *set, uint64_t rank)
{
    struct hash128 hash = hash_bytes(&rank, sizeof rank);
    return hash_set_has(set, &hash);
}

/* Returns whether the candidate is one of the stratum that no stratum before has taken. 1, 0, or -1. */
static int eligible(struct drawing *d, const struct model_candidate *c, struct error *e)
{
    int rc = model_filters_accept(d->request->filters, d->request->filter_count, c, e);
    if (rc > 0)
        rc = model_filters_accept(d->stratum->filters, d->stratum->filter_count, c, e);
    if (rc > 0 && has_rank(d->taken, model_candidate_rank(c, d->request->index)))
        rc = 0;
    return rc;
}

static void found(struct drawing *d, const struct model_candidate *c)
{
    *array_add(d->ranks, d->count) = model_candidate_rank(c, d->request->index);
}

/* Equal chances for all that are left at every draw: a draw that hits one found before is drawn again. */
static int draw_positions(struct drawing *d, struct error *e)
{
    struct rng rng = rng_stream(d->request->seed, (uint64_t)(d->stratum - d->request->strata) * 2);
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
    const uint64_t stream = (uint64_t)(d->stratum - d->request->strata) * 2 + 1;
    const uint64_t seed = rng_stream(d->request->seed, stream).seed;
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
    if (d->heap_count > 0)
        qsort(d->heap, d->heap_count, sizeof *d->heap, compare_picks);
    for (size_t i = 0; i < d->heap_count; i++)
        found(d, model_cursor_seek(d->cursor, d->heap[i].rank));
    return 0;
}

/* Returns how many the filters removed so far: the request's, then the stratum's. The caller's. */
static uint64_t *removed_counts(const struct drawing *d)
{
    const size_t count = d->request->filter_count;
    uint64_t *removed = xcalloc(count + d->stratum->filter_count + 1, sizeof *removed);
    for (size_t i = 0; i < count; i++)
        removed[i] = d->request->filters[i].removed;
    for (size_t i = 0; i < d->stratum->filter_count; i++)
        removed[count + i] = d->stratum->filters[i].removed;
    return removed;
}

static void restore_removed(const struct drawing *d, const uint64_t *removed)
{
    const size_t count = d->request->filter_count;
    for (size_t i = 0; i < count; i++)
        d->request->filters[i].removed = removed[i];
    for (size_t i = 0; i < d->stratum->filter_count; i++)
        d->stratum->filters[i].removed = removed[count + i];
}

static int draw_stratum(struct drawing *d, bool *cut, struct error *e)
{
    uint64_t limit = d->request->walk_limit;
    OWNED uint64_t *removed = removed_counts(d);
    int rc = d->index->count > WALKED_AT_ONCE ? draw_positions(d, e) : 0;
    if (rc == 0 && d->count < d->wanted && limit > 0 && d->index->count > limit) {
        *cut = true;
    } else if (rc == 0 && d->count < d->wanted) {
        /* The walk comes to what the draws have seen removed once more. */
        restore_removed(d, removed);
        rc = walk(d, e);
    }
    return rc;
}

/* Hands over what the stratum found after its skipped ones. */
static void take_picks(struct model_sample *sample, const struct drawing *d, struct hash_set *taken)
{
    size_t stratum = (size_t)(d->stratum - d->request->strata);
    for (size_t i = 0; i < d->count; i++) {
        if (i < d->stratum->skip)
            continue;
        add_rank(taken, d->ranks[i]);
        *array_add(sample->ranks, sample->count) = d->ranks[i];
        sample->taken[stratum]++;
    }
}

static int add_stratum(struct model_sample *sample, const struct model_sample_request *request,
                       const struct model_stratum *stratum, struct hash_set *taken, struct error *e)
{
    struct drawing d = {.request = request, .stratum = stratum, .index = request->index, .taken = taken};
    struct model_index *part = NULL;
    int rc = -1;
    if (stratum->key && model_index_restrict(request->index, stratum->key, stratum->literal, &part, e))
        goto out;
    if (part)
        d.index = part;
    d.wanted = stratum->take > UINT64_MAX - stratum->skip ? UINT64_MAX : stratum->skip + stratum->take;
    d.cursor = model_cursor_make(d.index);
    if (draw_stratum(&d, &sample->cut, e))
        goto out;
    take_picks(sample, &d, taken);
    rc = 0;
out:
    model_cursor_free(d.cursor);
    model_index_free(part);
    hash_set_free(&d.drawn);
    free_all(d.ranks, d.heap);
    return rc;
}

int model_sample_draw(const struct model_sample_request *request, struct model_sample *out, struct error *e)
{
    struct model_sample sample = {.taken = xcalloc(request->stratum_count + 1, sizeof *sample.taken)};
    struct hash_set taken = HASH_SET_INIT;
    int rc = 0;
    for (size_t i = 0; i < request->stratum_count && rc == 0; i++)
        rc = add_stratum(&sample, request, &request->strata[i], &taken, e);
    hash_set_free(&taken);
    if (rc)
        model_sample_free(&sample);
    else
        *out = sample;
    return rc;
}

void model_sample_free(struct model_sample *sample)
{
    free_all(sample->ranks, sample->taken);
    *sample = (struct model_sample){0};
}

/* In which order places are bound. */
#include <math.h>
#include <stdlib.h>

#include "join/solver_state.h"
#include "util/memory.h"
#include "util/rng.h"

static double rows_of(const struct variable_place *p)
{
    size_t most = 1;
    for (size_t i = 0; i < p->variable->rows_count; i++)
        most = p->variable->rows[i].count > most ? p->variable->rows[i].count : most;
    return (double)most;
}

static double weight(const struct variable_place *p)
{
    return log2(rows_of(p));
}

/* The weight of the heaviest component that is left without the place. */
static double rest_without(const struct solver *s, const struct set *component, size_t without)
{
    OWNED bool *in = xcalloc(s->place_count, sizeof *in);
    double heaviest = 0;
    for (size_t i = 0; i < component->count; i++)
        in[component->items[i]] = component->items[i] != without;
    for (size_t p = 0; p < s->place_count; p++) {
        if (!in[p])
            continue;
        struct set part = solver_component(s, in, p);
        double sum = 0;
        for (size_t i = 0; i < part.count; i++)
            sum += weight(&s->places[part.items[i]]);
        heaviest = sum > heaviest ? sum : heaviest;
        free(part.items);
    }
    return heaviest;
}

/* Returns the place that splits the component best: it is bound first. */
static size_t best_split(const struct solver *s, const struct set *component)
{
    size_t best = component->items[0];
    double least = INFINITY;
    for (size_t i = 0; i < component->count; i++) {
        size_t p = component->items[i];
        /* The place with fewer rows is taken of two that leave as much. */
        double left = rest_without(s, component, p) + weight(&s->places[p]) * 1.001;
        if (left < least) {
            least = left;
            best = p;
        }
    }
    return best;
}

/* --- by how much is left after each --- */

#define SAMPLES 64

/* An order on its way: what is bound, how many ways there are to do so, and what was visited for that. */
struct prefix {
    bool *bound; /* by place */
    double ways, visited;
};

/* The share of random bindings that each constraint lets through. */
static double *sample_shares(struct solver *s, const struct set *component)
{
    size_t count = s->request.constraint_count;
    double *shares = xcalloc(count + 1, sizeof *shares);
    struct rng rng = rng_stream(0, component->items[0]);
    s->stopped = false;
    s->most = 0;
    for (int i = 0; i < SAMPLES && !s->stopped; i++) {
        for (size_t k = 0; k < component->count; k++)
            solver_bind(s, component->items[k], rng_below(&rng, s->places[component->items[k]].rows->count));
        for (size_t c = 0; c < count; c++)
            if (solver_is_within(s, c, component))
                shares[c] += solver_ask(s, c) != OUTLOOK_FAILED;
    }
    for (size_t k = component->count; k-- > 0;)
        solver_release(s, component->items[k]);
    for (size_t c = 0; c < count; c++)
        shares[c] = (shares[c] + 0.5) / (SAMPLES + 1);
    return shares;
}

/* Works out what binding one more place visits, and how many ways it leaves. */
static void extend(const struct solver *s, const struct prefix *p, const double *shares, size_t place,
                   struct prefix *out)
{
    double ways = p->ways * rows_of(&s->places[place]);
    bool is_solved = false;
    out->visited = p->visited + ways;
    for (size_t c = 0; c < s->request.constraint_count; c++) {
        bool asked = solver_reads(s, c, place);
        for (size_t q = 0; asked && q < s->place_count; q++)
            asked = q == place || !solver_reads(s, c, q) || p->bound[q];
        ways *= asked ? shares[c] : 1;
        is_solved |= asked && solver_may_solve(s, c, place);
    }
    if (is_solved)
        out->visited = p->visited + p->ways + ways;
    out->ways = ways;
}

static bool may_follow(const struct solver *s, const struct prefix *p, const struct set *component, size_t place)
{
    bool may = !p->bound[place];
    for (size_t i = 0; may && place_is_guided(&s->places[place]) && i < component->count; i++)
        may = component->items[i] != s->places[place].block || p->bound[component->items[i]];
    return may;
}

/* From `first` on always what leaves the fewest ways, of equals what visits least; what all of it visits. */
static double rank_from(const struct solver *s, const struct set *component, const double *shares, size_t first,
                        size_t *ranking)
{
    struct prefix p = {xcalloc(s->place_count, sizeof *p.bound), 1, 0}, next, least;
    for (size_t n = 0; n < component->count; n++) {
        size_t chosen = NONE;
        for (size_t i = 0; i < component->count; i++) {
            size_t place = component->items[i];
            if (!may_follow(s, &p, component, place) || (n == 0 && place != first))
                continue;
            extend(s, &p, shares, place, &next);
            if (chosen != NONE &&
                (next.ways > least.ways || (next.ways == least.ways && next.visited >= least.visited)))
                continue;
            chosen = place;
            least = next;
        }
        if (chosen == NONE)
            break;
        p.bound[chosen] = true;
        p.ways = least.ways;
        p.visited = least.visited;
        ranking[n] = chosen;
    }
    free(p.bound);
    return ranking[component->count - 1] == NONE ? INFINITY : p.visited;
}

void solver_rank(struct solver *s, const struct set *component)
{
    double *shares = sample_shares(s, component), least = INFINITY;
    OWNED size_t *ranking = xcalloc(component->count, sizeof *ranking);
    s->ranks = xreallocarray(s->ranks, s->place_count, sizeof *s->ranks);
    for (size_t i = 0; i < component->count; i++)
        s->ranks[component->items[i]] = i;
    for (size_t i = 0; i < component->count; i++) {
        ranking[component->count - 1] = NONE;
        double visited = rank_from(s, component, shares, component->items[i], ranking);
        if (visited >= least)
            continue;
        least = visited;
        for (size_t n = 0; n < component->count; n++)
            s->ranks[ranking[n]] = n;
    }
    free(shares);
}

static size_t first_ranked(const struct solver *s, const struct set *component)
{
    size_t first = component->items[0];
    for (size_t i = 1; i < component->count; i++)
        if (s->ranks[component->items[i]] < s->ranks[first])
            first = component->items[i];
    return first;
}

/* The many rows of the last are looked at together. */
static size_t fewest_rows(const struct solver *s, const struct set *component)
{
    size_t fewest = component->items[0];
    for (size_t i = 1; i < component->count; i++)
        if (rows_of(&s->places[component->items[i]]) < rows_of(&s->places[fewest]))
            fewest = component->items[i];
    return fewest;
}

size_t solver_choose(const struct solver *s, const struct set *component, enum order order)
{
    size_t chosen = order == ORDER_FILE     ? component->items[0]
                    : order == ORDER_RANKED ? first_ranked(s, component)
                    : order == ORDER_FEWEST ? fewest_rows(s, component)
                                            : best_split(s, component);
    /* The block of a guided place must be known first: it says which rows there are. */
    for (size_t i = 0; place_is_guided(&s->places[chosen]) && i < component->count; i++)
        if (component->items[i] == s->places[chosen].block)
            return component->items[i];
    return chosen;
}
